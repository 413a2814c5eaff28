/* The remarks of a comparison: what could not be compared, and reasons for doubt. */
#include "work.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rpistat/text.h"
#include "rpistat/plan.h"

/* A remark is made if a set was counted for less than this share of its time. */
#define COVERAGE_LEAST .98

/* A remark is made if more than this share of a run is in no row but the whole. */
#define UNMATCHED_MOST .01

#define NAMES_MOST 20 /* that are listed */

/* Describes one run; NULL: no remark. The text is in the arena, or the run's own. */
typedef const char *describer(const struct rps_comparison_work *work, size_t run);

static struct rps_arena *arena_of(const struct rps_comparison_work *work)
{
    return work->comparison.arena;
}

static const struct rps_run *run_of(const struct rps_comparison_work *work, size_t run)
{
    return &work->comparison.run[run].run;
}

/* Append a name to a list, "a, b"; NULL: no list yet. */
static char *join(const struct rps_comparison_work *work, const char *list, const char *name)
{
    return rps_arena_print(arena_of(work), "%s%s%s", list ? list : "", list ? ", " : "", name);
}

/* Format "3", "3 (main)", "3 of b.data", in the form that distinguishes the sides. */
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

    return of->host[0] || of->cpu_model[0]
               ? rps_arena_print(arena_of(work), "%s (%s)", of->host, of->cpu_model)
               : NULL;
}

static const char *describe_kernel(const struct rps_comparison_work *work, size_t run)
{
    return run_of(work, run)->kernel;
}

static const char *describe_counters(const struct rps_comparison_work *work, size_t run)
{
    return run_of(work, run)->pmu;
}

static const char *describe_governor(const struct rps_comparison_work *work, size_t run)
{
    return run_of(work, run)->governor;
}

static const char *describe_period(const struct rps_comparison_work *work, size_t run)
{
    char text[RPS_TEXT_NUMBER_SIZE];

    rps_text_duration(text, sizeof(text), run_of(work, run)->period_ns);
    return rps_arena_text(arena_of(work), text);
}

static const char *describe_sets(const struct rps_comparison_work *work, size_t run)
{
    return rps_arena_print(arena_of(work), "%d", work->run[run].plan->set_count);
}

/* Describe sampling. Another remark covers runs without samples. */
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

/* Add a remark on how the first run differs from another. Unknown values do not count. */
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
    remark_differing(work, "Other machines", describe_machine, ", which may be why figures differ");
    remark_differing(work, "Other kernels", describe_kernel, "");
    remark_differing(work, "Other counters", describe_counters, "");
    remark_differing(work, "Other CPU frequency governors", describe_governor, "");
    remark_differing(work, "Other measurement periods", describe_period, "");
    remark_differing(work, "Other numbers of event sets that take turns", describe_sets,
                     ": estimates are not equally sure");
    remark_differing(work, "Other samples", describe_sampling,
                     ", which do not see functions alike");
}

/* --- runs that are not as they should be ------------------------------------------------------ */

static const char *find_interruption(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_run *of = run_of(work, run);

    if (of->state == RPS_RUN_INTERRUPTED)
        return "incomplete, since the recording was broken off";
    return of->end_reason[0] ? rps_arena_print(arena_of(work), "ended before the workload did, %s",
                                               of->end_reason)
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

static const char *find_thinned(const struct rps_comparison_work *work, size_t run)
{
    char until[RPS_TEXT_NUMBER_SIZE];

    if (work->run[run].thinned_ns < 0)
        return NULL;
    return rps_arena_print(arena_of(work),
                           "only sums over many periods are left of what was before %s",
                           rps_text_clock(until, sizeof(until), work->run[run].thinned_ns, 0));
}

static const char *find_shared(const struct rps_comparison_work *work, size_t run)
{
    if (work->run[run].coverage >= COVERAGE_LEAST)
        return NULL;
    if (rps_run_lacks_counts(run_of(work, run)))
        return rps_run_lacks_counts(run_of(work, run));
    return rps_arena_print(arena_of(work),
                           "a set was on counters for only %.1f %% of its time: another program "
                           "used them too, or switching took the rest",
                           100 * work->run[run].coverage);
}

static const char *find_unmatched(const struct rps_comparison_work *work, size_t run)
{
    if (work->comparison.row_count <= 1 || work->run[run].unmatched <= UNMATCHED_MOST)
        return NULL;
    return rps_arena_print(arena_of(work),
                           "%.0f %% of the time is in phases that other runs of the side lack",
                           100 * work->run[run].unmatched);
}

static int has_phase(const struct rps_phases *phases, int label)
{
    size_t i = 0;

    while (i < phases->count && phases->phase[i].label != label)
        i++;
    return i < phases->count;
}

static const char *find_lacking(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_comparison_run *of = &work->comparison.run[run];
    char label[RPS_PHASE_LABEL_SIZE];
    const char *lacking = NULL;
    int count = 0;

    for (size_t r = 1; r < work->comparison.row_count && count <= NAMES_MOST; r++) {
        const struct rps_comparison_row *row = &work->comparison.row[r];

        if ((of->side == RPS_SIDE_A ? row->a_times : row->b_times) > 0 &&
            !has_phase(&of->phases, row->label))
            lacking = join(work, lacking,
                           count++ < NAMES_MOST ? rps_phase_label(row->label, label) : "...");
    }
    return lacking
               ? rps_arena_print(arena_of(work),
                                 "no phase %s, so left out where such phases are compared", lacking)
               : NULL;
}

static const char *find_not_sampled(const struct rps_comparison_work *work, size_t run)
{
    const struct rps_comparison *comparison = &work->comparison;
    int some = 0;

    for (size_t r = 0; comparison->shares && r < comparison->run_count; r++)
        some = some || comparison->shares[r].sample_count > 0;
    if (some && comparison->shares[run].sample_count == 0)
        return "no samples, so left out where functions are compared";
    return some && comparison->shares[run].sampling.frequency == 0
               ? "sampled each so many events, which does not tell how long a function took, so "
                 "left out where functions are compared"
               : NULL;
}

/* Add one sentence for all runs that it applies to: "Run 3 (main), 7 (new): failed with exit status
 * 1." */
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
    remark_doubt(work, find_failure);
    remark_doubt(work, find_thinned);
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

    for (size_t i = 0; i < phases->missing_count && i <= NAMES_MOST; i++)
        names = join(work, names, i < NAMES_MOST ? phases->missing[i] : "...");
    if (names)
        rps_comparison_remark(&work->comparison,
                              "Phases were found without %s, which not all runs have.", names);
    if (phases->resolution > 0)
        rps_comparison_remark(
            &work->comparison,
            "Phases were found in blocks of %d rotations of the event sets, of all runs: one of "
            "them was thinned to these, or is long.",
            1 << (RPS_LEVEL_BITS * phases->resolution));
}

/* --- a busy machine --------------------------------------------------------------------------- */

/* Return the share of a side's possible CPU time that others took; NaN: not known for all runs. */
static double taken_of(const struct rps_comparison_work *work, enum rps_comparison_side side)
{
    double wait_s = 0, on_s = 0, most_s = 0;

    for (size_t r = 0; r < work->comparison.run_count; r++) {
        const struct rps_system_time *time = &work->run[r].time;

        if (work->comparison.run[r].side != side)
            continue;
        if (!(time->elapsed_s > 0))
            return NAN;
        wait_s += time->wait_s;
        on_s += time->on_s;
        most_s += time->elapsed_s * run_of(work, r)->cpu_count;
    }
    return rps_system_taken(on_s, wait_s, most_s);
}

static void remark_taken(struct rps_comparison_work *work)
{
    struct rps_comparison *comparison = &work->comparison;
    double a = taken_of(work, RPS_SIDE_A), b = taken_of(work, RPS_SIDE_B);

    if (fmax(a, b) > RPS_SYSTEM_TAKEN_TOLD && isfinite(a + b))
        rps_comparison_remark(
            comparison,
            "The machine was busy: others took %.0f %% of the CPU time that %s "
            "wanted, and %.0f %% of that of %s. Judge CPU time, not elapsed time.",
            100 * a, comparison->name[RPS_SIDE_A], 100 * b, comparison->name[RPS_SIDE_B]);
}

void rps_comparison_remark_all(struct rps_comparison_work *work)
{
    remark_taken(work);
    remark_differences(work);
    remark_doubts(work);
    remark_signals(work);
    if (work->comparison.a_count == 1 && work->comparison.b_count == 1)
        rps_comparison_remark(
            &work->comparison,
            "One run a side tells of these two runs alone; to learn whether a change did it, "
            "record several of each: rpistat record --repeat 5.");
}
