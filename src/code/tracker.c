/*
 * The tracker. Frames, stacks and modules stay for good, and are few: code is finite, and what is
 * not is folded. Processes, threads and their maps go when they end.
 *
 * A frame-pointer chain through code without frame pointers goes on with whatever is on the stack.
 * So a chain ends before the first return address that nothing is mapped at: what is behind it has
 * no meaning, and would be a frame of its own each time.
 */
#include "tracker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps.h"
#include "rpistat/clock.h"
#include "tracker_parts.h"

#define STACKS_MAX    1000000 /* that are told apart; above, innermost frames alone */
#define MODULES_MAX   65536   /* above, memory */
#define ADDRESSES_MAX 500000  /* of which the function is remembered */
#define PAGE          4096
#define NAME_SIZE     64

#define PROGRAMS_MAX 10000 /* that are told apart; above, one without a name */
#define CGROUPS_MAX  65536 /* likewise */

/* A thread that has ended is known for so long: its CPU time comes behind its end. Where the kernel
 * has exchanged two threads' events it comes later: so many are waited for. */
#define ENDED_NS   (RPS_NS_PER_S / 10)
#define SILENT_MAX 1000

struct rps_process {
    struct rps_intern_key key; /* pid */
    struct rps_space *space;   /* NULL: nothing is known */
    size_t threads;            /* that are known, */
    size_t living;             /* and those of them that have not ended */
    int64_t task;              /* that was seen last of it; -1: none */
    int64_t cpu_ns;            /* of the threads that have ended; -1: not known of all */
    pid_t parent;
    int64_t cgroup;       /* its parent's, until it is read; -1: not known */
    int is_placed;        /* it was read since the last exec */
    char name[NAME_SIZE]; /* of the first thread, when it had ended */
};

struct rps_thread {
    struct rps_intern_key key; /* tid */
    pid_t pid;
    int64_t task; /* its number, once a sample was taken; else -1 */
    int64_t start_ns;
    int64_t end_ns; /* on the clock of the samples; -1: it lives */
    int64_t next;   /* number of the thread that ended after it, of its list; -1 */
    int is_renamed; /* since the task was told */
    int is_silent;  /* it ended, and its time is waited for */
    int64_t cpu_ns; /* exact; -1: not known */
    uint64_t samples;
    struct { /* while it waits */
        int64_t from_ns, stack;
        int32_t cpu;
        uint32_t weight; /* 0: it does not */
    } wait;
    char name[NAME_SIZE];
};

/* The frames of a sample, the innermost first. */
struct chain {
    int64_t frame[RPS_SAMPLE_DEPTH_MAX];
    size_t count;
    int is_cut;   /* there are more */
    int has_gap;  /* or may have: a caller is missing */
    int is_whole; /* it is known to reach to where the thread began */
};

/* --- modules, frames, stacks ------------------------------------------------------------------ */

/* The number of the text, among items that begin with it; negative without memory. */
static int64_t add_text(struct rps_intern *table, const char *text, int *ret_is_new)
{
    uint64_t hash = rps_intern_hash(0, text), same = 0;
    struct rps_tracker_text *item;
    int64_t number;
    char *own;

    *ret_is_new = 0;
    while ((item = rps_intern_at(table, number = rps_intern_find(table, hash, same)))) {
        if (strcmp(item->text, text) == 0)
            return number;
        same++;
    }
    own = strdup(text);
    number = own ? rps_intern_add(table, hash, same, ret_is_new) : -1;
    item = rps_intern_at(table, number);
    if (item)
        item->text = own;
    else
        free(own);
    return number;
}

static void free_texts(struct rps_intern *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(((struct rps_tracker_text *)rps_intern_at(table, (int64_t)i))->text);
    rps_intern_free(table);
}

static int is_module(const struct rps_tracker_module *module, enum rps_module_kind kind,
                     const char *path, const char *build_id)
{
    return module->kind == kind && strcmp(module->path, path) == 0 &&
           strcmp(module->build_id, build_id) == 0;
}

/* The module's number, or negative without memory. */
static int64_t add_module(struct rps_tracker *tracker, enum rps_module_kind kind, const char *path,
                          const char *build_id)
{
    uint64_t hash = rps_intern_hash(rps_intern_hash((uint64_t)kind, path), build_id), same = 0;
    struct rps_tracker_module *module;
    struct rps_module told;
    int64_t number;
    char *own_path;
    int is_new;

    while ((number = rps_intern_find(&tracker->module, hash, same)) >= 0) {
        if (is_module(rps_intern_at(&tracker->module, number), kind, path, build_id))
            return number;
        same++;
    }
    if (tracker->module.count >= MODULES_MAX && kind != RPS_MODULE_MEMORY)
        return add_module(tracker, RPS_MODULE_MEMORY, "", "");
    own_path = strdup(path);
    number = own_path ? rps_intern_add(&tracker->module, hash, same, &is_new) : -1;
    if (number < 0) {
        free(own_path);
        return -1;
    }
    module = rps_intern_at(&tracker->module, number);
    module->kind = kind;
    module->path = own_path;
    module->is_c_library = kind == RPS_MODULE_FILE && rps_code_is_c_library(path);
    strcpy(module->build_id, build_id);
    told = (struct rps_module){.module = number, .kind = kind, .path = own_path};
    strcpy(told.build_id, build_id);
    tracker->sink.module(tracker->sink.context, &told);
    return number;
}

/* The module of a kind that has but one. */
static int64_t add_only_module(struct rps_tracker *tracker, enum rps_module_kind kind,
                               const char *path)
{
    if (tracker->only_module[kind] < 0)
        tracker->only_module[kind] = add_module(tracker, kind, path, "");
    return tracker->only_module[kind];
}

static int64_t add_mapped_module(struct rps_tracker *tracker, struct rps_mapped *mapped)
{
    if (mapped->module < 0)
        mapped->module = add_module(tracker, mapped->kind, mapped->path, mapped->build_id);
    return mapped->module;
}

/* Where the function begins that has the address; 0: not known. */
static uint64_t find_function(struct rps_tracker *tracker, int64_t module, uint64_t address)
{
    const struct rps_tracker_module *of = rps_intern_at(&tracker->module, module);

    if (of->kind == RPS_MODULE_KERNEL)
        return tracker->simulated.count > 0 ? 0 : rps_function_in_kernel(&tracker->kernel, address);
    if (of->kind != RPS_MODULE_FILE)
        return 0;
    return rps_function_in_file(&tracker->files, module, of->path, of->build_id, address);
}

/* The address among those that were seen; NULL without memory. What was forgotten is asked for
 * again. */
static struct rps_tracker_address *see_address(struct rps_tracker *tracker, int64_t module,
                                               uint64_t address)
{
    struct rps_tracker_address *seen;
    int is_new;

    if (tracker->address.count >= ADDRESSES_MAX) {
        rps_intern_free(&tracker->address);
        tracker->address = RPS_INTERN_OF(struct rps_tracker_address);
    }
    seen = rps_intern_at(&tracker->address,
                         rps_intern_add(&tracker->address, (uint64_t)module, address, &is_new));
    if (seen && is_new)
        seen->function = find_function(tracker, module, address);
    return seen;
}

static int is_of_kernel(const struct rps_tracker *tracker, int64_t module)
{
    return module == tracker->only_module[RPS_MODULE_KERNEL];
}

/* `function` is where its function begins; 0: not known. */
static int64_t tell_frame(struct rps_tracker *tracker, int64_t module, uint64_t address,
                          uint64_t function)
{
    int is_new;
    int64_t number = rps_intern_add(&tracker->frame, (uint64_t)module, address, &is_new);
    struct rps_frame told = {number, module, address, function};

    if (number >= 0 && is_new)
        tracker->sink.frame(tracker->sink.context, &told);
    return number;
}

/* An address that is no frame of its own, or not innermost. When there are many frames, a page of
 * code is one; when there are too many of these, a module is. */
static int64_t fold_frame(struct rps_tracker *tracker, int64_t module, uint64_t address,
                          int is_innermost)
{
    struct rps_tracker_address *seen = see_address(tracker, module, address);
    size_t count = tracker->frame.count;
    uint64_t folded = address;
    int64_t number;
    int is_own;

    if (!seen)
        return -1;
    seen->innermost += is_innermost && seen->innermost < RPS_TRACKER_OWN_SAMPLES;
    is_own = is_innermost && seen->innermost == RPS_TRACKER_OWN_SAMPLES &&
             !is_of_kernel(tracker, module);
    if (!is_own && seen->frame > 0)
        return seen->frame - 1;
    if (!is_own && seen->function > 0)
        folded = seen->function;
    number = rps_intern_find(&tracker->frame, (uint64_t)module, folded);
    if (number < 0 && folded == address && count >= 2 * RPS_TRACKER_FRAMES_MAX)
        number = tell_frame(tracker, module, 0, 0);
    else if (number < 0 && folded == address && count >= RPS_TRACKER_FRAMES_MAX)
        number = tell_frame(tracker, module, address - address % PAGE, 0);
    else if (number < 0)
        number =
            tell_frame(tracker, module, folded, is_of_kernel(tracker, module) ? 0 : seen->function);
    if (!is_own)
        seen->frame = number + 1;
    return number;
}

/* The frame's number, or negative without memory. */
static int64_t add_frame(struct rps_tracker *tracker, int64_t module, uint64_t address,
                         int is_innermost)
{
    int is_exact = tracker->frame.count < RPS_TRACKER_EXACT_MAX;
    int64_t number =
        is_exact || is_innermost ? rps_intern_find(&tracker->frame, (uint64_t)module, address) : -1;

    if (number >= 0)
        return number;
    if (!is_exact)
        return fold_frame(tracker, module, address, is_innermost);
    return tell_frame(tracker, module, address,
                      is_of_kernel(tracker, module) /* whose table is long */
                          ? 0
                          : find_function(tracker, module, address));
}

static int64_t add_stack(struct rps_tracker *tracker, int64_t parent, int64_t frame)
{
    int is_new;
    int64_t number = rps_intern_add(&tracker->stack, (uint64_t)parent, (uint64_t)frame, &is_new);

    if (number >= 0 && is_new) {
        struct rps_stack told = {number, parent, frame};

        tracker->sink.stack(tracker->sink.context, &told);
    }
    return number;
}

/* The stack of a chain, or negative without memory. */
static int64_t add_stacks(struct rps_tracker *tracker, const struct chain *chain)
{
    int64_t stack = -1;

    for (size_t i = chain->count; i-- > 0;) {
        if (tracker->stack.count >= STACKS_MAX &&
            rps_intern_find(&tracker->stack, (uint64_t)stack, (uint64_t)chain->frame[i]) < 0)
            return add_stack(tracker, -1, chain->frame[0]);
        stack = add_stack(tracker, stack, chain->frame[i]);
        if (stack < 0)
            return -1;
    }
    return stack;
}

/* --- chains ----------------------------------------------------------------------------------- */

/* 1, 0 when there is no room for the frame, negative without memory, as below. */
static int append_frame(struct rps_tracker *tracker, struct chain *chain, int64_t module,
                        uint64_t address)
{
    int64_t frame;

    if (chain->count == RPS_SAMPLE_DEPTH_MAX) {
        chain->is_cut = 1;
        return 0;
    }
    frame = module < 0 ? -1 : add_frame(tracker, module, address, chain->count == 0);
    if (frame < 0)
        return -1;
    if (chain->count > 0 && chain->frame[chain->count - 1] == frame &&
        tracker->frame.count >= RPS_TRACKER_EXACT_MAX)
        return 1; /* it called itself */
    chain->frame[chain->count++] = frame;
    return 1;
}

static int append_kernel(struct rps_tracker *tracker, struct chain *chain, const uint64_t *address,
                         size_t count)
{
    int status = 1;

    for (size_t i = 0; i < count && status > 0; i++)
        status =
            append_frame(tracker, chain, add_only_module(tracker, RPS_MODULE_KERNEL, "[kernel]"),
                         address[i] - (i > 0));
    return status;
}

/* A frame of the workload's part; 0 as well when the chain ends before it. *ret_map: where it is,
 * or NULL. */
static int append_user(struct rps_tracker *tracker, struct chain *chain,
                       const struct rps_space *space, uint64_t address, int is_innermost,
                       const struct rps_map **ret_map)
{
    *ret_map = NULL;
    if (rps_simulated_find(&tracker->simulated, address)) {
        chain->is_whole = 1;
        return append_frame(tracker, chain,
                            add_only_module(tracker, RPS_MODULE_SIMULATED, "simulated"), address);
    }
    *ret_map = rps_space_find(space, address);
    if (*ret_map)
        return append_frame(tracker, chain, add_mapped_module(tracker, (*ret_map)->mapped),
                            rps_map_address(*ret_map, address));
    tracker->unmapped++;
    if (!is_innermost)
        return 0;
    return append_frame(tracker, chain, add_only_module(tracker, RPS_MODULE_MEMORY, ""), address);
}

static int append_addresses(struct rps_tracker *tracker, struct chain *chain,
                            const struct rps_space *space, const uint64_t *address, size_t count)
{
    const struct rps_map *map;
    int status = 1;

    for (size_t i = 0; i < count && status > 0; i++)
        status = append_user(tracker, chain, space, address[i] - (i > 0), i == 0, &map);
    return status;
}

/* A file that the process which unwinds has died of is not read again, and that is told. */
static void note_death(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_unwinder *unwinder = &tracker->unwinder;
    struct rps_tracker_module *module = rps_intern_at(&tracker->module, unwinder->module);

    if (!unwinder->has_died)
        return;
    unwinder->has_died = 0;
    if (!module)
        return;
    module->is_hostile = 1;
    tracker->sink.incomplete(tracker->sink.context, sample->time_ns, module->path);
}

/* What the map's file says of the address; NULL when that cannot be had now. */
static const struct rps_unwind_row *find_row(struct rps_tracker *tracker, const struct rps_map *map,
                                             uint64_t address)
{
    static const struct rps_unwind_row unknown;
    const struct rps_tracker_module *module =
        map ? rps_intern_at(&tracker->module, map->mapped->module) : NULL;

    return module && !module->is_hostile &&
                   (module->kind == RPS_MODULE_FILE || module->kind == RPS_MODULE_VDSO)
               ? rps_unwinder_find(&tracker->unwinder, map, address)
               : &unknown;
}

/* The rest of the kernel's chain, behind what was unwound. The caller of a function that makes no
 * frame is missing in it. */
static int append_rest(struct rps_tracker *tracker, struct chain *chain,
                       const struct rps_space *space, const uint64_t *address, size_t count)
{
    const struct rps_map *map;
    int status = 1;

    for (size_t i = 0; i < count && status > 0; i++) {
        const struct rps_unwind_row *row;

        status = append_user(tracker, chain, space, address[i] - 1, 0, &map);
        if (status <= 0 || chain->has_gap)
            continue;
        row = find_row(tracker, map, address[i] - 1);
        chain->has_gap = !row || !rps_unwind_makes_frame(row);
    }
    return status;
}

/*
 * As for the others, of a stack that was copied; `unwind` is at the innermost frame. As far as the
 * copy goes callers are found in it; then the kernel's chain goes on. Where the frame that could not
 * be left has its return address in a place that the chain knows, it goes on with that. Else it does
 * so behind the frame's own address: the function makes no frame, and its caller is missing. Where
 * that is not in it either, nothing more is known. Pointers may go on where the stack ends: Go
 * changes stacks.
 */
static int append_unwound(struct rps_tracker *tracker, struct chain *chain,
                          const struct rps_space *space, const uint64_t *address, size_t count,
                          struct rps_unwind *unwind)
{
    struct rps_unwind_chain pointers = rps_unwind_chain(unwind);
    enum rps_unwind_step step = RPS_UNWIND_CALLER;
    size_t next = 1; /* of the kernel's chain, behind the frame's address; 0: that is not in it */
    const struct rps_map *map;
    int status = append_user(tracker, chain, space, unwind->pc, 1, &map);

    while (status > 0 && step == RPS_UNWIND_CALLER) {
        const struct rps_unwind_row *row = find_row(tracker, map, unwind->pc - !unwind->is_exact);
        size_t at;

        if (!row) {
            chain->has_gap = 1;
            break;
        }
        step = rps_unwind_step(unwind, row);
        at = rps_unwind_find_in_chain(&pointers, unwind);
        if (step == RPS_UNWIND_CALLER) {
            next = at > 0 ? at + 1 : 0;
            status = append_user(tracker, chain, space, unwind->pc - !unwind->is_exact, 0, &map);
        } else if (at > 0) {
            next = at;
        } else if (step == RPS_UNWIND_LOST) {
            /* without rules there is no caller either where the pointers end, as in Go */
            chain->has_gap = row->is_known || next < count;
            next = next > 1 ? next : 0;
        }
    }
    chain->is_whole = step == RPS_UNWIND_END && status > 0 && (next == 0 || next >= count);
    if (status <= 0 || chain->is_whole || next == 0 || next >= count)
        return status;
    return append_rest(tracker, chain, space, address + next, count - next);
}

/* Negative without memory. */
static int find_chain(struct rps_tracker *tracker, const struct rps_sample *sample,
                      const struct rps_space *space, struct chain *chain)
{
    size_t kernel =
        sample->kernel_count < sample->address_count ? sample->kernel_count : sample->address_count;
    static const uint64_t nowhere = 0;
    struct rps_unwind unwind;
    const uint64_t *address = sample->address + kernel;
    size_t count = sample->address_count - kernel;
    int status = append_kernel(tracker, chain, sample->address, kernel);

    chain->is_cut = sample->is_cut;
    if (status > 0 && sample->registers.mask && rps_unwind_start(&unwind, &sample->registers) == 0)
        status = append_unwound(tracker, chain, space, address, count, &unwind);
    else if (status > 0)
        status = append_addresses(tracker, chain, space, address, count);
    note_death(tracker, sample);
    if (status >= 0 && chain->count == 0)
        status = append_addresses(tracker, chain, NULL, &nowhere, 1);
    return status;
}

/* How the chain ends, for rps_tracker_complete_ends. */
static void count_end(struct rps_tracker *tracker, const struct chain *chain)
{
    const struct rps_tracker_module *module;
    const struct rps_tracker_frame *callee;
    struct rps_tracker_frame *last;

    if (chain->is_cut || chain->has_gap)
        return;
    if (chain->is_whole) {
        tracker->complete++;
        return;
    }
    last = rps_intern_at(&tracker->frame, chain->frame[chain->count - 1]);
    tracker->ends_complete -= rps_tracker_complete_ends(last);
    last->ends++;
    module = rps_intern_at(&tracker->module, (int64_t)last->key.a);
    if (chain->count >= 2 && module->is_c_library) {
        callee = rps_intern_at(&tracker->frame, chain->frame[chain->count - 2]);
        last->ends_in_library += callee->key.a != last->key.a &&
                                 (int64_t)callee->key.a != tracker->only_module[RPS_MODULE_KERNEL];
    }
    tracker->ends_complete += rps_tracker_complete_ends(last);
}

/* --- processes, threads, tasks ---------------------------------------------------------------- */

static struct rps_process *find_process(const struct rps_tracker *tracker, pid_t pid)
{
    return rps_intern_at(&tracker->process, rps_intern_find(&tracker->process, (uint32_t)pid, 0));
}

static struct rps_thread *find_thread(const struct rps_tracker *tracker, pid_t tid)
{
    return rps_intern_at(&tracker->thread, rps_intern_find(&tracker->thread, (uint32_t)tid, 0));
}

static void tell_task(struct rps_tracker *tracker, struct rps_thread *thread, int64_t end_ns)
{
    int64_t number = find_process(tracker, thread->pid)->cgroup;
    struct rps_tracker_cgroup *cgroup = rps_intern_at(&tracker->cgroup, number);
    struct rps_task told = {.task = thread->task,
                            .pid = thread->pid,
                            .tid = (pid_t)thread->key.a,
                            .name = thread->name,
                            .start_ns = thread->start_ns,
                            .end_ns = end_ns,
                            .process_ns = -1,
                            .cgroup = number};

    if (cgroup && !cgroup->is_told)
        tracker->sink.cgroup(tracker->sink.context,
                             &(struct rps_cgroup){number, cgroup->path.text});
    if (cgroup)
        cgroup->is_told = 1;
    tracker->sink.task(tracker->sink.context, &told);
    thread->is_renamed = 0;
}

static void end_task(struct rps_tracker *tracker, struct rps_thread *thread, int64_t time_ns)
{
    if (thread->task >= 0)
        tell_task(tracker, thread, time_ns - tracker->start_ns);
    thread->task = -1;
}

/* The program of that name; NULL without memory. */
static struct rps_tracker_program *add_program(struct rps_tracker *tracker, const char *name)
{
    int is_new;
    int64_t number =
        add_text(&tracker->program, tracker->program.count < PROGRAMS_MAX ? name : "", &is_new);
    struct rps_tracker_program *program = rps_intern_at(&tracker->program, number);

    if (program && is_new)
        program->told = (struct rps_program){.program = number, .name = program->name.text};
    return program;
}

/* The exact time of a thread that has ended is its program's. */
static void count_time(struct rps_tracker *tracker, const struct rps_thread *thread,
                       const struct rps_process *process)
{
    const struct rps_thread *first = find_thread(tracker, thread->pid);
    struct rps_tracker_program *program = add_program(tracker, first ? first->name : process->name);
    int is_first = (pid_t)thread->key.a == thread->pid;

    if (!program) {
        tracker->lost++;
        return;
    }
    program->is_changed = 1;
    program->told.cpu_ns += thread->cpu_ns;
    program->told.samples += thread->samples;
    if (thread->samples > 0)
        return;
    program->told.unsampled_ns += thread->cpu_ns;
    program->told.unsampled_processes += is_first;
    program->told.unsampled_threads += !is_first;
}

static void leave_process(struct rps_tracker *tracker, const struct rps_thread *thread)
{
    int64_t number = rps_intern_find(&tracker->process, (uint32_t)thread->pid, 0);
    struct rps_process *process = rps_intern_at(&tracker->process, number);

    if (thread->cpu_ns >= 0)
        count_time(tracker, thread, process);
    if ((pid_t)thread->key.a == thread->pid)
        strcpy(process->name, thread->name);
    process->cpu_ns =
        thread->cpu_ns < 0 || process->cpu_ns < 0 ? -1 : process->cpu_ns + thread->cpu_ns;
    if (--process->threads > 0)
        return;
    if (process->task >= 0 && process->cpu_ns >= 0)
        tracker->sink.process_time(tracker->sink.context, process->task, process->cpu_ns);
    rps_space_release(process->space); /* of what was mapped behind its end */
    process->space = NULL;
    rps_intern_remove(&tracker->process, number);
}

static void append_ended(struct rps_tracker *tracker, struct rps_tracker_ended *list,
                         int64_t number)
{
    ((struct rps_thread *)rps_intern_at(&tracker->thread, number))->next = -1;
    if (list->count++ == 0)
        list->first = number;
    else
        ((struct rps_thread *)rps_intern_at(&tracker->thread, list->last))->next = number;
    list->last = number;
}

/* Take thread `number`, or with -1 the one that ended first, out of the list that it is in. Returns
 * its number. */
static int64_t take_ended(struct rps_tracker *tracker, struct rps_tracker_ended *list,
                          int64_t number)
{
    struct rps_thread *before = NULL, *thread;

    for (int64_t at = list->first; number >= 0 && at != number; at = before->next)
        before = rps_intern_at(&tracker->thread, at);
    number = number < 0 ? list->first : number;
    thread = rps_intern_at(&tracker->thread, number);
    if (before)
        before->next = thread->next;
    else
        list->first = thread->next;
    if (number == list->last)
        list->last = before ? rps_intern_find(&tracker->thread, before->key.a, 0) : -1;
    list->count--;
    return number;
}

static void forget_thread(struct rps_tracker *tracker, int64_t number)
{
    leave_process(tracker, rps_intern_at(&tracker->thread, number));
    rps_intern_remove(&tracker->thread, number);
}

/* Forget the threads that ended before a time, but for the last ones whose time is not known. */
static void forget_ended(struct rps_tracker *tracker, int64_t before_ns)
{
    while (tracker->ended.count > 0) {
        struct rps_thread *thread = rps_intern_at(&tracker->thread, tracker->ended.first);
        int64_t number;

        if (thread->end_ns >= before_ns)
            break;
        number = take_ended(tracker, &tracker->ended, -1);
        thread->is_silent = thread->cpu_ns < 0;
        if (thread->is_silent)
            append_ended(tracker, &tracker->silent, number);
        else
            forget_thread(tracker, number);
        if (tracker->silent.count > SILENT_MAX)
            forget_thread(tracker, take_ended(tracker, &tracker->silent, -1));
    }
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void tell_wait(const struct rps_tracker *tracker, struct rps_thread *thread, int64_t to_ns)
{
    if (thread->wait.weight > 0 && to_ns > thread->wait.from_ns) {
        tracker->sink.blocked(tracker->sink.context, thread->wait.from_ns, to_ns, thread->wait.cpu,
                              thread->wait.stack, thread->wait.weight);
        thread->wait.from_ns = to_ns;
    }
}

static void end_wait(struct rps_tracker *tracker, struct rps_thread *thread, int64_t to_ns)
{
    tell_wait(tracker, thread, to_ns);
    tracker->waiting -= thread->wait.weight > 0;
    thread->wait.weight = 0;
}

void rps_tracker_tell_waits(struct rps_tracker *tracker, int64_t until_ns)
{
    for (size_t i = 0; i < tracker->thread.count && tracker->waiting > 0; i++)
        tell_wait(tracker, rps_intern_at(&tracker->thread, (int64_t)i), until_ns);
}

/* It is on a CPU again, or all are taken for that. */
static void take_awake(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_thread *thread = find_thread(tracker, sample->tid);

    for (size_t i = 0; i < tracker->thread.count && sample->tid == 0; i++)
        end_wait(tracker, rps_intern_at(&tracker->thread, (int64_t)i), sample->time_ns);
    if (thread && thread->end_ns < 0)
        end_wait(tracker, thread, sample->is_preempted ? INT64_MIN : sample->time_ns);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void end_thread(struct rps_tracker *tracker, pid_t tid, int64_t time_ns)
{
    int64_t number = rps_intern_find(&tracker->thread, (uint32_t)tid, 0);
    struct rps_thread *thread = rps_intern_at(&tracker->thread, number);
    struct rps_process *process;

    if (!thread || thread->end_ns >= 0)
        return;
    end_wait(tracker, thread, time_ns);
    end_task(tracker, thread, time_ns);
    process = find_process(tracker, thread->pid);
    if (--process->living == 0) {
        rps_space_release(process->space);
        process->space = NULL;
    }
    thread->end_ns = time_ns;
    append_ended(tracker, &tracker->ended, number);
    forget_ended(tracker, time_ns - ENDED_NS);
}

/* Forget the thread that has ended, and those of its process where it is the first. */
static void forget_all(struct rps_tracker *tracker, struct rps_tracker_ended *list, pid_t tid)
{
    int64_t next;

    for (int64_t at = list->count > 0 ? list->first : -1; at >= 0; at = next) {
        const struct rps_thread *thread = rps_intern_at(&tracker->thread, at);

        next = thread->next;
        if ((pid_t)thread->key.a == tid || thread->pid == tid)
            forget_thread(tracker, take_ended(tracker, list, at));
    }
}

/* The number of a thread is to be another's. */
static void free_number(struct rps_tracker *tracker, pid_t tid, int64_t time_ns)
{
    if (!find_thread(tracker, tid))
        return;
    end_thread(tracker, tid, time_ns);
    forget_all(tracker, &tracker->ended, tid);
    forget_all(tracker, &tracker->silent, tid);
}

/* The thread, which is made where it is not known, with its process; NULL without memory. Valid
 * until the next is made. */
static struct rps_thread *add_thread(struct rps_tracker *tracker, pid_t pid, pid_t tid,
                                     int64_t time_ns)
{
    struct rps_thread *thread = find_thread(tracker, tid);
    struct rps_process *of;
    int64_t number, process;
    int is_new;

    if (thread && thread->pid == pid)
        return thread;
    free_number(tracker, tid, time_ns); /* where nobody said that it ended */
    number = rps_intern_add(&tracker->thread, (uint32_t)tid, 0, &is_new);
    if (number < 0)
        return NULL;
    process = rps_intern_add(&tracker->process, (uint32_t)pid, 0, &is_new);
    if (process < 0) {
        rps_intern_remove(&tracker->thread, number);
        return NULL;
    }
    of = rps_intern_at(&tracker->process, process);
    if (is_new)
        of->task = of->cgroup = -1;
    of->threads++;
    of->living++;
    thread = rps_intern_at(&tracker->thread, number);
    thread->pid = pid;
    thread->task = thread->end_ns = thread->cpu_ns = -1;
    strcpy(thread->name, tid == 0 ? "swapper" : ""); /* the kernel never names that one */
    return thread;
}

/* The process of a sample, made where it is not known. */
static struct rps_process *add_process(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    return add_thread(tracker, sample->pid, sample->tid, sample->time_ns)
               ? find_process(tracker, sample->pid)
               : NULL;
}

static int take_map(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_process *process = add_process(tracker, sample);
    struct rps_mapped *mapped = process ? rps_mapped_new(sample) : NULL;
    int status = mapped ? rps_space_add(&process->space, sample->map_address, sample->map_length,
                                        sample->file_offset, mapped)
                        : -1;

    rps_mapped_release(mapped);
    return status;
}

static int take_fork(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    const struct rps_thread *parent;
    struct rps_process *process, *parent_process;
    struct rps_thread *thread;

    if (sample->tid == sample->parent_tid) /* no thread makes itself */
        return 0;
    free_number(tracker, sample->tid, sample->time_ns);
    if (tracker->proc && !find_process(tracker, sample->parent_pid)) /* it came into a group */
        add_thread(tracker, sample->parent_pid, sample->parent_tid, sample->time_ns);
    thread = add_thread(tracker, sample->pid, sample->tid, sample->time_ns);
    if (!thread)
        return -1;
    parent = find_thread(tracker, sample->parent_tid);
    if (parent)
        strcpy(thread->name, parent->name);
    parent_process = find_process(tracker, sample->parent_pid);
    process = find_process(tracker, sample->pid);
    if (parent_process && parent_process != process) {
        rps_space_release(process->space);
        process->space = rps_space_share(parent_process->space);
        process->cgroup = parent_process->cgroup;
        process->parent = sample->parent_pid;
    }
    return 0;
}

static int take_name(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_process *process = add_process(tracker, sample);
    struct rps_thread *thread = find_thread(tracker, sample->tid);

    if (!process)
        return -1;
    if (sample->is_exec) {
        end_task(tracker, thread, sample->time_ns);
        rps_space_release(process->space);
        process->space = NULL;
        process->is_placed = 0;
    }
    snprintf(thread->name, sizeof(thread->name), "%s", sample->path ? sample->path : "");
    thread->is_renamed = thread->task >= 0;
    return 0;
}

static int take_cgroup(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_process *process = find_process(tracker, sample->pid);
    int is_new;

    if (!process)
        process = add_process(tracker, sample);
    if (!process)
        return -1;
    process->cgroup =
        add_text(&tracker->cgroup,
                 sample->path && tracker->cgroup.count < CGROUPS_MAX ? sample->path : "", &is_new);
    return process->cgroup < 0 ? -1 : 0;
}

int rps_tracker_add_cgroup(struct rps_tracker *tracker, pid_t pid)
{
    char text[RPS_CGROUP_TEXT_SIZE];
    struct rps_sample sample = {.kind = RPS_SAMPLE_CGROUP, .pid = pid, .tid = pid};

    sample.path = rps_cgroup_read(tracker->proc, pid, text);
    return sample.path ? take_cgroup(tracker, &sample) : -1;
}

/* Read the control group of a process, once after each exec; of one that has ended, that of the
 * next of its ancestors that lives. */
static void place_process(struct rps_tracker *tracker, struct rps_process *process)
{
    struct rps_process *of = process;

    while (tracker->proc && of && !of->is_placed) {
        of->is_placed = 1;
        if (rps_tracker_add_cgroup(tracker, (pid_t)of->key.a) == 0)
            break;
        of = find_process(tracker, of->parent);
    }
    if (of && of->cgroup >= 0)
        process->cgroup = of->cgroup;
}

/* The task that ran. */
static int64_t add_task(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_thread *thread = find_thread(tracker, sample->tid);
    struct rps_process *process = find_process(tracker, thread->pid);

    if (thread->task < 0) {
        thread->task = tracker->task_count++;
        thread->start_ns = sample->time_ns - tracker->start_ns;
        thread->is_renamed = 1;
        process->task = thread->task;
        place_process(tracker, process);
    }
    if (thread->is_renamed)
        tell_task(tracker, thread, -1);
    thread->samples++;
    return thread->task;
}

static void take_time(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    int64_t number = rps_intern_find(&tracker->thread, (uint32_t)sample->tid, 0);
    struct rps_thread *thread = rps_intern_at(&tracker->thread, number);

    if (!thread || thread->pid != sample->pid)
        return;
    thread->cpu_ns = (thread->cpu_ns > 0 ? thread->cpu_ns : 0) + sample->cpu_time_ns;
    if (thread->is_silent) { /* it comes late, and no other one will */
        take_ended(tracker, &tracker->silent, number);
        forget_thread(tracker, number);
    }
}

static int take_stack(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    const struct rps_process *process = add_process(tracker, sample);
    struct chain chain = {.count = 0};
    int64_t stack;

    if (!process || find_chain(tracker, sample, process->space, &chain) < 0)
        return -1;
    stack = add_stacks(tracker, &chain);
    if (stack < 0)
        return -1;
    count_end(tracker, &chain);
    tracker->samples++;
    tracker->sink.count(tracker->sink.context, sample->time_ns, sample->cpu, stack,
                        add_task(tracker, sample));
    return 0;
}

/* A thread leaves its CPU. Where it waits already it was on one unseen, and since when is not known. */
static int take_wait(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    const struct rps_process *process = add_process(tracker, sample);
    struct chain chain = {.count = 0};
    struct rps_thread *thread;
    int64_t stack;

    if (!process || find_chain(tracker, sample, process->space, &chain) < 0 ||
        (stack = add_stacks(tracker, &chain)) < 0)
        return -1;
    thread = find_thread(tracker, sample->tid);
    tracker->waiting += thread->wait.weight == 0;
    thread->wait.from_ns = sample->time_ns;
    thread->wait.stack = stack;
    thread->wait.cpu = sample->cpu;
    thread->wait.weight = sample->weight;
    return 0;
}

/* --- the tracker ------------------------------------------------------------------------------ */

int rps_tracker_new(struct rps_tracker **ret, int64_t start_ns, const struct rps_tracker_sink *sink,
                    struct rps_error *err)
{
    struct rps_tracker *tracker = calloc(1, sizeof(*tracker));

    if (!tracker)
        return rps_error_memory(err);
    tracker->sink = *sink;
    tracker->start_ns = start_ns;
    tracker->unwinder.wait_us = RPS_UNWINDER_WAIT_US;
    tracker->module = RPS_INTERN_OF(struct rps_tracker_module);
    tracker->frame = RPS_INTERN_OF(struct rps_tracker_frame);
    tracker->address = RPS_INTERN_OF(struct rps_tracker_address);
    tracker->stack = RPS_INTERN_OF(struct rps_intern_key);
    tracker->process = RPS_INTERN_OF(struct rps_process);
    tracker->thread = RPS_INTERN_OF(struct rps_thread);
    tracker->program = RPS_INTERN_OF(struct rps_tracker_program);
    tracker->cgroup = RPS_INTERN_OF(struct rps_tracker_cgroup);
    for (int i = 0; i < RPS_MODULE_KINDS; i++)
        tracker->only_module[i] = -1;
    *ret = tracker;
    return 0;
}

void rps_tracker_read_cgroups(struct rps_tracker *tracker, const char *proc)
{
    tracker->proc = proc;
}

void rps_tracker_tell_programs(struct rps_tracker *tracker)
{
    rps_function_files_close(&tracker->files);
    for (size_t i = 0; i < tracker->program.count; i++) {
        struct rps_tracker_program *program = rps_intern_at(&tracker->program, (int64_t)i);

        if (program->is_changed)
            tracker->sink.program(tracker->sink.context, &program->told);
        program->is_changed = 0;
    }
}

int64_t rps_tracker_end(struct rps_tracker *tracker)
{
    forget_ended(tracker, INT64_MAX);
    while (tracker->silent.count > 0)
        forget_thread(tracker, take_ended(tracker, &tracker->silent, -1));
    rps_unwinder_end(&tracker->unwinder);
    return tracker->unwinder.cpu_ns;
}

void rps_tracker_free(struct rps_tracker *tracker)
{
    if (!tracker)
        return;
    rps_unwinder_free(&tracker->unwinder);
    for (size_t i = 0; i < tracker->module.count; i++)
        free(((struct rps_tracker_module *)rps_intern_at(&tracker->module, (int64_t)i))->path);
    for (size_t i = 0; i < tracker->process.count; i++)
        rps_space_release(
            ((struct rps_process *)rps_intern_at(&tracker->process, (int64_t)i))->space);
    rps_intern_free(&tracker->module);
    rps_intern_free(&tracker->frame);
    rps_intern_free(&tracker->address);
    rps_kernel_functions_free(&tracker->kernel);
    rps_function_files_close(&tracker->files);
    rps_intern_free(&tracker->stack);
    rps_intern_free(&tracker->process);
    rps_intern_free(&tracker->thread);
    free_texts(&tracker->program);
    free_texts(&tracker->cgroup);
    rps_simulated_free(&tracker->simulated);
    free(tracker);
}

void rps_tracker_add(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    int status = 0;

    switch (sample->kind) {
    case RPS_SAMPLE_STACK:
        status = take_stack(tracker, sample);
        break;
    case RPS_SAMPLE_WAIT:
        status = take_wait(tracker, sample);
        break;
    case RPS_SAMPLE_AWAKE:
        take_awake(tracker, sample);
        break;
    case RPS_SAMPLE_MAP:
        status = take_map(tracker, sample);
        break;
    case RPS_SAMPLE_FORK:
        status = take_fork(tracker, sample);
        break;
    case RPS_SAMPLE_NAME:
        status = take_name(tracker, sample);
        break;
    case RPS_SAMPLE_CGROUP:
        status = take_cgroup(tracker, sample);
        break;
    case RPS_SAMPLE_EXIT:
        end_thread(tracker, sample->tid, sample->time_ns);
        break;
    case RPS_SAMPLE_TIME:
        take_time(tracker, sample);
        break;
    case RPS_SAMPLE_SYMBOL:
        status = rps_simulated_add(&tracker->simulated, sample);
        break;
    }
    tracker->lost += status < 0;
}
