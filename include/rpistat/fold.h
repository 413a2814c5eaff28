/*
 * Loops: phases that recur in the same order. "B C D E B C D E ..." is a loop of the parts B, C, D
 * and E; one pass is an iteration ("turn" in names). The phases between two whole iterations are an
 * outlier ("odd"): a part is missing, or others were inserted. If they are less than half an
 * iteration, they make the iteration before them an outlier.
 *
 * A part may be a loop itself, an inner loop. "A C D C D C D B A C D C D B" is two iterations of
 * three parts: A, an inner loop with 2 to 3 iterations of C D, and B.
 */
#ifndef RPISTAT_FOLD_H
#define RPISTAT_FOLD_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Parts of an iteration, at most. */
#define RPS_FOLD_PARTS_MAX 64

/* Outliers of a loop that are named. Counted are as many rows, and one for the number of others. */
#define RPS_FOLD_ODD_NAMED 5

/*
 * Find the loops in the phases from ... to - 1 of one run by their labels. Loops and iterations are
 * numbered in the phases, from 1. A loop has at least four whole iterations, and at least twice as
 * many of them as outliers. Further conditions depend on the number of parts:
 *
 *     two     whole iterations of about one length, since two classes always alternate
 *     four    or more: iterations save more bits than it takes to describe the place of the loop
 *             and its outliers
 *     three   one of these two conditions
 *
 * A loop of at least three parts, one of which is an inner loop, needs only two iterations. These
 * may differ in length if two of the parts have labels that are in no inner loop. Inner loops are
 * marked if loops then explain at least as many phases as without them. Returns the number of rows
 * that a reader sees: one per phase outside loops, one per part of a loop, and the rows of
 * outliers. O(200 n) time, O(n) memory.
 */
size_t rps_fold(struct rps_phases *phases, size_t from, size_t to);

/* Class of an iteration: the usual parts in their order; other phases; or the usual parts, but much
 * longer or shorter than usual. */
enum rps_turn_kind { RPS_TURN_USUAL, RPS_TURN_UNLIKE, RPS_TURN_LONG, RPS_TURN_SHORT };

struct rps_turn {
    size_t first, count; /* phases */
    enum rps_turn_kind kind;
    double length; /* as in rps_loop */
};

/* Lengths of usual iterations in ns, or in observations if phases have no times: mean and standard
 * deviation. */
struct rps_loop_part {
    int label; /* of an inner loop: the label of its first part */
    double length, deviation;
    double total;          /* sum of its lengths in all iterations */
    struct rps_loop *loop; /* the inner loop that the part is, with all its runs; NULL: a phase */
    size_t turns_min, turns_max; /* of the inner loop, in one iteration of this loop */
};

struct rps_loop {
    size_t first, count; /* phases; in an inner loop they are not consecutive */
    size_t depth;        /* 1; inner loops: 2 or 3 */
    size_t turn_count, odd_count;
    struct rps_turn *turn;
    size_t part_count;
    struct rps_loop_part *part;
    double length, deviation; /* of an iteration */
};

struct rps_loops {
    size_t count;
    struct rps_loop *loop; /* in order of time */
};

/* Return the loops that are marked in the phases, in the arena. */
struct rps_loops rps_loops_of(struct rps_arena *arena, const struct rps_phases *phases);

/* Consecutive iterations of a loop; for an inner loop, inside one iteration of its outer loop. */
struct rps_loop_run {
    const struct rps_loop *loop;
    size_t first, count; /* phases */
    size_t turns;
};

struct rps_loop_runs {
    size_t count;
    struct rps_loop_run *run; /* in order of time, each before the runs inside it; in the arena */
};

struct rps_loop_runs rps_loop_runs_of(struct rps_arena *arena, const struct rps_loops *loops);

/* Return how many phases from i on are one part of an iteration that ends before `end` (an inner
 * loop is one part). */
size_t rps_loop_part_phases(const struct rps_loop *loop, const struct rps_phases *phases, size_t i,
                            size_t end);

/* Return 1 if a part of the loop is an inner loop. */
int rps_loop_has_inner(const struct rps_loop *loop);

/* Return an inner loop's number of iterations per iteration of the outer loop: "8" or "7 to 9". */
const char *rps_loop_part_turns(struct rps_arena *arena, const struct rps_loop_part *part);

/* Return the parts of a loop as text: "B C D E", with an inner loop "B, 8 x (C D), E". `times` is
 * the sign that is printed for "x". "..." replaces the parts after the first parts_max. */
const char *rps_loop_parts(struct rps_arena *arena, const struct rps_loop *loop, const char *times,
                           size_t parts_max);

/* Put the iteration of the last phase into ret, "turn 12 of A B", with as many parts as fit; "":
 * none. The iteration may be incomplete: phases after the last whole iteration that begin like the
 * others. Returns ret. */
#define RPS_LOOPS_TURN_SIZE 64
char *rps_loops_turn_text(const struct rps_phases *phases, char ret[RPS_LOOPS_TURN_SIZE]);

#endif
