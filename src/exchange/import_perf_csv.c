/*
 * perf stat -I MS -x SEPARATOR:
 *
 *     TIME,[CPU,|CORE,CPUS,]VALUE,UNIT,EVENT[,CGROUP][,NOISE%],RUN TIME,PERCENT,METRIC,UNIT
 *
 * and further metrics in lines of their own, with the cells before them empty. With --metric-only
 * there is a header, and a value a metric.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "import_cells.h"
#include "import_perf.h"

#define METRICS_MAX 512

struct csv_reader {
    struct rps_import_interval interval;
    char separator;
    char event[1024];    /* joined, when the separator is in it */
    size_t metric_count; /* of --metric-only */
    char metric[METRICS_MAX][128];
};

/* --- one line --------------------------------------------------------------------------------- */

static const char *at(char *const *cell, size_t count, size_t i)
{
    return i < count ? cell[i] : "";
}

static int is_value(const char *cell)
{
    double value;

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

/* Where the value is: behind the time, and the CPU where there is one; a core, a socket or a node
 * is followed by how many CPUs it has. */
static size_t find_value(char *const *cell, size_t count, const char **ret_track)
{
    *ret_track = NULL;
    if (count < 3 || !cell[1][0] || is_value(cell[1]))
        return 1;
    *ret_track = cell[1];
    return is_cpu(cell[1]) || count == 3 ? 2 : 3;
}

/* A line of --per-thread has its value where how many CPUs stands in others. */
static int is_of_thread(char *const *cell, size_t count)
{
    const char *track;

    return find_value(cell, count, &track) == 3 && count > 4 && is_value(cell[2]) &&
           !is_value(cell[3]) && is_letter_first(cell[4]);
}

/* The event, whose name may hold the separator between two slashes; where the next cell is. */
static size_t join_event(struct csv_reader *reader, char *const *cell, size_t count, size_t first)
{
    size_t length = 0, slashes = 0, end = first;

    do {
        for (const char *slash = cell[end]; (slash = strchr(slash, '/')); slash++)
            slashes++;
    } while (++end < count && slashes % 2 == 1);
    if (slashes % 2 == 1)
        end = first + 1; /* one slash alone, as of mem:0x1000/8:rw */
    for (size_t i = first; i < end; i++) {
        int written = snprintf(reader->event + length, sizeof(reader->event) - length, "%.*s%s",
                               i > first, &reader->separator, cell[i]);

        if (written < 0 || (size_t)written >= sizeof(reader->event) - length)
            return count;
        length += (size_t)written;
    }
    return end;
}

/* The cells behind the event. */
static void parse_rest(struct rps_perf_line *line, char *const *cell, size_t count, size_t i)
{
    uint64_t run_ns;
    size_t length;

    if (i < count && !rps_cell_count(cell[i], &run_ns)) {
        length = strlen(cell[i]);
        if ((length == 0 || cell[i][length - 1] != '%') && i + 1 < count)
            line->cgroup = cell[i++];
        length = strlen(at(cell, count, i));
        if (length > 0 && cell[i][length - 1] == '%')
            i++;
    }
    if (line->cgroup && !line->cgroup[0])
        line->cgroup = NULL;
    line->run_ns = at(cell, count, i);
    line->percent = at(cell, count, i + 1);
    line->metric = at(cell, count, i + 2);
    line->metric_unit = at(cell, count, i + 3);
}

/* A line of nothing but a metric: the first two cells that are not empty. Where the metric is no
 * number its unit stands alone, behind the empty cells of an event. 1, or 0 when it is none. */
static int parse_metric(struct rps_perf_line *line, char *const *cell, size_t count, size_t i)
{
    size_t first = i;
    double value;

    while (i < count && !cell[i][0])
        i++;
    if (i == count || !rps_cell_number(cell[i], &value))
        return i == count || (i - first > 3 && !at(cell, count, i + 1)[0]);
    line->metric = cell[i];
    line->metric_unit = at(cell, count, i + 1);
    return 1;
}

/* 1 when the cells are such a line. */
static int parse_line(struct csv_reader *reader, char *const *cell, size_t count,
                      struct rps_perf_line *line)
{
    size_t i;

    memset(line, 0, sizeof(*line));
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

/* --- --metric-only ---------------------------------------------------------------------------- */

static int parse_header(struct csv_reader *reader, char *const *cell, size_t count,
                        struct rps_error *err)
{
    static const char *const tracks[] = {"cpu",  "core",    "die",   "socket",
                                         "node", "cluster", "cache", "cpus"};

    reader->metric_count = 0;
    for (size_t i = 1; i < count; i++) {
        int is_track = 0;

        for (size_t k = 0; k < sizeof(tracks) / sizeof(tracks[0]); k++)
            is_track |= i < 3 && strcmp(cell[i], tracks[k]) == 0;
        if (is_track)
            continue;
        if (reader->metric_count == METRICS_MAX)
            return rps_import_refuse(reader->interval.builder, err,
                                     "there are more than %d metrics", METRICS_MAX);
        snprintf(reader->metric[reader->metric_count++], sizeof(reader->metric[0]), "%s", cell[i]);
    }
    return 0;
}

static int read_metrics(struct csv_reader *reader, char *const *cell, size_t count,
                        struct rps_error *err)
{
    struct rps_perf_line line = {0};
    size_t i;

    if (!rps_cell_seconds(cell[0], &line.end_ns))
        return rps_cell_refuse(reader->interval.builder, "the time", cell[0], err);
    if (rps_import_interval_line(&reader->interval, line.end_ns, err) < 0)
        return RPS_FAILED;
    i = find_value(cell, count, &line.track);
    for (size_t k = 0; k < reader->metric_count && i + k < count; k++) {
        line.metric = cell[i + k];
        line.metric_unit = reader->metric[k];
        if (rps_import_perf_line(&reader->interval, &line, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int read_row(struct csv_reader *reader, char *const *cell, size_t count,
                    struct rps_error *err)
{
    struct rps_import_builder *builder = reader->interval.builder;
    struct rps_perf_line line;
    const char *decimals = strchr(cell[0], '.');

    if (strcmp(cell[0], "summary") == 0)
        return 0;
    if (strcmp(cell[0], "time") == 0)
        return parse_header(reader, cell, count, err);
    if (reader->metric_count > 0)
        return read_metrics(reader, cell, count, err);
    if (!decimals || strlen(decimals) != 10) {
        /* --summary --no-csv-summary: totals, without a time */
        if (reader->interval.end_ns > 0 && is_value(cell[0]) && count >= 3)
            return 0;
        return rps_import_perf_no_intervals(builder, err);
    }
    if (!parse_line(reader, cell, count, &line))
        return is_of_thread(cell, count)
                   ? rps_import_perf_threads(builder, err)
                   : rps_import_refuse(builder, err, "it is no line of perf stat -I -x%c",
                                       reader->separator);
    /* perf writes a share as 100.00, or in some locales as 100,00 */
    if (line.percent && line.percent[0] && !strpbrk(line.percent, ".,"))
        return rps_import_refuse(builder, err,
                                 "its decimal mark is the separator, too: let perf run with "
                                 "LC_ALL=C, or with -x\\;");
    if (rps_import_interval_line(&reader->interval, line.end_ns, err) < 0)
        return RPS_FAILED;
    return rps_import_perf_line(&reader->interval, &line, err);
}

static int read_file(struct rps_import_builder *builder, const struct rps_import_options *options,
                     struct rps_error *err)
{
    struct csv_reader reader = {.metric_count = 0};
    char *const *cell;
    size_t count;
    int result;

    (void)options;
    rps_import_interval_open(&reader.interval, builder);
    reader.separator = rps_import_separator(rps_import_first_row(rps_import_head(builder)));
    rps_import_perf_start(builder);
    while ((result = rps_import_cells(builder, reader.separator, &cell, &count, err)) > 0)
        if ((result = read_row(&reader, cell, count, err)) < 0)
            break;
    if (result == 0)
        result = rps_import_interval_finish(&reader.interval, err);
    rps_import_interval_close(&reader.interval);
    return result;
}

/* A time of nine decimals, and cells as above; or perf's comment, whatever follows. */
static int recognises(const char *head)
{
    struct csv_reader reader = {.metric_count = 0};
    struct rps_perf_line line;
    const char *row = rps_import_first_row(head), *decimals;
    char text[2048], *cell[64];
    size_t count;
    uint64_t run_ns;

    if (*row != '{' && rps_import_comment(head, "# started on ", text, sizeof(text)))
        return 1;
    count = rps_import_split(row, text, sizeof(text), cell, 64);
    if (count > 1 && strcmp(cell[0], "time") == 0 && row > head && row[-1] == ' ')
        return 1;
    decimals = count > 0 ? strchr(cell[0], '.') : NULL;
    reader.separator = rps_import_separator(row);
    if (!decimals || strlen(decimals) != 10 || !parse_line(&reader, cell, count, &line))
        return 0;
    return !line.track || !line.event || (line.run_ns && rps_cell_count(line.run_ns, &run_ns));
}

const struct rps_import_format rps_import_perf_csv = {
    .name = "perf-csv",
    .recognises = recognises,
    .read = read_file,
};
