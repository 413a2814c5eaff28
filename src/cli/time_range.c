/*
 * The part of a run that --from and --to choose: times, or phases and moments on the clock, which are
 * turned into times when the run is known. Its phases are those stored with it, else they are found
 * now.
 */
#include "time_range.h"

#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/parse.h"
#include "rpistat/run_phases.h"
#include "rpistat/wall.h"

#define PREFIX "phase:"

/* "B.2": *ret_label and *ret_occurrence, from 1. */
static int parse_phase(const char *option, const char *text, int *ret_label,
                       uint64_t *ret_occurrence, struct rps_error *err)
{
    const char *name = text + strlen(PREFIX), *dot = strchr(name, '.');
    char label[RPS_PHASE_LABEL_SIZE];
    size_t length = dot ? (size_t)(dot - name) : strlen(name);

    snprintf(label, sizeof(label), "%.*s", (int)(length < sizeof(label) ? length : 0), name);
    *ret_label = rps_phase_label_parse(label);
    *ret_occurrence = 1;
    if (*ret_label >= 0 &&
        (!dot || rps_parse_uint64(option, dot + 1, 1, INT64_MAX, ret_occurrence, NULL) == 0))
        return 0;
    return rps_error_set(err, RPS_USAGE,
                         "%s: '%s' is no phase; write phase:B, or phase:B.2 for the second time "
                         "that B comes",
                         option, text);
}

int rps_time_range_parse(const char *option, const char *text, int64_t *ret_ns,
                         const char **ret_phase, struct rps_error *err)
{
    struct rps_moment moment;
    uint64_t occurrence;
    int label;

    if (rps_moment_is(text)) {
        *ret_phase = text;
        return rps_moment_parse(option, text, &moment, err);
    }
    if (strncmp(text, PREFIX, strlen(PREFIX)) == 0) {
        *ret_phase = text;
        return parse_phase(option, text, &label, &occurrence, err);
    }
    *ret_phase = NULL;
    return rps_parse_time_ns(option, text, 0, INT64_MAX, ret_ns, err);
}

int rps_time_range_check(struct rps_cli *cli)
{
    if (cli->from_ns < cli->to_ns)
        return 0;
    return rps_error_set(&cli->err, RPS_USAGE,
                         "--from is not before --to: nothing would be left of the run");
}

/* The error of a phase that the run does not have. */
static int no_such_phase(struct rps_cli *cli, const char *option, const char *text, uint64_t found,
                         const struct rps_phases *phases)
{
    char label[RPS_PHASE_LABEL_SIZE];
    long long run = (long long)cli->run_id;

    if (found > 0)
        return rps_error_set(&cli->err, RPS_FAILED,
                             "%s: '%s' is not in run %lld: it comes %llu time%s", option, text, run,
                             (unsigned long long)found, found == 1 ? "" : "s");
    if (phases->label_count == 1)
        return rps_error_set(&cli->err, RPS_FAILED,
                             "%s: '%s' is not in run %lld, which is one phase, A", option, text,
                             run);
    return rps_error_set(&cli->err, RPS_FAILED,
                         "%s: '%s' is not in run %lld, whose phases are A to %s; `rpistat phases` "
                         "lists them",
                         option, text, run, rps_phase_label(phases->label_count - 1, label));
}

static const struct rps_phase *find_phase(struct rps_cli *cli, const char *option, const char *text,
                                          const struct rps_phases *phases)
{
    uint64_t occurrence, found = 0;
    int label;

    if (parse_phase(option, text, &label, &occurrence, &cli->err) < 0)
        return NULL;
    for (size_t i = 0; i < phases->count; i++) {
        if (phases->phase[i].label == label && ++found == occurrence)
            return &phases->phase[i];
    }
    no_such_phase(cli, option, text, found, phases);
    return NULL;
}

static int resolve(struct rps_cli *cli, const struct rps_phases *phases)
{
    const struct rps_phase *phase;

    if (cli->from_phase) {
        phase = find_phase(cli, "--from", cli->from_phase, phases);
        if (!phase)
            return RPS_FAILED;
        cli->from_ns = phase->start_ns;
    }
    if (cli->to_phase) {
        phase = find_phase(cli, "--to", cli->to_phase, phases);
        if (!phase)
            return RPS_FAILED;
        cli->to_ns = phase->end_ns;
    }
    return rps_time_range_check(cli);
}

/* Where text is a moment, put the time of the run at which it came, not before after_ns where it can
 * be, into *ret_ns, and forget the text. Times of exports are rounded down to ms: the run's start
 * is found by what they say of it. */
static int resolve_moment(struct rps_cli *cli, const char *option, const struct rps_run *run,
                          int64_t after_ns, const char **text, int64_t *ret_ns)
{
    int64_t start_ns = run->start_realtime_ns - run->start_realtime_ns % RPS_NS_PER_MS, at_ns;
    int64_t end_ns = run->start_realtime_ns + (run->elapsed_ns > 0 ? run->elapsed_ns : 0);
    char start[RPS_WALL_TEXT_SIZE], end[RPS_WALL_TEXT_SIZE];
    struct rps_moment moment;

    if (!*text || !rps_moment_is(*text))
        return 0;
    if (run->start_realtime_ns < 0)
        return rps_error_set(&cli->err, RPS_FAILED,
                             "%s: '%s' cannot be found, since run %lld does not say when it began",
                             option, *text, (long long)run->run_id);
    if (rps_moment_parse(option, *text, &moment, &cli->err) < 0)
        return RPS_USAGE;
    if (!rps_moment_find(&moment, start_ns + after_ns, end_ns, &at_ns) &&
        !rps_moment_find(&moment, start_ns, end_ns, &at_ns))
        return rps_error_set(&cli->err, RPS_FAILED,
                             "%s: '%s' is not in run %lld, which lasted from %s to %s", option,
                             *text, (long long)run->run_id,
                             rps_wall_text(start, sizeof(start), run->start_realtime_ns),
                             rps_wall_text(end, sizeof(end), end_ns));
    *ret_ns = at_ns > run->start_realtime_ns ? at_ns - run->start_realtime_ns : 0;
    *text = NULL;
    return 0;
}

static int resolve_moments(struct rps_cli *cli)
{
    struct rps_run run;
    int result = rps_reader_run(cli->reader, cli->run_id, &run, &cli->err);

    if (result < 0)
        return result;
    result = resolve_moment(cli, "--from", &run, 0, &cli->from_phase, &cli->from_ns);
    if (result == 0)
        result = resolve_moment(cli, "--to", &run, cli->from_ns, &cli->to_phase, &cli->to_ns);
    rps_run_free(&run);
    return result == 0 ? rps_time_range_check(cli) : result;
}

int rps_time_range_resolve(struct rps_cli *cli)
{
    struct rps_phase_levels levels = {0};
    int result;

    if (!cli->from_phase && !cli->to_phase)
        return 0;
    result = resolve_moments(cli);
    if (result < 0 || (!cli->from_phase && !cli->to_phase))
        return result;
    result = rps_run_phases_get(cli->reader, cli->run_id, &levels, NULL, &cli->err);
    if (result > 0)
        result = resolve(cli, rps_phase_levels_shown(&levels));
    else if (result == 0)
        result = rps_error_set(&cli->err, RPS_FAILED,
                               "the phases of run %lld are not known: find them with `rpistat "
                               "phases -r %lld` first",
                               (long long)cli->run_id, (long long)cli->run_id);
    rps_phase_levels_free(&levels);
    return result;
}
