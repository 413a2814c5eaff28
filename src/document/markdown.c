/* Markdown. */
#include "rpistat/markdown.h"

#include <ctype.h>
#include <string.h>

#include "rpistat/text.h"

#define TEXT_SIZE 4096

static int is_letter(char byte)
{
    return isalpha((unsigned char)byte) || (byte & 0x80);
}

/* "a.b" would be a link to a site of that name, and "a://b" one as well. */
static int may_link(char before, char byte, char behind)
{
    return (byte == '.' && is_letter(before) &&
            (is_letter(behind) || isdigit((unsigned char)behind))) ||
           (byte == ':' && behind == '/');
}

/* Of printable text. "@name" and "#12" are found in the finished page: a comment parts them. */
static void put(FILE *out, const char *text)
{
    static const char markup[] = "\\`*_[]<>|~&$";

    for (size_t i = 0; text[i]; i++) {
        if (strchr(markup, text[i]) || may_link(i > 0 ? text[i - 1] : ' ', text[i], text[i + 1]))
            fputc('\\', out);
        fputc(text[i], out);
        if (text[i] == '@' || text[i] == '#')
            fputs("<!-- -->", out);
    }
}

void rps_markdown_text(FILE *out, const char *text)
{
    char printable[TEXT_SIZE];

    put(out, rps_text_printable(printable, sizeof(printable), text));
}

static void put_cell(FILE *out, const char *text)
{
    fputs("| ", out);
    for (; *text == ' '; text++)
        fputs("&nbsp;", out);
    put(out, text);
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
            put(out, table->column[c].heading[line]);
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
