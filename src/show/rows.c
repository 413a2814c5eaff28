/* Rows of named values: objects of JSON, or lines of CSV. */
#include "rpistat/rows.h"

#include <math.h>
#include <stdlib.h>

#include "csv_writer.h"
#include "rpistat/text.h"

int rps_rows_open(struct rps_rows *rows, FILE *out, enum rps_format format, struct rps_error *err)
{
    static const struct rps_export_options options = {.separator = ',', .decimal = '.'};

    *rows = (struct rps_rows){.out = out};
    if (rps_json_open(&rows->to, 0) < 0)
        return rps_error_memory(err);
    if (format == RPS_FORMAT_JSON) {
        rows->json = &rows->to;
        rps_json_object(rows->json, NULL);
        return 0;
    }
    rows->csv = calloc(1, sizeof(*rows->csv));
    if (rows->csv)
        return rps_csv_begin(rows->csv, rows->to.out, &options, err);
    free(rps_json_close(&rows->to));
    return rps_error_memory(err);
}

int rps_rows_close(struct rps_rows *rows, int result, struct rps_error *err)
{
    char *text;

    if (rows->json && result >= 0)
        rps_json_end(rows->json);
    else if (rows->csv)
        rps_csv_flush(rows->csv);
    text = rps_json_close(&rows->to);
    if (text && result >= 0)
        fwrite(text, 1, rows->to.size, rows->out);
    else if (result >= 0)
        result = rps_error_memory(err);
    free(text);
    free(rows->csv);
    return result;
}

int rps_rows_begin(struct rps_rows *rows, const char *name)
{
    if (rows->json)
        rps_json_array(rows->json, name);
    rows->naming = !rows->json;
    return rows->naming;
}

void rps_rows_end(struct rps_rows *rows)
{
    if (rows->json)
        rps_json_end(rows->json);
}

void rps_rows_row(struct rps_rows *rows)
{
    rows->in_row = 1;
    if (rows->json)
        rps_json_object(rows->json, NULL);
}

void rps_rows_end_row(struct rps_rows *rows)
{
    if (rows->json)
        rps_json_end(rows->json);
    else
        rps_csv_end_row(rows->csv);
    rows->naming = rows->in_row = 0;
}

/* --- values ----------------------------------------------------------------------------------- */

/* What needs no value: 1 when it was that. */
static int put_name(struct rps_rows *rows, const char *name, int known)
{
    if (!rows->json && !rows->in_row)
        return 1;
    if (rows->naming)
        rps_csv_text(rows->csv, name);
    else if (!known && rows->json)
        rps_json_null(rows->json, name);
    else if (!known)
        rps_csv_empty(rows->csv);
    return rows->naming || !known;
}

void rps_rows_text(struct rps_rows *rows, const char *name, const char *text)
{
    if (put_name(rows, name, text && text[0]))
        return;
    if (rows->json)
        rps_json_text(rows->json, name, text);
    else
        rps_csv_text(rows->csv, text);
}

void rps_rows_int(struct rps_rows *rows, const char *name, int64_t value, int known)
{
    if (put_name(rows, name, known))
        return;
    if (rows->json)
        rps_json_int64(rows->json, name, value);
    else
        rps_csv_int64(rows->csv, value);
}

void rps_rows_uint(struct rps_rows *rows, const char *name, uint64_t value, int known)
{
    if (put_name(rows, name, known))
        return;
    if (rows->json)
        rps_json_uint64(rows->json, name, value);
    else
        rps_csv_uint64(rows->csv, value);
}

void rps_rows_double(struct rps_rows *rows, const char *name, double value)
{
    if (put_name(rows, name, isfinite(value)))
        return;
    if (rows->json)
        rps_json_double(rows->json, name, value);
    else
        rps_csv_double(rows->csv, value);
}

void rps_rows_bool(struct rps_rows *rows, const char *name, int value, int known)
{
    if (put_name(rows, name, known))
        return;
    if (rows->json)
        rps_json_bool(rows->json, name, value);
    else
        rps_csv_text(rows->csv, value ? "true" : "false");
}

void rps_rows_seconds(struct rps_rows *rows, const char *name, int64_t ns, int known)
{
    if (put_name(rows, name, known))
        return;
    if (rows->json)
        rps_json_seconds(rows->json, name, ns);
    else
        rps_csv_seconds(rows->csv, ns);
}

void rps_rows_time(struct rps_rows *rows, const char *name, int64_t realtime_ns, int known)
{
    char text[RPS_TEXT_NUMBER_SIZE];

    rps_rows_text(rows, name, known ? rps_text_utc(text, sizeof(text), realtime_ns) : NULL);
}

void rps_rows_interval(struct rps_rows *rows, const struct rps_interval *interval)
{
    int has_ends = interval->certainty == RPS_CERTAINTY_INTERVAL;

    rps_rows_double(rows, "low", has_ends ? interval->low : NAN);
    rps_rows_double(rows, "high", has_ends ? interval->high : NAN);
    rps_rows_text(rows, "certainty", rps_certainty_name(interval->certainty));
    rps_rows_double(rows, "share",
                    interval->certainty == RPS_CERTAINTY_NONE ? NAN : interval->share);
}

/* --- runs ------------------------------------------------------------------------------------- */

void rps_rows_stretch(struct rps_rows *rows, const struct rps_run *run, int64_t start_ns,
                      int64_t end_ns)
{
    int has_clock = run->start_realtime_ns >= 0;

    rps_rows_seconds(rows, "start_s", start_ns, 1);
    rps_rows_seconds(rows, "end_s", end_ns, 1);
    rps_rows_time(rows, "start", run->start_realtime_ns + start_ns, has_clock);
    rps_rows_time(rows, "end", run->start_realtime_ns + end_ns, has_clock);
}

/* What a flat row has no place for. */
/* A cell: "build=42;host=a". */
static void put_tags(struct rps_rows *rows, const struct rps_run *run)
{
    char *text = NULL;
    size_t size;
    FILE *cell = open_memstream(&text, &size);

    for (int i = 0; cell && i < run->tag_count; i++)
        fprintf(cell, "%s%s=%s", i > 0 ? ";" : "", run->tag[i].key, run->tag[i].value);
    if (cell)
        fclose(cell);
    rps_rows_text(rows, "tags", text);
    free(text);
}

/* A run's tags, and the words of its command. */
static void put_lists(struct rps_json *json, const struct rps_run *run)
{
    rps_json_object(json, "tags");
    for (int i = 0; i < run->tag_count; i++)
        rps_json_text(json, run->tag[i].key, run->tag[i].value);
    rps_json_end(json);
    rps_json_array(json, "argv");
    for (int i = 0; i < run->argc; i++)
        rps_json_text(json, NULL, run->argv[i]);
    rps_json_end(json);
}

void rps_rows_run(struct rps_rows *rows, const struct rps_run *run,
                  const struct rps_run_summary *summary)
{
    int has_ended =
        run->state != RPS_RUN_RECORDING && run->elapsed_ns >= 0 && run->start_realtime_ns >= 0;
    char command[4096];

    rps_rows_int(rows, "run", run->run_id, 1);
    rps_rows_text(rows, "uuid", run->uuid);
    rps_rows_text(rows, "label", run->label);
    rps_rows_text(rows, "command", rps_run_title(command, sizeof(command), run));
    rps_rows_text(rows, "target", run->target);
    rps_rows_text(rows, "state", rps_run_states[run->state]);
    rps_rows_time(rows, "start", run->start_realtime_ns, run->start_realtime_ns >= 0);
    rps_rows_time(rows, "end", run->start_realtime_ns + run->elapsed_ns, has_ended);
    rps_rows_seconds(rows, "elapsed_s", run->elapsed_ns, run->elapsed_ns >= 0);
    rps_rows_seconds(rows, "period_s", run->period_ns, run->period_ns > 0);
    rps_rows_uint(rows, "periods", summary->periods, 1);
    rps_rows_int(rows, "gap_count", summary->gap_count, 1);
    rps_rows_text(rows, "pmu", run->pmu);
    rps_rows_int(rows, "counters", run->counter_count, run->counter_count >= 0);
    rps_rows_text(rows, "plan", summary->plan);
    rps_rows_int(rows, "order_seed", run->order_seed, run->order_seed >= 0);
    rps_rows_text(rows, "end_reason", run->end_reason);
    rps_rows_int(rows, "exit_status", run->exit_status, run->exit_status >= 0);
    rps_rows_int(rows, "exit_signal", run->exit_signal, run->exit_signal > 0);
    rps_rows_seconds(rows, "recorder_cpu_s", run->recorder_cpu_ns, run->recorder_cpu_ns > 0);
    rps_rows_seconds(rows, "recorder_after_s", run->recorder_after_ns, run->recorder_after_ns >= 0);
    rps_rows_text(rows, "host", run->host);
    rps_rows_text(rows, "cpu_model", run->cpu_model);
    rps_rows_int(rows, "cpu_count", run->cpu_count, run->cpu_count > 0);
    rps_rows_text(rows, "kernel", run->kernel);
    rps_rows_text(rows, "architecture", run->architecture);
    rps_rows_text(rows, "version", run->version);
    if (rows->json)
        put_lists(rows->json, run);
    else
        put_tags(rows, run);
}
