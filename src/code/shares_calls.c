/* Trees of calls: the trie of stacks by functions, with the samples of each. */
#include "rpistat/shares.h"
#include "shares_index.h"

/* A growing tree. Nodes are numbered by keys of their parent and function, as module and line. */
struct growing {
    struct rps_arena *arena; /* of the tree */
    const struct rps_share_index *index;
    struct rps_share_items nodes; /* number 0 is the root */
    struct rps_calls calls;
};

/* Append a new node. */
static struct rps_call *add_call(struct growing *growing)
{
    struct rps_calls *calls = &growing->calls;

    calls->call = rps_arena_grow(growing->arena, calls->call, calls->count, sizeof(*calls->call));
    return &calls->call[calls->count++];
}

/* Return the node of entry e below `parent`. */
static size_t find_node(struct growing *growing, size_t parent, size_t e)
{
    const struct rps_share_index *index = growing->index;
    const struct rps_share_key *item = &index->items.key[index->item[e]];
    const struct rps_share_key *line = &index->lines.key[index->line[e]];
    const struct rps_share_key key = {
        .name = "", .file = "", .module = parent, .line = (int)index->item[e]};
    size_t node = rps_share_items_number(index->arena, &growing->nodes, &key);

    if (node == growing->calls.count)
        *add_call(growing) = (struct rps_call){
            .parent = parent,
            .item = index->item[e],
            .function = item->name,
            .module = rps_share_index_path(index->code, item->module),
            .file = line->file,
            .line = line->line,
            .is_kernel = rps_share_index_is_kernel(index->code, item->module),
        };
    return node;
}

/* Return the node of a stack whose caller has `node`, adding functions outermost first. */
static size_t add_stack_calls(struct growing *growing, size_t stack, size_t node)
{
    const struct rps_share_index *index = growing->index;
    size_t frame = rps_share_frame_of(index->code, stack), last = index->first[frame + 1] - 1;

    for (size_t e = last + 1; e-- > index->first[frame];) {
        node = find_node(growing, node, e);
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
        node[s] = add_stack_calls(growing, s, parent == RPS_SHARE_NONE ? 0 : node[parent]);
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
