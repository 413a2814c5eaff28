/*
 * Make the remark on a whole run: loops; drifts of the run or of a phase; ramps; uncertain classes.
 * If the run was seen in blocks, add the changes that these hide. To find how far values drift,
 * tenths are profiled as if they were phases.
 */
#include "rpistat/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/fold.h"
#include "rpistat/text.h"

#define TENTHS 10

/* Loops that are named, and parts of each: more do not fit into a remark. */
#define LOOPS_MAX 2
#define PARTS_MAX 12

/* Bytes of the loops' text; the rest is for ramps. */
#define REPETITION_MAX (RPS_PHASE_REMARK_SIZE / 2)

/* Metrics that are named, and by how much the largest of ten must exceed the smallest. */
#define FIGURES_MAX 2
#define APART_MIN   1.3

/* Ramps that are named, at most. */
#define RAMPS_MAX 3

/* Outlier iterations are reported if they take more than this share of a loop's time. */
#define ODD_TOLD .1

/*
 * A larger share of the time with an uncertain class is printed. In 89 recordings of programs with
 * known phases, 15 answers had more: mean adjusted Rand index .58, and .84 of the other answers.
 * Numbers of samples and CPU use did not separate good answers from bad ones.
 */
#define DOUBT_MIN .02

/* Standard errors between the largest and the smallest of ten means of noise, at most. */
#define ERRORS 6

/* Format "57.0 s", for a table "570 rows". */
static void say_length(double length, int is_time, char ret[RPS_TEXT_NUMBER_SIZE])
{
    if (is_time)
        rps_text_stretch(ret, RPS_TEXT_NUMBER_SIZE, (int64_t)length);
    else
        snprintf(ret, RPS_TEXT_NUMBER_SIZE, "%.0f rows", length);
}

/* Return ", 2 of them odd, which take 17 min 10 s", if that is much of the loop. Such a long
 * iteration may be several that were not separated. */
static const char *odd_text(struct rps_arena *arena, const struct rps_loop *loop, int is_time)
{
    double odd = 0, all = 0;
    char length[RPS_TEXT_NUMBER_SIZE];

    for (size_t t = 0; t < loop->turn_count; t++) {
        all += loop->turn[t].length;
        odd += loop->turn[t].kind == RPS_TURN_USUAL ? 0 : loop->turn[t].length;
    }
    if (!(odd > ODD_TOLD * all))
        return "";
    say_length(odd, is_time, length);
    return rps_arena_print(arena, ", %zu of them odd, which take%s %s", loop->odd_count,
                           loop->odd_count == 1 ? "s" : "", length);
}

/* Return "B C D E, 60 turns, 57.0 s each"; with inner loops "60 times: B, 8 x (C D), E; 57.0 s
 * each". */
static const char *loop_text(struct rps_arena *arena, const struct rps_loop *loop, int is_time,
                             size_t parts_max)
{
    const char *parts = rps_loop_parts(arena, loop, "x", parts_max);
    char each[RPS_TEXT_NUMBER_SIZE];

    say_length(loop->length, is_time, each);
    if (loop->part_count > parts_max)
        parts = rps_arena_print(arena, "%s (%zu parts)", parts, loop->part_count);
    parts = rps_loop_has_inner(loop)
                ? rps_arena_print(arena, "%zu times: %s;", loop->turn_count, parts)
                : rps_arena_print(arena, "%s, %zu turns,", parts, loop->turn_count);
    return rps_arena_print(arena, "%s %s each%s", parts, each, odd_text(arena, loop, is_time));
}

/* Write the repetition into ret, or leave ret unchanged if nothing repeats. Fewer parts of each
 * loop are named until the text is shorter than REPETITION_MAX bytes. */
static void say_repetition(const struct rps_phases *shown, const struct rps_wave *wave,
                           int64_t observation_ns, char ret[RPS_PHASE_REMARK_SIZE])
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_loops loops = rps_loops_of(arena, shown);
    char every[RPS_TEXT_NUMBER_SIZE];
    const char *text = NULL;

    for (size_t parts = PARTS_MAX; loops.count > 0 && parts > 0 && !text; parts--) {
        text = rps_loop_has_inner(&loops.loop[0]) ? "it repeats " : "it repeats: ";
        for (size_t k = 0; k < loops.count && k < LOOPS_MAX; k++)
            text = rps_arena_print(arena, "%s%s%s", text, k > 0 ? ", then " : "",
                                   loop_text(arena, &loops.loop[k], observation_ns > 0, parts));
        if (parts > 1 && strlen(text) >= REPETITION_MAX)
            text = NULL;
    }
    if (text) {
        snprintf(ret, RPS_PHASE_REMARK_SIZE, "%s", text);
    } else if (wave->turns > 0) {
        say_length(observation_ns > 0 ? wave->length * (double)observation_ns : wave->length,
                   observation_ns > 0, every);
        snprintf(ret, RPS_PHASE_REMARK_SIZE, "it repeats every %s", every);
    }
    rps_arena_free(arena);
}

/* Add changes that blocks hide: iterations shorter than two blocks repeat at the beat of both. */
static void say_blocks(const struct rps_found_phases *found, int64_t block_ns,
                       char ret[RPS_PHASE_REMARK_SIZE])
{
    size_t used = strlen(ret);
    char block[RPS_TEXT_NUMBER_SIZE];

    say_length((double)block_ns, 1, block);
    if (found->wave.turns > 0)
        snprintf(ret + used, RPS_PHASE_REMARK_SIZE - used,
                 "; its turns may be a part of that, since they were seen in blocks of %s", block);
    else if (used == 0 && rps_phase_levels_shown(&found->levels)->count == 1)
        snprintf(ret, RPS_PHASE_REMARK_SIZE,
                 "no other phase stands out in blocks of %s, and what changes faster is not seen",
                 block);
}

/* Make tenths of the range of the phases. Each has a label of its own, from `label` on. */
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

/* Return the largest of a metric's tenths by the smallest; 1 if they differ no more than means of
 * so many observations. Columns of a table may have any sign: return one plus the difference by the
 * spread inside the tenths. */
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

/* How far a metric changes, by apart(); drifts are sorted before other changes. */
struct drift {
    size_t figure;
    int drifts; /* its ends are nearly its extremes */
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

/* Choose metrics with an apart() of more than `least`: drifts first, then the largest change. */
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

/* Add how far the run drifts to a remark ("" or that of a wave), from the profile of its tenths.
 * Name the metrics that change most, first those that go from one end to the other. If none changes
 * much, name the first that changes by more than its noise. */
static void add_drift(const struct rps_profile *tenths, char ret[RPS_PHASE_REMARK_SIZE])
{
    struct drift *drift = rps_arena_get(tenths->arena, tenths->figure_count + 1, sizeof(*drift));
    size_t length = strlen(ret), count = choose_drifts(tenths, APART_MIN, drift);

    if (count == 0 && length == 0)
        count = choose_drifts(tenths, 1, drift) > 0;
    if (count == 0 || (length > 0 && !drift[0].drifts)) /* a wave varies anyway */
        return;
    snprintf(ret + length, RPS_PHASE_REMARK_SIZE - length, "%s%s", length > 0 ? ", and " : "it ",
             drift[0].drifts ? "drifts" : "wanders");
    add_figures(tenths, drift, count, ret);
}

/* Add "phase B is a ramp: CPI from 1.21 to 3.42", from the profile of its tenths. Add nothing if no
 * metric rises or falls by much. */
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

/* Profile tenths of the range of each of `of`, in one walk, and add the remarks on them. */
static int find_drifts(const struct rps_phases *of, size_t count, int are_ramps,
                       rps_profile_find *profile, const void *context,
                       char ret[RPS_PHASE_REMARK_SIZE], struct rps_error *err)
{
    struct rps_phase phase[RAMPS_MAX * TENTHS];
    const struct rps_phases all = {
        .count = count * TENTHS, .phase = phase, .label_count = (int)count * TENTHS};
    struct rps_profile tenths;
    struct rps_arena *arena = rps_arena_new();
    int result = 0;

    for (size_t k = 0; k < count; k++)
        make_tenths(&of[k], (int)k * TENTHS, &phase[k * TENTHS]);
    if (count > 0)
        result = profile(context, arena, &all, &tenths, err);
    for (size_t k = 0; k < count && result == 0; k++) {
        tenths.periods = of[k].phase[of[k].count - 1].last - of[k].phase[0].first + 1;
        if (are_ramps)
            add_ramp(&tenths, of[k].phase[0].label, ret);
        else
            add_drift(&tenths, ret);
        tenths.mean += TENTHS * tenths.figure_count;
    }
    rps_arena_free(arena);
    return result;
}

/* Fewer rows than TENTHS have no tenths. */
static int has_tenths(const struct rps_phases *of)
{
    return of->phase[of->count - 1].last - of->phase[0].first + 1 >= TENTHS;
}

/* Add the ramps, at most RAMPS_MAX, the first of each label. Return 1 if there is any. */
static int find_ramps(const struct rps_phases *shown, rps_profile_find *profile,
                      const void *context, char ret[RPS_PHASE_REMARK_SIZE], struct rps_error *err)
{
    struct rps_phases ramp[RAMPS_MAX] = {{0}};
    int is_any = 0;
    size_t count = 0;

    for (size_t k = 0; k < shown->count && count < RAMPS_MAX; k++) {
        const struct rps_phases one = {.count = 1, .phase = &shown->phase[k]};
        size_t at = 0;

        while (at < count && ramp[at].phase[0].label != one.phase[0].label)
            at++;
        is_any |= one.phase[0].trend != 0;
        if (one.phase[0].trend != 0 && at == count && has_tenths(&one))
            ramp[count++] = one;
    }
    return find_drifts(ramp, count, 1, profile, context, ret, err) < 0 ? RPS_FAILED : is_any;
}

/* Add the share of the time that may belong to another class. A ramp has no such share. */
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

int rps_profile_remark(const struct rps_found_phases *found, int64_t observation_ns, int in_blocks,
                       rps_profile_find *profile, const void *context,
                       char ret[RPS_PHASE_REMARK_SIZE], struct rps_error *err)
{
    const struct rps_phases *shown = rps_phase_levels_shown(&found->levels);
    int ramps;

    ret[0] = '\0';
    say_repetition(shown, &found->wave, observation_ns, ret);
    ramps = find_ramps(shown, profile, context, ret, err);
    if (ramps < 0 || (ramps == 0 && found->drifts && has_tenths(shown) &&
                      find_drifts(shown, 1, 0, profile, context, ret, err) < 0))
        return RPS_FAILED;
    if (in_blocks)
        say_blocks(found, observation_ns, ret);
    else if (observation_ns > 0)
        add_doubt(shown, ret);
    return 0;
}
