/* A comparison for programs: JSON and CSV. */
#include "rpistat/comparison_output.h"
#include "rpistat/output_file.h"

#include <math.h>

#include "rpistat/rows.h"

static const char *kind_name(enum rps_comparison_kind kind)
{
    return kind == RPS_FIGURE_TOTAL ? "event" : kind == RPS_FIGURE_METRIC ? "metric" : "time";
}

static const char *verdict_name(enum rps_comparison_verdict verdict)
{
    return verdict == RPS_VERDICT_LESS   ? "less"
           : verdict == RPS_VERDICT_MORE ? "more"
           : verdict == RPS_VERDICT_SAME ? "no difference shown"
                                         : NULL;
}

static const char *basis_name(enum rps_change_basis basis)
{
    return basis == RPS_CHANGE_GROUPS     ? "groups"
           : basis == RPS_CHANGE_BASELINE ? "baseline"
           : basis == RPS_CHANGE_RUNS     ? "within runs"
                                          : NULL;
}

static const char *why_name(const struct rps_change *change)
{
    return change->basis != RPS_CHANGE_NONE   ? NULL
           : change->why == RPS_CHANGE_SINGLE ? "one run a side"
           : change->why == RPS_CHANGE_SHORT  ? "too short"
                                              : "no value";
}

static void put_change(struct rps_rows *rows, const struct rps_change *change)
{
    rps_rows_double(rows, "a", change->a);
    rps_rows_double(rows, "b", change->b);
    rps_rows_double(rows, "change", change->ratio);
    rps_rows_double(rows, "change_low", change->low);
    rps_rows_double(rows, "change_high", change->high);
    rps_rows_double(rows, "p", change->p);
    rps_rows_double(rows, "p_corrected", change->adjusted);
    rps_rows_text(rows, "tested_by", basis_name(change->basis));
    rps_rows_text(rows, "reason", why_name(change));
    rps_rows_text(rows, "verdict", verdict_name(rps_comparison_verdict(change)));
}

static const char *label_of(const struct rps_comparison_row *row, char text[RPS_PHASE_LABEL_SIZE])
{
    return row->label >= 0 ? rps_phase_label(row->label, text) : NULL;
}

static void put_row(struct rps_rows *rows, const struct rps_comparison_row *row,
                    const struct rps_comparison_figure *figure, const struct rps_change *change)
{
    char label[RPS_PHASE_LABEL_SIZE];

    rps_rows_row(rows);
    rps_rows_text(rows, "label", label_of(row, label));
    rps_rows_text(rows, "name", figure->name);
    rps_rows_text(rows, "kind", kind_name(figure->kind));
    rps_rows_text(rows, "unit", figure->unit);
    put_change(rows, change);
    rps_rows_end_row(rows);
}

static void put_changes(struct rps_rows *rows, const struct rps_comparison *comparison)
{
    if (rps_rows_begin(rows, "changes"))
        put_row(rows, &(struct rps_comparison_row){.label = -1},
                &(struct rps_comparison_figure){.name = ""}, &(struct rps_change){0});
    for (size_t r = 0; r < comparison->row_count; r++) {
        for (size_t f = 0; f < comparison->figure_count; f++)
            put_row(rows, &comparison->row[r], &comparison->figure[f],
                    &comparison->row[r].change[f]);
    }
    rps_rows_end(rows);
}

/* --- what only JSON has ----------------------------------------------------------------------- */

static void put_runs(struct rps_rows *rows, const struct rps_comparison *comparison)
{
    char command[4096];

    rps_rows_begin(rows, "runs");
    for (size_t i = 0; i < comparison->run_count; i++) {
        const struct rps_comparison_run *run = &comparison->run[i];

        rps_rows_row(rows);
        rps_rows_text(rows, "side", run->side == RPS_SIDE_A ? "A" : "B");
        rps_rows_text(rows, "store", run->store);
        rps_rows_int(rows, "run", run->run_id, 1);
        rps_rows_text(rows, "uuid", run->run.uuid);
        rps_rows_text(rows, "label", run->run.label);
        rps_rows_text(rows, "command", rps_run_title(command, sizeof(command), &run->run));
        rps_rows_time(rows, "start", run->run.start_realtime_ns, run->run.start_realtime_ns >= 0);
        rps_rows_seconds(rows, "elapsed_s", run->run.elapsed_ns, run->run.elapsed_ns >= 0);
        rps_rows_end_row(rows);
    }
    rps_rows_end(rows);
}

static void put_figures(struct rps_rows *rows, const struct rps_comparison *comparison)
{
    rps_rows_begin(rows, "figures");
    for (size_t f = 0; f < comparison->figure_count; f++) {
        const struct rps_comparison_figure *figure = &comparison->figure[f];

        rps_rows_row(rows);
        rps_rows_text(rows, "name", figure->name);
        rps_rows_text(rows, "label", figure->label);
        rps_rows_text(rows, "kind", kind_name(figure->kind));
        rps_rows_text(rows, "unit", figure->unit);
        rps_rows_end_row(rows);
    }
    rps_rows_end(rows);
}

static void put_function(struct rps_rows *rows, const struct rps_comparison_function *function)
{
    rps_rows_row(rows);
    rps_rows_text(rows, "name", function->name.name);
    rps_rows_text(rows, "module", function->name.module);
    rps_rows_text(rows, "file", function->name.file);
    rps_rows_int(rows, "line", function->name.line, function->name.line > 0);
    rps_rows_double(rows, "a_share", function->a_share);
    rps_rows_double(rows, "b_share", function->b_share);
    rps_rows_text(rows, "unit", "s");
    put_change(rows, &function->seconds);
    rps_rows_end_row(rows);
}

/* The whole and the kinds of phases; what they are made of is among the changes. */
static void put_parts(struct rps_rows *rows, const struct rps_comparison *comparison)
{
    char label[RPS_PHASE_LABEL_SIZE];

    rps_rows_begin(rows, "rows");
    for (size_t r = 0; r < comparison->row_count; r++) {
        const struct rps_comparison_row *row = &comparison->row[r];

        rps_rows_row(rows);
        rps_rows_text(rows, "label", label_of(row, label));
        rps_rows_uint(rows, "a_times", row->a_times, 1);
        rps_rows_uint(rows, "b_times", row->b_times, 1);
        rps_rows_seconds(rows, "a_start_s", row->a_start_ns, row->a_start_ns >= 0);
        rps_rows_seconds(rows, "b_start_s", row->b_start_ns, row->b_start_ns >= 0);
        rps_rows_begin(rows, "functions");
        for (size_t i = 0; i < row->function_count; i++)
            put_function(rows, &row->function[i]);
        rps_rows_end(rows);
        rps_rows_end_row(rows);
    }
    rps_rows_end(rows);
}

static void put_limits(struct rps_rows *rows, const struct rps_comparison_output *output)
{
    char label[RPS_PHASE_LABEL_SIZE];

    rps_rows_begin(rows, "limits");
    for (size_t i = 0; i < output->limit_count; i++) {
        const struct rps_comparison_limit *limit = &output->limit[i];
        const struct rps_comparison_row *row = &output->comparison->row[limit->row];

        rps_rows_row(rows);
        rps_rows_text(rows, "limit", limit->text);
        rps_rows_text(rows, "label", label_of(row, label));
        rps_rows_text(rows, "name", output->comparison->figure[limit->figure].name);
        rps_rows_double(rows, "change", row->change[limit->figure].ratio);
        rps_rows_double(rows, "p", row->change[limit->figure].p);
        rps_rows_bool(rows, "failed", limit->is_failed, 1);
        rps_rows_end_row(rows);
    }
    rps_rows_end(rows);
}

static void put_whole(struct rps_rows *rows, const struct rps_comparison_output *output)
{
    const struct rps_comparison *comparison = output->comparison;
    char answer[RPS_COMPARISON_ANSWER_SIZE];

    rps_rows_text(rows, "answer", rps_comparison_answer(answer, output));
    rps_rows_text(rows, "a_name", output->a_name);
    rps_rows_text(rows, "b_name", output->b_name);
    put_runs(rows, comparison);
    put_figures(rows, comparison);
    put_parts(rows, comparison);
    put_limits(rows, output);
    rps_json_array(rows->json, "remarks");
    for (size_t i = 0; i < comparison->remark_count; i++)
        rps_json_text(rows->json, NULL, comparison->remark[i]);
    rps_json_end(rows->json);
}

static int write_rows(FILE *out, const struct rps_comparison_output *output, enum rps_format format,
                      struct rps_error *err)
{
    struct rps_rows rows;

    if (rps_rows_open(&rows, out, format, err) < 0)
        return RPS_FAILED;
    if (rows.json)
        put_whole(&rows, output);
    put_changes(&rows, output->comparison);
    if (rps_rows_close(&rows, 0, err) < 0)
        return RPS_FAILED;
    return rps_output_written(out, "the comparison", err);
}

int rps_comparison_output_json(FILE *out, const struct rps_comparison_output *output,
                               struct rps_error *err)
{
    return write_rows(out, output, RPS_FORMAT_JSON, err);
}

int rps_comparison_output_csv(FILE *out, const struct rps_comparison_output *output,
                              struct rps_error *err)
{
    return write_rows(out, output, RPS_FORMAT_CSV, err);
}
