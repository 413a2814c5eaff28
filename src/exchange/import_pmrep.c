/*
 * pmrep -o csv of PCP: a header, Time and a column a metric and instance, and a row a moment. pmrep
 * has made rates per second of counters (without -r), so all are gauges. What a row says holds of
 * the time since the row before; of the first row, for as long as of the second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_cells.h"
#include "rpistat/clock.h"
#include "rpistat/wall.h"

#define NAME_SIZE 256

struct pmrep_column {
    char name[NAME_SIZE], panel[NAME_SIZE];
    int column;   /* in the builder; -1: no number was seen yet */
    double value; /* of the first row, which waits for the second */
    int is_first; /* it has one */
};

struct pmrep_reader {
    struct rps_import_builder *builder;
    struct pmrep_column *column; /* owned; without the time */
    size_t column_count;
    uint64_t rows;
    int64_t first_ns, last_ns; /* as the file has the time */
};

/* --- the header ------------------------------------------------------------------------------- */

/* Instances of a metric are drawn together; one alone has a panel of its own name. */
static void name_panels(struct pmrep_reader *reader)
{
    for (size_t i = 0; i < reader->column_count; i++) {
        const char *name = reader->column[i].name;
        size_t length = strcspn(name, "-"), alike = 0;

        for (size_t k = 0; k < reader->column_count; k++) {
            const char *other = reader->column[k].name;

            alike += strcspn(other, "-") == length && strncmp(other, name, length) == 0;
        }
        snprintf(reader->column[i].panel, NAME_SIZE, "%.*s", alike > 1 ? (int)length : 0, name);
    }
}

/* "kernel.all.load-1 minute" is an instance of kernel.all.load: metrics' names have no '-'. */
static int read_header(struct pmrep_reader *reader, char *const *cell, size_t count,
                       struct rps_error *err)
{
    struct pmrep_column *column;

    if (count > RPS_IMPORT_COLUMNS_MAX)
        return rps_import_refuse(reader->builder, err, "there are more than %d columns",
                                 RPS_IMPORT_COLUMNS_MAX);
    column = calloc(count, sizeof(*column));
    if (!column)
        return rps_error_memory(err);
    free(reader->column);
    reader->column = column;
    reader->column_count = count - 1;
    for (size_t i = 0; i + 1 < count; i++) {
        snprintf(column[i].name, NAME_SIZE, "%s", cell[i + 1]);
        column[i].column = -1;
    }
    name_panels(reader);
    return 0;
}

static int is_same_header(const struct pmrep_reader *reader, char *const *cell, size_t count)
{
    if (count != reader->column_count + 1)
        return 0;
    for (size_t i = 0; i + 1 < count; i++)
        if (strncmp(reader->column[i].name, cell[i + 1], NAME_SIZE - 1) != 0)
            return 0;
    return 1;
}

/* --- times ------------------------------------------------------------------------------------ */

/* Seconds, of the epoch or since the start, or a time of the clock with a date or without. */
static int parse_time(struct pmrep_reader *reader, const char *cell, int64_t *ret_ns,
                      struct rps_error *err)
{
    struct rps_moment moment;
    int64_t from_ns = reader->rows > 0 ? reader->last_ns : 0;
    int64_t to_ns = INT64_MAX / 2;

    if (rps_cell_seconds(cell, ret_ns))
        return 0;
    if (rps_moment_parse("the time", cell, &moment, err) < 0)
        return rps_cell_refuse(reader->builder, "the time", cell, err);
    if (!moment.has_date)
        to_ns = from_ns + 2 * 24 * 3600 * RPS_NS_PER_S;
    if (!rps_moment_find(&moment, from_ns, to_ns, ret_ns))
        *ret_ns = 0; /* it is before the last row's */
    return 0;
}

static int read_time(struct pmrep_reader *reader, const char *cell, int64_t *ret_ns,
                     struct rps_error *err)
{
    if (parse_time(reader, cell, ret_ns, err) < 0)
        return RPS_FAILED;
    if (reader->rows == 0 || *ret_ns > reader->last_ns)
        return 0;
    if (*ret_ns == reader->last_ns)
        return rps_import_refuse(reader->builder, err,
                                 "the row before has the same time: let pmrep write parts of "
                                 "seconds, with -f %%s.%%f");
    return rps_import_refuse(reader->builder, err, "the time goes back");
}

/* --- rows ------------------------------------------------------------------------------------- */

static int say(struct pmrep_reader *reader, struct pmrep_column *column, double value,
               struct rps_error *err)
{
    const struct rps_import_column text = {column->name, "", column->panel, RPS_IMPORT_GAUGE};

    if (column->column < 0 && rps_import_column(reader->builder, &text, &column->column, err) < 0)
        return RPS_FAILED;
    return rps_import_value(reader->builder, column->column, value, -1, -1, err);
}

/* The period of the first row, when the second says how long it was. */
static int say_first(struct pmrep_reader *reader, int64_t length_ns, struct rps_error *err)
{
    /* seconds since 2001 are no time since a start */
    if (reader->first_ns - length_ns > RPS_NS_PER_S * 1000000000)
        rps_import_run(reader->builder)->start_realtime_ns = reader->first_ns - length_ns;
    if (rps_import_begin_period(reader->builder, RPS_CPU_ALL, 0, length_ns, err) < 0)
        return RPS_FAILED;
    for (size_t i = 0; i < reader->column_count; i++) {
        struct pmrep_column *column = &reader->column[i];

        if (column->is_first && say(reader, column, column->value, err) < 0)
            return RPS_FAILED;
    }
    reader->first_ns -= length_ns;
    return rps_import_end_period(reader->builder, err);
}

static int read_values(struct pmrep_reader *reader, char *const *cell, size_t count,
                       struct rps_error *err)
{
    int64_t time_ns;
    double value;

    if (count != reader->column_count + 1)
        return rps_import_refuse(reader->builder, err, "it has %zu cells where the header has %zu",
                                 count, reader->column_count + 1);
    if (read_time(reader, cell[0], &time_ns, err) < 0)
        return RPS_FAILED;
    if (reader->rows == 0)
        reader->first_ns = time_ns;
    if (reader->rows == 1 && say_first(reader, time_ns - reader->last_ns, err) < 0)
        return RPS_FAILED;
    if (reader->rows > 0 &&
        rps_import_begin_period(reader->builder, RPS_CPU_ALL, reader->last_ns - reader->first_ns,
                                time_ns - reader->last_ns, err) < 0)
        return RPS_FAILED;
    for (size_t i = 0; i < reader->column_count; i++) {
        struct pmrep_column *column = &reader->column[i];

        /* empty, "N/A", a text: nothing was measured */
        if (!rps_cell_number(cell[i + 1], &value))
            continue;
        if (reader->rows == 0) {
            column->value = value;
            column->is_first = 1;
        } else if (say(reader, column, value, err) < 0) {
            return RPS_FAILED;
        }
    }
    reader->last_ns = time_ns;
    return reader->rows++ > 0 ? rps_import_end_period(reader->builder, err) : 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int read_row(void *context, char *const *cell, size_t count, struct rps_error *err)
{
    struct pmrep_reader *reader = context;

    if (strcmp(cell[0], "Time") != 0)
        return reader->column
                   ? read_values(reader, cell, count, err)
                   : rps_import_refuse(reader->builder, err, "there is no header before it");
    /* again, with -E or when instances came; not while the first row waits */
    if (reader->rows != 1)
        return read_header(reader, cell, count, err);
    if (is_same_header(reader, cell, count))
        return 0;
    return rps_import_refuse(reader->builder, err, "the columns change after the first row");
}

static int read_file(struct rps_import_builder *builder, const struct rps_import_options *options,
                     struct rps_error *err)
{
    const char *head = rps_import_head(builder);
    struct pmrep_reader reader = {.builder = builder};
    struct rps_run *run = rps_import_run(builder);
    int result;

    (void)options;
    rps_import_comment(head, "host: ", run->host, sizeof(run->host));
    result = rps_import_rows(builder, read_row, &reader, err);
    if (result == 0 && reader.rows == 1)
        result = rps_import_refuse(builder, err, "one row does not say how long it was");
    free(reader.column);
    return result;
}

static int recognises(const char *head)
{
    const char *row = rps_import_first_row(head);

    return strncmp(row, "Time", 4) == 0 && row[4] && row[4] == rps_import_separator(row) &&
           row[5] == '"';
}

const struct rps_import_format rps_import_pmrep = {
    .name = "pmrep",
    .recognises = recognises,
    .read = read_file,
};
