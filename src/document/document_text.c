/*
 * A document for people: tables of a line a row under one line of headings, which fit the terminal
 * that they go to, and lines between the rows.
 */
#include "document_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"

#define COLUMN_GAP 2
#define LAST_MIN   20 /* columns that the last gets however narrow the terminal is */
#define LINE_WIDTH 96 /* of lines that are broken, unless the terminal has fewer */

/* A table as it is printed: columns in people's order, those that nobody sees left out. */
struct grid {
    const struct rps_block *block;
    size_t row_count, column_count;
    const struct rps_column **column;
    int *width;  /* 0: the column is left out */
    char **cell; /* row by row */
};

/* --- widths ----------------------------------------------------------------------------------- */

/* Bytes of text that take at most `limit` columns of a terminal, and in *ret_width how many they
 * take. What the locale cannot write counts one column a byte. */
static size_t measure(const char *text, int limit, int *ret_width)
{
    const char *at = text;
    uint32_t code = 0;

    *ret_width = 0;
    while (*at) {
        int length = rps_text_decode(at, &code), width = length > 0 ? wcwidth((wchar_t)code) : 1;

        length = length > 0 ? length : 1;
        width = width < 0 ? length : width;
        if (*ret_width + width > limit)
            break;
        *ret_width += width;
        at += length;
    }
    return (size_t)(at - text);
}

static int width_of(const char *text)
{
    int width;

    measure(text, INT32_MAX, &width);
    return width;
}

/* Cut text to `limit` columns, three dots at its end. */
static void cut(char *text, int limit)
{
    int width;

    if (width_of(text) > limit)
        memcpy(text + measure(text, limit - 3, &width), "...", 4);
}

static int is_right(const struct rps_column *column)
{
    return column->kind > RPS_VALUE_TIME;
}

/* --- cells ------------------------------------------------------------------------------------ */

/* The clock in the reader's zone: "2026-11-21 14:30". */
static void format_clock(char *ret, size_t size, int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / RPS_NS_PER_S);
    struct tm local;

    if (localtime_r(&seconds, &local) == NULL || strftime(ret, size, "%Y-%m-%d %H:%M", &local) == 0)
        snprintf(ret, size, "?");
}

/* What a value says to people, not yet printable; in `ret` when it is made here. */
static const char *say(struct rps_document *document, const struct rps_column *column,
                       const struct rps_value *value, char ret[RPS_TEXT_NUMBER_SIZE])
{
    strcpy(ret, "-");
    if (value->words)
        return value->words;
    if (!value->known)
        return ret;
    switch (column->kind) {
    case RPS_VALUE_TEXT:
        return value->text;
    case RPS_VALUE_LIST:
        break;
    case RPS_VALUE_TAGS:
        return rps_document_tags(document, value, " ");
    case RPS_VALUE_BOOL:
        return value->number ? "yes" : "no";
    case RPS_VALUE_TIME:
        format_clock(ret, RPS_TEXT_NUMBER_SIZE, value->number);
        break;
    case RPS_VALUE_INT:
        snprintf(ret, RPS_TEXT_NUMBER_SIZE, "%" PRId64, value->number);
        break;
    case RPS_VALUE_NUMBER:
        rps_text_number(ret, RPS_TEXT_NUMBER_SIZE, value->real);
        break;
    case RPS_VALUE_SIZE:
        rps_text_size(ret, RPS_TEXT_NUMBER_SIZE, (uint64_t)value->number);
        break;
    case RPS_VALUE_DURATION:
        rps_text_duration(ret, RPS_TEXT_NUMBER_SIZE, value->number);
        break;
    }
    return ret;
}

/* The cell of a value, printable; NULL without memory. */
static char *make_cell(struct rps_document *document, const struct rps_column *column,
                       const struct rps_value *value)
{
    char made[RPS_TEXT_NUMBER_SIZE];
    const char *text = say(document, column, value, made);
    size_t size = text ? 4 * strlen(text) + 4 : 0; /* \xHH for a byte */
    char *cell = text ? rps_document_keep(document, size) : NULL;

    return cell ? rps_text_printable(cell, size, text) : NULL;
}

/* --- the grid --------------------------------------------------------------------------------- */

/* A column is seen as its rows are; a cell that is not known says "-". */
static int is_shown(const struct grid *grid, size_t c)
{
    enum rps_column_shown shown = grid->column[c]->shown;
    int found = shown == RPS_SHOWN_ALWAYS;

    for (size_t i = 0; i < grid->row_count && !found; i++) {
        const char *cell = grid->cell[i * grid->column_count + c];

        found = strcmp(cell, shown == RPS_SHOWN_IF_KNOWN ? "-" : grid->cell[c]) != 0;
    }
    return found;
}

static void measure_columns(struct grid *grid)
{
    for (size_t c = 0; c < grid->column_count; c++) {
        int width = grid->column[c]->width_min;

        if (!grid->block->has_no_head && width_of(grid->column[c]->heading) > width)
            width = width_of(grid->column[c]->heading);
        for (size_t i = 0; i < grid->row_count; i++) {
            int cell_width = width_of(grid->cell[i * grid->column_count + c]);

            width = cell_width > width ? cell_width : width;
        }
        grid->width[c] = is_shown(grid, c) ? width : 0;
    }
}

/* People's columns of the block, the least place first. */
static void choose_columns(struct grid *grid)
{
    for (size_t c = 0; c < grid->block->column_count; c++) {
        const struct rps_column *column = &grid->block->column[c];
        size_t at = grid->column_count;

        if (!column->heading)
            continue;
        for (; at > 0 && grid->column[at - 1]->place > column->place; at--)
            grid->column[at] = grid->column[at - 1];
        grid->column[at] = column;
        grid->column_count++;
    }
}

/* The grid of a block, kept by the document; 0 without memory. */
static int make_grid(struct grid *grid, const struct rps_block *block)
{
    struct rps_document *document = block->document;
    size_t count = block->column_count;

    *grid = (struct grid){.block = block, .row_count = rps_block_rows(block)};
    grid->column = rps_document_keep(document, (count + 1) * sizeof(const struct rps_column *));
    grid->width = rps_document_keep(document, (count + 1) * sizeof(*grid->width));
    grid->cell = rps_document_keep(document, (grid->row_count * count + 1) * sizeof(*grid->cell));
    if (document->no_memory)
        return 0;
    choose_columns(grid);
    for (size_t i = 0; i < grid->row_count; i++) {
        for (size_t c = 0; c < grid->column_count; c++) {
            size_t at = i * count + (size_t)(grid->column[c] - block->column);

            grid->cell[i * grid->column_count + c] =
                make_cell(document, grid->column[c], &block->value[at]);
        }
    }
    if (document->no_memory)
        return 0;
    measure_columns(grid);
    return 1;
}

/* --- fitting a terminal ----------------------------------------------------------------------- */

/* Columns of the terminal that are left for the last. */
static int room(const struct grid *grid, int columns)
{
    int left = columns - grid->block->indent;

    for (size_t c = 0; c + 1 < grid->column_count; c++)
        left -= grid->width[c] > 0 ? grid->width[c] + COLUMN_GAP : 0;
    return left;
}

/* Leave out the column that matters least; 0 when there is none left. */
static int drop_column(struct grid *grid)
{
    size_t found = grid->column_count;

    for (size_t c = 0; c < grid->column_count; c++) {
        int drop = grid->column[c]->drop;

        if (drop > 0 && grid->width[c] > 0 &&
            (found == grid->column_count || drop < grid->column[found]->drop))
            found = c;
    }
    if (found < grid->column_count)
        grid->width[found] = 0;
    return found < grid->column_count;
}

/* Cut what is long, leave out what matters least. */
static void fit_terminal(struct grid *grid, int columns)
{
    size_t last = grid->column_count - 1;

    for (size_t c = 0; c < last; c++) {
        int limit = grid->column[c]->width_max;

        grid->width[c] = limit > 0 && grid->width[c] > limit ? limit : grid->width[c];
    }
    while (room(grid, columns) < LAST_MIN && drop_column(grid))
        continue;
    if (grid->width[last] > room(grid, columns))
        grid->width[last] = room(grid, columns) > LAST_MIN ? room(grid, columns) : LAST_MIN;
    for (size_t i = 0; i < grid->row_count; i++) {
        for (size_t c = 0; c <= last; c++) {
            if (grid->width[c] > 0 && (grid->column[c]->width_max > 0 || c == last))
                cut(grid->cell[i * grid->column_count + c], grid->width[c]);
        }
    }
}

/* --- printing --------------------------------------------------------------------------------- */

/* Row SIZE_MAX is the headings. */
static void print_row(FILE *out, const struct grid *grid, size_t row)
{
    fprintf(out, "%*s", grid->block->indent, "");
    for (size_t c = 0; c < grid->column_count; c++) {
        const char *text =
            row == SIZE_MAX ? grid->column[c]->heading : grid->cell[row * grid->column_count + c];
        int padding = grid->width[c] - width_of(text), right = is_right(grid->column[c]);

        if (grid->width[c] == 0)
            continue;
        fprintf(out, "%*s%s", right ? padding : 0, "", text);
        if (c + 1 < grid->column_count)
            fprintf(out, "%*s", COLUMN_GAP + (right ? 0 : padding), "");
    }
    fputc('\n', out);
}

/* Words, in lines of at most `limit` columns. */
static void print_broken(FILE *out, int indent, int limit, const char *text)
{
    int column = 0;

    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        int length = (int)strcspn(text, " ");

        if (column > 0 && column + 1 + length > limit) {
            fputc('\n', out);
            column = 0;
        }
        if (column == 0)
            column = fprintf(out, "%*s%.*s", indent, "", length, text);
        else
            column += fprintf(out, " %.*s", length, text);
        text += length;
    }
    if (column > 0)
        fputc('\n', out);
}

static void print_line(struct rps_document *document, FILE *out, const struct rps_line *line,
                       int columns, int is_first)
{
    size_t size = 4 * strlen(line->text) + 1;
    char *text = rps_document_keep(document, size);

    if (!text)
        return;
    rps_text_printable(text, size, line->text);
    if (line->indent > 0) {
        print_broken(out, line->indent, columns > 0 && columns < LINE_WIDTH ? columns : LINE_WIDTH,
                     text);
        return;
    }
    fprintf(out, "%s%s\n", line->indent == RPS_LINE_TITLE && !is_first ? "\n" : "", text);
}

/* *is_first: nothing was printed as yet. */
static void print_block(const struct rps_block *block, FILE *out, int columns, int *is_first)
{
    struct grid grid;
    size_t line = 0;

    if (!make_grid(&grid, block))
        return;
    if (columns > 0 && grid.column_count > 0 && !block->has_no_head)
        fit_terminal(&grid, columns);
    for (size_t i = 0; i <= grid.row_count; i++) {
        for (; line < block->line_count && block->line[line].row == i; line++) {
            print_line(block->document, out, &block->line[line], columns, *is_first);
            *is_first = 0;
        }
        if (i == grid.row_count || grid.column_count == 0)
            continue;
        if (i == 0 && !block->has_no_head)
            print_row(out, &grid, SIZE_MAX);
        print_row(out, &grid, i);
        *is_first = 0;
    }
}

void rps_document_print(struct rps_document *document, FILE *out, int columns)
{
    int place = INT32_MIN, next, is_first = 1;

    do {
        next = INT32_MAX;
        for (const struct rps_block *block = document->first; block; block = block->next) {
            if (block->place == place)
                print_block(block, out, columns, &is_first);
            else if (block->place > place && block->place < next)
                next = block->place;
        }
        place = next;
    } while (next != INT32_MAX);
}
