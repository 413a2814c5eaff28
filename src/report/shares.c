/* Where the time went, by samples, or the events that they were taken by: of the report. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rpistat/report_parts.h"
#include "rpistat/text.h"

int rps_report_read_shares(struct rps_report *report, struct rps_error *err)
{
    const struct rps_report_options *options = report->options;
    const struct rps_part_choice choice = {
        .from_ns = options->from_ns, .to_ns = options->to_ns, .region = options->region};
    struct rps_reader *reader = report->cpu_series.reader;
    int64_t run_id = report->run.run_id;
    struct rps_run_part part = {0};
    int result;

    if (options->layout == RPS_REPORT_2013)
        return 0;
    rps_tally_operands(&report->tally, report->plan, report->operand);
    report->cpu_s = report->operand[RPS_OPERAND_CPU_SECONDS];
    result = rps_run_part_choose(reader, run_id, &choice, &part, err);
    if (result == 0)
        result = rps_part_shares_find(reader, run_id, &part, &options->cpus, &report->shares, err);
    rps_run_part_free(&part);
    return result < 0 ? result : 0;
}

void rps_report_print_shares(struct rps_report *report)
{
    const struct rps_share_group *group = report->shares.group;
    char text[RPS_SHARES_TOP * 160 + 1], name[128];
    size_t used = 0;

    if (report->shares.group_count == 0 || group->samples == 0)
        return;
    if (group->samples < RPS_SHARES_SAMPLES_MIN)
        strcpy(text, "too few to tell");
    for (int t = 0; t < group->count && used < sizeof(text) && isfinite(group->top[t].share); t++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %.1f %%", t > 0 ? ", " : "",
                             rps_share_name_text(name, sizeof(name), &group->top[t].name),
                             100 * group->top[t].share);
    if (report->shares.sampling.frequency > 0)
        fprintf(report->out, "\nWhere the time went (%" PRIu64 " samples", group->samples);
    else /* those of page faults say nothing of the time */
        fprintf(report->out, "\nWhere %s were (%" PRIu64 " samples",
                rps_text_printable(name, sizeof(name), report->shares.sampling.event),
                group->samples);
    fputs("; see `rpistat code`)\n", report->out);
    rps_report_wrapped(report, text, 2);
}

void rps_report_rows_group(struct rps_rows *rows, const struct rps_sampling *sampling,
                           const struct rps_share_group *group, double cpu_s)
{
    rps_rows_uint(rows, "samples", group->samples, 1);
    rps_rows_double(rows, "expected_samples", rps_samples_expected(sampling, cpu_s));
    rps_json_array(rows->json, "top");
    for (int t = 0; t < group->count; t++) {
        const struct rps_share_name *name = &group->top[t].name;

        rps_json_object(rows->json, NULL);
        rps_rows_text(rows, "name", name->name);
        rps_rows_double(rows, "self_share", group->top[t].share);
        rps_rows_text(rows, "module", name->module);
        rps_rows_text(rows, "file", name->file);
        rps_rows_int(rows, "line", name->line, name->line > 0);
        rps_json_end(rows->json);
    }
    rps_json_end(rows->json);
}
