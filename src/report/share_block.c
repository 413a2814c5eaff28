/* Shares with names in a document, for programs. */
#include "rpistat/share_block.h"

#include <inttypes.h>
#include <math.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

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
    double expected = rps_samples_expected(sampling, cpu_s, 0);

    rps_put_int(block, (int64_t)group->samples, 1);
    if (isfinite(expected) &&
        (rps_samples_at_most(sampling, 0, 0) || rps_samples_are_short(group->samples, expected)))
        rps_put_words(block, "%" PRIu64 " of %s%.0f", group->samples,
                      rps_samples_at_most(sampling, 0, 0) ? "at most " : "", expected);
    rps_put_number(block, expected);
    put_top(rps_put_block(block, columns, sizeof(columns) / sizeof(columns[0])), group);
}

const struct rps_column *rps_share_block_columns(size_t *ret_count)
{
    static const struct rps_column stands_out[] = {{.name = "kind"},
                                                   {.name = "name"},
                                                   {"self_share", .kind = RPS_VALUE_SHARE},
                                                   {"elsewhere_share", .kind = RPS_VALUE_SHARE},
                                                   {.name = "module"}};

    *ret_count = COUNT_OF(stands_out);
    return stands_out;
}

void rps_share_block_stand_out(struct rps_block *block, const struct rps_share_group *group)
{
    static const char *const kind[RPS_APART_KINDS] = {
        [RPS_APART_FUNCTION] = "function",
        [RPS_APART_PROGRAM] = "program",
        [RPS_APART_PROGRAM_2] = "program",
        [RPS_APART_CGROUP] = "control group",
        [RPS_APART_CALLER] = "caller",
    };

    for (int k = 0; k < RPS_APART_KINDS; k++) {
        const struct rps_share_apart *apart = &group->apart[k];

        if (!apart->is_found)
            continue;
        rps_put_texts(block, 2, kind[k], apart->name.name);
        rps_put_number(block, apart->share);
        rps_put_number(block, apart->rest);
        rps_put_text(block, apart->name.module);
    }
}

void rps_share_block_unsampled(struct rps_document *document, struct rps_block *block, int indent,
                               const struct rps_sampling *sampling,
                               const struct rps_unsampled *unsampled, double cpu_s)
{
    static const struct rps_column programs[] = {{.name = "name"},
                                                 {"processes", .kind = RPS_VALUE_INT},
                                                 {"threads", .kind = RPS_VALUE_INT},
                                                 {"cpu_s", .kind = RPS_VALUE_NUMBER}};
    double kernel_s = rps_samples_kernel_s(sampling, cpu_s);
    char text[512];
    struct rps_block *rows;

    rps_put_number(rps_document_field(document, "kernel_not_sampled_s", RPS_VALUE_NUMBER),
                   kernel_s > 0 ? kernel_s : NAN);
    rows = rps_document_block(document, "not_sampled", programs, COUNT_OF(programs));
    for (size_t i = 0; i < unsampled->count; i++) {
        const struct rps_unsampled_program *program = &unsampled->program[i];

        rps_put_text(rows, program->name);
        rps_put_int(rows, (int64_t)program->processes, 1);
        rps_put_int(rows, (int64_t)program->threads, 1);
        rps_put_number(rows, program->cpu_s);
    }
    if (rps_samples_kernel_text(text, sizeof(text), sampling, cpu_s)[0])
        rps_block_wrap(block, indent, indent + 2, "%s", text);
    if (rps_unsampled_text(text, sizeof(text), unsampled, cpu_s)[0])
        rps_block_wrap(block, indent, indent + 2, "%s", text);
}
