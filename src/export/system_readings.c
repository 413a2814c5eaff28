/* The export of system metrics: one row per reading and source, or per block of downsampled
 * readings. Each metric has a column in its own unit. A gauge's column has the value or the mean, a
 * counter's the increase during length_s. The next columns have each metric's lowest and highest
 * value (a counter's: per second), empty for a single reading, or if the metric was not read. */
#include <stdio.h>
#include <string.h>

#include "sheet.h"
#include "rpistat/run_system.h"

/* Return the unit of a metric, as a suffix for a column's name. */
static const char *unit_of(const struct rps_system_metric *signal)
{
    static const char *const behind[][2] = {
        {"us", "_us"}, {"KiB", "_kib"}, {"uJ", "_uj"}, {"MHz", "_mhz"}};

    for (size_t i = 0; i < RPS_COUNT(behind); i++)
        if (strcmp(signal->unit, behind[i][0]) == 0)
            return behind[i][1];
    return "";
}

/* Put the column name of a metric's value, or the column names of its extremes. */
static void put_names(struct rps_export_job *job, const struct rps_system_metric *signal,
                      int is_ends)
{
    const int is_gauge = signal->kind == RPS_SYSTEM_GAUGE;
    const char *unit = unit_of(signal);
    char name[64], rate[32];

    snprintf(rate, sizeof(rate), "%s%s", signal->unit, is_gauge ? "" : "/s");
    snprintf(name, sizeof(name), "%s%s%s", signal->name, unit, is_ends ? "_low" : "");
    rps_sheet_name(job, name, is_ends ? rate : signal->unit,
                   is_ends    ? "lowest of a block"
                   : is_gauge ? "value, or mean of a block"
                              : "increase in length_s",
                   signal->explain);
    snprintf(name, sizeof(name), "%s%s_high", signal->name, unit);
    if (is_ends)
        rps_sheet_name(job, name, rate, "highest of a block", signal->explain);
}

/* Put the value of a metric, or its extremes. If the row has no such value, put empty cells. */
static void put_cell(struct rps_csv_writer *csv, const struct rps_system_row *row, int source,
                     int s, int is_ends)
{
    uint64_t readings = (enum rps_system_source)source == row->source ? row->readings[s] : 0;
    int is_gauge = rps_system_metrics[source][s].kind == RPS_SYSTEM_GAUGE;

    if (readings == 0 || (is_ends && row->level == 0)) {
        rps_csv_empty(csv);
        if (is_ends)
            rps_csv_empty(csv);
    } else if (is_ends) {
        rps_csv_double(csv, row->lowest[s]);
        rps_csv_double(csv, row->highest[s]);
    } else if (is_gauge) {
        rps_csv_double(csv, (double)row->sum[s] / (double)readings);
    } else {
        rps_csv_int64(csv, row->sum[s]);
    }
}

/* Put the columns' names, or the cells of a row: values first, then extremes. Columns of metrics
 * that were added later are at the end, so that the positions of older columns do not change. */
static void put_columns(struct rps_export_job *job, const struct rps_system_row *row)
{
    for (int part = 0; part <= 2 * RPS_SYSTEM_LATER_MAX + 1; part++) {
        for (int source = 0; source < RPS_SYSTEM_SOURCES; source++) {
            for (int s = 0; s < rps_system_metric_count[source]; s++) {
                const struct rps_system_metric *signal = &rps_system_metrics[source][s];

                if (signal->column.later != part / 2)
                    continue;
                if (row)
                    put_cell(job->state, row, source, s, part % 2);
                else
                    put_names(job, signal, part % 2);
            }
        }
    }
}

static int signals_begin(struct rps_export_job *job, struct rps_error *err)
{
    static const char *const first[][3] = {
        {"run", "", "Number of the run in the store"},
        {"source", "", "Source: tree (the workload), machine, group or package"},
        {"period", "", "Number of the first measurement period"},
        {"last_period", "", "Number of the period at whose end it was read"},
        {"end_s", "s", "Time of the reading, since the start of the run"},
        {"length_s", "s", "Time since the previous reading"},
        {"readings", "", "Number of readings, above 1 in a block"}};
    struct rps_csv_writer *csv = rps_arena_get(job->arena, 1, sizeof(*csv));
    int result = rps_sheet_begin_csv(job, csv, err);

    if (result < 0)
        return result;
    for (size_t i = 0; i < RPS_COUNT(first); i++)
        rps_sheet_name(job, first[i][0], first[i][1], "one per row", first[i][2]);
    put_columns(job, NULL);
    if (!job->options->explain)
        rps_csv_end_head(csv);
    return 0;
}

static void put_row(struct rps_export_job *job, const struct rps_system_row *row)
{
    struct rps_csv_writer *csv = job->state;
    rps_csv_int64(csv, job->run->run_id);
    rps_csv_text(csv, rps_system_sources[row->source]);
    rps_csv_uint64(csv, row->period);
    rps_csv_uint64(csv, row->last_period);
    rps_csv_seconds(csv, row->end_ns);
    rps_csv_seconds(csv, row->length_us * 1000);
    rps_csv_uint64(csv, rps_system_row_readings(row));
    put_columns(job, row);
    rps_csv_end_row(csv);
}

static void ignore(struct rps_export_job *job, const struct rps_period *period)
{
    (void)job;
    (void)period;
}

static void signals_end(struct rps_export_job *job)
{
    const struct rps_export_options *options = job->options;

    for (int source = 0; source < RPS_SYSTEM_SOURCES && job->result == 0; source++) {
        struct rps_system_cursor *cursor;
        struct rps_system_row row;

        job->result = rps_system_cursor_open(&cursor, job->reader, job->run->run_id,
                                             (enum rps_system_source)source, options->from_ns,
                                             options->to_ns, 0, &job->err);
        while (job->result == 0 &&
               (job->result = rps_system_cursor_next(cursor, &row, &job->err)) > 0) {
            put_row(job, &row);
            job->result = 0;
        }
        rps_system_cursor_close(cursor);
    }
    rps_csv_flush(job->state);
}

const struct rps_export_format rps_export_signals = {
    .name = "signals",
    .begin = signals_begin,
    .period = ignore,
    .end = signals_end,
};
