/*
 * A CSV file as numbers. Cells are libcsv's; separator and decimal mark are guessed from the
 * beginning of the file.
 *
 * Rows are kept side by side as they come, for the number of them is known at the end only.
 */
#include "csv_table.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rpistat/text.h"

#define CHUNK_SIZE  65536
#define CELL_MAX    1048576 /* a longer cell means that quotes do not match */
#define NUMBER_SIZE 64      /* longer cells are words */
#define SNIFF_LINES 20

struct parse {
    struct rps_arena *arena; /* of the table */
    struct rps_csv_table *table;
    const char *origin;
    size_t cell; /* of the row that is being read */
    int comment; /* the row is one */
    int failed;
    struct rps_error *err;
};

/* --- guessing --------------------------------------------------------------------------------- */

/* Count `mark` outside quotes in the line at text; *ret_length: the line's, with its end. */
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

/* How often `mark` stands in the first line; 0 unless as often in the following. */
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
    for (const char *mark = marks; *mark; mark++) { /* rows that differ: the error says so */
        if (*mark != decimal && count_in_line(text, size, *mark, &length) > 0)
            return *mark;
    }
    return decimal == ',' ? ';' : ',';
}

/* In how many numbers `mark` is the last mark, and the only one of its kind: not in 21.11.2026.
 * is_sure: without those that may be thousands, 1.234. */
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

static void *limited_realloc(void *old, size_t size)
{
    return size > CELL_MAX ? NULL : realloc(old, size);
}

/* What programs write for a value that they do not have. */
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

/* Take the points out of 1.234.567,8; 0 where others stand in it. */
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
    if (is_not_observed(text))
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

/* A further column, while the first row is read. */
static struct rps_csv_column *add_column(struct parse *parse, const char *cell, size_t length)
{
    struct rps_csv_table *table = parse->table;
    struct rps_csv_column *column;
    char text[RPS_NAME_SIZE];

    if (table->column_count == RPS_CSV_COLUMNS_MAX) {
        rps_error_set(parse->err, RPS_FAILED, "%s has more than %d columns: it is no table",
                      parse->origin, RPS_CSV_COLUMNS_MAX);
        parse->failed = 1;
        return NULL;
    }
    table->column =
        rps_arena_grow(parse->arena, table->column, table->column_count, sizeof(*column));
    column = &table->column[table->column_count++];
    length = length < sizeof(text) - 1 ? length : sizeof(text) - 1;
    memcpy(text, cell, length);
    text[length] = '\0';
    rps_text_printable(column->first, sizeof(column->first), text);
    return column;
}

/* Room for one row more. */
static void grow(struct parse *parse)
{
    struct rps_csv_table *table = parse->table;

    table->value = rps_arena_grow(parse->arena, table->value, table->row_count,
                                  table->column_count * sizeof(*table->value));
}

/* Of the first row only the text is kept until its end: how many columns there are is not known. */
static void on_cell(void *text, size_t length, void *context)
{
    struct parse *parse = context;
    struct rps_csv_table *table = parse->table;
    struct rps_csv_column *column;
    const char *cell = text ? text : "";
    double value;
    int kind;

    if (parse->failed || parse->comment)
        return;
    if (parse->cell == 0 && length > 0 && cell[0] == '#') {
        parse->comment = 1;
        return;
    }
    kind = rps_csv_cell(cell, length, table->decimal, &value);
    if (table->row_count == 0) {
        column = add_column(parse, cell, length);
        if (!column)
            return;
        column->first_is_word = kind < 0;
    } else if (parse->cell < table->column_count) {
        table->value[table->row_count * table->column_count + parse->cell] = value;
        table->column[parse->cell].numbers += kind > 0 && isfinite(value);
        table->column[parse->cell].words += kind < 0;
    }
    parse->cell++;
}

/* The first row is over: its numbers are read from what was kept of it. */
static void end_first_row(struct parse *parse)
{
    struct rps_csv_table *table = parse->table;

    grow(parse);
    for (size_t c = 0; c < table->column_count; c++)
        rps_csv_cell(table->column[c].first, strlen(table->column[c].first), table->decimal,
                     &table->value[c]);
}

static void on_row(int terminator, void *context)
{
    struct parse *parse = context;
    struct rps_csv_table *table = parse->table;

    (void)terminator;
    if (!parse->failed && !parse->comment && parse->cell > 0) {
        if (table->row_count == 0)
            end_first_row(parse);
        if (!parse->failed && parse->cell != table->column_count) {
            rps_error_set(parse->err, RPS_FAILED,
                          "%s is no table: row %zu has %zu cell%s, and the first has %zu; is the "
                          "separator really '%s'?",
                          parse->origin, table->row_count + 1, parse->cell,
                          parse->cell == 1 ? "" : "s", table->column_count,
                          table->separator == '\t' ? "tab" : (char[]){table->separator, '\0'});
            parse->failed = 1;
        }
        table->row_count++;
        grow(parse);
    }
    parse->cell = 0;
    parse->comment = 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int fail_binary(const struct parse *parse)
{
    return rps_error_set(parse->err, RPS_FAILED,
                         "%s is not a text file: a table of numbers is needed, one row an "
                         "observation, as CSV",
                         parse->origin);
}

static int parse_chunk(struct parse *parse, struct csv_parser *parser, const char *text,
                       size_t size)
{
    if (memchr(text, '\0', size))
        return fail_binary(parse);
    if (csv_parse(parser, text, size, on_cell, on_row, parse) != size)
        return rps_error_set(parse->err, RPS_FAILED,
                             "%s: row %zu has a cell of more than %d bytes; do its quotes match?",
                             parse->origin, parse->table->row_count + 1, CELL_MAX);
    return parse->failed ? RPS_FAILED : 0;
}

static int parse_file(FILE *in, struct parse *parse, const struct rps_csv_options *options,
                      struct csv_parser *parser)
{
    static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark */
    char text[CHUNK_SIZE];
    size_t size = fread(text, 1, sizeof(text), in);
    size_t skip = size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    int result;

    parse->table->separator = options->separator;
    parse->table->decimal = options->decimal;
    rps_csv_guess(text + skip, size - skip, &parse->table->separator, &parse->table->decimal);
    csv_set_delim(parser, (unsigned char)parse->table->separator);
    csv_set_realloc_func(parser, limited_realloc);
    result = parse_chunk(parse, parser, text + skip, size - skip);
    while (result == 0 && (size = fread(text, 1, sizeof(text), in)) > 0)
        result = parse_chunk(parse, parser, text, size);
    if (result == 0 && ferror(in))
        result = rps_error_set(parse->err, RPS_FAILED, "cannot read %s: %s", parse->origin,
                               strerror(errno));
    if (result == 0) {
        csv_fini(parser, on_cell, on_row, parse);
        result = parse->failed ? RPS_FAILED : 0;
    }
    return result;
}

int rps_csv_table_read(struct rps_arena *arena, FILE *in, const struct rps_csv_options *options,
                       struct rps_csv_table *ret, struct rps_error *err)
{
    struct parse parse = {.arena = arena, .table = ret, .origin = options->origin, .err = err};
    struct csv_parser parser;
    int result;

    memset(ret, 0, sizeof(*ret));
    if (csv_init(&parser, 0) != 0)
        return rps_error_memory(err);
    result = parse_file(in, &parse, options, &parser);
    csv_free(&parser);
    return result;
}
