/* The time range of --from and --to: times, phases, iterations, marks or times of day, converted to
 * times when the run is known. Phases are those stored with the run, or are detected now. */
#include "cli.h"

#include <limits.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/run_phases.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

#define PREFIX "phase:"
#define TURN   "turn:"
#define MARK   "mark:"

#define ITERATION_DEPTH (1 + RPS_PHASE_INNER_MAX)

#define BACK_MAX_NS (20000 * RPS_NS_PER_DAY)
#define LATEST_NS   (INT64_MAX - 2 * RPS_NS_PER_DAY) /* limit of searches for a time of day */
#define NAMES_SIZE  256                              /* maximum size of the list of marks */

/* Parse a phase such as "B.2" into *ret_label and *ret_occurrence, from 1. */
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
    return rps_error_set(
        err, RPS_USAGE,
        "%s: '%s' is not a phase; write phase:B, or phase:B.2 for the second phase B", option,
        text);
}

/* Parse an iteration such as "turn:12" or "turn:3.2": one number per depth, 0 for unused depths. */
static int parse_iteration(const char *option, const char *text, uint64_t ret[ITERATION_DEPTH],
                           struct rps_error *err)
{
    const char *at = text + strlen(TURN);
    char number[RPS_TEXT_NUMBER_SIZE];
    int is_last = 0;

    memset(ret, 0, ITERATION_DEPTH * sizeof(*ret));
    for (int d = 0; d < ITERATION_DEPTH && !is_last; d++) {
        int length = (int)strcspn(at, ".");

        snprintf(number, sizeof(number), "%.*s", length, at);
        if (rps_parse_uint64(option, number, 1, INT_MAX, &ret[d], NULL) < 0)
            break;
        is_last = !at[length];
        at += length + 1;
    }
    if (is_last)
        return 0;
    return rps_error_set(err, RPS_USAGE,
                         "%s: '%s' is not an iteration; write turn:12 for the twelfth one, or "
                         "turn:12.3 for its third inner iteration",
                         option, text);
}

/* Parse a moment as rps_moment_parse does. A date without a time means midnight. */
static int parse_moment(const char *option, const char *text, struct rps_moment *ret,
                        struct rps_error *err)
{
    char midnight[32];

    snprintf(midnight, sizeof(midnight), "%.20sT00:00", text);
    return rps_moment_parse(option, midnight, ret, NULL) == 0
               ? 0
               : rps_moment_parse(option, text, ret, err);
}

static int parse_range(const char *option, const char *text, int64_t *ret_ns,
                       const char **ret_phase, struct rps_error *err)
{
    struct rps_position position;
    struct rps_moment moment;
    uint64_t occurrence, turn[ITERATION_DEPTH];
    int label, is_position = rps_position_parse(text, &position);

    if (is_position && position.has_fraction && !position.has_hours) {
        *ret_phase = NULL;
        *ret_ns = position.ns;
        return 0;
    }
    if (rps_moment_is(text)) {
        *ret_phase = text;
        return is_position ? 0 : parse_moment(option, text, &moment, err);
    }
    if (strncmp(text, PREFIX, strlen(PREFIX)) == 0) {
        *ret_phase = text;
        return parse_phase(option, text, &label, &occurrence, err);
    }
    if (strncmp(text, TURN, strlen(TURN)) == 0) {
        *ret_phase = text;
        return parse_iteration(option, text, turn, err);
    }
    if (strncmp(text, MARK, strlen(MARK)) == 0) {
        *ret_phase = text;
        if (text[strlen(MARK)])
            return 0;
        return rps_error_set(err, RPS_USAGE,
                             "%s: '%s' is not a mark; write mark:NAME, or mark:NAME.2 for the "
                             "second mark of that name",
                             option, text);
    }
    *ret_phase = NULL;
    if (text[0] < '0' || text[0] > '9')
        return rps_error_set(err, RPS_USAGE,
                             "%s: '%s' is not a time; write 10s, 14:30, phase:B or mark:NAME",
                             option, text);
    return rps_parse_time_ns(option, text, 0, INT64_MAX, ret_ns, err);
}

int rps_time_range_set(const char *option, const char *text, void *member, struct rps_error *err)
{
    struct rps_cli *cli = member;

    return strcmp(option, "--from") == 0
               ? parse_range(option, text, &cli->from_ns, &cli->from_phase, err)
               : parse_range(option, text, &cli->to_ns, &cli->to_phase, err);
}

int rps_time_ago_parse(const char *option, const char *text, void *ret_realtime_ns,
                       struct rps_error *err)
{
    int64_t now_ns = rps_clock_realtime_ns(), back_ns;
    struct rps_moment moment;

    if (rps_parse_duration_ns(option, text, 0, BACK_MAX_NS, &back_ns, NULL) == 0) {
        *(int64_t *)ret_realtime_ns = now_ns - back_ns;
        return 0;
    }
    if (parse_moment(option, text, &moment, NULL) < 0)
        return rps_error_set(err, RPS_USAGE,
                             "%s: '%s' is not a time; write 2d for two days ago, 14:30, 2026-11-21 "
                             "or 2026-11-21T14:30",
                             option, text);
    if (rps_moment_find(&moment, moment.has_date ? 1 : now_ns - RPS_NS_PER_DAY + 1,
                        moment.has_date ? LATEST_NS : now_ns, ret_realtime_ns))
        return 0;
    return rps_error_set(err, RPS_USAGE,
                         "%s: '%s' does not exist, because the clock was set forward, as for "
                         "summer time; write another time",
                         option, text);
}

int rps_time_range_check(struct rps_cli *cli)
{
    if (cli->from_ns < cli->to_ns)
        return 0;
    return rps_error_set(&cli->err, RPS_USAGE, "--from must be before --to; write other times");
}

static int no_such_phase(struct rps_cli *cli, const char *option, const char *text, uint64_t found,
                         const struct rps_phases *phases)
{
    char label[RPS_PHASE_LABEL_SIZE];
    long long run = (long long)cli->run_id;

    if (found > 0)
        return rps_error_set(&cli->err, RPS_FAILED,
                             "%s: '%s' does not exist: run %lld has %llu phase%s of this class",
                             option, text, run, (unsigned long long)found, found == 1 ? "" : "s");
    if (phases->label_count == 1)
        return rps_error_set(&cli->err, RPS_FAILED,
                             "%s: '%s' is not in run %lld, which has one phase, A", option, text,
                             run);
    return rps_error_set(
        &cli->err, RPS_FAILED,
        "%s: '%s' is not in run %lld; choose a phase from A to %s (see `rpistat phases`)", option,
        text, run, rps_phase_label(phases->label_count - 1, label));
}

/* Find a phase. If its number is missing and there are several, leave a note. */
static const struct rps_phase *find_phase(struct rps_cli *cli, const char *option, const char *text,
                                          const struct rps_phases *phases)
{
    const struct rps_phase *ret = NULL;
    uint64_t occurrence, found = 0;
    char letter[RPS_PHASE_LABEL_SIZE], note[sizeof(cli->note)];
    int label;

    if (parse_phase(option, text, &label, &occurrence, &cli->err) < 0)
        return NULL;
    for (size_t i = 0; i < phases->count; i++) {
        if (phases->phase[i].label == label && ++found == occurrence)
            ret = &phases->phase[i];
    }
    if (!ret)
        no_such_phase(cli, option, text, found, phases);
    snprintf(note, sizeof(note),
             "%s is the first of %llu phases %s (write %s.2 for the second; see `rpistat phases`)",
             text, (unsigned long long)found, rps_phase_label(label, letter), text);
    if (ret && found > 1 && !strchr(text, '.') && !strstr(cli->note, note))
        rps_text_list(cli->note, sizeof(cli->note), note);
    return ret;
}

/* Return the first or the last phase of an iteration. */
static const struct rps_phase *find_iteration(struct rps_cli *cli, const char *option,
                                              const char *text, int is_end,
                                              const struct rps_phases *phases)
{
    const struct rps_phase *found = NULL;
    uint64_t turn[ITERATION_DEPTH];
    int depth = 0, turns = 0; /* turns: number of iterations at `depth`, within the iterations
                                 already chosen */

    if (parse_iteration(option, text, turn, &cli->err) < 0)
        return NULL;
    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        int at = phase->turn, d = 0;

        while (turn[d] == (uint64_t)at && d + 1 < ITERATION_DEPTH && turn[d + 1] > 0)
            at = phase->inner[d++].turn;
        turns = d < depth || (d == depth && at < turns) ? turns : at;
        depth = d > depth ? d : depth;
        if (turn[d] == (uint64_t)at && (d + 1 == ITERATION_DEPTH || turn[d + 1] == 0) &&
            (!found || is_end))
            found = phase;
    }
    if (!found && turns == 0 && depth == 0)
        rps_error_set(&cli->err, RPS_FAILED,
                      "%s: '%s' is not in run %lld, because the run has no loop", option, text,
                      (long long)cli->run_id);
    else if (!found)
        rps_error_set(&cli->err, RPS_FAILED, "%s: '%s' is not in run %lld, %s has %d %siterations",
                      option, text, (long long)cli->run_id,
                      depth > 0 ? "in which that iteration" : "which", turns,
                      depth > 0 ? "inner " : "");
    return found;
}

/* --- with a known run ------------------------------------------------------------------------- */

struct resolving {
    struct rps_cli *cli;
    struct rps_run run;
    struct rps_notes marks;
    struct rps_phase_levels levels;
};

static int resolve_phase(struct resolving *of, const char *option, const char *text,
                         int64_t *ret_ns)
{
    int is_end = ret_ns == &of->cli->to_ns, result = 1;
    long long run = (long long)of->run.run_id;
    const struct rps_phases *phases;
    const struct rps_phase *phase;

    if (of->levels.count == 0)
        result = rps_run_phases_get(of->cli->arena, of->cli->reader, run, &of->levels, NULL,
                                    &of->cli->err);
    if (result == 0)
        return rps_error_set(
            &of->cli->err, RPS_FAILED,
            "the phases of run %lld are not known; find them with `rpistat phases -r %lld` first",
            run, run);
    if (result < 0)
        return result;
    phases = rps_phase_levels_shown(&of->levels);
    phase = strncmp(text, TURN, strlen(TURN)) == 0
                ? find_iteration(of->cli, option, text, is_end, phases)
                : find_phase(of->cli, option, text, phases);
    if (!phase)
        return RPS_FAILED;
    *ret_ns = is_end ? phase->end_ns : phase->start_ns;
    return 0;
}

/* Count the marks with that name, and put the mark with that number, from 1, into *ret. Number 0
 * means the first mark at or after after_ns, or if there is none, the first of all marks. */
static uint64_t find_mark(const struct rps_notes *marks, const char *name, size_t length,
                          uint64_t number, int64_t after_ns, const struct rps_note **ret)
{
    uint64_t found = 0;

    *ret = NULL;
    for (size_t i = 0; i < marks->count; i++) {
        const struct rps_note *mark = &marks->note[i];

        if (strncmp(mark->text, name, length) != 0 || mark->text[length])
            continue;
        found++;
        if (number > 0 ? found == number
                       : !*ret || ((*ret)->start_ns < after_ns && mark->start_ns >= after_ns))
            *ret = mark;
    }
    return found;
}

/* Put the distinct marks as a list such as "warm, done", as many as fit. */
static char *name_marks(const struct rps_notes *marks, char ret[NAMES_SIZE])
{
    const struct rps_note *first;

    ret[0] = '\0';
    for (size_t i = 0; i < marks->count; i++) {
        const char *text = marks->note[i].text;

        find_mark(marks, text, strlen(text), 1, 0, &first);
        if (first == &marks->note[i])
            rps_text_list(ret, NAMES_SIZE, text);
    }
    return ret;
}

static int resolve_mark(struct resolving *of, const char *option, const char *text,
                        int64_t after_ns, int64_t *ret_ns)
{
    const char *name = text + strlen(MARK), *dot = strrchr(name, '.');
    long long run = (long long)of->run.run_id;
    const struct rps_note *mark;
    uint64_t number = 0, found;
    char names[NAMES_SIZE];

    if (of->marks.count == 0 &&
        rps_reader_marks(of->cli->arena, of->cli->reader, run, &of->marks, &of->cli->err) < 0)
        return RPS_FAILED;
    found = find_mark(&of->marks, name, strlen(name), 0, after_ns, &mark);
    if (found == 0 && dot && rps_parse_uint64(option, dot + 1, 1, INT64_MAX, &number, NULL) == 0)
        found = find_mark(&of->marks, name, (size_t)(dot - name), number, 0, &mark);
    if (mark) {
        *ret_ns = mark->start_ns;
        return 0;
    }
    if (found > 0)
        return rps_error_set(&of->cli->err, RPS_FAILED,
                             "%s: '%s' does not exist: run %lld has %llu mark%s of this name",
                             option, text, run, (unsigned long long)found, found == 1 ? "" : "s");
    if (of->marks.count == 0)
        return rps_error_set(
            &of->cli->err, RPS_FAILED,
            "%s: '%s' is not in run %lld, which has no marks; record with --control to set marks",
            option, text, run);
    return rps_error_set(&of->cli->err, RPS_FAILED,
                         "%s: '%s' is not in run %lld; choose from its marks: %s", option, text,
                         run, name_marks(&of->marks, names));
}

/* Convert a time of day to a time of the run. If possible, the result is not before after_ns.
 * Exports round times down to ms, so the run's start is rounded down as well. */
static int find_moment(const struct rps_run *run, const char *text, int64_t after_ns,
                       int64_t end_ns, int64_t *ret_ns)
{
    int64_t start_ns = run->start_realtime_ns - run->start_realtime_ns % RPS_NS_PER_MS, at_ns;
    struct rps_moment moment;

    if (run->start_realtime_ns < 0 || parse_moment("", text, &moment, NULL) < 0 ||
        (!rps_moment_find(&moment, rps_clock_add_ns(start_ns, after_ns), end_ns, &at_ns) &&
         !rps_moment_find(&moment, start_ns, end_ns, &at_ns)))
        return 0;
    *ret_ns = at_ns > run->start_realtime_ns ? at_ns - run->start_realtime_ns : 0;
    return 1;
}

static int has_two_meanings(struct rps_cli *cli, const char *option, const char *text,
                            const struct rps_run *run, int64_t position_ns, int64_t moment_ns)
{
    char position[RPS_TEXT_NUMBER_SIZE], moment[RPS_WALL_TEXT_SIZE];

    return rps_error_set(
        &cli->err, RPS_USAGE,
        "%s: '%s' is ambiguous in run %lld; write %s for the time since its start, or %s for the "
        "time of day",
        option, text, (long long)run->run_id,
        rps_text_clock(position, sizeof(position), position_ns, 1),
        rps_wall_text(moment, sizeof(moment), rps_clock_add_ns(run->start_realtime_ns, moment_ns)));
}

/* Resolve a time with colons as a time of day or a time since the run's start, whichever lies
 * within the run. For a time with a fraction, the time since the start is preferred. */
static int resolve_moment(struct resolving *of, const char *option, const char *text,
                          int64_t after_ns, int64_t *ret_ns)
{
    const struct rps_run *run = &of->run;
    int64_t elapsed_ns = run->elapsed_ns > 0 ? run->elapsed_ns : 0, at_ns;
    int64_t end_ns = rps_clock_add_ns(run->start_realtime_ns, elapsed_ns);
    char start[RPS_WALL_TEXT_SIZE], end[RPS_WALL_TEXT_SIZE];
    struct rps_position position;
    /* Printed times are rounded, so the text may be slightly outside the run. */
    int is_position = rps_position_parse(text, &position) &&
                      (position.has_hours || run->elapsed_ns < 3600 * RPS_NS_PER_S) &&
                      position.ns <= rps_clock_add_ns(run->elapsed_ns, RPS_NS_PER_S);
    int is_moment =
        find_moment(run, text, after_ns, end_ns < LATEST_NS ? end_ns : LATEST_NS, &at_ns);

    if (is_position && is_moment && !position.has_fraction && position.ns != at_ns)
        return has_two_meanings(of->cli, option, text, run, position.ns, at_ns);
    if (is_position || is_moment) {
        *ret_ns = is_position ? position.ns : at_ns;
        return 0;
    }
    if (run->start_realtime_ns < 0)
        return rps_error_set(&of->cli->err, RPS_FAILED,
                             "%s: '%s' cannot be found, because the start time of run %lld is "
                             "unknown; write the time since its start",
                             option, text, (long long)run->run_id);
    return rps_error_set(&of->cli->err, RPS_FAILED,
                         "%s: '%s' is not in run %lld; choose a time from %s to %s", option, text,
                         (long long)run->run_id,
                         rps_wall_text(start, sizeof(start), run->start_realtime_ns),
                         rps_wall_text(end, sizeof(end), end_ns));
}

/* Convert the text into *ret_ns. For --to, after_ns is the time of --from. */
static int resolve_time(struct resolving *of, const char *option, const char *text,
                        int64_t after_ns, int64_t *ret_ns)
{
    if (!text)
        return 0;
    if (rps_moment_is(text))
        return resolve_moment(of, option, text, after_ns, ret_ns);
    if (strncmp(text, MARK, strlen(MARK)) == 0)
        return resolve_mark(of, option, text, after_ns, ret_ns);
    return resolve_phase(of, option, text, ret_ns);
}

int rps_time_range_resolve(struct rps_cli *cli)
{
    struct resolving of = {.cli = cli};
    int result;

    if (!cli->from_phase && !cli->to_phase)
        return 0;
    result = rps_reader_run(cli->arena, cli->reader, cli->run_id, &of.run, &cli->err);
    if (result == 0)
        result = resolve_time(&of, "--from", cli->from_phase, 0, &cli->from_ns);
    if (result == 0)
        result = resolve_time(&of, "--to", cli->to_phase, cli->from_ns, &cli->to_ns);
    return result == 0 ? rps_time_range_check(cli) : result;
}
