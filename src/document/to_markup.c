/* Write a document in the markup languages Markdown (as on GitHub) and HTML. */
#include <ctype.h>
#include <string.h>

#include "to.h"

/* The markup before and after each element. `escape` writes printable text. */
struct markup {
    const char *head[2], *end; /* head: around the title of the page ("": no head) */
    const char *title[2], *paragraph[2], *list[2], *item[2];
    const char *table[2], *head_row[2], *row[2];
    const char *heading[2], *cell[2]; /* markup of text cells */
    const char *heading_right, *cell_right, *line_cell[2];
    const char *rule, *rule_right, *rule_end; /* cells of the row below the headings */
    const char *blank;                        /* markup of each blank at the beginning of a cell */
    void (*escape)(FILE *out, const char *text);
};

/* --- Markdown --------------------------------------------------------------------------------- */

static int is_letter(char byte)
{
    return isalpha((unsigned char)byte) || (byte & 0x80);
}

/* Return 1 if GitHub could make a link of these characters, as for "a.b" and "a://b". */
static int may_link(char before, char byte, char behind)
{
    return (byte == '.' && is_letter(before) &&
            (is_letter(behind) || isdigit((unsigned char)behind))) ||
           (byte == ':' && behind == '/');
}

/* Write text for Markdown. GitHub makes links of "@name" and "#12" unless a comment splits them. */
static void escape_markdown(FILE *out, const char *text)
{
    static const char marks[] = "\\`*_[]<>|~&$";

    for (size_t i = 0; text[i]; i++) {
        if (strchr(marks, text[i]) || may_link(i > 0 ? text[i - 1] : ' ', text[i], text[i + 1]))
            fputc('\\', out);
        fputc(text[i], out);
        if (text[i] == '@' || text[i] == '#')
            fputs("<!-- -->", out);
    }
}

/* --- HTML ------------------------------------------------------------------------------------- */

static void escape_html(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            fputc(*text, out);
    }
}

#define HTML_BEGIN                                                                                 \
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"                          \
    "<meta name=\"viewport\" content=\"width=device-width\"><title>"

#define HTML_STYLE                                                                                 \
    "</title>\n<style>body{font:15px/1.4 system-ui,sans-serif;margin:1em;color-scheme:light dark}" \
    "h1{font-size:1.4em;margin:0}div{overflow-x:auto}table{border-collapse:collapse}"              \
    "th,td{padding:.15em .6em;text-align:left;vertical-align:bottom;white-space:nowrap}"           \
    "th{white-space:normal;border-bottom:1px solid}"                                               \
    ".n{text-align:right;font-variant-numeric:tabular-nums}</style></head><body><main>\n"          \
    "<h1>rpistat</h1>\n"

/* Markup languages, in the order in which RPS_DOCUMENT_FORMATS has them after csv. */
static const struct markup markups[] = {
    {
        .head = {"", ""},
        .end = "",
        .title = {"### ", "\n"},
        .paragraph = {"", "\n"},
        .list = {"", ""},
        .item = {"- ", "\n"},
        .table = {"", ""},
        .head_row = {"", "|\n"},
        .row = {"", "|\n"},
        .heading = {"| ", " "},
        .cell = {"| ", " "},
        .heading_right = "| ",
        .cell_right = "| ",
        .line_cell = {"| ", " "},
        .rule = "| :-- ",
        .rule_right = "| --: ",
        .rule_end = "|\n",
        .blank = "&nbsp;",
        .escape = escape_markdown,
    },
    {
        .head = {HTML_BEGIN, HTML_STYLE},
        .end = "</main></body></html>\n",
        .title = {"<h2>", "</h2>\n"},
        .paragraph = {"<p>", "</p>\n"},
        .list = {"<ul>\n", "</ul>\n"},
        .item = {"<li>", "</li>\n"},
        .table = {"<div tabindex=\"0\"><table>\n", "</table></div>\n"},
        .head_row = {"<tr>", "</tr>\n"},
        .row = {"<tr>", "</tr>\n"},
        .heading = {"<th>", "</th>"},
        .cell = {"<td>", "</td>"},
        .heading_right = "<th class=\"n\">",
        .cell_right = "<td class=\"n\">",
        .line_cell = {"<td colspan=\"99\">", "</td>"},
        .rule = "",
        .rule_right = "",
        .rule_end = "",
        .blank = "&nbsp;",
        .escape = escape_html,
    },
};

/* --- writing ---------------------------------------------------------------------------------- */

struct writer {
    FILE *out;
    const struct markup *markup;
    const struct rps_document *document;
};

static void write_text(const struct writer *to, const char *const around[2], const char *text)
{
    fputs(around[0], to->out);
    to->markup->escape(to->out, rps_document_printable(to->document, text));
    fputs(around[1], to->out);
}

/* Write one line as a paragraph, or several lines as a list. */
static void write_lines(const struct writer *to, const struct rps_block *block, size_t from,
                        size_t end)
{
    int is_list = end > from + 1;

    fputs(is_list ? to->markup->list[0] : "", to->out);
    for (size_t i = from; i < end; i++)
        write_text(to, is_list ? to->markup->item : to->markup->paragraph, block->line[i].text);
    fputs(is_list ? to->markup->list[1] : "", to->out);
}

static void write_cells(const struct writer *to, const struct rps_grid *grid, char *const *cell,
                        const char *const left[2], const char *right)
{
    for (size_t c = 0; c < grid->column_count; c++) {
        const char *text = cell[c];
        const char *const *around = *text ? left : to->markup->cell; /* an empty <th> is invalid */

        fputs(*text && rps_column_is_right(grid->column[c]) ? right : around[0], to->out);
        for (; *text == ' '; text++)
            fputs(to->markup->blank, to->out);
        to->markup->escape(to->out, text);
        fputs(around[1], to->out);
    }
}

/* Write a table. Lines before the first row are above the table, or below the headings. */
static void write_grid(const struct writer *to, const struct rps_grid *grid)
{
    const struct rps_block *block = grid->block;
    size_t line = 0;

    while (line < block->line_count &&
           ((block->line[line].row == 0 && !block->head_first) || grid->row_count == 0))
        line++;
    write_lines(to, block, 0, line);
    if (grid->row_count == 0)
        return;
    fputs(line > 0 ? "\n" : "", to->out);
    fputs(to->markup->table[0], to->out);
    fputs(to->markup->head_row[0], to->out);
    write_cells(to, grid, grid->heading, to->markup->heading, to->markup->heading_right);
    fputs(to->markup->head_row[1], to->out);
    for (size_t c = 0; c < grid->column_count; c++)
        fputs(rps_column_is_right(grid->column[c]) ? to->markup->rule_right : to->markup->rule,
              to->out);
    fputs(to->markup->rule_end, to->out);
    for (size_t i = 0; i < grid->row_count; i++) {
        for (; line < block->line_count && block->line[line].row == i; line++) {
            fputs(to->markup->row[0], to->out);
            write_text(to, to->markup->line_cell, block->line[line].text);
            fputs(to->markup->row[1], to->out);
        }
        fputs(to->markup->row[0], to->out);
        write_cells(to, grid, grid->cell + i * grid->column_count, to->markup->cell,
                    to->markup->cell_right);
        fputs(to->markup->row[1], to->out);
    }
    fputs(to->markup->table[1], to->out);
    fputs(line < block->line_count ? "\n" : "", to->out);
    write_lines(to, block, line, block->line_count);
}

static void write_block(const struct writer *to, const struct rps_block *block,
                        const struct rps_grid *grid, int *told)
{
    static const char *const folded[] = {"<details><summary>", "</summary>\n"};
    int marks = 0;

    if (block->title)
        write_text(to, block->is_folded ? folded : to->markup->title, block->title);
    if (block->title && grid->row_count + block->line_count > 0)
        fputc('\n', to->out);
    write_grid(to, grid);
    for (size_t c = 0; c < grid->column_count; c++)
        marks |= grid->marks[c];
    for (const char *note; (note = rps_document_note(marks, told));) {
        fputc('\n', to->out);
        write_text(to, to->markup->paragraph, note);
    }
    fputs(block->title && block->is_folded ? "\n</details>\n" : "", to->out);
}

void rps_document_to_markup(const struct rps_document *document, FILE *out, int markup)
{
    const struct writer to = {out, &markups[markup], document};
    const struct rps_block *block = NULL;
    int is_first = 1, told = 0;

    if (to.markup->head[0][0])
        write_text(&to, to.markup->head, document->title ? document->title : "rpistat");
    while ((block = rps_document_next(document, block))) {
        struct rps_grid grid = rps_grid_make(block);

        if (grid.row_count == 0 && block->line_count == 0 && !block->title)
            continue;
        fputs(is_first ? "" : "\n", out);
        write_block(&to, block, &grid, &told);
        if (is_first && document->picture && to.markup->head[0][0])
            fprintf(out, "<div tabindex=\"0\">%s</div>\n", document->picture);
        is_first = 0;
    }
    fputs(to.markup->end, out);
}
