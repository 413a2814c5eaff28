/*
 * Any table of numbers: a row covers the time from the previous row to its own. Cells have a
 * separator, or blanks as in vmstat, sar, pidstat and iostat. Such a file may have several
 * alternating tables, each with a repeated header, and the time in a line of its own. Rows of one
 * time and CPU are merged. If several belong to one table, each is a process or a device, whose
 * name is in its words, and has columns of its own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import_build.h"
#include "import_perf.h"
#include "import_table.h"
#include "rpistat/clock.h"
#include "rpistat/period.h"

/* --- columns ---------------------------------------------------------------------------------- */

/* Add a column of the run for each of the table's that has values of the entity. */
static int add_columns(struct rps_import_reading *reading, const struct rps_import_table *table,
                       struct rps_import_entity *entity, struct rps_error *err)
{
    static const enum rps_import_kind kinds[RPS_CELLS] = {[RPS_CELLS_COUNT] = RPS_IMPORT_COUNT,
                                                          [RPS_CELLS_CLOCK] = RPS_IMPORT_CLOCK,
                                                          [RPS_CELLS_GAUGE] = RPS_IMPORT_GAUGE};
    char name[RPS_IMPORT_TEXT_SIZE], full[2 * RPS_IMPORT_TEXT_SIZE],
        other[2 * RPS_IMPORT_TEXT_SIZE + 16];

    entity->column = rps_arena_get(reading->builder->arena, table->count, sizeof(*entity->column));
    for (size_t c = 0; c < table->count; c++) {
        const struct rps_import_table_column *column = &table->column[c];
        const char *of = entity->text, *panel = column->panel;
        struct rps_import_column add = {other, column->unit[0] ? column->unit : column->cell_unit,
                                        panel[0] || !of[0] ? panel : name, kinds[column->kind]};

        if (!rps_import_is_value(column->kind))
            continue;
        rps_import_column_name(table, c, name);
        snprintf(full, sizeof(full), "%s%s%s", of, of[0] ? " " : "", name);
        snprintf(other, sizeof(other), "%s", full);
        for (int i = 2;; i++) { /* a header may repeat a name */
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

/* Find the process or device of the row; NULL with err. */
static struct rps_import_entity *find_entity(struct rps_import_reading *reading, char *const *cell,
                                             struct rps_error *err)
{
    struct rps_arena *arena = reading->builder->arena;
    struct rps_import_table *table = reading->now;
    char text[RPS_IMPORT_TEXT_SIZE] = "";

    for (int words = 1; words >= 0 && table->is_keyed; words--) { /* "bash 4711" */
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
    if (table->is_keyed &&
        (table->entity_count == RPS_IMPORT_COLUMNS_MAX ||
         (size_t)reading->builder->column_count + table->count > RPS_IMPORT_COLUMNS_MAX)) {
        rps_import_refuse(reading->builder, err,
                          "there are more than %d columns to import, as each of so many processes "
                          "or devices has its own: %s",
                          RPS_IMPORT_COLUMNS_MAX,
                          table->has_processes ? "--map PID=skip adds up those of one name"
                                               : "--map COLUMN=skip leaves columns out");
        return NULL;
    }
    table->entity =
        rps_arena_grow(arena, table->entity, table->entity_count, sizeof(*table->entity));
    table->entity[table->entity_count] =
        (struct rps_import_entity){.text = rps_arena_text(arena, text)};
    if (add_columns(reading, table, &table->entity[table->entity_count], err) < 0)
        return NULL;
    return &table->entity[table->entity_count++];
}

/* Tables per CPU have other rows than those of the whole machine: sar -ur -P ALL. */
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
    return rps_error_set(err, RPS_FAILED,
                         "%s has a table of each CPU and another that is of none: print them into "
                         "files of their own",
                         reading->builder->path);
}

static int check_values(const struct rps_import_reading *reading, struct rps_error *err)
{
    for (size_t t = 0; t < reading->table_count; t++) {
        for (size_t c = 0; c < reading->table[t]->count; c++) {
            if (rps_import_is_value(reading->table[t]->column[c].kind))
                return 0;
        }
    }
    return rps_error_set(err, RPS_FAILED,
                         "%s has no column of numbers that is more than a place, with '%c' as "
                         "the decimal mark: name one with --map COLUMN=gauge",
                         reading->builder->path, reading->times.decimal);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* A row begins at the end of its CPU's previous row; with several CPUs, at the latest earlier time
 * of any CPU. */
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
    return reading->interval > 0 ? rps_import_end_period(reading->builder, err) : 0;
}

/* End the previous period, and begin the row's. */
static int begin_period(struct rps_import_reading *reading, char *const *cell, int has_time,
                        int32_t cpu, int64_t end_ns, struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;
    int64_t start_ns, length_ns, last_ns;

    if (end_period(reading, err) < 0)
        return RPS_FAILED;
    reading->interval++;
    reading->cpu = cpu;
    reading->end_ns = end_ns;
    last_ns = rps_import_last_end(reading->builder, cpu);
    end_ns = has_time ? end_ns - reading->zero_ns : last_ns + RPS_NS_PER_S;
    start_ns = find_row_start(reading, last_ns, end_ns);
    length_ns = end_ns - start_ns;
    if (length_ns <= 0)
        return rps_import_refuse(
            reading->builder, err,
            "the time does not go on: %.40s comes after a row as late. Each time has one row, or "
            "one of each process or device; --map says which column is the time, and which tells "
            "rows apart (COLUMN=key)",
            table->time >= 0 ? cell[table->time] : reading->stamp);
    return rps_import_begin_period(reading->builder, cpu, start_ns, length_ns, err);
}

/* Begin a period, unless the row is in the current one. */
static int place_row(struct rps_import_reading *reading, char *const *cell,
                     struct rps_import_entity *entity, struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;
    int64_t time_ns = 0;
    int32_t cpu = RPS_CPU_ALL;
    int has_time = rps_import_row_time(reading, cell, &time_ns, err), is_same;

    if (has_time < 0)
        return RPS_FAILED;
    if (table->cpu >= 0 && !rps_import_cpu(cell[table->cpu], &cpu))
        return rps_import_refuse(reading->builder, err, "'%.40s' is no CPU", cell[table->cpu]);
    is_same = reading->interval > 0 && cpu == reading->cpu && time_ns == reading->end_ns &&
              (entity->interval != reading->interval || table->adds);
    if (!is_same && begin_period(reading, cell, has_time, cpu, time_ns, err) < 0)
        return RPS_FAILED;
    entity->interval = reading->interval;
    return 0;
}

static int read_value(struct rps_import_reading *reading,
                      const struct rps_import_table_column *column, int number, const char *cell,
                      struct rps_error *err)
{
    double value;
    const char *unit;
    int kind = rps_import_number(reading, cell, &value, &unit);

    if (kind > 0 && strcmp(unit, column->cell_unit) != 0)
        return rps_import_refuse(reading->builder, err,
                                 "'%.40s' in the column '%.60s' is not in '%s' as others are", cell,
                                 column->name, column->cell_unit);
    if (kind < 0)
        return rps_import_refuse(reading->builder, err,
                                 "'%.40s' in the column '%.60s' is no number; a kind skip of "
                                 "--map leaves a column out",
                                 cell, column->name);
    if (kind == 0 || isnan(value))
        return 0;
    if (reading->now->adds && reading->builder->cell[number].is_there) {
        reading->builder->cell[number].value += value;
        return 0;
    }
    if (column->kind != RPS_CELLS_GAUGE && strspn(cell, "0123456789") == strlen(cell) &&
        strlen(cell) < 19)
        return rps_import_count(reading->builder, number, strtoull(cell, NULL, 10), -1, -1, err);
    return rps_import_value(reading->builder, number, value, -1, -1, err);
}

static int read_row(struct rps_import_reading *reading, char *const *cell, struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;
    struct rps_import_entity *entity = find_entity(reading, cell, err);
    int result = entity ? place_row(reading, cell, entity, err) : RPS_FAILED;

    for (size_t c = 0; c < table->count && result == 0; c++) {
        if (rps_import_is_value(table->column[c].kind))
            result = read_value(reading, &table->column[c], entity->column[c], cell[c], err);
    }
    return result;
}

static int read_csv(struct rps_import_builder *builder, const struct rps_import_options *options,
                    struct rps_error *err)
{
    struct rps_import_reading reading = {.builder = builder, .first_ns = RPS_NS_PER_S};
    struct rps_run *run = rps_import_run(builder);
    char *const *cell;
    int result = rps_import_find_out(&reading, options->map, err);

    rps_import_perf_start(builder);
    rps_import_comment(rps_import_head(builder), "host: ", run->host, sizeof(run->host));
    rps_import_comment(rps_import_head(builder), "processor: ", run->cpu_model,
                       sizeof(run->cpu_model));
    if (result == 0 && (result = check_cpus(&reading, err)) == 0)
        result = check_values(&reading, err);
    while (result == 0 && (result = rps_import_next_row(&reading, &cell, err)) > 0)
        result = read_row(&reading, cell, err);
    return result < 0 ? result : end_period(&reading, err);
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
