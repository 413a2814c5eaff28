/*
 * Loops: phases that come again in the same order. "B C D E B C D E ..." is a loop of the parts B, C,
 * D and E; once round is a turn. What lies between two whole turns is an odd one: a part was left out,
 * or something else came in between. What has less than half a turn's phases makes the turn before
 * it odd.
 *
 * A part may be a loop itself, an inner loop. "A C D C D C D B A C D C D B" is two turns of the parts A,
 * 2 to 3 turns of C D, and B.
 */
#ifndef RPISTAT_FOLD_H
#define RPISTAT_FOLD_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Parts of a turn, at most. */
#define RPS_FOLD_PARTS_MAX 64

/* Odd turns of a loop that are named; as many rows, and one that says how many more, are counted. */
#define RPS_FOLD_ODD_NAMED 5

/*
 * Find the loops in the phases from ... to - 1, which are of one run, by their labels, and say so in
 * the phases: loop and turn are numbered from 1. A loop has four whole turns at least, and twice as
 * many as odd ones; of two parts whole turns of about one length, since two classes always
 * alternate; of more parts, turns that are worth more bits than it takes to say where the loop is and
 * which turns are odd; of three parts one of both.
 *
 * Two turns suffice for a loop of at least three parts, one of which is an inner loop. Its turns may
 * differ in length if two parts have labels that no inner loop has. Inner loops are marked if the
 * answer then explains at least as many phases. Returns the rows that a reader sees: one for each phase
 * that is in no loop and for each part of a loop, and those for odd turns. O(200 n) time, O(n) memory.
 */
size_t rps_fold(struct rps_phases *phases, size_t from, size_t to);

/* What a turn is like: the parts in their order; something else; or these, for much longer or
 * shorter than they usually are. */
enum rps_turn_kind { RPS_TURN_USUAL, RPS_TURN_UNLIKE, RPS_TURN_LONG, RPS_TURN_SHORT };

struct rps_turn {
    size_t first, count; /* phases */
    enum rps_turn_kind kind;
    double length; /* as in rps_loop */
};

/* Lengths are of usual turns, ns, or observations where phases have no times: mean and standard
 * deviation. */
struct rps_loop_part {
    int label; /* of an inner loop: the first of its own */
    double length, deviation;
    double total;                /* over all turns in which it is */
    struct rps_loop *loop;       /* NULL, or the inner loop that the part is, all its runs */
    size_t turns_min, turns_max; /* of the inner loop, in one turn */
};

struct rps_loop {
    size_t first, count; /* phases; those of an inner loop are not in a row */
    size_t depth;        /* 1; of an inner loop 2 or 3 */
    size_t turn_count, odd_count;
    struct rps_turn *turn;
    size_t part_count;
    struct rps_loop_part *part;
    double length, deviation; /* of a turn */
};

struct rps_loops {
    size_t count;
    struct rps_loop *loop; /* in order of time */
};

/* The loops that phases are said to be in, in the arena. */
struct rps_loops rps_loops_of(struct rps_arena *arena, const struct rps_phases *phases);

/* Turns in a row of a loop, of an inner loop those inside one turn. */
struct rps_loop_run {
    const struct rps_loop *loop;
    size_t first, count; /* phases */
    size_t turns;
};

struct rps_loop_runs {
    size_t count;
    struct rps_loop_run *run; /* in order of time, a run before those inside it; in the arena */
};

struct rps_loop_runs rps_loop_runs_of(struct rps_arena *arena, const struct rps_loops *loops);

/* How many phases from i on are one part of a turn that ends before `end`: of an inner loop one run. */
size_t rps_loop_part_phases(const struct rps_loop *loop, const struct rps_phases *phases, size_t i,
                            size_t end);

/* Is a part of it a loop? */
int rps_loop_has_inner(const struct rps_loop *loop);

/* How many turns an inner loop has in one turn: "8" or "7 to 9". */
const char *rps_loop_part_turns(struct rps_arena *arena, const struct rps_loop_part *part);

/* The parts of a loop, "B C D E"; with an inner loop "B, 8 x (C D), E", where `times` is the sign for "x".
 * "..." stands for those after parts_max. */
const char *rps_loop_parts(struct rps_arena *arena, const struct rps_loop *loop, const char *times,
                           size_t parts_max);

/* The turn that the last phase is in, "turn 12 of A B", with as many parts as there is room for, into
 * ret; "": it is in none. It may be one that has not ended: what is behind the last whole turn begins
 * as all others do. Returns ret. */
#define RPS_LOOPS_TURN_SIZE 64
char *rps_loops_turn_text(const struct rps_phases *phases, char ret[RPS_LOOPS_TURN_SIZE]);

#endif
