#include "rpistat/off_cpu.h"
#include "rpistat/run_code.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>

#include "shares_index.h"

#define US_PER_S UINT64_C(1000000)

/* Functions that the kernel calls when a thread leaves its CPU. */
static const char *const scheduler[] = {"__schedule*", "schedule", "schedule_*", "io_schedule*"};

/* Functions that wait for a child process: in the kernel, and in the C library if the kernel may
 * not be sampled. These waits are left out because the activity of the child is reported anyway. */
static const char *const children[] = {"do_wait*",    "kernel_wait*", "kernel_clone", "*vfork*",
                                       "*sigsuspend", "*wait4",       "*waitpid",     "*waitid"};

/* Functions of the C library that wait for the end of a thread, such as __pthread_clockjoin_ex. The
 * thread is idle, and the activity of the other thread is reported anyway. */
static const char *const joins[] = {"*pthread_*join*", "thrd_join"};

/* --- reading ---------------------------------------------------------------------------------- */

int rps_off_cpu_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                     const struct rps_run_part *part, const struct rps_cpus *cpus,
                     const struct rps_code *code, struct rps_off_cpu *ret, struct rps_error *err)
{
    const size_t stacks = code->stack_count;
    int64_t *self = rps_arena_get(arena, stacks, sizeof(*self));
    struct rps_code_counts on = {.key = self, .key_count = stacks}, off = on;
    uint64_t frequency = code->sampling.frequency;

    if (!code->sampling.has_waits)
        return rps_error_set(
            err, RPS_FAILED,
            "run %" PRId64 " has no off-CPU times; record it with `rpistat record --wall`", run_id);
    for (size_t s = 0; s < stacks; s++)
        self[s] = (int64_t)s;
    if (rps_code_counts_read(arena, &on, reader, run_id, part, cpus, code, RPS_COUNT_STACKS, err) <
            0 ||
        rps_code_counts_read(arena, &off, reader, run_id, part, cpus, code, RPS_COUNT_BLOCKED,
                             err) < 0)
        return RPS_FAILED;
    for (size_t g = 0; g < part->group_count; g++) {
        struct rps_off_cpu *of = &ret[g];

        *of = (struct rps_off_cpu){.samples = on.of[g],
                                   .waited_us = off.of[g],
                                   .time_us = off.of[g],
                                   .time = &on.seen[g * stacks],
                                   .waited = &off.seen[g * stacks]};
        for (size_t s = 0; s < stacks; s++) {
            uint64_t on_us = frequency > 0 ? of->time[s] * US_PER_S / frequency : 0;

            of->time[s] = on_us + of->waited[s];
            of->time_us += on_us;
        }
    }
    return 0;
}

/* --- callers ---------------------------------------------------------------------------------- */

/* A request for the innermost function of each stack. */
struct moving {
    const struct rps_code *code;
    struct rps_share_name *name;
    int64_t *function; /* Number of the function of each stack. */
};

static struct moving begin_moving(struct rps_arena *arena, const struct rps_code *code)
{
    struct moving moving = {.code = code};
    size_t count;

    moving.function =
        rps_shares_functions(arena, code, 0, RPS_UNNAMED_ADDRESS, &moving.name, &count);
    return moving;
}

static const struct rps_module *module_of(const struct rps_code *code, size_t stack)
{
    size_t frame = rps_share_frame_of(code, stack);
    int64_t module = frame < code->frame_count ? code->frame[frame].module : -1;

    return module >= 0 ? &code->module[module] : NULL;
}

static int is_kernel(const struct rps_code *code, size_t stack)
{
    const struct rps_module *module = module_of(code, stack);

    return module && module->kind == RPS_MODULE_KERNEL;
}

static int is_of_program(const struct rps_code *code, size_t stack)
{
    const struct rps_module *module = module_of(code, stack);

    return !module || (module->kind != RPS_MODULE_KERNEL && module->kind != RPS_MODULE_VDSO &&
                       !rps_code_is_c_library(module->path));
}

static int is_one_of(const struct moving *moving, size_t stack, const char *const *pattern,
                     size_t count)
{
    int64_t function = moving->function[stack];

    for (size_t i = 0; function >= 0 && i < count; i++) {
        if (fnmatch(pattern[i], moving->name[function].name, 0) == 0)
            return 1;
    }
    return 0;
}

static size_t find_reason(const struct moving *moving, size_t stack)
{
    size_t at = stack;

    while (at != RPS_SHARE_NONE && is_kernel(moving->code, at) &&
           is_one_of(moving, at, scheduler, RPS_COUNT(scheduler)))
        at = rps_share_parent_of(moving->code, at);
    return at == RPS_SHARE_NONE || !is_kernel(moving->code, at) ? stack : at;
}

/* Find the innermost function of the program. If the stack has no such function because the thread
 * belongs to a library, find the innermost function outside the kernel. */
static size_t find_function(const struct moving *moving, size_t stack)
{
    const struct rps_code *code = moving->code;
    size_t first = stack, at;

    while (is_kernel(code, first) && rps_share_parent_of(code, first) != RPS_SHARE_NONE)
        first = rps_share_parent_of(code, first);
    for (at = first; at != RPS_SHARE_NONE; at = rps_share_parent_of(code, at)) {
        if (is_of_program(code, at))
            return at;
    }
    return first;
}

size_t *rps_off_cpu_callers(struct rps_arena *arena, const struct rps_code *code,
                            enum rps_off_cpu_at at)
{
    struct rps_arena *scratch = rps_arena_new();
    struct moving moving = begin_moving(scratch, code);
    size_t *caller = rps_arena_get(arena, code->stack_count, sizeof(*caller));

    for (size_t s = 0; s < code->stack_count; s++)
        caller[s] = at == RPS_OFF_CPU_REASON ? find_reason(&moving, s) : find_function(&moving, s);
    rps_arena_free(scratch);
    return caller;
}

struct rps_off_cpu rps_off_cpu_move(struct rps_arena *arena, const struct rps_code *code,
                                    const struct rps_off_cpu *of, const size_t *caller)
{
    struct rps_off_cpu moved = *of;

    moved.time = rps_arena_get(arena, code->stack_count, sizeof(*moved.time));
    moved.waited = rps_arena_get(arena, code->stack_count, sizeof(*moved.waited));
    for (size_t s = 0; s < code->stack_count; s++) {
        moved.time[s] += of->time[s] - of->waited[s];
        moved.time[caller[s]] += of->waited[s];
        moved.waited[caller[s]] += of->waited[s];
    }
    return moved;
}

uint64_t *rps_off_cpu_calls(struct rps_arena *arena, const struct rps_code *code,
                            const struct rps_off_cpu *of, const struct rps_calls *calls,
                            int is_total)
{
    uint64_t *waited = rps_arena_get(arena, calls->count, sizeof(*waited));

    for (size_t s = 0; s < code->stack_count; s++) {
        if (of->waited[s] > 0)
            waited[calls->node[s]] += of->waited[s];
    }
    for (size_t i = calls->count; is_total && i-- > 1;)
        waited[calls->call[i].parent] += waited[i];
    return waited;
}

/* --- reasons ---------------------------------------------------------------------------------- */

/* Time spent in a function for a reason. Function and reason are numbers. */
struct pair {
    int64_t function, reason;
    uint64_t us;
};

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return x->function != y->function ? (x->function > y->function) - (x->function < y->function)
                                      : (x->reason > y->reason) - (x->reason < y->reason);
}

/* Find each pair of function and reason once, in order of functions. */
static struct pair *find_pairs(struct rps_arena *arena, const struct moving *moving,
                               const struct rps_off_cpu *of, const size_t *caller,
                               size_t *ret_count)
{
    const struct rps_code *code = moving->code;
    struct pair *pair = rps_arena_get(arena, code->stack_count + 1, sizeof(*pair));
    size_t count = 0, kept = 0;

    for (size_t s = 0; s < code->stack_count; s++) {
        size_t reason = find_reason(moving, s);

        if (of->waited[s] > 0 && is_kernel(code, reason))
            pair[count++] =
                (struct pair){moving->function[caller[s]], moving->function[reason], of->waited[s]};
    }
    qsort(pair, count, sizeof(*pair), compare_pairs);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && compare_pairs(&pair[i], &pair[kept - 1]) == 0)
            pair[kept - 1].us += pair[i].us;
        else
            pair[kept++] = pair[i];
    }
    *ret_count = kept;
    return pair;
}

/* For each item, return the index of the item's share in `shares`, plus 1; 0: no share. */
static size_t *find_places(struct rps_arena *arena, const struct rps_shares *shares,
                           size_t *ret_count)
{
    size_t *place;

    *ret_count = 0;
    for (size_t i = 0; i < shares->count; i++)
        *ret_count = shares->share[i].item >= *ret_count ? shares->share[i].item + 1 : *ret_count;
    place = rps_arena_get(arena, *ret_count, sizeof(*place));
    for (size_t i = 0; i < shares->count; i++)
        place[shares->share[i].item] = i + 1;
    return place;
}

struct rps_off_cpu_share *rps_off_cpu_shares(struct rps_arena *arena, const struct rps_code *code,
                                             const struct rps_off_cpu *of, const size_t *caller,
                                             enum rps_shares_by by, const struct rps_shares *shares)
{
    struct rps_off_cpu moved = rps_off_cpu_move(arena, code, of, caller);
    struct rps_shares waits = rps_shares_find(arena, code, moved.waited, by);
    struct rps_off_cpu_share *ret = rps_arena_get(arena, shares->count, sizeof(*ret));
    /* For each share, the longest time that was spent for one reason. */
    uint64_t *most = rps_arena_get(arena, shares->count, sizeof(*most));
    struct moving moving = begin_moving(arena, code);
    size_t items, count;
    size_t *place = find_places(arena, shares, &items);
    struct pair *pair = find_pairs(arena, &moving, of, caller, &count);

    for (size_t w = 0; w < waits.count; w++) {
        if (waits.share[w].item < items && place[waits.share[w].item] > 0)
            ret[place[waits.share[w].item] - 1].waited_us = waits.share[w].self;
    }
    for (size_t i = 0; i < count && by == RPS_SHARES_FUNCTION; i++) {
        size_t at = (uint64_t)pair[i].function < items ? place[pair[i].function] : 0;

        if (at == 0 || pair[i].us <= most[at - 1] || pair[i].reason < 0 ||
            moving.name[pair[i].reason].is_unnamed)
            continue;
        most[at - 1] = pair[i].us;
        ret[at - 1].reason = moving.name[pair[i].reason].name;
    }
    return ret;
}

/* Return 1 if a stack waits for a child process or for the end of a thread. */
static int waits_for_end(const struct moving *moving, size_t stack)
{
    size_t at = find_reason(moving, stack);

    if (is_one_of(moving, at, children, RPS_COUNT(children)))
        return 1;
    for (; at != RPS_SHARE_NONE; at = rps_share_parent_of(moving->code, at)) {
        if (is_one_of(moving, at, joins, RPS_COUNT(joins)))
            return 1;
        if (is_of_program(moving->code, at))
            return 0;
    }
    return 0;
}

/* Return the off-CPU time without waits for child processes and for the end of threads. */
static struct rps_off_cpu leave_children(struct rps_arena *arena, const struct rps_code *code,
                                         const struct rps_off_cpu *of)
{
    struct moving moving = begin_moving(arena, code);
    struct rps_off_cpu left = *of;

    left.time = rps_arena_get(arena, code->stack_count, sizeof(*left.time));
    left.waited = rps_arena_get(arena, code->stack_count, sizeof(*left.waited));
    for (size_t s = 0; s < code->stack_count; s++) {
        uint64_t us = of->waited[s] > 0 && waits_for_end(&moving, s) ? of->waited[s] : 0;

        left.waited[s] = of->waited[s] - us;
        left.time[s] = of->time[s] - us;
        left.waited_us -= us;
        left.time_us -= us;
    }
    return left;
}

/* --- groups ----------------------------------------------------------------------------------- */

static void report_waits(struct rps_arena *arena, const struct rps_shares *shares,
                         uint64_t waited_us, struct rps_share_group *ret)
{
    ret->waited_s = (double)waited_us / (double)US_PER_S;
    while ((size_t)ret->wait_count < shares->count && ret->wait_count < RPS_SHARES_WAITS) {
        const struct rps_share *share = &shares->share[ret->wait_count];

        if (share->self == 0)
            break;
        ret->wait[ret->wait_count++] = (struct rps_share_top){
            .name = rps_share_name_keep(arena, &(struct rps_share_name){.name = share->name,
                                                                        .module = share->module,
                                                                        .file = share->file,
                                                                        .line = share->line}),
            .share = (double)share->self / (double)waited_us};
    }
}

int rps_off_cpu_find_waits(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                           const struct rps_run_part *part, const struct rps_cpus *cpus,
                           const struct rps_code *code, struct rps_part_shares *ret,
                           struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    const size_t *caller = rps_off_cpu_callers(scratch, code, RPS_OFF_CPU_FUNCTION);
    struct rps_off_cpu *time = rps_arena_get(scratch, part->group_count, sizeof(*time));
    int result = rps_off_cpu_read(scratch, reader, run_id, part, cpus, code, time, err);

    for (size_t g = 0; g < part->group_count && result == 0; g++) {
        struct rps_off_cpu own = leave_children(scratch, code, &time[g]);
        struct rps_off_cpu moved = rps_off_cpu_move(scratch, code, &own, caller);
        struct rps_shares shares =
            rps_shares_find(scratch, code, moved.waited, RPS_SHARES_FUNCTION);

        report_waits(arena, &shares, moved.waited_us, &ret->group[g]);
        if (part->group_count == 1)
            ret->group[g].unknown_s = (double)code->sampling.blocked_off_us / (double)US_PER_S;
    }
    rps_arena_free(scratch);
    return result;
}
