/*
 * A document for people: tables of a line a row under one line of headings, which fit the terminal
 * that they go to, and lines between the rows.
 */
#include "document_text.h"

#include <string.h>
#include <wchar.h>

#include "rpistat/text.h"

#define COLUMNS_MAX 40
#define COLUMN_GAP  2
#define LAST_MIN    20 /* columns that the last gets however narrow the terminal is */
#define LINE_WIDTH  96 /* of lines that are broken, unless the terminal has fewer */

/* A table as it is printed. */
struct grid {
    const struct rps_block *block;
    size_t row_count, column_count;
    size_t at[COLUMNS_MAX]; /* the block's columns, in people's order */
    int width[COLUMNS_MAX]; /* 0: the column is left out */
};

static const struct rps_column *column_of(const struct grid *grid, size_t c)
{
    return &grid->block->column[grid->at[c]];
}

static char *cell_of(const struct grid *grid, size_t row, size_t c)
{
    return grid->block->value[row * grid->block->column_count + grid->at[c]].words;
}

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

/* 0: nobody needs to see the column. */
static int measure_column(const struct grid *grid, size_t c)
{
    const struct rps_column *column = column_of(grid, c);
    int is_shown = column->shown == RPS_SHOWN_ALWAYS, width = column->width_min;

    if (!grid->block->has_no_head && width_of(column->heading) > width)
        width = width_of(column->heading);
    for (size_t i = 0; i < grid->row_count; i++) {
        const char *cell = cell_of(grid, i, c);

        is_shown |= strcmp(cell, column->shown == RPS_SHOWN_IF_KNOWN ? RPS_WORDS_UNKNOWN
                                                                     : cell_of(grid, 0, c)) != 0;
        width = width_of(cell) > width ? width_of(cell) : width;
    }
    return is_shown ? width : 0;
}

static void make_grid(struct grid *grid, const struct rps_block *block)
{
    *grid = (struct grid){.block = block, .row_count = rps_block_rows(block)};
    for (size_t c = 0; c < block->column_count; c++) {
        size_t to = grid->column_count;

        if (!block->column[c].heading || to == COLUMNS_MAX)
            continue;
        for (; to > 0 && column_of(grid, to - 1)->place > block->column[c].place; to--)
            grid->at[to] = grid->at[to - 1];
        grid->at[to] = c;
        grid->column_count++;
    }
    for (size_t c = 0; c < grid->column_count; c++)
        grid->width[c] = measure_column(grid, c);
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
        int drop = column_of(grid, c)->drop;

        if (drop > 0 && grid->width[c] > 0 &&
            (found == grid->column_count || drop < column_of(grid, found)->drop))
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
    int left;

    for (size_t c = 0; c < last; c++) {
        int limit = column_of(grid, c)->width_max;

        grid->width[c] = limit > 0 && grid->width[c] > limit ? limit : grid->width[c];
    }
    while (room(grid, columns) < LAST_MIN && drop_column(grid))
        continue;
    left = room(grid, columns);
    grid->width[last] = left > LAST_MIN ? left : LAST_MIN;
    for (size_t i = 0; i < grid->row_count; i++) {
        for (size_t c = 0; c <= last; c++) {
            if (grid->width[c] > 0 && (column_of(grid, c)->width_max > 0 || c == last))
                cut(cell_of(grid, i, c), grid->width[c]);
        }
    }
}

/* --- printing --------------------------------------------------------------------------------- */

/* Row SIZE_MAX is the headings. */
static void print_row(FILE *out, const struct grid *grid, size_t row)
{
    fprintf(out, "%*s", grid->block->indent, "");
    for (size_t c = 0; c < grid->column_count; c++) {
        const char *text = row == SIZE_MAX ? column_of(grid, c)->heading : cell_of(grid, row, c);
        int padding = grid->width[c] - width_of(text);
        int is_right = column_of(grid, c)->kind > RPS_VALUE_TIME;

        if (grid->width[c] == 0)
            continue;
        fprintf(out, "%*s%s", is_right ? padding : 0, "", text);
        if (c + 1 < grid->column_count)
            fprintf(out, "%*s", COLUMN_GAP + (is_right ? 0 : padding), "");
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

static void print_block(const struct rps_block *block, FILE *out, int columns, int is_first)
{
    int limit = columns > 0 && columns < LINE_WIDTH ? columns : LINE_WIDTH;
    const struct rps_line *line = block->line, *end = line + block->line_count;
    struct grid grid;

    make_grid(&grid, block);
    if (columns > 0 && grid.column_count > 0 && !block->has_no_head)
        fit_terminal(&grid, columns);
    for (size_t i = 0; i <= grid.row_count; i++) {
        for (; line < end && line->row == i; line++) {
            if (line->indent > 0)
                print_broken(out, line->indent, limit, line->text);
            else
                fprintf(out, "%s%s\n", line->indent < 0 && !is_first ? "\n" : "", line->text);
        }
        if (i == 0 && grid.row_count > 0 && grid.column_count > 0 && !block->has_no_head)
            print_row(out, &grid, SIZE_MAX);
        if (i < grid.row_count && grid.column_count > 0)
            print_row(out, &grid, i);
    }
}

void rps_document_print(const struct rps_document *document, FILE *out, int columns)
{
    int place = 0, next = INT32_MAX, is_first = 1;

    for (; place != INT32_MAX; place = next, next = INT32_MAX) {
        for (const struct rps_block *block = document->first; block; block = block->next) {
            if (block->place > place && block->place < next)
                next = block->place;
            if (block->place != place)
                continue;
            print_block(block, out, columns, is_first);
            is_first = 0;
        }
    }
}
