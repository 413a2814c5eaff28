/* The remarks of a comparison: what could not be compared, and what makes it doubtful. */
#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"

/* A set on counters for less than this share of its time is worth a word. */
#define COVERAGE_LEAST .98

/* So is more than this share of a run in no row but the whole. */
#define UNMATCHED_MOST .01

#define TEXT_SIZE 512

/* What a run is as far as one remark goes, in words. */
typedef void describer(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE]);

static void machine(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    const struct rps_run *of = &work->comparison.run[run].run;

    ret[0] = '\0';
    if (of->host[0] || of->cpu_model[0])
        snprintf(ret, TEXT_SIZE, "%.200s (%.200s)", of->host, of->cpu_model);
}

static void kernel(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    snprintf(ret, TEXT_SIZE, "%s", work->comparison.run[run].run.kernel);
}

static void counters(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    snprintf(ret, TEXT_SIZE, "%s", work->comparison.run[run].run.pmu);
}

static void governor(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    snprintf(ret, TEXT_SIZE, "%s", work->comparison.run[run].run.governor);
}

static void period(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    rps_text_duration(ret, TEXT_SIZE, work->comparison.run[run].run.period_ns);
}

static void sets(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    snprintf(ret, TEXT_SIZE, "%d", work->run[run].plan->set_count);
}

/* "" for one without samples, of which another remark speaks. */
static void sampling(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    const struct rps_sampling *of;

    ret[0] = '\0';
    if (!work->comparison.shares || work->comparison.shares[run].sample_count == 0)
        return;
    of = &work->comparison.shares[run].sampling;
    if (of->frequency > 0)
        snprintf(ret, TEXT_SIZE, "%.63s, %" PRIu64 " Hz", of->event, of->frequency);
    else
        snprintf(ret, TEXT_SIZE, "%.63s, each %" PRIu64, of->event, of->threshold);
}

/* Say in what way the first run of all differs from another: "WHAT of run 1: X, of run 3: Y". Not
 * known is no difference. */
static int remark_differing(struct rps_comparison_work *work, const char *what, describer *describe,
                            const char *so, struct rps_error *err)
{
    struct rps_comparison *comparison = &work->comparison;
    char first[TEXT_SIZE] = "", other[TEXT_SIZE];
    size_t at = 0;

    for (size_t r = 0; r < comparison->run_count; r++) {
        describe(work, r, other);
        if (!first[0]) {
            memcpy(first, other, sizeof(first));
            at = r;
        }
        if (other[0] && strcmp(first, other) != 0)
            return rps_comparison_remark(
                comparison, err, "%s: %s of run %" PRId64 " (%c), %s of run %" PRId64 " (%c)%s.",
                what, first, comparison->run[at].run_id, "AB"[comparison->run[at].side], other,
                comparison -> run[r].run_id, "AB"[comparison->run[r].side], so);
    }
    return 0;
}

static int remark_differences(struct rps_comparison_work *work, struct rps_error *err)
{
    static const struct {
        const char *what;
        describer *describe;
        const char *so;
    } table[] = {
        {"Other machines", machine, ", which may be why figures differ"},
        {"Other kernels", kernel, ""},
        {"Other counters", counters, ""},
        {"Other CPU frequency governors", governor, ""},
        {"Other measurement periods", period, ""},
        {"Other numbers of event sets that take turns", sets, ": estimates are not equally sure"},
        {"Other samples", sampling, ", which do not see functions alike"},
    };
    int result = 0;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && result == 0; i++)
        result = remark_differing(work, table[i].what, table[i].describe, table[i].so, err);
    return result;
}

/* --- runs that are not as they should be ------------------------------------------------------ */

/* What is wrong with a run, or with several; *ret is "" before, and stays so when nothing is. */
typedef void doubter(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE]);

static void interrupted(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    const struct rps_run *of = &work->comparison.run[run].run;

    if (of->state == RPS_RUN_INTERRUPTED)
        snprintf(ret, TEXT_SIZE, "incomplete, since the recording was broken off");
    else if (of->end_reason[0])
        snprintf(ret, TEXT_SIZE, "ended before the workload did, %s", of->end_reason);
}

static void failed(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    const struct rps_run *of = &work->comparison.run[run].run;

    if (of->exit_signal > 0)
        snprintf(ret, TEXT_SIZE, "ended by signal %d", of->exit_signal);
    else if (of->exit_status > 0)
        snprintf(ret, TEXT_SIZE, "failed with exit status %d", of->exit_status);
}

static void thinned(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    char until[RPS_TEXT_NUMBER_SIZE];

    if (work->run[run].thinned_ns >= 0)
        snprintf(ret, TEXT_SIZE, "only sums over many periods are left of what was before %s",
                 rps_text_clock(until, sizeof(until), work->run[run].thinned_ns, 0));
}

static void shared(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    if (work->run[run].coverage < COVERAGE_LEAST)
        snprintf(
            ret, TEXT_SIZE,
            "a set was on counters for only %.1f %% of its time: another program used them too, "
            "or switching took the rest",
            100 * work->run[run].coverage);
}

static void unmatched(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    if (work->comparison.row_count > 1 && work->run[run].unmatched > UNMATCHED_MOST)
        snprintf(ret, TEXT_SIZE,
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

static void lacking(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    const struct rps_comparison_run *of = &work->comparison.run[run];
    char label[RPS_PHASE_LABEL_SIZE];
    size_t used = 0;

    for (size_t r = 1; r < work->comparison.row_count && used < TEXT_SIZE / 2; r++) {
        const struct rps_comparison_row *row = &work->comparison.row[r];

        if ((of->side == RPS_SIDE_A ? row->a_times : row->b_times) > 0 &&
            !has_phase(&of->phases, row->label))
            used += (size_t)snprintf(ret + used, TEXT_SIZE - used, "%s%s",
                                     used ? ", " : "no phase ", rps_phase_label(row->label, label));
    }
    if (used > 0)
        snprintf(ret + used, TEXT_SIZE - used, "%s, so left out where such phases are compared",
                 used < TEXT_SIZE / 2 ? "" : "...");
}

static void not_sampled(const struct rps_comparison_work *work, size_t run, char ret[TEXT_SIZE])
{
    const struct rps_comparison *comparison = &work->comparison;
    int some = 0;

    for (size_t r = 0; comparison->shares && r < comparison->run_count; r++)
        some = some || comparison->shares[r].sample_count > 0;
    if (some && comparison->shares[run].sample_count == 0)
        snprintf(ret, TEXT_SIZE, "no samples, so left out where functions are compared");
    else if (some && comparison->shares[run].sampling.frequency == 0)
        snprintf(
            ret, TEXT_SIZE,
            "sampled each so many events, which does not tell how long a function took, so left "
            "out where functions are compared");
}

static void call(const struct rps_comparison_work *work, doubter *doubt, size_t run,
                 char ret[TEXT_SIZE])
{
    ret[0] = '\0';
    doubt(work, run, ret);
}

/* The runs of which the text is true: "3 (A), 7 (B)"; "" when an earlier one than `run` is. */
static void list_runs(const struct rps_comparison_work *work, doubter *doubt, size_t run,
                      const char *text, char ret[TEXT_SIZE])
{
    const struct rps_comparison *comparison = &work->comparison;
    char other[TEXT_SIZE];
    size_t used = 0;

    ret[0] = '\0';
    for (size_t r = 0; r < comparison->run_count && used < TEXT_SIZE; r++) {
        call(work, doubt, r, other);
        if (strcmp(text, other) != 0)
            continue;
        if (r < run)
            return;
        used +=
            (size_t)snprintf(ret + used, TEXT_SIZE - used, "%s%" PRId64 " (%c)", used ? ", " : "",
                             comparison->run[r].run_id, "AB"[comparison->run[r].side]);
    }
}

/* One sentence for all runs of which it is true: "Run 3 (A), 7 (B): failed with exit status 1." */
static int remark_doubts(struct rps_comparison_work *work, struct rps_error *err)
{
    static doubter *const doubts[] = {
        interrupted, failed, thinned, shared, unmatched, lacking, not_sampled,
    };
    struct rps_comparison *comparison = &work->comparison;
    char text[TEXT_SIZE], runs[TEXT_SIZE];
    int result = 0;

    for (size_t i = 0; i < sizeof(doubts) / sizeof(doubts[0]); i++) {
        for (size_t r = 0; r < comparison->run_count && result == 0; r++) {
            call(work, doubts[i], r, text);
            if (!text[0])
                continue;
            list_runs(work, doubts[i], r, text, runs);
            if (runs[0])
                result = rps_comparison_remark(comparison, err, "Run %s: %s.", runs, text);
        }
    }
    return result;
}

/* --- signals ---------------------------------------------------------------------------------- */

static int remark_signals(struct rps_comparison_work *work, struct rps_error *err)
{
    const struct rps_joint_phases *joint = &work->joint;
    char names[TEXT_SIZE] = "";
    size_t used = 0;

    for (size_t i = 0; i < joint->missing_count && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 joint->missing[i]);
    if (used == 0)
        return 0;
    return rps_comparison_remark(&work->comparison, err,
                                 "Phases were found without %s%s, which not all runs have.", names,
                                 used < sizeof(names) ? "" : "...");
}

static int remark_level(struct rps_comparison_work *work, struct rps_error *err)
{
    if (work->joint.level == 0)
        return 0;
    return rps_comparison_remark(&work->comparison, err,
                                 "Phases were found in blocks of %d rotations of the event sets, "
                                 "of all runs: one of them was thinned to these, or is long.",
                                 1 << (RPS_LEVEL_BITS * work->joint.level));
}

int rps_comparison_remark_all(struct rps_comparison_work *work, struct rps_error *err)
{
    struct rps_comparison *comparison = &work->comparison;
    int result = remark_differences(work, err);

    if (result == 0)
        result = remark_doubts(work, err);
    if (result == 0)
        result = remark_signals(work, err);
    if (result == 0)
        result = remark_level(work, err);
    if (result == 0 && comparison->a_count == 1 && comparison->b_count == 1)
        result = rps_comparison_remark(comparison, err,
                                       "One run a side tells of these two runs alone; to learn "
                                       "whether a change did it, record several of each: rpistat "
                                       "record --repeat 5.");
    return result;
}
