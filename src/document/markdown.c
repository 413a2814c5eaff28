/* Markdown. */
#include "rpistat/markdown.h"

#include "rpistat/text.h"
#include "to.h"

#define TEXT_SIZE 4096

void rps_markdown_text(FILE *out, const char *text)
{
    char printable[TEXT_SIZE];

    rps_document_escape_markdown(out, rps_text_printable(printable, sizeof(printable), text));
}

static void put_cell(FILE *out, const char *text)
{
    fputs("| ", out);
    for (; *text == ' '; text++)
        fputs("&nbsp;", out);
    rps_document_escape_markdown(out, text);
    fputc(' ', out);
}

int rps_markdown_table(FILE *out, const struct rps_text_table *table, struct rps_error *err)
{
    if (table->failed)
        return rps_error_memory(err);
    fputc('\n', out);
    for (int c = 0; c < table->column_count; c++) {
        for (int line = 0; line < RPS_TABLE_LINES; line++) {
            fputs(line == 0 ? "| " : "", out);
            rps_document_escape_markdown(out, table->column[c].heading[line]);
            fputs(table->column[c].heading[line][0] ? " " : "", out);
        }
    }
    fputs("|\n", out);
    for (int c = 0; c < table->column_count; c++)
        fputs(table->column[c].left ? "| :-- " : "| --: ", out);
    fputs("|\n", out);
    for (int i = 0; i < table->row_count * table->column_count; i++) {
        put_cell(out, table->cell[i] ? table->cell[i] : "");
        fputs((i + 1) % table->column_count == 0 ? "|\n" : "", out);
    }
    return 0;
}
