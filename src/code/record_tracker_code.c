/* Provides the tracker's data for symbolization, and applies the results to its stacks. */
#include <stdlib.h>
#include <string.h>

#include "record_tracker_parts.h"
#include "shares_index.h"
#include "rpistat/arena.h"

/* --- modules and frames ----------------------------------------------------------------------- */

static const struct rps_simulated_symbol *find_symbol(const struct rps_tracker *tracker,
                                                      const struct rps_tracker_frame *frame)
{
    int64_t module = (int64_t)frame->key.a;

    return module == tracker->only_module[RPS_MODULE_SIMULATED] ||
                   module == tracker->only_module[RPS_MODULE_KERNEL]
               ? rps_simulated_find(&tracker->simulated, frame->key.b)
               : NULL;
}

/* Return 1 if a frame still needs a name. A just-in-time compiler may have written its map since
 * the last attempt. */
static int is_left(const struct rps_tracker *tracker, const struct rps_tracker_frame *frame,
                   int is_end)
{
    const struct rps_tracker_module *module;

    if (frame->name == RPS_TRACKER_UNASKED)
        return 1;
    module = rps_intern_at(&tracker->module, (int64_t)frame->key.a);
    return is_end && frame->name == RPS_TRACKER_NAMELESS && module->kind == RPS_MODULE_JIT;
}

static size_t count_left(const struct rps_tracker *tracker, int is_end)
{
    size_t count = 0;

    for (size_t i = 0; i < tracker->frame.count; i++)
        count += (size_t)is_left(tracker, rps_intern_at(&tracker->frame, (int64_t)i), is_end);
    return count;
}

int rps_tracker_is_named(const struct rps_tracker *tracker)
{
    return tracker->asked == tracker->frame.count || tracker->simulated.count > 0;
}

struct rps_module rps_tracker_module(const struct rps_tracker *tracker, int64_t number)
{
    const struct rps_tracker_module *module = rps_intern_at(&tracker->module, number);
    struct rps_module ret = {.module = number, .kind = module->kind, .path = module->path};

    strcpy(ret.build_id, module->build_id);
    return ret;
}

struct rps_code rps_tracker_code(struct rps_arena *arena, const struct rps_tracker *tracker,
                                 int is_end)
{
    size_t frames = count_left(tracker, is_end);
    struct rps_code code = {
        .module_count = tracker->module.count,
        .module = rps_arena_get(arena, tracker->module.count, sizeof(*code.module)),
        .origin = rps_arena_get(arena, tracker->module.count, sizeof(*code.origin)),
        .frame = rps_arena_get(arena, frames, sizeof(*code.frame)),
        .location = rps_arena_get(arena, frames, sizeof(*code.location)),
    };

    for (size_t i = 0; i < code.module_count; i++) {
        const struct rps_tracker_module *module = rps_intern_at(&tracker->module, (int64_t)i);

        code.module[i] = rps_tracker_module(tracker, (int64_t)i);
        code.origin[i] = module->origin;
    }
    for (size_t i = 0; i < tracker->frame.count; i++) {
        const struct rps_tracker_frame *frame = rps_intern_at(&tracker->frame, (int64_t)i);
        const struct rps_simulated_symbol *symbol = find_symbol(tracker, frame);

        if (!is_left(tracker, frame, is_end))
            continue;
        code.frame[code.frame_count++] = (struct rps_frame){
            .frame = (int64_t)i, .module = (int64_t)frame->key.a, .address = frame->key.b};
        if (symbol)
            code.location[code.location_count++] = (struct rps_location){.frame = (int64_t)i,
                                                                         .function = symbol->name,
                                                                         .file = symbol->file,
                                                                         .line = symbol->line,
                                                                         .how = RPS_LOCATION_MAP};
    }
    return code;
}

/* --- complete stacks -------------------------------------------------------------------------- */

uint64_t rps_tracker_complete_ends(const struct rps_tracker_frame *frame)
{
    switch (frame->name) {
    case RPS_TRACKER_BEGINNING:
        return frame->ends;
    case RPS_TRACKER_NAMED:
        return 0;
    default:
        return frame->ends_in_library;
    }
}

int rps_tracker_name(struct rps_tracker *tracker, const struct rps_location *outermost)
{
    struct rps_tracker_module *module;
    struct rps_tracker_frame *frame;
    int was_nameless, had_reason;

    if (outermost->frame < 0 || (uint64_t)outermost->frame >= tracker->frame.count)
        return 0;
    frame = rps_intern_at(&tracker->frame, outermost->frame);
    module = rps_intern_at(&tracker->module, (int64_t)frame->key.a);
    was_nameless = frame->name == RPS_TRACKER_NAMELESS;
    had_reason = module->has_reason;
    tracker->asked += frame->name == RPS_TRACKER_UNASKED;
    tracker->ends_complete -= rps_tracker_complete_ends(frame);
    frame->name = outermost->how == RPS_LOCATION_NONE           ? RPS_TRACKER_NAMELESS
                  : rps_share_is_beginning(outermost->function) ? RPS_TRACKER_BEGINNING
                                                                : RPS_TRACKER_NAMED;
    tracker->ends_complete += rps_tracker_complete_ends(frame);
    if (frame->name == RPS_TRACKER_NAMELESS)
        module->has_reason = 1;
    else if (was_nameless) /* The module's reason for missing names may have come from this
                              frame. */
        module->has_reason = 0;
    return frame->name != RPS_TRACKER_NAMELESS || !had_reason;
}

void rps_tracker_status(const struct rps_tracker *tracker, struct rps_sampling *ret)
{
    ret->samples = tracker->samples;
    ret->complete = tracker->complete + tracker->ends_complete;
    ret->lost += tracker->lost;
    ret->unmapped = tracker->unmapped;
}

/* Functions of a simulation. There are few functions, and each is reported once. */

void rps_simulated_free(struct rps_simulated *simulated)
{
    for (size_t i = 0; i < simulated->count; i++) {
        free(simulated->symbol[i].name);
        free(simulated->symbol[i].file);
    }
    free(simulated->symbol);
    *simulated = (struct rps_simulated){0};
}

RPS_ARRAY_BEFORE(begins_by, struct rps_simulated_symbol, .start, <=, uint64_t)

/* Return how many symbols begin at or before the address. */
static size_t count_before(const struct rps_simulated *simulated, uint64_t address)
{
    return rps_array_find(simulated->symbol, simulated->count, sizeof(*simulated->symbol),
                          begins_by, &address);
}

int rps_simulated_add(struct rps_simulated *simulated, const struct rps_sample *sample)
{
    uint64_t start = sample->map_address, length = sample->map_length;
    struct rps_simulated_symbol symbol = {
        .start = start,
        .end = length > UINT64_MAX - start ? UINT64_MAX : start + length,
        .name = strdup(sample->path ? sample->path : ""),
        .file = strdup(sample->source_file ? sample->source_file : ""),
        .line = sample->source_line,
    };
    size_t at = count_before(simulated, start);

    if (!symbol.name || !symbol.file ||
        !rps_array_insert(&simulated->symbol, simulated->count, at, sizeof(symbol))) {
        free(symbol.name);
        free(symbol.file);
        return -1;
    }
    simulated->symbol[at] = symbol;
    simulated->count++;
    return 0;
}

const struct rps_simulated_symbol *rps_simulated_find(const struct rps_simulated *simulated,
                                                      uint64_t address)
{
    size_t before = simulated->count > 0 ? count_before(simulated, address) : 0;

    return before > 0 && simulated->symbol[before - 1].end > address
               ? &simulated->symbol[before - 1]
               : NULL;
}
