/*
 * toplev.py of pmu-tools, -I MS -x SEPARATOR -o FILE or --valcsv FILE:
 *
 *     Timestamp,CPUs,Area,Value,Unit,...          a line a node; without -a or -A no CPUs
 *     Timestamp,CPU,Group,Event,Value,Perf-event,Index,STDDEV,MULTI,Nodes    --valcsv: counts
 *
 * A value is a share in per cent, or what its unit says, and so a gauge; of --valcsv it is a count
 * as perf scaled it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import_cells.h"
#include "import_interval.h"

/* Where the cells are; -1: there are none of that. */
struct toplev_columns {
    int time, cpu, name, value, unit, multiplex;
    int are_counts;
};

struct toplev_reader {
    struct rps_import_interval interval;
    struct toplev_columns columns;
};

/* --- which cells ------------------------------------------------------------------------------ */

static int find_cell(char *const *cell, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(cell[i], name) == 0)
            return (int)i;
    return -1;
}

static int read_header(struct toplev_reader *reader, char *const *cell, size_t count,
                       struct rps_error *err)
{
    struct toplev_columns *columns = &reader->columns;

    *columns = (struct toplev_columns){
        .time = find_cell(cell, count, "Timestamp"),
        .cpu = find_cell(cell, count, "CPUs"),
        .name = find_cell(cell, count, "Area"),
        .value = find_cell(cell, count, "Value"),
        .unit = find_cell(cell, count, "Unit"),
        .multiplex = -1,
    };
    if (find_cell(cell, count, "Perf-event") >= 0) {
        columns->cpu = find_cell(cell, count, "CPU");
        columns->name = find_cell(cell, count, "Event");
        columns->multiplex = find_cell(cell, count, "MULTI");
        columns->are_counts = 1;
    }
    if (columns->time < 0)
        return rps_import_refuse(reader->interval.builder, err,
                                 "it has no times: let toplev print intervals, with -I 1000");
    if (columns->name < 0 || columns->value < 0)
        return rps_import_refuse(reader->interval.builder, err,
                                 "its header has no columns Area and Value: leave --columns out");
    return 0;
}

static int is_header(char *const *cell, size_t count)
{
    return (find_cell(cell, count, "Area") >= 0 && find_cell(cell, count, "Description") >= 0) ||
           (find_cell(cell, count, "Event") >= 0 && find_cell(cell, count, "Perf-event") >= 0);
}

/* --- values ----------------------------------------------------------------------------------- */

/* "% Slots <" is "%", for "<" and "?" mark what is below its threshold; "Metric" and "CoreMetric"
 * are none. */
static void set_unit(struct rps_import_column *column, const char *cell, char *text, size_t size)
{
    size_t length = strlen(cell);

    while (length > 0 && strchr(" <?", cell[length - 1]))
        length--;
    snprintf(text, size, "%.*s", (int)length, cell);
    length = strlen(text);
    if (*text == '%')
        column->unit = "%";
    else if (length < 6 || strcasecmp(text + length - 6, "metric") != 0)
        column->unit = text;
}

/* Shares of one whole are drawn together: what stands below a node, and the uppermost nodes. */
static void set_panel(struct rps_import_column *column, const char *cell, char *text, size_t size)
{
    const char *dot = strrchr(column->name, '.');

    if (dot)
        snprintf(text, size, "%.*s", (int)(dot - column->name), column->name);
    else
        snprintf(text, size, "%.*s", (int)strcspn(cell, "<?"), cell);
    if (strncmp(cell, "% ", 2) == 0)
        column->panel = text;
}

/* The share of the interval in which a count was on a counter. */
static void set_times(struct toplev_reader *reader, const char *cell,
                      struct rps_import_datum *datum)
{
    int64_t length_ns = reader->interval.end_ns - reader->interval.start_ns;
    double percent;

    datum->enabled_ns = datum->running_ns = -1;
    if (rps_cell_number(cell, &percent) && percent > 0 && percent < 100) {
        datum->enabled_ns = length_ns;
        datum->running_ns = llround((double)length_ns * percent / 100);
    }
}

static int add_value(struct toplev_reader *reader, char *const *cell, size_t count,
                     struct rps_error *err)
{
    const struct toplev_columns *columns = &reader->columns;
    const char *value = cell[columns->value];
    struct rps_import_datum datum = {.cpu = RPS_CPU_ALL,
                                     .column = {cell[columns->name], "", "", 0}};
    char unit[64], panel[256];

    if (columns->cpu >= 0 &&
        rps_import_interval_cpu(&reader->interval, cell[columns->cpu], &datum.cpu, err) < 0)
        return RPS_FAILED;
    /* nothing was measured: "", "nan" */
    if (!value[0] || strstr(value, "nan"))
        return 0;
    if (!rps_cell_number(value, &datum.value))
        return rps_cell_refuse(reader->interval.builder, "the value", value, err);
    datum.column.kind = columns->are_counts ? RPS_IMPORT_COUNT : RPS_IMPORT_GAUGE;
    datum.is_exact = columns->are_counts && rps_cell_count(value, &datum.count);
    if (columns->unit >= 0 && columns->unit < (int)count) {
        set_unit(&datum.column, cell[columns->unit], unit, sizeof(unit));
        set_panel(&datum.column, cell[columns->unit], panel, sizeof(panel));
    }
    set_times(reader,
              columns->multiplex >= 0 && columns->multiplex < (int)count ? cell[columns->multiplex]
                                                                         : "",
              &datum);
    return rps_import_interval_add(&reader->interval, &datum, err);
}

/* --- the file --------------------------------------------------------------------------------- */

/* What toplev says to its user, where that is in the file, too. */
static int is_advice(const char *cell)
{
    return strncmp(cell, "Run toplev ", 11) == 0 || strncmp(cell, "Add --nodes ", 12) == 0;
}

static int read_row(void *context, char *const *cell, size_t count, struct rps_error *err)
{
    struct toplev_reader *reader = context;
    struct rps_import_builder *builder = reader->interval.builder;
    const struct toplev_columns *columns = &reader->columns;
    int64_t time_ns;

    if (is_header(cell, count))
        return read_header(reader, cell, count, err);
    if (columns->name < 0)
        return rps_import_refuse(builder, err,
                                 "there is no header of toplev -x before it: record with a toplev "
                                 "of 2020 or later");
    if (is_advice(cell[0]))
        return 0;
    if (columns->time >= (int)count || columns->name >= (int)count ||
        columns->value >= (int)count || columns->cpu >= (int)count)
        return rps_import_refuse(builder, err, "it has only %zu cells", count);
    if (strcmp(cell[columns->time], "SUMMARY") == 0)
        return 0;
    if (!rps_cell_seconds(cell[columns->time], &time_ns))
        return rps_cell_refuse(builder, "the time", cell[columns->time], err);
    if (rps_import_interval_line(&reader->interval, time_ns, err) < 0)
        return RPS_FAILED;
    return add_value(reader, cell, count, err);
}

/* "# 5.01-full-perf on Intel(R) Xeon(R) ... [skl/skylake]" */
static void set_processor(struct rps_import_builder *builder)
{
    struct rps_run *run = rps_import_run(builder);

    rps_import_comment(rps_import_head(builder), " on ", run->cpu_model, sizeof(run->cpu_model));
}

static int read_file(struct rps_import_builder *builder, const struct rps_import_options *options,
                     struct rps_error *err)
{
    struct toplev_reader reader = {.columns.name = -1};

    (void)options;
    rps_import_interval_open(&reader.interval, builder);
    set_processor(builder);
    return rps_import_interval_close(&reader.interval,
                                     rps_import_rows(builder, read_row, &reader, err), err);
}

/* The header, or before 2020 only the comment: "# 3.6-full on Intel(R) ..." */
static int recognises(const char *head)
{
    char text[2048], *cell[64];
    size_t count = rps_import_split(rps_import_first_row(head), text, sizeof(text), cell, 64);

    return is_header(cell, count) || rps_import_comment(head, "-full on ", text, sizeof(text)) ||
           rps_import_comment(head, "-full-perf on ", text, sizeof(text));
}

const struct rps_import_format rps_import_toplev = {
    .name = "toplev",
    .recognises = recognises,
    .read = read_file,
};
