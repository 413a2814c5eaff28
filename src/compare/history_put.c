/* The document of a history: the answer, the levels, outliers, limits, and the runs' values. */
#include "rpistat/history.h"

#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "words.h"

#define NAMED_MAX    8   /* maximum number of named outliers of a metric */
#define COMMAND_SIZE 120 /* maximum bytes of the command */
#define CHANGED_MAX  3   /* maximum number of metrics in the answer */

static const struct rps_column run_columns[] = {
    {.name = "run", .heading = "Since run", .kind = RPS_VALUE_INT, .is_id = 1},
    {.name = "start", .heading = "Started", .kind = RPS_VALUE_TIME, .drop = 2},
    {.name = "tags_changed", .heading = "New tags", .shown = RPS_SHOWN_IF_KNOWN, .width_max = 32},
};

#define RUN_COLUMNS RPS_COUNT(run_columns)

static void add_run_columns(struct rps_block *block, int is_shown)
{
    for (size_t i = 0; i < RUN_COLUMNS; i++) {
        struct rps_column one = run_columns[i];

        one.heading = is_shown ? one.heading : NULL;
        rps_block_column(block, one);
    }
}

static void put_run(struct rps_block *block, const struct rps_history_run *run)
{
    rps_put_int(block, run->run.run_id, 1);
    rps_put_int(block, run->run.start_realtime_ns, run->run.start_realtime_ns >= 0);
    rps_put_text(block, run->tags);
}

static const char *name_of(const struct rps_history_metric *metric)
{
    return metric->is.label[0] ? metric->is.label : metric->is.name;
}

/* Return which metrics changed at their last change, at most CHANGED_MAX, or NULL for none. */
static const char *find_changed(const struct rps_history *history)
{
    char start[RPS_WALL_TEXT_SIZE];
    const char *text = NULL;
    size_t count = 0, last = 0;

    for (size_t m = 0; m < history->metric_count; m++) {
        const struct rps_history_metric *metric = &history->metric[m];
        const struct rps_history_level *level = &metric->level[metric->level_count - 1];
        const struct rps_history_run *run = &history->run[level->first];
        struct rps_comparison_words words;

        if (metric->level_count < 2 || ++count > CHANGED_MAX)
            continue;
        if (level->first != last)
            text = rps_arena_print(history->arena,
                                   "%s%sSince run %lld (%.10s%s%s): ", text ? text : "",
                                   text ? ". " : "", (long long)run->run.run_id,
                                   rps_wall_text(start, sizeof(start), run->run.start_realtime_ns),
                                   run->tags ? ", " : "", run->tags ? run->tags : "");
        words = rps_comparison_words(history->arena, &metric->is, &level->change);
        text = rps_arena_print(history->arena, "%s%s%s %s (%s)", text,
                               level->first == last ? ", " : "", name_of(metric), words.change,
                               words.interval);
        last = level->first;
    }
    return count > CHANGED_MAX
               ? rps_arena_print(history->arena, "%s, and %zu more", text, count - CHANGED_MAX)
               : text;
}

/* Format a positive value with two digits, or as a whole number: "2.4 %", "103 %". */
static const char *two_digits(const struct rps_history *history, double value, const char *unit)
{
    return rps_arena_print(history->arena, value < 99.5 ? "%.2g%s" : "%.0f%s", value, unit);
}

const char *rps_history_answer(const struct rps_history *history)
{
    const struct rps_history_metric *metric = &history->metric[0];
    const char *changed = find_changed(history);
    int is_factor = metric->found >= RPS_COMPARISON_FACTOR_FROM;

    if (changed)
        return changed;
    if (history->metric_count == 0)
        return "The runs have no metrics";
    if (metric->level[0].count < RPS_STEPS_MIN)
        return rps_arena_print(history->arena,
                               "%zu values of %s are too few for a change; record %d or more",
                               metric->level[0].count, name_of(metric), RPS_STEPS_MIN);
    for (size_t m = 0; m < history->metric_count; m++) {
        if (history->metric[m].trend != 0)
            return rps_arena_print(
                history->arena,
                "No run with a change was found, but %s drifts by about %s%s in %zu runs",
                name_of(&history->metric[m]), history->metric[m].trend > 0 ? "+" : "-",
                two_digits(history, 100 * fabs(history->metric[m].trend), " %"),
                history->run_count);
    }
    if (isnan(metric->found))
        return rps_arena_print(history->arena, "No change found in %zu values",
                               metric->level[0].count);
    return rps_arena_print(
        history->arena,
        "No change found in %zu values; a change of %s by %s%s would be found "
        "if the last %d runs had it%s",
        metric->level[0].count, name_of(metric), is_factor ? "a factor of " : "",
        two_digits(history, is_factor ? 1 + metric->found : 100 * fmax(metric->found, .001),
                   is_factor ? "" : " %"),
        RPS_STEPS_LAST, history->has_repeats ? " and a new tag" : "");
}

static void put_levels(struct rps_document *document, const struct rps_history *history)
{
    struct rps_block *block = rps_document_block(document, "levels", NULL, 0);

    rps_block_column(block,
                     (struct rps_column){.name = "name", .heading = "Metric", .width_max = 32});
    add_run_columns(block, 1);
    rps_block_column(
        block, (struct rps_column){.name = "level_runs", .heading = "Runs", .kind = RPS_VALUE_INT});
    rps_comparison_add_change(block, &history->latest);
    rps_block_column(block, (struct rps_column){.name = "found_change", .kind = RPS_VALUE_NUMBER});
    rps_block_column(block, (struct rps_column){.name = "drift", .kind = RPS_VALUE_NUMBER});
    block->fixed = 1;
    for (size_t m = 0; m < history->metric_count; m++) {
        const struct rps_history_metric *metric = &history->metric[m];

        for (size_t k = 0; k < metric->level_count; k++) {
            const struct rps_history_level *level = &metric->level[k];

            rps_comparison_put_name(block, &metric->is);
            put_run(block, &history->run[level->first]);
            rps_put_int(block, (int64_t)level->count, 1);
            rps_comparison_put_change(block, &metric->is, &level->change, k == 0 ? "" : NULL, 0);
            rps_put_number(block, k + 1 == metric->level_count ? metric->found : NAN);
            rps_put_number(block, k + 1 == metric->level_count && metric->trend != 0 ? metric->trend
                                                                                     : NAN);
        }
    }
}

static void put_outliers(struct rps_document *document, const struct rps_history *history)
{
    struct rps_block *block = rps_document_block(document, "outliers", NULL, 0);

    rps_block_column(block, (struct rps_column){.name = "name"});
    add_run_columns(block, 0);
    rps_block_column(block, (struct rps_column){.name = "value", .kind = RPS_VALUE_NUMBER});
    for (size_t m = 0; m < history->metric_count; m++) {
        const struct rps_history_metric *metric = &history->metric[m];
        const char *line = "";
        size_t count = 0;

        for (size_t r = 0; r < history->run_count; r++) {
            if (!metric->step[r].is_outlier)
                continue;
            rps_put_text(block, metric->is.name);
            put_run(block, &history->run[r]);
            rps_put_number(block, metric->step[r].value);
            if (count++ < NAMED_MAX)
                line = rps_arena_print(
                    history->arena, "%s%s run %lld (%s)", line, count > 1 ? "," : "",
                    (long long)history->run[r].run.run_id,
                    rps_comparison_value_text(history->arena, &metric->is, metric->step[r].value));
        }
        if (count > NAMED_MAX)
            line = rps_arena_print(history->arena, "%s, %zu more", line, count - NAMED_MAX);
        if (count > 0)
            rps_block_wrap(block, 2, 4, "%s:%s", name_of(metric), line);
    }
    if (rps_block_rows(block) > 0)
        rps_block_title(block, "Outliers, which no level includes");
}

static void put_values(struct rps_document *document, const struct rps_history *history)
{
    struct rps_block *block = rps_document_block(document, "runs", NULL, 0);

    add_run_columns(block, 0);
    for (size_t m = 0; m < history->metric_count; m++)
        rps_block_column(block, (struct rps_column){.name = history->metric[m].is.name,
                                                    .kind = RPS_VALUE_NUMBER,
                                                    .group = "figures"});
    for (size_t r = 0; r < history->run_count; r++) {
        put_run(block, &history->run[r]);
        for (size_t m = 0; m < history->metric_count; m++)
            rps_put_number(block, history->metric[m].step[r].value);
    }
}

void rps_history_put(struct rps_document *document, const struct rps_history *history,
                     const struct rps_comparison_limit *limit, size_t limit_count)
{
    const struct rps_comparison_output output = {
        .comparison = &history->latest, .limit = limit, .limit_count = limit_count};
    const char *answer = rps_history_answer(history);
    const struct rps_run *newest = &history->run[history->run_count - 1].run;
    char title[COMMAND_SIZE], other[COMMAND_SIZE];
    size_t others = 0;
    struct rps_block *block;

    document->csv = "runs";
    document->title = rps_arena_print(history->arena, "rpistat: history of %s", history->name);
    rps_put_text(rps_document_field(document, "answer", RPS_VALUE_TEXT), answer);
    block = rps_document_block(document, NULL, NULL, 0);
    rps_block_title(block, "%s.", answer);
    rps_run_title(title, sizeof(title), newest);
    for (size_t r = 0; r < history->run_count; r++)
        others += strcmp(rps_run_title(other, sizeof(other), &history->run[r].run), title) != 0;
    rps_block_line(block, "%s: %zu runs from %lld to %lld; the last one ran %s", history->name,
                   history->run_count, (long long)history->run[0].run.run_id,
                   (long long)newest->run_id, title);
    if (others > 0)
        rps_block_line(block, "Runs with other commands than the last one: %zu", others);
    if (history->unfinished + history->failed > 0)
        rps_block_line(block, "Left out: %zu unfinished runs and %zu that ended with an error.",
                       history->unfinished, history->failed);
    if (history->copies > 0)
        rps_block_line(block, "Left out: %zu cop%s of other runs (tag copy_of).", history->copies,
                       history->copies == 1 ? "y" : "ies");
    rps_put_int(rps_document_field(document, "unfinished_count", RPS_VALUE_INT),
                (int64_t)history->unfinished, 1);
    rps_put_int(rps_document_field(document, "failed_count", RPS_VALUE_INT),
                (int64_t)history->failed, 1);
    put_levels(document, history);
    put_outliers(document, history);
    rps_comparison_put_limits(document, &output);
    rps_comparison_put_remarks(document, &history->latest);
    put_values(document, history);
}
