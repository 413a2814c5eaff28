/* Reads any table of numbers. A row covers the time from the previous row's time to the row's own
 * time. Cells are divided by a separator, or by blanks as in vmstat, sar, pidstat and iostat. Files
 * with blanks may have several alternating tables. Each table repeats its header, and the time is
 * in a separate line. Rows with the same time and CPU are merged. If several rows of one table have
 * the same time, each row describes a process or a device. The words of such a row are the name of
 * the process or device, and each name has columns of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import_build.h"
#include "import_table.h"
#include "import_values.h"
#include "rpistat/clock.h"
#include "rpistat/period.h"

/* --- columns ---------------------------------------------------------------------------------- */

/* Return the run's column that is made from a column of the table. A running total of whole numbers
 * is converted to counts, and any other running total to a rate. */
static struct rps_import_column describe(const struct rps_import_table_column *column,
                                         const char *name, const char *panel)
{
    static const enum rps_import_kind kinds[RPS_CELLS] = {[RPS_CELLS_COUNT] = RPS_IMPORT_COUNT,
                                                          [RPS_CELLS_COUNTER] = RPS_IMPORT_COUNT,
                                                          [RPS_CELLS_CLOCK] = RPS_IMPORT_CLOCK,
                                                          [RPS_CELLS_GAUGE] = RPS_IMPORT_GAUGE};
    const char *unit = column->unit[0] ? column->unit : column->cell_unit;
    struct rps_import_column ret = {name, unit, column->panel[0] ? column->panel : panel,
                                    kinds[column->kind]};

    if (column->is_scaled && !column->unit[0])
        rps_value_scale(column->cell_unit, &ret.unit);
    if (column->kind == RPS_CELLS_COUNTER && rps_total_is_rate(column)) {
        ret.kind = RPS_IMPORT_GAUGE;
        ret.unit = unit[0] ? unit : "/s";
    }
    return ret;
}

/* Add a column to the run per column of the table that has values of this process or device. */
static int add_columns(struct rps_import_reading *reading, const struct rps_import_table *table,
                       struct rps_import_entity *entity, struct rps_error *err)
{
    char full[2 * RPS_IMPORT_TEXT_SIZE], other[2 * RPS_IMPORT_TEXT_SIZE + 16];
    struct rps_arena *arena = reading->builder->arena;

    entity->column = rps_arena_get(arena, table->count, sizeof(*entity->column));
    for (size_t c = 0; c < table->count; c++) {
        const struct rps_import_table_column *column = &table->column[c];
        const char *of = entity->text;
        struct rps_import_column add;

        if (!rps_import_is_value(column->kind))
            continue;
        snprintf(full, sizeof(full), "%s%s%s", of, of[0] ? " " : "", column->label);
        snprintf(other, sizeof(other), "%s", full);
        add = describe(column, other, of[0] ? column->label : "");
        for (int i = 2;; i++) { /* the same name may occur several times in a header */
            if (rps_import_column(reading->builder, &add, &entity->column[c], err) < 0)
                return RPS_FAILED;
            if (!reading->taken[entity->column[c]])
                break;
            snprintf(other, sizeof(other), "%s (%d)", full, i);
        }
        reading->taken[entity->column[c]] = 1;
    }
    return 0;
}

/* Find the process or device of the row. Returns NULL on error, with err. */
static struct rps_import_entity *find_entity(struct rps_import_reading *reading, char *const *cell,
                                             struct rps_error *err)
{
    struct rps_arena *arena = reading->builder->arena;
    struct rps_import_table *table = reading->now;
    char text[RPS_IMPORT_TEXT_SIZE];

    if (!table->is_keyed && table->entity_count > 0)
        return table->entity;
    text[0] = '\0';
    /* Words come before numbers, as in "bash 4711". */
    for (int words = 1; words >= 0 && table->is_keyed; words--) {
        for (size_t c = 0; c < table->count; c++) {
            size_t used = strlen(text);

            if (table->column[c].kind == RPS_CELLS_KEY &&
                rps_import_is_numeric(&table->column[c]) != words)
                snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? " " : "", cell[c]);
        }
    }
    for (size_t e = 0; e < table->entity_count; e++) {
        if (strcmp(table->entity[e].text, text) == 0)
            return &table->entity[e];
    }
    if (table->is_keyed && (table->entity_count == (size_t)reading->builder->columns_max ||
                            (size_t)reading->builder->column_count + table->count >
                                (size_t)reading->builder->columns_max)) {
        rps_import_refuse(reading->builder, err,
                          "there are more than %d columns to import, because each process or "
                          "device has its own; %s",
                          reading->builder->columns_max,
                          table->has_processes ? "add up those of one name with --map PID=skip"
                                               : "leave columns out with --map COLUMN=skip");
        return NULL;
    }
    table->entity =
        rps_arena_grow(arena, table->entity, table->entity_count, sizeof(*table->entity));
    table->entity[table->entity_count] =
        (struct rps_import_entity){.text = rps_arena_text(arena, text)};
    if (!reading->builder->is_dry_run &&
        add_columns(reading, table, &table->entity[table->entity_count], err) < 0)
        return NULL;
    return &table->entity[table->entity_count++];
}

/* Check the CPUs of the tables. Tables per CPU and tables of the whole machine cannot be combined,
 * because the rows of the two types of table differ. An example is the output of sar -ur -P ALL. */
static int check_cpus(const struct rps_import_reading *reading, struct rps_error *err)
{
    int by_cpu = 0, others = 0;

    for (size_t t = 0; t < reading->table_count; t++) {
        const struct rps_import_table *table = reading->table[t];
        const struct rps_import_table_column *cpu =
            table->cpu >= 0 ? &table->column[table->cpu] : NULL;

        by_cpu += cpu && (cpu->varies || !cpu->is_all);
        others += table->rows > 0 && !(cpu && (cpu->varies || !cpu->is_all));
    }
    if (by_cpu == 0 || others == 0)
        return 0;
    return rps_error_set(
        err, RPS_FAILED,
        "%s has a table per CPU and a different table; print these into separate files",
        reading->builder->path);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Return the start of a row: the end of its CPU's previous row. With several CPUs, a row of the
 * latest interval starts no earlier than that interval. */
static int64_t find_row_start(struct rps_import_reading *reading, int64_t last_ns, int64_t end_ns)
{
    int64_t since_ns = last_ns > 0 ? last_ns : end_ns - reading->first_ns;

    if (end_ns > reading->interval_end_ns) {
        reading->interval_ns = reading->interval_end_ns;
        reading->interval_end_ns = end_ns;
    }
    if (reading->now->cpu < 0 || end_ns != reading->interval_end_ns ||
        reading->interval_ns < last_ns)
        return since_ns;
    return reading->interval_ns;
}

static int end_period(struct rps_import_reading *reading, struct rps_error *err)
{
    if (reading->interval == 0)
        return 0;
    if (reading->had_dry_run && rps_totals_end_period(reading, err) < 0)
        return RPS_FAILED;
    return rps_import_end_period(reading->builder, err);
}

/* Return the row's length by the table's column of intervals; 0: the table has no such column. */
static int64_t find_interval(const struct rps_import_reading *reading, char *const *cell)
{
    const struct rps_import_table *table = reading->now;
    double seconds;

    if (table->interval < 0 ||
        rps_value_read(cell[table->interval], strlen(cell[table->interval]), reading->times.decimal,
                       &seconds) <= 0 ||
        !(seconds > 0 && seconds < 1e9))
        return 0;
    return llround(seconds * RPS_NS_PER_S);
}

/* Check a row of rpistat's own export: the first row of another run or CPU follows a gap. */
static void look_at_export(struct rps_import_reading *reading, char *const *cell)
{
    int is_other = 0;

    for (size_t c = 0; c < 2 && reading->now->is_export; c++) {
        is_other |= strcmp(reading->own[c], cell[c]) != 0;
        snprintf(reading->own[c], sizeof(reading->own[c]), "%s", cell[c]);
    }
    reading->is_restart |= is_other;
}

/* Begin the period of the row. After a gap, the increase of running totals is unknown. */
static int begin_period(struct rps_import_reading *reading, char *const *cell, int has_time,
                        int32_t cpu, int64_t end_ns, struct rps_error *err)
{
    struct rps_import_builder *builder = reading->builder;
    uint64_t line = rps_csv_rows_line(builder->rows);
    int64_t start_ns, length_ns, last_ns, own_ns = find_interval(reading, cell);

    if (end_period(reading, err) < 0)
        return RPS_FAILED;
    look_at_export(reading, cell);
    reading->interval++;
    reading->cpu = cpu;
    reading->end_ns = end_ns;
    last_ns = rps_import_last_end(builder, cpu);
    if (!has_time)
        end_ns = last_ns + RPS_NS_PER_S;
    else if (__builtin_sub_overflow(end_ns, reading->zero_ns, &end_ns) ||
             __builtin_add_overflow(end_ns, reading->shift_ns, &end_ns) ||
             llabs(end_ns) > RPS_IMPORT_TIME_MAX_NS || reading->shift_ns > RPS_IMPORT_LENGTH_MAX_NS)
        return rps_import_refuse(builder, err,
                                 "the time is too far from the other times; correct it");
    if (last_ns > 0 && end_ns <= last_ns) {
        reading->order.same += end_ns == last_ns;
        reading->shift_ns += last_ns + 2 * reading->first_ns - end_ns;
        end_ns = last_ns + 2 * reading->first_ns;
        length_ns = reading->first_ns;
        reading->order.back_line = reading->order.backs++ == 0 ? line : reading->order.back_line;
    } else {
        start_ns = find_row_start(reading, last_ns, end_ns);
        length_ns = rps_order_length(&reading->order, end_ns - start_ns, has_time ? own_ns : 0,
                                     reading->is_restart, line);
    }
    start_ns = end_ns - length_ns;
    builder->is_broken |= reading->is_restart;
    reading->is_restart = 0;
    return rps_import_begin_period(builder, cpu, start_ns, length_ns, err);
}

/* Begin a period, unless the row is in the current period. Returns 1 if the row is left out. */
static int place_row(struct rps_import_reading *reading, char *const *cell,
                     struct rps_import_entity *entity, struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;
    int64_t time_ns = 0;
    int32_t cpu = RPS_CPU_ALL;
    int has_time = rps_import_row_time(reading, cell, &time_ns, err), is_same;

    if (has_time < 0)
        return RPS_FAILED;
    if (has_time == 2)
        return 1;
    if (table->cpu >= 0 && !rps_import_cpu(cell[table->cpu], &cpu))
        return rps_import_refuse(reading->builder, err,
                                 "'%.40s' is not a CPU; choose another kind for the column '%.60s' "
                                 "with --map: " RPS_IMPORT_KINDS,
                                 cell[table->cpu], table->column[table->cpu].name);
    is_same = reading->interval > 0 && cpu == reading->cpu && time_ns == reading->end_ns &&
              (entity->interval != reading->interval || table->adds);
    if (!is_same && begin_period(reading, cell, has_time, cpu, time_ns, err) < 0)
        return RPS_FAILED;
    entity->interval = reading->interval;
    return 0;
}

/* Refuse an invalid cell. With --skip-bad, leave out the cell instead. */
static int refuse_cell(struct rps_import_reading *reading,
                       const struct rps_import_table_column *column, const char *cell,
                       const char *why, const char *unit, struct rps_error *err)
{
    if (reading->options->skip_bad) {
        reading->bad_cells++;
        return 0;
    }
    return rps_import_refuse(reading->builder, err,
                             "'%.40s' in the column '%.60s' %s%s; use --skip-bad to leave out such "
                             "cells, or --map COLUMN=skip to leave out the column",
                             cell, column->header, why, unit);
}

static int read_value(struct rps_import_reading *reading, struct rps_import_entity *entity,
                      size_t c, const char *cell, struct rps_error *err)
{
    const struct rps_import_table_column *column = &reading->now->column[c];
    double value;
    long double exact, growth;
    const char *unit, *base;
    int kind = rps_value_read_unit(cell, reading->times.decimal, &value, &unit);

    if (kind < 0)
        return refuse_cell(reading, column, cell, "is not a number", "", err);
    if (column->is_scaled && *unit && rps_value_scale(unit, &base) > 0)
        value *= rps_value_scale(unit, &base);
    else if (kind > 0 && value != 0 && (*unit || column->cell_unit[0]) && !column->is_scaled &&
             strcmp(unit, column->cell_unit) != 0)
        return refuse_cell(reading, column, cell, "is not in the unit of other cells, ",
                           column->cell_unit, err);
    if (kind == 0 || isnan(value))
        return 0;
    exact = column->kind == RPS_CELLS_GAUGE ? value
                                            : rps_value_exact(cell, reading->times.decimal, value);
    if (column->kind == RPS_CELLS_COUNTER)
        return rps_total_add(reading, entity, c, exact, &growth)
                   ? rps_total_put(reading, column, entity->column[c], growth, err)
                   : 0;
    if (reading->builder->is_dry_run)
        return 0;
    reading->builder->adds = reading->now->adds;
    return rps_import_value(reading->builder, entity->column[c], exact, -1, -1, err);
}

static int read_row(struct rps_import_reading *reading, char *const *cell, struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;
    struct rps_import_entity *entity = find_entity(reading, cell, err);
    int result = entity ? place_row(reading, cell, entity, err) : RPS_FAILED;

    for (size_t c = 0; c < table->count && result == 0; c++) {
        if (rps_import_is_value(table->column[c].kind))
            result = read_value(reading, entity, c, cell[c], err);
    }
    return result < 0 ? result : 0;
}

/* Read all rows to record the growth of running totals over several rows. */
static int dry_run(struct rps_import_reading *reading, struct rps_error *err)
{
    struct rps_import_reading before = *reading;
    char *const *cell;
    int result = 0;

    reading->builder->is_dry_run = 1;
    while (result == 0 && (result = rps_import_next_row(reading, &cell, err)) > 0)
        result = read_row(reading, cell, err);
    if (result == 0)
        result = end_period(reading, err);
    reading->builder->is_dry_run = 0;
    *reading = before;
    reading->had_dry_run = 1;
    rps_import_restart(reading->builder);
    return result == 0 ? rps_import_begin_again(reading, err) : result;
}

/* Report the running totals. Those that do not grow in any process or device become gauges. */
static int choose_totals(struct rps_import_reading *reading, struct rps_import_table *table,
                         struct rps_error *err)
{
    int result = 0;

    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];

        if (column->is_found && reading->had_dry_run && !rps_total_grows(table, c)) {
            column->kind = RPS_CELLS_GAUGE;
        } else if (column->is_found) {
            rps_import_note(reading->builder,
                            "%s: '%s' is read as a running total: its growth is imported (--map "
                            "'%s=gauge' imports its values)",
                            reading->builder->path, column->name, column->map_name);
        }
    }
    for (size_t e = 0; e < table->entity_count && result == 0; e++) {
        table->entity[e].interval = 0;
        result = add_columns(reading, table, &table->entity[e], err);
    }
    return result;
}

/* Report the rows and cells that were left out, and the gaps. */
static void note_rows(const struct rps_import_reading *reading)
{
    const char *path = reading->builder->path;

    if (reading->footers[0])
        rps_import_note(reading->builder, "%s: left out: the rows that begin with %s", path,
                        reading->footers);
    if (reading->bad_cells > 0)
        rps_import_note(reading->builder, "%s: left out: %llu bad cell%s", path,
                        (unsigned long long)reading->bad_cells, reading->bad_cells == 1 ? "" : "s");
    if (reading->bad_rows > 0)
        rps_import_note(reading->builder,
                        "%s: left out: %llu row%s without a time, or with a wrong number of "
                        "cells",
                        path, (unsigned long long)reading->bad_rows,
                        reading->bad_rows == 1 ? "" : "s");
    if (reading->times.twice > 0)
        rps_import_note(reading->builder,
                        "%s: an hour occurs twice, because summer time ends; if the time of a row "
                        "goes back, the row belongs to the second hour",
                        path);
    rps_order_note(reading->builder, &reading->order);
}

static int read_csv(struct rps_import_builder *builder, const struct rps_import_options *options,
                    struct rps_error *err)
{
    struct rps_import_reading reading = {
        .builder = builder, .options = options, .first_ns = RPS_NS_PER_S};
    struct rps_run *run = rps_import_run(builder);
    char *const *cell;
    int result;

    reading.taken = rps_arena_get(builder->arena, (size_t)builder->columns_max, 1);
    result = rps_import_find_out(&reading, err);
    rps_import_perf_start(builder);
    rps_import_comment(rps_csv_rows_head(builder->rows), "host: ", run->host, sizeof(run->host));
    rps_import_comment(rps_csv_rows_head(builder->rows), "processor: ", run->cpu_model,
                       sizeof(run->cpu_model));
    if (result == 0)
        result = check_cpus(&reading, err);
    if (result == 0 && reading.has_sparse_totals)
        result = dry_run(&reading, err);
    for (size_t t = 0; t < reading.table_count && result == 0; t++)
        result = choose_totals(&reading, reading.table[t], err);
    while (result == 0 && (result = rps_import_next_row(&reading, &cell, err)) > 0)
        result = read_row(&reading, cell, err);
    if (result == 0)
        result = end_period(&reading, err);
    if (result == 0)
        result = rps_order_check(builder, &reading.order, (uint64_t)reading.interval, err);
    if (result == 0)
        note_rows(&reading);
    return result;
}

static int recognises(const char *head)
{
    return head[strcspn(head, ",;\t|\n")] != '\0' && head[0] != '{' && head[0] != '[';
}

const struct rps_import_format rps_import_csv = {
    .name = "csv",
    .recognises = recognises,
    .read = read_csv,
};
