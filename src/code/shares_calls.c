/* Trees of calls: the trie of stacks by functions, with the samples of each. */
#include "rpistat/array.h"
#include "rpistat/shares.h"

#include <stdlib.h>

#include "shares_index.h"

/* Growing a tree. Nodes are numbered by keys of their parent and function, as module and line. */
struct growing {
    const struct rps_share_index *index;
    struct rps_share_items nodes; /* number 0 is the root */
    struct rps_calls calls;
};

/* The node of entry e below `parent`; RPS_SHARE_NONE without memory. */
static size_t find_node(struct growing *growing, size_t parent, size_t e)
{
    const struct rps_share_index *index = growing->index;
    const struct rps_share_key *item = &index->items.key[index->item[e]];
    const struct rps_share_key *line = &index->lines.key[index->line[e]];
    const struct rps_share_key key = {
        .name = "", .file = "", .module = parent, .line = (int)index->item[e]};
    size_t node = rps_share_items_number(&growing->nodes, &key);
    struct rps_call *more;

    if (node == RPS_SHARE_NONE || node < growing->calls.count)
        return node;
    more = rps_array_grow(growing->calls.call, growing->calls.count, sizeof(*more));
    if (!more)
        return RPS_SHARE_NONE;
    growing->calls.call = more;
    growing->calls.call[growing->calls.count++] = (struct rps_call){
        .parent = parent,
        .function = item->name,
        .module = rps_share_index_path(index->code, item->module),
        .file = line->file,
        .line = line->line,
        .is_kernel = rps_share_index_is_kernel(index->code, item->module),
    };
    return node;
}

/* The node of the stack whose caller's is `node`: functions from the outermost on. */
static size_t add_stack_calls(struct growing *growing, size_t stack, size_t node)
{
    const struct rps_share_index *index = growing->index;
    size_t frame = rps_share_frame_of(index->code, stack), last = index->first[frame + 1] - 1;

    for (size_t e = last + 1; e-- > index->first[frame] && node != RPS_SHARE_NONE;) {
        node = find_node(growing, node, e);
        if (node != RPS_SHARE_NONE && e < last)
            growing->calls.call[node].is_inlined = 1;
    }
    return node;
}

static int grow_tree(struct growing *growing, const uint64_t *samples)
{
    const struct rps_code *code = growing->index->code;
    const struct rps_share_key root = {.name = "", .file = "", .module = RPS_SHARE_NONE};
    uint64_t *within = rps_share_add_callees(code, samples);
    size_t *node = calloc(code->stack_count + 1, sizeof(*node)), at = 0;

    growing->calls.call = rps_array_grow(NULL, 0, sizeof(*growing->calls.call));
    if (!within || !node || !growing->calls.call ||
        rps_share_items_number(&growing->nodes, &root) == RPS_SHARE_NONE)
        at = RPS_SHARE_NONE;
    else
        growing->calls.call[growing->calls.count++] =
            (struct rps_call){.function = "all", .module = "", .file = ""};
    for (size_t s = 0; s < code->stack_count && at != RPS_SHARE_NONE; s++) {
        size_t parent = rps_share_parent_of(code, s);

        node[s] = RPS_SHARE_NONE;
        if (within[s] == 0)
            continue;
        at = node[s] = add_stack_calls(growing, s, parent == RPS_SHARE_NONE ? 0 : node[parent]);
        if (at != RPS_SHARE_NONE)
            growing->calls.call[at].self += samples[s];
    }
    free(within);
    growing->calls.node = node;
    return at == RPS_SHARE_NONE ? RPS_FAILED : 0;
}

int rps_shares_calls(const struct rps_code *code, const uint64_t *samples, struct rps_calls *ret,
                     struct rps_error *err)
{
    struct growing growing = {0};
    struct rps_share_index index;
    int failed;

    if (rps_share_index_make(&index, code, RPS_SHARES_FUNCTION, RPS_UNNAMED_MODULE, err) < 0)
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
    rps_share_items_free(&growing.nodes);
    rps_share_index_free(&index);
    return failed ? rps_error_memory(err) : 0;
}

void rps_calls_free(struct rps_calls *calls)
{
    free(calls->call);
    free(calls->node);
    free(calls->texts);
    *calls = (struct rps_calls){0};
}
