/* Finds the meaning of a file of tables. The map may set properties of columns. All other
 * properties are found from all rows, which are read twice. The first pass finds the header, the
 * columns of numbers and the time. The second pass finds the distances between times and the
 * columns that distinguish rows. The first row's length is not in the file, so that the median
 * distance or the time since 0 is used. */
#include "import_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import_build.h"
#include "import_values.h"
#include "rpistat/clock.h"
#include "rpistat/csv_signals.h"
#include "rpistat/text.h"

#define CPU_ROWS 100 /* number of rows in which numbers of CPUs are searched */

/* Some rows have the same time as the row before. If fewer than 1 in KEYED_SHARE of all rows are
 * such rows, these rows are treated as duplicates. */
#define KEYED_SHARE 8

/* --- the map ---------------------------------------------------------------------------------- */

/* Find the column with that name, otherwise the column with that number. NULL: no such column. */
static struct rps_import_table_column *find_column(const struct rps_import_table *table,
                                                   const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    for (size_t c = 0; c < table->count; c++) {
        if (strcmp(table->column[c].name, name) == 0)
            return &table->column[c];
    }
    return !*end && number > 0 && number <= table->count ? &table->column[number - 1] : NULL;
}

static int map_column(struct rps_import_reading *reading, struct rps_import_table_column *column,
                      enum rps_cells kind, const char *unit, struct rps_error *err)
{
    if (column->mapped != RPS_CELLS_NONE)
        return rps_error_set(err, RPS_USAGE, "--map: the column '%s' occurs twice; choose one kind",
                             column->name);
    if (unit && (kind == RPS_CELLS_CPU || kind == RPS_CELLS_KEY || kind == RPS_CELLS_SKIP ||
                 (kind == RPS_CELLS_CLOCK && strcmp(unit, "ns") != 0)))
        return rps_error_set(err, RPS_USAGE, "--map: ':%s' is not possible for '%s': %s", unit,
                             column->name,
                             kind == RPS_CELLS_CLOCK
                                 ? "a clock is in ns; convert the column, or import it as a gauge"
                                 : "only times, counts and gauges have a unit; remove it");
    column->mapped = kind;
    snprintf(column->unit, sizeof(column->unit), "%s", unit ? unit : "");
    if (kind != RPS_CELLS_TIME || !unit)
        return 1;
    for (const char *at = unit; (at = strchr(at, '%')); at += at[1] ? 2 : 1) {
        if (!at[1] || !strchr("%aAbBcCdDeEfgGhHIjklmMnOpPrRsStTuUVwWxXyYzZ", at[1]))
            return rps_error_set(err, RPS_USAGE,
                                 "--map: '%.2s' in '%s' is not a letter of strptime", at, unit);
    }
    column->format.day_1970 = strcmp(unit, "excel") == 0    ? RPS_IMPORT_EXCEL_1970
                              : strcmp(unit, "julian") == 0 ? RPS_IMPORT_JULIAN_1970
                                                            : 0;
    if (strchr(unit, '%'))
        column->format.pattern = rps_arena_text(reading->builder->arena, unit);
    return 1;
}

static int map_item(struct rps_import_reading *reading, char *item, struct rps_error *err)
{
    char *equals = strrchr(item, '='), *kind = equals ? equals + 1 : NULL, *unit;
    int found = 0;
    enum rps_cells k;

    if (!kind || equals == item)
        return rps_error_set(err, RPS_USAGE,
                             "--map: '%s' is not a column and its kind; write COLUMN=KIND", item);
    *equals = '\0';
    unit = strchr(kind, ':');
    if (unit)
        *unit++ = '\0';
    k = rps_import_find_cells(kind);
    if (k == RPS_CELLS_NONE)
        return rps_error_set(err, RPS_USAGE,
                             "--map: '%s' is not a kind of column; choose from " RPS_IMPORT_KINDS,
                             kind);
    for (size_t t = 0; t < reading->table_count; t++) {
        struct rps_import_table_column *column = find_column(reading->table[t], item);

        if (column && (found = map_column(reading, column, k, unit, err)) < 0)
            return found;
    }
    if (!found && !reading->table[0]->has_header)
        return rps_error_set(err, RPS_USAGE,
                             "--map: '%s' is not a column number, and %s has no header (words "
                             "above numbers, with '%c' as the decimal mark); write a number",
                             item, reading->builder->path, reading->times.decimal);
    if (!found)
        return rps_error_set(err, RPS_USAGE,
                             "--map: %s has no column '%s'; write the name as in its header",
                             reading->builder->path, item);
    return 0;
}

/* Return the next item of the list. Commas inside a format of time do not end the item. */
static char *next_item(char **rest)
{
    char *item = strsep(rest, ",");

    while (item && *rest && strchr(item, '%') && strstr(item, "=time:") &&
           !memchr(*rest, '=', strcspn(*rest, ","))) {
        (*rest)[-1] = ',';
        strsep(rest, ",");
    }
    return item;
}

/* Read the map, and the names of columns in --metric. */
static int read_map(struct rps_import_reading *reading, struct rps_error *err)
{
    const struct rps_import_options *options = reading->options;
    char *rest = rps_arena_text(reading->builder->arena, options->map), *item;
    int result = 0;

    while (result == 0 && (item = next_item(&rest)))
        result = *item ? map_item(reading, item, err) : 0;
    for (size_t i = 0; i < options->metric_count; i++) {
        for (size_t t = 0; t < reading->table_count; t++) {
            struct rps_import_table_column *column =
                find_column(reading->table[t], options->metric[i]);

            if (column && column->mapped == RPS_CELLS_NONE && rps_import_is_numeric(column))
                column->is_metric = 1;
        }
    }
    return result;
}

/* --- detection -------------------------------------------------------------------------------- */

/* Record the unit of a number. Values with different units of one quantity (kB, MB) are scaled. */
static void look_at_unit(struct rps_import_table_column *column, const char *unit)
{
    const char *base, *before;
    double scale = rps_value_scale(unit, &base);

    if (!column->cell_unit[0]) {
        snprintf(column->cell_unit, sizeof(column->cell_unit), "%s", unit);
        column->is_scaled |= scale > 0 && base[0] == '\0';
    } else if (scale > 0 && strcmp(unit, column->cell_unit) != 0) {
        column->is_scaled |=
            rps_value_scale(column->cell_unit, &before) > 0 && strcmp(base, before) == 0;
    }
}

/* Return 1 if a cell such as 20260304 may be a date. The first row decides, for speed. */
static int may_be_compact(const struct rps_import_table_column *column, const char *cell)
{
    size_t digits;

    if (column->numbers + column->words > 0 && column->time.parsed == 0)
        return 0;
    digits = strspn(cell, "0123456789");
    return (digits == 8 || digits == 12 || digits == 14) && (cell[0] == '1' || cell[0] == '2') &&
           (cell[digits] == '\0' || cell[digits] == '.');
}

/* Return 1 if a number of six digits may be a time of day, such as 235959. */
static int is_packed(const char *cell, double value)
{
    long whole = value < 240000 ? (long)value : 9999;

    return strlen(cell) == 6 && whole / 100 % 100 < 60 && whole % 100 < 60;
}

static void look_at_cell(struct rps_import_reading *reading, struct rps_import_table_column *column,
                         const char *cell, int is_sample)
{
    const char *unit;
    int32_t cpu;
    double value;
    int kind = rps_value_read_unit(cell, reading->times.decimal, &value, &unit);

    column->time.is_tolerant = reading->options->skip_bad;
    if (kind > 0 && *unit)
        look_at_unit(column, unit);
    if (kind < 0 || *unit) {
        rps_time_look(&column->time, cell);
    } else if (may_be_compact(column, cell)) {
        rps_time_look(&column->time, cell);
        column->time.compact++;
    }
    if (kind > 0 && !isnan(value)) {
        column->numbers++;
        rps_time_add_order(&column->order, value, 0);
        column->has_fraction |= value != floor(value);
        column->packed += column->packed + 1 == column->numbers && is_packed(cell, value);
    } else if (kind < 0) {
        column->words++;
        if (!column->first_bad && column->time.failed > 0)
            column->first_bad = rps_import_keep_name(reading, cell);
    } else {
        column->missing++;
    }
    column->cpus += is_sample && rps_import_cpu(cell, &cpu);
    if ((cell[0] | 32) == 'a' || cell[0] == '-')
        column->is_all |= rps_import_is_all_cpus(cell);
    if (!column->first)
        column->first = rps_import_keep_name(reading, cell);
    if (!column->varies && (kind <= 0 || column->order.rises + column->order.falls > 0))
        column->varies = strcmp(column->first, cell) != 0;
}

/* Read the comment before the first row. If it has as many cells as the row, it is the header. */
static void read_comment(struct rps_import_reading *reading)
{
    const char *head = rps_csv_rows_head(reading->builder->rows), *row = rps_import_first_row(head);
    char text[RPS_CSV_HEAD_SIZE / 8], *cell[RPS_IMPORT_COLUMNS_MAX];
    struct rps_import_table *table = reading->table[0];
    const char *comment;

    while (row > head && row[-1] != '\n')
        row--;
    if (row == head)
        return;
    for (comment = row - 1; comment > head && comment[-1] != '\n'; comment--)
        ;
    if (*comment != '#' || rps_import_separator(comment + 1) != reading->separator ||
        rps_import_split(comment + 1, text, sizeof(text), cell, RPS_IMPORT_COLUMNS_MAX) !=
            table->count)
        return;
    for (size_t c = 0; c < table->count; c++)
        table->column[c].header = rps_import_keep_name(reading, cell[c]);
    table->has_header = table->is_commented = 1;
}

/* Read vmstat's names of groups above the names of columns. The groups become panels. */
static void read_groups(struct rps_import_reading *reading)
{
    const char *line = rps_import_first_row(rps_csv_rows_head(reading->builder->rows)), *header;
    struct rps_import_table *table = reading->table[0];
    size_t length = strcspn(line, "\n"), at = 0;

    header = line + length + (line[length] == '\n');
    if (!rps_import_has_words(reading) || !memmem(line, length, "---", 3))
        return;
    for (size_t c = 0; c < table->count; c++) {
        size_t from;

        at += strspn(header + at, " ");
        at += strcspn(header + at, " \r\n"); /* names of columns are right-aligned */
        from = at < length ? at : length;
        while (from > 0 && line[from - 1] == ' ')
            from--;
        while (from > 0 && line[from - 1] != ' ')
            from--;
        from += strspn(line + from, "-");
        snprintf(table->column[c].panel, sizeof(table->column[c].panel), "%.*s",
                 (int)strcspn(line + from, "- \r\n"), line + from);
    }
}

/* Return 2 for pidstat's columns that identify a process, 1 for its other columns about a process,
 * otherwise 0. The column CPU has the CPU on which the process ran most recently. */
static int is_of_process(const char *name)
{
    static const char *const names[] = {"PID", "TGID", "TID", "UID", "CPU"};

    for (size_t i = 0; i < RPS_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return 1 + (i < 3);
    }
    return 0;
}

static int is_name(const struct rps_import_table_column *column)
{
    struct rps_time time;

    return column->starts_with_word && rps_time_read(column->header, &time) <= 0;
}

static void name_columns(const struct rps_import_reading *reading, struct rps_import_table *table)
{
    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];

        column->name = table->has_header ? column->header : "";
        column->label = column->map_name = column->name;
        if (!column->name[0] || strlen(column->name) > 60 || strpbrk(column->name, ",'\t\n"))
            column->map_name = rps_arena_print(reading->builder->arena, "%zu", c + 1);
        if (!column->name[0])
            column->label = rps_arena_print(reading->builder->arena, "%s%zu",
                                            reading->builder->signals ? "" : "column ", c + 1);
    }
}

/* Find the header: a row that has a word above a column of numbers or times. If there is no header,
 * the first row has values. */
static void find_header(struct rps_import_table *table)
{
    for (size_t c = 0; c < table->count; c++) {
        const struct rps_import_table_column *column = &table->column[c];

        table->has_header |=
            column->starts_with_word &&
            (rps_import_is_numeric(column) || (rps_import_is_text_time(column) && is_name(column)));
    }
    for (size_t c = 0; c < table->count && !table->has_header; c++) {
        struct rps_time_order *order = &table->column[c].order;
        double value = table->column[c].first_value;

        if (isnan(value))
            continue;
        order->rises += order->count > 0 && order->first > value;
        order->falls += order->count > 0 && order->first < value;
        order->first = value;
        order->count++;
        table->column[c].has_fraction |= value != floor(value);
    }
}

/* Find the columns of a file that rpistat export has written. Columns that give a row's position in
 * the run are not values. Rows of one run or CPU follow those of another. */
static int find_export(struct rps_import_table *table)
{
    static const char *const places[] = {"run",   "cpu", "period", "rotation", "time_s", "length_s",
                                         "cycle", "set", "phase",  "label",    NULL};

    table->is_export = table->count > 3 && strcmp(table->column[0].name, "run") == 0 &&
                       strcmp(table->column[1].name, "cpu") == 0;
    for (size_t c = 0; c < table->count && table->is_export; c++) {
        for (const char *const *place = places; *place; place++) {
            if (strcmp(table->column[c].name, *place) == 0)
                table->column[c].kind = RPS_CELLS_SKIP;
        }
    }
    return table->is_export;
}

/* Set each column's meaning from the map and the header. If neither names the columns of the time
 * and of the CPU, find these columns from the cells. */
static int choose_places(struct rps_import_reading *reading, struct rps_import_table *table,
                         int is_mapped, struct rps_error *err)
{
    for (size_t c = 0; c < table->count; c++) {
        if (is_of_process(table->column[c].name) == 2) {
            table->has_processes = 1;
            table->has_several |= table->column[c].varies;
        }
    }
    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];
        enum rps_cells kind = column->mapped != RPS_CELLS_NONE ? column->mapped : column->said;

        if (column->mapped == RPS_CELLS_NONE && rps_import_is_value(kind) &&
            (is_mapped || !rps_import_is_numeric(column)))
            kind = RPS_CELLS_SKIP;
        column->kind = kind;
        if (kind == RPS_CELLS_NONE && column->is_metric)
            column->kind = RPS_CELLS_GAUGE;
        table->time = kind == RPS_CELLS_TIME ? (int)c : table->time;
        if (kind == RPS_CELLS_CPU && table->cpu >= 0)
            return rps_error_set(err, RPS_USAGE, "--map: choose one cpu column");
        table->cpu = kind == RPS_CELLS_CPU ? (int)c : table->cpu;
    }
    if (find_export(table))
        return 0;
    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];

        if (column->kind != RPS_CELLS_NONE)
            continue;
        if (strcasecmp(column->name, "interval") == 0 && rps_import_is_numeric(column))
            table->interval = (int)c;
        if (table->cpu < 0 && table->rows > 0 &&
            (uint64_t)column->cpus == (table->rows < CPU_ROWS ? table->rows : CPU_ROWS) &&
            !table->has_processes &&
            (strcasecmp(column->name, "cpu") == 0 || strcasecmp(column->name, "core") == 0))
            table->cpu = (int)c;
    }
    return rps_import_choose_time(reading, table, err);
}

/* Choose the columns that distinguish rows: columns of words if a time has several rows, or columns
 * of process numbers and commands if there are several processes. */
static void choose_keys(struct rps_import_table *table, int is_by_word)
{
    for (size_t c = 0; c < table->count; c++)
        table->is_keyed |= table->column[c].kind == RPS_CELLS_KEY;
    if (table->is_keyed)
        return;
    if (table->repeats > 0 && (is_by_word || KEYED_SHARE * table->repeats >= table->rows))
        rps_keys_choose(table);
    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];
        int of_process = is_of_process(column->name);

        if (table->has_several && column->kind == RPS_CELLS_NONE &&
            !rps_import_is_place(table, c) &&
            (of_process == 2 ? column->varies : !of_process && !rps_import_is_numeric(column)))
            column->kind = RPS_CELLS_KEY;
        table->is_keyed |= column->kind == RPS_CELLS_KEY;
    }
}

/* Return 1 if, by its name, a column numbers rows. Without a header, only the first column can. */
static int is_row_number(const struct rps_import_table *table, size_t c)
{
    const struct rps_import_table_column *column = &table->column[c];

    if (table->has_header)
        return rps_csv_names_place(column->name) && column->order.falls == 0 &&
               !column->has_fraction;
    return c == 0 && table->count > 1 && !column->has_fraction && column->order.count > 1 &&
           column->order.rises + 1 == column->order.count;
}

/* Return 1 if the column may be a running total. If a time has several rows, the totals of each
 * process, device or CPU are checked later. */
static int is_counter(const struct rps_import_table *table, size_t c)
{
    const struct rps_time_order *order = &table->column[c].order;
    const char *name = table->column[c].name;

    if (table->time < 0)
        return 0;
    if (table->is_keyed || table->cpu >= 0)
        return rps_total_is_growing(name, 1, 0, 1);
    return rps_total_is_growing(name, order->rises, order->falls, order->count - 1);
}

static enum rps_cells choose_value(const struct rps_import_reading *reading,
                                   struct rps_import_table *table, size_t c)
{
    if (!rps_import_is_numeric(&table->column[c]) ||
        (!rps_import_has_words(reading) && is_row_number(table, c)))
        return RPS_CELLS_NONE;
    table->column[c].is_found = is_counter(table, c);
    return table->column[c].is_found ? RPS_CELLS_COUNTER : RPS_CELLS_GAUGE;
}

/* Set the kinds of the other columns: values, and columns that distinguish rows. */
static void choose_values(struct rps_import_reading *reading, struct rps_import_table *table,
                          int is_mapped)
{
    if (!table->descends && table->cpu >= 0 && table->column[table->cpu].kind != RPS_CELLS_CPU &&
        table->column[table->cpu].varies && !table->column[table->cpu].is_all)
        table->cpu = -1; /* there is one row per moment, so the column is not a CPU */
    choose_keys(table, rps_import_has_words(reading));
    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];
        int of_process = table->has_processes ? is_of_process(column->name) : 0;

        if (column->kind == RPS_CELLS_NONE && !rps_import_is_place(table, c) && !is_mapped &&
            !of_process)
            column->kind = choose_value(reading, table, c);
        reading->has_sparse_totals |= column->kind == RPS_CELLS_COUNTER &&
                                      (column->missing + column->words > 0 || table->is_keyed ||
                                       table->cpu >= 0 || reading->table_count > 1);
        table->adds |= of_process == 2 && column->mapped == RPS_CELLS_SKIP;
    }
}

/* Report the columns that are left out, unless the user chose them. */
static void note_left_out(const struct rps_import_reading *reading)
{
    char text[300] = "", name[RPS_IMPORT_TEXT_SIZE + 20];

    for (size_t t = 0; t < reading->table_count; t++) {
        const struct rps_import_table *table = reading->table[t];

        for (size_t c = 0; c < table->count && table->rows > 0; c++) {
            const struct rps_import_table_column *column = &table->column[c];

            if (rps_import_is_place(table, c) || column->kind == RPS_CELLS_KEY ||
                rps_import_is_value(column->kind) || column->mapped == RPS_CELLS_SKIP ||
                (column->numbers + column->words == 0 && !column->header[0]) ||
                (t > 0 && find_column(reading->table[0], column->name)))
                continue;
            snprintf(name, sizeof(name), "%s%s", column->label,
                     column->numbers + column->words == 0 ? " without values" : "");
            rps_text_list(text, sizeof(text), name);
        }
    }
    if (text[0])
        rps_import_note(reading->builder,
                        "%s: left out: %s (not measured values; import a column of numbers "
                        "with --map COLUMN=gauge)",
                        reading->builder->path, text);
}

static size_t count_words(const char *row)
{
    size_t words = 0;

    for (row += strspn(row, " "); *row && *row != '\n'; row += strspn(row, " ")) {
        row += strcspn(row, " \r\n");
        words++;
        row += strspn(row, "\r");
    }
    return words;
}

/* Return 1 if blanks separate cells: the file begins like those of sar, pidstat, iostat and vmstat,
 * or the first two lines contain no other separator. */
static int is_fixed_width(const char *head)
{
    const char *row = rps_import_first_row(head), *next = row + strcspn(row, "\n");
    size_t length = strcspn(row, ",;\t|\n");

    if (strncmp(row, "Linux ", 6) == 0 || (row + length == next && memmem(row, length, "---", 3)))
        return 1;
    return *next && row + length == next && next[1 + strcspn(next + 1, ",;\t|\n")] == '\n' &&
           count_words(row) > 1 && count_words(row) == count_words(next + 1);
}

static int is_only_header(const struct rps_import_table *table)
{
    size_t c = 0;

    while (c < table->count && is_name(&table->column[c]))
        c++;
    return table->rows == 0 && c == table->count;
}

/* Read all rows, to find which cells each column contains. */
static int look_at_columns(struct rps_import_reading *reading, struct rps_error *err)
{
    char *const *cell;
    int result = rps_import_begin_again(reading, err);

    while (result == 0 && (result = rps_import_next_row(reading, &cell, err)) > 0) {
        struct rps_import_table *table = reading->now;

        for (size_t c = 0; c < table->count; c++)
            look_at_cell(reading, &table->column[c], cell[c], table->rows < CPU_ROWS);
        table->rows++;
        result = 0;
    }
    if (result == 0 && reading->table_count == 0)
        return rps_error_set(err, RPS_FAILED, "%s has no rows to import", reading->builder->path);
    if (result == 0 && reading->table_count == 1 && is_only_header(reading->table[0]))
        return rps_error_set(err, RPS_FAILED, "%s has no rows to import, only a header",
                             reading->builder->path);
    for (size_t t = 0; t < reading->table_count; t++)
        find_header(reading->table[t]);
    reading->is_known = 1;
    return result;
}

/* Record whether an earlier row has that time and CPU, and the distance from the previous time. */
static void look_at_time(struct rps_import_reading *reading, struct rps_import_table *table,
                         char *const *cell, int has_time, int64_t time_ns)
{
    struct rps_import_order *order = &reading->order;
    int32_t cpu = RPS_CPU_ALL;
    int is_same = has_time ? time_ns == table->last_ns : reading->section == table->section;
    int64_t last_ns = table->last_ns;

    if (table->cpu >= 0)
        rps_import_cpu(cell[table->cpu], &cpu);
    if (table->section > 0) {
        if (table->keys)
            rps_keys_look(table->keys, cell, is_same);
        table->descends |= has_time ? time_ns <= last_ns : is_same;
        table->repeats += is_same && cpu == table->last_cpu;
    }
    if (has_time)
        rps_time_add_order(&table->order, (double)time_ns, 0);
    table->last_cpu = cpu;
    table->last_ns = time_ns;
    if (has_time && table->section > 0 && time_ns > last_ns && table == reading->table[0]) {
        order->distance = rps_arena_grow(reading->builder->arena, order->distance, order->count,
                                         sizeof(*order->distance));
        order->distance[order->count++] = time_ns - last_ns;
    }
    table->section = reading->section;
}

/* Find the run's start, and the first row's length: the median distance between rows, or the time
 * since 0 if the file has elapsed times and the first time is shorter than the median. */
static int choose_start(struct rps_import_reading *reading, int64_t first_ns, struct rps_error *err)
{
    struct rps_import_builder *builder = reading->builder;
    const struct rps_import_table *table = reading->table[0];
    int64_t day_ns = rps_import_day(rps_csv_rows_head(builder->rows)), time_of_day_ns = -1;
    int is_moment = table->time < 0 || table->format.is_moment;
    int has_day = (double)first_ns >= RPS_IMPORT_EPOCH_S * RPS_NS_PER_S;

    reading->first_ns = reading->order.median_ns > 0 ? reading->order.median_ns : RPS_NS_PER_S;
    if (reading->first_ns > RPS_IMPORT_LENGTH_MAX_NS)
        return rps_error_set(
            err, RPS_FAILED,
            "%s: rows are %.9g s apart, which is too long; check the unit of the time",
            builder->path, (double)reading->first_ns / RPS_NS_PER_S);
    if (!is_moment && !has_day && first_ns > 0 && first_ns <= 2 * reading->first_ns)
        reading->first_ns = first_ns; /* the first row begins at time 0 */
    reading->zero_ns = first_ns - reading->first_ns;
    if (has_day)
        rps_import_run(builder)->start_realtime_ns = reading->zero_ns;
    else if (day_ns >= 0)
        rps_import_run(builder)->start_realtime_ns = day_ns + reading->zero_ns;
    else if (is_moment)
        time_of_day_ns = (reading->zero_ns + RPS_NS_PER_DAY) % RPS_NS_PER_DAY;
    builder->time_of_day_ns = time_of_day_ns;
    builder->time_name = rps_arena_print(
        builder->arena, "%s=time%s", table->time >= 0 ? table->column[table->time].label : "time",
        has_day || is_moment ? "" : ":s");
    if (builder->signals) /* phases --csv prints no dates */
        return 0;
    if (time_of_day_ns >= 0 && reading->options->start_realtime_ns <= 0)
        rps_import_note(builder,
                        "%s has no date; the last change of the file dates its end (--start T "
                        "sets the beginning)",
                        builder->path);
    if (reading->times.year > 0)
        rps_import_note(builder,
                        "%s has dates without a year; the last one is in %d, the latest possible "
                        "year (--start T sets the beginning)",
                        builder->path, reading->times.year);
    return 0;
}

/* Read the rows' times, and whether each row has its own time. Returns 1 if rows have times. */
static int read_times(struct rps_import_reading *reading, int64_t *ret_first_ns,
                      struct rps_error *err)
{
    int result = rps_import_begin_again(reading, err), has_time = 0, was_there = 0;
    char *const *cell;

    for (size_t t = 0; t < reading->table_count; t++) {
        reading->table[t]->section = reading->table[t]->repeats = 0;
        reading->table[t]->order = (struct rps_time_order){0};
        reading->table[t]->descends = 0;
        rps_keys_begin(reading->builder->arena, reading->table[t]);
    }
    while (result == 0 && (result = rps_import_next_row(reading, &cell, err)) > 0) {
        int64_t time_ns = 0;

        result = 0;
        if ((has_time = rps_import_row_time(reading, cell, &time_ns, err)) < 0)
            return RPS_FAILED;
        if (has_time == 2) /* a row with an invalid time is left out */
            continue;
        look_at_time(reading, reading->now, cell, has_time, time_ns);
        if (has_time && !was_there++)
            *ret_first_ns = time_ns;
    }
    return result < 0 ? result : was_there > 0;
}

/* Find the distances between rows. If the newest row of the file comes first, reverse the file. */
static int look_at_times(struct rps_import_reading *reading, struct rps_error *err)
{
    const struct rps_import_table *table = reading->table[0];
    uint64_t head = reading->first_line - !(table->has_header && !table->is_commented);
    int64_t first_ns = 0;
    int result = read_times(reading, &first_ns, err);

    if (result > 0 && reading->table_count == 1 && !rps_import_has_words(reading) &&
        table->order.falls > 4 * table->order.rises) {
        reading->order.count = 0;
        result = rps_order_mirror(reading->builder, head, err);
        for (size_t c = 0; c < table->count; c++) {
            struct rps_time_order *order = &table->column[c].order;

            *order = (struct rps_time_order){order->count, order->falls, order->rises, order->last,
                                             order->first};
        }
        result = result < 0 ? result : read_times(reading, &first_ns, err);
    }
    rps_order_end(&reading->order);
    if (result < 0)
        return result;
    if (result > 0)
        return choose_start(reading, first_ns, err);
    if (!reading->builder->signals)
        rps_import_note(reading->builder,
                        "%s has no column of times, so its rows are taken to be one second apart",
                        reading->builder->path);
    for (size_t t = 0; t < reading->table_count; t++) {
        if (!rps_import_has_words(reading) || reading->section <= 1)
            reading->table[t]->repeats = 0;
    }
    return 0;
}

/* Print a note about the first output of vmstat and iostat, which covers an earlier time range. */
static void note_first_row(const struct rps_import_reading *reading)
{
    int is_theirs = 0;

    for (size_t t = 0; t < reading->table_count && rps_import_has_words(reading); t++)
        is_theirs |= find_column(reading->table[t], "Device") ||
                     strcmp(reading->table[t]->column[0].panel, "avg-cpu") == 0 ||
                     strcmp(reading->table[t]->column[0].panel, "procs") == 0;
    if (is_theirs)
        rps_import_note(reading->builder,
                        "%s: without -y, the first row of vmstat and iostat is the mean since the "
                        "machine started",
                        reading->builder->path);
}

/* Refuse a file without measured values, with the first cell that is not a number. */
static int check_values(const struct rps_import_reading *reading, struct rps_error *err)
{
    char why[300] = "";

    for (size_t t = reading->table_count; t-- > 0;) {
        const struct rps_import_table *table = reading->table[t];

        for (size_t c = table->count; c-- > 0;) {
            const struct rps_import_table_column *column = &table->column[c];

            if (rps_import_is_value(column->kind))
                return 0;
            if (column->kind != RPS_CELLS_NONE || rps_import_is_place(table, c) ||
                rps_import_is_numeric(column))
                continue;
            snprintf(why, sizeof(why),
                     ": '%.40s' in the first row of the column '%.60s' is not a number, with '%c' "
                     "as the decimal mark",
                     column->first ? column->first : "", column->label, reading->times.decimal);
        }
    }
    return rps_error_set(err, RPS_FAILED, "%s has no column of measured values%s",
                         reading->builder->path,
                         why[0] ? why : "; name one with --map COLUMN=gauge");
}

static int choose_columns(struct rps_import_reading *reading, struct rps_error *err)
{
    int is_mapped = 0, result = 0;

    for (size_t t = 0; t < reading->table_count; t++) {
        for (size_t c = 0; c < reading->table[t]->count; c++)
            is_mapped |= rps_import_is_value(reading->table[t]->column[c].mapped);
    }
    for (size_t t = 0; t < reading->table_count && result == 0; t++)
        result = choose_places(reading, reading->table[t], is_mapped, err);
    if (result == 0)
        result = look_at_times(reading, err);
    for (size_t t = 0; t < reading->table_count && result == 0; t++)
        choose_values(reading, reading->table[t], is_mapped);
    if (result == 0)
        result = check_values(reading, err);
    if (result == 0 && !is_mapped)
        note_left_out(reading);
    return result;
}

/* Refuse a file whose cells seem to be divided by an unsupported character. Each row of such a file
 * is read as one cell of words that contains this character. */
static int check_separator(const struct rps_import_reading *reading, struct rps_error *err)
{
    const struct rps_import_table *table = reading->table[0];
    const char *row = rps_import_first_row(rps_csv_rows_head(reading->builder->rows));
    size_t at = strcspn(row, "~^:#!&@/\\*+$%=_\n");

    if (reading->table_count > 1 || table->count > 1 || table->column[0].numbers > 0 ||
        table->column[0].time.parsed > 0 || row[at] == '\n' || row[at] == '\0')
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s: '%.*s' seems to separate the cells, which is not supported; use a "
                         "comma, semicolon, tab or | (perf stat -x,)",
                         reading->builder->path, (int)strspn(row + at, (char[]){row[at], 0}),
                         row + at);
}

int rps_import_find_out(struct rps_import_reading *reading, struct rps_error *err)
{
    const char *head = rps_csv_rows_head(reading->builder->rows);
    int result;

    reading->separator = reading->options->separator;
    reading->times.decimal = reading->options->decimal;
    reading->times.changed_ns = reading->builder->changed_ns;
    if (!reading->separator && is_fixed_width(head)) {
        reading->separator = ' ';
        head += strcspn(head, "\n"); /* skip the line that may contain a version number */
    }
    rps_csv_guess(head, strlen(head), &reading->separator, &reading->times.decimal);
    result = look_at_columns(reading, err);
    if (result < 0)
        return result;
    if (check_separator(reading, err) < 0)
        return RPS_FAILED;
    if (!reading->table[0]->has_header)
        read_comment(reading);
    for (size_t t = 0; t < reading->table_count; t++)
        name_columns(reading, reading->table[t]);
    read_groups(reading);
    if (read_map(reading, err) < 0)
        return RPS_USAGE;
    result = choose_columns(reading, err);
    if (result < 0)
        return result;
    note_first_row(reading);
    return rps_import_begin_again(reading, err);
}
