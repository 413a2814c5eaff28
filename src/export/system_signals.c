/*
 * The export of system metrics: one row per reading and source, or per block of downsampled
 * readings. One column per metric, in its own unit: a gauge has its value, or mean, a counter its
 * increase in length_s. After all of them come the lowest and highest of each, for a counter per
 * second. They are empty for a single reading, and if the metric was not read.
 */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "rpistat/csv_writer.h"
#include "rpistat/run_system.h"

/* The suffix of a column's name. */
static const char *unit_of(const struct rps_system_signal *signal)
{
    static const char *const behind[][2] = {
        {"us", "_us"}, {"KiB", "_kib"}, {"uJ", "_uj"}, {"MHz", "_mhz"}};

    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++)
        if (strcmp(signal->unit, behind[i][0]) == 0)
            return behind[i][1];
    return "";
}

/* The columns of a metric newer than the others are after all of them, which keep their places. */
static int is_appended(int source, int slot)
{
    return source == RPS_SYSTEM_TREE && slot == RPS_TREE_IDLE;
}

/* Put the name of a value, or the names of its extremes. */
static void put_names(struct rps_csv_writer *csv, const struct rps_system_signal *signal,
                      int is_ends)
{
    const char *unit = unit_of(signal);
    char name[64];

    snprintf(name, sizeof(name), "%s%s%s", signal->name, unit, is_ends ? "_low" : "");
    rps_csv_text(csv, name);
    snprintf(name, sizeof(name), "%s%s_high", signal->name, unit);
    if (is_ends)
        rps_csv_text(csv, name);
}

static int signals_begin(struct rps_export_job *job, struct rps_error *err)
{
    static const char *const first[] = {"run",   "source",   "period",  "last_period",
                                        "end_s", "length_s", "readings"};
    struct rps_csv_writer *csv = rps_arena_get(job->arena, 1, sizeof(*csv));
    int result = rps_csv_begin(job->arena, csv, job->out, &job->options->csv, err);

    job->state = csv;
    if (result < 0)
        return result;
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        rps_csv_text(csv, first[i]);
    for (int end = 0; end < 2; end++)
        for (int source = 0; source < RPS_SYSTEM_SOURCES; source++)
            for (int s = 0; s < rps_system_signal_count[source]; s++)
                if (!is_appended(source, s))
                    put_names(csv, &rps_system_signals[source][s], end);
    for (int end = 0; end < 2; end++)
        put_names(csv, &rps_system_signals[RPS_SYSTEM_TREE][RPS_TREE_IDLE], end);
    rps_csv_end_head(csv);
    return 0;
}

/* Put a value, or its extremes; empty cells if the row does not have them. */
static void put_cell(struct rps_csv_writer *csv, const struct rps_system_row *row, int source,
                     int s, int is_ends)
{
    uint64_t readings = (enum rps_system_source)source == row->source ? row->readings[s] : 0;
    int is_gauge = rps_system_signals[source][s].kind == RPS_SYSTEM_GAUGE;

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

static void put_cells(struct rps_csv_writer *csv, const struct rps_system_row *row, int is_ends)
{
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++)
        for (int s = 0; s < rps_system_signal_count[source]; s++)
            if (!is_appended(source, s))
                put_cell(csv, row, source, s, is_ends);
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
    put_cells(csv, row, 0);
    put_cells(csv, row, 1);
    put_cell(csv, row, RPS_SYSTEM_TREE, RPS_TREE_IDLE, 0);
    put_cell(csv, row, RPS_SYSTEM_TREE, RPS_TREE_IDLE, 1);
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
