/* Puts callers and callees into the document of the code that ran. */
#include <stdio.h>
#include <stdlib.h>

#include "blocks_parts.h"
#include "rpistat/document.h"
#include "rpistat/text.h"

#define CALL_MIN .01 /* Minimum share of all samples for a call in a tree. */

const char *rps_code_line_text(char ret[RPS_CODE_TEXT_SIZE], const char *file, int line)
{
    ret[0] = '\0';
    if (line > 0)
        snprintf(ret, RPS_CODE_TEXT_SIZE, "%.250s:%d", rps_text_file_name(file), line);
    return ret;
}

/* Return the off-CPU time of each call, including the time of its callees. Returns NULL if the
 * output has samples only, without off-CPU time. */
static uint64_t *waits_of_calls(const struct rps_code_filling *filling)
{
    const struct rps_code_output *output = filling->output;

    return output->off_cpu ? rps_off_cpu_calls(filling->document->arena, output->code,
                                               output->off_cpu, output->calls, 1)
                           : NULL;
}

#define CALLS(CELL, BY)                                                                            \
    CELL(INT, (node, 1), "call")                                                                   \
    CELL(INT, (call->parent, node > 0), "caller")                                                  \
    CELL(TEXT, (call->function), "name")                                                           \
    CELL(INT, (call->self, 1), "self")                                                             \
    CELL(INT, (call->total, 1), "total")                                                           \
    CELL(SHARE, (rps_shares_part(call->total, all)), "total_share")                                \
    CELL(TEXT, (call->module), "module")                                                           \
    CELL(TEXT, (call->file), "file")                                                               \
    CELL(INT, (call->line, call->line > 0), "line")                                                \
    CELL(BOOL, (call->is_kernel, node > 0), "in_kernel")                                           \
    CELL(BOOL, (call->is_inlined, node > 0), "inlined")

void rps_code_put_calls(const struct rps_code_filling *filling)
{
    static const struct rps_column columns[] = {
        CALLS(RPS_COLUMN, RPS_COLUMN){"waited", .kind = RPS_VALUE_INT},
    };
    const struct rps_calls *calls = filling->output->calls;
    const uint64_t *waited = waits_of_calls(filling), all = filling->output->shares->samples;
    struct rps_block *block = rps_document_block(filling->document, "calls", columns,
                                                 RPS_COUNT(columns) - (waited ? 0 : 1));

    for (size_t node = 0; node < calls->count; node++) {
        const struct rps_call *call = &calls->call[node];

        CALLS(RPS_PUT, RPS_PUT_BY)
        if (waited)
            rps_put_int(block, (int64_t)waited[node], 1);
    }
}

struct tree {
    const struct rps_calls *calls;
    uint64_t all; /* Weight of all samples (0: too few samples for shares). */
    struct rps_block *block;
    size_t *order;          /* Nodes in order of parent. Callees of one parent are in order of
                               samples, most samples first. */
    size_t *callee;         /* For each node, the index in `order` of the callee to put next. */
    size_t *count;          /* Number of callees of each node. */
    const uint64_t *waited; /* Off-CPU time of each node; NULL if unknown. */
};

static int by_parent(const void *a, const void *b, void *context)
{
    const struct rps_call *call = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    if (call[x].parent != call[y].parent)
        return call[x].parent < call[y].parent ? -1 : 1;
    if (call[x].total != call[y].total)
        return call[x].total < call[y].total ? 1 : -1;
    return (x > y) - (x < y);
}

static void put_callee(const struct tree *tree, size_t node, int depth)
{
    const struct rps_call *call = &tree->calls->call[node];
    uint64_t all = tree->all;
    char line[RPS_CODE_TEXT_SIZE], name[RPS_CODE_TEXT_SIZE];

    rps_block_depth(tree->block, depth);
    rps_put_number(tree->block, rps_shares_part(call->total, all));
    if (call->self > 0)
        rps_put_number(tree->block, rps_shares_part(call->self, all));
    else
        rps_put_blanks(tree->block, 1);
    if (tree->waited && tree->waited[node] > 0)
        rps_put_number(tree->block, rps_shares_part(tree->waited[node], all));
    else if (tree->waited)
        rps_put_blanks(tree->block, 1);
    rps_code_line_text(line, call->file, call->line);
    rps_put_text(tree->block, call->function);
    rps_put_words(tree->block, "%s%s%s%s", rps_text_function(name, sizeof(name), call->function),
                  line[0] ? "  " : "", line, call->is_inlined ? " inlined" : "");
}

/* Put the nodes below a node, without recursion, because stacks may be deep. */
static void put_callees(const struct tree *tree)
{
    const struct rps_call *call = tree->calls->call;
    size_t node = 0;
    int depth = 0;

    for (;;) {
        if (tree->count[node] > 0) {
            size_t next = tree->order[tree->callee[node]++];

            tree->count[node]--;
            if (rps_shares_part(call[next].total, tree->all) < CALL_MIN) {
                tree->count[node] = 0;
                continue;
            }
            put_callee(tree, next, depth++);
            node = next;
        } else if (node == 0) {
            break;
        } else {
            node = call[node].parent;
            depth--;
        }
    }
}

void rps_code_put_tree(const struct rps_code_filling *filling)
{
    static const struct rps_column columns[] = {
        {NULL, "Total", RPS_VALUE_SHARE, .place = 1},
        {NULL, "Self", RPS_VALUE_SHARE, .place = 2},
        {NULL, "Waited", RPS_VALUE_SHARE, .place = 3},
        {NULL, "Function", .place = 4},
    };
    const struct rps_calls *calls = filling->output->calls;
    struct rps_arena *arena = filling->document->arena;
    struct tree tree = {
        .calls = calls,
        .all = filling->output->shares->samples,
        .waited = waits_of_calls(filling),
        .block = rps_document_block(filling->document, NULL, NULL, 0),
        .order = rps_arena_get(arena, calls->count, sizeof(*tree.order)),
        .callee = rps_arena_get(arena, calls->count, sizeof(*tree.callee)),
        .count = rps_arena_get(arena, calls->count, sizeof(*tree.count)),
    };

    for (int c = 0; c < (int)RPS_COUNT(columns); c++) {
        if (tree.waited || columns[c].place != 3)
            rps_block_column(tree.block, columns[c]);
    }
    tree.block->indent = 2;
    for (size_t i = 1; i < calls->count; i++)
        tree.order[i - 1] = i;
    qsort_r(tree.order, calls->count - 1, sizeof(*tree.order), by_parent, calls->call);
    for (size_t i = 0; i + 1 < calls->count; i++) {
        size_t parent = calls->call[tree.order[i]].parent;

        if (tree.count[parent]++ == 0)
            tree.callee[parent] = i;
    }
    put_callees(&tree);
}
