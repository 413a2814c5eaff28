/* Write a document as text. A table has one or more lines of headings, one line per row, and
 * possibly lines of text between the rows. Tables fit the width of the terminal. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/text.h"
#include "to.h"

#define COLUMN_GAP    2
#define LAST_MIN      20 /* minimum width of the column that is shrunk, even on a narrow terminal */
#define LINE_WIDTH    96 /* maximum width of broken lines */
#define HEADING_WIDTH 12 /* maximum width of a heading's lines, unless a word is wider */
#define HEADING_LINES 3

/* Layout of the table that is being printed. */
struct page {
    FILE *out;
    const struct rps_grid *grid;
    int line_limit;    /* maximum width of broken lines */
    int columns;       /* width of the terminal; 0: no terminal */
    int *width;        /* width of each column; 0: the column is not printed */
    char **head;       /* lines of headings: head[line * column_count + column]; NULL: empty */
    size_t fixed;      /* number of columns at the left that every part repeats */
    size_t first, end; /* range of the other columns in the current part, without `end` */
};

/* --- widths ----------------------------------------------------------------------------------- */

static void widen(struct page *page, size_t c, const char *text)
{
    int width = rps_text_width(text);

    page->width[c] = width > page->width[c] ? width : page->width[c];
}

/* Break a heading into lines, so that its last line is directly above the cells. */
static void break_heading(struct page *page, size_t c)
{
    struct rps_arena *arena = page->grid->block->document->arena;
    char *line[HEADING_LINES] = {NULL}, *rest = NULL, *text;
    int used = 0;

    text = rps_arena_text(arena, page->grid->heading[c]);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (line[used] && used + 1 < HEADING_LINES &&
            rps_text_width(line[used]) + rps_text_width(word) >= HEADING_WIDTH)
            used++;
        line[used] = line[used] ? rps_arena_print(arena, "%s %s", line[used], word) : word;
    }
    for (int i = 0; i <= used && line[0]; i++) {
        size_t at = (size_t)(HEADING_LINES - 1 - used + i);

        page->head[at * page->grid->column_count + c] = line[i];
        widen(page, c, line[i]);
    }
}

static void measure_columns(struct page *page)
{
    const struct rps_grid *grid = page->grid;

    for (size_t c = 0; c < grid->column_count; c++) {
        page->width[c] = grid->column[c]->width_min;
        break_heading(page, c);
        for (size_t i = 0; i < grid->row_count; i++)
            widen(page, c, grid->cell[i * grid->column_count + c]);
    }
}

/* --- fitting ---------------------------------------------------------------------------------- */

/* Return the width of the columns from `first` to `end`, including the gap before each column. */
static int width_of_columns(const struct page *page, size_t first, size_t end)
{
    int width = 0;

    for (size_t c = first; c < end; c++)
        width += page->width[c] > 0 ? page->width[c] + COLUMN_GAP : 0;
    return width;
}

/* Leave out the least important column. Return 0 if no column can be left out. */
static int drop_column(struct page *page)
{
    const struct rps_grid *grid = page->grid;
    size_t found = grid->column_count;

    for (size_t c = 0; c < grid->column_count; c++) {
        int drop = grid->column[c]->drop;

        if (drop > 0 && page->width[c] > 0 &&
            (found == grid->column_count || drop < grid->column[found]->drop))
            found = c;
    }
    if (found < grid->column_count)
        page->width[found] = 0;
    return found < grid->column_count;
}

/* Return the column that is made narrower if a table is too wide: the last text column without
 * width_max. Return the number of columns if there is no such column. */
static size_t giving_column(const struct rps_grid *grid)
{
    for (size_t c = grid->column_count; c-- > 0 && grid->block->fixed == 0;) {
        if (!rps_column_is_right(grid->column[c]) && grid->column[c]->width_max == 0)
            return c;
    }
    return grid->column_count;
}

/* Return the width, with its gap, of the widest column that is not in every part (0: none). */
static int widest_part(const struct page *page)
{
    int widest = 0;

    for (size_t c = page->fixed; c < page->grid->column_count; c++)
        widest =
            width_of_columns(page, c, c + 1) > widest ? width_of_columns(page, c, c + 1) : widest;
    return widest;
}

/* Leave out the least important columns, and on a terminal cut long cells. `limit` includes the
 * gaps. Return the limit plus the width by which uncut cells of the fixed columns exceed it. */
static int fit(struct page *page, int limit)
{
    const struct rps_grid *grid = page->grid;
    size_t giving = giving_column(grid), count = grid->column_count;
    int left, least = 0,
              *whole = rps_arena_get(grid->block->document->arena, count + 1, sizeof(int));

    memcpy(whole, page->width, count * sizeof(*whole));
    for (size_t c = 0; c < count; c++) {
        int most = grid->column[c]->width_max;

        page->width[c] = most > 0 && page->width[c] > most ? most : page->width[c];
    }
    do {
        left = limit - width_of_columns(page, 0, count);
        if (giving < count) {
            left += page->width[giving];
            least = LAST_MIN;
        }
    } while (left < least && drop_column(page));
    left = left > LAST_MIN ? left : LAST_MIN;
    if (giving < count && page->width[giving] > left)
        page->width[giving] = left;
    if (page->fixed > 0 && !rps_column_is_right(grid->column[0])) {
        giving = 0;
        left = limit - width_of_columns(page, 1, page->fixed) - widest_part(page) - COLUMN_GAP;
        left = left > LAST_MIN ? left : LAST_MIN;
        page->width[0] = page->width[0] > left ? left : page->width[0];
    }
    for (size_t c = 0; page->columns == 0 && c < count; c++) {
        limit += c < page->fixed && page->width[c] > 0 ? whole[c] - page->width[c] : 0;
        page->width[c] = page->width[c] > 0 ? whole[c] : 0;
    }
    for (size_t i = 0; i < grid->row_count * count; i++) {
        size_t c = i % count;

        if (page->width[c] > 0 && (grid->column[c]->width_max > 0 || c == giving) &&
            rps_text_width(grid->cell[i]) > page->width[c])
            memcpy(grid->cell[i] + rps_text_fit(grid->cell[i], page->width[c] - 3), "...", 4);
    }
    return limit;
}

/* Return the end of the range of columns, from page->first on, that fit beside the `fixed` columns.
 * The range has at least one column. Columns that were left out need no space. */
static size_t end_of_part(const struct page *page, int limit)
{
    size_t end = page->first, count = page->grid->column_count;

    limit -= width_of_columns(page, 0, page->fixed);
    while (end < count && (page->width[end] == 0 || width_of_columns(page, page->first, end) == 0 ||
                           width_of_columns(page, page->first, end + 1) <= limit))
        end++;
    return end;
}

/* --- printing --------------------------------------------------------------------------------- */

/* Return 1 if the column is printed in the current part. */
static int is_printed(const struct page *page, size_t c)
{
    return page->width[c] > 0 && c < page->end && (c < page->fixed || c >= page->first);
}

/* Return 1 if the word is a unit, which may have punctuation after it. */
static int is_unit(const char *word, size_t length)
{
    static const char *const units[] = {"%", "s", "ms", "min", "x", "MiB", "MiB/s"};

    while (length > 0 && strchr(".,;:)", word[length - 1]))
        length--;
    for (size_t i = 0; i < RPS_COUNT(units); i++)
        if (strlen(units[i]) == length && strncmp(word, units[i], length) == 0)
            return 1;
    return 0;
}

/* Return the length of the word at text in bytes. A number and the unit after it are one word. */
static size_t word_length(const char *text)
{
    size_t length = strcspn(text, " ");
    size_t unit = text[length] ? strcspn(text + length + 1, " ") : 0;
    int is_number = length > 0 && isdigit((unsigned char)text[length - 1]);

    return is_number && is_unit(text + length + 1, unit) ? length + 1 + unit : length;
}

/* Print words, from column `column` of the terminal on. Further lines begin after `hang` blanks. */
static void break_from(FILE *out, const char *text, int width, int column, int hang)
{
    int is_first = 1;

    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = word_length(text);
        char *word = strndup(text, length);
        int needed = word ? rps_text_width(word) : (int)length;

        free(word);
        if (!is_first && column + 1 + needed > width) {
            fprintf(out, "\n%*s", hang, "");
            column = hang;
            is_first = 1;
        }
        fprintf(out, "%s%.*s", is_first ? "" : " ", (int)length, text);
        column += !is_first + needed;
        is_first = 0;
        text += length;
    }
    fputc('\n', out);
}

void rps_document_break(FILE *out, const char *text, int width, int indent, int hang)
{
    if (text[strspn(text, " ")] == '\0')
        return;
    fprintf(out, "%*s", indent, "");
    break_from(out, text, width, indent, hang);
}

/* Print a line of cells without blanks at the end. On a terminal, the last cell of a list without
 * headings is broken into lines. */
static void print_cells(const struct page *page, char *const *cell)
{
    int pending = page->grid->block->indent, column = 0;
    size_t breaking =
        page->columns > 0 && !page->grid->has_head ? page->grid->column_count - 1 : SIZE_MAX;

    for (size_t c = 0; c < page->grid->column_count; c++) {
        const char *text = cell[c] ? cell[c] : "";
        int is_right = rps_column_is_right(page->grid->column[c]);
        int padding = page->width[c] - rps_text_width(text);

        if (!is_printed(page, c))
            continue;
        pending += is_right ? padding : 0;
        if (text[0]) {
            column += pending + rps_text_width(text);
            if (c == breaking && column > page->columns) {
                column -= rps_text_width(text);
                fprintf(page->out, "%*s", pending, "");
                break_from(page->out, text, page->columns, column, column);
                return;
            }
            fprintf(page->out, "%*s%s", pending, "", text);
            pending = 0;
        }
        pending += COLUMN_GAP + (is_right ? 0 : padding);
    }
    fputc('\n', page->out);
}

static void print_line(const struct page *page, const struct rps_line *line)
{
    const char *text = rps_document_printable(page->grid->block->document, line->text);
    int indent = (int)strspn(text, " ");

    if (line->hang >= 0)
        rps_document_break(page->out, text, page->line_limit, line->indent, line->hang);
    else if (page->columns > 0 && rps_text_width(text) > page->columns)
        rps_document_break(page->out, text, page->columns, indent, indent + 2);
    else
        fprintf(page->out, "%s\n", text);
}

static void print_headings(const struct page *page)
{
    size_t count = page->grid->column_count;

    for (int i = 0, has_begun = 0; i < HEADING_LINES; i++) {
        for (size_t c = 0; c < count; c++)
            has_begun |= is_printed(page, c) && page->head[(size_t)i * count + c];
        if (has_begun)
            print_cells(page, page->head + (size_t)i * count);
    }
}

/* Print the lines before a row, or after the last row. *next is the next line. */
static void print_lines(const struct page *page, size_t row, size_t *next)
{
    const struct rps_block *block = page->grid->block;

    for (; *next < block->line_count && block->line[*next].row <= row; ++*next)
        print_line(page, &block->line[*next]);
}

/* Print some of the table's columns. Only the first part has the lines of text between the rows. */
static void print_part(const struct page *page, int is_first, size_t *next_line)
{
    const struct rps_grid *grid = page->grid;
    const struct rps_block *block = grid->block;
    int has_lines = block->line_count > 0 && block->line[0].row == 0 && !block->head_first;

    for (size_t i = 0; i < grid->row_count; i++) {
        if (is_first && !(i == 0 && block->head_first))
            print_lines(page, i, next_line);
        if (i == 0 && grid->has_head) {
            fputs(!is_first || block->title || has_lines ? "\n" : "", page->out);
            print_headings(page);
        }
        if (is_first && i == 0 && block->head_first)
            print_lines(page, i, next_line);
        print_cells(page, grid->cell + i * grid->column_count);
    }
}

static void print_grid(struct page *page, int columns)
{
    const struct rps_grid *grid = page->grid;
    const struct rps_block *block = grid->block;
    const struct rps_document *document = block->document;
    int limit = (columns > 0 ? columns : document->width) - block->indent + COLUMN_GAP;
    int has_limit = (columns > 0 || document->width > 0) && grid->has_head;
    size_t next_line = 0;

    page->columns = columns;
    page->line_limit = columns > 0 && columns < LINE_WIDTH ? columns : LINE_WIDTH;
    page->width = rps_arena_get(document->arena, grid->column_count + 1, sizeof(*page->width));
    page->head =
        rps_arena_get(document->arena, HEADING_LINES * grid->column_count + 1, sizeof(*page->head));
    measure_columns(page);
    if (has_limit)
        limit = fit(page, limit);
    if (block->title)
        rps_document_break(page->out, rps_document_printable(document, block->title),
                           page->line_limit, 0, 0);
    page->end = page->fixed;
    for (int is_first = 1; is_first || page->end < grid->column_count; is_first = 0) {
        page->first = page->end;
        page->end = page->fixed > 0 && has_limit ? end_of_part(page, limit) : grid->column_count;
        print_part(page, is_first, &next_line);
    }
    print_lines(page, rps_block_rows(block), &next_line);
}

void rps_document_to_text(const struct rps_document *document, FILE *out, int columns)
{
    const struct rps_block *block = NULL;
    int is_first = 1, marks = 0, told = 0;

    while ((block = rps_document_next(document, block))) {
        struct rps_grid grid = rps_grid_make(block);
        struct page page = {.out = out, .grid = &grid};

        page.fixed =
            (size_t)block->fixed < grid.column_count ? (size_t)block->fixed : grid.column_count;
        if (grid.row_count == 0 && block->line_count == 0 && !block->title)
            continue;
        if (!is_first)
            fputc('\n', out);
        print_grid(&page, columns);
        for (size_t c = 0; c < grid.column_count; c++)
            marks |= page.width[c] > 0 ? grid.marks[c] : 0;
        for (const char *note; (note = rps_document_note(marks, &told));)
            fprintf(out, "\n%s\n", note);
        is_first = 0;
    }
}
