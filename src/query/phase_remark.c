/* The remark on a whole run reports loops, drifts, ramps, uncertain classes, a late recorder, and
 * changes that blocks hide. To find how far values drift, each tenth of the run is profiled as if
 * it were a phase. */
#include "rpistat/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/run_system.h"
#include "rpistat/text.h"

#define TENTHS 10

/* Maximum number of named loops, and of named parts per loop: as many as fit into a remark. */
#define LOOPS_MAX 2
#define PARTS_MAX 12

/* Maximum bytes of the text about loops; the remaining bytes are for ramps. */
#define REPETITION_MAX (RPS_PHASE_REMARK_SIZE / 2)

/* Maximum number of named metrics; minimum ratio of the largest to the smallest of ten means. */
#define FIGURES_MAX 2
#define APART_MIN   1.3

#define RAMPS_MAX 3

/* Minimum ratio of each step between tenths to the mean step, if memory rises steadily. */
#define STEADY_MIN  .25
#define FEW_MAX     .3 /* Maximum share of readings at the end that the line leaves out. */
#define MIB_MIN     2  /* A smaller change of memory is not reported. */
#define KIB_PER_MIB 1024

/* Outlier iterations are reported if they take more than this share of a loop's time. */
#define OUTLIER_THRESHOLD .1

/* The share of the time with an uncertain class is printed if the share exceeds this value. In 15
 * of 89 recordings of programs with known phases, the share was higher. In these 15 recordings, the
 * mean adjusted Rand index is .58; in the other 74, it is .84. Numbers of samples and CPU use did
 * not separate good answers from bad ones. */
#define DOUBT_MIN .02

/* The share of periods that the recorder got is printed if it is below this value. In 37 recordings
 * of ten programs with known phases, seven had a lower share (.19 to .56). Their mean F1 is .67,
 * and their mean adjusted Rand index is .42. In the 30 recordings with .70 and more, the means are
 * .95 and .88. In the seven recordings, phases were lost that took up to 3.3 times as long as the
 * longest period. */
#define GOT_MIN      .65
#define LOST_LONGEST 4

/* If the largest and the smallest of ten means are at most this number of standard errors apart,
 * the difference is treated as noise. */
#define ERRORS 6

/* Format the length as "57.0 s", or for a table as "570 rows". */
static void report_length(double length, int is_time, char ret[RPS_TEXT_NUMBER_SIZE])
{
    if (is_time)
        rps_text_stretch(ret, RPS_TEXT_NUMBER_SIZE, (int64_t)length);
    else
        snprintf(ret, RPS_TEXT_NUMBER_SIZE, "%.0f rows", length);
}

/* Return "; 2 outliers take 17 min 10 s", if the outliers take much of the loop's time. A long
 * iteration may be several iterations that were not separated. */
static const char *outlier_text(struct rps_arena *arena, const struct rps_loop *loop, int is_time)
{
    double odd = 0, all = 0;
    char length[RPS_TEXT_NUMBER_SIZE];

    for (size_t t = 0; t < loop->iteration_count; t++) {
        all += loop->turn[t].length;
        odd += loop->turn[t].kind == RPS_ITERATION_USUAL ? 0 : loop->turn[t].length;
    }
    if (!(odd > OUTLIER_THRESHOLD * all))
        return "";
    report_length(odd, is_time, length);
    return rps_arena_print(arena, "; %zu outlier%s %s", loop->outlier_count,
                           loop->outlier_count == 1 ? " takes" : "s take", length);
}

/* Return "B C D E repeats (60 iterations, mean 57.0 s)"; with inner loops "[B, 8 x (C D), E]
 * repeats (...)". */
static const char *loop_text(struct rps_arena *arena, const struct rps_loop *loop, int is_time,
                             size_t parts_max)
{
    const char *parts = rps_loop_parts(arena, loop, "x", parts_max);
    char each[RPS_TEXT_NUMBER_SIZE];

    report_length(loop->length, is_time, each);
    if (loop->part_count > parts_max)
        parts = rps_arena_print(arena, "%s of %zu parts", parts, loop->part_count);
    if (rps_loop_has_inner(loop))
        parts = rps_arena_print(arena, "[%s]", parts);
    return rps_arena_print(arena, "%s repeats (%zu iterations, mean %s%s)", parts,
                           loop->iteration_count, each, outlier_text(arena, loop, is_time));
}

/* Write the repetition into ret, or leave ret unchanged if nothing repeats. Fewer parts of each
 * loop are named until the text is shorter than REPETITION_MAX bytes. */
static void report_repetition(const struct rps_phases *shown, const struct rps_wave *wave,
                              int64_t observation_ns, char ret[RPS_PHASE_REMARK_SIZE])
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_loops loops = rps_loops_of(arena, shown);
    char every[RPS_TEXT_NUMBER_SIZE];
    const char *text = NULL;

    for (size_t parts = PARTS_MAX; loops.count > 0 && parts > 0 && !text; parts--) {
        text = "";
        for (size_t k = 0; k < loops.count && k < LOOPS_MAX; k++)
            text = rps_arena_print(arena, "%s%s%s", text, k > 0 ? ", then " : "",
                                   loop_text(arena, &loops.loop[k], observation_ns > 0, parts));
        if (parts > 1 && strlen(text) >= REPETITION_MAX)
            text = NULL;
    }
    if (text) {
        snprintf(ret, RPS_PHASE_REMARK_SIZE, "%s", text);
    } else if (wave->turns > 0) {
        report_length(observation_ns > 0 ? wave->length * (double)observation_ns : wave->length,
                      observation_ns > 0, every);
        snprintf(ret, RPS_PHASE_REMARK_SIZE, "the values repeat every %s", every);
    }
    rps_arena_free(arena);
}

/* Report that blocks hide changes. If iterations are shorter than two blocks, they seem to repeat
 * with another period: the beat of the iterations' length and the blocks' length. */
static void report_blocks(const struct rps_found_phases *found, int64_t block_ns,
                          char ret[RPS_PHASE_REMARK_SIZE])
{
    size_t used = strlen(ret);
    char block[RPS_TEXT_NUMBER_SIZE];

    report_length((double)block_ns, 1, block);
    if (found->wave.turns > 0)
        snprintf(ret + used, RPS_PHASE_REMARK_SIZE - used,
                 "; the true interval may be a fraction of this (read in blocks of %s)", block);
    else if (used == 0 && rps_phase_levels_shown(&found->levels)->count == 1)
        snprintf(ret, RPS_PHASE_REMARK_SIZE,
                 "no other phase is visible in blocks of %s; faster changes are not visible",
                 block);
}

/* Divide the range of the phases into tenths. Each tenth has its own label, from `label` on. */
static void make_tenths(const struct rps_phases *phases, int label, struct rps_phase ret[TENTHS])
{
    const struct rps_phase *first = &phases->phase[0], *last = &phases->phase[phases->count - 1];
    uint64_t count = last->last - first->first + 1;
    int64_t length_ns = last->end_ns - first->start_ns;

    for (int k = 0; k < TENTHS; k++)
        ret[k] = (struct rps_phase){
            .first = first->first + count * (uint64_t)k / TENTHS,
            .last = first->first + count * (uint64_t)(k + 1) / TENTHS - 1,
            .start_ns = first->start_ns + length_ns * k / TENTHS,
            .end_ns = first->start_ns + length_ns * (k + 1) / TENTHS,
            .label = label + k,
        };
}

/* Return the ratio of the largest to the smallest tenth of a metric, or 1 if the tenths differ no
 * more than by chance. Columns of a table may have any sign. For them, return one plus the
 * difference of the tenths divided by the spread inside the tenths. */
static double apart(const struct rps_profile *tenths, size_t f, double *ret_low, double *ret_high)
{
    double low = INFINITY, high = -INFINITY, error, inside = tenths->figure[f].inside;

    for (size_t k = 0; k < TENTHS; k++) {
        double value = tenths->mean[k * tenths->figure_count + f];

        if (!isfinite(value))
            return 1;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    *ret_low = low;
    *ret_high = high;
    error = inside / sqrt(fmax((double)tenths->periods / TENTHS, 1));
    if (!(high - low > ERRORS * error))
        return 1;
    if (tenths->length_ns > 0)
        return low > 0 ? high / low : 1;
    return inside > 0 ? 1 + (high - low) / inside : 1;
}

/* Change of a metric, measured by apart(). Drifts are sorted before all other changes. */
struct drift {
    size_t figure;
    int drifts; /* 1 if the change from the first to the last tenth is nearly the whole range of
                   the values. */
    double by, low, high, from, to;
};

static struct drift drift_of(const struct rps_profile *tenths, size_t f)
{
    struct drift drift = {.figure = f,
                          .from = tenths->mean[f],
                          .to = tenths->mean[(TENTHS - 1) * tenths->figure_count + f]};

    drift.by = apart(tenths, f, &drift.low, &drift.high);
    drift.drifts = fabs(drift.to - drift.from) >= 0.75 * (drift.high - drift.low);
    return drift;
}

static int compare_drifts(const void *a, const void *b)
{
    const struct drift *x = a, *y = b;

    if (x->drifts != y->drifts)
        return y->drifts - x->drifts;
    if (x->by < y->by || x->by > y->by)
        return x->by > y->by ? -1 : 1;
    return (x->figure > y->figure) - (x->figure < y->figure);
}

/* Write "CPI from 1.21 to 3.42" for a drift, otherwise "CPI between 1.21 and 3.42". */
static void name_figure(const struct rps_profile *tenths, const struct drift *drift, char *ret,
                        size_t size)
{
    const struct rps_figure *figure = &tenths->figure[drift->figure];
    const char *name = figure->label[0] ? figure->label : figure->name;
    char from[RPS_TEXT_NUMBER_SIZE], to[RPS_TEXT_NUMBER_SIZE];

    rps_text_number_of(from, sizeof(from), drift->drifts ? drift->from : drift->low, figure->unit);
    rps_text_number_of(to, sizeof(to), drift->drifts ? drift->to : drift->high, figure->unit);
    snprintf(ret, size, "%.40s %s %s %s %s%s%.16s", name, drift->drifts ? "from" : "between", from,
             drift->drifts ? "to" : "and", to, figure->unit[0] ? " " : "", figure->unit);
}

/* Choose metrics with an apart() above `least`: first drifts, then the largest changes. */
static size_t choose_drifts(const struct rps_profile *tenths, double least, struct drift *ret)
{
    size_t count = 0;

    for (size_t f = 0; f < tenths->figure_count; f++) {
        ret[count] = drift_of(tenths, f);
        count += ret[count].by > least;
    }
    qsort(ret, count, sizeof(*ret), compare_drifts);
    return count;
}

/* Add ": CPI from 1.21 to 3.42, CPU use from 5 to 90 %". */
static void add_figures(const struct rps_profile *tenths, const struct drift *drift, size_t count,
                        char ret[RPS_PHASE_REMARK_SIZE])
{
    char text[192];

    for (size_t k = 0; k < count && k < FIGURES_MAX; k++) {
        size_t length = strlen(ret);

        name_figure(tenths, &drift[k], text, sizeof(text));
        snprintf(ret + length, RPS_PHASE_REMARK_SIZE - length, "%s%s", k == 0 ? ": " : ", ", text);
    }
}

/* Append to a remark how far the run drifts, from the profile of the tenths. The remark is empty,
 * or is the remark on a wave. Name the metrics that change most, beginning with metrics that drift.
 * If no metric changes much, name the first metric that changes by more than its noise. */
static void add_drift(const struct rps_profile *tenths, char ret[RPS_PHASE_REMARK_SIZE])
{
    struct drift *drift = rps_arena_get(tenths->arena, tenths->figure_count + 1, sizeof(*drift));
    size_t length = strlen(ret), count = choose_drifts(tenths, APART_MIN, drift);

    if (count == 0 && length == 0)
        count = choose_drifts(tenths, 1, drift) > 0;
    if (count == 0 || (length > 0 && !drift[0].drifts)) /* A wave varies anyway, so only a drift
                                                           is reported. */
        return;
    snprintf(ret + length, RPS_PHASE_REMARK_SIZE - length, "%s%s",
             length > 0 ? ", and " : "the values ", drift[0].drifts ? "drift" : "vary");
    add_figures(tenths, drift, count, ret);
}

/* Add "phase B is a ramp: CPI from 1.21 to 3.42", from the profile of the phase's tenths. Add
 * nothing if no metric rises or falls by much. */
static void add_ramp(const struct rps_profile *tenths, int label, char ret[RPS_PHASE_REMARK_SIZE])
{
    struct drift *drift = rps_arena_get(tenths->arena, tenths->figure_count + 1, sizeof(*drift));
    size_t length = strlen(ret), count = choose_drifts(tenths, APART_MIN, drift);
    char letter[RPS_PHASE_LABEL_SIZE];

    while (count > 0 && !drift[count - 1].drifts)
        count--;
    if (count == 0)
        return;
    snprintf(ret + length, RPS_PHASE_REMARK_SIZE - length, "%sphase %s is a ramp",
             length > 0 ? "; " : "", rps_phase_label(label, letter));
    add_figures(tenths, drift, count, ret);
}

/* Return the memory at an end of the run in MiB: the mean of the tenth at the end, continued by
 * half a step away from its neighbour, within the values of the tenth. The lowest and the highest
 * value would include peaks, and the first moments of a program. */
static double memory_at_end(const struct rps_run_system *tenth, double mean, double neighbour)
{
    const struct rps_system_sum *sum = &tenth->slot[RPS_SYSTEM_TREE][RPS_TREE_RSS];

    return fmax(sum->low, fmin(sum->high, mean + (mean - neighbour) / 2)) / KIB_PER_MIB;
}

/* Return the mean of the last tenth, as if a few readings that break the line (a process ended)
 * continued it. The outermost reading of a line lies 1.5 steps from the mean before. In 20,000
 * random walks of 100 readings, 62 sentences are false, with and without this rule. */
static double mean_at_end(const struct rps_run_system *tenth, double mean, double before, int is_up)
{
    const struct rps_system_sum *sum = &tenth->slot[RPS_SYSTEM_TREE][RPS_TREE_RSS];
    const double line = before + ((is_up ? sum->high : sum->low) - before) / 1.5;

    return fabs(line - mean) < FEW_MAX * fabs(line - (is_up ? sum->low : sum->high)) ? line : mean;
}

/* Append "; RSS rises from 1 to 144 MiB (7.6 MiB/s)" if memory rises or falls steadily
 * through all tenths. In a random walk, nine steps of similar size in one direction are rare. */
static int add_memory(const struct rps_run_system *tenth, double length_s, const char *where,
                      char ret[RPS_PHASE_REMARK_SIZE])
{
    char rate[RPS_TEXT_NUMBER_SIZE];
    const size_t length = strlen(ret);
    double mean[TENTHS], step, from, to;

    for (int k = 0; k < TENTHS; k++)
        mean[k] = rps_run_system_mean(&tenth[k], RPS_SYSTEM_TREE, RPS_TREE_RSS);
    mean[TENTHS - 1] = mean_at_end(&tenth[TENTHS - 1], mean[TENTHS - 1], mean[TENTHS - 2],
                                   mean[TENTHS - 2] > mean[0]);
    step = (mean[TENTHS - 1] - mean[0]) / (TENTHS - 1);
    for (int k = 1; k < TENTHS; k++) {
        if (!((mean[k] - mean[k - 1]) * step > STEADY_MIN * step * step))
            return 0;
    }
    from = memory_at_end(&tenth[0], mean[0], mean[1]);
    to = memory_at_end(&tenth[TENTHS - 1], mean[TENTHS - 1], mean[TENTHS - 2]);
    if (fabs(to - from) < MIB_MIN || fmax(from, to) < APART_MIN * fmin(from, to))
        return 0;
    rps_text_number_of(rate, sizeof(rate), fabs(to - from) / length_s, "MiB/s");
    snprintf(ret + length, RPS_PHASE_REMARK_SIZE - length,
             "%sRSS %s from %.0f to %.0f MiB%s (%s MiB/s)", length > 0 ? "; " : "",
             step > 0 ? "rises" : "falls", from, to, where, rate);
    return 1;
}

/* Return 1 if there are enough rows for tenths. */
static int has_tenths(const struct rps_phases *of)
{
    return of->phase[of->count - 1].last - of->phase[0].first + 1 >= TENTHS;
}

/* Find what is divided into tenths: the first ramp of each label, at most RAMPS_MAX ramps. If there
 * is no ramp, it is all phases of a run that drifts. Return the number of elements of ret. */
static size_t find_divided(const struct rps_found_phases *found, struct rps_phases ret[RAMPS_MAX])
{
    const struct rps_phases *shown = rps_phase_levels_shown(&found->levels);
    int is_any = 0;
    size_t count = 0;

    for (size_t k = 0; k < shown->count && count < RAMPS_MAX; k++) {
        const struct rps_phases one = {.count = 1, .phase = &shown->phase[k]};
        size_t at = 0;

        while (at < count && ret[at].phase[0].label != one.phase[0].label)
            at++;
        is_any |= one.phase[0].trend != 0;
        if (one.phase[0].trend != 0 && at == count && has_tenths(&one))
            ret[count++] = one;
    }
    if (!is_any && found->drifts && has_tenths(shown))
        ret[count++] = *shown;
    return count;
}

struct rps_phases rps_profile_tenths(struct rps_arena *arena, const struct rps_found_phases *found)
{
    struct rps_phases of[RAMPS_MAX];
    size_t count = find_divided(found, of);
    struct rps_phases ret = {.count = TENTHS * count,
                             .phase = rps_arena_get(arena, TENTHS * count, sizeof(*ret.phase)),
                             .label_count = TENTHS * (int)count};

    for (size_t k = 0; k < count; k++)
        make_tenths(&of[k], TENTHS * (int)k, &ret.phase[TENTHS * k]);
    return ret;
}

/* Append the remarks on ramps or drifts, from the profile of the tenths. */
static void add_changes(const struct rps_found_phases *found, const struct rps_profile *tenths,
                        char ret[RPS_PHASE_REMARK_SIZE])
{
    struct rps_phases of[RAMPS_MAX];
    size_t count = find_divided(found, of);

    for (size_t k = 0; k < count; k++) {
        struct rps_profile part = *tenths;

        part.periods = of[k].phase[of[k].count - 1].last - of[k].phase[0].first + 1;
        part.mean += k * TENTHS * part.figure_count;
        if (of[k].phase[0].trend != 0)
            add_ramp(&part, of[k].phase[0].label, ret);
        else
            add_drift(&part, ret);
    }
}

/* Add the share of the time that may belong to another class, without time in ramps. */
static void add_doubt(const struct rps_phases *shown, char ret[RPS_PHASE_REMARK_SIZE])
{
    size_t length = strlen(ret);
    double all = 0, doubt = 0;

    for (size_t k = 0; k < shown->count; k++) {
        const struct rps_phase *phase = &shown->phase[k];
        double rows = (double)(phase->last - phase->first + 1);

        all += rows;
        doubt += phase->trend == 0 ? rows * (1 - phase->label_confidence) : 0;
    }
    if (doubt > DOUBT_MIN * all)
        snprintf(ret + length, RPS_PHASE_REMARK_SIZE - length,
                 "%sclasses are uncertain: %.0f %% of the time may belong to another class",
                 length > 0 ? "; " : "", 100 * doubt / all);
}

/* Append the share of the periods that the recorder got. */
static void add_late(const struct rps_observing *observing, char ret[RPS_PHASE_REMARK_SIZE])
{
    size_t length = strlen(ret);
    char lost[RPS_TEXT_NUMBER_SIZE];

    if (1 - observing->late >= GOT_MIN)
        return;
    report_length(LOST_LONGEST * (double)observing->longest_ns, 1, lost);
    snprintf(ret + length, RPS_PHASE_REMARK_SIZE - length,
             "%sthe recorder got only %.0f %% of its periods: phases shorter than %s may be "
             "missing or wrong",
             length > 0 ? "; " : "", 100 * (1 - observing->late), lost);
}

void rps_profile_remark(const struct rps_found_phases *found, const struct rps_observing *observing,
                        const struct rps_profile *tenths, char ret[RPS_PHASE_REMARK_SIZE])
{
    const struct rps_phases *shown = rps_phase_levels_shown(&found->levels);

    ret[0] = '\0';
    report_repetition(shown, &found->wave, observing->observation_ns, ret);
    add_changes(found, tenths, ret);
    if (observing->in_blocks) {
        report_blocks(found, observing->observation_ns, ret);
    } else if (observing->observation_ns > 0) {
        add_doubt(shown, ret);
        add_late(observing, ret);
    }
}

int rps_profile_remark_memory(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                              const struct rps_phases *phases, char ret[RPS_PHASE_REMARK_SIZE],
                              struct rps_error *err)
{
    struct rps_phases of = *phases;
    struct rps_phase tenth[TENTHS];
    const struct rps_phases tenths = {.count = TENTHS, .phase = tenth, .label_count = TENTHS};
    struct rps_run_part part;
    struct rps_run_system *system;
    char where[32] = "", letter[RPS_PHASE_LABEL_SIZE];
    int64_t start_ns, end_ns, all_ns;

    if (phases->count == 0)
        return 0;
    all_ns = phases->phase[phases->count - 1].end_ns - phases->phase[0].start_ns;
    for (size_t k = 0; k <= phases->count; k++) { /* the whole run, then each phase */
        if (k > 0) {
            of.count = 1;
            of.phase = &phases->phase[k - 1];
        }
        start_ns = of.phase->start_ns;
        end_ns = of.phase[of.count - 1].end_ns;
        if (!has_tenths(&of) || end_ns - start_ns < all_ns / 2)
            continue;
        make_tenths(&of, 0, tenth);
        part = rps_run_part_of_phases(arena, &tenths, 1);
        if (rps_run_system_read(arena, reader, run_id, start_ns, end_ns, &part, &system, err) < 0)
            return RPS_FAILED;
        if (k > 0)
            snprintf(where, sizeof(where), " in phase %s",
                     rps_phase_label(of.phase->label, letter));
        if (add_memory(system, (double)(end_ns - start_ns) / RPS_NS_PER_S, where, ret))
            break;
    }
    return 0;
}
