/* The output of perf stat -I MS -x SEPARATOR:
 *
 *     TIME,[CPU,|CORE,CPUS,]VALUE,UNIT,EVENT[,CGROUP][,NOISE%],RUN TIME,PERCENT,METRIC,UNIT
 *
 * Further metrics of an event are in separate lines. In these lines, only a run time precedes the
 * last two cells. Other lines have only the name of a group of metrics. With --metric-only, perf
 * prints a table, which import_csv.c reads. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "import_build.h"
#include "import_perf.h"

struct csv_reader {
    struct rps_perf_reader perf;
    char separator;
    char event[1024]; /* name of the event, joined if it contains the separator */
    unsigned untimed; /* number of lines without a time */
};

/* --- one line --------------------------------------------------------------------------------- */

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

/* Read the event, whose name may contain the separator between slashes. Returns the index of the
 * next cell. */
static size_t join_event(struct csv_reader *reader, char *const *cell, size_t count, size_t first)
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
static void parse_rest(struct rps_perf_line *line, char *const *cell, size_t count, size_t i)
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
static int parse_metric(struct rps_perf_line *line, char *const *cell, size_t count, size_t i)
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
static int parse_line(struct csv_reader *reader, char *const *cell, size_t count,
                      struct rps_perf_line *line)
{
    size_t i;

    *line = (struct rps_perf_line){0, "", "", "", "", "", "", "", "", "", ""};
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

static int read_row(struct csv_reader *reader, char *const *cell, size_t count,
                    struct rps_error *err)
{
    struct rps_import_builder *builder = reader->perf.builder;
    struct rps_perf_line line;

    if (strcmp(cell[0], "summary") == 0)
        return 0;
    if (!is_time(cell[0])) {
        if (reader->perf.end_ns > 0 && is_total(cell, count) &&
            !(is_value(cell[0]) && is_value(cell[1]))) { /* a time is before the value */
            reader->untimed++;
            return 0;
        }
        if (reader->perf.end_ns == 0)
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
    if (rps_perf_interval(&reader->perf, line.end_ns, err) < 0)
        return RPS_FAILED;
    return rps_import_perf_line(&reader->perf, &line, err);
}

static int read_file(struct rps_import_builder *builder, const struct rps_import_options *options,
                     struct rps_error *err)
{
    struct csv_reader reader = {.perf.builder = builder};
    char *const *cell;
    size_t count;
    int result;

    (void)options;
    reader.separator = rps_import_separator(rps_import_first_row(rps_import_head(builder)));
    rps_import_perf_start(builder);
    while ((result = rps_import_cells(builder, reader.separator, 0, &cell, &count, err)) > 0) {
        if ((result = read_row(&reader, cell, count, err)) < 0)
            break;
    }
    if (reader.untimed > 0)
        rps_import_note(builder, "left out: %u line%s without a time, such as totals",
                        reader.untimed, reader.untimed == 1 ? "" : "s");
    return rps_perf_close(&reader.perf, result, err);
}

/* Return 1 if the first row begins with a time with nine decimals, followed by cells as perf stat
 * prints them. Also return 1 for such cells without the time, in order to refuse the file later.
 * Also return 1 for perf's comments, unless a header follows. */
static int recognises(const char *head)
{
    struct csv_reader reader = {.separator = 0};
    struct rps_perf_line line;
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
