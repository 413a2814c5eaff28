/* The document of a comparison: the answer, the sides, the changes, the functions and the remarks.
 *
 * The changes are one table with the same columns in every output format. Programs get one row per
 * metric and row of the comparison. The text begins with the elapsed times, one row per phase
 * class. Then each other metric has one row for the whole run. Below this row are rows for the
 * phases in which the metric is most informative. */
#include "rpistat/comparison.h"

#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "words.h"
#include "work.h"

#define FIGURES_MAX   4  /* maximum number of metrics shown per phase class */
#define FUNCTIONS_MAX 3  /* maximum number of functions shown per phase class */
#define CELL_MAX      32 /* maximum width of a metric's name */
#define NAME_MAX      48 /* maximum width of a function's name */

/* The output tables that a column belongs to. */
enum {
    TO_PROGRAMS = 1 << 0,
    TO_PHASES = 1 << 1,    /* text table of elapsed times */
    TO_FIGURES = 1 << 2,   /* text table of all metrics except elapsed times */
    TO_FUNCTIONS = 1 << 3, /* text table of functions */
};

struct column {
    struct rps_column is;
    int human; /* bit mask: the text tables that have this column */
};

static const struct column row_columns[] = {
    {{.name = "label", .heading = "Class"}, TO_PHASES},
    {{.name = "a_times", .heading = "Phases", .kind = RPS_VALUE_INT, .drop = 2}, TO_PHASES},
    {{.name = "b_times", .kind = RPS_VALUE_INT}, 0},
    {{.name = "a_start_s", .heading = "Start", .kind = RPS_VALUE_CLOCK, .drop = 1}, TO_PHASES},
    {{.name = "b_start_s", .kind = RPS_VALUE_CLOCK}, 0},
    {{.name = "name", .heading = "Metric", .width_max = CELL_MAX}, TO_FIGURES},
    {{.name = "kind"}, 0},
};

#define PLACE_COLUMNS 5 /* number of leading columns that describe the row */

static const struct column function_columns[] = {
    {{.heading = "Class"}, TO_FUNCTIONS},
    {{.name = "name", .heading = "Function", .width_max = NAME_MAX}, TO_FUNCTIONS},
    {{.name = "module"}, 0},
    {{.name = "file"}, 0},
    {{.name = "line", .kind = RPS_VALUE_INT}, 0},
    {{.name = "a_share", .kind = RPS_VALUE_NUMBER}, 0},
    {{.name = "b_share", .kind = RPS_VALUE_NUMBER}, 0},
};

#define TO_HUMANS (TO_PHASES | TO_FIGURES | TO_FUNCTIONS)

/* The columns of a change, which follow the columns of a row or function. In the text, the name of
 * the side replaces the heading "A" or "B". */
static const struct column change_columns[] = {
    {{.name = "unit"}, 0},
    {{.name = "a", .heading = "A", .kind = RPS_VALUE_NUMBER}, TO_HUMANS},
    {{.name = "b", .heading = "B", .kind = RPS_VALUE_NUMBER}, TO_HUMANS},
    {{.name = "change", .heading = "Change", .kind = RPS_VALUE_NUMBER}, TO_HUMANS},
    {{.name = "change_low",
      .heading = "95 % interval",
      .kind = RPS_VALUE_NUMBER,
      .shown = RPS_SHOWN_IF_KNOWN},
     TO_HUMANS},
    {{.name = "change_high", .kind = RPS_VALUE_NUMBER}, 0},
    {{.name = "p", .kind = RPS_VALUE_NUMBER}, 0},
    {{.name = "p_corrected", .kind = RPS_VALUE_NUMBER}, 0},
    {{.name = "tested_by"}, 0},
    {{.name = "reason"}, 0},
    {{.name = "verdict", .heading = "Verdict", .shown = RPS_SHOWN_IF_KNOWN, .width_max = CELL_MAX},
     TO_HUMANS},
};

static const struct column share_column = {{.name = "share_of_change",
                                            .heading = "Share of change",
                                            .kind = RPS_VALUE_NUMBER,
                                            .shown = RPS_SHOWN_IF_KNOWN,
                                            .drop = 3},
                                           TO_PHASES};

static void add_columns(struct rps_block *block, const struct rps_comparison *comparison, int table,
                        const struct column *column, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rps_column one = column[i].is;

        if (table == TO_PROGRAMS)
            one.heading = NULL;
        else if (!(table & TO_PROGRAMS))
            one.name = NULL;
        if (!(column[i].human & table))
            one.heading = NULL;
        else if (strcmp(column[i].is.heading, "A") == 0)
            one.heading = comparison->name[RPS_SIDE_A];
        else if (strcmp(column[i].is.heading, "B") == 0)
            one.heading = comparison->name[RPS_SIDE_B];
        rps_block_column(block, one);
    }
}

void rps_comparison_add_change(struct rps_block *block, const struct rps_comparison *comparison)
{
    add_columns(block, comparison, TO_PROGRAMS | TO_HUMANS, change_columns,
                RPS_COUNT(change_columns));
}

static struct rps_block *add_table(struct rps_document *document,
                                   const struct rps_comparison *comparison, int table)
{
    struct rps_block *block =
        rps_document_block(document, table == TO_PROGRAMS ? "changes" : NULL, NULL, 0);

    add_columns(block, comparison, table, row_columns, RPS_COUNT(row_columns));
    add_columns(block, comparison, table, change_columns, RPS_COUNT(change_columns));
    add_columns(block, comparison, table, &share_column, 1);
    block->indent = 2;
    block->fixed = 1;
    return block;
}

/* --- a change --------------------------------------------------------------------------------- */

static const char *kind_name(enum rps_comparison_kind kind)
{
    static const char *const names[] = {[RPS_FIGURE_TIME] = "time",
                                        [RPS_FIGURE_CPU] = "time",
                                        [RPS_FIGURE_METRIC] = "metric",
                                        [RPS_FIGURE_TOTAL] = "event",
                                        [RPS_FIGURE_SYSTEM] = "system"};

    return names[kind];
}

/* The names of the verdicts in output for programs. */
static const char *const verdict_name[] = {
    [RPS_VERDICT_SAME] = "no difference shown",
    [RPS_VERDICT_PERHAPS_LESS] = "perhaps less",
    [RPS_VERDICT_PERHAPS_MORE] = "perhaps more",
    [RPS_VERDICT_LESS] = "less",
    [RPS_VERDICT_MORE] = "more",
};

void rps_comparison_put_change(struct rps_block *block, const struct rps_comparison_figure *figure,
                               const struct rps_change *change, const char *alone, int says_verdict)
{
    const struct rps_comparison_words words =
        rps_comparison_words(block->document->arena, figure, change);

    rps_put_text(block, figure->unit);
    rps_put_number(block, change->a)->words = words.a;
    rps_put_number(block, change->b)->words = words.b;
    rps_put_number(block, change->ratio)->words = alone ? alone : words.change;
    rps_put_number(block, rps_comparison_low(change))->words = words.interval;
    rps_put_number(block, change->high);
    rps_put_number(block, change->p);
    rps_put_number(block, change->adjusted);
    rps_put_text(block, change->basis == RPS_CHANGE_GROUPS     ? "groups"
                        : change->basis == RPS_CHANGE_BASELINE ? "baseline"
                                                               : NULL);
    rps_put_text(block, change->is_few                     ? "too few runs"
                        : change->basis != RPS_CHANGE_NONE ? NULL
                        : change->is_chance                ? "chance"
                        : change->why == RPS_CHANGE_SINGLE ? "one run a side"
                        : change->why == RPS_CHANGE_WILD   ? "no bounds"
                                                           : "no value");
    rps_put_text(block, verdict_name[rps_comparison_verdict(change)])->words =
        says_verdict ? words.verdict : "";
}

/* --- changes of figures ----------------------------------------------------------------------- */

void rps_comparison_put_name(struct rps_block *block, const struct rps_comparison_figure *figure)
{
    int is_rate = figure->kind == RPS_FIGURE_METRIC && strncmp(figure->unit, "/", 1) == 0;

    rps_put_text(block, figure->name);
    rps_put_words(block, "%s%s%s", figure->label[0] ? figure->label : figure->name,
                  is_rate ? " " : "", is_rate ? figure->unit : "");
}

static const char *label_of(const struct rps_comparison_row *row, char text[RPS_PHASE_LABEL_SIZE])
{
    return row->label >= 0 ? rps_phase_label(row->label, text) : NULL;
}

/* Return the name of a row's code on one side, cut to `size`, or "". */
static const char *code_of(const struct rps_comparison *comparison, size_t row, int side,
                           size_t size)
{
    const struct rps_part_shares *shares =
        comparison->shares ? &comparison->shares[comparison->standing[side]] : NULL;
    char *name = rps_arena_get(comparison->arena, size, 1);

    return shares && row < shares->group_count && !shares->group[row].is_alike
               ? rps_share_group_name(name, size, &shares->group[row], 1)
               : "";
}

/* Write the letter of a phase class, and the code that it runs, on both sides if this differs. */
static void write_class(struct rps_block *block, const struct rps_comparison *comparison,
                        size_t row)
{
    const char *a = code_of(comparison, row, RPS_SIDE_A, RPS_SHARE_TEXT_SIZE);
    const char *b = code_of(comparison, row, RPS_SIDE_B, RPS_SHARE_TEXT_SIZE);
    const int is_one = strcmp(a, b) == 0 || !a[0] || !b[0];
    const size_t size = is_one ? NAME_MAX : NAME_MAX / 2;
    char label[RPS_PHASE_LABEL_SIZE];

    rps_put_words(block, "%s%s%s%s%s", rps_phase_label(comparison->row[row].label, label),
                  a[0] || b[0] ? " " : "",
                  code_of(comparison, row, a[0] ? RPS_SIDE_A : RPS_SIDE_B, size),
                  is_one ? "" : " / ", is_one ? "" : code_of(comparison, row, RPS_SIDE_B, size));
}

/* Put the label of a row and the time of its first occurrence. The text uses the time on side A, or
 * on side B if side A lacks the row. If is_both is 1, the text has both times. */
static void put_place(struct rps_block *block, const struct rps_comparison *comparison, size_t at,
                      int is_both)
{
    const struct rps_comparison_row *row = &comparison->row[at];
    int64_t start_ns = row->a_start_ns < 0 && !block->name ? row->b_start_ns : row->a_start_ns;
    char label[RPS_PHASE_LABEL_SIZE];

    rps_put_text(block, label_of(row, label))->words = row->label < 0 ? "all" : NULL;
    if (row->label >= 0)
        write_class(block, comparison, at);
    rps_put_int(block, (int64_t)row->a_times, 1)->words = row->label < 0 ? "" : NULL;
    if (row->a_times == 0 || row->b_times == 0)
        rps_put_words(block, "%zu", row->a_times + row->b_times);
    else if (row->a_times != row->b_times)
        rps_put_words(block, "%zu, %zu", row->a_times, row->b_times);
    rps_put_int(block, (int64_t)row->b_times, 1);
    rps_put_int(block, start_ns, start_ns >= 0)->words = row->label < 0 ? "" : NULL;
    if (is_both && row->a_start_ns >= 0 && row->b_start_ns >= 0 && row->label >= 0)
        rps_put_words(block, "%s, %s", rps_document_clock(block->document, row->a_start_ns),
                      rps_document_clock(block->document, row->b_start_ns));
    rps_put_int(block, row->b_start_ns, row->b_start_ns >= 0);
}

/* Return 1 if a side lacks a phase class. One start per row would then mix both sides' times. */
static int has_one_sided(const struct rps_comparison *comparison)
{
    size_t r = 0;

    while (r < comparison->row_count && comparison->row[r].a_times > 0 &&
           comparison->row[r].b_times > 0)
        r++;
    return r < comparison->row_count;
}

static void put_row(struct rps_block *block, const struct rps_comparison *comparison, size_t row,
                    size_t figure)
{
    const struct rps_comparison_row *of = &comparison->row[row];
    const struct rps_comparison_figure *is = &comparison->figure[figure];
    double share =
        is->kind == RPS_FIGURE_TIME ? rps_comparison_share_of_change(comparison, row) : NAN;
    char label[RPS_PHASE_LABEL_SIZE];

    put_place(block, comparison, row, has_one_sided(comparison));
    rps_comparison_put_name(block, is);
    if (row > 0)
        rps_put_words(block, "  phase %s", label_of(of, label));
    rps_put_text(block, kind_name(is->kind));
    rps_comparison_put_change(
        block, is, &of->change[figure], of->a_times > 0 && of->b_times > 0 ? NULL : "not matched",
        row == 0 || is->kind != RPS_FIGURE_TIME || rps_comparison_is_changed(&of->change[figure]) ||
            rps_comparison_is_possible(&of->change[figure]));
    rps_put_number(block, share);
    if (isnan(share))
        rps_put_words(block, "%s", "");
    else
        rps_put_words(block, "%.0f %%", fabs(share) < .005 ? 0 : 100 * share);
}

/* Choose the metrics and rows that the text shows. The element at index row * figure_count + figure
 * of the result is 1 if the text shows the metric for the row. */
static char *choose_reported(const struct rps_comparison_output *output)
{
    const struct rps_comparison *comparison = output->comparison;
    size_t figures = comparison->figure_count, said[FIGURES_MAX];
    char *told = rps_arena_get(comparison->arena, comparison->row_count * figures, 1);

    for (size_t f = 0; f < figures; f++)
        told[f] = output->all || rps_comparison_is_listed(comparison, f);
    for (size_t r = 1; r < rps_comparison_shown_rows(comparison); r++) {
        if (comparison->row[r].a_times == 0 || comparison->row[r].b_times == 0)
            continue;
        memset(told + r * figures, output->all, figures);
        for (size_t i = 0; i < FIGURES_MAX && !output->all; i++) {
            said[i] = rps_comparison_telling(comparison, r, said, i);
            if (said[i] == SIZE_MAX)
                break;
            told[r * figures + said[i]] = told[said[i]] = 1;
        }
    }
    return told;
}

static void put_figures(struct rps_document *document, const struct rps_comparison_output *output,
                        int has_phases)
{
    const struct rps_comparison *comparison = output->comparison;
    struct rps_block *block = add_table(document, comparison, TO_FIGURES);
    const char *told = choose_reported(output);

    for (size_t f = 0; f < comparison->figure_count; f++) {
        if (has_phases && comparison->figure[f].kind == RPS_FIGURE_TIME)
            continue;
        for (size_t r = 0; r < comparison->row_count; r++) {
            if (told[r * comparison->figure_count + f])
                put_row(block, comparison, r, f);
        }
    }
}

/* --- functions -------------------------------------------------------------------------------- */

static void put_function(struct rps_block *block, const struct rps_comparison_row *row,
                         const struct rps_comparison_function *function)
{
    static const struct rps_comparison_figure seconds = {.kind = RPS_FIGURE_CPU, .unit = "s"};
    char name[512], label[RPS_PHASE_LABEL_SIZE];

    rps_put_text(block, row->label >= 0 ? label_of(row, label) : "all");
    rps_put_text(block, function->name.name);
    rps_put_words(block, "%s", rps_share_name_text(name, sizeof(name), &function->name));
    rps_put_text(block, function->name.module);
    rps_put_text(block, function->name.file);
    rps_put_int(block, function->name.line, function->name.line > 0);
    rps_put_number(block, function->a_share);
    rps_put_number(block, function->b_share);
    rps_comparison_put_change(block, &seconds, &function->seconds, NULL, 1);
}

static void put_functions(struct rps_document *document, const struct rps_comparison_output *output)
{
    const struct rps_comparison *comparison = output->comparison;
    struct rps_block *block = rps_document_block(document, NULL, NULL, 0);
    int has_unnamed = 0;

    add_columns(block, comparison, TO_FUNCTIONS, function_columns, RPS_COUNT(function_columns));
    add_columns(block, comparison, TO_FUNCTIONS, change_columns, RPS_COUNT(change_columns));
    block->indent = 2;
    block->fixed = 2;
    block->is_folded = 1;
    for (size_t r = 0; r < rps_comparison_shown_rows(comparison); r++) {
        const struct rps_comparison_row *row = &comparison->row[r];

        for (size_t i = 0, said = 0; i < row->function_count; i++) {
            if (!output->all && (!rps_comparison_is_notable(row, &row->function[i].seconds) ||
                                 said == FUNCTIONS_MAX))
                continue;
            put_function(block, row, &row->function[i]);
            has_unnamed |= rps_share_has_brackets(row->function[i].name.name);
            said++;
        }
    }
    if (rps_block_rows(block) > 0)
        rps_block_title(block, comparison->is_latency ? "Latency by function, from samples"
                                                      : "CPU time by function, from samples");
    if (has_unnamed)
        rps_document_print(document, "  " RPS_SHARE_UNNAMED_NOTE);
}

/* --- only in JSON ----------------------------------------------------------------------------- */

#define RUNS(CELL, BY)                                                                             \
    CELL(TEXT, (run->side == RPS_SIDE_A ? "A" : "B"), "side")                                      \
    CELL(TEXT, (run->store), "store")                                                              \
    CELL(INT, (run->run_id, 1), "run")                                                             \
    CELL(TEXT, (run->run.uuid), "uuid")                                                            \
    CELL(TEXT, (run->run.label), "label")                                                          \
    CELL(TEXT, (rps_run_title(command, sizeof(command), &run->run)), "command")                    \
    CELL(TIME, (run->run.start_realtime_ns, run->run.start_realtime_ns >= 0), "start")             \
    CELL(DURATION, (run->run.elapsed_ns, run->run.elapsed_ns >= 0), "elapsed_s")                   \
    CELL(BOOL, (run->is_outlier, 1), "is_outlier")

static void put_runs(struct rps_document *document, const struct rps_comparison *comparison)
{
    static const struct rps_column columns[] = {RUNS(RPS_COLUMN, RPS_COLUMN)};
    struct rps_block *block = rps_document_block(document, "runs", columns, RPS_COUNT(columns));
    char command[4096];

    for (size_t i = 0; i < comparison->run_count; i++) {
        const struct rps_comparison_run *run = &comparison->run[i];

        RUNS(RPS_PUT, RPS_PUT_BY)
    }
}

static void put_figure_names(struct rps_document *document, const struct rps_comparison *comparison)
{
    static const struct rps_column columns[] = {
        {.name = "name"}, {.name = "label"}, {.name = "kind"}, {.name = "unit"}};
    struct rps_block *block = rps_document_block(document, "figures", columns, RPS_COUNT(columns));

    for (size_t f = 0; f < comparison->figure_count; f++) {
        const struct rps_comparison_figure *figure = &comparison->figure[f];

        rps_put_texts(block, 4, figure->name, figure->label, kind_name(figure->kind), figure->unit);
    }
}

/* For programs, put the whole run and the phase classes as rows. The table of changes has the
 * values of these rows. */
static void put_parts(struct rps_document *document, const struct rps_comparison *comparison)
{
    struct rps_block *block = rps_document_block(document, "rows", NULL, 0);

    add_columns(block, comparison, TO_PROGRAMS, row_columns, PLACE_COLUMNS);
    rps_block_column(block, (struct rps_column){.name = "functions", .kind = RPS_VALUE_BLOCK});
    for (size_t r = 0; r < comparison->row_count; r++) {
        const struct rps_comparison_row *row = &comparison->row[r];
        struct rps_block *functions;

        put_place(block, comparison, r, 0);
        functions = rps_put_block(block, NULL, 0);
        add_columns(functions, comparison, TO_PROGRAMS, function_columns,
                    RPS_COUNT(function_columns));
        add_columns(functions, comparison, TO_PROGRAMS, change_columns, RPS_COUNT(change_columns));
        for (size_t i = 0; i < row->function_count; i++)
            put_function(functions, row, &row->function[i]);
    }
}

#define LIMITS(CELL, BY)                                                                           \
    CELL(TEXT, (limit->text), "limit")                                                             \
    CELL(TEXT, (label_of(row, label)), "label")                                                    \
    CELL(TEXT, (comparison->figure[limit->figure].name), "name")                                   \
    CELL(TEXT, (rps_change_answers[limit->answer]), "decision")                                    \
    CELL(NUMBER, (change->ratio), "change")                                                        \
    CELL(NUMBER, (change->low), "change_low")                                                      \
    CELL(NUMBER, (change->high), "change_high")                                                    \
    CELL(INT, (isfinite(runs) ? (int64_t)runs : 0, isfinite(runs)), "deciding_runs")

void rps_comparison_put_limits(struct rps_document *document,
                               const struct rps_comparison_output *output)
{
    static const struct rps_column columns[] = {LIMITS(RPS_COLUMN, RPS_COLUMN)};
    const struct rps_comparison *comparison = output->comparison;
    struct rps_block *block = rps_document_block(document, "limits", columns, RPS_COUNT(columns));
    char label[RPS_PHASE_LABEL_SIZE];

    if (output->limit_count > 0)
        rps_block_title(block, "Limits");
    for (size_t i = 0; i < output->limit_count; i++) {
        const struct rps_comparison_limit *limit = &output->limit[i];
        const struct rps_comparison_row *row = &comparison->row[limit->row];
        const struct rps_change *change = &row->change[limit->figure];
        double runs = rps_comparison_limit_runs(comparison, limit);

        LIMITS(RPS_PUT, RPS_PUT_BY)
        rps_block_wrap(block, 2, 4, "%s", rps_comparison_limit_text(comparison, limit));
    }
}

/* --- everything ------------------------------------------------------------------------------- */

/* Put a description of what was compared, one line per item that is not empty. */
static void put_compared(struct rps_document *document, const struct rps_comparison *comparison)
{
    struct rps_block *block = rps_document_block(document, NULL, NULL, 0);
    const char *const line[][2] = {
        {comparison->name[RPS_SIDE_A], rps_comparison_side_text(comparison, RPS_SIDE_A)},
        {comparison->name[RPS_SIDE_B], rps_comparison_side_text(comparison, RPS_SIDE_B)},
        {"Command", rps_comparison_command_text(comparison)},
        {"Values", comparison->a_count + comparison->b_count == 2 ? ""
                   : comparison->statistic == RPS_CHANGE_MEDIAN
                       ? "medians of each side's runs"
                       : "geometric means of each side's runs (arithmetic if a run has 0 or less)"},
        {"Tested", rps_comparison_tested_text(comparison)},
    };

    for (size_t i = 0; i < RPS_COUNT(line); i++) {
        if (line[i][1][0])
            rps_block_wrap(block, 0, 2, "%s: %s", line[i][0], line[i][1]);
    }
}

void rps_comparison_put_remarks(struct rps_document *document,
                                const struct rps_comparison *comparison)
{
    struct rps_block *block = rps_document_block(document, "remarks", NULL, 0);

    block->is_folded = 1;
    if (comparison->remark_count > 0)
        rps_block_title(block, "Remarks");
    for (size_t i = 0; i < comparison->remark_count; i++)
        rps_block_wrap(block, 2, 4, "%s", comparison->remark[i]);
}

/* Choose the number of decimals of times, so that periods of every run can be distinguished. */
static void look_at_times(struct rps_document *document, const struct rps_comparison *comparison)
{
    document->period_ns = RPS_NS_PER_S / 10;
    for (size_t i = 0; i < comparison->run_count; i++) {
        const struct rps_run *run = &comparison->run[i].run;

        if (run->period_ns > 0 && run->period_ns < document->period_ns)
            document->period_ns = run->period_ns;
        if (run->elapsed_ns > document->length_ns)
            document->length_ns = run->elapsed_ns;
    }
}

void rps_comparison_put(struct rps_document *document, const struct rps_comparison_output *output)
{
    const struct rps_comparison *comparison = output->comparison;
    const char *answer = rps_comparison_answer(comparison);
    struct rps_block *all;
    int has_phases = rps_comparison_shown_rows(comparison) > 1 &&
                     rps_comparison_figure(comparison, "elapsed") >= 0;

    document->csv = "changes";
    look_at_times(document, comparison);
    rps_put_text(rps_document_field(document, "answer", RPS_VALUE_TEXT), answer);
    rps_put_text(rps_document_field(document, "a_name", RPS_VALUE_TEXT), comparison->name[0]);
    rps_put_text(rps_document_field(document, "b_name", RPS_VALUE_TEXT), comparison->name[1]);
    rps_put_text(rps_document_field(document, "statistic", RPS_VALUE_TEXT),
                 comparison->statistic == RPS_CHANGE_MEDIAN ? "median" : "mean");
    rps_put_text(rps_document_field(document, "function_time", RPS_VALUE_TEXT),
                 comparison->is_latency ? "latency" : "cpu");
    rps_block_title(rps_document_block(document, NULL, NULL, 0), "%s.", answer);
    put_compared(document, comparison);
    put_runs(document, comparison);
    put_figure_names(document, comparison);
    put_parts(document, comparison);
    rps_comparison_put_limits(document, output);
    /* Put the elapsed times of the phases. The last row is for the whole run. */
    if (has_phases) {
        struct rps_block *block = add_table(document, comparison, TO_PHASES);
        size_t elapsed = (size_t)rps_comparison_figure(comparison, "elapsed");

        for (size_t r = 1; r < comparison->row_count; r++)
            put_row(block, comparison, r, elapsed);
        put_row(block, comparison, 0, elapsed);
        rps_block_title(block, "Elapsed time");
        rps_block_wrap(rps_document_block(document, NULL, NULL, 0), 2, 2,
                       "Phases are found in all runs together; `rpistat phases` of one run may "
                       "differ.");
    }
    if (comparison->row_count > 0)
        put_figures(document, output, has_phases);
    put_functions(document, output);
    rps_comparison_put_remarks(document, comparison);
    all = add_table(document, comparison, TO_PROGRAMS);
    for (size_t i = 0; i < comparison->row_count * comparison->figure_count; i++)
        put_row(all, comparison, i / comparison->figure_count, i % comparison->figure_count);
}
