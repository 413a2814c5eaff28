/* Loops: phases that recur in the same order. "B C D E B C D E ..." is a loop of the parts B, C, D
 * and E. One sequence B C D E is an iteration ("turn" in identifiers). Phases between two whole
 * iterations are an outlier ("odd" in identifiers): a part is missing, or other phases were
 * inserted. If these phases are shorter than half an iteration, they belong to the iteration before
 * them, which becomes an outlier.
 *
 * A part may be a loop itself, an inner loop. "A C D C D C D B A C D C D B" is two iterations of
 * three parts. The parts are A, an inner loop with 2 to 3 iterations of C D, and B. */
#pragma once

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/phase.h"

/* Maximum number of parts of an iteration. */
#define RPS_LOOPS_PARTS_MAX 64

/* Maximum number of outliers of a loop with a row each. One further row counts all others. */
#define RPS_LOOPS_OUTLIERS_NAMED 5

/* Find the loops in the phases from ... to - 1 of one run, by the labels of the phases. Loops and
 * iterations are numbered in the phases, from 1. A loop has at least four whole iterations, and at
 * least twice as many whole iterations as outliers. Three iterations are enough if they are half of
 * all phases, are not due to chance, and have about equal lengths. The first of the three may have
 * other labels in less than half of its parts. Further conditions depend on the number of parts:
 *
 *     two     Whole iterations have about equal lengths, because two classes alternate in any case.
 *     four    (Or more.) A description of the phases as iterations saves more bits than a
 *             description of the loop's position and outliers needs.
 *     three   The condition for two parts or the condition for four parts holds.
 *
 * A loop of at least three parts, with an inner loop among them, needs only two iterations. Its
 * iterations may differ in length if two of its parts have labels that occur in no inner loop.
 * Inner loops are marked only if then at least as many phases are in loops as without inner loops.
 * Return the number of rows that a reader sees: one per phase outside loops, one per part of a
 * loop, and the rows of outliers. The function takes O(200 n) time and O(n) memory. */
size_t rps_loops_fold(struct rps_phases *phases, size_t from, size_t to);

/* Class of an iteration: the usual parts in their order, other phases, or the usual parts in a much
 * longer or shorter time. */
enum rps_iteration_kind {
    RPS_ITERATION_USUAL,
    RPS_ITERATION_UNLIKE,
    RPS_ITERATION_LONG,
    RPS_ITERATION_SHORT
};

struct rps_iteration {
    size_t first, count; /* First phase and number of phases */
    enum rps_iteration_kind kind;
    double length; /* Length in the units of struct rps_loop_part */
};

/* Part of a loop. The part's length is the mean over usual iterations, and has a standard
 * deviation. The unit is ns, or observations if phases have no times. */
struct rps_loop_part {
    int label; /* Label of the phase, or of the first part of an inner loop */
    double length, deviation;
    double total;          /* Sum of the lengths in all iterations */
    struct rps_loop *loop; /* Inner loop with every struct rps_loop_run, or NULL: no loop */
    size_t iterations_min, iterations_max; /* Iterations of the inner loop per outer iteration */
};

struct rps_loop {
    size_t first, count; /* First phase, and number of phases (not consecutive in an inner loop) */
    size_t depth;        /* Depth of the loop: 1, or 2 or 3 for inner loops */
    size_t iteration_count, outlier_count;
    struct rps_iteration *turn;
    size_t part_count;
    struct rps_loop_part *part;
    double length, deviation; /* Mean length of an iteration, and its standard deviation */
};

struct rps_loops {
    size_t count;
    struct rps_loop *loop; /* Loops in order of time */
};

/* Return the loops that are marked in the phases, in the arena. */
struct rps_loops rps_loops_of(struct rps_arena *arena, const struct rps_phases *phases);

/* Consecutive iterations of a loop, for an inner loop within one iteration of the outer loop. */
struct rps_loop_run {
    const struct rps_loop *loop;
    size_t first, count; /* First phase and number of phases of the run */
    size_t turns;
};

struct rps_loop_runs {
    size_t count;
    struct rps_loop_run *run; /* Runs in order of time, each before its inner runs, in the arena */
};

struct rps_loop_runs rps_loop_runs_of(struct rps_arena *arena, const struct rps_loops *loops);

/* Return how many phases, beginning with phase i, form one part of an iteration that ends before
 * `end`. An inner loop is one part. */
size_t rps_loop_part_phases(const struct rps_loop *loop, const struct rps_phases *phases, size_t i,
                            size_t end);

/* Return 1 if a part of the loop is an inner loop. */
int rps_loop_has_inner(const struct rps_loop *loop);

/* Return an inner loop's number of iterations per outer iteration: "8" or "7 to 9". */
const char *rps_loop_part_iterations(struct rps_arena *arena, const struct rps_loop_part *part);

/* Return the parts of a loop as text: "B C D E", or with an inner loop "B, 8 x (C D), E". `times`
 * is the text that is printed for "x". "..." replaces the parts after the first parts_max. */
const char *rps_loop_parts(struct rps_arena *arena, const struct rps_loop *loop, const char *times,
                           size_t parts_max);

/* Describe in ret the iteration that contains the last phase, with as many parts as fit: "turn 12
 * of A B", or "" if there is none. The phases after the last whole iteration are an incomplete
 * iteration if they match the first parts of the loop, in the same order. Return ret. */
#define RPS_LOOPS_ITERATION_SIZE 64
char *rps_loops_iteration_text(const struct rps_phases *phases, char ret[RPS_LOOPS_ITERATION_SIZE]);
