/*
 * perf stat -I MS -j: an object a line, as perf 5.19 and later write it. Numbers stand in strings
 * or not. Some versions write bare numbers with the decimal comma of the locale, which is no JSON:
 * a comma between two digits outside strings, which valid lines never have, is taken for a point.
 */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "import_cells.h"
#include "import_perf.h"

static void mend_commas(char *line)
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

/* The CPU, or what stands in its place. */
static const char *get_track(const json_t *object, char *ret, size_t size)
{
    static const char *const keys[] = {"cpu", "core", "die", "socket", "node", "cluster", "cache"};
    const char *track = NULL;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !track; i++)
        track = get(object, keys[i], ret, size);
    return track;
}

static int read_object(struct rps_import_interval *interval, const json_t *object,
                       struct rps_error *err)
{
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
    return rps_import_perf_line(interval, &line, err);
}

static int read_line(struct rps_import_interval *interval, char *text, struct rps_error *err)
{
    json_error_t json_error;
    json_t *object;
    int result;

    if (*text == '#' || !text[strspn(text, " \t")])
        return 0;
    mend_commas(text);
    object = json_loads(text, 0, &json_error);
    if (!json_is_object(object))
        result =
            rps_import_refuse(interval->builder, err, "it is no JSON object of perf stat -I -j");
    else
        result = read_object(interval, object, err);
    json_decref(object);
    return result;
}

static int read_file(struct rps_import_builder *builder, const struct rps_import_options *options,
                     struct rps_error *err)
{
    struct rps_import_interval interval;
    char *text;
    int result;

    (void)options;
    rps_import_interval_open(&interval, builder);
    rps_import_perf_start(builder);
    while ((result = rps_import_line(builder, &text, err)) > 0)
        if ((result = read_line(&interval, text, err)) < 0)
            break;
    if (result == 0)
        result = rps_import_interval_finish(&interval, err);
    rps_import_interval_close(&interval);
    return result;
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
