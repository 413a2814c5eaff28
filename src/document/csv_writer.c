/* Write tables as buffered rows of separated cells, or as rows of JSON.
 *
 * Whole numbers are formatted without printf, because one day of recording has ten million cells,
 * and printf would take most of the time of an export. libcsv does the quoting. */
#include "rpistat/arena.h"
#include "rpistat/csv_writer.h"

#include <csv.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"

#define CSV_WRITER_NUMBER_SIZE 40 /* buffer size for any number */
#define CSV_WRITER_TEXT_SIZE   4096

void rps_csv_flush(struct rps_csv_writer *csv)
{
    fwrite(csv->buffer, 1, csv->used, csv->out);
    csv->used = 0;
}

/* Return space for `size` bytes in the buffer; size <= RPS_CSV_WRITER_BUFFER_SIZE. */
static char *room(struct rps_csv_writer *csv, size_t size)
{
    if (sizeof(csv->buffer) - csv->used < size)
        rps_csv_flush(csv);
    return csv->buffer + csv->used;
}

/* Write the separator before a cell, except the first cell of a row. */
static void begin_cell(struct rps_csv_writer *csv)
{
    if (csv->row_begun) {
        *room(csv, 1) = csv->separator;
        csv->used++;
    }
    csv->row_begun = 1;
}

/* Return the name of the next cell, and begin the row's JSON object at its first cell. */
static const char *next_name(struct rps_csv_writer *csv)
{
    if (csv->next_name == csv->name_count)
        return "";
    if (!csv->row_begun)
        rps_json_object(&csv->json, NULL);
    csv->row_begun = 1;
    return csv->name[csv->next_name++];
}

static void keep_name(struct rps_csv_writer *csv, const char *text)
{
    csv->name = rps_arena_grow(csv->arena, csv->name, csv->name_count, sizeof(*csv->name));
    csv->name[csv->name_count++] = rps_arena_text(csv->arena, text);
}

static int is_bad_sign(char c)
{
    return c == '\0' || strchr("0123456789\"'+-eE\r\n", c) != NULL || (unsigned char)c > 0x7e;
}

int rps_csv_begin(struct rps_arena *arena, struct rps_csv_writer *csv, FILE *out,
                  const struct rps_csv_dialect *dialect, struct rps_error *err)
{
    if (is_bad_sign(dialect->separator) || dialect->separator == dialect->decimal)
        return rps_error_set(err, RPS_USAGE,
                             "the separator of an export must not be part of a number or a quote; "
                             "write ',' or ';' or a tab");
    if (dialect->decimal != '.' && dialect->decimal != ',')
        return rps_error_set(err, RPS_USAGE,
                             "the decimal mark of an export is unknown; write '.' or ','");
    csv->arena = arena;
    csv->out = out;
    csv->separator = dialect->separator;
    csv->decimal = dialect->decimal;
    csv->crlf = dialect->crlf;
    csv->row_begun = 0;
    csv->used = 0;
    csv->json = (struct rps_json){.out = dialect->json ? out : NULL, .one_line = 1};
    if (dialect->bom) {
        memcpy(csv->buffer, "\xef\xbb\xbf", 3);
        csv->used = 3;
    }
    return 0;
}

/* Put the digits of value at `to`, with at least `least` digits. Return the number of digits. */
static size_t put_digits(char *to, uint64_t value, size_t least)
{
    char digits[CSV_WRITER_NUMBER_SIZE];
    size_t count = 0;

    while (value > 0 || count < least) {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    }
    for (size_t i = 0; i < count; i++)
        to[i] = digits[count - 1 - i];
    return count;
}

void rps_csv_uint64(struct rps_csv_writer *csv, uint64_t value)
{
    if (csv->json.out) {
        rps_json_uint64(&csv->json, next_name(csv), value);
        return;
    }
    begin_cell(csv);
    csv->used += put_digits(room(csv, CSV_WRITER_NUMBER_SIZE), value, 1);
}

/* Write the sign of a value, and return its absolute value. */
static uint64_t put_sign(struct rps_csv_writer *csv, int64_t value)
{
    if (value >= 0)
        return (uint64_t)value;
    *room(csv, 1) = '-';
    csv->used++;
    return 0 - (uint64_t)value;
}

void rps_csv_int64(struct rps_csv_writer *csv, int64_t value)
{
    uint64_t size;

    if (csv->json.out) {
        rps_json_int64(&csv->json, next_name(csv), value);
        return;
    }
    begin_cell(csv);
    size = put_sign(csv, value);
    csv->used += put_digits(room(csv, CSV_WRITER_NUMBER_SIZE), size, 1);
}

void rps_csv_seconds(struct rps_csv_writer *csv, int64_t ns)
{
    char text[CSV_WRITER_NUMBER_SIZE];
    uint64_t size;
    char *to;

    if (csv->json.out) {
        size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
        snprintf(text, sizeof(text), "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "",
                 size / RPS_NS_PER_S, size % RPS_NS_PER_S);
        rps_json_raw(&csv->json, next_name(csv), text);
        return;
    }
    begin_cell(csv);
    size = put_sign(csv, ns);
    to = room(csv, CSV_WRITER_NUMBER_SIZE);
    csv->used += put_digits(to, size / RPS_NS_PER_S, 1);
    csv->buffer[csv->used++] = csv->decimal;
    csv->used += put_digits(csv->buffer + csv->used, size % RPS_NS_PER_S, 9);
}

static void put_double(struct rps_csv_writer *csv, int digits, double value)
{
    char text[CSV_WRITER_NUMBER_SIZE], *to, *point;
    int length;

    if (!isfinite(value)) {
        rps_csv_empty(csv);
        return;
    }
    if (csv->json.out) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        rps_json_raw(&csv->json, next_name(csv), text);
        return;
    }
    begin_cell(csv);
    to = room(csv, CSV_WRITER_NUMBER_SIZE);
    length = snprintf(to, CSV_WRITER_NUMBER_SIZE, "%.*g", digits, value);
    point = memchr(to, '.', (size_t)length);
    if (point)
        *point = csv->decimal;
    csv->used += (size_t)length;
}

void rps_csv_double(struct rps_csv_writer *csv, double value)
{
    put_double(csv, 9, value);
}

void rps_csv_exact(struct rps_csv_writer *csv, double value)
{
    put_double(csv, 15, value);
}

void rps_csv_empty(struct rps_csv_writer *csv)
{
    if (csv->json.out)
        rps_json_null(&csv->json, next_name(csv));
    else
        begin_cell(csv);
}

static int needs_quotes(const struct rps_csv_writer *csv, const char *text)
{
    const char special[] = {csv->separator, '"', '\'', '\r', '\n', '\t', '\0'};

    return text[0] == ' ' || text[strcspn(text, special)] != '\0';
}

void rps_csv_text(struct rps_csv_writer *csv, const char *text)
{
    char cell[CSV_WRITER_TEXT_SIZE] = "'";
    int formula = text[0] != '\0' && strchr("=+-@", text[0]) != NULL;
    size_t length;

    if (csv->json.out) {
        if (csv->head_done)
            rps_json_text(&csv->json, next_name(csv), text);
        else
            keep_name(csv, text);
        return;
    }
    begin_cell(csv);
    rps_text_printable(cell + formula, sizeof(cell) - 1, text);
    length = strlen(cell);
    if (!needs_quotes(csv, cell)) {
        memcpy(room(csv, length), cell, length);
        csv->used += length;
        return;
    }
    csv->used += csv_write2(room(csv, 2 * length + 2), 2 * length + 2, cell, length, '"');
}

void rps_csv_end_row(struct rps_csv_writer *csv)
{
    char *to;

    if (csv->json.out) {
        rps_json_end(&csv->json);
        fputc('\n', csv->out);
        csv->json = (struct rps_json){.out = csv->out, .one_line = 1};
        csv->next_name = 0;
        csv->row_begun = 0;
        return;
    }
    to = room(csv, 2);
    if (csv->crlf)
        *to++ = '\r';
    *to = '\n';
    csv->used += csv->crlf ? 2 : 1;
    csv->row_begun = 0;
}

void rps_csv_end_head(struct rps_csv_writer *csv)
{
    csv->head_done = 1;
    if (!csv->json.out)
        rps_csv_end_row(csv);
}
