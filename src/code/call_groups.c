/* Groups of calls distinguish the phases of a run when innermost functions do not. For example, a
 * program that gets 6 % of a CPU may have only six samples per second, spread over six functions.
 * These functions have few callers. And all phases often call the same inner function.
 *
 * A group is a subtree of the call tree: one function with one chain of callers. A call with too
 * few samples belongs to its caller's group. In 86 recordings, if phases are found with functions,
 * the mean F1 is .713 and the mean ARI is .667; with calls, they are .741 and .701. At 6 % of a
 * CPU, they are .656 and .576 with functions, and .689 and .627 with calls. */
#include "call_groups.h"

#include <math.h>

#include "intern.h"
#include "rpistat/count_table.h"
#include "shares_index.h"

/* Minimum number of samples per group. */
#define SAMPLES_MIN 6

/* If the innermost function of a stack is unknown, its code is divided into pages of 4 KiB, and
 * these into blocks of 128 bytes. Compiled functions rarely move, and may be shorter than a page.
 * In 24 recordings of JIT compilers and stripped programs, pages alone have the mean F1 .739 and
 * the mean ARI .675; with blocks they are .903 and .887, with blocks of 256 bytes .868 and .824. */
#define PAGE_BITS  12
#define BLOCK_BITS 7
#define IS_BLOCK   (INT64_C(1) << 62) /* marks the keys of pages and blocks */
#define IS_PLACE   (INT64_C(1) << 61) /* marks the keys of places that call a function */

/* A known function with more than this share of all samples is divided by the places that call it.
 * One function may do the work of several phases, compilers inline small programs into main, and
 * interpreters run many kinds of work in one function. A place is an area of 256 bytes, because
 * compilers unroll loops with calls. In 91 recordings, single calls as places have the mean F1 .867
 * and the mean ARI .815; areas of 64 bytes have .875 and .820, of 256 bytes .875 and .825, and
 * whole functions .873 and .826. Each part is divided into blocks. Blocks of all functions gain
 * less: groups get too few samples if a program gets 6 % of a CPU. */
#define DIVIDED_MIN .25
#define AREA_BITS   8

/* A node of the call tree. The root is number 0; callers have lower numbers than their callees. */
struct call {
    struct rps_intern_key key; /* Number of the caller, and the function. */
    double samples;            /* Samples of the call and of those callees that form no group. */
    double own;                /* Samples in the call's function, if its beginning is known. */
    int is_from_jit;           /* 1: JIT-compiled code is among the callers. */
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

/* Return the innermost frame of a stack, if its code may be divided into blocks, or NULL. */
static const struct rps_frame *divisible_frame(const struct rps_call_run *run, size_t s)
{
    const size_t at = rps_share_frame_of(run->code, s);

    if (run->function[s] < 0 || !run->name || !run->name[run->function[s]].is_unnamed ||
        at == run->code->frame_count ||
        rps_share_index_is_kernel(run->code, (size_t)run->code->frame[at].module))
        return NULL;
    return &run->code->frame[at];
}

/* Return the caller's frame; NULL: there is none, or it cannot be divided into blocks. */
static const struct rps_frame *caller_frame(const struct rps_call_run *run, size_t s)
{
    const size_t parent = rps_share_parent_of(run->code, s);

    return parent == RPS_SHARE_NONE ? NULL : divisible_frame(run, parent);
}

/* Return 1 if a just-in-time compiler made the code of the stack's innermost frame. */
static int is_made(const struct rps_call_run *run, const struct rps_frame *frame)
{
    return frame && (size_t)frame->module < run->code->module_count &&
           run->code->module[frame->module].kind == RPS_MODULE_JIT;
}

/* Return the innermost call of a stack, whose caller is the call `at`. Recursive calls of a
 * function are one call. */
static int64_t add_function(const struct rps_call_run *run, struct rps_intern *calls, size_t s,
                            int64_t at)
{
    const int64_t function = run->function[s];

    return function < 0 || (uint64_t)function == call_at(calls, at)->key.b
               ? at
               : add_call(calls, at, function);
}

/* Return the part of the call `at` that was called from the same place in a known function. Return
 * `at` if there is no such place. */
static int64_t add_place(const struct rps_call_run *run, struct rps_intern *calls, size_t s,
                         int64_t at)
{
    const struct rps_frame *caller = caller_frame(run, s);

    return caller && caller->function > 0 && !call_at(calls, at)->is_from_jit
               ? add_call(calls, at, IS_PLACE | (int64_t)(caller->address >> AREA_BITS))
               : at;
}

/* Return the call to which a stack's samples belong: the innermost call `at`, or a block of code if
 * its function is unknown or has many of `all` samples. The caller of an unknown block is its page.
 * The caller of a known block is the place that calls its function. */
static int64_t add_innermost(const struct rps_call_run *run, struct rps_intern *calls, size_t s,
                             int64_t at, double all)
{
    const struct rps_frame *frame = run->samples[s] > 0 ? divisible_frame(run, s) : NULL;

    if (!frame || (frame->function > 0 && call_at(calls, at)->own <= DIVIDED_MIN * all))
        return at;
    if (frame->function == 0)
        at = add_call(calls, at, IS_BLOCK | (int64_t)(frame->address >> PAGE_BITS));
    else
        at = add_place(run, calls, s, at);
    return add_call(calls, at, IS_BLOCK | (int64_t)(frame->address >> BLOCK_BITS));
}

/* Add a run's calls to the tree, and set each stack's group to the call that is the caller of
 * callees. JIT-compiled code without a name is not a caller: a compiler may generate the same code
 * again at another address, with other functions inlined. Return the number of samples. */
static double grow_calls(const struct rps_call_run *run, struct rps_intern *calls)
{
    double all = 0;

    for (size_t s = 0; s < run->code->stack_count; s++) {
        const size_t parent = rps_share_parent_of(run->code, s);
        const int64_t caller = parent == RPS_SHARE_NONE ? 0 : run->group[parent];
        const int64_t at = add_function(run, calls, s, caller);
        const struct rps_frame *frame = divisible_frame(run, s);

        run->group[s] = is_made(run, frame) ? caller : at;
        call_at(calls, at)->is_from_jit |= is_made(run, caller_frame(run, s));
        all += run->function[s] >= 0 ? (double)run->samples[s] : 0;
        if (frame && frame->function > 0)
            call_at(calls, at)->own += (double)run->samples[s];
    }
    return all;
}

/* Add the blocks of a run's code to the tree. Set each stack's group to the call to which the
 * stack's samples belong, and add the samples to this call. */
static void add_samples(const struct rps_call_run *run, struct rps_intern *calls, double all)
{
    for (size_t s = 0; s < run->code->stack_count; s++) {
        const int64_t at = add_function(run, calls, s, run->group[s]);

        run->group[s] = add_innermost(run, calls, s, at, all);
        if (run->function[s] >= 0)
            call_at(calls, run->group[s])->samples += (double)run->samples[s];
    }
}

/* Make a group of each call that has at least `least` samples, beginning with the innermost calls.
 * The samples of a call with fewer samples are added to its caller. Return the number of groups. */
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

size_t rps_call_groups_find(const struct rps_call_run *run, size_t count)
{
    struct rps_intern calls = RPS_INTERN_OF(struct call);
    double all = 0;
    size_t groups;

    add_call(&calls, -1, -1);
    for (size_t r = 0; r < count; r++)
        all += grow_calls(&run[r], &calls);
    for (size_t r = 0; r < count; r++)
        add_samples(&run[r], &calls, all);
    groups = choose_groups(&calls, fmax(SAMPLES_MIN, all / RPS_COUNT_SYMBOLS_MAX));
    for (size_t r = 0; r < count; r++) {
        for (size_t s = 0; s < run[r].code->stack_count; s++) {
            int64_t *group = &run[r].group[s];

            *group = run[r].function[s] >= 0 ? call_at(&calls, *group)->group : -1;
        }
    }
    rps_intern_free(&calls);
    return groups;
}
