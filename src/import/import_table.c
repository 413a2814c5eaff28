/* The text of a file of tables: names of columns, cells, lines, rows and their times. */
#include "import_table.h"

#include <ctype.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import_values.h"
#include "rpistat/period.h"
#include "rpistat/text.h"

#define TABLES_MAX 256 /* maximum number of tables; sar -A has some thirty */

static const char *const kind_name[RPS_CELLS] = {"",      "time",  "cpu", "count", "counter",
                                                 "clock", "gauge", "key", "skip"};

int rps_import_is_value(enum rps_cells kind)
{
    return kind >= RPS_CELLS_COUNT && kind <= RPS_CELLS_GAUGE;
}

enum rps_cells rps_import_find_cells(const char *name)
{
    enum rps_cells k = RPS_CELLS - 1;

    while (k > RPS_CELLS_NONE && strcmp(name, kind_name[k]) != 0)
        k--;
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

/* Read the description of a column in its header: NAME=KIND:UNIT:PANEL. */
static void take_said(struct rps_import_table_column *column)
{
    char *equals = strrchr(column->header, '='), text[3 * RPS_IMPORT_TEXT_SIZE], *rest = text;
    const char *unit;

    snprintf(text, sizeof(text), "%s", equals ? equals + 1 : "");
    column->said = equals ? rps_import_find_cells(strsep(&rest, ":")) : RPS_CELLS_NONE;
    if (column->said == RPS_CELLS_NONE)
        return;
    unit = strsep(&rest, ":");
    snprintf(column->unit, sizeof(column->unit), "%s", unit ? unit : "");
    snprintf(column->panel, sizeof(column->panel), "%s", rest ? rest : "");
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

/* Return 1 for the line that sysstat writes when the machine was started, in each of its forms. */
static int is_restart(char *const *cell, size_t count)
{
    for (size_t c = 0; c < count; c++) {
        if (cell[c][0] != 'L')
            continue;
        if (strncmp(cell[c], "LINUX-RESTART", 13) == 0 ||
            (strcmp(cell[c], "LINUX") == 0 && c + 1 < count && strcmp(cell[c + 1], "RESTART") == 0))
            return 1;
    }
    return 0;
}

/* Return 1 for a row of totals below the table, which begins with a word such as "total". */
static int is_footer(const struct rps_import_table *table, char *const *cell, size_t count)
{
    static const char *const words[] = {"average",      "averages",  "avg",
                                        "mean",         "total",     "totals",
                                        "sum",          "summary",   "minimum",
                                        "maximum",      "min",       "max",
                                        "median",       "stddev",    "stdev",
                                        "durchschnitt", "moyenne",   "mittelwert",
                                        "std dev",      "std. dev.", "standard deviation",
                                        "grand total",  "subtotal"};
    char word[40];
    size_t c = 0;

    while (c < count && !cell[c][0])
        c++;
    if (c == count || !isalpha((unsigned char)cell[c][0]) || table->rows == 0 ||
        (int)c == table->cpu || table->column[c < table->count ? c : 0].kind == RPS_CELLS_KEY)
        return 0;
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(cell[c], ":"), cell[c]);
    for (size_t i = 0; i < RPS_COUNT(words); i++) {
        if (strcasecmp(word, words[i]) == 0)
            return 1;
    }
    return 0;
}

/* For a file in which blanks separate cells, return 1 if a line is not part of a table. Examples
 * are the first line of sar and pidstat, vmstat's groups, and sar's averages. */
static int is_prose(const struct rps_import_reading *reading, char *const *cell, size_t count)
{
    return strcmp(cell[0], "Linux") == 0 || strstr(cell[0], "--") != NULL ||
           (count > 1 && (strcmp(cell[1], ":") == 0 || strncmp(cell[1], "---", 3) == 0)) ||
           (ends_with_colon(cell[0]) && reading->table_count > 0 && reading->table[0]->has_clock);
}

/* Return 1 for a row of names. The only number in such a row is a time before the names. */
static int is_header(const struct rps_import_reading *reading, char *const *cell, size_t count)
{
    int words = 0;

    for (size_t c = 0; c < count; c++) {
        struct rps_time time;
        const char *unit;
        double value;
        int kind = rps_value_read_unit(cell[c], reading->times.decimal, &value, &unit);

        if (kind > 0)
            return 0;
        words += kind < 0 && rps_time_read(cell[c], &time) <= 0;
    }
    return words > 0;
}

static int is_header_of(const struct rps_import_reading *reading,
                        const struct rps_import_table *table, char *const *cell, size_t count)
{
    int words = 0;

    if (count != table->count)
        return 0;
    for (size_t c = table->has_clock; c < count; c++) {
        words |= table->column[c].starts_with_word;
        if (cell[c][0] != table->column[c].header[0] ||
            strcmp(cell[c], table->column[c].header) != 0)
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

/* Add a table with this header, or with this first row if it has no header. A title such as
 * "avg-cpu:" before the names is not a name. */
static struct rps_import_table *new_table(struct rps_import_reading *reading, char *const *cell,
                                          size_t count)
{
    struct rps_arena *arena = reading->builder->arena;
    struct rps_import_table *table = rps_arena_get(arena, 1, sizeof(*table));
    const char *title = has_title(reading, cell, count) ? cell[0] : "";
    struct rps_time time;

    cell += *title != '\0';
    count -= *title != '\0';
    *table =
        (struct rps_import_table){.count = count, .time = -1, .day = -1, .cpu = -1, .interval = -1};
    table->column = rps_arena_get(arena, count, sizeof(*table->column));
    for (size_t c = 0; c < count; c++) {
        struct rps_import_table_column *column = &table->column[c];
        const char *unit;

        column->starts_with_word =
            rps_value_read_unit(cell[c], reading->times.decimal, &column->first_value, &unit) < 0 ||
            (strlen(cell[c]) > 4 && isalpha((unsigned char)cell[c][0])); /* a word: "errors" */
        column->header = rps_import_keep_name(reading, cell[c]);
        column->name = column->label = column->header;
        take_said(column);
        if (*title)
            snprintf(column->panel, sizeof(column->panel), "%.*s", (int)strlen(title) - 1, title);
    }
    table->has_clock = rps_import_has_words(reading) && count > 1 &&
                       is_header(reading, cell, count) && rps_time_read(cell[0], &time) > 0;
    if (table->has_clock)
        table->column[0].header = rps_import_keep_name(reading, "time");
    reading->table =
        rps_arena_grow(arena, reading->table, reading->table_count, sizeof(*reading->table));
    reading->table[reading->table_count++] = table;
    return table;
}

/* Make the table that has this header the current table. Add a table if there is none. */
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
                                 "%d lines of text before it are all different; remove lines that "
                                 "are not part of a table of numbers",
                                 TABLES_MAX);
    reading->now = t < reading->table_count ? reading->table[t] : new_table(reading, cell, count);
    return 0;
}

/* Read a line that has only a time. */
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

/* Check that the row has as many cells as the table. A row of pidstat may have more, because a
 * command may contain blanks. */
static int check_count(const struct rps_import_reading *reading, size_t count,
                       struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;

    if (count == table->count || (rps_import_has_words(reading) && count > table->count &&
                                  strcmp(table->column[table->count - 1].header, "Command") == 0))
        return 0;
    if (rps_import_has_words(reading))
        return rps_import_refuse(reading->builder, err,
                                 "the row has %zu words, and its header has %zu; remove lines that "
                                 "are not part of a table of numbers",
                                 count, table->count);
    return rps_import_refuse(reading->builder, err,
                             "the row has %zu cell%s, and the first has %zu; check that the "
                             "separator is '%s', and import two tables from two files",
                             count, count == 1 ? "" : "s", table->count,
                             reading->separator == '\t' ? "tab"
                                                        : (char[]){reading->separator, '\0'});
}

/* In a table with rows per CPU, return 1 for the row of all CPUs, because its values would
 * otherwise be included twice. */
static int is_left_out(const struct rps_import_table *table, char *const *cell)
{
    const struct rps_import_table_column *column =
        table->cpu < 0 ? NULL : &table->column[table->cpu];

    return column && column->is_all && column->varies && rps_import_is_all_cpus(cell[table->cpu]);
}

/* Choose the table of a row or a header. Returns 1 for a row, 0 for a header, or negative. */
static int choose_table(struct rps_import_reading *reading, char *const *cell, size_t count,
                        struct rps_error *err)
{
    struct rps_import_table *table = reading->now;

    if (rps_import_has_words(reading) && is_prose(reading, cell, count))
        return 0;
    if (take_stamp(reading, cell, count))
        return 0;
    if (!table) {
        if (reading->table_count == 0)
            reading->first_line = rps_csv_rows_line(reading->builder->rows);
        reading->now =
            reading->table_count > 0 ? reading->table[0] : new_table(reading, cell, count);
        return reading->is_known && (!reading->now->has_header || reading->now->is_commented);
    }
    if (is_header_of(reading, table, cell, count) ||
        (rps_import_has_words(reading) && is_header(reading, cell, count)))
        return take_header(reading, cell, count, err);
    return 1;
}

int rps_import_next_row(struct rps_import_reading *reading, char *const **ret_cell,
                        struct rps_error *err)
{
    char *const *cell;
    size_t count;
    int result;

    while ((result = rps_import_cells(reading->builder, reading->separator,
                                      reading->now ? reading->now->count : 0, &cell, &count, err)) >
           0) {
        if (is_restart(cell, count)) {
            reading->is_restart = 1;
            continue;
        }
        result = choose_table(reading, cell, count, err);
        if (result < 0)
            return result;
        if (result == 0)
            continue;
        if (is_footer(reading->now, cell, count)) {
            if (!strstr(reading->footers, cell[0]))
                rps_text_list(reading->footers, sizeof(reading->footers), cell[0]);
            continue;
        }
        if (count != reading->now->count && reading->options->skip_bad) {
            reading->bad_rows++;
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
    reading->footers[0] = '\0'; /* rows of a key "Total" are not left out */
    reading->times = (struct rps_import_times){.decimal = reading->times.decimal,
                                               .changed_ns = reading->times.changed_ns};
    reading->is_restart = 0;
    reading->bad_cells = reading->bad_rows = 0;
    return rps_import_rewind(reading->builder, err);
}

/* --- times ------------------------------------------------------------------------------------ */

static int refuse_time(struct rps_import_reading *reading, const char *text, struct rps_error *err)
{
    const struct rps_import_table *table = reading->now;
    struct rps_time time;

    if (reading->options->skip_bad) {
        reading->bad_rows++;
        return 2;
    }
    if (rps_time_read(text, &time) > 0 && time.is_ambiguous && !table->format.pattern)
        return rps_import_refuse(reading->builder, err, "'%.40s' " RPS_IMPORT_AMBIGUOUS, text);
    return rps_import_refuse(
        reading->builder, err,
        "'%.40s' in the column '%.60s' is not a time, or does not exist in its zone; "
        "--skip-bad leaves such rows out",
        text, table->time >= 0 ? table->column[table->time].label : "time");
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
    is_time = table->time >= 0 ? rps_import_time(&reading->times, &table->format, text, ret_ns)
                               : rps_import_stamp(&reading->times, text, ret_ns);
    if (!is_time)
        return refuse_time(reading, text, err);
    reading->times.last_ns = *ret_ns;
    return 1;
}
