/* The remarks of a comparison: what could not be compared, and reasons for doubt. */
#include "work.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"
#include "rpistat/plan.h"
#include "rpistat/run_system.h"
#include "rpistat/store.h"

/* There is a remark on a set that was counted for less than this share of its time. */
#define COVERAGE_MIN .98

/* There is a remark if phases without a row have more than this share of a run's time. */
#define UNMATCHED_MAX .01

/* There is a remark if the CPUs that other programs use differ by this number between the sides. */
#define OTHERS_DIFFER .1

#define NAMES_MAX    20  /* maximum number of listed names */
#define COMMAND_SIZE 120 /* maximum bytes of a command */

/* Minimum number of runs for a median's interval to exclude the lowest and the highest run. */
#define MEDIAN_RUNS_MIN 8

/* A function that describes one run, or returns NULL for no remark. The returned text is in the
 * arena or belongs to the run. */
typedef const char *describer(const struct rps_comparison_work *work, size_t run);

static struct rps_arena *arena_of(const struct rps_comparison_work *work)
{
    return work->comparison.arena;
}

static const struct rps_run *run_of(const struct rps_comparison_work *work, size_t run)
{
    return &work->comparison.run[run].run;
}

/* Append a name to a list such as "a, b". If `list` is NULL, begin a list. */
static char *join(const struct rps_comparison_work *work, const char *list, const char *name)
{
    return rps_arena_print(arena_of(work), "%s%s%s", list ? list : "", list ? ", " : "", name);
}

/* Format a run: "3"; "3 (main)" if its side has a label; "3 of b.data" with several stores. */
static const char *name_of(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_comparison *comparison = &work->comparison;
    const struct rps_comparison_run *of = &comparison->run[run];
    const char *label = comparison->label[of->side];

    if (label)
        return rps_arena_print(arena_of(work), "%" PRId64 " (%s)", of->run_id, label);
    if (rps_comparison_has_one_store(comparison))
        return rps_arena_print(arena_of(work), "%" PRId64, of->run_id);
    return rps_arena_print(arena_of(work), "%" PRId64 " of %s", of->run_id, of->store);
}

/* --- runs that differ ------------------------------------------------------------------------- */

static const char *describe_machine(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_run *of = run_of(work, run);

    return of->cpu_model[0] ? rps_arena_print(arena_of(work), "%s (%s)", of->host, of->cpu_model)
                            : NULL;
}

#define DESCRIBE(member)                                                                           \
    static const char *describe_##member(const struct rps_comparison_work *work, size_t run)       \
    {                                                                                              \
        return run_of(work, run)->member;                                                          \
    }
DESCRIBE(kernel)
DESCRIBE(version)
DESCRIBE(pmu)
DESCRIBE(governor)

static const char *describe_command(const struct rps_comparison_work *work, size_t run)
{
    char text[COMMAND_SIZE];

    return rps_arena_text(arena_of(work), rps_run_title(text, sizeof(text), run_of(work, run)));
}

/* Return the first line of a text that begins with `length` characters of `begin`, or NULL. */
static const char *find_line(const char *text, const char *begin, size_t length)
{
    while (text && strncmp(text, begin, length) != 0) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return text;
}

/* List the files whose build-id differs between this run and another run. *ret_unknown is set to 1
 * if only the other run has the build-id of a file. */
static const char *list_builds(const struct rps_comparison_work *work, size_t run, int *ret_unknown)
{
    const char *list = NULL;
    size_t length, name;

    for (const char *line = work->run[run].builds; *line; line += length + (line[length] != 0)) {
        int differs = 0;

        length = strcspn(line, "\n");
        name = (size_t)((const char *)memrchr(line, ' ', length) - line);
        for (size_t r = 0; r < work->comparison.run_count; r++) {
            const char *other = find_line(work->run[r].builds, line, name + 1);

            differs |= other && other[name + 1] > '\n' &&
                       !find_line(work->run[r].builds, line, length + (length == name + 1));
        }
        *ret_unknown |= differs && length == name + 1;
        if (differs && length > name + 1)
            list = join(work, list,
                        rps_arena_print(arena_of(work), "%.*s (build-id %.8s)", (int)name, line,
                                        line + name + 1));
    }
    return list;
}

static const char *describe_builds(const struct rps_comparison_work *work, size_t run)
{
    int unused = 0;

    return list_builds(work, run, &unused);
}

static const char *describe_period(const struct rps_comparison_work *work, size_t run)
{
    char text[RPS_TEXT_NUMBER_SIZE];

    if (run_of(work, run)->period_ns == run_of(work, run)->elapsed_ns)
        return NULL; /* the only period is the whole run, as in a benchmark */
    rps_text_duration(text, sizeof(text), run_of(work, run)->period_ns);
    return rps_arena_text(arena_of(work), text);
}

static const char *describe_sets(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_plan *plan = work->run[run].plan;

    return plan ? rps_arena_print(arena_of(work), "%d", plan->set_count) : NULL;
}

/* Describe the sampling of a run. Another remark covers runs without samples. */
static const char *describe_sampling(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_sampling *of;

    if (!work->comparison.shares || work->comparison.shares[run].sample_count == 0)
        return NULL;
    of = &work->comparison.shares[run].sampling;
    return of->frequency > 0
               ? rps_arena_print(arena_of(work), "%s, %" PRIu64 " Hz", of->event, of->frequency)
               : rps_arena_print(arena_of(work), "%s, each %" PRIu64, of->event, of->threshold);
}

/* Add a remark on a difference between the first run and another run. Ignore unknown values. */
static void remark_differing(struct rps_comparison_work *work, const char *what,
                             describer *describe, const char *so)
{
    const char *first = NULL;
    size_t at = 0;

    for (size_t r = 0; r < work->comparison.run_count; r++) {
        const char *other = describe(work, r);

        if (!other || !other[0])
            continue;
        if (!first) {
            first = other;
            at = r;
        } else if (strcmp(first, other) != 0) {
            rps_comparison_remark(&work->comparison, "%s: %s of run %s, %s of run %s%s.", what,
                                  first, name_of(work, at), other, name_of(work, r), so);
            return;
        }
    }
}

static void remark_differences(struct rps_comparison_work *work)
{
    remark_differing(work, "Different machines", describe_machine, ", which may explain changes");
    remark_differing(work, "Different kernels", describe_kernel, "");
    remark_differing(work, "Different versions of rpistat", describe_version, "");
    remark_differing(work, "Different counters", describe_pmu, "");
    remark_differing(work, "Different CPU frequency governors", describe_governor, "");
    remark_differing(work, "Different builds", describe_builds, "");
    remark_differing(work, "Different measurement periods", describe_period, "");
    remark_differing(work, "Different numbers of event sets", describe_sets,
                     ", so intervals differ in width");
    remark_differing(work, "Different samples", describe_sampling,
                     ", so functions are not sampled alike");
}

/* Name the facts about the environments that are unknown. Build-ids and load are not named for
 * recordings of CPUs, because these include other programs. */
static void remark_unknown(struct rps_comparison_work *work)
{
    static const char *const fact[] = {"kernel", "CPU model", "CPU frequency governor",
                                       "build-ids of the program and its libraries",
                                       "load by other programs"};
    const char *names = NULL;
    int unknown[5] = {0}, has_governor = 0;

    for (size_t r = 0; r < work->comparison.run_count; r++) {
        const struct rps_run *run = run_of(work, r);
        const int of_machine = rps_run_is_of_machine(run->target);
        const int is_known[] = {run->kernel[0] != 0, run->cpu_model[0] != 0, run->governor[0] != 0,
                                of_machine || work->run[r].builds[0],
                                of_machine || run->others_cpu_ns >= 0 ||
                                    run->elapsed_ns < RPS_RUN_OTHERS_MIN_NS};

        has_governor |= run->governor[0] != 0;
        if (!of_machine)
            list_builds(work, r, &unknown[3]);
        for (size_t f = 0; f < 5 && !rps_run_is_import(run) && strcmp(run->pmu, "sim") != 0; f++)
            unknown[f] |= !is_known[f];
    }
    unknown[2] &= has_governor; /* Machines without governors do not differ in them. */
    for (size_t f = 0; f < 5; f++)
        names = unknown[f] ? join(work, names, fact[f]) : names;
    if (names)
        rps_comparison_remark(&work->comparison, "Unknown for some runs, so not compared: %s.",
                              names);
}

static void remark_others(struct rps_comparison_work *work)
{
    double others_s[2] = {0}, elapsed_s[2] = {0}, cpus[2];

    for (size_t r = 0; r < work->comparison.run_count; r++) {
        const struct rps_run *run = run_of(work, r);
        int side = (int)work->comparison.run[r].side;
        double run_s = (double)run->elapsed_ns / RPS_NS_PER_S;

        others_s[side] += run_s * rps_run_others_cpus(run);
        elapsed_s[side] += run_s;
    }
    for (int side = 0; side < 2; side++)
        cpus[side] = others_s[side] / elapsed_s[side];
    if (fabs(cpus[0] - cpus[1]) >= OTHERS_DIFFER)
        rps_comparison_remark(&work->comparison,
                              "Different load by other programs: %.2f CPUs on average during %s, "
                              "%.2f during %s.",
                              cpus[0], work->comparison.name[0], cpus[1], work->comparison.name[1]);
}

/* --- runs that are not as they should be ------------------------------------------------------ */

static const char *find_interruption(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_run *of = run_of(work, run);

    if (of->state == RPS_RUN_INTERRUPTED)
        return "incomplete, because the recording was interrupted";
    return of->end_reason[0] ? rps_arena_print(arena_of(work), "ended before the workload did, %s",
                                               of->end_reason)
                             : NULL;
}

static const char *find_part(const struct rps_comparison_work *work, size_t run)
{
    return rps_run_tag(run_of(work, run), "part_of")
               ? "only a part of the recorded run (merge --from, --to)"
               : NULL;
}

static const char *find_failure(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_run *of = run_of(work, run);

    if (of->exit_signal > 0)
        return rps_arena_print(arena_of(work), "ended by signal %d", of->exit_signal);
    return of->exit_status > 0
               ? rps_arena_print(arena_of(work), "failed with exit status %d", of->exit_status)
               : NULL;
}

/* Find runs whose elapsed time is too far from that of the other runs of the side. */
static void find_outliers(struct rps_comparison_work *work, enum rps_comparison_side side)
{
    struct rps_comparison *comparison = &work->comparison;
    const size_t first = side == RPS_SIDE_A ? 0 : comparison->a_count;
    const size_t count = side == RPS_SIDE_A ? comparison->a_count : comparison->b_count;
    struct rps_change_value *value = rps_arena_get(arena_of(work), count, sizeof(*value));

    for (size_t i = 0; i < count; i++) {
        int64_t elapsed_ns = run_of(work, first + i)->elapsed_ns;

        value[i].value = elapsed_ns >= 0 ? (double)elapsed_ns / RPS_NS_PER_S : NAN;
    }
    for (size_t i = 0; i < count; i++)
        comparison->run[first + i].is_outlier = rps_change_is_outlier(value, count, i);
}

static const char *describe_outlier(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_comparison_run *of = &work->comparison.run[run];
    double least = INFINITY, most = -INFINITY;
    int count = 1;

    for (size_t r = 0; r < work->comparison.run_count && of->is_outlier; r++) {
        double elapsed_s = (double)run_of(work, r)->elapsed_ns / RPS_NS_PER_S;

        if (r == run || work->comparison.run[r].side != of->side || elapsed_s < 0)
            continue;
        count++;
        least = fmin(least, elapsed_s);
        most = fmax(most, elapsed_s);
    }
    if (!of->is_outlier)
        return NULL;
    return rps_arena_print(
        arena_of(work),
        "outlier that took %.3g s; the other runs of its side took %.3g to %.3g s%s",
        (double)of->run.elapsed_ns / RPS_NS_PER_S, least, most,
        work->comparison.statistic == RPS_CHANGE_MEAN && count >= MEDIAN_RUNS_MIN
            ? " (--statistic median is less affected)"
            : "");
}

static const char *find_downsampled(const struct rps_comparison_work *work, size_t run)
{
    char until[RPS_TEXT_NUMBER_SIZE];

    if (work->run[run].thinned_ns < 0)
        return NULL;
    return rps_arena_print(arena_of(work), "data before %s are downsampled",
                           rps_text_clock(until, sizeof(until), work->run[run].thinned_ns, 0));
}

static const char *find_shared(const struct rps_comparison_work *work, size_t run)
{
    if (work->run[run].coverage >= COVERAGE_MIN)
        return NULL;
    if (rps_run_lacks_counts(run_of(work, run)))
        return rps_run_lacks_counts(run_of(work, run));
    return rps_arena_print(arena_of(work),
                           "an event set was on counters for only %.1f %% of its time: another "
                           "program used the counters, or switching took the rest",
                           100 * work->run[run].coverage);
}

static const char *find_unmatched(const struct rps_comparison_work *work, size_t run)
{
    if (work->comparison.row_count <= 1 || work->run[run].unmatched <= UNMATCHED_MAX)
        return NULL;
    return rps_arena_print(arena_of(work), "%.0f %% of the time is in phases that are not matched",
                           100 * work->run[run].unmatched);
}

static const char *find_lacking(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_comparison_run *of = &work->comparison.run[run];
    char label[RPS_PHASE_LABEL_SIZE];
    const char *lacking = NULL;
    int count = 0;

    for (size_t r = 1; r < work->comparison.row_count && count <= NAMES_MAX; r++) {
        const struct rps_comparison_row *row = &work->comparison.row[r];
        size_t i = 0;

        while (i < of->phases.count && of->phases.phase[i].label != row->label)
            i++;
        if ((of->side == RPS_SIDE_A ? row->a_times : row->b_times) > 0 && i == of->phases.count)
            lacking = join(work, lacking,
                           count++ < NAMES_MAX ? rps_phase_label(row->label, label) : "...");
    }
    return lacking ? rps_arena_print(arena_of(work),
                                     "no phase matches %s, so 0 s in it, and left out of its other "
                                     "metrics",
                                     lacking)
                   : NULL;
}

static const char *find_not_sampled(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_comparison *comparison = &work->comparison;
    int some = 0;

    for (size_t r = 0; comparison->shares && r < comparison->run_count; r++)
        some = some || comparison->shares[r].sample_count > 0;
    if (some && comparison->shares[run].sample_count == 0)
        return "no samples, so left out of the functions";
    return some && comparison->shares[run].sampling.frequency == 0
               ? "sampled once per N events, which does not measure time, so left out of the "
                 "functions"
               : NULL;
}

/* Add one sentence for all affected runs: "Run 3 (main), 7 (new): failed with exit status 1." */
static void remark_doubt(struct rps_comparison_work *work, describer *find)
{
    size_t runs = work->comparison.run_count;
    const char **text = rps_arena_get(arena_of(work), runs, sizeof(*text));

    for (size_t r = 0; r < runs; r++)
        text[r] = find(work, r);
    for (size_t r = 0; r < runs; r++) {
        const char *said = text[r], *names = NULL;

        for (size_t other = r; other < runs && said; other++) {
            if (!text[other] || strcmp(text[other], said) != 0)
                continue;
            names = join(work, names, name_of(work, other));
            text[other] = NULL;
        }
        if (said)
            rps_comparison_remark(&work->comparison, "Run %s: %s.", names, said);
    }
}

static void remark_doubts(struct rps_comparison_work *work)
{
    remark_doubt(work, find_interruption);
    remark_doubt(work, find_part);
    remark_doubt(work, find_failure);
    for (int side = RPS_SIDE_A; side <= RPS_SIDE_B; side++)
        find_outliers(work, (enum rps_comparison_side)side);
    remark_doubt(work, describe_outlier);
    remark_doubt(work, find_downsampled);
    remark_doubt(work, find_shared);
    remark_doubt(work, find_unmatched);
    remark_doubt(work, find_lacking);
    remark_doubt(work, find_not_sampled);
}

/* --- signals ---------------------------------------------------------------------------------- */

static void remark_signals(struct rps_comparison_work *work)
{
    const struct rps_run_phases *phases = &work->phases;
    const char *names = NULL;

    for (size_t i = 0; i < phases->missing_count && i <= NAMES_MAX; i++)
        names = join(work, names, i < NAMES_MAX ? phases->missing[i] : "...");
    if (names)
        rps_comparison_remark(&work->comparison,
                              "Phases were found without %s, which not all runs have.", names);
    if (phases->resolution > 0)
        rps_comparison_remark(&work->comparison,
                              "Phases of all runs were found in blocks of %d rotations of the "
                              "event sets, because one run was downsampled or is long.",
                              1 << (RPS_LEVEL_BITS * phases->resolution));
}

/* --- a busy machine --------------------------------------------------------------------------- */

static void remark_taken(struct rps_comparison_work *work)
{
    struct rps_comparison *comparison = &work->comparison;
    double on_s[2] = {0}, ready_s[2] = {0}, share[2];

    for (size_t r = 0; r < comparison->run_count; r++) {
        on_s[comparison->run[r].side] += work->run[r].time->on_s;
        ready_s[comparison->run[r].side] += rps_system_time_ready_s(
            work->run[r].time, rps_run_system_throttled_s(&work->run[r].system[0]));
    }
    for (int side = 0; side < 2; side++)
        share[side] = ready_s[side] > 0 ? 1 - on_s[side] / ready_s[side] : ready_s[side];
    if (!(fmax(share[0], share[1]) > RPS_SYSTEM_TAKEN_THRESHOLD) || !isfinite(share[0] + share[1]))
        return;
    comparison->taken = fmax(share[0], share[1]);
    rps_comparison_remark(comparison,
                          "The machine was busy: other programs used at least %.0f %% of the CPU "
                          "time that %s could have used (%.3g s of %.3g s), and at least %.0f %% "
                          "of that of %s (%.3g s of %.3g s).",
                          100 * share[0], comparison->name[0], ready_s[0] - on_s[0], ready_s[0],
                          100 * share[1], comparison->name[1], ready_s[1] - on_s[1], ready_s[1]);
}

int rps_comparison_remark_pair(struct rps_comparison *comparison, struct rps_reader *reader,
                               const struct rps_run *before, const struct rps_run *after,
                               struct rps_error *err)
{
    const struct rps_run *const run[] = {before, after};
    struct rps_comparison_work work = {.comparison = *comparison};

    work.run = rps_arena_get(comparison->arena, 2, sizeof(*work.run));
    work.comparison.run = rps_arena_get(comparison->arena, 2, sizeof(*work.comparison.run));
    work.comparison.run_count = 2;
    for (int i = 0; i < 2; i++) {
        work.comparison.run[i] = (struct rps_comparison_run){
            .run_id = run[i]->run_id, .side = i, .store = "", .run = *run[i]};
        work.comparison.name[i] =
            rps_arena_print(comparison->arena, "run %" PRId64, run[i]->run_id);
        if (rps_reader_builds(comparison->arena, reader, run[i]->run_id, &work.run[i].builds, err) <
            0)
            return RPS_FAILED;
    }
    remark_differing(&work, "Different commands", describe_command, "");
    remark_differences(&work);
    remark_others(&work);
    comparison->remark = work.comparison.remark;
    comparison->remark_count = work.comparison.remark_count;
    return 0;
}

void rps_comparison_remark_all(struct rps_comparison_work *work)
{
    remark_taken(work);
    remark_differences(work);
    remark_others(work);
    remark_unknown(work);
    remark_doubts(work);
    remark_signals(work);
    if (work->comparison.statistic == RPS_CHANGE_MEDIAN &&
        (work->comparison.a_count == 1) != (work->comparison.b_count == 1))
        rps_comparison_remark(&work->comparison,
                              "A single run has no interval of its median: compare means, or "
                              "record more runs.");
    if (work->comparison.a_count == 1 && work->comparison.b_count == 1)
        rps_comparison_remark(
            &work->comparison,
            "One run per side shows only how these two runs differ. To separate a change from "
            "chance, record several runs of each with `rpistat record --repeat 5`.");
}
