/* The function that each stack is in. */
#include "rpistat/shares.h"

#include <stdlib.h>
#include <string.h>

#include "shares_index.h"

/* Names with a copy of those that are not the code's behind them, in one piece. */
static struct rps_function_name *copy_names(const struct rps_share_index *index)
{
    size_t count = index->items.count;
    struct rps_function_name *name = malloc((count + 1) * sizeof(*name) + index->used);
    char *texts = name ? (char *)(name + count + 1) : NULL;

    if (!name)
        return NULL;
    memcpy(texts, index->texts, index->used);
    for (size_t i = 0; i < count; i++) {
        const struct rps_share_key *key = &index->items.key[i];

        name[i] =
            (struct rps_function_name){.function = key->name,
                                       .module = rps_share_index_path(index->code, key->module),
                                       .file = ""};
        if (key->name >= index->texts && key->name < index->texts + index->used)
            name[i].function = texts + (key->name - index->texts);
    }
    for (size_t e = index->entries; e-- > 0;) {
        name[index->item[e]].file = index->lines.key[index->line[e]].file;
        name[index->item[e]].line = index->lines.key[index->line[e]].line;
    }
    return name;
}

int rps_shares_functions(const struct rps_code *code, int user, enum rps_unnamed unnamed,
                         int64_t **ret_function, struct rps_function_name **ret_name,
                         size_t *ret_count, struct rps_error *err)
{
    struct rps_function_name *name;
    struct rps_share_index index;
    int64_t *function;

    if (rps_share_index_make(&index, code, RPS_SHARES_FUNCTION, unnamed, err) < 0)
        return RPS_FAILED;
    function = malloc((code->stack_count + 1) * sizeof(*function));
    name = function ? copy_names(&index) : NULL;
    for (size_t s = 0; s < code->stack_count && name; s++) {
        size_t frame = rps_share_frame_of(code, s);

        if (frame == code->frame_count)
            function[s] = -1;
        else if (user && rps_share_index_is_kernel(code, rps_share_index_module(&index, frame)))
            function[s] = rps_share_parent_of(code, s) == RPS_SHARE_NONE
                              ? -1
                              : function[rps_share_parent_of(code, s)];
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
    rps_share_index_free(&index);
    return name ? 0 : rps_error_memory(err);
}
