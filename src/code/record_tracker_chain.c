/* Builds the tracker's modules, frames and stacks from the call chains of samples.
 *
 * A frame-pointer chain through code without frame pointers continues with whatever is on the
 * stack. So a chain ends before the first return address at which nothing is mapped. All later
 * addresses in the chain have no meaning, and each of them would be a new frame. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "record_maps.h"
#include "record_tracker_parts.h"

#define STACKS_MAX    1000000 /* Maximum separate stacks; of later stacks, only innermost frames. */
#define MODULES_MAX   65536   /* Maximum separate modules; later modules are recorded as memory. */
#define MAPPED_MAX    1000    /* above, modules are added at their first sample */
#define ADDRESSES_MAX 500000  /* Maximum addresses whose function is remembered. */
#define PAGE          4096

/* --- modules, frames, stacks ------------------------------------------------------------------ */

/* Return the module's number. If the module is new, add it. Negative: no memory. */
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
        module = rps_intern_at(&tracker->module, number);
        if (module->kind == kind && strcmp(module->path, path) == 0 &&
            strcmp(module->build_id, build_id) == 0)
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
    told = rps_tracker_module(tracker, number);
    tracker->sink.module(tracker->sink.context, &told);
    return number;
}

static int64_t add_only_module(struct rps_tracker *tracker, enum rps_module_kind kind,
                               const char *path)
{
    if (tracker->only_module[kind] < 0)
        tracker->only_module[kind] = add_module(tracker, kind, path, "");
    return tracker->only_module[kind];
}

/* Find the user of a living process. */
static void find_user(struct rps_module_origin *origin)
{
    struct stat status;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld", (long)origin->pid);
    origin->has_user = stat(path, &status) == 0;
    origin->user = origin->has_user ? status.st_uid : 0;
}

void rps_tracker_see_mapped(struct rps_tracker *tracker, struct rps_mapped *mapped)
{
    if (mapped->module < 0 && mapped->kind == RPS_MODULE_FILE && mapped->build_id[0] &&
        tracker->module.count < MAPPED_MAX)
        mapped->module = add_module(tracker, mapped->kind, mapped->path, mapped->build_id);
}

/* Return the module of the map that contains the sample's address. */
static int64_t add_mapped_module(struct rps_tracker *tracker, const struct rps_map *map)
{
    struct rps_mapped *mapped = map->mapped;
    struct rps_tracker_module *module;

    if (mapped->module < 0)
        mapped->module = add_module(tracker, mapped->kind, mapped->path, mapped->build_id);
    module = rps_intern_at(&tracker->module, mapped->module);
    if (!module)
        return mapped->module;
    if (module->kind == RPS_MODULE_JIT && module->origin.pid == 0) {
        module->origin.pid = tracker->pid;
        find_user(&module->origin);
    } else if (module->kind == RPS_MODULE_FILE) {
        module->origin = (struct rps_module_origin){.pid = tracker->pid,
                                                    .major = mapped->major,
                                                    .minor = mapped->minor,
                                                    .inode = mapped->inode,
                                                    .start = map->start,
                                                    .end = map->end};
    }
    return mapped->module;
}

/* Return the unwind row of a module's file for an address; NULL: the row is not available now. */
static const struct rps_unwind_row *find_row(struct rps_tracker *tracker, int64_t number,
                                             uint64_t address)
{
    static const struct rps_unwind_row unknown;
    const struct rps_tracker_module *of = rps_intern_at(&tracker->module, number);
    struct rps_module module;

    if (!of || of->is_hostile || (of->kind != RPS_MODULE_FILE && of->kind != RPS_MODULE_VDSO))
        return &unknown;
    module = rps_tracker_module(tracker, number);
    return rps_unwinder_find(&tracker->unwinder, &module, &of->origin, address);
}

/* Return where the function around the address begins; 0: not known. */
static uint64_t find_function(struct rps_tracker *tracker, int64_t module, uint64_t address)
{
    const struct rps_tracker_module *of = rps_intern_at(&tracker->module, module);
    const struct rps_unwind_row *row;

    if (of->kind == RPS_MODULE_KERNEL)
        return tracker->simulated.count > 0 ? 0 : rps_function_in_kernel(&tracker->kernel, address);
    if (of->kind != RPS_MODULE_FILE)
        return 0;
    row = find_row(tracker, module, address);
    return row ? row->function : 0;
}

/* Return the entry of an address. If there is none, add it. Return NULL if there is no memory. The
 * function of an address that was forgotten is looked up again. */
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

/* Return the number of a frame, and report the frame if new. function: start of the frame's
 * function; 0: unknown. */
static int64_t report_frame(struct rps_tracker *tracker, int64_t module, uint64_t address,
                            uint64_t function)
{
    int is_new;
    int64_t number = rps_intern_add(&tracker->frame, (uint64_t)module, address, &is_new);
    struct rps_frame told = {number, module, address, function};

    if (number >= 0 && is_new)
        tracker->sink.frame(tracker->sink.context, &told);
    return number;
}

/* Return the frame for an address that has no frame of its own or is not innermost. If there are
 * many frames, all addresses in a page of code share one frame. If there are too many pages, all
 * addresses in a module share one frame. */
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
        number = report_frame(tracker, module, 0, 0);
    else if (number < 0 && folded == address && count >= RPS_TRACKER_FRAMES_MAX)
        number = report_frame(tracker, module, address - address % PAGE, 0);
    else if (number < 0)
        number = report_frame(tracker, module, folded,
                              is_of_kernel(tracker, module) ? 0 : seen->function);
    if (!is_own)
        seen->frame = number + 1;
    return number;
}

/* Return the frame's number; negative: no memory. */
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
    return report_frame(tracker, module, address,
                        is_of_kernel(tracker, module) /* The kernel's symbol table is long. */
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

int64_t rps_tracker_add_stacks(struct rps_tracker *tracker, const struct rps_tracker_chain *chain)
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

/* Return 1; 0: the chain is full; negative: no memory. All functions append_... do the same. */
static int append_frame(struct rps_tracker *tracker, struct rps_tracker_chain *chain,
                        int64_t module, uint64_t address)
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
        return 1; /* Recursive calls are one frame. */
    chain->frame[chain->count++] = frame;
    return 1;
}

static int append_kernel(struct rps_tracker *tracker, struct rps_tracker_chain *chain,
                         const uint64_t *address, size_t count)
{
    int status = 1;

    for (size_t i = 0; i < count && status > 0; i++)
        status =
            append_frame(tracker, chain, add_only_module(tracker, RPS_MODULE_KERNEL, "[kernel]"),
                         address[i] - (i > 0));
    return status;
}

/* Return 0 also if the chain ends before this frame. *ret_map: map of the address, or NULL. */
static int append_user(struct rps_tracker *tracker, struct rps_tracker_chain *chain,
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
        return append_frame(tracker, chain, add_mapped_module(tracker, *ret_map),
                            rps_map_address(*ret_map, address));
    tracker->unmapped++;
    if (!is_innermost)
        return 0;
    return append_frame(tracker, chain, add_only_module(tracker, RPS_MODULE_MEMORY, ""), address);
}

static int append_addresses(struct rps_tracker *tracker, struct rps_tracker_chain *chain,
                            const struct rps_space *space, const uint64_t *address, size_t count)
{
    const struct rps_map *map;
    int status = 1;

    for (size_t i = 0; i < count && status > 0; i++)
        status = append_user(tracker, chain, space, address[i] - (i > 0), i == 0, &map);
    return status;
}

/* If a file has crashed the process that unwinds, report the file and never read it again. */
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

static const struct rps_unwind_row *find_row_in_map(struct rps_tracker *tracker,
                                                    const struct rps_map *map, uint64_t address)
{
    return find_row(tracker, map ? map->mapped->module : -1,
                    map ? rps_map_address(map, address) : 0);
}

/* Append the rest of the kernel's chain after the unwound frames. If a function in the kernel's
 * chain makes no frame, the chain lacks this function's caller. */
static int append_rest(struct rps_tracker *tracker, struct rps_tracker_chain *chain,
                       const struct rps_space *space, const uint64_t *address, size_t count)
{
    const struct rps_map *map;
    int status = 1;

    for (size_t i = 0; i < count && status > 0; i++) {
        const struct rps_unwind_row *row;

        status = append_user(tracker, chain, space, address[i] - 1, 0, &map);
        if (status <= 0 || chain->has_gap)
            continue;
        row = find_row_in_map(tracker, map, address[i] - 1);
        chain->has_gap = !row || !rps_unwind_makes_frame(row);
    }
    return status;
}

/* Append the chain of a copied stack; `unwind` is at the innermost frame. Callers are found in the
 * copy as far as it reaches; after that, the kernel's chain is used. If unwinding stops at a frame
 * whose return address is in the kernel's chain, that chain continues there. Otherwise the kernel's
 * chain continues after the frame's own address. In this case the function makes no frame, and its
 * caller is missing. If the kernel's chain has neither address, nothing more is known. The chain of
 * frame pointers may continue after the end of a stack, because Go changes stacks. */
static int append_unwound(struct rps_tracker *tracker, struct rps_tracker_chain *chain,
                          const struct rps_space *space, const uint64_t *address, size_t count,
                          struct rps_unwind *unwind)
{
    struct rps_unwind_chain pointers = rps_unwind_chain(unwind);
    enum rps_unwind_step step = RPS_UNWIND_CALLER;
    size_t next = 1; /* Index in the kernel's chain after the frame's address; 0: not found. */
    const struct rps_map *map;
    int status = append_user(tracker, chain, space, unwind->pc, 1, &map);

    while (status > 0 && step == RPS_UNWIND_CALLER) {
        const struct rps_unwind_row *row =
            find_row_in_map(tracker, map, unwind->pc - !unwind->is_exact);
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
            /* Without unwind rules, as in Go, the stack ends where the frame pointers end. */
            chain->has_gap = row->is_known || next < count;
            next = next > 1 ? next : 0;
        }
    }
    chain->is_whole = step == RPS_UNWIND_END && status > 0 && (next == 0 || next >= count);
    if (status <= 0 || chain->is_whole || next == 0 || next >= count)
        return status;
    return append_rest(tracker, chain, space, address + next, count - next);
}

int rps_tracker_find_chain(struct rps_tracker *tracker, const struct rps_sample *sample,
                           const struct rps_space *space, struct rps_tracker_chain *chain)
{
    size_t kernel =
        sample->kernel_count < sample->address_count ? sample->kernel_count : sample->address_count;
    static const struct rps_space nothing = {0};
    static const uint64_t nowhere = 0;
    struct rps_unwind unwind;
    const uint64_t *address = sample->address + kernel;
    size_t count = sample->address_count - kernel;
    int status = append_kernel(tracker, chain, sample->address, kernel);

    tracker->pid = sample->pid;
    chain->is_cut = sample->is_cut;
    if (status > 0 && sample->registers.mask && rps_unwind_start(&unwind, &sample->registers) == 0)
        status = append_unwound(tracker, chain, space, address, count, &unwind);
    else if (status > 0)
        status = append_addresses(tracker, chain, space, address, count);
    note_death(tracker, sample);
    if (status >= 0 && chain->count == 0)
        status = append_addresses(tracker, chain, &nothing, &nowhere, 1);
    return status;
}

void rps_tracker_count_end(struct rps_tracker *tracker, const struct rps_tracker_chain *chain)
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
