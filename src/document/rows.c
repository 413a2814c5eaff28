/* Rows of named values: objects of JSON, or lines of CSV. */
#include "rpistat/rows.h"

#include <math.h>
#include <stdlib.h>

#include "rpistat/csv_writer.h"
#include "rpistat/text.h"

int rps_rows_open(struct rps_rows *rows, FILE *out, enum rps_format format, struct rps_error *err)
{
    static const struct rps_csv_dialect dialect = {.separator = ',', .decimal = '.'};

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
        return rps_csv_begin(rows->csv, rows->to.out, &dialect, err);
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
