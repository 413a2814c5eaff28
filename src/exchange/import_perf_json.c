/*
 * perf stat -I MS -j: an object a line, as perf 5.19 and later write it. Numbers stand in strings
 * or not. Some versions write what is no JSON, and is mended: bare numbers with the decimal comma
 * of the locale, a comma behind the last value, and bare nan and inf.
 */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "import_cells.h"
#include "import_perf.h"

/* Outside strings valid lines have no comma between two digits or before a brace, and no such
 * words. */
static void mend(char *line)
{
    int in_string = 0;

    for (char *c = line; *c; c++) {
        if (in_string && *c == '\\' && c[1])
            c++;
        else if (*c == '"')
            in_string = !in_string;
        else if (*c == ',' && !in_string && c > line && isdigit((unsigned char)c[-1]) &&
                 isdigit((unsigned char)c[1]))
            *c = '.';
        else if (*c == ',' && !in_string && c[1 + strspn(c + 1, " ")] == '}')
            *c = ' ';
        else if (!in_string && (strncmp(c, "nan", 3) == 0 || strncmp(c, "inf", 3) == 0)) {
            if (c > line && c[-1] == '-')
                c[-1] = ' ';
            memcpy(c, "\"\" ", 3);
            c += 2;
        }
    }
}

/* The text of a value, or a number's; NULL without one. */
static const char *get(const json_t *object, const char *key, char *ret, size_t size)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_integer(value))
        snprintf(ret, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(ret, size, "%.17g", json_real_value(value));
    else
        return NULL;
    return ret;
}

/* When the interval ended: 1, or 0 without a time. */
static int get_time(const json_t *object, int64_t *ret_ns)
{
    const json_t *value = json_object_get(object, "interval");
    double seconds = json_number_value(value);
    char text[64];

    if (json_is_string(value))
        return rps_cell_seconds(json_string_value(value), ret_ns);
    if (!json_is_number(value) || !(seconds >= 0) || seconds >= 1e9)
        return 0;
    snprintf(text, sizeof(text), "%.9f", seconds);
    return rps_cell_seconds(text, ret_ns);
}

static const char *const tracks[] = {"cpu", "core", "die", "socket", "node", "cluster", "cache"};

#define TRACKS (sizeof(tracks) / sizeof(tracks[0]))

/* The CPU, or what stands in its place. */
static const char *get_track(const json_t *object, char *ret, size_t size)
{
    const char *track = NULL;

    for (size_t i = 0; i < TRACKS && !track; i++)
        track = get(object, tracks[i], ret, size);
    return track;
}

/* 1 when the key of --metric-only is a metric's name. */
static int is_metric(const char *key, const json_t *value)
{
    for (size_t i = 0; i < TRACKS; i++)
        if (strcmp(key, tracks[i]) == 0)
            return 0;
    return json_is_string(value) && strcmp(key, "cgroup") != 0 && strcmp(key, "interval") != 0 &&
           strcmp(key, "metric-value") != 0;
}

/* An object of --metric-only: "GHz" : "0.990". */
static int read_metrics(struct rps_perf_reader *reader, json_t *object, struct rps_perf_line *line,
                        struct rps_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        line->metric_unit = key;
        line->metric = json_string_value(value);
        if (is_metric(key, value) && rps_import_perf_line(reader, line, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

static int read_object(struct rps_perf_reader *reader, json_t *object, struct rps_error *err)
{
    struct rps_import_interval *interval = &reader->interval;
    struct rps_perf_line line = {0};
    char track[64], value[64], run_ns[64], percent[64], metric[64];

    if (!get_time(object, &line.end_ns)) {
        if (interval->end_ns > 0)
            return 0; /* --summary: totals */
        return rps_import_perf_no_intervals(interval->builder, err);
    }
    if (json_object_get(object, "thread"))
        return rps_import_perf_threads(interval->builder, err);
    if (rps_import_interval_line(interval, line.end_ns, err) < 0)
        return RPS_FAILED;
    line.track = get_track(object, track, sizeof(track));
    line.event = get(object, "event", NULL, 0);
    line.metric_unit = get(object, "metric-unit", NULL, 0);
    line.value = get(object, "counter-value", value, sizeof(value));
    line.unit = get(object, "unit", NULL, 0);
    line.cgroup = get(object, "cgroup", NULL, 0);
    line.run_ns = get(object, "event-runtime", run_ns, sizeof(run_ns));
    line.percent = get(object, "pcnt-running", percent, sizeof(percent));
    line.metric = get(object, "metric-value", metric, sizeof(metric));
    line.group = get(object, "metricgroup", NULL, 0);
    if (!line.event && !line.metric_unit && !line.group && !line.run_ns)
        return read_metrics(reader, object, &line, err);
    return rps_import_perf_line(reader, &line, err);
}

static int read_line(struct rps_perf_reader *reader, char *text, struct rps_error *err)
{
    json_error_t json_error;
    json_t *object;
    int result;

    if (*text == '#' || !text[strspn(text, " \t")])
        return 0;
    mend(text);
    object = json_loads(text, 0, &json_error);
    if (!json_is_object(object))
        result = rps_import_refuse(reader->interval.builder, err,
                                   "it is no JSON object of perf stat -I -j");
    else
        result = read_object(reader, object, err);
    json_decref(object);
    return result;
}

static int read_file(struct rps_import_builder *builder, const struct rps_import_options *options,
                     struct rps_error *err)
{
    struct rps_perf_reader reader = {.scope = ""};
    char *text;
    int result;

    (void)options;
    rps_import_interval_open(&reader.interval, builder);
    rps_import_perf_start(builder);
    while ((result = rps_import_line(builder, &text, err)) > 0)
        if ((result = read_line(&reader, text, err)) < 0)
            break;
    return rps_import_interval_close(&reader.interval, result, err);
}

static int recognises(const char *head)
{
    const char *row = rps_import_first_row(head);
    size_t length = strcspn(row, "\n");
    const char *found;

    if (*row != '{')
        return 0;
    found = strstr(row, "\"interval\"");
    found = found ? found : strstr(row, "\"counter-value\"");
    return found && found < row + length;
}

const struct rps_import_format rps_import_perf_json = {
    .name = "perf-json",
    .recognises = recognises,
    .read = read_file,
};
