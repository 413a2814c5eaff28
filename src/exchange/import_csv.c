/*
 * Any table of numbers: a row holds what was seen since the row before it, up to its own time.
 * Cells have a separator, or blanks between them as vmstat, sar and pidstat print them, whose first
 * lines, averages and repeated headers are left out.
 *
 * What a map does not say is found out from the first rows, which are read for that and then once
 * more: the header, which columns hold numbers, which one the time. The first row's length is not
 * in the file: it is taken to be that of the second, or what has passed since 0.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import_cells.h"
#include "import_parts.h"
#include "rpistat/clock.h"
#include "rpistat/csv_signals.h"
#include "rpistat/wall.h"

#define SAMPLE_ROWS 100
#define TEXT_SIZE   200

/* Numbers from here on are seconds since 1970, then milliseconds, microseconds, nanoseconds. */
#define EPOCH_S 1e8

/* No time can be later, and no row as long, so that their sums and differences fit. */
#define TIME_MAX_NS   INT64_C(4000000000000000000)
#define LENGTH_MAX_NS INT64_C(1000000000000000000)

#define AMBIGUOUS                                                                                  \
    "may have the day first or the month: write 2026-11-21 14:00:00 or 21.11.2026 14:00:00"

enum kind { NONE, TIME, LENGTH, CPU, COUNT, CLOCK, GAUGE, SKIP, KINDS };

static const char *const kind_name[KINDS] = {"",      "time",  "length", "cpu",
                                             "count", "clock", "gauge",  "skip"};

struct table_column {
    char *name; /* of the header */
    char unit[32];
    char cell_unit[32]; /* behind the numbers: "35 %" */
    char panel[100];
    enum kind kind, mapped, said; /* said: in the header */
    int column;                   /* of the builder */
    /* of the first rows */
    int numbers, words, times, starts_with_word, is_all;
    const char *ambiguous; /* a date that is no time; NULL: none is */
};

struct table {
    struct rps_import_builder *builder;
    char separator, decimal;
    size_t count;
    struct table_column *column;
    int has_header, is_commented;         /* a comment before the first row is the header */
    int time, length, cpu;                /* columns; -1: none */
    int64_t unit_ns, length_unit_ns;      /* of times and lengths that are numbers */
    int64_t zero_ns;                      /* the time that is 0 in the run */
    int64_t last_ns;                      /* that was read */
    int64_t first_ns;                     /* length of the first row */
    int64_t interval_ns, interval_end_ns; /* the latest one of all CPUs */
};

static int is_value(enum kind kind)
{
    return kind == COUNT || kind == CLOCK || kind == GAUGE;
}

static const char *name_of_column(const struct table *table, size_t c, char ret[TEXT_SIZE])
{
    if (table->has_header && table->column[c].name[0])
        snprintf(ret, TEXT_SIZE, "%s", table->column[c].name);
    else
        snprintf(ret, TEXT_SIZE, "column %zu", c + 1);
    return ret;
}

/* --- times ------------------------------------------------------------------------------------ */

/* As rps_csv_cell, of a number with a unit behind it, too: *ret_unit, or "". */
static int read_number(const struct table *table, const char *cell, double *ret,
                       const char **ret_unit)
{
    int kind = rps_csv_cell(cell, strlen(cell), table->decimal, ret);
    size_t length = strcspn(cell, " ");

    *ret_unit = "";
    if (kind >= 0 || !cell[length] || strpbrk(cell + length, "0123456789") ||
        rps_csv_cell(cell, length, table->decimal, ret) <= 0)
        return kind;
    *ret_unit = cell + length + 1;
    return 1;
}

/* 1 for a date that begins D MARK M MARK YYYY: its three numbers, and where it ends. */
static int read_day_first(const char *cell, char mark, int ret[3], size_t *ret_end)
{
    size_t at = 0;

    for (int i = 0; i < 3; i++) {
        size_t digits = strspn(cell + at, "0123456789");

        if (digits < (i < 2 ? 1 : 4) || digits > (i < 2 ? 2 : 4) ||
            (i < 2 && cell[at + digits] != mark))
            return 0;
        ret[i] = atoi(cell + at);
        at += digits + (i < 2);
    }
    *ret_end = at;
    return cell[at] == '\0' || cell[at] == ' ';
}

/* 05/11/2026 is one day in one country, and another in the next. */
static int is_ambiguous(const char *cell)
{
    size_t end;
    int number[3];

    return read_day_first(cell, '/', number, &end);
}

/* A moment, also as nvidia-smi has it, 2026/10/05 03:00:00.100, and sadf, 2026-10-05 03:00:00 UTC,
 * and spreadsheets where the day comes first, 05.10.2026 03:00. */
static int read_moment(const char *cell, struct rps_moment *ret)
{
    char text[40];
    struct rps_error unheard;
    size_t length = strlen(cell), end;
    int date[3];

    if (length >= sizeof(text) - 8)
        return 0;
    if (read_day_first(cell, '.', date, &end))
        snprintf(text, sizeof(text), "%04d-%02d-%02d%s", date[2], date[1], date[0],
                 cell[end] ? cell + end : " 00:00");
    else
        memcpy(text, cell, length + 1);
    length = strlen(text);
    if (length > 8 && text[4] == '/' && text[7] == '/')
        text[4] = text[7] = '-';
    if (length > 4 && strcmp(text + length - 4, " UTC") == 0)
        memcpy(text + length - 4, "Z", 2);
    return rps_moment_is(text) && rps_moment_parse("", text, ret, &unheard) == 0;
}

/* The time of a day as Americans write it. */
static int read_half_day(const char *cell, int64_t *ret_ns)
{
    int hour, minute, second, length = 0;
    char half;

    if (sscanf(cell, "%2d:%2d:%2d %cM%n", &hour, &minute, &second, &half, &length) != 4 ||
        length == 0 || cell[length] || (half != 'A' && half != 'P') || hour < 1 || hour > 12 ||
        minute < 0 || minute > 59 || second < 0 || second > 60)
        return 0;
    hour = hour % 12 + (half == 'P' ? 12 : 0);
    *ret_ns = ((hour * 60 + minute) * 60 + second) * RPS_NS_PER_S;
    return 1;
}

/* 1 and a time in ns: of a moment, or a number; 0 for other text. Times of a day go on past
 * midnight. */
static int read_time(const struct table *table, const char *cell, int64_t unit_ns, int64_t *ret_ns)
{
    struct rps_moment moment;
    double value;

    if (rps_import_decimal(cell, table->decimal, unit_ns, ret_ns))
        return *ret_ns <= TIME_MAX_NS;
    if (rps_csv_cell(cell, strlen(cell), table->decimal, &value) > 0) { /* -1, 1e3 */
        value *= (double)unit_ns;
        if (isnan(value) || fabs(value) > (double)TIME_MAX_NS)
            return 0;
        *ret_ns = llround(value);
        return 1;
    }
    if (!read_half_day(cell, ret_ns)) {
        if (!read_moment(cell, &moment))
            return 0;
        if (moment.has_date)
            return rps_moment_find(&moment, 0, TIME_MAX_NS, ret_ns);
        *ret_ns = moment.time_of_day_ns;
    }
    while (*ret_ns < table->last_ns - RPS_NS_PER_DAY / 2)
        *ret_ns += RPS_NS_PER_DAY;
    return 1;
}

static const struct {
    const char *name;
    int64_t ns;
} units[] = {{"s", RPS_NS_PER_S}, {"ms", RPS_NS_PER_MS}, {"us", RPS_NS_PER_US}, {"ns", 1}};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* 1 when the last word of a column's name is the unit: "time_ms", "Time (us)". */
static int name_has_unit(const char *name, const char *unit)
{
    size_t length = strlen(unit), end = strlen(name);

    while (end > 0 && !isalpha((unsigned char)name[end - 1]))
        end--;
    return end > length && strncmp(name + end - length, unit, length) == 0 &&
           !isalpha((unsigned char)name[end - length - 1]);
}

/* The unit that the map, or else the header, gives to a column; *ret stays without one. */
static int find_unit(const struct table *table, int c, int64_t *ret, struct rps_error *err)
{
    const struct table_column *column = &table->column[c];

    for (size_t i = 0; i < UNITS; i++) {
        if (column->unit[0] ? strcmp(column->unit, units[i].name) == 0
                            : table->has_header && name_has_unit(column->name, units[i].name)) {
            *ret = units[i].ns;
            return 0;
        }
    }
    if (!column->unit[0])
        return 0;
    return rps_error_set(err, RPS_USAGE, "--map: time is in s, ms, us or ns, and not in '%s'",
                         column->unit);
}

/* Units of numbers. Where nothing names one it is what makes a time since 1970 of the cell, or
 * seconds, and a length has that of the time. */
static int choose_units(struct table *table, const char *cell, struct rps_error *err)
{
    double value = NAN;

    rps_csv_cell(cell, strlen(cell), table->decimal, &value);
    table->unit_ns = RPS_NS_PER_S;
    for (size_t i = 1; i < UNITS; i++) {
        if (value * (double)units[i].ns >= EPOCH_S * RPS_NS_PER_S)
            table->unit_ns = units[i].ns;
    }
    if (find_unit(table, table->time, &table->unit_ns, err) < 0)
        return RPS_USAGE;
    table->length_unit_ns = table->unit_ns;
    return table->length < 0 ? 0 : find_unit(table, table->length, &table->length_unit_ns, err);
}

static int cell_time(struct table *table, const char *cell, int64_t *ret_ns, struct rps_error *err)
{
    if (read_time(table, cell, table->unit_ns, ret_ns)) {
        table->last_ns = *ret_ns;
        return 0;
    }
    return rps_import_refuse(table->builder, err, "'%.40s' %s", cell,
                             is_ambiguous(cell) ? AMBIGUOUS : "is no time");
}

/* --- the map ---------------------------------------------------------------------------------- */

/* The kind of that name; KINDS: there is none. */
static enum kind find_kind(const char *name)
{
    enum kind k = TIME;

    while (k < KINDS && strcmp(name, kind_name[k]) != 0)
        k++;
    return k;
}

static int map_item(struct table *table, char *item, struct rps_error *err)
{
    char *equals = strrchr(item, '='), *kind = equals ? equals + 1 : NULL, *unit, *end;
    unsigned long number;
    enum kind k;
    size_t c = 0;

    if (!kind || equals == item)
        return rps_error_set(err, RPS_USAGE, "--map: '%s' is not COLUMN=KIND", item);
    *equals = '\0';
    unit = strchr(kind, ':');
    if (unit)
        *unit++ = '\0';
    k = find_kind(kind);
    if (k == KINDS)
        return rps_error_set(err, RPS_USAGE,
                             "--map: '%s' is no kind of column; there are time, length, cpu, "
                             "count, clock, gauge, skip",
                             kind);
    while (c < table->count && !(table->has_header && strcmp(table->column[c].name, item) == 0))
        c++;
    number = strtoul(item, &end, 10);
    if (c == table->count && !*end && number > 0 && number <= table->count)
        c = number - 1;
    if (c == table->count && !table->has_header)
        return rps_error_set(err, RPS_USAGE,
                             "--map: '%s' is no column's number, and %s has no header: no column "
                             "has a word above numbers, with '%c' as the decimal mark",
                             item, table->builder->path, table->decimal);
    if (c == table->count)
        return rps_error_set(err, RPS_USAGE, "--map: %s has no column '%s'", table->builder->path,
                             item);
    table->column[c].mapped = k;
    snprintf(table->column[c].unit, sizeof(table->column[c].unit), "%s", unit ? unit : "");
    return 0;
}

static int read_map(struct table *table, const char *map, struct rps_error *err)
{
    char *rest = rps_arena_text(table->builder->arena, map), *item;
    int result = 0;

    while (result == 0 && (item = strsep(&rest, ",")))
        result = *item ? map_item(table, item, err) : 0;
    return result;
}

/* --- finding out ------------------------------------------------------------------------------ */

/* A header may say what its column is: NAME=KIND:UNIT:PANEL. */
static void take_said(struct table_column *column)
{
    char *equals = strrchr(column->name, '='), *kind = equals ? equals + 1 : NULL, *unit, *panel;

    if (!kind)
        return;
    unit = strchr(kind, ':');
    if (unit)
        *unit = '\0';
    column->said = find_kind(kind) == KINDS ? NONE : find_kind(kind);
    if (unit)
        *unit++ = ':';
    if (column->said == NONE)
        return;
    panel = unit ? strchr(unit, ':') : NULL;
    if (panel)
        *panel++ = '\0';
    snprintf(column->unit, sizeof(column->unit), "%s", unit ? unit : "");
    snprintf(column->panel, sizeof(column->panel), "%s", panel ? panel : "");
    *equals = '\0';
}

/* 1 for a line that has another's place in a table of fixed width: what sar and pidstat begin with,
 * the names of groups that vmstat has above those of columns, averages, a restart. */
static int is_prose(const struct table *table, char *const *cell, size_t count)
{
    size_t length = strlen(cell[0]);

    return table->separator == ' ' &&
           (strcmp(cell[0], "Linux") == 0 || strstr(cell[0], "--") != NULL ||
            (length > 0 && cell[0][length - 1] == ':') ||
            (count > 1 && (strcmp(cell[1], "LINUX") == 0 || strcmp(cell[1], ":") == 0 ||
                           strncmp(cell[1], "---", 3) == 0)));
}

/* 1 when the first row, which may be a header, comes again. */
static int is_first_row(const struct table *table, char *const *cell, size_t count)
{
    int has_words = 0;

    if (count != table->count)
        return 0;
    for (size_t c = 0; c < count; c++) {
        has_words |= table->column[c].starts_with_word;
        /* sar's has the time in place of a name */
        if (strcmp(cell[c], table->column[c].name) != 0 && !(c == 0 && table->separator == ' '))
            return 0;
    }
    return count > 1 && has_words;
}

static char *keep_name(const struct table *table, const char *name)
{
    return rps_arena_print(table->builder->arena, "%.*s", TEXT_SIZE - 1, name);
}

static void begin_columns(struct table *table, char *const *cell, size_t count)
{
    table->column = rps_arena_get(table->builder->arena, count, sizeof(*table->column));
    table->count = count;
    for (size_t c = 0; c < count; c++) {
        const char *unit;
        double value;

        table->column[c].starts_with_word = read_number(table, cell[c], &value, &unit) < 0;
        table->column[c].name = keep_name(table, cell[c]);
        take_said(&table->column[c]);
    }
}

static int check_count(const struct table *table, size_t count, struct rps_error *err)
{
    /* pidstat's commands may have blanks */
    if (count == table->count || (table->separator == ' ' && count > table->count &&
                                  strcmp(table->column[table->count - 1].name, "Command") == 0))
        return 0;
    if (table->separator == ' ')
        return rps_import_refuse(table->builder, err,
                                 "the row has %zu words, and the first has %zu: a file has one "
                                 "table, as of sar -u",
                                 count, table->count);
    return rps_import_refuse(table->builder, err,
                             "the row has %zu cell%s, and the first has %zu: is the separator "
                             "really '%s', and the header the first line?",
                             count, count == 1 ? "" : "s", table->count,
                             table->separator == '\t' ? "tab" : (char[]){table->separator, '\0'});
}

static void look_at(struct table *table, char *const *cell)
{
    for (size_t c = 0; c < table->count; c++) {
        struct table_column *column = &table->column[c];
        const char *unit;
        int64_t time_ns;
        double value;
        int kind = read_number(table, cell[c], &value, &unit);

        if (*unit)
            snprintf(column->cell_unit, sizeof(column->cell_unit), "%s", unit);
        column->numbers += kind > 0 && isfinite(value);
        column->words += kind < 0;
        column->is_all |= strcasecmp(cell[c], "all") == 0;
        column->times += read_time(table, cell[c], 1, &time_ns);
        if (!column->ambiguous && is_ambiguous(cell[c]))
            column->ambiguous = rps_arena_text(table->builder->arena, cell[c]);
    }
}

static int is_numeric(const struct table_column *column)
{
    return column->numbers > 0 && column->numbers >= column->words;
}

static int is_time(const struct table *table, size_t c)
{
    static const char *const names[] = {"t", "ts", "epoch", "elapsed", "seconds", "datetime"};
    const struct table_column *column = &table->column[c];
    const char *name = table->has_header ? column->name : "";
    int named = rps_csv_names_place(name) && strpbrk(name, "tTdD") == name && strlen(name) > 3;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        named |= strcasecmp(name, names[i]) == 0;
    named |= column->words > 0; /* dates */
    return named && column->times > 0 && column->times >= column->numbers + column->words;
}

/* The comment before the first row is the header when it has as many cells: sadf -d. */
static void read_comment(struct table *table)
{
    const char *head = rps_import_head(table->builder), *row = rps_import_first_row(head), *comment;
    char text[RPS_IMPORT_HEAD_SIZE / 8], *cell[RPS_IMPORT_COLUMNS_MAX];

    while (row > head && row[-1] != '\n')
        row--;
    if (row == head)
        return;
    for (comment = row - 1; comment > head && comment[-1] != '\n'; comment--)
        ;
    if (*comment != '#' || rps_import_separator(comment + 1) != table->separator ||
        rps_import_split(comment + 1, text, sizeof(text), cell, RPS_IMPORT_COLUMNS_MAX) !=
            table->count)
        return;
    for (size_t c = 0; c < table->count; c++)
        table->column[c].name = keep_name(table, cell[c]);
    table->has_header = table->is_commented = 1;
}

/* 1 for what pidstat says of a process beside its numbers; CPU is where it ran last. */
static int is_of_process(const char *name)
{
    static const char *const names[] = {"UID", "PID", "TGID", "TID", "CPU"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return 1;
    }
    return 0;
}

/* What each column is, when the first rows were looked at. */
static int choose_columns(struct table *table, const char *map, struct rps_error *err)
{
    int is_mapped = 0, is_of_processes = 0;

    for (size_t c = 0; c < table->count; c++)
        table->has_header |= table->column[c].starts_with_word && is_numeric(&table->column[c]);
    if (!table->has_header)
        read_comment(table);
    if (read_map(table, map, err) < 0)
        return RPS_USAGE;
    table->time = table->length = table->cpu = -1;
    for (size_t c = 0; c < table->count; c++) {
        is_mapped |= is_value(table->column[c].mapped);
        is_of_processes |= table->separator == ' ' && strcmp(table->column[c].name, "PID") == 0;
    }
    for (size_t c = 0; c < table->count; c++) {
        struct table_column *column = &table->column[c];
        enum kind kind = column->mapped != NONE ? column->mapped : column->said;

        if (column->mapped == NONE && is_value(kind) && (is_mapped || !is_numeric(column)))
            kind = SKIP;
        if (kind == NONE && is_of_processes && is_of_process(column->name))
            kind = SKIP;
        column->kind = kind;
        table->time = kind == TIME ? (int)c : table->time;
        table->length = kind == LENGTH ? (int)c : table->length;
        table->cpu = kind == CPU ? (int)c : table->cpu;
    }
    for (size_t c = 0; c < table->count; c++) {
        struct table_column *column = &table->column[c];
        const char *name = table->has_header ? column->name : "x";

        if (column->kind != NONE)
            continue;
        if (table->time < 0 && is_time(table, c))
            table->time = (int)c;
        else if (table->cpu < 0 && (strcasecmp(name, "cpu") == 0 || strcasecmp(name, "core") == 0))
            table->cpu = (int)c;
        else if (!is_mapped && is_numeric(column) &&
                 (table->separator == ' ' || !rps_csv_names_place(name))) /* vmstat's id is no id */
            column->kind = GAUGE;
    }
    for (size_t c = 0; c < table->count && table->time < 0; c++) {
        if (table->column[c].ambiguous && table->column[c].mapped == NONE)
            return rps_error_set(err, RPS_FAILED, "%s: '%.40s' %s", table->builder->path,
                                 table->column[c].ambiguous, AMBIGUOUS);
    }
    if (table->length >= 0 && table->time < 0)
        return rps_error_set(err, RPS_USAGE,
                             "--map: a length needs a time, that of the row's beginning");
    return 0;
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

/* Blanks between cells: what sar, pidstat and vmstat begin with, or two lines without any other
 * separator. */
static int is_fixed_width(const char *head)
{
    const char *row = rps_import_first_row(head), *next = row + strcspn(row, "\n");
    size_t length = strcspn(row, ",;\t|\n");

    if (strncmp(row, "Linux ", 6) == 0 || strncmp(row, "procs ", 6) == 0)
        return 1;
    return *next && row + length == next && next[1 + strcspn(next + 1, ",;\t|\n")] == '\n' &&
           count_words(row) > 1 && count_words(row) == count_words(next + 1);
}

/* "1,5" and no "1.5" below the first line, which may have a version and a date. */
static char guess_decimal(const char *head)
{
    char found = '.';

    head += strcspn(head, "\n");
    for (const char *at = strpbrk(head, ".,"); at; at = strpbrk(at + 1, ".,")) {
        if (!isdigit((unsigned char)at[-1]) || !isdigit((unsigned char)at[1]))
            continue;
        if (*at == '.' && strspn(at + 1, "0123456789") <= 2)
            return '.';
        if (*at == ',')
            found = ',';
    }
    return found;
}

/* Look at the first rows; then the file is at its beginning again. */
static int look_at_first_rows(struct table *table, const char *map, struct rps_error *err)
{
    const char *head = rps_import_head(table->builder);
    char *const *cell;
    size_t count;
    int result = 0, rows = 0;

    if (is_fixed_width(head)) {
        table->separator = ' ';
        table->decimal = guess_decimal(head);
    } else {
        rps_csv_guess(head, strlen(head), &table->separator, &table->decimal);
    }
    while (rows <= SAMPLE_ROWS &&
           (result = rps_import_cells(table->builder, table->separator, &cell, &count, err)) > 0) {
        if (is_prose(table, cell, count) || (rows > 0 && is_first_row(table, cell, count)))
            continue;
        if (rows++ == 0)
            begin_columns(table, cell, count);
        else if ((result = check_count(table, count, err)) == 0)
            look_at(table, cell);
        if (result < 0)
            return result;
    }
    if (result >= 0 && rows == 0)
        result = rps_error_set(err, RPS_FAILED, "%s has no rows to import", table->builder->path);
    if (result >= 0)
        result = choose_columns(table, map, err);
    return result < 0 ? result : rps_import_rewind(table->builder, err);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* 1 for a row of all CPUs where others are of each: they would count twice. */
static int is_left_out(const struct table *table, char *const *cell, size_t count)
{
    const struct table_column *column = table->cpu < 0 ? NULL : &table->column[table->cpu];

    return column && column->is_all && column->numbers > 0 && (size_t)table->cpu < count &&
           strcasecmp(cell[table->cpu], "all") == 0;
}

/* The next row that is no header. */
static int next_row(struct table *table, int *is_first, char *const **ret_cell,
                    struct rps_error *err)
{
    size_t count;
    int result;

    do {
        int is_header_row = *is_first && table->has_header && !table->is_commented;

        result = rps_import_cells(table->builder, table->separator, ret_cell, &count, err);
        if (result <= 0)
            return result;
        if (is_prose(table, *ret_cell, count))
            continue;
        *is_first = 0;
        if (!is_header_row && !is_left_out(table, *ret_cell, count) &&
            !(table->has_header && is_first_row(table, *ret_cell, count)))
            break;
    } while (1);
    return check_count(table, count, err) < 0 ? RPS_FAILED : 1;
}

/* The day that sar and pidstat name above a table as 2026-11-23 (S_TIME_FORMAT=ISO), in ns of Unix
 * time; -1: none. */
static int64_t find_day(const char *head)
{
    size_t end = strcspn(head, "\n");
    char text[20] = "YYYY-MM-DD 00:00:00";
    struct rps_moment moment;
    struct rps_error unheard;
    int64_t day_ns;

    for (size_t at = 0; at + 10 <= end && strncmp(head, "Linux ", 6) == 0; at++) {
        memcpy(text, head + at, 10);
        if (rps_moment_is(text) && rps_moment_parse("", text, &moment, &unheard) == 0 &&
            moment.has_date && rps_moment_find(&moment, 0, TIME_MAX_NS, &day_ns))
            return day_ns;
    }
    return -1;
}

/* The times of the first two rows that differ say where the run begins, and how long the first
 * row is. Then the file is at its beginning again. */
static int find_start(struct table *table, struct rps_error *err)
{
    int64_t first_ns = 0, time_ns = 0;
    int is_first = 1, rows = 0, result;
    char *const *cell;

    while ((result = next_row(table, &is_first, &cell, err)) > 0) {
        if (rows++ == 0 && choose_units(table, cell[table->time], err) < 0)
            return RPS_FAILED;
        if (cell_time(table, cell[table->time], &time_ns, err) < 0)
            return RPS_FAILED;
        if (rows == 1)
            first_ns = time_ns;
        if (time_ns != first_ns)
            break;
    }
    if (result < 0)
        return result;
    table->first_ns = time_ns > first_ns ? time_ns - first_ns : RPS_NS_PER_S;
    if (table->first_ns > LENGTH_MAX_NS)
        return rps_import_refuse(table->builder, err, "the time cannot go on by %.9g s",
                                 (double)table->first_ns / RPS_NS_PER_S);
    if (first_ns > 0 && first_ns <= 2 * table->first_ns)
        table->first_ns = first_ns; /* since 0 */
    table->zero_ns = table->length < 0 ? first_ns - table->first_ns : first_ns;
    if ((double)first_ns >= EPOCH_S * RPS_NS_PER_S)
        rps_import_run(table->builder)->start_realtime_ns = table->zero_ns;
    else if (find_day(rps_import_head(table->builder)) >= 0)
        rps_import_run(table->builder)->start_realtime_ns =
            find_day(rps_import_head(table->builder)) + table->zero_ns;
    table->last_ns = 0;
    return rps_import_rewind(table->builder, err);
}

static int add_columns(struct table *table, struct rps_error *err)
{
    static const enum rps_import_kind kinds[KINDS] = {
        [COUNT] = RPS_IMPORT_COUNT, [CLOCK] = RPS_IMPORT_CLOCK, [GAUGE] = RPS_IMPORT_GAUGE};
    char name[TEXT_SIZE], other[TEXT_SIZE + 16];
    uint8_t taken[RPS_IMPORT_COLUMNS_MAX] = {0};
    int found = 0;

    for (size_t c = 0; c < table->count; c++) {
        struct table_column *column = &table->column[c];
        struct rps_import_column add = {other, column->unit[0] ? column->unit : column->cell_unit,
                                        column->panel, kinds[column->kind]};

        if (!is_value(column->kind))
            continue;
        found++;
        snprintf(other, sizeof(other), "%s", name_of_column(table, c, name));
        for (int i = 2;; i++) { /* a header may have a name twice */
            if (rps_import_column(table->builder, &add, &column->column, err) < 0)
                return RPS_FAILED;
            if (!taken[column->column])
                break;
            snprintf(other, sizeof(other), "%s (%d)", name, i);
        }
        taken[column->column] = 1;
    }
    if (found == 0)
        return rps_error_set(err, RPS_FAILED,
                             "%s has no column of numbers that is more than a place, with '%c' as "
                             "the decimal mark: name one with --map "
                             "COLUMN=gauge",
                             table->builder->path, table->decimal);
    return 0;
}

/* "3", "cpu3", "all". */
static int read_cpu(const struct table *table, const char *text, int32_t *ret,
                    struct rps_error *err)
{
    const char *digits = text + strcspn(text, "0123456789");
    char *end;
    unsigned long number = strtoul(digits, &end, 10);

    *ret = RPS_CPU_ALL;
    if (strcasecmp(text, "all") == 0 || strcmp(text, "-1") == 0 || text[0] == '\0')
        return 0;
    if (end == digits || *end || number > INT32_MAX || memchr(text, '-', (size_t)(digits - text)))
        return rps_import_refuse(table->builder, err, "'%.40s' is no CPU", text);
    *ret = (int32_t)number;
    return 0;
}

/* A row begins where its CPU's row before ended; where there are several CPUs, at the latest time
 * before its own that any of them has. */
static int64_t find_row_start(struct table *table, int64_t last_ns, int64_t end_ns)
{
    int64_t since_ns = last_ns > 0 ? last_ns : end_ns - table->first_ns;

    if (end_ns > table->interval_end_ns) {
        table->interval_ns = table->interval_end_ns;
        table->interval_end_ns = end_ns;
    }
    if (table->cpu < 0 || end_ns != table->interval_end_ns || table->interval_ns < last_ns)
        return since_ns;
    return table->interval_ns;
}

/* When the row's period began, and how long it is. */
static int begin_row(struct table *table, char *const *cell, struct rps_error *err)
{
    int64_t end_ns = 0, start_ns, length_ns, last_ns;
    int32_t cpu = RPS_CPU_ALL;

    if (table->cpu >= 0 && read_cpu(table, cell[table->cpu], &cpu, err) < 0)
        return RPS_FAILED;
    last_ns = rps_import_last_end(table->builder, cpu);
    if (table->time >= 0 && cell_time(table, cell[table->time], &end_ns, err) < 0)
        return RPS_FAILED;
    end_ns -= table->zero_ns;
    if (table->time < 0)
        end_ns = last_ns + RPS_NS_PER_S;
    start_ns = find_row_start(table, last_ns, end_ns);
    length_ns = end_ns - start_ns;
    if (table->length >= 0) {
        start_ns = end_ns;
        if (!read_time(table, cell[table->length], table->length_unit_ns, &length_ns) ||
            llabs(length_ns) > LENGTH_MAX_NS)
            return rps_import_refuse(table->builder, err, "'%.40s' is no length",
                                     cell[table->length]);
        end_ns = start_ns + length_ns;
    }
    if (length_ns <= 0)
        return rps_import_refuse(
            table->builder, err,
            "the time does not go on: %.40s comes after a row as late. Each time "
            "has one row, as of one process or device; --map says which "
            "column is the time",
            cell[table->time]);
    return rps_import_begin_period(table->builder, cpu, start_ns, length_ns, err);
}

static int read_value(struct table *table, const struct table_column *column, const char *cell,
                      struct rps_error *err)
{
    double value;
    const char *unit;
    int kind = read_number(table, cell, &value, &unit);

    if (kind > 0 && strcmp(unit, column->cell_unit) != 0)
        return rps_import_refuse(table->builder, err,
                                 "'%.40s' in the column '%.60s' is not in '%s' as others are", cell,
                                 column->name, column->cell_unit);
    if (kind < 0)
        return rps_import_refuse(table->builder, err,
                                 "'%.40s' in the column '%.60s' is no number; a kind skip of "
                                 "--map leaves a column out",
                                 cell, column->name);
    if (kind == 0 || isnan(value))
        return 0;
    if (column->kind != GAUGE && strspn(cell, "0123456789") == strlen(cell) && strlen(cell) < 19)
        return rps_import_count(table->builder, column->column, strtoull(cell, NULL, 10), -1, -1,
                                err);
    return rps_import_value(table->builder, column->column, value, -1, -1, err);
}

static int read_rows(struct table *table, struct rps_error *err)
{
    int is_first = 1, result;
    char *const *cell;

    while ((result = next_row(table, &is_first, &cell, err)) > 0) {
        result = begin_row(table, cell, err);
        for (size_t c = 0; c < table->count && result == 0; c++) {
            if (is_value(table->column[c].kind))
                result = read_value(table, &table->column[c], cell[c], err);
        }
        if (result == 0)
            result = rps_import_end_period(table->builder, err);
        if (result < 0)
            return result;
    }
    return result;
}

static int read_csv(struct rps_import_builder *builder, const struct rps_import_options *options,
                    struct rps_error *err)
{
    struct table table = {.builder = builder, .first_ns = RPS_NS_PER_S};
    struct rps_run *run = rps_import_run(builder);
    int result = look_at_first_rows(&table, options->map, err);

    rps_import_comment(rps_import_head(builder), "host: ", run->host, sizeof(run->host));
    rps_import_comment(rps_import_head(builder), "processor: ", run->cpu_model,
                       sizeof(run->cpu_model));
    if (result == 0 && table.time >= 0)
        result = find_start(&table, err);
    else if (result == 0)
        rps_import_note(builder, "%s has no column of times: a row is taken for a second",
                        builder->path);
    if (result == 0)
        result = add_columns(&table, err);
    if (result == 0)
        result = read_rows(&table, err);
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
