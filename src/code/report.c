/* Where the time went, by samples, or the events that they were taken by: of the report. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rpistat/report_parts.h"
#include "rpistat/text.h"

#define TOLD    3  /* functions of the run in a sentence */
#define MOST    .5 /* of a phase's samples are said by so many functions that have them, */
#define MOST_OF 2  /* but not by more */

/* Groups of functions in what both parts have. */
static int find_groups(struct rps_report *report, struct rps_code_part *part,
                       const struct rps_code_part *other, struct rps_code_groups *ret,
                       struct rps_error *err)
{
    if (other && rps_code_part_keep(part, other, err) < 0)
        return RPS_FAILED;
    return rps_code_groups_find(report->cpu_series.reader, report->run.run_id, part,
                                &report->options->cpus, &report->code, ret, err);
}

static int read_phases(struct rps_report *report, const struct rps_code_part *part,
                       struct rps_error *err)
{
    struct rps_code_part phases = {0};
    int result = report->phases ? rps_code_part_of_phases(report->phases, 1, &phases, err) : 0;

    if (result == 0 && report->phases)
        result = find_groups(report, &phases, part, &report->phase_groups, err);
    rps_code_part_free(&phases);
    return result;
}

int rps_report_read_code(struct rps_report *report, struct rps_error *err)
{
    const struct rps_report_options *options = report->options;
    const struct rps_code_choice choice = {
        .from_ns = options->from_ns, .to_ns = options->to_ns, .region = options->region};
    struct rps_reader *reader = report->cpu_series.reader;
    int64_t run_id = report->run.run_id;
    struct rps_code_part part = {0};
    int result;

    result = rps_reader_code(reader, run_id, &report->code, err);
    if (result <= 0 || !rps_code_is_sampled(&report->run, &report->code))
        return result < 0 ? result : 0;
    rps_tally_operands(&report->tally, report->plan, report->operand);
    report->cpu_s = report->operand[RPS_OPERAND_CPU_SECONDS];
    result = rps_code_part_choose(reader, run_id, &choice, &part, err);
    if (result == 0)
        result = find_groups(report, &part, NULL, &report->groups, err);
    if (result == 0)
        result = read_phases(report, &part, err);
    rps_code_part_free(&part);
    return result;
}

void rps_report_code(struct rps_report *report)
{
    static const struct rps_column columns[] = {
        {.name = "name"}, {"self_share", .kind = RPS_VALUE_SHARE}, {.name = "module"},
        {.name = "file"}, {"line", .kind = RPS_VALUE_INT},
    };
    const struct rps_code_group *group = report->groups.group;
    struct rps_document *document = report->document;
    struct rps_block *top;
    char *text = NULL, name[128];

    if (report->groups.count == 0)
        return;
    rps_put_int(rps_document_field(document, "samples", RPS_VALUE_INT), (int64_t)group->samples, 1);
    rps_put_number(rps_document_field(document, "expected_samples", RPS_VALUE_NUMBER),
                   rps_code_expected(&report->code.sampling, report->cpu_s));
    top = rps_document_block(document, "top", columns, sizeof(columns) / sizeof(columns[0]));
    for (int t = 0; t < group->count; t++) {
        const struct rps_function_name *function = &group->top[t].name;

        rps_put_text(top, function->function);
        rps_put_number(top, group->top[t].share);
        rps_put_texts(top, 2, function->module, function->file);
        rps_put_int(top, function->line, function->line > 0);
        if (isfinite(group->top[t].share))
            text = rps_arena_print(
                document->arena, "%s%s%s %.1f %%", text ? text : "", text ? ", " : "",
                rps_code_function_text(name, sizeof(name), function), 100 * group->top[t].share);
    }
    if (group->samples == 0)
        return;
    if (report->code.sampling.frequency > 0)
        rps_block_title(top, "Where the time went (%" PRIu64 " samples; see `rpistat code`)",
                        group->samples);
    else /* those of page faults say nothing of the time */
        rps_block_title(top, "Where %s were (%" PRIu64 " samples; see `rpistat code`)",
                        report->code.sampling.event, group->samples);
    rps_block_wrap(top, 2, 4, "%s", text ? text : "too few to tell");
}

char *rps_report_code_of_run(const struct rps_report *report, char *ret, size_t size)
{
    const struct rps_code_group *group = report->groups.group;
    size_t used = 0;

    ret[0] = '\0';
    if (report->groups.count == 0 || report->code.sampling.frequency <= 0)
        return ret;
    for (int t = 0; t < group->count && t < TOLD && isfinite(group->top[t].share); t++)
        used += (size_t)snprintf(ret + used, size - used, "%s%.100s %.0f %%",
                                 t > 0 ? ", " : "Its time on a CPU: ", group->top[t].name.function,
                                 100 * group->top[t].share);
    if (used > 0)
        snprintf(ret + used, size - used, " (%" PRIu64 " samples)", group->samples);
    return ret;
}

char *rps_report_code_of_phase(const struct rps_report *report, int label, char *ret, size_t size)
{
    const struct rps_code_group *group = report->phase_groups.group + label;
    double share = 0;
    size_t used = 0;

    ret[0] = '\0';
    if ((size_t)label >= report->phase_groups.count || report->code.sampling.frequency <= 0)
        return ret;
    for (int t = 0; t < group->count && t < MOST_OF && share < MOST; t++) {
        if (!isfinite(group->top[t].share))
            break;
        share += group->top[t].share;
        used += (size_t)snprintf(ret + used, size - used, "%s%.100s", t > 0 ? ", " : "",
                                 group->top[t].name.function);
    }
    return ret;
}
