/* A comparison for people: the answer, what was compared, tables of the whole, of kinds of phases
 * and of functions, and remarks; as text and as Markdown. */
#include "rpistat/comparison_output.h"
#include "rpistat/output_file.h"

#include "words.h"
#include "rpistat/markdown.h"
#include "rpistat/words.h"

#define WIDTH_DEFAULT 100

/* --- text ------------------------------------------------------------------------------------- */

struct page {
    FILE *out;
    const struct rps_comparison_output *output;
    int width;
};

/* What fills a table. */
typedef void fill_table(struct rps_text_table *table, const struct rps_comparison_output *output,
                        int width);

/* A table behind its heading; nothing without rows. */
static int print_table(const struct page *page, const char *heading, fill_table *fill, int fixed,
                       struct rps_error *err)
{
    struct rps_text_table table = {0};
    int result = 0;

    fill(&table, page->output, page->width);
    if (table.row_count > 0 || table.failed) {
        fputs(heading, page->out);
        result = rps_table_print(page->out, &table, fixed, page->width, err);
    }
    rps_table_free(&table);
    return result;
}

static void print_line(const struct page *page, const char *before, const char *text)
{
    char line[RPS_COMPARISON_LINE_SIZE + 32];

    if (!text[0])
        return;
    snprintf(line, sizeof(line), "%s%s", before, text);
    rps_words_wrap(page->out, line, page->width, 0, 2);
}

static void print_heading(const struct page *page)
{
    char answer[RPS_COMPARISON_ANSWER_SIZE], text[RPS_COMPARISON_LINE_SIZE];
    const struct rps_comparison *comparison = page->output->comparison;

    rps_comparison_answer(answer, page->output);
    snprintf(text, sizeof(text), "%s.", answer);
    rps_words_wrap(page->out, text, page->width, 0, 0);
    fputc('\n', page->out);
    print_line(page, "A: ", rps_comparison_side_text(text, page->output, RPS_SIDE_A));
    print_line(page, "B: ", rps_comparison_side_text(text, page->output, RPS_SIDE_B));
    print_line(page, "Both: ", rps_comparison_command_text(text, comparison));
    print_line(page, "Tested: ", rps_comparison_tested_text(text, comparison));
}

static int write_page(const struct page *page, struct rps_error *err)
{
    const struct rps_comparison *comparison = page->output->comparison;
    int result;

    print_heading(page);
    result = print_table(page, "", rps_comparison_table_whole, 1, err);
    if (result == 0)
        result = print_table(page, "", rps_comparison_table_phases, 1, err);
    if (result == 0)
        result = print_table(page, "\nFunctions, CPU time by their samples:\n",
                             rps_comparison_table_functions, 2, err);
    for (size_t i = 0; i < comparison->remark_count; i++) {
        fputs(i == 0 ? "\nRemarks\n" : "", page->out);
        rps_words_wrap(page->out, comparison->remark[i], page->width, 2, 4);
    }
    return result;
}

int rps_comparison_output_text(FILE *out, const struct rps_comparison_output *output,
                               struct rps_error *err)
{
    const struct page page = {
        .out = out, .output = output, .width = output->width > 0 ? output->width : WIDTH_DEFAULT};
    locale_t before = (locale_t)0;
    int result;

    if (output->locale != (locale_t)0)
        before = uselocale(output->locale);
    result = write_page(&page, err);
    if (output->locale != (locale_t)0)
        uselocale(before);
    return result == 0 ? rps_output_written(out, "the comparison", err) : result;
}

/* --- Markdown --------------------------------------------------------------------------------- */

static void put_line(FILE *out, const char *before, const char *text)
{
    if (!text[0])
        return;
    fprintf(out, "- %s", before);
    rps_markdown_text(out, text);
    fputc('\n', out);
}

static void put_heading(FILE *out, const struct rps_comparison_output *output)
{
    char text[RPS_COMPARISON_LINE_SIZE];

    fputs("**", out);
    rps_markdown_text(out, rps_comparison_answer(text, output));
    fputs(".**\n\n", out);
    put_line(out, "A: ", rps_comparison_side_text(text, output, RPS_SIDE_A));
    put_line(out, "B: ", rps_comparison_side_text(text, output, RPS_SIDE_B));
    put_line(out, "Both: ", rps_comparison_command_text(text, output->comparison));
    put_line(out, "Tested: ", rps_comparison_tested_text(text, output->comparison));
}

static int put_table(FILE *out, const struct rps_comparison_output *output, fill_table *fill,
                     struct rps_error *err)
{
    struct rps_text_table table = {0};
    int result = 0;

    fill(&table, output, 0);
    if (table.row_count > 0 || table.failed)
        result = rps_markdown_table(out, &table, err);
    rps_table_free(&table);
    return result;
}

/* What is not seen until it is opened. */
static int put_details(FILE *out, const struct rps_comparison_output *output, struct rps_error *err)
{
    const struct rps_comparison *comparison = output->comparison;
    struct rps_text_table table = {0};
    int result = 0;

    rps_comparison_table_functions(&table, output, 0);
    if (table.row_count + comparison->remark_count > 0 || table.failed) {
        fputs("\n<details><summary>Functions and remarks</summary>\n", out);
        if (table.row_count > 0 || table.failed)
            result = rps_markdown_table(out, &table, err);
        fputs(comparison->remark_count > 0 ? "\n" : "", out);
        for (size_t i = 0; i < comparison->remark_count; i++)
            put_line(out, "", comparison->remark[i]);
        fputs("\n</details>\n", out);
    }
    rps_table_free(&table);
    return result;
}

int rps_comparison_output_markdown(FILE *out, const struct rps_comparison_output *output,
                                   struct rps_error *err)
{
    int result;

    put_heading(out, output);
    result = put_table(out, output, rps_comparison_table_whole, err);
    if (result == 0)
        result = put_table(out, output, rps_comparison_table_phases, err);
    if (result == 0)
        result = put_details(out, output, err);
    return result == 0 ? rps_output_written(out, "the comparison", err) : result;
}
