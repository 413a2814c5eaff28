/*
 * Read a CSV file as numbers. Separator and decimal mark are guessed from its beginning.
 *
 * Rows are kept one after another as they are read, since their number is known only at the end.
 */
#include "csv_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rpistat/csv_rows.h"
#include "rpistat/text.h"

#define LINE_MAX_BYTES (16 * RPS_CSV_CELL_MAX)
#define NUMBER_SIZE    64 /* longer cells are words */
#define SNIFF_LINES    20

/* --- guessing --------------------------------------------------------------------------------- */

/* Count `mark` outside quotes in the line at text. *ret_length: the line's, with its end. */
static size_t count_in_line(const char *text, size_t size, char mark, size_t *ret_length)
{
    size_t count = 0, i = 0;
    int quoted = 0;

    for (; i < size && (quoted || text[i] != '\n'); i++) {
        if (text[i] == '"')
            quoted = !quoted;
        count += !quoted && text[i] == mark;
    }
    *ret_length = i < size ? i + 1 : i;
    return count;
}

/* Return how often `mark` is in the first line; 0 unless the following lines agree. */
static size_t steady_count(const char *text, size_t size, char mark)
{
    size_t first = 0, at = 0, length;

    for (int line = 0; line < SNIFF_LINES && at < size; at += length) {
        size_t count = count_in_line(text + at, size - at, mark, &length);

        /* comments, empty lines, and a last line that is cut off */
        if (text[at] == '#' || length <= 1 || (text[at] == '\r' && length == 2))
            continue;
        if (text[at + length - 1] != '\n' && line > 0)
            break;
        if (line++ == 0)
            first = count;
        else if (count != first)
            return 0;
    }
    return first;
}

static char guess_separator(const char *text, size_t size, char decimal)
{
    static const char marks[] = ";\t|,";
    size_t length;

    for (const char *mark = marks; *mark; mark++) {
        if (*mark != decimal && steady_count(text, size, *mark) > 0)
            return *mark;
    }
    for (const char *mark = marks; *mark; mark++) { /* the rows differ: the error reports it */
        if (*mark != decimal && count_in_line(text, size, *mark, &length) > 0)
            return *mark;
    }
    return decimal == ',' ? ';' : ',';
}

/* Count the numbers in which `mark` is the last mark, and the only one of its kind: not 21.11.2026.
 * If is_sure, numbers that may be thousands do not count: 1.234. */
static size_t count_decimals(const char *text, size_t size, char mark, int is_sure)
{
    size_t count = 0, end;

    for (size_t i = 0; i < size; i = end + 1) {
        size_t marks = 0, last = 0;

        for (end = i; end < size && memchr("0123456789.,", text[end], 12); end++) {
            if (text[end] == '.' || text[end] == ',')
                last = end;
            marks += text[end] == mark;
        }
        count += marks == 1 && text[last] == mark && last > i && last + 1 < end &&
                 !(is_sure && end - last == 4 && last - i <= 3);
    }
    return count;
}

static char guess_decimal(const char *text, size_t size, char separator)
{
    for (int is_sure = 0; is_sure < 2 && separator != ','; is_sure++) {
        if (count_decimals(text, size, ',', is_sure) > 0 &&
            count_decimals(text, size, '.', is_sure) == 0)
            return ',';
    }
    return '.';
}

void rps_csv_guess(const char *text, size_t size, char *separator, char *decimal)
{
    if (!*separator)
        *separator = guess_separator(text, size, *decimal);
    if (!*decimal)
        *decimal = guess_decimal(text, size, *separator);
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Return 1 for the text of a missing value, as programs write it. */
static int is_not_observed(const char *text)
{
    static const char *const words[] = {"",  "nan", "na",   "n/a",  "null",
                                        "-", "inf", "-inf", "none", "?"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(text, words[i]) == 0)
            return 1;
    }
    return text[0] == '<'; /* <not counted> */
}

/* Remove the points from 1.234.567,8. Return 0 if they do not separate thousands. */
static int drop_thousands(char *text)
{
    static const char digits[] = "0123456789";
    char *number = text + (*text == '-'), *point = strchr(number, '.');
    size_t first = strspn(number, digits);

    if (point && (first < 1 || first > 3 || number + first != point))
        return 0;
    for (; point; point = strchr(point, '.')) {
        if (strspn(point + 1, digits) != 3 || (point[4] && point[4] != '.' && point[4] != ','))
            return 0;
        memmove(point, point + 1, strlen(point));
    }
    return 1;
}

int rps_csv_cell(const char *cell, size_t length, char decimal, double *ret)
{
    char text[NUMBER_SIZE], *end;
    double value;

    *ret = NAN;
    if (length >= sizeof(text))
        return -1;
    memcpy(text, cell, length);
    text[length] = '\0';
    if (!isdigit((unsigned char)text[*text == '-']) && is_not_observed(text))
        return 0;
    if (decimal == ',') {
        char *comma = strchr(text, ',');

        if ((comma && strchr(comma, '.')) || !drop_thousands(text))
            return -1;
        if ((comma = strchr(text, ',')))
            *comma = '.';
    }
    value = strtod(text, &end); /* in the C locale */
    if (end == text || *end)
        return -1;
    *ret = isfinite(value) ? value : NAN;
    return 1;
}

/* --- the table -------------------------------------------------------------------------------- */

static void make_columns(struct rps_arena *arena, struct rps_csv_table *table, char *const *cell)
{
    table->column = rps_arena_get(arena, table->column_count, sizeof(*table->column));
    for (size_t c = 0; c < table->column_count; c++) {
        struct rps_csv_column *column = &table->column[c];

        snprintf(column->first, sizeof(column->first), "%.*s", (int)sizeof(column->first) - 1,
                 cell[c]);
        rps_text_printable(column->first, sizeof(column->first),
                           rps_arena_text(arena, column->first));
    }
}

int rps_csv_table_has_header(const struct rps_csv_table *table)
{
    if (table->rows_per > 1)
        return table->has_header;
    for (size_t c = 0; c < table->column_count; c++) {
        const struct rps_csv_column *column = &table->column[c];

        if (column->first_is_word && column->numbers > 0 && column->numbers >= column->words)
            return 1;
    }
    return 0;
}

/* Add the mean of `seen` numbers to the mean at `at`. */
static void add_mean(struct rps_csv_table *table, size_t at, double mean, uint16_t seen)
{
    uint16_t all = (uint16_t)(table->seen[at] + seen);

    if (table->seen[at] == 0)
        table->value[at] = mean;
    else if (seen > 0)
        table->value[at] += (mean - table->value[at]) * seen / all;
    table->seen[at] = all;
}

/* Replace each pair of neighbouring rows by its mean. */
static void halve(struct rps_csv_table *table)
{
    size_t columns = table->column_count, kept;

    table->has_header = rps_csv_table_has_header(table);
    kept = (size_t)table->has_header;
    for (size_t row = kept; row < table->row_count; row += 2, kept++) {
        memmove(&table->value[kept * columns], &table->value[row * columns],
                columns * sizeof(*table->value));
        memmove(&table->seen[kept * columns], &table->seen[row * columns],
                columns * sizeof(*table->seen));
        for (size_t from = (row + 1) * columns, c = 0; row + 1 < table->row_count && c < columns;
             c++)
            add_mean(table, kept * columns + c, table->value[from + c], table->seen[from + c]);
    }
    table->row_count = kept;
    table->rows_per *= 2;
}

/* Return the place for the values of the next row; it may already hold earlier rows. */
static size_t place_row(struct rps_arena *arena, struct rps_csv_table *table)
{
    size_t columns = table->column_count;
    uint64_t row = table->rows - (uint64_t)table->has_header;

    if (row % table->rows_per == 0 && table->row_count == RPS_CSV_ROWS_MAX) {
        halve(table);
        row = table->rows - (uint64_t)table->has_header;
    }
    if (row % table->rows_per == 0) {
        table->value =
            rps_arena_grow(arena, table->value, table->row_count, columns * sizeof(*table->value));
        table->seen =
            rps_arena_grow(arena, table->seen, table->row_count, columns * sizeof(*table->seen));
        memset(&table->seen[table->row_count * columns], 0, columns * sizeof(*table->seen));
        table->row_count++;
    }
    return (table->row_count - 1) * columns;
}

/* Add a row after the others. The first row defines the columns. */
static int take_row(struct rps_arena *arena, struct rps_csv_table *table, char *const *cell,
                    size_t count, const char *origin, struct rps_error *err)
{
    uint64_t row = table->rows;
    size_t at;

    if (row == 0) {
        table->column_count = count;
        make_columns(arena, table, cell);
    }
    if (count != table->column_count)
        return rps_error_set(
            err, RPS_FAILED,
            "%s is no table: row %zu has %zu cell%s, and the first has %zu; is the "
            "separator really '%s'?",
            origin, (size_t)row + 1, count, count == 1 ? "" : "s", table->column_count,
            table->separator == '\t' ? "tab" : (char[]){table->separator, '\0'});
    at = place_row(arena, table);
    for (size_t c = 0; c < count; c++) {
        double number;
        int kind = rps_csv_cell(cell[c], strlen(cell[c]), table->decimal, &number);

        add_mean(table, at + c, number, isfinite(number) != 0);
        if (row == 0)
            table->column[c].first_is_word = kind < 0;
        table->column[c].numbers += row > 0 && kind > 0 && isfinite(number);
        table->column[c].words += row > 0 && kind < 0;
    }
    table->rows++;
    return 0;
}

int rps_csv_table_read(struct rps_arena *arena, FILE *in, const struct rps_csv_options *options,
                       struct rps_csv_table *ret, struct rps_error *err)
{
    struct rps_csv_rows *rows = rps_csv_rows_open(arena, in, options->origin, LINE_MAX_BYTES, 0);
    int result = rps_csv_rows_begin(rows, err);
    const char *head = rps_csv_rows_head(rows);
    char *const *cell;
    size_t count;

    *ret = (struct rps_csv_table){
        .separator = options->separator, .decimal = options->decimal, .rows_per = 1};
    rps_csv_guess(head, strlen(head), &ret->separator, &ret->decimal);
    while (result == 0 &&
           (result = rps_csv_rows_next(rows, ret->separator, &cell, &count, err)) > 0)
        result = take_row(arena, ret, cell, count, options->origin, err);
    rps_csv_rows_close(rows);
    return result;
}
