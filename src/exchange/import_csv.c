/*
 * Any table of numbers: a row holds what was seen since the row before it, up to its own time.
 * Cells have a separator, or blanks between them as vmstat, sar, pidstat and iostat print them: such
 * a file may have several tables in turns, with a header each, which come again, and the time in a
 * line of its own. Rows of one time and CPU are put together; where several are of one table, each is
 * of a process or a device, which its words name, and has columns of its own.
 *
 * What a map does not say is found out from the first rows, which are read for that and then once
 * more: the header, which columns hold numbers, which one the time, what tells rows apart. The first
 * row's length is not in the file: it is taken to be that of the second, or what has passed since 0.
 */
#include <iconv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import_cells.h"
#include "import_parts.h"
#include "import_perf.h"
#include "import_times.h"
#include "rpistat/clock.h"
#include "rpistat/csv_signals.h"
#include "rpistat/text.h"

#define SAMPLE_ROWS 100 /* of a file with a separator; of others all */
#define TABLES_MAX  256 /* sar -A has some thirty */
#define TEXT_SIZE   200

#define AMBIGUOUS                                                                                  \
    "may have the day first or the month: write 2026-11-21 14:00:00 or 21.11.2026 14:00:00"

enum kind { NONE, TIME, CPU, COUNT, CLOCK, GAUGE, KEY, SKIP, KINDS };

static const char *const kind_name[KINDS] = {"",      "time",  "cpu", "count",
                                             "clock", "gauge", "key", "skip"};

struct table_column {
    char *name; /* of the header */
    char unit[32];
    char cell_unit[32]; /* behind the numbers: "35 %" */
    char panel[100];
    enum kind kind, mapped, said; /* said: in the header */
    /* of the first rows */
    int numbers, words, times, cpus, starts_with_word, is_all, varies;
    const char *first;     /* its cell in the first row; NULL before */
    const char *ambiguous; /* a date that is no time; NULL: none is */
};

/* Of whom a row is. */
struct entity {
    const char *text;  /* "" where the table's rows are told apart by time and CPU alone */
    int *column;       /* of the builder, of each of the table's */
    uint64_t interval; /* number of the last one that it has a row in; 0: none */
};

/* What stands below a header. */
struct table {
    size_t count;
    struct table_column *column;
    int has_header, is_commented; /* a comment before the first row is the header */
    int has_clock;                /* sar's header has the time in place of a name */
    int time, day, cpu;           /* columns; -1: none; day: where `time` has no date */
    int is_keyed, adds;           /* 1: processes of one name are one, which was asked for */
    /* of the first rows */
    int rows, descends, repeats; /* 1: a time is none later; it is the same, and the CPU */
    int64_t last_ns;
    int32_t last_cpu;
    size_t section; /* that its last row is in; 0: it had none */
    size_t entity_count;
    struct entity *entity;
};

struct reading {
    struct rps_import_builder *builder;
    char separator;
    struct rps_import_times times;
    size_t table_count;
    struct table **table, *now; /* the one that the last header, or row, is of */
    const char *stamp;          /* the last line that is a time; NULL: none was */
    char stamp_text[64];
    size_t section;                       /* counts headers and such lines */
    int is_known;                         /* 1: the first rows were looked at */
    int64_t unit_ns;                      /* of times that are numbers; 0: not known yet */
    int is_moment;                        /* 1: times are no numbers */
    int64_t zero_ns;                      /* the time that is 0 in the run */
    int64_t first_ns;                     /* length of the first row */
    int64_t interval_ns, interval_end_ns; /* the latest one of all CPUs */
    /* the period that was begun */
    uint64_t interval; /* its number, from 1; 0: none was */
    int32_t cpu;
    int64_t end_ns;
    uint8_t taken[RPS_IMPORT_COLUMNS_MAX]; /* columns of the builder that are a table's */
};

static int is_value(enum kind kind)
{
    return kind == COUNT || kind == CLOCK || kind == GAUGE;
}

static int is_all_cpus(const char *cell)
{
    return strcasecmp(cell, "all") == 0 || strcmp(cell, "-1") == 0;
}

static int has_words(const struct reading *reading)
{
    return reading->separator == ' ';
}

static const char *name_of_column(const struct table *table, size_t c, char ret[TEXT_SIZE])
{
    if (table->has_header && table->column[c].name[0])
        snprintf(ret, TEXT_SIZE, "%s", table->column[c].name);
    else
        snprintf(ret, TEXT_SIZE, "column %zu", c + 1);
    return ret;
}

/* As rps_csv_cell, of a number with a unit behind it, too: *ret_unit, or "". */
static int read_number(const struct reading *reading, const char *cell, double *ret,
                       const char **ret_unit)
{
    char decimal = reading->times.decimal;
    int kind = rps_csv_cell(cell, strlen(cell), decimal, ret);
    size_t length = strcspn(cell, " ");

    *ret_unit = "";
    if (kind >= 0 || !cell[length] || strpbrk(cell + length, "0123456789") ||
        rps_csv_cell(cell, length, decimal, ret) <= 0)
        return kind;
    *ret_unit = cell + length + 1;
    return 1;
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

/* The column of that name, or else of that number; NULL: the table has none. */
static struct table_column *find_column(const struct table *table, const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    for (size_t c = 0; c < table->count && table->has_header; c++) {
        if (strcmp(table->column[c].name, name) == 0)
            return &table->column[c];
    }
    return !*end && number > 0 && number <= table->count ? &table->column[number - 1] : NULL;
}

static int map_item(struct reading *reading, char *item, struct rps_error *err)
{
    char *equals = strrchr(item, '='), *kind = equals ? equals + 1 : NULL, *unit;
    int found = 0;
    enum kind k;

    if (!kind || equals == item)
        return rps_error_set(err, RPS_USAGE, "--map: '%s' is not COLUMN=KIND", item);
    *equals = '\0';
    unit = strchr(kind, ':');
    if (unit)
        *unit++ = '\0';
    k = find_kind(kind);
    if (k == KINDS)
        return rps_error_set(err, RPS_USAGE,
                             "--map: '%s' is no kind of column; there are time, cpu, count, "
                             "clock, gauge, key, skip",
                             kind);
    for (size_t t = 0; t < reading->table_count; t++) {
        struct table_column *column = find_column(reading->table[t], item);

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

static int read_map(struct reading *reading, const char *map, struct rps_error *err)
{
    char *rest = rps_arena_text(reading->builder->arena, map), *item;
    int result = 0;

    while (result == 0 && (item = strsep(&rest, ",")))
        result = *item ? map_item(reading, item, err) : 0;
    return result;
}

/* --- lines ------------------------------------------------------------------------------------ */

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

static int ends_with_colon(const char *word)
{
    return word[0] && word[strlen(word) - 1] == ':';
}

static int has_title(const struct reading *reading, char *const *cell, size_t count)
{
    return has_words(reading) && count > 1 && ends_with_colon(cell[0]);
}

/* 1 for a line that has another's place in a file of words: what sar and pidstat begin with, the
 * names of groups that vmstat has above those of columns, sar's averages, a restart. */
static int is_prose(const struct reading *reading, char *const *cell, size_t count)
{
    return strcmp(cell[0], "Linux") == 0 || strstr(cell[0], "--") != NULL ||
           (count > 1 && (strcmp(cell[1], "LINUX") == 0 || strcmp(cell[1], ":") == 0 ||
                          strncmp(cell[1], "---", 3) == 0)) ||
           (ends_with_colon(cell[0]) && reading->table_count > 0 && reading->table[0]->has_clock);
}

/* 1 for a row of names: no number but the time before them. */
static int is_header(const struct reading *reading, char *const *cell, size_t count)
{
    int64_t time_ns;
    int words = 0;

    for (size_t c = 0; c < count; c++) {
        const char *unit;
        double value;
        int kind = read_number(reading, cell[c], &value, &unit);

        if (kind > 0)
            return 0;
        words += kind < 0 && !rps_import_time(&reading->times, cell[c], 1, &time_ns);
    }
    return words > 0;
}

/* 1 when the row is the table's header, again. */
static int is_header_of(const struct reading *reading, const struct table *table, char *const *cell,
                        size_t count)
{
    int words = 0;

    if (count != table->count)
        return 0;
    for (size_t c = table->has_clock; c < count; c++) {
        words |= table->column[c].starts_with_word;
        if (strcmp(cell[c], table->column[c].name) != 0)
            return 0;
    }
    return count > 1 && words && (!has_words(reading) || is_header(reading, cell, count));
}

/* A name, copied; where it is not UTF-8 it is taken for what spreadsheets write on Windows. */
static char *keep_name(const struct reading *reading, const char *name)
{
    struct rps_arena *arena = reading->builder->arena;
    char *kept = rps_arena_print(arena, "%.*s", (int)rps_text_cut(name, TEXT_SIZE - 1), name);
    char text[3 * TEXT_SIZE] = "", *from = kept, *to = text;
    size_t left = strlen(kept), room = sizeof(text) - 1;
    iconv_t conversion;
    uint32_t code;

    while (*from && rps_text_decode(from, &code) > 0)
        from += rps_text_decode(from, &code);
    if (!*from || (conversion = iconv_open("UTF-8", "CP1252")) == (iconv_t)-1)
        return kept;
    from = kept;
    iconv(conversion, &from, &left, &to, &room);
    iconv_close(conversion);
    return rps_arena_text(arena, text);
}

/* A table whose header, or first row where it has none, is this one; "avg-cpu:  %user ..." */
static struct table *new_table(struct reading *reading, char *const *cell, size_t count)
{
    struct rps_arena *arena = reading->builder->arena;
    struct table *table = rps_arena_get(arena, 1, sizeof(*table));
    const char *title = has_title(reading, cell, count) ? cell[0] : "";
    int64_t time_ns;

    cell += *title != '\0';
    count -= *title != '\0';
    *table = (struct table){.count = count, .time = -1, .day = -1, .cpu = -1};
    table->column = rps_arena_get(arena, count, sizeof(*table->column));
    for (size_t c = 0; c < count; c++) {
        struct table_column *column = &table->column[c];
        const char *unit;
        double value;

        column->starts_with_word = read_number(reading, cell[c], &value, &unit) < 0;
        column->name = keep_name(reading, cell[c]);
        take_said(column);
        if (*title)
            snprintf(column->panel, sizeof(column->panel), "%.*s", (int)strlen(title) - 1, title);
    }
    table->has_clock = has_words(reading) && count > 1 && is_header(reading, cell, count) &&
                       rps_import_time(&reading->times, cell[0], 1, &time_ns);
    if (table->has_clock)
        table->column[0].name = keep_name(reading, "time");
    reading->table =
        rps_arena_grow(arena, reading->table, reading->table_count, sizeof(*reading->table));
    reading->table[reading->table_count++] = table;
    return table;
}

/* Go on with the table that the header is of, a new one where none is. */
static int take_header(struct reading *reading, char *const *cell, size_t count,
                       struct rps_error *err)
{
    size_t title = (size_t)has_title(reading, cell, count), t = 0;

    reading->section++;
    while (t < reading->table_count &&
           !is_header_of(reading, reading->table[t], cell + title, count - title))
        t++;
    if (t == TABLES_MAX)
        return rps_import_refuse(reading->builder, err,
                                 "%d lines of words before it are all different: leave out what is "
                                 "no table of numbers",
                                 TABLES_MAX);
    reading->now = t < reading->table_count ? reading->table[t] : new_table(reading, cell, count);
    return 0;
}

/* A line that is a time and nothing else. */
static int take_stamp(struct reading *reading, char *const *cell, size_t count)
{
    int64_t time_ns;

    if (!has_words(reading) || count != 1 || strlen(cell[0]) >= sizeof(reading->stamp_text) ||
        !rps_import_stamp(&reading->times, cell[0], &time_ns))
        return 0;
    reading->stamp = strcpy(reading->stamp_text, cell[0]);
    reading->section++;
    return 1;
}

/* The row has the table's cells; pidstat's commands may have blanks. */
static int check_count(const struct reading *reading, size_t count, struct rps_error *err)
{
    const struct table *table = reading->now;

    if (count == table->count || (has_words(reading) && count > table->count &&
                                  strcmp(table->column[table->count - 1].name, "Command") == 0))
        return 0;
    if (has_words(reading))
        return rps_import_refuse(
            reading->builder, err,
            "the row has %zu words, and the header above it has %zu: leave out "
            "what is no table of numbers with a row a moment",
            count, table->count);
    return rps_import_refuse(reading->builder, err,
                             "the row has %zu cell%s, and the first has %zu: is the separator "
                             "really '%s', and the header the first line? Two tables in one file "
                             "are imported one by one; of perf's metrics perf stat -j has names",
                             count, count == 1 ? "" : "s", table->count,
                             reading->separator == '\t' ? "tab"
                                                        : (char[]){reading->separator, '\0'});
}

/* 1 for a row of all CPUs where others are of each: they would count twice. */
static int is_left_out(const struct table *table, char *const *cell)
{
    const struct table_column *column = table->cpu < 0 ? NULL : &table->column[table->cpu];

    return column && column->is_all && column->varies && is_all_cpus(cell[table->cpu]);
}

/* The next row of a table, reading->now: 1, 0 at the end, negative. */
static int next_row(struct reading *reading, char *const **ret_cell, struct rps_error *err)
{
    char *const *cell;
    size_t count;
    int result;

    while ((result = rps_import_cells(reading->builder, reading->separator, &cell, &count, err)) >
           0) {
        struct table *table = reading->now;

        if (has_words(reading) && is_prose(reading, cell, count))
            continue;
        if (take_stamp(reading, cell, count))
            continue;
        if (!table) {
            reading->now =
                reading->table_count > 0 ? reading->table[0] : new_table(reading, cell, count);
            if (!reading->is_known || (reading->now->has_header && !reading->now->is_commented))
                continue;
        } else if (is_header_of(reading, table, cell, count) ||
                   (has_words(reading) && is_header(reading, cell, count))) {
            if (take_header(reading, cell, count, err) < 0)
                return RPS_FAILED;
            continue;
        }
        if (check_count(reading, count, err) < 0)
            return RPS_FAILED;
        *ret_cell = cell;
        if (!is_left_out(reading->now, cell))
            return 1;
    }
    return result;
}

/* Go to the beginning of the file. */
static int begin_again(struct reading *reading, struct rps_error *err)
{
    reading->now = NULL;
    reading->stamp = NULL;
    reading->section = 1;
    reading->times.last_ns = 0;
    return rps_import_rewind(reading->builder, err);
}

/* --- times ------------------------------------------------------------------------------------ */

/* The unit of numbers: what the map, or else the header, says; else what makes a time since 1970 of
 * the cell, or seconds. */
static int choose_unit(struct reading *reading, const char *cell, struct rps_error *err)
{
    const struct table *table = reading->now;
    const struct table_column *column = table->time >= 0 ? &table->column[table->time] : NULL;
    const char *said = !column             ? ""
                       : column->unit[0]   ? column->unit
                       : table->has_header ? column->name
                                           : "";
    double value = NAN;

    reading->is_moment = rps_csv_cell(cell, strlen(cell), reading->times.decimal, &value) < 0;
    reading->unit_ns = rps_import_time_unit(said);
    if (reading->unit_ns == 0 && column && column->unit[0])
        return rps_error_set(err, RPS_USAGE, "--map: time is in s, ms, us or ns, and not in '%s'",
                             column->unit);
    if (reading->unit_ns > 0)
        return 0;
    reading->unit_ns = RPS_NS_PER_S;
    for (int64_t ns = RPS_NS_PER_MS; ns > 0; ns /= 1000) {
        if (value * (double)ns >= RPS_IMPORT_EPOCH_S * RPS_NS_PER_S)
            reading->unit_ns = ns;
    }
    return 0;
}

/* The time of the row: 1, 0 where it has none, negative. */
static int row_time(struct reading *reading, char *const *cell, int64_t *ret_ns,
                    struct rps_error *err)
{
    const struct table *table = reading->now;
    const char *text = table->time >= 0 ? cell[table->time] : reading->stamp;
    char both[100];
    int is_time;

    if (!text)
        return 0;
    if (table->day >= 0) {
        snprintf(both, sizeof(both), "%s %s", cell[table->day], cell[table->time]);
        text = both;
    }
    if (reading->unit_ns == 0 && choose_unit(reading, text, err) < 0)
        return RPS_FAILED;
    is_time = table->time >= 0 ? rps_import_time(&reading->times, text, reading->unit_ns, ret_ns)
                               : rps_import_stamp(&reading->times, text, ret_ns);
    if (!is_time)
        return rps_import_refuse(reading->builder, err, "'%.40s' %s", text,
                                 rps_import_is_ambiguous(text) ? AMBIGUOUS : "is no time");
    reading->times.last_ns = *ret_ns;
    return 1;
}

/* --- finding out ------------------------------------------------------------------------------ */

/* "3", "cpu3", "all", "-1": 1 and *ret. */
static int read_cpu(const char *text, int32_t *ret)
{
    const char *digits = text + strcspn(text, "0123456789");
    char *end;
    unsigned long number = strtoul(digits, &end, 10);

    *ret = RPS_CPU_ALL;
    if (is_all_cpus(text) || text[0] == '\0')
        return 1;
    if (end == digits || *end || number > INT32_MAX || memchr(text, '-', (size_t)(digits - text)))
        return 0;
    *ret = (int32_t)number;
    return 1;
}

static void look_at(struct reading *reading, char *const *cell)
{
    struct table *table = reading->now;

    table->rows++;
    for (size_t c = 0; c < table->count; c++) {
        struct table_column *column = &table->column[c];
        const char *unit;
        int64_t time_ns;
        int32_t cpu;
        double value;
        int kind = read_number(reading, cell[c], &value, &unit);

        if (*unit)
            snprintf(column->cell_unit, sizeof(column->cell_unit), "%s", unit);
        column->numbers += kind > 0 && isfinite(value);
        column->words += kind < 0;
        column->cpus += read_cpu(cell[c], &cpu);
        column->is_all |= is_all_cpus(cell[c]);
        column->times += rps_import_time(&reading->times, cell[c], 1, &time_ns);
        if (!column->ambiguous && rps_import_is_ambiguous(cell[c]))
            column->ambiguous = keep_name(reading, cell[c]);
        if (!column->first)
            column->first = keep_name(reading, cell[c]);
        column->varies |= strcmp(column->first, cell[c]) != 0;
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
static void read_comment(struct reading *reading)
{
    const char *head = rps_import_head(reading->builder), *row = rps_import_first_row(head);
    char text[RPS_IMPORT_HEAD_SIZE / 8], *cell[RPS_IMPORT_COLUMNS_MAX];
    struct table *table = reading->table[0];
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
        table->column[c].name = keep_name(reading, cell[c]);
    table->has_header = table->is_commented = 1;
}

/* vmstat has the names of groups above those of columns: what is drawn together. */
static void read_groups(struct reading *reading)
{
    const char *line = rps_import_first_row(rps_import_head(reading->builder)), *header;
    struct table *table = reading->table[0];
    size_t length = strcspn(line, "\n"), at = 0;

    header = line + length + (line[length] == '\n');
    if (!has_words(reading) || !memmem(line, length, "---", 3))
        return;
    for (size_t c = 0; c < table->count; c++) {
        size_t from;

        at += strspn(header + at, " ");
        at += strcspn(header + at, " \r\n"); /* names stand at the right */
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

/* 1 for what pidstat says of a process beside its numbers; CPU is where it ran last. */
static int is_of_process(const char *name)
{
    static const char *const names[] = {"PID", "TGID", "TID", "UID", "CPU"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return 1 + (i < 3);
    }
    return 0;
}

static int has_processes(const struct table *table)
{
    for (size_t c = 0; c < table->count && table->has_header; c++) {
        if (is_of_process(table->column[c].name) == 2)
            return 1;
    }
    return 0;
}

/* A header is a row with a word above numbers. */
static void find_header(struct table *table)
{
    for (size_t c = 0; c < table->count; c++)
        table->has_header |= table->column[c].starts_with_word && is_numeric(&table->column[c]);
}

/* "24.11.2026" and, in another column, "16:00:05" are one time. */
static void find_day(struct table *table)
{
    const struct table_column *day = &table->column[table->time];

    for (size_t c = 0; c < table->count && day->words > 0 && !strchr(day->first, ':'); c++) {
        const struct table_column *column = &table->column[c];

        if (column->words > 0 && column->times == column->words && strchr(column->first, ':') &&
            !strpbrk(column->first, "-/. ")) {
            table->day = table->time;
            table->time = (int)c;
            return;
        }
    }
}

/* What each column is by what was said, and the time and CPU where nothing was. */
static int choose_places(struct reading *reading, struct table *table, int is_mapped,
                         struct rps_error *err)
{
    for (size_t c = 0; c < table->count; c++) {
        struct table_column *column = &table->column[c];
        enum kind kind = column->mapped != NONE ? column->mapped : column->said;

        if (column->mapped == NONE && is_value(kind) && (is_mapped || !is_numeric(column)))
            kind = SKIP;
        column->kind = kind;
        table->time = kind == TIME ? (int)c : table->time;
        table->cpu = kind == CPU ? (int)c : table->cpu;
    }
    for (size_t c = 0; c < table->count; c++) {
        struct table_column *column = &table->column[c];
        const char *name = table->has_header ? column->name : "x";

        if (column->kind != NONE)
            continue;
        if (table->time < 0 && is_time(table, c))
            table->time = (int)c;
        else if (table->cpu < 0 && table->rows > 0 && column->cpus == table->rows &&
                 !has_processes(table) &&
                 (strcasecmp(name, "cpu") == 0 || strcasecmp(name, "core") == 0))
            table->cpu = (int)c;
    }
    for (size_t c = 0; c < table->count && table->time < 0; c++) {
        if (table->column[c].ambiguous && table->column[c].mapped == NONE)
            return rps_error_set(err, RPS_FAILED, "%s: '%.40s' %s", reading->builder->path,
                                 table->column[c].ambiguous, AMBIGUOUS);
    }
    if (table->time >= 0)
        find_day(table);
    return 0;
}

static int is_place(const struct table *table, size_t c)
{
    return (int)c == table->time || (int)c == table->day || (int)c == table->cpu;
}

/* 1 for a column that tells rows apart: the words of a table with several rows a moment, and of one
 * of several processes their numbers and commands. */
static int is_key(const struct table *table, size_t c)
{
    const struct table_column *column = &table->column[c];
    int of_process = has_processes(table) ? is_of_process(column->name) : 0, several = 0;

    if (!has_processes(table))
        return table->repeats && column->varies && !is_numeric(column);
    for (size_t i = 0; i < table->count; i++)
        several |= is_of_process(table->column[i].name) == 2 && table->column[i].varies;
    return several && (of_process == 2 ? column->varies : !of_process && !is_numeric(column));
}

/* What is left: values, and what tells rows apart. */
static void choose_values(const struct reading *reading, struct table *table, int is_mapped)
{
    int has_keys = 0, is_of_processes = has_processes(table);

    if (!table->descends && table->cpu >= 0 && table->column[table->cpu].kind != CPU &&
        table->column[table->cpu].varies && !table->column[table->cpu].is_all)
        table->cpu = -1; /* a row a moment: it is no CPU's number */
    for (size_t c = 0; c < table->count; c++)
        has_keys |= table->column[c].kind == KEY;
    for (size_t c = 0; c < table->count; c++) {
        struct table_column *column = &table->column[c];
        int of_process = is_of_processes ? is_of_process(column->name) : 0;

        if (column->kind == NONE && !has_keys && !is_place(table, c) && is_key(table, c))
            column->kind = KEY;
        if (column->kind == NONE && !is_mapped && is_numeric(column) && !of_process &&
            !is_place(table, c) &&
            (has_words(reading) || !table->has_header || !rps_csv_names_place(column->name)))
            column->kind = GAUGE;
        table->is_keyed |= column->kind == KEY;
        table->adds |= of_process == 2 && column->mapped == SKIP;
    }
}

/* Say which columns are none of the run, when nobody has chosen them. */
static void note_left_out(const struct reading *reading)
{
    char text[300] = "", name[TEXT_SIZE], shown[TEXT_SIZE];

    for (size_t t = 0; t < reading->table_count; t++) {
        const struct table *table = reading->table[t];

        for (size_t c = 0; c < table->count && table->rows > 0; c++) {
            const struct table_column *column = &table->column[c];
            size_t used = strlen(text);

            if (is_place(table, c) || column->kind == KEY || is_value(column->kind) ||
                column->mapped == SKIP || column->numbers + column->words == 0 ||
                (t > 0 && find_column(reading->table[0], column->name)))
                continue;
            snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? ", " : "",
                     rps_text_printable(shown, sizeof(shown), name_of_column(table, c, name)));
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

/* Blanks between cells: what sar, pidstat, iostat and vmstat begin with, or two lines without any
 * other separator. */
static int is_fixed_width(const char *head)
{
    const char *row = rps_import_first_row(head), *next = row + strcspn(row, "\n");
    size_t length = strcspn(row, ",;\t|\n");

    if (strncmp(row, "Linux ", 6) == 0 || (row + length == next && memmem(row, length, "---", 3)))
        return 1;
    return *next && row + length == next && next[1 + strcspn(next + 1, ",;\t|\n")] == '\n' &&
           count_words(row) > 1 && count_words(row) == count_words(next + 1);
}

/* Go through the first rows: what the columns hold. */
static int look_at_columns(struct reading *reading, struct rps_error *err)
{
    char *const *cell;
    int result = begin_again(reading, err), rows = 0;

    while (result == 0 && (has_words(reading) || rows++ < SAMPLE_ROWS) &&
           (result = next_row(reading, &cell, err)) > 0) {
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

/* Whether the table has had a row of that moment and CPU before. */
static void look_at_time(const struct reading *reading, struct table *table, char *const *cell,
                         int has_time, int64_t time_ns)
{
    int32_t cpu = RPS_CPU_ALL;
    int is_same = has_time ? time_ns == table->last_ns : reading->section == table->section;

    if (table->cpu >= 0)
        read_cpu(cell[table->cpu], &cpu);
    table->descends |= table->section > 0 && (has_time ? time_ns <= table->last_ns : is_same);
    table->repeats |= table->section > 0 && is_same && cpu == table->last_cpu;
    table->section = reading->section;
    table->last_ns = time_ns;
    table->last_cpu = cpu;
}

/* When the run begins, and how long the first row is. */
static int choose_start(struct reading *reading, int64_t first_ns, int64_t second_ns,
                        struct rps_error *err)
{
    struct rps_import_builder *builder = reading->builder;
    const struct table *table = reading->table[0];
    int64_t day_ns = rps_import_day(rps_import_head(builder)), time_of_day_ns = -1;
    int has_day = (double)first_ns >= RPS_IMPORT_EPOCH_S * RPS_NS_PER_S;
    char name[TEXT_SIZE] = "time";

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
        name_of_column(table, (size_t)table->time, name);
    rps_import_time_column(builder, name, has_day || reading->is_moment, time_of_day_ns);
    return 0;
}

/* Go through them again: what their times are, and whether each has one of its own. */
static int look_at_times(struct reading *reading, struct rps_error *err)
{
    int64_t first_ns = 0, second_ns = 0, time_ns = 0;
    int result = begin_again(reading, err), rows = 0, has_time = 0;
    char *const *cell;

    while (result == 0 &&
           (has_words(reading) || rows < SAMPLE_ROWS || (has_time && first_ns == second_ns)) &&
           (result = next_row(reading, &cell, err)) > 0) {
        if ((has_time = row_time(reading, cell, &time_ns, err)) < 0)
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
        reading->table[t]->repeats &= has_words(reading) && reading->section > 1;
    return 0;
}

/* What vmstat and iostat print first is of another time than their other rows. */
static void note_first_row(const struct reading *reading)
{
    int is_theirs = 0;

    for (size_t t = 0; t < reading->table_count && has_words(reading); t++)
        is_theirs |= find_column(reading->table[t], "Device") ||
                     strcmp(reading->table[t]->column[0].panel, "avg-cpu") == 0 ||
                     strcmp(reading->table[t]->column[0].panel, "procs") == 0;
    if (is_theirs)
        rps_import_note(reading->builder,
                        "%s: the first row of vmstat and iostat is the mean since the machine "
                        "started, unless they were told -y",
                        reading->builder->path);
}

/* What the file is, by its first rows; then it is at its beginning again. */
static int find_out(struct reading *reading, const char *map, struct rps_error *err)
{
    const char *head = rps_import_head(reading->builder);
    int is_mapped = 0, result;

    if (is_fixed_width(head)) {
        reading->separator = ' ';
        head += strcspn(head, "\n"); /* which may have a version */
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
            is_mapped |= is_value(reading->table[t]->column[c].mapped);
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
    return result < 0 ? result : begin_again(reading, err);
}

/* --- columns ---------------------------------------------------------------------------------- */

/* A column of the run for each of the table's that has values of the entity. */
static int add_columns(struct reading *reading, const struct table *table, struct entity *entity,
                       struct rps_error *err)
{
    static const enum rps_import_kind kinds[KINDS] = {
        [COUNT] = RPS_IMPORT_COUNT, [CLOCK] = RPS_IMPORT_CLOCK, [GAUGE] = RPS_IMPORT_GAUGE};
    char name[TEXT_SIZE], full[2 * TEXT_SIZE], other[2 * TEXT_SIZE + 16];

    entity->column = rps_arena_get(reading->builder->arena, table->count, sizeof(*entity->column));
    for (size_t c = 0; c < table->count; c++) {
        const struct table_column *column = &table->column[c];
        const char *of = entity->text, *panel = column->panel;
        struct rps_import_column add = {other, column->unit[0] ? column->unit : column->cell_unit,
                                        panel[0] || !of[0] ? panel : name, kinds[column->kind]};

        if (!is_value(column->kind))
            continue;
        name_of_column(table, c, name);
        snprintf(full, sizeof(full), "%s%s%s", of, of[0] ? " " : "", name);
        snprintf(other, sizeof(other), "%s", full);
        for (int i = 2;; i++) { /* a header may have a name twice */
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

/* Of whom the row is; NULL with err. */
static struct entity *find_entity(struct reading *reading, char *const *cell, struct rps_error *err)
{
    struct rps_arena *arena = reading->builder->arena;
    struct table *table = reading->now;
    char text[TEXT_SIZE] = "";

    for (int words = 1; words >= 0 && table->is_keyed; words--) { /* "bash 4711" */
        for (size_t c = 0; c < table->count; c++) {
            size_t used = strlen(text);

            if (table->column[c].kind == KEY && is_numeric(&table->column[c]) != words)
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
                          has_processes(table) ? "--map PID=skip adds up those of one name"
                                               : "--map COLUMN=skip leaves columns out");
        return NULL;
    }
    table->entity =
        rps_arena_grow(arena, table->entity, table->entity_count, sizeof(*table->entity));
    table->entity[table->entity_count] = (struct entity){.text = rps_arena_text(arena, text)};
    if (add_columns(reading, table, &table->entity[table->entity_count], err) < 0)
        return NULL;
    return &table->entity[table->entity_count++];
}

/* A table of each CPU has other rows than one of the whole machine: sar -ur -P ALL. */
static int check_cpus(const struct reading *reading, struct rps_error *err)
{
    int by_cpu = 0, others = 0;

    for (size_t t = 0; t < reading->table_count; t++) {
        const struct table *table = reading->table[t];
        const struct table_column *cpu = table->cpu >= 0 ? &table->column[table->cpu] : NULL;

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

static int check_values(const struct reading *reading, struct rps_error *err)
{
    for (size_t t = 0; t < reading->table_count; t++) {
        for (size_t c = 0; c < reading->table[t]->count; c++) {
            if (is_value(reading->table[t]->column[c].kind))
                return 0;
        }
    }
    return rps_error_set(err, RPS_FAILED,
                         "%s has no column of numbers that is more than a place, with '%c' as "
                         "the decimal mark: name one with --map COLUMN=gauge",
                         reading->builder->path, reading->times.decimal);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* A row begins where its CPU's row before ended; where there are several CPUs, at the latest time
 * before its own that any of them has. */
static int64_t find_row_start(struct reading *reading, int64_t last_ns, int64_t end_ns)
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

static int end_period(struct reading *reading, struct rps_error *err)
{
    return reading->interval > 0 ? rps_import_end_period(reading->builder, err) : 0;
}

/* End the period before the row's, which begins a new one. */
static int begin_period(struct reading *reading, char *const *cell, int has_time, int32_t cpu,
                        int64_t end_ns, struct rps_error *err)
{
    const struct table *table = reading->now;
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

/* Begin a period, unless the row is of the one that was begun. */
static int place_row(struct reading *reading, char *const *cell, struct entity *entity,
                     struct rps_error *err)
{
    const struct table *table = reading->now;
    int64_t time_ns = 0;
    int32_t cpu = RPS_CPU_ALL;
    int has_time = row_time(reading, cell, &time_ns, err), is_same;

    if (has_time < 0)
        return RPS_FAILED;
    if (table->cpu >= 0 && !read_cpu(cell[table->cpu], &cpu))
        return rps_import_refuse(reading->builder, err, "'%.40s' is no CPU", cell[table->cpu]);
    is_same = reading->interval > 0 && cpu == reading->cpu && time_ns == reading->end_ns &&
              (entity->interval != reading->interval || table->adds);
    if (!is_same && begin_period(reading, cell, has_time, cpu, time_ns, err) < 0)
        return RPS_FAILED;
    entity->interval = reading->interval;
    return 0;
}

static int read_value(struct reading *reading, const struct table_column *column, int number,
                      const char *cell, struct rps_error *err)
{
    double value;
    const char *unit;
    int kind = read_number(reading, cell, &value, &unit);

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
    if (column->kind != GAUGE && strspn(cell, "0123456789") == strlen(cell) && strlen(cell) < 19)
        return rps_import_count(reading->builder, number, strtoull(cell, NULL, 10), -1, -1, err);
    return rps_import_value(reading->builder, number, value, -1, -1, err);
}

static int read_row(struct reading *reading, char *const *cell, struct rps_error *err)
{
    const struct table *table = reading->now;
    struct entity *entity = find_entity(reading, cell, err);
    int result = entity ? place_row(reading, cell, entity, err) : RPS_FAILED;

    for (size_t c = 0; c < table->count && result == 0; c++) {
        if (is_value(table->column[c].kind))
            result = read_value(reading, &table->column[c], entity->column[c], cell[c], err);
    }
    return result;
}

static int read_csv(struct rps_import_builder *builder, const struct rps_import_options *options,
                    struct rps_error *err)
{
    struct reading reading = {.builder = builder, .first_ns = RPS_NS_PER_S};
    struct rps_run *run = rps_import_run(builder);
    char *const *cell;
    int result = find_out(&reading, options->map, err);

    rps_import_perf_start(builder);
    rps_import_comment(rps_import_head(builder), "host: ", run->host, sizeof(run->host));
    rps_import_comment(rps_import_head(builder), "processor: ", run->cpu_model,
                       sizeof(run->cpu_model));
    if (result == 0 && (result = check_cpus(&reading, err)) == 0)
        result = check_values(&reading, err);
    while (result == 0 && (result = next_row(&reading, &cell, err)) > 0)
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
