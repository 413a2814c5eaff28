/* Tables of text. */
#include "rpistat/table.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/text.h"

#define CELL_SIZE 320

static void widen(struct rps_table_column *column, const char *text)
{
    int width = rps_text_width(text);

    column->width = width > column->width ? width : column->width;
}

/* Break the label into the lines of the heading. */
static void set_heading(struct rps_table_column *column, const char *label, const char *unit)
{
    char text[RPS_TABLE_HEADING_SIZE], printable[RPS_TABLE_HEADING_SIZE];
    char *rest = NULL;
    int line = 0;

    snprintf(text, sizeof(text), unit[0] ? "%s (%s)" : "%s", label, unit);
    rps_text_printable(printable, sizeof(printable), text);
    for (char *word = strtok_r(printable, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *to = column->heading[line];

        if (to[0] && line + 1 < RPS_TABLE_LINES &&
            rps_text_width(to) + rps_text_width(word) >= RPS_TABLE_HEADING_WIDTH)
            to = column->heading[++line];
        if (to[0])
            strcat(to, " ");
        strcat(to, word); /* all lines together are no longer than `printable` */
    }
    for (int i = 0; i <= line; i++)
        widen(column, column->heading[i]);
}

void rps_table_add_column(struct rps_text_table *table, const char *label, const char *unit,
                          int left)
{
    struct rps_table_column *column =
        realloc(table->column, ((size_t)table->column_count + 1) * sizeof(*column));

    if (!column) {
        table->failed = 1;
        return;
    }
    table->column = column;
    column += table->column_count++;
    memset(column, 0, sizeof(*column));
    column->left = left;
    set_heading(column, label, unit);
}

void rps_table_add_row(struct rps_text_table *table)
{
    size_t columns = (size_t)table->column_count, rows = (size_t)table->row_count;
    char **cell;

    if ((rows & (rows - 1)) == 0) { /* room is the next power of two */
        cell = realloc(table->cell, (2 * rows + 1) * columns * sizeof(*cell));
        if (!cell) {
            table->failed = 1;
            return;
        }
        table->cell = cell;
    }
    for (size_t c = 0; c < columns; c++)
        table->cell[rows * columns + c] = NULL;
    table->row_count++;
}

void rps_table_set(struct rps_text_table *table, int column, const char *text)
{
    char printable[CELL_SIZE];
    char **cell;

    if (table->failed)
        return;
    cell = &table->cell[(table->row_count - 1) * table->column_count + column];
    free(*cell);
    *cell = strdup(rps_text_printable(printable, sizeof(printable), text));
    if (*cell)
        widen(&table->column[column], *cell);
    else
        table->failed = 1;
}

int rps_table_width(const struct rps_text_table *table, int count)
{
    int width = 0;

    for (int c = 0; c < count && c < table->column_count; c++)
        width += 2 + table->column[c].width;
    return width;
}

/* --- printing --------------------------------------------------------------------------------- */

/* The columns of a block: the fixed ones, and those from `first` up to `end`. */
struct block {
    const struct rps_text_table *table;
    int fixed, first, end;
};

static int next_column(const struct block *block, int column)
{
    column++;
    return column == block->fixed && column < block->first ? block->first : column;
}

/* As many columns as fit, at least one. */
static int block_end(const struct rps_text_table *table, int fixed, int first, int width)
{
    int end = first;

    for (width -= rps_table_width(table, fixed); end < table->column_count; end++) {
        width -= 2 + table->column[end].width;
        if (width < 0 && end > first)
            break;
    }
    return end;
}

/* A line of cells, without blanks at its end. */
static void print_line(FILE *out, const struct block *block,
                       const char *(*cell)(const struct block *, int column, int line), int line)
{
    int pending = 0;

    for (int c = block->fixed > 0 ? 0 : block->first; c < block->end; c = next_column(block, c)) {
        const struct rps_table_column *column = &block->table->column[c];
        const char *text = cell(block, c, line);
        int padding = column->width - rps_text_width(text);

        pending += 2 + (column->left ? 0 : padding);
        if (text[0]) {
            fprintf(out, "%*s%s", pending, "", text);
            pending = 0;
        } else {
            pending += rps_text_width(text);
        }
        pending += column->left ? padding : 0;
    }
    fputc('\n', out);
}

static const char *body_cell(const struct block *block, int column, int row)
{
    const char *text = block->table->cell[row * block->table->column_count + column];

    return text ? text : "";
}

static int lines_of(const struct rps_table_column *column)
{
    int used = 0;

    while (used < RPS_TABLE_LINES && column->heading[used][0])
        used++;
    return used;
}

/* Headings stand on the line above the cells, however many lines they have. */
static const char *heading_cell(const struct block *block, int column, int line)
{
    const struct rps_table_column *of = &block->table->column[column];

    line -= RPS_TABLE_LINES - lines_of(of);
    return line >= 0 ? of->heading[line] : "";
}

static void print_block(FILE *out, const struct block *block)
{
    int lines = 0;

    for (int c = block->fixed > 0 ? 0 : block->first; c < block->end; c = next_column(block, c)) {
        int used = lines_of(&block->table->column[c]);

        lines = used > lines ? used : lines;
    }
    fputc('\n', out);
    for (int line = RPS_TABLE_LINES - lines; line < RPS_TABLE_LINES; line++)
        print_line(out, block, heading_cell, line);
    for (int row = 0; row < block->table->row_count; row++)
        print_line(out, block, body_cell, row);
}

int rps_table_print(FILE *out, const struct rps_text_table *table, int fixed, int width,
                    struct rps_error *err)
{
    struct block block = {.table = table, .fixed = fixed, .end = fixed};

    if (table->failed)
        return rps_error_memory(err);
    do {
        block.first = block.end;
        block.end = block_end(table, fixed, block.first, width);
        print_block(out, &block);
    } while (block.end < table->column_count);
    return 0;
}

void rps_table_free(struct rps_text_table *table)
{
    for (int i = 0; table->cell && i < table->row_count * table->column_count; i++)
        free(table->cell[i]);
    free(table->cell);
    free(table->column);
    memset(table, 0, sizeof(*table));
}
