/*
 * Shares of samples. What is asked for, functions or lines or modules, is called an item here: first
 * each frame gets its items, then the trie of stacks is walked once, from the outermost frames on,
 * with a count of how often each item is on the way: the first time counts for its total.
 */
#include "rpistat/shares.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_SIZE 24 /* of "+0x..." or "[]" behind a module's name */
#define NONE         SIZE_MAX

static const char unknown[] = "[unknown]";

/* --- items ------------------------------------------------------------------------------------ */

struct key {
    const char *name, *file;
    size_t module; /* number of the first of its path; module_count: not known */
    int line;
};

/* What keys are numbered by: the slots of a hash table hold number + 1. */
struct items {
    size_t count, slots;
    struct key *key; /* owned; room for half as many as slots */
    size_t *slot;    /* owned */
};

static void items_free(struct items *items)
{
    free(items->key);
    free(items->slot);
    *items = (struct items){0};
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_key(const struct key *key)
{
    uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), key->name);

    return mix(mix(hash_text(hash, key->file), key->module), (uint64_t)key->line);
}

static int is_same(const struct key *a, const struct key *b)
{
    return a->module == b->module && a->line == b->line && strcmp(a->name, b->name) == 0 &&
           strcmp(a->file, b->file) == 0;
}

/* Where the key's slot is, or is to be. */
static size_t find_slot(const struct items *items, const struct key *key)
{
    size_t at = hash_key(key) & (items->slots - 1);

    while (items->slot[at] && !is_same(&items->key[items->slot[at] - 1], key))
        at = (at + 1) & (items->slots - 1);
    return at;
}

static int grow(struct items *items)
{
    size_t slots = items->slots ? 2 * items->slots : 256, *slot = calloc(slots, sizeof(*slot));
    struct key *key = slot ? realloc(items->key, slots / 2 * sizeof(*key)) : NULL;

    if (!key) {
        free(slot);
        return RPS_FAILED;
    }
    items->key = key;
    free(items->slot);
    items->slot = slot;
    items->slots = slots;
    for (size_t i = 0; i < items->count; i++)
        slot[find_slot(items, &key[i])] = i + 1;
    return 0;
}

/* The number of the key; NONE without memory. */
static size_t number_of(struct items *items, const struct key *key)
{
    size_t at;

    if (items->count >= items->slots / 2 && grow(items) < 0)
        return NONE;
    at = find_slot(items, key);
    if (!items->slot[at]) {
        items->key[items->count++] = *key;
        items->slot[at] = items->count;
    }
    return items->slot[at] - 1;
}

/* --- the items of frames ---------------------------------------------------------------------- */

/* Behind the last frame stands one that is not known, for stacks of frame -1. */
struct index {
    const struct rps_code *code;
    enum rps_shares_by by;
    int fold;       /* 1: code of a module without names is one function */
    size_t *module; /* owned; of each module and the one that is not known: the first of its path */
    size_t *first;  /* owned; of each frame, and one more: where its items are in `item` */
    size_t *item;   /* owned; of a frame in order of depth */
    size_t *line;   /* owned; the same places: numbers in `lines` */
    struct items items, lines;
    size_t entries;
    char *texts; /* owned */
    size_t used;
};

static void index_free(struct index *index)
{
    free(index->module);
    free(index->first);
    free(index->item);
    free(index->line);
    free(index->texts);
    items_free(&index->items);
    items_free(&index->lines);
}

static const char *path_of(const struct rps_code *code, size_t module)
{
    return module < code->module_count && code->module[module].path[0] ? code->module[module].path
                                                                       : unknown;
}

static int is_kernel(const struct rps_code *code, size_t module)
{
    return module < code->module_count && code->module[module].kind == RPS_MODULE_KERNEL;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static int find_modules(struct index *index)
{
    const struct rps_code *code = index->code;
    struct items paths = {0};
    size_t *first = calloc(code->module_count + 1, sizeof(*first)), found = 0;

    index->module = calloc(code->module_count + 1, sizeof(*index->module));
    for (size_t m = 0; m < code->module_count && first && index->module && found != NONE; m++) {
        const struct key key = {.name = path_of(code, m), .file = "", .line = code->module[m].kind};

        found = number_of(&paths, &key);
        if (found == NONE)
            break;
        if (found + 1 == paths.count && first[found] == 0)
            first[found] = m + 1;
        index->module[m] = first[found] - 1;
    }
    if (index->module)
        index->module[code->module_count] = code->module_count;
    items_free(&paths);
    free(first);
    return index->module && first && found != NONE ? 0 : RPS_FAILED;
}

/* Number of the frame's module. */
static size_t module_of(const struct index *index, size_t frame)
{
    const struct rps_code *code = index->code;

    return index->module[frame < code->frame_count && code->frame[frame].module >= 0
                             ? (size_t)code->frame[frame].module
                             : code->module_count];
}

/* Room for the names of all frames that have none. */
static int reserve_texts(struct index *index)
{
    size_t bytes = 1;

    for (size_t f = 0; f <= index->code->frame_count; f++)
        bytes += strlen(file_name(path_of(index->code, module_of(index, f)))) + ADDRESS_SIZE;
    index->texts = malloc(bytes);
    return index->texts ? 0 : RPS_FAILED;
}

/* "libm.so.6+0x1a2b", or folded "[libm.so.6]". */
static const char *address_name(struct index *index, size_t frame)
{
    const struct rps_code *code = index->code;
    const char *name = file_name(path_of(code, module_of(index, frame)));
    char *text = index->texts + index->used;

    if (frame >= code->frame_count || (index->fold && name[0] == '['))
        return name;
    if (index->fold)
        index->used += (size_t)sprintf(text, "[%s]", name) + 1;
    else
        index->used += (size_t)sprintf(text, "%s+0x%" PRIx64, name, code->frame[frame].address) + 1;
    return text;
}

/* Add what a frame is at one depth; `at` is NULL for one without a name. */
static int add_entry(struct index *index, size_t frame, const struct rps_location *at)
{
    size_t module = module_of(index, frame), e = index->entries++;
    struct key key = {.file = "", .module = module};

    if (index->by == RPS_SHARES_MODULE) {
        key.name = path_of(index->code, module);
        index->item[e] = index->line[e] = number_of(&index->items, &key);
        return index->item[e] == NONE ? RPS_FAILED : 0;
    }
    key.name = at ? at->function : address_name(index, frame);
    if (index->by == RPS_SHARES_FUNCTION) {
        index->item[e] = number_of(&index->items, &key);
        if (index->item[e] == NONE)
            return RPS_FAILED;
        key.name = index->items.key[index->item[e]].name;
    }
    if (at) {
        key.file = at->file;
        key.line = at->line;
    }
    index->line[e] = number_of(index->by == RPS_SHARES_LINE ? &index->items : &index->lines, &key);
    if (index->by == RPS_SHARES_LINE)
        index->item[e] = index->line[e];
    return index->line[e] == NONE ? RPS_FAILED : 0;
}

static int add_frames(struct index *index)
{
    const struct rps_code *code = index->code;
    size_t at = 0;
    int result = 0;

    for (size_t f = 0; f <= code->frame_count && result == 0; f++) {
        index->first[f] = index->entries;
        while (at < code->location_count && code->location[at].frame < (int64_t)f)
            at++;
        while (result == 0 && at < code->location_count && code->location[at].frame == (int64_t)f &&
               code->location[at].how != RPS_LOCATION_NONE) {
            result = add_entry(index, f, &code->location[at++]);
            if (index->by == RPS_SHARES_MODULE)
                break;
        }
        if (index->entries == index->first[f] && result == 0)
            result = add_entry(index, f, NULL);
    }
    index->first[code->frame_count + 1] = index->entries;
    return result;
}

static int index_make(struct index *index, const struct rps_code *code, enum rps_shares_by by,
                      int fold, struct rps_error *err)
{
    size_t most = code->frame_count + 1 + code->location_count;

    *index = (struct index){.code = code, .by = by, .fold = fold};
    index->first = calloc(code->frame_count + 2, sizeof(*index->first));
    index->item = calloc(most, sizeof(*index->item));
    index->line = calloc(most, sizeof(*index->line));
    if (index->first && index->item && index->line && find_modules(index) == 0 &&
        reserve_texts(index) == 0 && add_frames(index) == 0)
        return 0;
    index_free(index);
    return rps_error_memory(err);
}

static size_t frame_of(const struct rps_code *code, size_t stack)
{
    int64_t frame = code->stack[stack].frame;

    return frame >= 0 && (uint64_t)frame < code->frame_count ? (size_t)frame : code->frame_count;
}

/* The number of the stack's caller; NONE. */
static size_t parent_of(const struct rps_code *code, size_t stack)
{
    int64_t parent = code->stack[stack].parent;

    return parent >= 0 && (uint64_t)parent < stack ? (size_t)parent : NONE;
}

/* Samples of each stack and all that it called, in a new array; NULL without memory. Counts of a
 * store may be anything: sums end at the largest number. */
static uint64_t *add_callees(const struct rps_code *code, const uint64_t *samples)
{
    uint64_t *within = malloc((code->stack_count + 1) * sizeof(*within));

    if (!within)
        return NULL;
    memcpy(within, samples, code->stack_count * sizeof(*within));
    for (size_t s = code->stack_count; s-- > 0;) {
        size_t parent = parent_of(code, s);

        if (parent != NONE && within[s] > UINT64_MAX - within[parent])
            within[parent] = UINT64_MAX;
        else if (parent != NONE)
            within[parent] += within[s];
    }
    return within;
}

/* --- totals ----------------------------------------------------------------------------------- */

/* The trie to be walked down: child[s] is the last stack that s called, next[s] the one before. */
struct trie {
    size_t *child, *next, *on_way; /* owned; on_way: of each item, how often */
    uint64_t *within;              /* owned */
};

static void trie_free(struct trie *trie)
{
    free(trie->child);
    free(trie->next);
    free(trie->on_way);
    free(trie->within);
}

static int trie_make(struct trie *trie, const struct index *index, const uint64_t *samples)
{
    const struct rps_code *code = index->code;
    size_t count = code->stack_count;

    trie->child = malloc((count + 1) * sizeof(*trie->child));
    trie->next = malloc((count + 1) * sizeof(*trie->next));
    trie->on_way = calloc(index->items.count + 1, sizeof(*trie->on_way));
    trie->within = add_callees(code, samples);
    if (!trie->child || !trie->next || !trie->on_way || !trie->within)
        return RPS_FAILED;
    for (size_t s = 0; s <= count; s++)
        trie->child[s] = NONE;
    for (size_t s = 0; s < count; s++) {
        size_t parent = parent_of(code, s) == NONE ? count : parent_of(code, s);

        trie->next[s] = trie->child[parent];
        trie->child[parent] = s;
    }
    return 0;
}

/* Go to the stack: what is on the way for the first time has all that is within. */
static void enter(struct trie *trie, const struct index *index, size_t s, struct rps_share *share)
{
    size_t frame = frame_of(index->code, s);

    for (size_t e = index->first[frame]; e < index->first[frame + 1]; e++) {
        if (trie->on_way[index->item[e]]++ == 0)
            share[index->item[e]].total += trie->within[s];
    }
}

static void leave(struct trie *trie, const struct index *index, size_t s)
{
    size_t frame = frame_of(index->code, s);

    for (size_t e = index->first[frame]; e < index->first[frame + 1]; e++)
        trie->on_way[index->item[e]]--;
}

static void add_totals(struct trie *trie, const struct index *index, struct rps_share *share)
{
    const struct rps_code *code = index->code;
    size_t at = trie->child[code->stack_count];

    while (at != NONE) {
        size_t up = at;

        enter(trie, index, at, share);
        if (trie->child[at] != NONE) {
            at = trie->child[at];
            continue;
        }
        while (up != NONE && trie->next[up] == NONE) {
            leave(trie, index, up);
            up = parent_of(code, up);
        }
        if (up == NONE)
            break;
        leave(trie, index, up);
        at = trie->next[up];
    }
}

/* --- shares ----------------------------------------------------------------------------------- */

static int by_most(const void *a, const void *b)
{
    const struct rps_share *x = a, *y = b;

    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    if (strcmp(x->name, y->name) != 0)
        return strcmp(x->name, y->name);
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Without what has no samples, and in order. */
static void conclude(struct rps_shares *shares)
{
    size_t kept = 0;

    for (size_t i = 0; i < shares->count; i++) {
        if (shares->share[i].total > 0)
            shares->share[kept++] = shares->share[i];
    }
    shares->count = kept;
    qsort(shares->share, kept, sizeof(*shares->share), by_most);
}

/* What an item is called. */
static void name_share(const struct index *index, size_t e, struct rps_share *share)
{
    const struct key *key = &index->items.key[index->item[e]];

    share->name = key->name;
    share->module = path_of(index->code, key->module);
    share->file = key->file;
    share->line = key->line;
    share->pid = share->tid = -1;
    share->is_kernel = is_kernel(index->code, key->module);
}

/* Functions get the line that most samples were at, of those without any the first. */
static int place_functions(const struct index *index, const uint64_t *samples,
                           struct rps_share *share)
{
    const struct rps_code *code = index->code;
    uint64_t *self = calloc(index->lines.count + 1, sizeof(*self));
    uint64_t *most = calloc(index->items.count + 1, sizeof(*most));
    int failed = !self || !most;

    for (size_t s = 0; s < code->stack_count && !failed; s++)
        self[index->line[index->first[frame_of(code, s)]]] += samples[s];
    for (size_t e = 0; e < index->entries && !failed; e++) {
        const struct key *line = &index->lines.key[index->line[e]];
        struct rps_share *of = &share[index->item[e]];

        if (self[index->line[e]] > most[index->item[e]] || (of->line == 0 && !of->file[0])) {
            most[index->item[e]] = self[index->line[e]];
            of->file = line->file;
            of->line = line->line;
        }
    }
    free(self);
    free(most);
    return failed ? RPS_FAILED : 0;
}

/* how: of the first entry of each item. */
static void tell_how(const struct index *index, struct rps_share *share)
{
    const struct rps_code *code = index->code;
    size_t at = 0;

    for (size_t i = 0; i < index->items.count; i++)
        share[i].how = RPS_LOCATION_NONE;
    for (size_t f = 0; f < code->frame_count; f++) {
        while (at < code->location_count && code->location[at].frame < (int64_t)f)
            at++;
        for (size_t e = index->first[f]; e < index->first[f + 1]; e++) {
            if (at < code->location_count && code->location[at].frame == (int64_t)f &&
                share[index->item[e]].how == RPS_LOCATION_NONE)
                share[index->item[e]].how = code->location[at].how;
        }
    }
}

static int find_code(const struct rps_code *code, const uint64_t *samples, enum rps_shares_by by,
                     struct rps_shares *ret, struct rps_error *err)
{
    struct rps_shares shares = {0};
    struct trie trie = {0};
    struct index index;
    int failed;

    if (index_make(&index, code, by, 0, err) < 0)
        return RPS_FAILED;
    shares.count = index.items.count;
    shares.share = calloc(shares.count + 1, sizeof(*shares.share));
    failed = !shares.share || trie_make(&trie, &index, samples) < 0;
    for (size_t e = 0; e < index.entries && !failed; e++)
        name_share(&index, e, &shares.share[index.item[e]]);
    for (size_t s = 0; s < code->stack_count && !failed; s++) {
        shares.share[index.item[index.first[frame_of(code, s)]]].self += samples[s];
        shares.samples += samples[s];
    }
    if (!failed && by == RPS_SHARES_FUNCTION)
        failed = place_functions(&index, samples, shares.share) < 0;
    if (!failed) {
        tell_how(&index, shares.share);
        add_totals(&trie, &index, shares.share);
        conclude(&shares);
        shares.texts = index.texts;
        index.texts = NULL;
        *ret = shares;
    } else {
        free(shares.share);
    }
    trie_free(&trie);
    index_free(&index);
    return failed ? rps_error_memory(err) : 0;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static int by_process(const void *a, const void *b)
{
    const struct rps_share *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    /* the first thread's last name is the process's: it comes first */
    if ((x->tid == x->pid) != (y->tid == y->pid))
        return x->tid == x->pid ? -1 : 1;
    return (x->line < y->line) - (x->line > y->line);
}

static void join_processes(struct rps_shares *shares)
{
    size_t kept = 0;

    qsort(shares->share, shares->count, sizeof(*shares->share), by_process);
    for (size_t i = 0; i < shares->count; i++) {
        struct rps_share *next = &shares->share[i];

        if (kept > 0 && next->pid >= 0 && shares->share[kept - 1].pid == next->pid) {
            shares->share[kept - 1].self += next->self;
            shares->share[kept - 1].total += next->total;
        } else {
            shares->share[kept++] = *next;
        }
    }
    for (size_t i = 0; i < kept; i++)
        shares->share[i].tid = -1;
    shares->count = kept;
}

static int find_tasks(const struct rps_code *code, const uint64_t *samples, enum rps_shares_by by,
                      struct rps_shares *ret, struct rps_error *err)
{
    struct rps_shares shares = {.count = code->task_count};

    shares.share = calloc(shares.count + 1, sizeof(*shares.share));
    if (!shares.share)
        return rps_error_memory(err);
    for (size_t t = 0; t < shares.count; t++) {
        const struct rps_task *task = &code->task[t];

        shares.share[t] =
            (struct rps_share){.name = task->name && task->name[0] ? task->name : unknown,
                               .module = "",
                               .file = "",
                               .line = (int)t, /* for the order */
                               .pid = task->pid,
                               .tid = task->tid,
                               .how = RPS_LOCATION_NONE,
                               .self = samples[t],
                               .total = samples[t]};
        shares.samples += samples[t];
    }
    if (by == RPS_SHARES_PROCESS)
        join_processes(&shares);
    for (size_t i = 0; i < shares.count; i++)
        shares.share[i].line = 0;
    conclude(&shares);
    *ret = shares;
    return 0;
}

int rps_shares_find(const struct rps_code *code, const uint64_t *samples, enum rps_shares_by by,
                    struct rps_shares *ret, struct rps_error *err)
{
    if (by == RPS_SHARES_PROCESS || by == RPS_SHARES_THREAD)
        return find_tasks(code, samples, by, ret, err);
    return find_code(code, samples, by, ret, err);
}

void rps_shares_free(struct rps_shares *shares)
{
    free(shares->share);
    free(shares->texts);
    *shares = (struct rps_shares){0};
}

/* --- functions of stacks ---------------------------------------------------------------------- */

/* Names with a copy of those that are not the code's behind them, in one piece. */
static struct rps_function_name *copy_names(const struct index *index)
{
    size_t count = index->items.count;
    struct rps_function_name *name = malloc((count + 1) * sizeof(*name) + index->used);
    char *texts = name ? (char *)(name + count + 1) : NULL;

    if (!name)
        return NULL;
    memcpy(texts, index->texts, index->used);
    for (size_t i = 0; i < count; i++) {
        const struct key *key = &index->items.key[i];

        name[i] = (struct rps_function_name){
            .function = key->name, .module = path_of(index->code, key->module), .file = ""};
        if (key->name >= index->texts && key->name < index->texts + index->used)
            name[i].function = texts + (key->name - index->texts);
    }
    for (size_t e = index->entries; e-- > 0;) {
        name[index->item[e]].file = index->lines.key[index->line[e]].file;
        name[index->item[e]].line = index->lines.key[index->line[e]].line;
    }
    return name;
}

int rps_shares_functions(const struct rps_code *code, int user, int64_t **ret_function,
                         struct rps_function_name **ret_name, size_t *ret_count,
                         struct rps_error *err)
{
    struct rps_function_name *name;
    struct index index;
    int64_t *function;

    if (index_make(&index, code, RPS_SHARES_FUNCTION, 1, err) < 0)
        return RPS_FAILED;
    function = malloc((code->stack_count + 1) * sizeof(*function));
    name = function ? copy_names(&index) : NULL;
    for (size_t s = 0; s < code->stack_count && name; s++) {
        size_t frame = frame_of(code, s);

        if (frame == code->frame_count)
            function[s] = -1;
        else if (user && is_kernel(code, module_of(&index, frame)))
            function[s] = parent_of(code, s) == NONE ? -1 : function[parent_of(code, s)];
        else
            function[s] = (int64_t)index.item[index.first[frame]];
    }
    if (name) {
        *ret_function = function;
        *ret_name = name;
        *ret_count = index.items.count;
    } else {
        free(function);
    }
    index_free(&index);
    return name ? 0 : rps_error_memory(err);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Growing a tree. Nodes are numbered by keys of their parent and function, as module and line. */
struct growing {
    const struct index *index;
    struct items nodes; /* number 0 is the root */
    struct rps_calls calls;
    size_t room;
};

/* The node of entry e below `parent`; NONE without memory. */
static size_t find_node(struct growing *growing, size_t parent, size_t e)
{
    const struct index *index = growing->index;
    const struct key *item = &index->items.key[index->item[e]];
    const struct key *line = &index->lines.key[index->line[e]];
    const struct key key = {.name = "", .file = "", .module = parent, .line = (int)index->item[e]};
    size_t node = number_of(&growing->nodes, &key);

    if (node == NONE || node < growing->calls.count)
        return node;
    if (node >= growing->room) {
        struct rps_call *more =
            realloc(growing->calls.call, 2 * growing->room * sizeof(*growing->calls.call));

        if (!more)
            return NONE;
        growing->calls.call = more;
        growing->room *= 2;
    }
    growing->calls.call[growing->calls.count++] = (struct rps_call){
        .parent = parent,
        .function = item->name,
        .module = path_of(index->code, item->module),
        .file = line->file,
        .line = line->line,
        .is_kernel = is_kernel(index->code, item->module),
    };
    return node;
}

/* The node of the stack whose caller's is `node`: functions from the outermost on. */
static size_t add_stack(struct growing *growing, size_t stack, size_t node)
{
    const struct index *index = growing->index;
    size_t frame = frame_of(index->code, stack), last = index->first[frame + 1] - 1;

    for (size_t e = last + 1; e-- > index->first[frame] && node != NONE;) {
        node = find_node(growing, node, e);
        if (node != NONE && e < last)
            growing->calls.call[node].is_inlined = 1;
    }
    return node;
}

static int grow_tree(struct growing *growing, const uint64_t *samples)
{
    const struct rps_code *code = growing->index->code;
    const struct key root = {.name = "", .file = "", .module = NONE};
    uint64_t *within = add_callees(code, samples);
    size_t *node = calloc(code->stack_count + 1, sizeof(*node)), at = 0;

    growing->room = 64;
    growing->calls.call = calloc(growing->room, sizeof(*growing->calls.call));
    if (!within || !node || !growing->calls.call || number_of(&growing->nodes, &root) == NONE)
        at = NONE;
    else
        growing->calls.call[growing->calls.count++] =
            (struct rps_call){.function = "all", .module = "", .file = ""};
    for (size_t s = 0; s < code->stack_count && at != NONE; s++) {
        size_t parent = parent_of(code, s);

        node[s] = NONE;
        if (within[s] == 0)
            continue;
        at = node[s] = add_stack(growing, s, parent == NONE ? 0 : node[parent]);
        if (at != NONE)
            growing->calls.call[at].self += samples[s];
    }
    free(within);
    growing->calls.node = node;
    return at == NONE ? RPS_FAILED : 0;
}

int rps_shares_calls(const struct rps_code *code, const uint64_t *samples, struct rps_calls *ret,
                     struct rps_error *err)
{
    struct growing growing = {0};
    struct index index;
    int failed;

    if (index_make(&index, code, RPS_SHARES_FUNCTION, 1, err) < 0)
        return RPS_FAILED;
    growing.index = &index;
    failed = grow_tree(&growing, samples) < 0;
    if (failed) {
        free(growing.calls.call);
        free(growing.calls.node);
    } else {
        struct rps_call *call = growing.calls.call;

        for (size_t i = growing.calls.count; i-- > 0;) {
            call[i].total += call[i].self;
            if (i > 0)
                call[call[i].parent].total += call[i].total;
        }
        growing.calls.texts = index.texts;
        index.texts = NULL;
        *ret = growing.calls;
    }
    items_free(&growing.nodes);
    index_free(&index);
    return failed ? rps_error_memory(err) : 0;
}

void rps_calls_free(struct rps_calls *calls)
{
    free(calls->call);
    free(calls->node);
    free(calls->texts);
    *calls = (struct rps_calls){0};
}
