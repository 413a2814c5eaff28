/*
 * Sheets: buffered rows of separated cells.
 *
 * Whole numbers are formatted by hand: a day is ten million cells, and printf would take most of
 * the time of its export. Quoting is libcsv's.
 */
#include "sheet.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"

#define SHEET_NUMBER_SIZE 40 /* room for any number */
#define SHEET_TEXT_SIZE   4096

static void sheet_flush(struct rps_sheet *sheet)
{
    if (sheet->used > 0 && !sheet->write_errno &&
        fwrite(sheet->buffer, 1, sheet->used, sheet->out) != sheet->used)
        sheet->write_errno = errno ? errno : EIO;
    sheet->used = 0;
}

/* `size` bytes of room in the buffer; size <= RPS_SHEET_BUFFER_SIZE. */
static char *sheet_room(struct rps_sheet *sheet, size_t size)
{
    if (sizeof(sheet->buffer) - sheet->used < size)
        sheet_flush(sheet);
    return sheet->buffer + sheet->used;
}

/* The separator, when the cell is not the row's first. */
static void begin_cell(struct rps_sheet *sheet)
{
    if (sheet->row_begun) {
        *sheet_room(sheet, 1) = sheet->separator;
        sheet->used++;
    }
    sheet->row_begun = 1;
}

static int is_bad_sign(char c)
{
    return c == '\0' || strchr("0123456789\"'+-eE\r\n", c) != NULL || (unsigned char)c > 0x7e;
}

int rps_sheet_begin(struct rps_sheet *sheet, FILE *out, const struct rps_export_options *options,
                    struct rps_error *err)
{
    if (is_bad_sign(options->separator) || options->separator == options->decimal)
        return rps_error_set(err, RPS_USAGE,
                             "the separator of an export must be one character that is neither "
                             "part of a number nor a quote: try ',' or ';' or a tab");
    if (options->decimal != '.' && options->decimal != ',')
        return rps_error_set(err, RPS_USAGE, "the decimal sign of an export must be '.' or ','");
    sheet->out = out;
    sheet->separator = options->separator;
    sheet->decimal = options->decimal;
    sheet->crlf = options->crlf;
    sheet->row_begun = 0;
    sheet->write_errno = 0;
    sheet->used = 0;
    if (options->bom) {
        memcpy(sheet->buffer, "\xef\xbb\xbf", 3);
        sheet->used = 3;
    }
    return 0;
}

/* Digits of value at `to`, at least `least` of them; returns their number. */
static size_t put_digits(char *to, uint64_t value, size_t least)
{
    char digits[SHEET_NUMBER_SIZE];
    size_t count = 0;

    while (value > 0 || count < least) {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    }
    for (size_t i = 0; i < count; i++)
        to[i] = digits[count - 1 - i];
    return count;
}

void rps_sheet_uint64(struct rps_sheet *sheet, uint64_t value)
{
    begin_cell(sheet);
    sheet->used += put_digits(sheet_room(sheet, SHEET_NUMBER_SIZE), value, 1);
}

/* The sign, and the value without it. */
static uint64_t put_sign(struct rps_sheet *sheet, int64_t value)
{
    if (value >= 0)
        return (uint64_t)value;
    *sheet_room(sheet, 1) = '-';
    sheet->used++;
    return 0 - (uint64_t)value;
}

void rps_sheet_int64(struct rps_sheet *sheet, int64_t value)
{
    uint64_t size;

    begin_cell(sheet);
    size = put_sign(sheet, value);
    sheet->used += put_digits(sheet_room(sheet, SHEET_NUMBER_SIZE), size, 1);
}

void rps_sheet_seconds(struct rps_sheet *sheet, int64_t ns)
{
    uint64_t size;
    char *to;

    begin_cell(sheet);
    size = put_sign(sheet, ns);
    to = sheet_room(sheet, SHEET_NUMBER_SIZE);
    sheet->used += put_digits(to, size / RPS_NS_PER_S, 1);
    sheet->buffer[sheet->used++] = sheet->decimal;
    sheet->used += put_digits(sheet->buffer + sheet->used, size % RPS_NS_PER_S, 9);
}

void rps_sheet_double(struct rps_sheet *sheet, double value)
{
    char *to, *point;
    int length;

    begin_cell(sheet);
    if (!isfinite(value))
        return;
    to = sheet_room(sheet, SHEET_NUMBER_SIZE);
    length = snprintf(to, SHEET_NUMBER_SIZE, "%.9g", value);
    point = memchr(to, '.', (size_t)length);
    if (point)
        *point = sheet->decimal;
    sheet->used += (size_t)length;
}

void rps_sheet_empty(struct rps_sheet *sheet)
{
    begin_cell(sheet);
}

static int needs_quotes(const struct rps_sheet *sheet, const char *text)
{
    const char special[] = {sheet->separator, '"', '\'', '\r', '\n', '\t', '\0'};

    return text[0] == ' ' || text[strcspn(text, special)] != '\0';
}

void rps_sheet_text(struct rps_sheet *sheet, const char *text)
{
    char cell[SHEET_TEXT_SIZE] = "'";
    int formula = text[0] != '\0' && strchr("=+-@", text[0]) != NULL;
    size_t length;

    begin_cell(sheet);
    rps_text_printable(cell + formula, sizeof(cell) - 1, text);
    length = strlen(cell);
    if (!needs_quotes(sheet, cell)) {
        memcpy(sheet_room(sheet, length), cell, length);
        sheet->used += length;
        return;
    }
    sheet->used += csv_write2(sheet_room(sheet, 2 * length + 2), 2 * length + 2, cell, length, '"');
}

void rps_sheet_end_row(struct rps_sheet *sheet)
{
    char *to = sheet_room(sheet, 2);

    if (sheet->crlf)
        *to++ = '\r';
    *to = '\n';
    sheet->used += sheet->crlf ? 2 : 1;
    sheet->row_begun = 0;
}

int rps_sheet_end(struct rps_sheet *sheet, struct rps_error *err)
{
    sheet_flush(sheet);
    if (!sheet->write_errno && fflush(sheet->out) != 0)
        sheet->write_errno = errno;
    if (sheet->write_errno)
        return rps_error_set(err, RPS_FAILED, "the export could not be written: %s",
                             strerror(sheet->write_errno));
    return 0;
}
