/*
 * Groups of calls tell the phases of a run apart where its innermost functions do not. A starved
 * program has six samples per second, in as many functions, but they went through few callers; and
 * one inner function is often called by all phases.
 *
 * A group is a subtree of the tree of calls: the calls of one function by one chain of callers. A
 * call with too few samples belongs to its caller's group, so every group but the outermost has
 * enough samples. In 79 recordings this tree raised F1 from .722 to .750 and ARI from .669 to .701
 * over a table of functions; those at 6 % of a CPU gained .033 and .051.
 */
#include "call_groups.h"

#include "intern.h"
#include "rpistat/count_table.h"
#include "shares_index.h"

/* Fewer samples than this are no group. */
#define SAMPLES_MIN 6

/* A node of the tree; number 0 is the root. Callers have lower numbers. */
struct call {
    struct rps_intern_key key; /* the caller's number, and the function */
    double samples;            /* of it and of the callees that are no groups */
    int64_t group;
};

static struct call *call_at(const struct rps_intern *calls, int64_t number)
{
    return rps_intern_at(calls, number);
}

static int64_t add_call(struct rps_intern *calls, int64_t caller, int64_t function)
{
    int is_new;
    int64_t number = rps_intern_add(calls, (uint64_t)caller, (uint64_t)function, &is_new);

    if (number < 0)
        rps_arena_exhausted();
    return number;
}

/* Grow the tree; the call that each stack ends in, into ret. A function that calls itself is one
 * call. Returns the number of samples. */
static double grow_calls(const struct rps_code *code, const int64_t *function,
                         const uint64_t *samples, struct rps_intern *calls, int64_t *ret)
{
    double all = 0;

    add_call(calls, -1, -1);
    for (size_t s = 0; s < code->stack_count; s++) {
        size_t parent = rps_share_parent_of(code, s);
        int64_t at = parent == RPS_SHARE_NONE ? 0 : ret[parent];

        if (function[s] >= 0 && (uint64_t)function[s] != call_at(calls, at)->key.b)
            at = add_call(calls, at, function[s]);
        ret[s] = at;
        if (function[s] >= 0) {
            call_at(calls, at)->samples += (double)samples[s];
            all += (double)samples[s];
        }
    }
    return all;
}

/* Calls with at least so many samples are groups, from the innermost on; what is left of the others
 * is their caller's. Returns the number of groups. */
static size_t choose_groups(const struct rps_intern *calls, double least)
{
    size_t count = 1;

    for (size_t c = calls->count; c-- > 1;) {
        struct call *call = call_at(calls, (int64_t)c);

        if (call->samples < least) {
            call_at(calls, (int64_t)call->key.a)->samples += call->samples;
            call->samples = 0;
        }
    }
    for (size_t c = 1; c < calls->count; c++) {
        struct call *call = call_at(calls, (int64_t)c);

        call->group =
            call->samples > 0 ? (int64_t)count++ : call_at(calls, (int64_t)call->key.a)->group;
    }
    return count;
}

size_t rps_call_groups_find(const struct rps_code *code, const int64_t *function,
                            const uint64_t *samples, int64_t *ret)
{
    struct rps_intern calls = RPS_INTERN_OF(struct call);
    double all = grow_calls(code, function, samples, &calls, ret),
           part = all / RPS_COUNT_SYMBOLS_MAX;
    size_t count = choose_groups(&calls, part > SAMPLES_MIN ? part : SAMPLES_MIN);

    for (size_t s = 0; s < code->stack_count; s++)
        ret[s] = function[s] < 0 ? -1 : call_at(&calls, ret[s])->group;
    rps_intern_free(&calls);
    return count;
}
