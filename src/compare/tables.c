/* The tables of a comparison: figures of the whole, kinds of phases and what changed in them, and
 * functions. */
#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"
#include "words.h"
#include "rpistat/words.h"

#define FIGURES_MOST   4  /* that are said of a kind of phases */
#define FUNCTIONS_MOST 3  /* of a kind of phases */
#define NOTABLE        .1 /* of the time of a row: a function's difference between two runs */
#define NAME_WIDTH     48 /* characters of a name */
#define NAME_LEAST     20 /* however narrow the terminal */
#define CELL_SIZE      (4 * NAME_WIDTH + 16)

/* By less of the elapsed time the whole hardly changed, and shares of that change say nothing. */
#define CHANGED_LEAST .005

static const struct rps_comparison_figure cpu_seconds = {.kind = RPS_FIGURE_CPU, .unit = "s"};

static void set_text(struct rps_text_table *table, int column, const char *text)
{
    char cut[CELL_SIZE];

    rps_table_set(table, column, rps_words_cut(cut, sizeof(cut), text, NAME_WIDTH));
}

/* The columns A, B, change, interval, verdict. */
static void add_change_columns(struct rps_text_table *table)
{
    rps_table_add_column(table, "A", "", 0);
    rps_table_add_column(table, "B", "", 0);
    rps_table_add_column(table, "Change", "", 0);
    rps_table_add_column(table, "95 % interval", "", 0);
    rps_table_add_column(table, "Verdict", "", 1);
}

/* Their cells, from `column` on, into the last row. Without `say_all` a verdict is said where there
 * is less or more. */
static void set_change(struct rps_text_table *table, int column, int say_all,
                       const struct rps_comparison_figure *figure, const struct rps_change *change)
{
    char text[RPS_COMPARISON_TEXT_SIZE];

    set_text(table, column, rps_comparison_value_text(text, figure, change->a));
    set_text(table, column + 1, rps_comparison_value_text(text, figure, change->b));
    set_text(table, column + 2, rps_comparison_change_text(text, change));
    set_text(table, column + 3, rps_comparison_interval_text(text, figure, change));
    if (say_all || rps_comparison_is_changed(change))
        rps_table_set(table, column + 4, rps_comparison_verdict_text(change));
}

static const char *label_of(const struct rps_comparison_figure *figure)
{
    return figure->label[0] ? figure->label : figure->name;
}

/* Rates are told from totals of the same label by their unit. */
static void set_label(struct rps_text_table *table, const struct rps_comparison_figure *figure,
                      const char *before)
{
    int rate = figure->kind == RPS_FIGURE_METRIC && strncmp(figure->unit, "/", 1) == 0;
    char text[3 * RPS_NAME_SIZE];

    snprintf(text, sizeof(text), "%s%s%s%s", before, label_of(figure), rate ? " " : "",
             rate ? figure->unit : "");
    set_text(table, 0, text);
}

void rps_comparison_table_whole(struct rps_text_table *table,
                                const struct rps_comparison_output *output, int width)
{
    const struct rps_comparison *comparison = output->comparison;

    (void)width;
    rps_table_add_column(table, "Whole run", "", 1);
    add_change_columns(table);
    for (size_t f = 0; f < comparison->figure_count && comparison->row_count > 0; f++) {
        const struct rps_change *change = &comparison->row[0].change[f];

        if (change->a == 0 && change->b == 0 && !output->all)
            continue;
        rps_table_add_row(table);
        set_label(table, &comparison->figure[f], "");
        set_change(table, 1, 1, &comparison->figure[f], change);
    }
}

/* --- phases ----------------------------------------------------------------------------------- */

enum { PHASE_NAME, PHASE_TIMES, PHASE_START, PHASE_CHANGE, PHASE_SHARE = PHASE_CHANGE + 5 };

static void set_times(struct rps_text_table *table, const struct rps_comparison_row *row)
{
    char text[RPS_COMPARISON_TEXT_SIZE];

    if (row->a_times == row->b_times || row->a_times == 0 || row->b_times == 0)
        snprintf(text, sizeof(text), "%zu", row->a_times > 0 ? row->a_times : row->b_times);
    else
        snprintf(text, sizeof(text), "%zu, %zu", row->a_times, row->b_times);
    rps_table_set(table, PHASE_TIMES, text);
}

/* The share of the whole change; "" where the whole hardly changed. */
static void set_share(struct rps_text_table *table, const struct rps_comparison *comparison,
                      size_t row)
{
    int elapsed = rps_comparison_figure(comparison, "elapsed");
    const struct rps_change *whole = &comparison->row[0].change[elapsed];
    double share = rps_comparison_longer(comparison, row) / rps_comparison_longer(comparison, 0);
    char text[RPS_COMPARISON_TEXT_SIZE];

    if (!isfinite(share) || fabs(share) > 99 || rps_comparison_verdict(whole) == RPS_VERDICT_SAME ||
        fabs(whole->ratio) < CHANGED_LEAST)
        return;
    snprintf(text, sizeof(text), "%.0f %%", fabs(share) < .005 ? 0 : 100 * share);
    rps_table_set(table, PHASE_SHARE, text);
}

static void add_phase(struct rps_text_table *table, const struct rps_comparison *comparison,
                      size_t row)
{
    const struct rps_comparison_row *of = &comparison->row[row];
    int elapsed = rps_comparison_figure(comparison, "elapsed"), both;
    int64_t start_ns = of->a_start_ns >= 0 ? of->a_start_ns : of->b_start_ns;
    char text[RPS_TEXT_NUMBER_SIZE], label[RPS_PHASE_LABEL_SIZE];

    rps_table_add_row(table);
    rps_table_set(table, PHASE_NAME, rps_phase_label(of->label, label));
    set_times(table, of);
    if (start_ns >= 0) {
        rps_text_clock(text, sizeof(text), start_ns, 1);
        rps_table_set(table, PHASE_START, strncmp(text, "00:", 3) == 0 ? text + 3 : text);
    }
    if (elapsed < 0)
        return;
    both = of->a_times > 0 && of->b_times > 0;
    set_change(table, PHASE_CHANGE, 0, &comparison->figure[elapsed], &of->change[elapsed]);
    if (!both) {
        rps_table_set(table, PHASE_CHANGE + (of->a_times > 0 ? 1 : 0), "-");
        rps_table_set(table, PHASE_CHANGE + 2, of->a_times > 0 ? "A alone" : "B alone");
    }
    set_share(table, comparison, row);
}

/* What changed in a kind of phases, or with `all` everything, below its time. */
static void add_phase_figures(struct rps_text_table *table,
                              const struct rps_comparison_output *output, size_t row)
{
    const struct rps_comparison *comparison = output->comparison;
    size_t said[FIGURES_MOST], f;

    for (f = 0; f < comparison->figure_count && output->all; f++) {
        if (comparison->figure[f].kind == RPS_FIGURE_TIME)
            continue;
        rps_table_add_row(table);
        set_label(table, &comparison->figure[f], "  ");
        set_change(table, PHASE_CHANGE, 1, &comparison->figure[f], &comparison->row[row].change[f]);
    }
    for (size_t i = 0; i < FIGURES_MOST && !output->all; i++) {
        said[i] = rps_comparison_telling(comparison, row, said, i);
        if (said[i] == SIZE_MAX)
            break;
        rps_table_add_row(table);
        set_label(table, &comparison->figure[said[i]], "  ");
        set_change(table, PHASE_CHANGE, 1, &comparison->figure[said[i]],
                   &comparison->row[row].change[said[i]]);
    }
}

void rps_comparison_table_phases(struct rps_text_table *table,
                                 const struct rps_comparison_output *output, int width)
{
    (void)width;
    rps_table_add_column(table, "Phase", "", 1);
    rps_table_add_column(table, "Times", "", 0);
    rps_table_add_column(table, "Start", "", 0);
    add_change_columns(table);
    rps_table_add_column(table, "Share of change", "", 0);
    for (size_t row = 1; row < rps_comparison_shown_rows(output->comparison); row++) {
        add_phase(table, output->comparison, row);
        if (output->comparison->row[row].a_times > 0 && output->comparison->row[row].b_times > 0)
            add_phase_figures(table, output, row);
    }
}

/* --- functions -------------------------------------------------------------------------------- */

static void add_function(struct rps_text_table *table, const struct rps_comparison_row *row,
                         int first, const struct rps_comparison_function *function, int name_width)
{
    char label[RPS_PHASE_LABEL_SIZE], name[4 * RPS_COMPARISON_TEXT_SIZE], cut[CELL_SIZE];

    rps_table_add_row(table);
    if (first)
        rps_table_set(table, 0, row->label >= 0 ? rps_phase_label(row->label, label) : "whole run");
    rps_share_name_text(name, sizeof(name), &function->name);
    rps_table_set(table, 1, rps_words_cut(cut, sizeof(cut), name, name_width));
    set_change(table, 2, 1, &cpu_seconds, &function->seconds);
}

/* Seconds in the functions of a row, of the side that has more of each. */
static double seconds_of(const struct rps_comparison_row *row)
{
    double sum = 0;

    for (size_t i = 0; i < row->function_count; i++)
        sum += fmax(row->function[i].seconds.a, row->function[i].seconds.b);
    return sum;
}

/* What is said of a function: that it changed, or how far two runs are apart in it, unless that is
 * next to nothing of the row. */
static int is_told(const struct rps_comparison_row *row, const struct rps_change *seconds)
{
    return rps_comparison_is_changed(seconds) ||
           (rps_comparison_is_sayable(seconds) &&
            fabs(seconds->b - seconds->a) >= NOTABLE * seconds_of(row));
}

static void add_functions(struct rps_text_table *table, const struct rps_comparison_output *output,
                          const struct rps_comparison_row *row, int name_width)
{
    int said = 0;

    for (size_t i = 0; i < row->function_count; i++) {
        if (output->all || (is_told(row, &row->function[i].seconds) && said < FUNCTIONS_MOST))
            add_function(table, row, said++ == 0, &row->function[i], name_width);
    }
}

void rps_comparison_table_functions(struct rps_text_table *table,
                                    const struct rps_comparison_output *output, int width)
{
    const struct rps_comparison *comparison = output->comparison;
    int name_width = NAME_WIDTH;

    for (int pass = width > 0 ? 0 : 1; pass < 2; pass++) {
        rps_table_free(table);
        rps_table_add_column(table, "Phase", "", 1);
        rps_table_add_column(table, "Function", "", 1);
        add_change_columns(table);
        for (size_t r = 0; r < rps_comparison_shown_rows(comparison); r++)
            add_functions(table, output, &comparison->row[r], name_width);
        if (pass == 0 && !table->failed) /* what is too wide is taken from the names */
            name_width = table->column[1].width -
                         (int)fmax(0, rps_table_width(table, table->column_count) - width);
        name_width = name_width < NAME_LEAST ? NAME_LEAST : name_width;
    }
}
