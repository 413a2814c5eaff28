/* Named shares in a document, for programs. */
#include "rpistat/share_block.h"

#include <inttypes.h>

static const struct rps_column columns[] = {{.name = "name"},
                                            {"self_share", .kind = RPS_VALUE_SHARE},
                                            {.name = "module"},
                                            {.name = "file"},
                                            {"line", .kind = RPS_VALUE_INT}};

static void put_top(struct rps_block *top, const struct rps_share_group *group)
{
    for (int t = 0; t < group->count; t++) {
        const struct rps_share_name *name = &group->top[t].name;

        rps_put_text(top, name->name);
        rps_put_number(top, group->top[t].share);
        rps_put_texts(top, 2, name->module, name->file);
        rps_put_int(top, name->line, name->line > 0);
    }
}

struct rps_block *rps_share_block_top(struct rps_document *document,
                                      const struct rps_share_group *group)
{
    struct rps_block *top =
        rps_document_block(document, "top", columns, sizeof(columns) / sizeof(columns[0]));

    put_top(top, group);
    return top;
}

void rps_share_block_put(struct rps_block *block, const struct rps_sampling *sampling,
                         const struct rps_share_group *group, double cpu_s)
{
    double expected = rps_samples_expected(sampling, cpu_s);

    rps_put_int(block, (int64_t)group->samples, 1);
    if (rps_samples_are_short(group->samples, expected))
        rps_put_words(block, "%" PRIu64 " of %.0f", group->samples, expected);
    rps_put_number(block, expected);
    put_top(rps_put_block(block, columns, sizeof(columns) / sizeof(columns[0])), group);
}
