/* Values of perf stat -x. The values of an interval are gathered from all its lines, in any order.
 * The builder receives the values as one period per CPU.
 *
 * perf scales multiplexed counts: a value covers all the time in which the event was enabled. The
 * run time and the percentage in a line show how much of this time was counted. */
#include "import_perf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "import_parts.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/period.h"
#include "rpistat/text.h"

#define DATUM_MAX (1 << 18) /* maximum number of values in an interval */
#define TRACK_MAX 4096      /* maximum number of cores; a name is compared with all others */

struct datum {
    int32_t cpu;
    struct rps_import_column column; /* column, whose text is a copy */
    long double value;
    int64_t enabled_ns, running_ns;
};

struct rps_perf_gathered {
    struct datum datum; /* value; the text of its column is not kept */
    int column;
    size_t order;
};

/* --- CPUs ------------------------------------------------------------------------------------- */

static int add_track(struct rps_perf_reader *reader, const char *name, struct rps_error *err)
{
    if (reader->track_count == TRACK_MAX)
        return rps_import_refuse(reader->builder, err, "there are more than %d names of CPUs",
                                 TRACK_MAX);
    reader->track = rps_arena_grow(reader->builder->arena, reader->track, reader->track_count,
                                   sizeof(*reader->track));
    reader->track[reader->track_count] = rps_arena_text(reader->builder->arena, name);
    rps_import_note(reader->builder, "%.79s is CPU %zu of the run", name, reader->track_count);
    reader->track_count++;
    return 0;
}

static int cpu_of(struct rps_perf_reader *reader, const char *track, int32_t *ret,
                  struct rps_error *err)
{
    const char *digits = track && strncmp(track, "CPU", 3) == 0 ? track + 3 : track;
    size_t i, count;

    *ret = RPS_CPU_ALL;
    if (!track || !track[0])
        return 0;
    if (digits[0] && strlen(digits) < 7 && !digits[strspn(digits, "0123456789")]) {
        *ret = (int32_t)atoi(digits);
        return 0;
    }
    /* start with the name that was found last, since most files keep their order */
    for (i = reader->next_track, count = reader->track_count; count > 0; i++, count--) {
        i = i < reader->track_count ? i : 0;
        if (strcmp(reader->track[i], track) == 0)
            break;
    }
    if (count == 0) {
        i = reader->track_count;
        if (add_track(reader, track, err) < 0)
            return RPS_FAILED;
    }
    reader->next_track = i;
    *ret = (int32_t)i;
    return 0;
}

/* --- columns ---------------------------------------------------------------------------------- */

/* Find the column for the nth value (n from 1) among the interval's values with the same name. The
 * column of the first value already exists. */
static int find_column(struct rps_perf_reader *reader, const struct rps_perf_gathered *gathered,
                       int nth, int *ret, struct rps_error *err)
{
    const struct rps_import_known_column *first = &reader->builder->column[gathered->column];
    struct rps_import_column column = {.unit = first->unit, .panel = first->panel};
    char text[512];

    *ret = gathered->column;
    if (nth == 1)
        return 0;
    snprintf(text, sizeof(text), "%.*s#%d", (int)rps_text_cut(first->name, 480), first->name, nth);
    column.name = text;
    column.kind = first->kind == RPS_IMPORT_CLOCK ? RPS_IMPORT_COUNT : first->kind;
    return rps_import_column(reader->builder, &column, ret, err);
}

/* --- values ----------------------------------------------------------------------------------- */

/* Refuse an invalid count while its line is read, not only at the end of the interval. */
static int check_count(struct rps_perf_reader *reader, const struct datum *datum,
                       struct rps_error *err)
{
    if (datum->column.kind == RPS_IMPORT_GAUGE || (datum->value >= 0 && datum->value < 0x1p63L))
        return 0;
    return rps_import_refuse(reader->builder, err, "'%.79s' cannot have a count of %.17Lg",
                             datum->column.name, datum->value);
}

static int add_datum(struct rps_perf_reader *reader, const struct datum *datum,
                     struct rps_error *err)
{
    struct rps_perf_gathered *gathered;
    int column;

    if (check_count(reader, datum, err) < 0 ||
        rps_import_column(reader->builder, &datum->column, &column, err) < 0)
        return RPS_FAILED;
    if (reader->datum_count == DATUM_MAX)
        return rps_import_refuse(reader->builder, err,
                                 "there are more than %d values of one interval", DATUM_MAX);
    gathered = rps_array_add(&reader->datum, reader->datum_count, sizeof(*gathered));
    if (!gathered)
        return rps_error_memory(err);
    gathered->datum = *datum;
    gathered->column = column;
    gathered->order = reader->datum_count++;
    return 0;
}

static int compare_gathered(const void *a, const void *b)
{
    const struct rps_perf_gathered *x = a, *y = b;

    if (x->datum.cpu != y->datum.cpu)
        return x->datum.cpu < y->datum.cpu ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int is_counted(const struct rps_perf_gathered *gathered, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gathered[i].datum.running_ns != 0 || gathered[i].datum.enabled_ns <= 0)
            return 1;
    return 0;
}

/* Pass the period of one CPU to the builder, unless nothing was counted. */
static int report_period(struct rps_perf_reader *reader, const struct rps_perf_gathered *gathered,
                         size_t count, struct rps_error *err)
{
    int nth = 0, column, result;

    if (!is_counted(gathered, count))
        return 0;
    result = rps_import_begin_period(reader->builder, gathered->datum.cpu, reader->start_ns,
                                     reader->end_ns - reader->start_ns, err);
    for (size_t i = 0; i < count && result == 0; i++) {
        nth = i > 0 && gathered[i].column == gathered[i - 1].column ? nth + 1 : 1;
        result = find_column(reader, gathered + i, nth, &column, err);
        if (result == 0)
            result =
                rps_import_value(reader->builder, column, gathered[i].datum.value,
                                 gathered[i].datum.enabled_ns, gathered[i].datum.running_ns, err);
    }
    return result < 0 ? result : rps_import_end_period(reader->builder, err);
}

static int hand_over_gathered(struct rps_perf_reader *reader, struct rps_error *err)
{
    struct rps_perf_gathered *gathered = reader->datum;
    size_t end;
    int result = 0;

    if (reader->datum_count > 0)
        qsort(gathered, reader->datum_count, sizeof(*gathered), compare_gathered);
    for (size_t i = 0; i < reader->datum_count && result == 0; i = end) {
        for (end = i + 1; end < reader->datum_count; end++)
            if (gathered[end].datum.cpu != gathered[i].datum.cpu)
                break;
        result = report_period(reader, gathered + i, end - i, err);
    }
    reader->datum_count = 0;
    reader->next_track = 0;
    return result;
}

int rps_perf_interval(struct rps_perf_reader *reader, int64_t end_ns, struct rps_error *err)
{
    end_ns += reader->base_ns;
    /* The next run of the file begins; several runs are read in sequence only to find phases. */
    if (end_ns < reader->end_ns && reader->builder->signals) {
        if (hand_over_gathered(reader, err) < 0)
            return RPS_FAILED;
        end_ns += reader->end_ns - reader->base_ns;
        reader->base_ns = reader->end_ns;
        reader->builder->is_broken = 1;
    }
    if (end_ns > 0 && end_ns == reader->end_ns)
        return 0;
    if (end_ns <= reader->end_ns)
        return rps_import_refuse(
            reader->builder, err,
            "the time goes back from %.9f s to %.9f s; sort the intervals by time",
            (double)reader->end_ns / RPS_NS_PER_S, (double)end_ns / RPS_NS_PER_S);
    if (hand_over_gathered(reader, err) < 0)
        return RPS_FAILED;
    reader->events_before = reader->events;
    reader->events = 0;
    reader->start_ns = reader->end_ns;
    reader->end_ns = end_ns;
    return 0;
}

int rps_perf_close(struct rps_perf_reader *reader, int result, struct rps_error *err)
{
    if (result == 0 && reader->events >= reader->events_before)
        result = hand_over_gathered(reader, err);
    else if (result == 0)
        rps_import_note(reader->builder,
                        "the last interval has fewer events than the one before, %zu instead of "
                        "%zu; the file was cut off, so this interval is left out",
                        reader->events, reader->events_before);
    free(reader->datum);
    return result;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Units of counts that are not integers. Each unit has a factor that makes the count an integer. */
struct perf_unit {
    const char *name, *whole;
    double factor;
    const char *suffix; /* suffix of the event's name, if users expect another unit */
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

/* Return the unit of a count. NULL: no count, but for example a temperature or a power. */
static const struct perf_unit *find_unit(const char *name)
{
    for (size_t i = 0; i < RPS_COUNT(perf_units); i++)
        if (strcmp(perf_units[i].name, name) == 0)
            return &perf_units[i];
    return NULL;
}

static int is_clock(const char *event, const char *name)
{
    size_t length = strlen(name);

    return strncmp(event, name, length) == 0 && (event[length] == '\0' || event[length] == ':');
}

/* Parse the time during which the event was on a counter, and its share of the enabled time. */
static int parse_times(struct rps_perf_reader *reader, const struct rps_perf_line *line,
                       struct datum *datum, long double *ret_percent, struct rps_error *err)
{
    int64_t length_ns = reader->end_ns - reader->start_ns;
    uint64_t run_ns;

    datum->enabled_ns = datum->running_ns = -1;
    *ret_percent = 100;
    if (!line->run_ns || !line->run_ns[0])
        return 0;
    if (!rps_cell_count(line->run_ns, &run_ns) || run_ns > INT64_MAX / 2)
        return rps_cell_refuse(reader->builder, "the run time", line->run_ns, err);
    if (line->percent && line->percent[0] &&
        (!rps_cell_number(line->percent, ret_percent) || *ret_percent < 0 || *ret_percent > 100))
        return rps_cell_refuse(reader->builder, "the share of time", line->percent, err);
    datum->running_ns = (int64_t)run_ns;
    if (*ret_percent > 0 && (double)run_ns * 100 / (double)*ret_percent < (double)(INT64_MAX / 2))
        datum->enabled_ns = llround((double)run_ns * 100 / (double)*ret_percent);
    else
        datum->enabled_ns = datum->running_ns > length_ns ? datum->running_ns : length_ns;
    return 0;
}

static int add_event(struct rps_perf_reader *reader, struct datum *datum,
                     const struct rps_perf_line *line, struct rps_error *err)
{
    int is_task_clock = is_clock(line->event, "task-clock");
    const char *unit_name = line->unit ? line->unit : "";
    const struct perf_unit *unit;
    long double percent;
    char name[512];

    /* old versions of perf omit the unit of the clocks */
    if (!unit_name[0] && (is_task_clock || is_clock(line->event, "cpu-clock")))
        unit_name = "msec";
    unit = find_unit(unit_name);
    datum->column.unit = unit ? unit->whole : unit_name;
    datum->column.kind = !unit ? RPS_IMPORT_GAUGE : RPS_IMPORT_COUNT;
    if (is_task_clock && !line->cgroup &&
        datum->cpu == RPS_CPU_ALL) /* task-clock of a single CPU includes idle time */
        datum->column.kind = RPS_IMPORT_CLOCK;
    snprintf(name, sizeof(name), "%s%s%s%s", line->event, line->cgroup ? " " : "",
             line->cgroup ? line->cgroup : "", unit ? unit->suffix : "");
    datum->column.name = name;
    if (parse_times(reader, line, datum, &percent, err) < 0)
        return RPS_FAILED;
    if (!line->value)
        return 0;
    if (strcmp(line->value, "<not supported>") == 0)
        return rps_import_unsupported(reader->builder, &datum->column, err);
    if (strcmp(line->value, "<not counted>") == 0) {
        /* 100 % of a time of 0 means that the event was never enabled, since the workload did not
         * run. The count is a true 0. Otherwise the event was never on a counter */
        int is_zero = datum->running_ns == 0 && percent >= 100 && unit;

        datum->enabled_ns = is_zero ? -1 : reader->end_ns - reader->start_ns;
        datum->running_ns = is_zero ? -1 : 0;
    } else if (!rps_cell_number(line->value, &datum->value)) {
        return rps_cell_refuse(reader->builder, "the count", line->value, err);
    } else if (unit) {
        datum->value = roundl(datum->value * unit->factor);
    }
    return add_datum(reader, datum, err);
}

/* Return 1 for events per second and CPUs: counts yield these metrics even if perf omits them. */
static int is_known(const char *metric)
{
    size_t length = strlen(metric);

    return strcmp(metric, "CPUs utilized") == 0 ||
           (length >= 4 && strcmp(metric + length - 4, "/sec") == 0);
}

static int add_metric(struct rps_perf_reader *reader, struct datum *datum,
                      const struct rps_perf_line *line, struct rps_error *err)
{
    const char *name = line->metric_unit + strspn(line->metric_unit, " ");
    size_t length = strcspn(name, " ");
    char text[512], unit[64] = "";

    if (!*name || strcmp(name, "(null)") == 0 || is_known(name) || !line->metric ||
        !rps_cell_number(line->metric, &datum->value))
        return 0;
    /* as in "%  tma_retiring" and "MB/s  memory_bandwidth_read" */
    if (name[length] && (name[length + 1] == ' ' || *name == '%')) {
        snprintf(unit, sizeof(unit), "%.*s", (int)length, name);
        name += length + strspn(name + length, " ");
    }
    snprintf(text, sizeof(text), "%s%s", name, reader->scope);
    datum->column.name = text;
    datum->column.unit = unit;
    datum->column.kind = RPS_IMPORT_GAUGE;
    datum->enabled_ns = datum->running_ns = -1;
    return add_datum(reader, datum, err);
}

/* Set the prefix of metrics' names. On processors with two types of cores, each type has its own
 * event and metrics, such as cpu_core/cycles/. */
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
    struct datum datum = {.column.panel = ""}, metric;
    const char *pmu = line->group ? strstr(line->group, " (") : NULL;

    if (cpu_of(reader, line->track, &datum.cpu, err) < 0)
        return RPS_FAILED;
    metric = datum;
    if (line->event || line->cgroup)
        set_scope(reader, line);
    else if (line->group)
        snprintf(reader->scope, sizeof(reader->scope), "%s", pmu ? pmu : "");
    if (line->event && line->event[0]) {
        reader->events++;
        if (add_event(reader, &datum, line, err) < 0)
            return RPS_FAILED;
    }
    return line->metric_unit ? add_metric(reader, &metric, line, err) : 0;
}

/* Parse a time such as "Sun Nov 22 18:36:25 2026", as from ctime(), in the reader's time zone. */
void rps_import_perf_start(struct rps_import_builder *builder)
{
    struct tm tm = {.tm_isdst = -1};
    char text[64];
    int64_t start_s;

    if (!rps_import_comment(rps_import_head(builder), "# started on ", text, sizeof(text)) ||
        !strptime(text, "%a %b %d %H:%M:%S %Y", &tm))
        return;
    start_s = mktime(&tm);
    if (start_s > 0 && start_s < INT64_MAX / RPS_NS_PER_S)
        rps_import_run(builder)->start_realtime_ns = start_s * RPS_NS_PER_S;
}
