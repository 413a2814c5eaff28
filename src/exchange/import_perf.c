/*
 * What perf stat -x says of an event in an interval.
 *
 * perf scales what it counted in turns: a value stands for all the time that the event was enabled,
 * and run time and percent say how much of it that was.
 */
#include "import_perf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "import_cells.h"
#include "rpistat/clock.h"

/* Units of counts that are not whole numbers, and what makes them whole. */
struct perf_unit {
    const char *name, *whole;
    double factor;
    const char *suffix; /* to the event's name, where people expect another unit */
};

static const struct perf_unit perf_units[] = {
    {"", "", 1, ""},
    {"msec", "ns", 1e6, ""},
    {"ns", "ns", 1, ""},
    {"Joules", "uJ", 1e6, " in uJ"},
    {"Bytes", "B", 1, ""},
    {"KiB", "B", 1024, " in bytes"},
    {"MiB", "B", 1048576, " in bytes"},
    {"GiB", "B", 1073741824, " in bytes"},
};

/* The unit of a count; NULL: a value in it is no count, but a temperature or a power. */
static const struct perf_unit *find_unit(const char *name)
{
    for (size_t i = 0; i < sizeof(perf_units) / sizeof(perf_units[0]); i++)
        if (strcmp(perf_units[i].name, name) == 0)
            return &perf_units[i];
    return NULL;
}

static int is_clock(const char *event, const char *name)
{
    size_t length = strlen(name);

    return strncmp(event, name, length) == 0 && (event[length] == '\0' || event[length] == ':');
}

/* The time on a counter, and what that is a part of. */
static int parse_times(struct rps_import_interval *interval, const struct rps_perf_line *line,
                       struct rps_import_datum *datum, double *ret_percent, struct rps_error *err)
{
    int64_t length_ns = interval->end_ns - interval->start_ns;
    uint64_t run_ns;

    datum->enabled_ns = datum->running_ns = -1;
    *ret_percent = 100;
    if (!line->run_ns || !line->run_ns[0])
        return 0;
    if (!rps_cell_count(line->run_ns, &run_ns) || run_ns > INT64_MAX / 2)
        return rps_cell_refuse(interval->builder, "the run time", line->run_ns, err);
    if (line->percent && line->percent[0] &&
        (!rps_cell_number(line->percent, ret_percent) || *ret_percent < 0 || *ret_percent > 100))
        return rps_cell_refuse(interval->builder, "the share of time", line->percent, err);
    datum->running_ns = (int64_t)run_ns;
    if (*ret_percent > 0 && (double)run_ns * 100 / *ret_percent < (double)(INT64_MAX / 2))
        datum->enabled_ns = llround((double)run_ns * 100 / *ret_percent);
    else
        datum->enabled_ns = datum->running_ns > length_ns ? datum->running_ns : length_ns;
    return 0;
}

static int parse_value(struct rps_import_interval *interval, const struct rps_perf_line *line,
                       const struct perf_unit *unit, struct rps_import_datum *datum,
                       struct rps_error *err)
{
    datum->is_exact = unit && unit->factor <= 1 && rps_cell_count(line->value, &datum->count);
    if (datum->is_exact)
        return 0;
    if (!rps_cell_number(line->value, &datum->value))
        return rps_cell_refuse(interval->builder, "the count", line->value, err);
    if (unit)
        datum->value = round(datum->value * unit->factor);
    return 0;
}

static int add_event(struct rps_import_interval *interval, struct rps_import_datum *datum,
                     const struct rps_perf_line *line, struct rps_error *err)
{
    int is_task_clock = is_clock(line->event, "task-clock");
    const char *unit_name = line->unit ? line->unit : "";
    const struct perf_unit *unit;
    double percent;
    char name[512];

    /* old versions of perf leave the unit of the clocks out */
    if (!unit_name[0] && (is_task_clock || is_clock(line->event, "cpu-clock")))
        unit_name = "msec";
    unit = find_unit(unit_name);
    datum->column.unit = unit ? unit->whole : unit_name;
    datum->column.kind = !unit ? RPS_IMPORT_GAUGE : RPS_IMPORT_COUNT;
    if (is_task_clock && !line->cgroup)
        datum->column.kind = RPS_IMPORT_CLOCK;
    snprintf(name, sizeof(name), "%s%s%s%s", line->event, line->cgroup ? " " : "",
             line->cgroup ? line->cgroup : "", unit ? unit->suffix : "");
    datum->column.name = name;
    if (parse_times(interval, line, datum, &percent, err) < 0)
        return RPS_FAILED;
    if (!line->value)
        return 0;
    if (strcmp(line->value, "<not supported>") == 0)
        return rps_import_unsupported(interval->builder, &datum->column, err);
    if (strcmp(line->value, "<not counted>") == 0) {
        /* 100 % of no time: it was never enabled, for the workload did not run, and the count is a
           true 0; else it never came onto a counter */
        int is_zero = datum->running_ns == 0 && percent >= 100 && unit;

        datum->is_exact = 1;
        datum->enabled_ns = is_zero ? -1 : interval->end_ns - interval->start_ns;
        datum->running_ns = is_zero ? -1 : 0;
    } else if (parse_value(interval, line, unit, datum, err) < 0) {
        return RPS_FAILED;
    }
    return rps_import_interval_add(interval, datum, err);
}

/* Events a second and CPUs are known from counts, also where perf leaves them out. */
static int is_known(const char *metric)
{
    size_t length = strlen(metric);

    return strcmp(metric, "CPUs utilized") == 0 ||
           (length >= 4 && strcmp(metric + length - 4, "/sec") == 0);
}

static int add_metric(struct rps_perf_reader *reader, struct rps_import_datum *datum,
                      const struct rps_perf_line *line, struct rps_error *err)
{
    const char *name = line->metric_unit + strspn(line->metric_unit, " ");
    size_t length = strcspn(name, " ");
    char text[512], unit[64] = "";

    if (!*name || strcmp(name, "(null)") == 0 || is_known(name) || !line->metric ||
        !rps_cell_number(line->metric, &datum->value))
        return 0;
    /* "%  tma_retiring", "MB/s  memory_bandwidth_read" */
    if (name[length] && (name[length + 1] == ' ' || *name == '%')) {
        snprintf(unit, sizeof(unit), "%.*s", (int)length, name);
        name += length + strspn(name + length, " ");
    }
    snprintf(text, sizeof(text), "%s%s", name, reader->scope);
    datum->column.name = text;
    datum->column.unit = unit;
    datum->column.kind = RPS_IMPORT_GAUGE;
    datum->enabled_ns = datum->running_ns = -1;
    return rps_import_interval_add(&reader->interval, datum, err);
}

/* Processors with two kinds of cores have an event and its metrics for each: cpu_core/cycles/. */
static void set_scope(struct rps_perf_reader *reader, const struct rps_perf_line *line)
{
    const char *event = line->event ? line->event : "", *cgroup = line->cgroup ? line->cgroup : "";
    int pmu = (int)strcspn(event, "/:");

    if (event[pmu] != '/' || strncmp(event, "cpu/", 4) == 0)
        pmu = 0;
    snprintf(reader->scope, sizeof(reader->scope), "%s%.*s%s%s%s", pmu ? " (" : "", pmu, event,
             pmu ? ")" : "", *cgroup ? " " : "", cgroup);
}

int rps_import_perf_line(struct rps_perf_reader *reader, const struct rps_perf_line *line,
                         struct rps_error *err)
{
    struct rps_import_datum datum = {.column.panel = ""}, metric;
    const char *pmu = line->group ? strstr(line->group, " (") : NULL;

    if (rps_import_interval_cpu(&reader->interval, line->track, &datum.cpu, err) < 0)
        return RPS_FAILED;
    metric = datum;
    if (line->event || line->cgroup)
        set_scope(reader, line);
    else if (line->group)
        snprintf(reader->scope, sizeof(reader->scope), "%s", pmu ? pmu : "");
    if (line->event && line->event[0]) {
        reader->interval.events++;
        if (add_event(&reader->interval, &datum, line, err) < 0)
            return RPS_FAILED;
    }
    return line->metric_unit ? add_metric(reader, &metric, line, err) : 0;
}

/* "Sun Nov 22 18:36:25 2026", as ctime() has it, in the zone of the reader */
void rps_import_perf_start(struct rps_import_builder *builder)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[64], month[4];
    const char *found;
    struct tm tm = {.tm_isdst = -1};
    int64_t start_s;

    if (!rps_import_comment(rps_import_head(builder), "# started on ", text, sizeof(text)) ||
        sscanf(text, "%*3s %3s %2d %2d:%2d:%2d %4d", month, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
               &tm.tm_sec, &tm.tm_year) != 6)
        return;
    found = strstr(months, month);
    if (!found)
        return;
    tm.tm_mon = (int)(found - months) / 3;
    tm.tm_year -= 1900;
    start_s = mktime(&tm);
    if (start_s > 0 && start_s < INT64_MAX / RPS_NS_PER_S)
        rps_import_run(builder)->start_realtime_ns = start_s * RPS_NS_PER_S;
}
