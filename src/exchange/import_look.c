/*
 * The meaning of a file of tables. The parts that the map does not set come from the first rows,
 * which are then read again. They are the header, the columns of numbers, the time, the columns
 * that distinguish rows. The first row's length is not in the file: it is that of the second, or
 * the time since 0.
 */
#include "import_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import_build.h"
#include "rpistat/clock.h"
#include "rpistat/csv_signals.h"
#include "rpistat/text.h"

#define SAMPLE_ROWS 100 /* of a file with a separator; otherwise all rows */

/* --- the map ---------------------------------------------------------------------------------- */

/* Find the column of that name, otherwise of that number; NULL: the table has none. */
static struct rps_import_table_column *find_column(const struct rps_import_table *table,
                                                   const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    for (size_t c = 0; c < table->count && table->has_header; c++) {
        if (strcmp(table->column[c].name, name) == 0)
            return &table->column[c];
    }
    return !*end && number > 0 && number <= table->count ? &table->column[number - 1] : NULL;
}

static int map_item(struct rps_import_reading *reading, char *item, struct rps_error *err)
{
    char *equals = strrchr(item, '='), *kind = equals ? equals + 1 : NULL, *unit;
    int found = 0;
    enum rps_cells k;

    if (!kind || equals == item)
        return rps_error_set(err, RPS_USAGE, "--map: '%s' is not COLUMN=KIND", item);
    *equals = '\0';
    unit = strchr(kind, ':');
    if (unit)
        *unit++ = '\0';
    k = rps_import_find_cells(kind);
    if (k == RPS_CELLS)
        return rps_error_set(err, RPS_USAGE,
                             "--map: '%s' is no kind of column; there are time, cpu, count, "
                             "clock, gauge, key, skip",
                             kind);
    for (size_t t = 0; t < reading->table_count; t++) {
        struct rps_import_table_column *column = find_column(reading->table[t], item);

        if (!column)
            continue;
        column->mapped = k;
        snprintf(column->unit, sizeof(column->unit), "%s", unit ? unit : "");
        found = 1;
    }
    if (!found && !reading->table[0]->has_header)
        return rps_error_set(err, RPS_USAGE,
                             "--map: '%s' is no column's number, and %s has no header: no column "
                             "has a word above numbers, with '%c' as the decimal mark",
                             item, reading->builder->path, reading->times.decimal);
    if (!found)
        return rps_error_set(err, RPS_USAGE, "--map: %s has no column '%s'", reading->builder->path,
                             item);
    return 0;
}

static int read_map(struct rps_import_reading *reading, const char *map, struct rps_error *err)
{
    char *rest = rps_arena_text(reading->builder->arena, map), *item;
    int result = 0;

    while (result == 0 && (item = strsep(&rest, ",")))
        result = *item ? map_item(reading, item, err) : 0;
    return result;
}

/* --- detection -------------------------------------------------------------------------------- */

static void look_at(struct rps_import_reading *reading, char *const *cell)
{
    struct rps_import_table *table = reading->now;

    table->rows++;
    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];
        const char *unit;
        int64_t time_ns;
        int32_t cpu;
        double value;
        int kind = rps_import_number(reading, cell[c], &value, &unit);

        if (*unit)
            snprintf(column->cell_unit, sizeof(column->cell_unit), "%s", unit);
        column->numbers += kind > 0 && isfinite(value);
        column->words += kind < 0;
        column->cpus += rps_import_cpu(cell[c], &cpu);
        column->is_all |= rps_import_is_all_cpus(cell[c]);
        column->times += rps_import_time(&reading->times, cell[c], 1, &time_ns);
        if (!column->ambiguous && rps_import_is_ambiguous(cell[c]))
            column->ambiguous = rps_import_keep_name(reading, cell[c]);
        if (!column->first)
            column->first = rps_import_keep_name(reading, cell[c]);
        column->varies |= strcmp(column->first, cell[c]) != 0;
    }
}

int rps_import_is_numeric(const struct rps_import_table_column *column)
{
    return column->numbers > 0 && column->numbers >= column->words;
}

static int is_time(const struct rps_import_table *table, size_t c)
{
    static const char *const names[] = {"t", "ts", "epoch", "elapsed", "seconds", "datetime"};
    const struct rps_import_table_column *column = &table->column[c];
    const char *name = table->has_header ? column->name : "";
    int named = rps_csv_names_place(name) && strpbrk(name, "tTdD") == name && strlen(name) > 3;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        named |= strcasecmp(name, names[i]) == 0;
    named |= column->words > 0; /* dates */
    return named && column->times > 0 && column->times >= column->numbers + column->words;
}

/* The comment before the first row is the header if it has as many cells: sadf -d. */
static void read_comment(struct rps_import_reading *reading)
{
    const char *head = rps_import_head(reading->builder), *row = rps_import_first_row(head);
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
        table->column[c].name = rps_import_keep_name(reading, cell[c]);
    table->has_header = table->is_commented = 1;
}

/* vmstat has names of groups above those of columns: these are panels. */
static void read_groups(struct rps_import_reading *reading)
{
    const char *line = rps_import_first_row(rps_import_head(reading->builder)), *header;
    struct rps_import_table *table = reading->table[0];
    size_t length = strcspn(line, "\n"), at = 0;

    header = line + length + (line[length] == '\n');
    if (!rps_import_has_words(reading) || !memmem(line, length, "---", 3))
        return;
    for (size_t c = 0; c < table->count; c++) {
        size_t from;

        at += strspn(header + at, " ");
        at += strcspn(header + at, " \r\n"); /* names are right-aligned */
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

/* Nonzero for pidstat's columns about a process (2: they identify it); CPU is where it ran last. */
static int is_of_process(const char *name)
{
    static const char *const names[] = {"PID", "TGID", "TID", "UID", "CPU"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return 1 + (i < 3);
    }
    return 0;
}

static void find_processes(struct rps_import_table *table)
{
    for (size_t c = 0; c < table->count && table->has_header; c++) {
        if (is_of_process(table->column[c].name) == 2) {
            table->has_processes = 1;
            table->has_several |= table->column[c].varies;
        }
    }
}

/* A header is a row with a word above numbers. */
static void find_header(struct rps_import_table *table)
{
    for (size_t c = 0; c < table->count; c++)
        table->has_header |=
            table->column[c].starts_with_word && rps_import_is_numeric(&table->column[c]);
}

/* "24.11.2026" and, in another column, "16:00:05" are one time. */
static void find_day(struct rps_import_table *table)
{
    const struct rps_import_table_column *day = &table->column[table->time];

    for (size_t c = 0; c < table->count && day->words > 0 && !strchr(day->first, ':'); c++) {
        const struct rps_import_table_column *column = &table->column[c];

        if (column->words > 0 && column->times == column->words && strchr(column->first, ':') &&
            !strpbrk(column->first, "-/. ")) {
            table->day = table->time;
            table->time = (int)c;
            return;
        }
    }
}

/* Set each column's kind from the map and the header; find time and CPU if they have none. */
static int choose_places(struct rps_import_reading *reading, struct rps_import_table *table,
                         int is_mapped, struct rps_error *err)
{
    find_processes(table);
    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];
        enum rps_cells kind = column->mapped != RPS_CELLS_NONE ? column->mapped : column->said;

        if (column->mapped == RPS_CELLS_NONE && rps_import_is_value(kind) &&
            (is_mapped || !rps_import_is_numeric(column)))
            kind = RPS_CELLS_SKIP;
        column->kind = kind;
        table->time = kind == RPS_CELLS_TIME ? (int)c : table->time;
        table->cpu = kind == RPS_CELLS_CPU ? (int)c : table->cpu;
    }
    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];
        const char *name = table->has_header ? column->name : "x";

        if (column->kind != RPS_CELLS_NONE)
            continue;
        if (table->time < 0 && is_time(table, c))
            table->time = (int)c;
        else if (table->cpu < 0 && table->rows > 0 && column->cpus == table->rows &&
                 !table->has_processes &&
                 (strcasecmp(name, "cpu") == 0 || strcasecmp(name, "core") == 0))
            table->cpu = (int)c;
    }
    for (size_t c = 0; c < table->count && table->time < 0; c++) {
        if (table->column[c].ambiguous && table->column[c].mapped == RPS_CELLS_NONE)
            return rps_error_set(err, RPS_FAILED, "%s: '%.40s' %s", reading->builder->path,
                                 table->column[c].ambiguous, RPS_IMPORT_AMBIGUOUS);
    }
    if (table->time >= 0)
        find_day(table);
    return 0;
}

static int is_place(const struct rps_import_table *table, size_t c)
{
    return (int)c == table->time || (int)c == table->day || (int)c == table->cpu;
}

/* Return 1 for a column that distinguishes rows. These are the words in a table with several rows
 * per moment, and the numbers and commands of several processes. */
static int is_key(const struct rps_import_table *table, size_t c)
{
    const struct rps_import_table_column *column = &table->column[c];
    int of_process = is_of_process(column->name);

    if (!table->has_processes)
        return table->repeats && column->varies && !rps_import_is_numeric(column);
    return table->has_several &&
           (of_process == 2 ? column->varies : !of_process && !rps_import_is_numeric(column));
}

/* Set the kinds of the other columns: values, and columns that distinguish rows. */
static void choose_values(const struct rps_import_reading *reading, struct rps_import_table *table,
                          int is_mapped)
{
    int has_keys = 0;

    if (!table->descends && table->cpu >= 0 && table->column[table->cpu].kind != RPS_CELLS_CPU &&
        table->column[table->cpu].varies && !table->column[table->cpu].is_all)
        table->cpu = -1; /* one row per moment: it is not a CPU's number */
    for (size_t c = 0; c < table->count; c++)
        has_keys |= table->column[c].kind == RPS_CELLS_KEY;
    for (size_t c = 0; c < table->count; c++) {
        struct rps_import_table_column *column = &table->column[c];
        int of_process = table->has_processes ? is_of_process(column->name) : 0;

        if (column->kind == RPS_CELLS_NONE && !has_keys && !is_place(table, c) && is_key(table, c))
            column->kind = RPS_CELLS_KEY;
        if (column->kind == RPS_CELLS_NONE && !is_mapped && rps_import_is_numeric(column) &&
            !of_process && !is_place(table, c) &&
            (rps_import_has_words(reading) || !table->has_header ||
             !rps_csv_names_place(column->name)))
            column->kind = RPS_CELLS_GAUGE;
        table->is_keyed |= column->kind == RPS_CELLS_KEY;
        table->adds |= of_process == 2 && column->mapped == RPS_CELLS_SKIP;
    }
}

/* Report the columns that are left out, unless the user chose them. */
static void note_left_out(const struct rps_import_reading *reading)
{
    char text[300] = "", name[RPS_IMPORT_TEXT_SIZE], shown[RPS_IMPORT_TEXT_SIZE];

    for (size_t t = 0; t < reading->table_count; t++) {
        const struct rps_import_table *table = reading->table[t];

        for (size_t c = 0; c < table->count && table->rows > 0; c++) {
            const struct rps_import_table_column *column = &table->column[c];

            if (is_place(table, c) || column->kind == RPS_CELLS_KEY ||
                rps_import_is_value(column->kind) || column->mapped == RPS_CELLS_SKIP ||
                column->numbers + column->words == 0 ||
                (t > 0 && find_column(reading->table[0], column->name)))
                continue;
            rps_text_list(
                text, sizeof(text),
                rps_text_printable(shown, sizeof(shown), rps_import_column_name(table, c, name)));
        }
    }
    if (text[0])
        rps_import_note(
            reading->builder,
            "%s: left out: %s (words, and numbers that only say whose row it is; --map takes a "
            "number in, as COLUMN=gauge)",
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

/* Blanks separate cells in files that begin like those of sar, pidstat, iostat and vmstat, or with
 * two lines without any other separator. */
static int is_fixed_width(const char *head)
{
    const char *row = rps_import_first_row(head), *next = row + strcspn(row, "\n");
    size_t length = strcspn(row, ",;\t|\n");

    if (strncmp(row, "Linux ", 6) == 0 || (row + length == next && memmem(row, length, "---", 3)))
        return 1;
    return *next && row + length == next && next[1 + strcspn(next + 1, ",;\t|\n")] == '\n' &&
           count_words(row) > 1 && count_words(row) == count_words(next + 1);
}

/* Read the first rows, for the contents of the columns. */
static int look_at_columns(struct rps_import_reading *reading, struct rps_error *err)
{
    char *const *cell;
    int result = rps_import_begin_again(reading, err), rows = 0;

    while (result == 0 && (rps_import_has_words(reading) || rows++ < SAMPLE_ROWS) &&
           (result = rps_import_next_row(reading, &cell, err)) > 0) {
        look_at(reading, cell);
        result = 0;
    }
    if (result == 0 && reading->table_count == 0)
        return rps_error_set(err, RPS_FAILED, "%s has no rows to import", reading->builder->path);
    for (size_t t = 0; t < reading->table_count; t++)
        find_header(reading->table[t]);
    reading->is_known = 1;
    return result;
}

/* Check whether the table already had a row of that moment and CPU. */
static void look_at_time(const struct rps_import_reading *reading, struct rps_import_table *table,
                         char *const *cell, int has_time, int64_t time_ns)
{
    int32_t cpu = RPS_CPU_ALL;
    int is_same = has_time ? time_ns == table->last_ns : reading->section == table->section;

    if (table->cpu >= 0)
        rps_import_cpu(cell[table->cpu], &cpu);
    table->descends |= table->section > 0 && (has_time ? time_ns <= table->last_ns : is_same);
    table->repeats |= table->section > 0 && is_same && cpu == table->last_cpu;
    table->section = reading->section;
    table->last_ns = time_ns;
    table->last_cpu = cpu;
}

/* Find the start of the run, and the length of the first row. */
static int choose_start(struct rps_import_reading *reading, int64_t first_ns, int64_t second_ns,
                        struct rps_error *err)
{
    struct rps_import_builder *builder = reading->builder;
    const struct rps_import_table *table = reading->table[0];
    int64_t day_ns = rps_import_day(rps_import_head(builder)), time_of_day_ns = -1;
    int has_day = (double)first_ns >= RPS_IMPORT_EPOCH_S * RPS_NS_PER_S;
    char name[RPS_IMPORT_TEXT_SIZE] = "time";

    reading->first_ns = second_ns > first_ns ? second_ns - first_ns : RPS_NS_PER_S;
    if (reading->first_ns > RPS_IMPORT_LENGTH_MAX_NS)
        return rps_error_set(err, RPS_FAILED, "%s: the time cannot go on by %.9g s", builder->path,
                             (double)reading->first_ns / RPS_NS_PER_S);
    if (first_ns > 0 && first_ns <= 2 * reading->first_ns)
        reading->first_ns = first_ns; /* since 0 */
    reading->zero_ns = first_ns - reading->first_ns;
    if (has_day)
        rps_import_run(builder)->start_realtime_ns = reading->zero_ns;
    else if (day_ns >= 0)
        rps_import_run(builder)->start_realtime_ns = day_ns + reading->zero_ns;
    else if (reading->is_moment)
        time_of_day_ns = (reading->zero_ns + RPS_NS_PER_DAY) % RPS_NS_PER_DAY;
    if (table->time >= 0)
        rps_import_column_name(table, (size_t)table->time, name);
    rps_import_time_column(builder, name, has_day || reading->is_moment, time_of_day_ns);
    return 0;
}

/* Read them again, for their times, and whether each has its own. */
static int look_at_times(struct rps_import_reading *reading, struct rps_error *err)
{
    int64_t first_ns = 0, second_ns = 0, time_ns = 0;
    int result = rps_import_begin_again(reading, err), rows = 0, has_time = 0;
    char *const *cell;

    while (result == 0 &&
           (rps_import_has_words(reading) || rows < SAMPLE_ROWS ||
            (has_time && first_ns == second_ns)) &&
           (result = rps_import_next_row(reading, &cell, err)) > 0) {
        if ((has_time = rps_import_row_time(reading, cell, &time_ns, err)) < 0)
            return RPS_FAILED;
        look_at_time(reading, reading->now, cell, has_time, time_ns);
        first_ns = rows++ == 0 ? time_ns : first_ns;
        second_ns = first_ns == second_ns || rows == 1 ? time_ns : second_ns;
        result = 0;
    }
    if (result < 0)
        return result;
    if (has_time)
        return choose_start(reading, first_ns, second_ns, err);
    rps_import_note(reading->builder, "%s has no column of times: a row is taken for a second",
                    reading->builder->path);
    for (size_t t = 0; t < reading->table_count; t++)
        reading->table[t]->repeats &= rps_import_has_words(reading) && reading->section > 1;
    return 0;
}

/* The first output of vmstat and iostat covers another time than their other rows. */
static void note_first_row(const struct rps_import_reading *reading)
{
    int is_theirs = 0;

    for (size_t t = 0; t < reading->table_count && rps_import_has_words(reading); t++)
        is_theirs |= find_column(reading->table[t], "Device") ||
                     strcmp(reading->table[t]->column[0].panel, "avg-cpu") == 0 ||
                     strcmp(reading->table[t]->column[0].panel, "procs") == 0;
    if (is_theirs)
        rps_import_note(reading->builder,
                        "%s: the first row of vmstat and iostat is the mean since the machine "
                        "started, unless they were told -y",
                        reading->builder->path);
}

int rps_import_find_out(struct rps_import_reading *reading, const char *map, struct rps_error *err)
{
    const char *head = rps_import_head(reading->builder);
    int is_mapped = 0, result;

    if (is_fixed_width(head)) {
        reading->separator = ' ';
        head += strcspn(head, "\n"); /* a version may follow */
    }
    rps_csv_guess(head, strlen(head), &reading->separator, &reading->times.decimal);
    result = look_at_columns(reading, err);
    if (result < 0)
        return result;
    if (!reading->table[0]->has_header)
        read_comment(reading);
    read_groups(reading);
    if (map && read_map(reading, map, err) < 0)
        return RPS_USAGE;
    for (size_t t = 0; t < reading->table_count; t++) {
        for (size_t c = 0; c < reading->table[t]->count; c++)
            is_mapped |= rps_import_is_value(reading->table[t]->column[c].mapped);
    }
    for (size_t t = 0; t < reading->table_count; t++) {
        if ((result = choose_places(reading, reading->table[t], is_mapped, err)) < 0)
            return result;
    }
    result = look_at_times(reading, err);
    for (size_t t = 0; t < reading->table_count && result == 0; t++)
        choose_values(reading, reading->table[t], is_mapped);
    if (result == 0 && !is_mapped)
        note_left_out(reading);
    if (result == 0)
        note_first_row(reading);
    return result < 0 ? result : rps_import_begin_again(reading, err);
}
