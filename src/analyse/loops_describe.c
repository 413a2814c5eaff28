/* Describe loops: their iterations and parts. The input is the numbers that rps_loops_fold stored
 * in the phases; see rpistat/loops.h. An inner loop has one description for all iterations of the
 * outer loop. Its lengths are statistics over all these iterations. */
#include "rpistat/loops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect_math.h"

/* An iteration is an outlier if its length differs from the median by at least OUTLIER_DEVIATIONS
 * robust deviations. The difference must also be at least OUTLIER_SHARE of the median. */
#define OUTLIER_DEVIATIONS 5
#define OUTLIER_SHARE      .2

#define ITERATION_PARTS 8 /* maximum number of parts in the text of an iteration */

/* Running mean and standard deviation of lengths. */
struct lengths {
    double count, sum, squares;
};

static void add_length(struct lengths *lengths, double length)
{
    lengths->count++;
    lengths->sum += length;
    lengths->squares += length * length;
}

static double mean_of(const struct lengths *lengths, double *ret_deviation)
{
    double mean = lengths->count > 0 ? lengths->sum / lengths->count : 0;

    *ret_deviation =
        lengths->count > 0 ? sqrt(fmax(lengths->squares / lengths->count - mean * mean, 0)) : 0;
    return mean;
}

static double time_of(const struct rps_phase *phase, size_t count)
{
    double time = (double)(phase[count - 1].end_ns - phase[0].start_ns);

    return time > 0 ? time : (double)(phase[count - 1].last + 1 - phase[0].first);
}

/* Return a phase's iteration of the loop at this depth. The outermost loop has depth 1. */
static struct rps_inner_turn iteration_at(const struct rps_phase *phase, size_t depth)
{
    return depth > 1 ? phase->inner[depth - 2]
                     : (struct rps_inner_turn){.turn = phase->turn, .part = phase->part};
}

/* Add a phase to the description. is_first: 1 for the first phase of a run of an inner loop. */
static void add_phase(struct rps_arena *arena, const struct rps_phases *phases, size_t i,
                      int is_first, struct rps_loop *loop)
{
    const struct rps_inner_turn at = iteration_at(&phases->phase[i], loop->depth);
    struct rps_iteration *turn;

    if (is_first || at.turn != iteration_at(&phases->phase[i - 1], loop->depth).turn) {
        loop->turn = rps_arena_grow(arena, loop->turn, loop->iteration_count, sizeof(*loop->turn));
        loop->turn[loop->iteration_count++].first = i;
    }
    turn = &loop->turn[loop->iteration_count - 1];
    loop->count++;
    turn->count++;
    turn->length = time_of(&phases->phase[turn->first], turn->count);
    if (at.part <= 0)
        turn->kind = RPS_ITERATION_UNLIKE;
}

/* Add the phases of one iteration in a part, which is an inner loop, to the part's description. */
static void add_run(struct rps_arena *arena, const struct rps_phases *phases, size_t first,
                    size_t count, size_t depth, struct rps_loop_part *part)
{
    size_t before, turns;

    if (!part->loop) {
        part->loop = rps_arena_get(arena, 1, sizeof(*part->loop));
        part->loop->first = first;
        part->loop->depth = depth;
        part->iterations_min = SIZE_MAX;
    }
    before = part->loop->iteration_count;
    for (size_t i = first; i < first + count; i++)
        add_phase(arena, phases, i, i == first, part->loop);
    turns = part->loop->iteration_count - before;
    part->iterations_min = turns < part->iterations_min ? turns : part->iterations_min;
    part->iterations_max = turns > part->iterations_max ? turns : part->iterations_max;
}

/* Mark an iteration with the usual parts as an outlier if the iteration is much longer or shorter
 * than the median length. */
static void find_outliers(struct rps_arena *arena, struct rps_loop *loop)
{
    double *length = rps_arena_get(arena, loop->iteration_count, sizeof(*length)), middle = 0,
           limit = 0;
    size_t count = 0;

    for (size_t t = 0; t < loop->iteration_count; t++) {
        if (loop->turn[t].kind == RPS_ITERATION_USUAL)
            length[count++] = loop->turn[t].length;
    }
    if (count > 0) {
        middle = rps_select_middle(length, count);
        limit = OUTLIER_DEVIATIONS * 1.4826 * rps_select_rank(length, count, count / 2);
        limit = fmax(limit, OUTLIER_SHARE * middle);
    }
    for (size_t t = 0; t < loop->iteration_count; t++) {
        struct rps_iteration *turn = &loop->turn[t];

        if (turn->kind == RPS_ITERATION_USUAL && fabs(turn->length - middle) > limit)
            turn->kind = turn->length > middle ? RPS_ITERATION_LONG : RPS_ITERATION_SHORT;
        loop->outlier_count += turn->kind != RPS_ITERATION_USUAL;
    }
}

size_t rps_loop_part_phases(const struct rps_loop *loop, const struct rps_phases *phases, size_t i,
                            size_t end)
{
    const struct rps_phase *phase = &phases->phase[i];
    size_t k = 1;

    if (loop->depth > RPS_PHASE_INNER_MAX || phase->inner[loop->depth - 1].turn <= 0)
        return 1;
    while (i + k < end && phase[k].inner[loop->depth - 1].run == phase->inner[loop->depth - 1].run)
        k++;
    return k;
}

/* Add an iteration's parts. If the iteration has the usual parts, also add the parts' lengths. */
static void add_parts(struct rps_arena *arena, const struct rps_phases *phases,
                      const struct rps_iteration *turn, struct rps_loop *loop,
                      struct lengths *lengths)
{
    size_t end = turn->first + turn->count, count, k = 0;

    for (size_t i = turn->first; i < end && turn->kind != RPS_ITERATION_UNLIKE; i += count, k++) {
        const struct rps_phase *phase = &phases->phase[i];
        struct rps_loop_part *part = &loop->part[k];

        count = rps_loop_part_phases(loop, phases, i, end);
        part->label = phase->label;
        part->total += time_of(phase, count);
        if (turn->kind == RPS_ITERATION_USUAL)
            add_length(&lengths[k], time_of(phase, count));
        if (loop->depth <= RPS_PHASE_INNER_MAX && phase->inner[loop->depth - 1].turn > 0)
            add_run(arena, phases, i, count, loop->depth + 1, part);
    }
}

/* Compute mean and deviation of the lengths of iterations, and of the lengths of parts. */
static void describe(struct rps_arena *arena, const struct rps_phases *phases,
                     struct rps_loop *loop)
{
    struct lengths *lengths, turns = {0};

    for (size_t t = 0; t < loop->iteration_count; t++) {
        const struct rps_iteration *turn = &loop->turn[t];
        size_t end = turn->first + turn->count, parts = 0;

        for (size_t i = turn->first; i < end && turn->kind != RPS_ITERATION_UNLIKE; parts++)
            i += rps_loop_part_phases(loop, phases, i, end);
        loop->part_count = parts > loop->part_count ? parts : loop->part_count;
    }
    find_outliers(arena, loop);
    lengths = rps_arena_get(arena, loop->part_count + 1, sizeof(*lengths));
    loop->part = rps_arena_get(arena, loop->part_count + 1, sizeof(*loop->part));
    for (size_t t = 0; t < loop->iteration_count; t++) {
        if (loop->turn[t].kind == RPS_ITERATION_USUAL)
            add_length(&turns, loop->turn[t].length);
        add_parts(arena, phases, &loop->turn[t], loop, lengths);
    }
    loop->length = mean_of(&turns, &loop->deviation);
    for (size_t k = 0; k < loop->part_count; k++) {
        loop->part[k].length = mean_of(&lengths[k], &loop->part[k].deviation);
        if (loop->part[k].loop)
            describe(arena, phases, loop->part[k].loop);
    }
}

struct rps_loops rps_loops_of(struct rps_arena *arena, const struct rps_phases *phases)
{
    struct rps_loops loops = {0};

    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        int is_first = i == 0 || phase->loop != phase[-1].loop;

        if (phase->loop <= 0)
            continue;
        if (is_first) {
            loops.loop = rps_arena_grow(arena, loops.loop, loops.count, sizeof(*loops.loop));
            loops.loop[loops.count++] = (struct rps_loop){.first = i, .depth = 1};
        }
        add_phase(arena, phases, i, is_first, &loops.loop[loops.count - 1]);
    }
    for (size_t k = 0; k < loops.count; k++)
        describe(arena, phases, &loops.loop[k]);
    return loops;
}

static void add_runs(struct rps_arena *arena, const struct rps_loop *loop,
                     struct rps_loop_runs *runs)
{
    struct rps_loop_run *run = NULL;

    for (size_t t = 0; t < loop->iteration_count; t++) {
        if (!run || loop->turn[t].first != run->first + run->count) {
            runs->run = rps_arena_grow(arena, runs->run, runs->count, sizeof(*runs->run));
            run = &runs->run[runs->count++];
            *run = (struct rps_loop_run){.loop = loop, .first = loop->turn[t].first};
        }
        run->count += loop->turn[t].count;
        run->turns++;
    }
    for (size_t k = 0; k < loop->part_count; k++) {
        if (loop->part[k].loop)
            add_runs(arena, loop->part[k].loop, runs);
    }
}

static int compare_runs(const void *a, const void *b)
{
    const struct rps_loop_run *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->loop->depth > y->loop->depth) - (x->loop->depth < y->loop->depth);
}

struct rps_loop_runs rps_loop_runs_of(struct rps_arena *arena, const struct rps_loops *loops)
{
    struct rps_loop_runs runs = {0};

    for (size_t k = 0; k < loops->count; k++)
        add_runs(arena, &loops->loop[k], &runs);
    if (runs.count > 0)
        qsort(runs.run, runs.count, sizeof(*runs.run), compare_runs);
    return runs;
}

/* --- as text ---------------------------------------------------------------------------------- */

int rps_loop_has_inner(const struct rps_loop *loop)
{
    size_t k = 0;

    while (k < loop->part_count && !loop->part[k].loop)
        k++;
    return k < loop->part_count;
}

const char *rps_loop_part_iterations(struct rps_arena *arena, const struct rps_loop_part *part)
{
    return part->iterations_max > part->iterations_min
               ? rps_arena_print(arena, "%zu to %zu", part->iterations_min, part->iterations_max)
               : rps_arena_print(arena, "%zu", part->iterations_max);
}

const char *rps_loop_parts(struct rps_arena *arena, const struct rps_loop *loop, const char *times,
                           size_t parts_max)
{
    const char *between = rps_loop_has_inner(loop) ? ", " : " ", *text = "";
    char label[RPS_PHASE_LABEL_SIZE];

    for (size_t k = 0; k < loop->part_count && k <= parts_max; k++) {
        const struct rps_loop_part *part = &loop->part[k];
        const char *one = k == parts_max ? "..." : rps_phase_label(part->label, label);

        if (k < parts_max && part->loop)
            one = rps_arena_print(arena, "%s %s (%s)", rps_loop_part_iterations(arena, part), times,
                                  rps_loop_parts(arena, part->loop, times, parts_max));
        text = rps_arena_print(arena, "%s%s%s", text, k > 0 ? between : "", one);
    }
    return text;
}

/* Return the iteration that contains the last phase, or 0 if there is none. */
static int last_iteration(const struct rps_phases *phases)
{
    const struct rps_phase *phase = phases->phase;
    size_t end = phases->count, begin, rest;

    while (end > 0 && phase[end - 1].loop == 0)
        end--;
    rest = phases->count - end;
    if (end == 0 || rest == 0)
        return end > 0 ? phase[end - 1].turn : 0;
    begin = end; /* the last iteration of the loop is complete */
    while (begin > 0 && phase[begin - 1].turn == phase[end - 1].turn)
        begin--;
    if (rest >= end - begin)
        return 0;
    for (size_t k = 0; k < rest; k++) {
        if (phase[end + k].label != phase[begin + k].label)
            return 0;
    }
    return phase[end - 1].turn + 1;
}

char *rps_loops_iteration_text(const struct rps_phases *phases, char ret[RPS_LOOPS_ITERATION_SIZE])
{
    struct rps_arena *arena = rps_arena_new();
    const struct rps_loops loops = rps_loops_of(arena, phases);
    int turn = last_iteration(phases), is_cut = turn > 0;

    ret[0] = '\0';
    /* If the text does not fit, list fewer parts. */
    for (size_t parts = ITERATION_PARTS; is_cut && parts > 0; parts--)
        is_cut = snprintf(ret, RPS_LOOPS_ITERATION_SIZE, "iteration %d of %s", turn,
                          rps_loop_parts(arena, &loops.loop[loops.count - 1], "x", parts)) >=
                 RPS_LOOPS_ITERATION_SIZE;
    rps_arena_free(arena);
    return ret;
}
