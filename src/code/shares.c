/* Computes shares of samples. Each frame has a list of items. A sample is added once to each item
 * of its stack, even if several frames of the stack have this item. */
#include "rpistat/shares.h"

#include <stdlib.h>
#include <string.h>

#include "shares_index.h"

/* --- shares ----------------------------------------------------------------------------------- */

size_t rps_shares_largest(const uint64_t *number, size_t count, size_t most, size_t *ret)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        size_t at = kept;

        while (at > 0 && number[ret[at - 1]] < number[i])
            at--;
        if (number[i] == 0 || at == most)
            continue;
        kept += kept < most;
        memmove(&ret[at + 1], &ret[at], (kept - at - 1) * sizeof(*ret));
        ret[at] = i;
    }
    return kept;
}

static int is_hook(const struct rps_share *share)
{
    return share->is_kernel && (strcmp(share->name, RPS_SHARE_INTERRUPTS) == 0 ||
                                strcmp(share->name, RPS_SHARE_IDLE) == 0);
}

/* Order by samples, largest first. Kernel hooks come last, because they do no work. */
static int by_most(const void *a, const void *b)
{
    const struct rps_share *x = a, *y = b;

    if (is_hook(x) != is_hook(y))
        return is_hook(x) - is_hook(y);
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

/* Drop items without samples, and sort the remaining items. */
static void drop_empty_shares(struct rps_shares *shares)
{
    size_t kept = 0;

    for (size_t i = 0; i < shares->count; i++) {
        if (shares->share[i].total > 0)
            shares->share[kept++] = shares->share[i];
    }
    shares->count = kept;
    qsort(shares->share, kept, sizeof(*shares->share), by_most);
}

static void name_share(const struct rps_share_index *index, size_t e, struct rps_share *share)
{
    const struct rps_share_key *key = &index->items.key[index->item[e]];

    share->item = index->item[e];
    share->name = key->name;
    share->module = rps_share_index_path(index->code, key->module);
    share->file = key->file;
    share->line = key->line;
    share->how = key->how;
    share->pid = share->tid = share->cpu_ns = -1;
    share->is_kernel = rps_share_index_is_kernel(index->code, key->module);
}

static struct rps_shares find_code(struct rps_arena *arena, const struct rps_code *code,
                                   const uint64_t *samples, enum rps_shares_by by)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_share_index index =
        rps_share_index_make(scratch, arena, code, by, RPS_UNNAMED_ADDRESS, 1);
    struct rps_shares shares = {
        .count = index.items.count,
        .share = rps_arena_get(arena, index.items.count, sizeof(*shares.share)),
    };
    const struct rps_share_key **lines = NULL;
    uint64_t *total;

    for (size_t e = 0; e < index.entries; e++)
        name_share(&index, e, &shares.share[index.item[e]]);
    for (size_t s = 0; s < code->stack_count; s++) {
        shares.share[index.item[index.first[rps_share_frame_of(code, s)]]].self += samples[s];
        shares.samples += samples[s];
    }
    if (by == RPS_SHARES_FUNCTION)
        lines = rps_share_index_lines(&index, samples);
    for (size_t i = 0; i < shares.count && lines; i++) {
        shares.share[i].file = lines[i]->file;
        shares.share[i].line = lines[i]->line;
    }
    total = rps_share_index_totals(scratch, &index, samples);
    for (size_t i = 0; i < shares.count; i++)
        shares.share[i].total = total[i];
    drop_empty_shares(&shares);
    rps_arena_free(scratch);
    return shares;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static int by_process(const void *a, const void *b)
{
    const struct rps_share *x = a, *y = b;

    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    /* A process has the latest name of its first thread, or of the thread with the lowest number. */
    if ((x->tid == x->pid) != (y->tid == y->pid))
        return x->tid == x->pid ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return (x->line < y->line) - (x->line > y->line);
}

static void join_processes(struct rps_shares *shares)
{
    size_t kept = 0;

    qsort(shares->share, shares->count, sizeof(*shares->share), by_process);
    for (size_t i = 0; i < shares->count; i++) {
        struct rps_share *next = &shares->share[i];

        if (kept > 0 && next->pid >= 0 && shares->share[kept - 1].item == next->item) {
            shares->share[kept - 1].self += next->self;
            shares->share[kept - 1].total += next->total;
            if (next->cpu_ns >= 0)
                shares->share[kept - 1].cpu_ns = next->cpu_ns;
        } else {
            shares->share[kept++] = *next;
        }
    }
    for (size_t i = 0; i < kept; i++)
        shares->share[i].tid = -1;
    shares->count = kept;
}

static struct rps_shares find_tasks(struct rps_arena *arena, const struct rps_code *code,
                                    const uint64_t *samples, enum rps_shares_by by)
{
    struct rps_shares shares = {
        .count = code->task_count,
        .share = rps_arena_get(arena, code->task_count, sizeof(*shares.share)),
    };
    size_t *first = rps_arena_get(arena, code->task_count, sizeof(*first));
    const size_t *process = rps_shares_processes(arena, code, first);

    for (size_t t = 0; t < shares.count; t++) {
        const struct rps_task *task = &code->task[t];

        shares.share[t] =
            (struct rps_share){.name = task->name && task->name[0] ? task->name : RPS_SHARE_UNKNOWN,
                               .module = "",
                               .file = task->file ? task->file : "",
                               .line = (int)t, /* Task number, for sorting. */
                               .item = process[t],
                               .pid = task->pid,
                               .tid = task->tid,
                               .cpu_ns = by == RPS_SHARES_PROCESS ? task->process_ns : -1,
                               .how = RPS_LOCATION_NONE,
                               .self = samples[t],
                               .total = samples[t]};
        shares.samples += samples[t];
    }
    if (by == RPS_SHARES_PROCESS)
        join_processes(&shares);
    for (size_t i = 0; i < shares.count; i++)
        shares.share[i].item = (size_t)shares.share[i].line, shares.share[i].line = 0;
    drop_empty_shares(&shares);
    return shares;
}

static struct rps_shares find_owners(struct rps_arena *arena, const struct rps_code *code,
                                     const uint64_t *samples, enum rps_shares_by by)
{
    struct rps_share_name *name;
    struct rps_shares shares = {0};
    size_t *process;
    uint8_t *is_known = rps_arena_get(arena, code->task_count, sizeof(*is_known));
    int64_t *owner = rps_shares_owners(arena, code, by, &name, &shares.count, &process);

    shares.share = rps_arena_get(arena, shares.count, sizeof(*shares.share));
    for (size_t i = 0; i < shares.count; i++)
        shares.share[i] = (struct rps_share){.name = name[i].name,
                                             .module = name[i].module,
                                             .file = "",
                                             .pid = -1,
                                             .tid = -1,
                                             .cpu_ns = -1,
                                             .how = RPS_LOCATION_NONE,
                                             .item = i};
    for (size_t t = 0; t < code->task_count; t++) {
        struct rps_share *share = &shares.share[owner[t]];

        if (samples[t] == 0)
            continue;
        share->self = share->total += samples[t];
        shares.samples += samples[t];
        share->processes += !is_known[process[t]];
        is_known[process[t]] = 1;
    }
    drop_empty_shares(&shares);
    return shares;
}

struct rps_shares rps_shares_find(struct rps_arena *arena, const struct rps_code *code,
                                  const uint64_t *samples, enum rps_shares_by by)
{
    if (by >= RPS_SHARES_PROGRAM)
        return find_owners(arena, code, samples, by);
    if (by == RPS_SHARES_PROCESS || by == RPS_SHARES_THREAD)
        return find_tasks(arena, code, samples, by);
    return find_code(arena, code, samples, by);
}

/* Trees of calls. A tree is the trie of the stacks: each node is a function below its caller, and
 * has a number of samples. */

/* A tree under construction. Each node has a key: the number of its parent is in `module`, and its
 * function is in `line`. */
struct growing {
    struct rps_arena *arena; /* Owner of the tree. */
    const struct rps_share_index *index;
    struct rps_share_items nodes; /* Nodes by number; 0 is the root. */
    struct rps_share_items lines; /* Lines of nodes: the node is in `module`. */
    uint64_t *line_total;         /* Samples of each line of a node, with callees. */
    uint64_t *most;               /* For each node, the samples of its line. */
    struct rps_calls calls;
};

static struct rps_call *add_call(struct growing *growing)
{
    struct rps_calls *calls = &growing->calls;

    growing->most =
        rps_arena_grow(growing->index->arena, growing->most, calls->count, sizeof(*growing->most));
    calls->call = rps_arena_grow(growing->arena, calls->call, calls->count, sizeof(*calls->call));
    return &calls->call[calls->count++];
}

/* Return the node of entry e below the node `parent`. If there is none, add it. */
static size_t find_node(struct growing *growing, size_t parent, size_t e)
{
    const struct rps_share_index *index = growing->index;
    const struct rps_share_key *item = &index->items.key[index->item[e]];
    const struct rps_share_key key = {
        .name = "", .file = "", .module = parent, .line = (int)index->item[e]};
    size_t node = rps_share_items_number(index->arena, &growing->nodes, &key);

    if (node == growing->calls.count)
        *add_call(growing) = (struct rps_call){
            .parent = parent,
            .item = index->item[e],
            .function = item->name,
            .module = rps_share_index_path(index->code, item->module),
            .file = index->lines.key[index->line[e]].file,
            .is_kernel = rps_share_index_is_kernel(index->code, item->module),
        };
    return node;
}

/* Add the samples of entry e to its line in the node. The node shows its line with most samples. */
static void add_line(struct growing *growing, size_t node, size_t e, uint64_t samples)
{
    const struct rps_share_index *index = growing->index;
    const struct rps_share_key *line = &index->lines.key[index->line[e]];
    const struct rps_share_key key = {
        .name = "", .file = "", .module = node, .line = (int)index->line[e]};
    const size_t count = growing->lines.count;
    const size_t at = rps_share_items_number(index->arena, &growing->lines, &key);
    struct rps_call *call = &growing->calls.call[node];

    if (at == count)
        growing->line_total =
            rps_arena_grow(index->arena, growing->line_total, count, sizeof(*growing->line_total));
    growing->line_total[at] += samples;
    if (line->line == 0 || (call->line > 0 && growing->line_total[at] <= growing->most[node]))
        return;
    growing->most[node] = growing->line_total[at];
    call->file = line->file;
    call->line = line->line;
}

/* Return the node of a stack; `node` is its caller's node. Functions are added outermost first. */
static size_t add_stack_calls(struct growing *growing, size_t stack, size_t node, uint64_t samples)
{
    const struct rps_share_index *index = growing->index;
    size_t frame = rps_share_frame_of(index->code, stack), last = index->first[frame + 1] - 1;

    for (size_t e = last + 1; e-- > index->first[frame];) {
        node = find_node(growing, node, e);
        add_line(growing, node, e, samples);
        if (e < last)
            growing->calls.call[node].is_inlined = 1;
    }
    return node;
}

static void grow_tree(struct growing *growing, const uint64_t *samples)
{
    const struct rps_code *code = growing->index->code;
    const struct rps_share_key root = {.name = "", .file = "", .module = RPS_SHARE_NONE};
    uint64_t *within = rps_share_add_callees(growing->index->arena, code, samples);
    size_t *node = rps_arena_get(growing->arena, code->stack_count, sizeof(*node));

    rps_share_items_number(growing->index->arena, &growing->nodes, &root);
    *add_call(growing) = (struct rps_call){.function = "all", .module = "", .file = ""};
    for (size_t s = 0; s < code->stack_count; s++) {
        size_t parent = rps_share_parent_of(code, s);

        node[s] = RPS_SHARE_NONE;
        if (within[s] == 0)
            continue;
        node[s] =
            add_stack_calls(growing, s, parent == RPS_SHARE_NONE ? 0 : node[parent], within[s]);
        growing->calls.call[node[s]].self += samples[s];
    }
    growing->calls.node = node;
}

struct rps_calls rps_shares_calls(struct rps_arena *arena, const struct rps_code *code,
                                  const uint64_t *samples)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_share_index index =
        rps_share_index_make(scratch, arena, code, RPS_SHARES_FUNCTION, RPS_UNNAMED_MODULE, 1);
    struct growing growing = {.arena = arena, .index = &index};
    struct rps_call *call;

    grow_tree(&growing, samples);
    call = growing.calls.call;
    for (size_t i = growing.calls.count; i-- > 0;) {
        call[i].total += call[i].self;
        if (i > 0)
            call[call[i].parent].total += call[i].total;
    }
    rps_arena_free(scratch);
    return growing.calls;
}
