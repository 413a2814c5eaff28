/* The text of a file of tables: names of columns, cells, lines, rows and their times. */
#include "import_table.h"

#include <iconv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rpistat/clock.h"
#include "rpistat/csv_signals.h"
#include "rpistat/text.h"

#define TABLES_MAX 256 /* sar -A has some thirty */

static const char *const kind_name[RPS_CELLS] = {"",      "time",  "cpu", "count",
                                                 "clock", "gauge", "key", "skip"};

int rps_import_is_value(enum rps_cells kind)
{
    return kind == RPS_CELLS_COUNT || kind == RPS_CELLS_CLOCK || kind == RPS_CELLS_GAUGE;
}

enum rps_cells rps_import_find_cells(const char *name)
{
    enum rps_cells k = RPS_CELLS_TIME;

    while (k < RPS_CELLS && strcmp(name, kind_name[k]) != 0)
        k++;
    return k;
}

int rps_import_has_words(const struct rps_import_reading *reading)
{
    return reading->separator == ' ';
}

int rps_import_is_all_cpus(const char *cell)
{
    return strcasecmp(cell, "all") == 0 || strcmp(cell, "-1") == 0;
}

const char *rps_import_column_name(const struct rps_import_table *table, size_t c,
                                   char ret[RPS_IMPORT_TEXT_SIZE])
{
    if (table->has_header && table->column[c].name[0])
        snprintf(ret, RPS_IMPORT_TEXT_SIZE, "%s", table->column[c].name);
    else
        snprintf(ret, RPS_IMPORT_TEXT_SIZE, "column %zu", c + 1);
    return ret;
}

int rps_import_number(const struct rps_import_reading *reading, const char *cell, double *ret,
                      const char **ret_unit)
{
    char decimal = reading->times.decimal;
    int kind = rps_csv_cell(cell, strlen(cell), decimal, ret);
    size_t length = strcspn(cell, " %");

    *ret_unit = "";
    if (kind >= 0 || !cell[length] || strpbrk(cell + length, "0123456789") ||
        rps_csv_cell(cell, length, decimal, ret) <= 0)
        return kind;
    *ret_unit = cell + length + (cell[length] == ' ');
    return 1;
}

int rps_import_cpu(const char *text, int32_t *ret)
{
    const char *digits = text + strcspn(text, "0123456789");
    char *end;
    unsigned long number = strtoul(digits, &end, 10);

    *ret = RPS_CPU_ALL;
    if (rps_import_is_all_cpus(text) || text[0] == '\0')
        return 1;
    if (end == digits || *end || number > INT32_MAX || memchr(text, '-', (size_t)(digits - text)))
        return 0;
    *ret = (int32_t)number;
    return 1;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A header may describe its column: NAME=KIND:UNIT:PANEL. */
static void take_said(struct rps_import_table_column *column)
{
    char *equals = strrchr(column->name, '='), *kind = equals ? equals + 1 : NULL, *unit, *panel;

    if (!kind)
        return;
    unit = strchr(kind, ':');
    if (unit)
        *unit = '\0';
    column->said =
        rps_import_find_cells(kind) == RPS_CELLS ? RPS_CELLS_NONE : rps_import_find_cells(kind);
    if (unit)
        *unit++ = ':';
    if (column->said == RPS_CELLS_NONE)
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

static int has_title(const struct rps_import_reading *reading, char *const *cell, size_t count)
{
    return rps_import_has_words(reading) && count > 1 && ends_with_colon(cell[0]);
}

/* Return 1 for a line with another meaning in a file of words. It may be the first line of sar and
 * pidstat, vmstat's groups, sar's averages, a restart. */
static int is_prose(const struct rps_import_reading *reading, char *const *cell, size_t count)
{
    return strcmp(cell[0], "Linux") == 0 || strstr(cell[0], "--") != NULL ||
           (count > 1 && (strcmp(cell[1], "LINUX") == 0 || strcmp(cell[1], ":") == 0 ||
                          strncmp(cell[1], "---", 3) == 0)) ||
           (ends_with_colon(cell[0]) && reading->table_count > 0 && reading->table[0]->has_clock);
}

/* Return 1 for a row of names: its only number is the time before them. */
static int is_header(const struct rps_import_reading *reading, char *const *cell, size_t count)
{
    int64_t time_ns;
    int words = 0;

    for (size_t c = 0; c < count; c++) {
        const char *unit;
        double value;
        int kind = rps_import_number(reading, cell[c], &value, &unit);

        if (kind > 0)
            return 0;
        words += kind < 0 && !rps_import_time(&reading->times, cell[c], 1, &time_ns);
    }
    return words > 0;
}

/* Return 1 if the row repeats the table's header. */
static int is_header_of(const struct rps_import_reading *reading,
                        const struct rps_import_table *table, char *const *cell, size_t count)
{
    int words = 0;

    if (count != table->count)
        return 0;
    for (size_t c = table->has_clock; c < count; c++) {
        words |= table->column[c].starts_with_word;
        if (strcmp(cell[c], table->column[c].name) != 0)
            return 0;
    }
    return count > 1 && words &&
           (!rps_import_has_words(reading) || is_header(reading, cell, count));
}

char *rps_import_keep_name(const struct rps_import_reading *reading, const char *name)
{
    struct rps_arena *arena = reading->builder->arena;
    char *kept =
        rps_arena_print(arena, "%.*s", (int)rps_text_cut(name, RPS_IMPORT_TEXT_SIZE - 1), name);
    char text[3 * RPS_IMPORT_TEXT_SIZE] = "", *from = kept, *to = text;
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

/* Add a table with this header, or first row if it has none; "avg-cpu: %user ..." */
static struct rps_import_table *new_table(struct rps_import_reading *reading, char *const *cell,
                                          size_t count)
{
    struct rps_arena *arena = reading->builder->arena;
    struct rps_import_table *table = rps_arena_get(arena, 1, sizeof(*table));
    const char *title = has_title(reading, cell, count) ? cell[0] : "";
    int64_t time_ns;

    cell += *title != '\0';
    count -= *title != '\0';
    *table = (struct rps_import_table){.count = count, .time = -1, .day = -1, .cpu = -1};
    table->column = rps_arena_get(arena, count, sizeof(*table->column));
    for (size_t c = 0; c < count; c++) {
        struct rps_import_table_column *column = &table->column[c];
        const char *unit;
        double value;

        column->starts_with_word = rps_import_number(reading, cell[c], &value, &unit) < 0;
        column->name = rps_import_keep_name(reading, cell[c]);
        take_said(column);
        if (*title)
            snprintf(column->panel, sizeof(column->panel), "%.*s", (int)strlen(title) - 1, title);
    }
    table->has_clock = rps_import_has_words(reading) && count > 1 &&
                       is_header(reading, cell, count) &&
                       rps_import_time(&reading->times, cell[0], 1, &time_ns);
    if (table->has_clock)
        table->column[0].name = rps_import_keep_name(reading, "time");
    reading->table =
        rps_arena_grow(arena, reading->table, reading->table_count, sizeof(*reading->table));
    reading->table[reading->table_count++] = table;
    return table;
}

/* Continue with the table of the header; it is new if there is none. */
static int take_header(struct rps_import_reading *reading, char *const *cell, size_t count,
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

/* A line with only a time. */
static int take_stamp(struct rps_import_reading *reading, char *const *cell, size_t count)
{
    int64_t time_ns;

    if (!rps_import_has_words(reading) || count != 1 ||
        strlen(cell[0]) >= sizeof(reading->stamp_text) ||
        !rps_import_stamp(&reading->times, cell[0], &time_ns))
        return 0;
    reading->stamp = strcpy(reading->stamp_text, cell[0]);
    reading->section++;
    return 1;
}

/* The row has the table's cells; pidstat's commands may have blanks. */
static int check_count(const struct rps_import_reading *reading, size_t count,
                       struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;

    if (count == table->count || (rps_import_has_words(reading) && count > table->count &&
                                  strcmp(table->column[table->count - 1].name, "Command") == 0))
        return 0;
    if (rps_import_has_words(reading))
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

/* Return 1 for a row of all CPUs if others are per CPU: they would count twice. */
static int is_left_out(const struct rps_import_table *table, char *const *cell)
{
    const struct rps_import_table_column *column =
        table->cpu < 0 ? NULL : &table->column[table->cpu];

    return column && column->is_all && column->varies && rps_import_is_all_cpus(cell[table->cpu]);
}

int rps_import_next_row(struct rps_import_reading *reading, char *const **ret_cell,
                        struct rps_error *err)
{
    char *const *cell;
    size_t count;
    int result;

    while ((result = rps_import_cells(reading->builder, reading->separator, &cell, &count, err)) >
           0) {
        struct rps_import_table *table = reading->now;

        if (rps_import_has_words(reading) && is_prose(reading, cell, count))
            continue;
        if (take_stamp(reading, cell, count))
            continue;
        if (!table) {
            reading->now =
                reading->table_count > 0 ? reading->table[0] : new_table(reading, cell, count);
            if (!reading->is_known || (reading->now->has_header && !reading->now->is_commented))
                continue;
        } else if (is_header_of(reading, table, cell, count) ||
                   (rps_import_has_words(reading) && is_header(reading, cell, count))) {
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

int rps_import_begin_again(struct rps_import_reading *reading, struct rps_error *err)
{
    reading->now = NULL;
    reading->stamp = NULL;
    reading->section = 1;
    reading->times.last_ns = 0;
    return rps_import_rewind(reading->builder, err);
}

/* --- times ------------------------------------------------------------------------------------ */

/* Choose the unit of numbers: from the map, otherwise the header. Without either, it is the one
 * that makes the cell a time since 1970, or seconds. */
static int choose_unit(struct rps_import_reading *reading, const char *cell, struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;
    const struct rps_import_table_column *column =
        table->time >= 0 ? &table->column[table->time] : NULL;
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

int rps_import_row_time(struct rps_import_reading *reading, char *const *cell, int64_t *ret_ns,
                        struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;
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
                                 rps_import_is_ambiguous(text) ? RPS_IMPORT_AMBIGUOUS
                                                               : "is no time");
    reading->times.last_ns = *ret_ns;
    return 1;
}
