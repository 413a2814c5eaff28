/* What the tracker knows, for naming, and what naming tells of its stacks. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tracker_parts.h"

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

static size_t count_locations(const struct rps_tracker *tracker)
{
    size_t count = 0;

    for (size_t i = 0; i < tracker->frame.count; i++)
        count += find_symbol(tracker, rps_intern_at(&tracker->frame, (int64_t)i)) != NULL;
    return count;
}

static size_t count_text_bytes(const struct rps_tracker *tracker)
{
    size_t bytes = 1;

    for (size_t i = 0; i < tracker->module.count; i++) {
        const struct rps_tracker_module *module = rps_intern_at(&tracker->module, (int64_t)i);

        bytes += strlen(module->path) + 1;
    }
    for (size_t i = 0; i < tracker->simulated.count; i++) {
        const struct rps_simulated_symbol *symbol = &tracker->simulated.symbol[i];

        bytes += strlen(symbol->name) + strlen(symbol->file) + 2;
    }
    return bytes;
}

static char *add_text(char **end, const char *text)
{
    char *ret = *end;

    *end = stpcpy(ret, text) + 1;
    return ret;
}

static void copy_modules(const struct rps_tracker *tracker, struct rps_code *code, char **end)
{
    for (size_t i = 0; i < code->module_count; i++) {
        const struct rps_tracker_module *module = rps_intern_at(&tracker->module, (int64_t)i);

        code->module[i].module = (int64_t)i;
        code->module[i].kind = module->kind;
        code->module[i].path = add_text(end, module->path);
        strcpy(code->module[i].build_id, module->build_id);
    }
}

/* Names of symbols lie in the texts in the symbols' order: each one's name, and its file. */
static void copy_symbols(const struct rps_tracker *tracker, const char **name, char **end)
{
    for (size_t i = 0; i < tracker->simulated.count; i++) {
        name[i] = add_text(end, tracker->simulated.symbol[i].name);
        add_text(end, tracker->simulated.symbol[i].file);
    }
}

static void copy_frames(const struct rps_tracker *tracker, struct rps_code *code,
                        const char *const *name)
{
    size_t locations = 0;

    for (size_t i = 0; i < code->frame_count; i++) {
        const struct rps_tracker_frame *frame = rps_intern_at(&tracker->frame, (int64_t)i);
        const struct rps_simulated_symbol *symbol = find_symbol(tracker, frame);

        code->frame[i] = (struct rps_frame){(int64_t)i, (int64_t)frame->key.a, frame->key.b};
        if (symbol) {
            const char *text = name[symbol - tracker->simulated.symbol];

            code->location[locations++] = (struct rps_location){
                .frame = (int64_t)i,
                .function = text,
                .file = text + strlen(text) + 1,
                .line = symbol->line,
                .how = RPS_LOCATION_MAP,
            };
        }
    }
}

int rps_tracker_code(const struct rps_tracker *tracker, struct rps_code *ret, struct rps_error *err)
{
    const char **name = calloc(tracker->simulated.count + 1, sizeof(*name));
    struct rps_code code = {
        .module_count = tracker->module.count,
        .frame_count = tracker->frame.count,
        .location_count = count_locations(tracker),
        .texts = malloc(count_text_bytes(tracker)),
    };
    char *end = code.texts;

    code.module = calloc(code.module_count + 1, sizeof(*code.module));
    code.frame = calloc(code.frame_count + 1, sizeof(*code.frame));
    code.location = calloc(code.location_count + 1, sizeof(*code.location));
    if (!name || !code.texts || !code.module || !code.frame || !code.location) {
        free(name);
        rps_code_free(&code);
        return rps_error_memory(err);
    }
    copy_modules(tracker, &code, &end);
    copy_symbols(tracker, name, &end);
    copy_frames(tracker, &code, name);
    free(name);
    *ret = code;
    return 0;
}

/* --- complete stacks -------------------------------------------------------------------------- */

/* Functions in which threads begin: of the C library, of Go, of the kernel. */
static int is_beginning(const char *function)
{
    static const char *const pattern[] = {
        "_start",          "__libc_start_*", "main",         "clone",
        "clone3",          "start_thread",   "__clone*",     "runtime.goexit*",
        "runtime.rt0_go*", "ret_from_fork*", "*startup_64*",
    };

    for (size_t i = 0; i < sizeof(pattern) / sizeof(pattern[0]); i++) {
        if (fnmatch(pattern[i], function, 0) == 0)
            return 1;
    }
    return 0;
}

uint64_t rps_tracker_complete(const struct rps_tracker *tracker, const struct rps_code *named)
{
    uint64_t complete = tracker->complete;
    size_t at = 0;

    for (size_t i = 0; i < tracker->frame.count; i++) {
        const struct rps_tracker_frame *frame = rps_intern_at(&tracker->frame, (int64_t)i);
        const struct rps_location *outer = NULL; /* the function that has the code is the last */

        for (; at < named->location_count && named->location[at].frame <= (int64_t)i; at++)
            outer = named->location[at].frame == (int64_t)i ? &named->location[at] : NULL;
        if (!outer || outer->how == RPS_LOCATION_NONE)
            complete += frame->ends_in_library;
        else if (is_beginning(outer->function))
            complete += frame->ends;
    }
    return complete;
}

void rps_tracker_status(const struct rps_tracker *tracker, struct rps_sampling *ret)
{
    ret->samples = tracker->samples;
    ret->complete = tracker->complete + tracker->ends_in_library;
    ret->lost += tracker->lost;
    ret->unmapped = tracker->unmapped;
}
