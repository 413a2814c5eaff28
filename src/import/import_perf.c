/* The output of perf stat -I MS -x SEPARATOR:
 *
 *     TIME,[CPU,|CORE,CPUS,]VALUE,UNIT,EVENT[,CGROUP][,NOISE%],RUN TIME,PERCENT,METRIC,UNIT
 *
 * Further metrics of an event are in separate lines. In these lines, only a run time precedes the
 * last two cells. Other lines have only the name of a group of metrics. With --metric-only, perf
 * prints a table, which import_csv.c reads.
 *
 * The values of an interval are gathered from all its lines, in any order. The builder receives the
 * values as one period per CPU. perf scales multiplexed counts: a value covers all the time in
 * which the event was enabled. The run time and the percentage in a line show how much of this time
 * was counted. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "import_build.h"
#include "import_parts.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/period.h"
#include "rpistat/text.h"

#define VALUES_MAX (1 << 18) /* maximum number of values in an interval */
#define TRACK_MAX  4096      /* maximum number of cores; a name is compared with all others */

/* A line has one event in one interval. Texts are those of the file; a missing text is "". */
struct line {
    int64_t end_ns;           /* end of the interval */
    const char *track;        /* name of a CPU, core or socket */
    const char *value, *unit; /* value and unit of the event */
    const char *event, *cgroup;
    const char *run_ns, *percent; /* time on a counter, and its share of the enabled time */
    const char *metric, *metric_unit;
    const char *group; /* group of the metrics that follow: "TopdownL1 (cpu_atom)" */
};

struct value {
    int32_t cpu;
    int column;
    size_t order;
    long double value;
    int64_t enabled_ns, running_ns;
};

struct reader {
    struct rps_import_builder *builder;
    char separator;
    char event[1024];             /* name of the event, joined if it contains the separator */
    unsigned untimed;             /* number of lines without a time */
    int64_t start_ns, end_ns;     /* start and end of the current interval */
    int64_t base_ns;              /* end of the file's previous run; only to find phases */
    size_t events, events_before; /* number of event lines in this and in the previous interval */
    size_t value_count;
    struct value *value; /* values of the interval; owned */
    size_t track_count, next_track;
    const char **track; /* the file's names for CPUs; in the builder's arena */
    char scope[256];    /* prefix of metrics' names: the event's PMU and cgroup, which only the
                           first of the event's lines contains */
};

/* --- CPUs ------------------------------------------------------------------------------------- */

static int add_track(struct reader *reader, const char *name, struct rps_error *err)
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

static int cpu_of(struct reader *reader, const char *track, int32_t *ret, struct rps_error *err)
{
    const char *digits = strncmp(track, "CPU", 3) == 0 ? track + 3 : track;
    size_t i, count;

    *ret = RPS_CPU_ALL;
    if (!track[0])
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

/* --- values ----------------------------------------------------------------------------------- */

/* Find the column for the nth value (n from 1) among the interval's values with the same name. The
 * column of the first value already exists. */
static int find_column(struct reader *reader, int number, int nth, int *ret, struct rps_error *err)
{
    const struct rps_import_known_column *first = &reader->builder->column[number];
    struct rps_import_column column = {.unit = first->unit, .panel = first->panel};
    char text[512];

    *ret = number;
    if (nth == 1)
        return 0;
    snprintf(text, sizeof(text), "%.*s#%d", (int)rps_text_cut(first->name, 480), first->name, nth);
    column.name = text;
    column.kind = first->kind == RPS_IMPORT_CLOCK ? RPS_IMPORT_COUNT : first->kind;
    return rps_import_column(reader->builder, &column, ret, err);
}

/* Add a value to the interval. An invalid count is refused while its line is read. */
static int add_value(struct reader *reader, const struct rps_import_column *column,
                     const struct value *add, struct rps_error *err)
{
    struct value *value;
    int number;

    if (column->kind != RPS_IMPORT_GAUGE && !(add->value >= 0 && add->value < 0x1p63L))
        return rps_import_refuse(reader->builder, err, "'%.79s' cannot have a count of %.17Lg",
                                 column->name, add->value);
    if (rps_import_column(reader->builder, column, &number, err) < 0)
        return RPS_FAILED;
    if (reader->value_count == VALUES_MAX)
        return rps_import_refuse(reader->builder, err,
                                 "there are more than %d values of one interval", VALUES_MAX);
    value = rps_array_add(&reader->value, reader->value_count, sizeof(*value));
    if (!value)
        return rps_error_memory(err);
    *value = *add;
    value->column = number;
    value->order = reader->value_count++;
    return 0;
}

static int compare_values(const void *a, const void *b)
{
    const struct value *x = a, *y = b;

    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Pass the period of one CPU to the builder. */
static int report_period(struct reader *reader, const struct value *value, size_t count,
                         struct rps_error *err)
{
    struct rps_import_builder *builder = reader->builder;
    int nth = 0, column, result;

    result = rps_import_begin_period(builder, value->cpu, reader->start_ns,
                                     reader->end_ns - reader->start_ns, err);
    for (size_t i = 0; i < count && result == 0; i++) {
        nth = i > 0 && value[i].column == value[i - 1].column ? nth + 1 : 1;
        result = find_column(reader, value[i].column, nth, &column, err);
        if (result == 0)
            result = rps_import_value(builder, column, value[i].value, value[i].enabled_ns,
                                      value[i].running_ns, err);
    }
    return result < 0 ? result : rps_import_end_period(builder, err);
}

static int report_interval(struct reader *reader, struct rps_error *err)
{
    struct value *value = reader->value;
    size_t end;
    int result = 0;

    if (reader->value_count > 0)
        qsort(value, reader->value_count, sizeof(*value), compare_values);
    for (size_t i = 0; i < reader->value_count && result == 0; i = end) {
        for (end = i + 1; end < reader->value_count && value[end].cpu == value[i].cpu; end++)
            ;
        result = report_period(reader, value + i, end - i, err);
    }
    reader->value_count = 0;
    reader->next_track = 0;
    return result;
}

/* Begin the interval that ends at end_ns. If end_ns differs from the current interval's end, the
 * current interval is first passed to the builder. */
static int begin_interval(struct reader *reader, int64_t end_ns, struct rps_error *err)
{
    end_ns += reader->base_ns;
    /* The next run of the file begins; several runs are read in sequence only to find phases. */
    if (end_ns < reader->end_ns && reader->builder->signals) {
        if (report_interval(reader, err) < 0)
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
    if (report_interval(reader, err) < 0)
        return RPS_FAILED;
    reader->events_before = reader->events;
    reader->events = 0;
    reader->start_ns = reader->end_ns;
    reader->end_ns = end_ns;
    return 0;
}

/* End the reading: pass on the last interval, and free all memory. If `result` of the reading is
 * negative, it is returned. If the last interval has fewer events than the previous one, the last
 * interval is left out, with a note, because the file was truncated. */
static int end_reading(struct reader *reader, int result, struct rps_error *err)
{
    if (result == 0 && reader->events >= reader->events_before)
        result = report_interval(reader, err);
    else if (result == 0)
        rps_import_note(reader->builder,
                        "the last interval has fewer events than the one before, %zu instead of "
                        "%zu; the file was cut off, so this interval is left out",
                        reader->events, reader->events_before);
    free(reader->value);
    return result;
}

/* --- the values of a line --------------------------------------------------------------------- */

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
static int parse_times(struct reader *reader, const struct line *line, struct value *value,
                       long double *ret_percent, struct rps_error *err)
{
    int64_t length_ns = reader->end_ns - reader->start_ns;
    uint64_t run_ns;

    value->enabled_ns = value->running_ns = -1;
    *ret_percent = 100;
    if (!line->run_ns[0])
        return 0;
    if (!rps_cell_count(line->run_ns, &run_ns) || run_ns > INT64_MAX / 2)
        return rps_cell_refuse(reader->builder, "the run time", line->run_ns, err);
    if (line->percent[0] &&
        (!rps_cell_number(line->percent, ret_percent) || *ret_percent < 0 || *ret_percent > 100))
        return rps_cell_refuse(reader->builder, "the share of time", line->percent, err);
    value->running_ns = (int64_t)run_ns;
    if (*ret_percent > 0 && (double)run_ns * 100 / (double)*ret_percent < (double)(INT64_MAX / 2))
        value->enabled_ns = llround((double)run_ns * 100 / (double)*ret_percent);
    else
        value->enabled_ns = value->running_ns > length_ns ? value->running_ns : length_ns;
    return 0;
}

static int add_event(struct reader *reader, int32_t cpu, const struct line *line,
                     struct rps_error *err)
{
    int is_task_clock = is_clock(line->event, "task-clock");
    /* old versions of perf omit the unit of the clocks */
    int is_msec = !line->unit[0] && (is_task_clock || is_clock(line->event, "cpu-clock"));
    const struct perf_unit *unit = find_unit(is_msec ? "msec" : line->unit);
    char name[512];
    struct rps_import_column column = {name, unit ? unit->whole : line->unit, "",
                                       unit ? RPS_IMPORT_COUNT : RPS_IMPORT_GAUGE};
    struct value value = {.cpu = cpu};
    long double percent;

    reader->events++;
    if (is_task_clock && !line->cgroup[0] &&
        cpu == RPS_CPU_ALL) /* task-clock of a single CPU includes idle time */
        column.kind = RPS_IMPORT_CLOCK;
    snprintf(name, sizeof(name), "%s%s%s%s", line->event, line->cgroup[0] ? " " : "", line->cgroup,
             unit ? unit->suffix : "");
    if (parse_times(reader, line, &value, &percent, err) < 0)
        return RPS_FAILED;
    if (strcmp(line->value, "<not supported>") == 0) {
        if (rps_import_column(reader->builder, &column, &value.column, err) < 0)
            return RPS_FAILED;
        reader->builder->column[value.column].is_unsupported = 1;
        return 0;
    }
    if (strcmp(line->value, "<not counted>") == 0) {
        /* 100 % of a time of 0 means that the event was never enabled, since the workload did not
         * run. The count is a true 0. Otherwise the event was never on a counter */
        int is_zero = value.running_ns == 0 && percent >= 100 && unit;

        value.enabled_ns = is_zero ? -1 : reader->end_ns - reader->start_ns;
        value.running_ns = is_zero ? -1 : 0;
    } else if (!rps_cell_number(line->value, &value.value)) {
        return rps_cell_refuse(reader->builder, "the count", line->value, err);
    } else if (unit) {
        value.value = roundl(value.value * unit->factor);
    }
    return add_value(reader, &column, &value, err);
}

/* Return 1 for events per second and CPUs: counts yield these metrics even if perf omits them. */
static int is_known(const char *metric)
{
    size_t length = strlen(metric);

    return strcmp(metric, "CPUs utilized") == 0 ||
           (length >= 4 && strcmp(metric + length - 4, "/sec") == 0);
}

static int add_metric(struct reader *reader, int32_t cpu, const struct line *line,
                      struct rps_error *err)
{
    const char *name = line->metric_unit + strspn(line->metric_unit, " ");
    size_t length = strcspn(name, " ");
    char text[512], unit[64] = "";
    struct rps_import_column column = {text, unit, "", RPS_IMPORT_GAUGE};
    struct value value = {.cpu = cpu, .enabled_ns = -1, .running_ns = -1};

    if (!*name || strcmp(name, "(null)") == 0 || is_known(name) ||
        !rps_cell_number(line->metric, &value.value))
        return 0;
    /* as in "%  tma_retiring" and "MB/s  memory_bandwidth_read" */
    if (name[length] && (name[length + 1] == ' ' || *name == '%')) {
        snprintf(unit, sizeof(unit), "%.*s", (int)length, name);
        name += length + strspn(name + length, " ");
    }
    snprintf(text, sizeof(text), "%s%s", name, reader->scope);
    return add_value(reader, &column, &value, err);
}

/* Set the prefix of metrics' names. On processors with two types of cores, each type has its own
 * event and metrics, such as cpu_core/cycles/. */
static void set_scope(struct reader *reader, const struct line *line)
{
    const char *event = line->event;
    int pmu = (int)strcspn(event, "/:");

    if (event[pmu] != '/' || strncmp(event, "cpu/", 4) == 0)
        pmu = 0;
    snprintf(reader->scope, sizeof(reader->scope), "%s%.*s%s%s%s", pmu ? " (" : "", pmu, event,
             pmu ? ")" : "", line->cgroup[0] ? " " : "", line->cgroup);
}

/* Add a line. If a column already has a value in the interval, the value goes into another column,
 * NAME#2, because the event was counted twice. "CPU3" and "3" are CPU 3. Other names get numbers in
 * the order in which they occur, with a note. */
static int add_line(struct reader *reader, const struct line *line, struct rps_error *err)
{
    const char *pmu = strstr(line->group, " (");
    int32_t cpu;

    if (cpu_of(reader, line->track, &cpu, err) < 0)
        return RPS_FAILED;
    if (line->event[0])
        set_scope(reader, line);
    else if (line->group[0])
        snprintf(reader->scope, sizeof(reader->scope), "%s", pmu ? pmu : "");
    if (line->event[0] && add_event(reader, cpu, line, err) < 0)
        return RPS_FAILED;
    return add_metric(reader, cpu, line, err);
}

/* Parse a time such as "Sun Nov 22 18:36:25 2026", as from ctime(), in the reader's time zone. */
void rps_import_perf_start(struct rps_import_builder *builder)
{
    struct tm tm = {.tm_isdst = -1};
    char text[64];
    int64_t start_s;

    if (!rps_import_comment(rps_csv_rows_head(builder->rows), "# started on ", text,
                            sizeof(text)) ||
        !strptime(text, "%a %b %d %H:%M:%S %Y", &tm))
        return;
    start_s = mktime(&tm);
    if (start_s > 0 && start_s < INT64_MAX / RPS_NS_PER_S)
        rps_import_run(builder)->start_realtime_ns = start_s * RPS_NS_PER_S;
}
/* --- the cells of a line ---------------------------------------------------------------------- */

static const char *at(char *const *cell, size_t count, size_t i)
{
    return i < count ? cell[i] : "";
}

/* Return 1 for a time with nine decimals, in some locales after a comma. */
static int is_time(const char *cell)
{
    const char *point = strpbrk(cell, ".,");

    return point && strcspn(point + 1, ",;\t|\r\n") == 9;
}

static int is_value(const char *cell)
{
    long double value;

    return *cell == '<' || rps_cell_number(cell, &value);
}

static int is_letter_first(const char *cell)
{
    return isalpha((unsigned char)*cell) || *cell == '_' || *cell == '{' || (*cell & 0x80);
}

static int is_cpu(const char *track)
{
    return strncmp(track, "CPU", 3) == 0 && !track[3 + strspn(track + 3, "0123456789")];
}

/* Return 1 for a part of the machine such as "S0", "S0-D0-C1" or "N0". */
static int is_part(const char *track)
{
    return strcspn(track, "0123456789") == 1 && (*track == 'S' || *track == 'N');
}

/* Find the value of a line. The value follows the time, and also the CPU if the line has a CPU. The
 * name of a core, a socket or a node is followed by its number of CPUs, except if the event has the
 * modifier percore. Before perf 5.18, a line of metrics has an empty cell before the CPU. */
static size_t find_value(char *const *cell, size_t count, const char **ret_track)
{
    size_t i = count > 2 && !cell[1][0] && cell[2][0] && !is_value(cell[2]) ? 2 : 1;

    *ret_track = "";
    if (count < 3 || !cell[i][0] || is_value(cell[i]))
        return 1;
    *ret_track = cell[i];
    if (is_part(cell[i]) && strstr(cell[i], "-C") && count > i + 3 && is_value(cell[i + 1]) &&
        !is_value(cell[i + 2]) && is_letter_first(cell[i + 3]))
        return i + 1;
    return is_cpu(cell[i]) || count == 3 ? i + 1 : i + 2;
}

/* Return 1 for a line of --per-thread, whose value is where other lines have the number of CPUs. */
static int is_of_thread(char *const *cell, size_t count)
{
    const char *track;

    return find_value(cell, count, &track) == 3 && count > 4 && is_value(cell[2]) &&
           !is_value(cell[3]) && is_letter_first(cell[4]);
}

/* Read the event, whose name may contain the separator between slashes. Returns the next index. */
static size_t join_event(struct reader *reader, char *const *cell, size_t count, size_t first)
{
    size_t length = 0, slashes = 0, end = first;

    do {
        for (const char *slash = cell[end]; (slash = strchr(slash, '/')); slash++)
            slashes++;
    } while (++end < count && slashes % 2 == 1);
    if (slashes % 2 == 1)
        end = first + 1; /* the name has a single slash, as in mem:0x1000/8:rw */
    for (size_t i = first; i < end; i++) {
        int written = snprintf(reader->event + length, sizeof(reader->event) - length, "%.*s%s",
                               i > first, &reader->separator, cell[i]);

        if (written < 0 || (size_t)written >= sizeof(reader->event) - length)
            return count;
        length += (size_t)written;
    }
    return end;
}

static int is_whole(const char *cell)
{
    return *cell && !cell[strspn(cell, "0123456789")];
}

static int is_noise(const char *cell)
{
    return *cell && cell[strlen(cell) - 1] == '%';
}

/* Parse the cells after the event: a control group, a share of noise, the run time and others. */
static void parse_rest(struct line *line, char *const *cell, size_t count, size_t i)
{
    size_t time = i + !is_whole(at(cell, count, i));

    time += time > i && is_noise(at(cell, count, time));
    if (time > i && is_whole(at(cell, count, time))) {
        line->cgroup = is_noise(cell[i]) ? "" : cell[i];
        i = time;
    }
    line->run_ns = at(cell, count, i);
    line->percent = at(cell, count, i + 1);
    line->metric = at(cell, count, i + 2);
    line->metric_unit = at(cell, count, i + 3);
}

/* Parse a line that has, after a run time, only a metric or the name of a group. If the metric's
 * value is not a number, the line has only the metric's unit. Returns 1, or 0 for other lines. */
static int parse_metric(struct line *line, char *const *cell, size_t count, size_t i)
{
    long double value;
    int has_time = 0;

    for (; i + 1 < count; i++) {
        if (cell[i][0] && !rps_cell_number(cell[i], &value))
            return 0;
        has_time |= i + 2 < count && cell[i][0];
    }
    line->metric = cell[count - 2];
    if (has_time && !line->metric[0])
        line->group = cell[count - 1];
    else
        line->metric_unit = cell[count - 1];
    return 1;
}

/* Parse the cells of a line. Returns 1, or 0 if the line is not from perf. */
static int parse_line(struct reader *reader, char *const *cell, size_t count, struct line *line)
{
    size_t i;

    *line = (struct line){0, "", "", "", "", "", "", "", "", "", ""};
    if (count < 3 || !rps_cell_seconds(cell[0], &line->end_ns))
        return 0;
    i = find_value(cell, count, &line->track);
    line->value = at(cell, count, i);
    if (!line->value[0])
        return parse_metric(line, cell, count, i);
    if (!is_value(line->value) || i + 2 >= count)
        return 0;
    line->unit = cell[i + 1];
    parse_rest(line, cell, count, join_event(reader, cell, count, i + 2));
    line->event = reader->event;
    return is_letter_first(line->event);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Return 1 for a line of totals, which follows the intervals and has no time. perf prints totals
 * with --summary. perf omits the word "summary" in further lines of metrics. With --no-csv-summary,
 * perf omits the word in all lines of totals. */
static int is_total(char *const *cell, size_t count)
{
    return count >= 3 && (!cell[0][0] || is_value(cell[0]) || is_cpu(cell[0]) || is_part(cell[0]));
}

static int read_row(struct reader *reader, char *const *cell, size_t count, struct rps_error *err)
{
    struct rps_import_builder *builder = reader->builder;
    struct line line;

    if (strcmp(cell[0], "summary") == 0)
        return 0;
    if (!is_time(cell[0])) {
        if (reader->end_ns > 0 && is_total(cell, count) &&
            !(is_value(cell[0]) && is_value(cell[1]))) { /* a time is before the value */
            reader->untimed++;
            return 0;
        }
        if (reader->end_ns == 0)
            return rps_import_refuse(
                builder, err, "it has no cells with times; run 'perf stat -I 100 -x, -o run.csv'");
        return rps_import_refuse(
            builder, err,
            "it is not a line of 'perf stat -I -x%c'; let perf write to its own file with -o",
            reader->separator);
    }
    if (!parse_line(reader, cell, count, &line))
        return is_of_thread(cell, count)
                   ? rps_import_refuse(builder, err,
                                       "its counts are per thread, and runs have them per CPU; "
                                       "leave out --per-thread")
                   : rps_import_refuse(builder, err, "it is not a line of perf stat -I -x%c",
                                       reader->separator);
    /* perf writes a share as 100.00, or in some locales as 100,00 */
    if (is_whole(line.percent))
        return rps_import_refuse(
            builder, err,
            "its decimal mark is also its separator; run perf with LC_ALL=C or '-x\\;'");
    if (begin_interval(reader, line.end_ns, err) < 0)
        return RPS_FAILED;
    return add_line(reader, &line, err);
}

static int read_file(struct rps_import_builder *builder, const struct rps_import_options *options,
                     struct rps_error *err)
{
    struct reader reader = {.builder = builder};
    char *const *cell;
    size_t count;
    int result;

    (void)options;
    reader.separator = rps_import_separator(rps_import_first_row(rps_csv_rows_head(builder->rows)));
    rps_import_perf_start(builder);
    while ((result = rps_import_cells(builder, reader.separator, 0, &cell, &count, err)) > 0) {
        if ((result = read_row(&reader, cell, count, err)) < 0)
            break;
    }
    if (reader.untimed > 0)
        rps_import_note(builder, "left out: %u line%s without a time, such as totals",
                        reader.untimed, reader.untimed == 1 ? "" : "s");
    return end_reading(&reader, result, err);
}

/* Return 1 if the first row begins with a time with nine decimals, followed by cells as perf stat
 * prints them. Also return 1 for such cells without the time, in order to refuse the file later.
 * Also return 1 for perf's comments, unless a header follows. */
static int recognises(const char *head)
{
    struct reader reader = {.separator = 0};
    struct line line;
    const char *row = rps_import_first_row(head);
    char text[2048], none[] = "0.000000000", *cell[65] = {none};
    size_t count;
    uint64_t run_ns;

    if (strncmp(row, "time", 4) == 0)
        return 0;
    if (*row != '{' && (rps_import_comment(head, "# started on ", text, sizeof(text)) ||
                        rps_import_comment(head, " unit events", text, sizeof(text))))
        return 1;
    count = rps_import_split(row, text, sizeof(text), cell + 1, 64);
    reader.separator = rps_import_separator(row);
    if (count > 4 && !is_time(cell[1]) && parse_line(&reader, cell, count + 1, &line) &&
        !line.track[0] && line.event[0])
        return rps_cell_count(line.run_ns, &run_ns) && is_value(line.percent);
    if (count == 0 || !is_time(cell[1]) || !parse_line(&reader, cell + 1, count, &line))
        return 0;
    return !line.track[0] || !line.event[0] || rps_cell_count(line.run_ns, &run_ns);
}

const struct rps_import_format rps_import_perf_csv = {
    .name = "perf-csv",
    .recognises = recognises,
    .read = read_file,
};
