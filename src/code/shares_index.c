/* Numbers functions, lines or modules as items; each frame has a list of items. */
#include "shares_index.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "intern.h"
#include "rpistat/text.h"

#define SLOTS     256 /* Initial number of slots. */
#define PAGE_MASK (~UINT64_C(0xfff))

/* --- items ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static int is_same(const struct rps_share_key *a, const struct rps_share_key *b)
{
    return a->hash == b->hash && a->module == b->module && a->line == b->line &&
           strcmp(a->name, b->name) == 0 && strcmp(a->file, b->file) == 0;
}

/* Return the slot of the key, or the free slot where the key belongs. */
static size_t find_share_slot(const struct rps_share_items *items, const struct rps_share_key *key)
{
    size_t at = key->hash & (items->slots - 1);

    while (items->slot[at] && !is_same(&items->key[items->slot[at] - 1], key))
        at = (at + 1) & (items->slots - 1);
    return at;
}

size_t rps_share_items_number(struct rps_arena *arena, struct rps_share_items *items,
                              const struct rps_share_key *key)
{
    struct rps_share_key own = *key;
    size_t at;

    own.hash = rps_intern_hash(UINT64_C(0xcbf29ce484222325), key->name);
    own.hash = mix(mix(rps_intern_hash(own.hash, key->file), key->module), (uint64_t)key->line);
    if (items->count >= items->slots / 2) {
        size_t size = sizeof(*items->slot);

        items->slot = items->slots ? rps_arena_grow(arena, items->slot, items->slots, size)
                                   : rps_arena_get(arena, SLOTS, size);
        items->slots = items->slots ? 2 * items->slots : SLOTS;
        memset(items->slot, 0, items->slots * size);
        for (size_t i = 0; i < items->count; i++)
            items->slot[find_share_slot(items, &items->key[i])] = i + 1;
    }
    at = find_share_slot(items, &own);
    if (!items->slot[at]) {
        items->key = rps_arena_grow(arena, items->key, items->count, sizeof(*key));
        items->key[items->count++] = own;
        items->slot[at] = items->count;
    }
    return items->slot[at] - 1;
}

/* --- the items of frames ---------------------------------------------------------------------- */

const char *rps_share_index_path(const struct rps_code *code, size_t module)
{
    return module < code->module_count && code->module[module].path[0] ? code->module[module].path
                                                                       : RPS_SHARE_UNKNOWN;
}

int rps_share_index_is_kernel(const struct rps_code *code, size_t module)
{
    return module < code->module_count && code->module[module].kind == RPS_MODULE_KERNEL;
}

int rps_share_is_beginning(const char *function)
{
    static const char *const pattern[] = {
        "_start",          "__libc_start_*", "main",         "clone",
        "clone3",          "start_thread",   "__clone*",     "runtime.goexit*",
        "runtime.rt0_go*", "ret_from_fork*", "*startup_64*",
    };

    for (size_t i = 0; i < RPS_COUNT(pattern); i++) {
        if (fnmatch(pattern[i], function, 0) == 0)
            return 1;
    }
    return 0;
}

int rps_share_is_library(const char *path)
{
    const char *name = rps_text_file_name(path);

    return strcmp(name, "[vdso]") == 0 || ((strncmp(name, "lib", strlen("lib")) == 0 ||
                                            strncmp(name, "ld-", strlen("ld-")) == 0) &&
                                           strstr(name, ".so"));
}

/* Number the modules. All builds at one path are one module. All paths of one build are one module,
 * too. */
static void find_modules(struct rps_share_index *index)
{
    const struct rps_code *code = index->code;
    struct rps_share_items paths = {0};
    size_t *first = rps_arena_get(index->arena, code->module_count, 2 * sizeof(*first));

    index->module = rps_arena_get(index->arena, code->module_count + 1, sizeof(*index->module));
    for (size_t m = 0; m < code->module_count; m++) {
        const char *path = rps_share_index_path(code, m), *id = code->module[m].build_id;
        const struct rps_share_key by_path = {
            .name = path, .file = "", .line = code->module[m].kind};
        const struct rps_share_key by_id = {
            .name = rps_text_file_name(path), .file = id, .line = code->module[m].kind};
        size_t *of_path = &first[rps_share_items_number(index->arena, &paths, &by_path)];
        size_t *of_id =
            id[0] ? &first[rps_share_items_number(index->arena, &paths, &by_id)] : of_path;

        index->module[m] = *of_id > 0 ? *of_id - 1 : *of_path > 0 ? *of_path - 1 : m;
        *of_path = *of_id = index->module[m] + 1;
    }
    index->module[code->module_count] = code->module_count;
}

size_t rps_share_index_module(const struct rps_share_index *index, size_t frame)
{
    const struct rps_code *code = index->code;

    return index->module[frame < code->frame_count && code->frame[frame].module >= 0
                             ? (size_t)code->frame[frame].module
                             : code->module_count];
}

/* Return the name for code without symbols. If a process made the code, its map's name contains
 * only the process number, and addresses in the map have no meaning. */
static const char *address_name(const struct rps_share_index *index, size_t frame)
{
    const struct rps_code *code = index->code;
    size_t module = rps_share_index_module(index, frame);
    int is_made = module < code->module_count && code->module[module].kind == RPS_MODULE_JIT;
    const char *name =
        is_made ? RPS_SHARE_JIT : rps_text_file_name(rps_share_index_path(code, module));
    int by_module = (is_made && index->unnamed != RPS_UNNAMED_PAGE) ||
                    index->unnamed == RPS_UNNAMED_MODULE ||
                    (index->unnamed == RPS_UNNAMED_FUNCTION && frame < code->frame_count &&
                     code->frame[frame].function == 0);
    uint64_t address;

    if (frame >= code->frame_count || (by_module && name[0] == '['))
        return name;
    if (by_module)
        return rps_arena_print(index->texts, "[%s]", name);
    address = code->frame[frame].address;
    if (index->by == RPS_SHARES_FUNCTION && code->frame[frame].function > 0)
        address = code->frame[frame].function;
    else if (index->unnamed >= RPS_UNNAMED_PAGE)
        address &= PAGE_MASK;
    return rps_arena_print(index->texts, "%s+0x%" PRIx64, name, address);
}

/* Return the hook group of a kernel function, or NULL. A hook has samples only because of how a CPU
 * waits, or how interrupts reach the CPU. If a timer expires while interrupts are disabled, the
 * sample is in the function that enables interrupts. This function differs by hypervisor. */
static const char *find_hook(const char *function)
{
    static const struct {
        const char *pattern, *group;
    } hooks[] = {
        {"*irq_enable", RPS_SHARE_INTERRUPTS}, {"*irq_enable_direct", RPS_SHARE_INTERRUPTS},
        {"*safe_halt", RPS_SHARE_IDLE},        {"default_idle*", RPS_SHARE_IDLE},
        {"native_halt", RPS_SHARE_IDLE},       {"mwait_idle*", RPS_SHARE_IDLE},
        {"acpi_idle_*", RPS_SHARE_IDLE},       {"intel_idle*", RPS_SHARE_IDLE},
        {"poll_idle", RPS_SHARE_IDLE},         {"cpu_idle_poll*", RPS_SHARE_IDLE},
        {"arch_cpu_idle", RPS_SHARE_IDLE},     {"cpu_do_idle", RPS_SHARE_IDLE},
    };

    if (!strstr(function, "idle") && !strstr(function, "halt") && !strstr(function, "irq_enable"))
        return NULL; /* Skip most functions here, because matching patterns is slow. */
    for (size_t i = 0; i < RPS_COUNT(hooks); i++) {
        if (fnmatch(hooks[i].pattern, function, 0) == 0)
            return hooks[i].group;
    }
    return NULL;
}

/* Add the item of a frame at one depth. `at` is NULL if the frame has no name. */
static void add_entry(struct rps_share_index *index, size_t frame, const struct rps_location *at)
{
    size_t module = rps_share_index_module(index, frame), e = index->entries++;
    struct rps_share_key key = {
        .file = "", .module = module, .how = at ? at->how : RPS_LOCATION_NONE};
    const char *hook = NULL;

    if (index->by == RPS_SHARES_MODULE) {
        key.name = rps_share_index_path(index->code, module);
        index->item[e] = index->line[e] = rps_share_items_number(index->arena, &index->items, &key);
        return;
    }
    if (at && rps_share_index_is_kernel(index->code, module))
        hook = find_hook(at->function);
    key.name = hook ? hook : at ? at->function : address_name(index, frame);
    if (index->by == RPS_SHARES_FUNCTION) {
        index->item[e] = rps_share_items_number(index->arena, &index->items, &key);
        key.name = index->items.key[index->item[e]].name;
        if (!index->has_lines)
            return;
    }
    if (at && !hook) {
        key.file = at->file;
        key.line = at->line;
    }
    index->line[e] = rps_share_items_number(
        index->arena, index->by == RPS_SHARES_LINE ? &index->items : &index->lines, &key);
    if (index->by == RPS_SHARES_LINE)
        index->item[e] = index->line[e];
}

static int is_name_of(const struct rps_code *code, size_t at, size_t frame)
{
    return at < code->location_count && code->location[at].frame == (int64_t)frame &&
           code->location[at].how != RPS_LOCATION_NONE;
}

/* Return 1 if the frame's name `at` is an item. The last name of a frame is the function that
 * contains the code. */
static int is_wanted(const struct rps_share_index *index, size_t at, size_t frame)
{
    const struct rps_code *code = index->code;

    if (index->unnamed == RPS_UNNAMED_PLACE && frame < code->frame_count &&
        code->frame[frame].function > 0)
        return 0;
    return index->unnamed < RPS_UNNAMED_PAGE || !is_name_of(code, at + 1, frame);
}

static void add_frames(struct rps_share_index *index)
{
    const struct rps_code *code = index->code;
    size_t at = 0;

    for (size_t f = 0; f <= code->frame_count; f++) {
        index->first[f] = index->entries;
        while (at < code->location_count && code->location[at].frame < (int64_t)f)
            at++;
        for (; is_name_of(code, at, f); at++) {
            if (index->by == RPS_SHARES_MODULE && index->entries > index->first[f])
                break;
            if (is_wanted(index, at, f))
                add_entry(index, f, &code->location[at]);
        }
        if (index->entries == index->first[f])
            add_entry(index, f, NULL);
    }
    index->first[code->frame_count + 1] = index->entries;
}

struct rps_share_index rps_share_index_make(struct rps_arena *arena, struct rps_arena *texts,
                                            const struct rps_code *code, enum rps_shares_by by,
                                            enum rps_unnamed unnamed, int has_lines)
{
    size_t most = code->frame_count + 1 + code->location_count;
    struct rps_share_index index = {
        .arena = arena,
        .texts = texts,
        .code = code,
        .by = by,
        .unnamed = unnamed,
        .has_lines = has_lines,
        .first = rps_arena_get(arena, code->frame_count + 2, sizeof(*index.first)),
        .item = rps_arena_get(arena, most, sizeof(*index.item)),
        .line = rps_arena_get(arena, most, sizeof(*index.line)),
    };

    find_modules(&index);
    add_frames(&index);
    return index;
}

size_t rps_share_frame_of(const struct rps_code *code, size_t stack)
{
    int64_t frame = code->stack[stack].frame;

    return frame >= 0 && (uint64_t)frame < code->frame_count ? (size_t)frame : code->frame_count;
}

size_t rps_share_parent_of(const struct rps_code *code, size_t stack)
{
    int64_t parent = code->stack[stack].parent;

    return parent >= 0 && (uint64_t)parent < stack ? (size_t)parent : RPS_SHARE_NONE;
}

const struct rps_share_key **rps_share_index_lines(const struct rps_share_index *index,
                                                   const uint64_t *samples)
{
    const struct rps_code *code = index->code;
    uint64_t *self = rps_arena_get(index->arena, index->lines.count, sizeof(*self));
    uint64_t *most = rps_arena_get(index->arena, index->items.count, sizeof(*most));
    const struct rps_share_key **ret =
        rps_arena_get(index->arena, index->items.count, sizeof(*ret)); /* Line of each item. */

    for (size_t s = 0; s < code->stack_count; s++)
        self[index->line[index->first[rps_share_frame_of(code, s)]]] += samples[s];
    for (size_t e = 0; e < index->entries; e++) {
        size_t item = index->item[e], line = index->line[e];
        const struct rps_share_key **at = &ret[item];

        if (!*at || self[line] > most[item] || ((*at)->line == 0 && !(*at)->file[0])) {
            most[item] = self[line];
            *at = &index->lines.key[line];
        }
    }
    return ret;
}

uint64_t *rps_share_add_callees(struct rps_arena *arena, const struct rps_code *code,
                                const uint64_t *samples)
{
    uint64_t *within = rps_arena_get(arena, code->stack_count, sizeof(*within));

    memcpy(within, samples, code->stack_count * sizeof(*within));
    for (size_t s = code->stack_count; s-- > 0;) {
        size_t parent = rps_share_parent_of(code, s);

        if (parent != RPS_SHARE_NONE && within[s] > UINT64_MAX - within[parent])
            within[parent] = UINT64_MAX;
        else if (parent != RPS_SHARE_NONE)
            within[parent] += within[s];
    }
    return within;
}

uint64_t *rps_share_index_totals(struct rps_arena *arena, const struct rps_share_index *index,
                                 const uint64_t *samples)
{
    const struct rps_code *code = index->code;
    uint64_t *total = rps_arena_get(arena, index->items.count, sizeof(*total));
    /* last: for each item, the number of the stack that was counted last, plus 1. */
    size_t *last = rps_arena_get(arena, index->items.count, sizeof(*last));

    for (size_t s = 0; s < code->stack_count; s++) {
        for (size_t at = s; samples[s] > 0 && at != RPS_SHARE_NONE;
             at = rps_share_parent_of(code, at)) {
            const size_t frame = rps_share_frame_of(code, at);

            for (size_t e = index->first[frame]; e < index->first[frame + 1]; e++) {
                if (last[index->item[e]] == s + 1)
                    continue;
                last[index->item[e]] = s + 1;
                total[index->item[e]] += samples[s];
            }
        }
    }
    return total;
}
