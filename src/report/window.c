/* How a window of a run differs from the rest of the run, as a document. */
#include <math.h>
#include <string.h>

#include "parts.h"
#include "rpistat/report.h"
#include "rpistat/run_phases.h"
#include "rpistat/run_window.h"

static const char *heading_of(const struct rps_run_window *window)
{
    return window->to_ns[1] > 0 ? "Other time range" : "Rest of the run";
}

/* Add the metrics that differ, the largest difference first. Return the number of tested metrics.
 * *ret_unknown: number of metrics with too few observations, or for which even a change to zero
 * would be within chance. */
static size_t add_metrics(struct rps_document *document, const struct rps_run_window *window,
                          size_t *ret_unknown)
{
    const struct rps_column columns[] = {
        {.name = "name"},
        {"label", "Metric", .place = 1},
        {"unit", "Unit", .place = 2},
        {"window", "Time range", RPS_VALUE_NUMBER, .place = 3},
        {"other", heading_of(window), RPS_VALUE_NUMBER, .place = 4},
        {"difference", "Difference", RPS_VALUE_NUMBER, .place = 5},
        {"low", "Low", RPS_VALUE_NUMBER, .place = 6},
        {"high", "High", RPS_VALUE_NUMBER, .place = 7},
        {"log_ratio", .kind = RPS_VALUE_NUMBER},
    };
    struct rps_block *block = rps_document_block(document, "metrics", columns, RPS_COUNT(columns));
    size_t tested = 0;

    block->indent = 2;
    for (const struct rps_profile *of = &window->profile; of; of = of->io) {
        for (size_t f = 0; f < of->figure_count; f++) {
            const struct rps_figure *figure = &of->figure[f];
            const double value = of->mean[f], other = of->mean[of->figure_count + f];
            const double found = rps_profile_difference(of, f);
            /* Values that do not vary give no interval. */
            const double error = figure->error > fmax(value, other) / 1e9 ? figure->error : NAN;

            if (isfinite(value - other) && fmax(value, other) > 0)
                (*(isfinite(found) ? &tested : ret_unknown))++;
            if (!(fabs(found) > 0))
                continue;
            rps_put_texts(block, 3, figure->name, figure->label[0] ? figure->label : figure->name,
                          figure->unit);
            rps_put_number(block, value);
            rps_put_number(block, other);
            rps_put_number(block, value - other);
            rps_put_number(block, value - other - error);
            rps_put_number(block, value - other + error);
            rps_put_number(block, fabs(found));
        }
    }
    rps_block_sort(block, "log_ratio", 1);
    return tested;
}

/* Add the programs, control groups and functions whose share of the samples differs most. */
static void add_code(struct rps_document *document, const struct rps_run_window *window)
{
    const struct rps_column columns[] = {
        {"kind", "Kind", .place = 0, .width_max = 24},
        {"name", "Code", .place = 1},
        {"self_share", "Time range", RPS_VALUE_SHARE, .place = 2},
        {"elsewhere_share", heading_of(window), RPS_VALUE_SHARE, .place = 3},
        {.name = "module"},
        {.name = "file"},
        {"line", .kind = RPS_VALUE_INT},
    };
    const struct rps_share_group *group = window->shares.group;
    struct rps_block *block;

    if (window->shares.group_count == 0 || !rps_share_is_tested(group))
        return;
    block = rps_document_block(document, "stands_out", columns, RPS_COUNT(columns));
    block->indent = 2;
    rps_share_block_stand_out(block, group);
}

/* Return a remark on the comparison of code, or "". */
static const char *code_of(const struct rps_document *document, const struct rps_run_window *window)
{
    const struct rps_share_group *group = window->shares.group;
    const struct rps_share_apart *unsure;
    char name[256], own[16], rest[16];

    if (window->shares.group_count == 0)
        return "Code: the run has no samples.";
    unsure = group->chance.is_found && group->unsure.share < group->chance.share ? &group->chance
                                                                                 : &group->unsure;
    if (group->unsure.is_found)
        return rps_arena_print(
            document->arena,
            "Code: %s of samples in %s%s (%s: %s). This difference may be due to chance: the "
            "time ranges have too few measurement periods for a test.",
            rps_shares_percent_text(own, sizeof(own), unsure->share),
            rps_share_name_text(name, sizeof(name), &unsure->name),
            unsure == &group->chance ? " and its callees" : "", group->other,
            rps_shares_percent_text(rest, sizeof(rest), unsure->rest));
    return !group->apart[RPS_APART_FUNCTION].is_tested
               ? "Code: too few samples to compare programs and functions."
           : rps_block_rows(document->last) == 0
               ? "Code: no program or function differs by more than chance."
               : "";
}

const char *rps_window_words(struct rps_arena *arena, const struct rps_run_window *window)
{
    char words[RPS_PROFILE_WORDS_SIZE];

    rps_profile_words(words, &window->profile, 0, 0);
    return words[0] ? rps_arena_text(arena, words)
                    : "not all metrics can be compared: too few measurement periods, or the values "
                      "vary too much";
}

/* Write the times of a side, with more decimals if they would be equal: a period at the start or
 * the end of a run may be short. */
static const char *side_text(const struct rps_document *document,
                             const struct rps_run_window *window, int side)
{
    struct rps_document fine = *document;
    const int64_t from_ns = window->from_ns[side], to_ns = window->to_ns[side];
    const char *from, *to;

    do {
        from = rps_document_clock(&fine, from_ns);
        to = rps_document_clock(&fine, to_ns);
    } while (strcmp(from, to) == 0 && to_ns > from_ns && (fine.period_ns /= 10) > 0);
    fine.period_ns = fine.period_ns > 0 ? fine.period_ns : 1;
    return rps_arena_print(document->arena, "%s to %s (%s)", from, to,
                           rps_document_duration(&fine, to_ns - from_ns));
}

void rps_window_document(struct rps_document *document, const struct rps_run *run,
                         const struct rps_run_window *window)
{
    locale_t before = uselocale(document->locale);
    const char *const names[] = {"from_s", "to_s", "other_from_s", "other_to_s"};
    const int has_other = window->to_ns[1] > 0;
    struct rps_block *sentence = rps_document_block(document, NULL, NULL, 0);
    size_t tested, listed, unknown = 0;
    const char *words, *code;

    document->csv = "metrics";
    document->width = RPS_DOCUMENT_WIDTH;
    document->period_ns = run->period_ns;
    document->length_ns = run->elapsed_ns;
    rps_put_int(rps_document_field(document, "run", RPS_VALUE_INT), run->run_id, 1);
    for (int i = 0; i < 4; i++)
        rps_put_int(rps_document_field(document, names[i], RPS_VALUE_CLOCK),
                    (i % 2 ? window->to_ns : window->from_ns)[i / 2], i < 2 || has_other);
    tested = add_metrics(document, window, &unknown);
    listed = rps_block_rows(document->last);
    add_code(document, window);
    code = code_of(document, window);
    words = rps_window_words(document->arena, window);
    rps_put_text(rps_document_field(document, "words", RPS_VALUE_TEXT), words);
    rps_put_int(rps_document_field(document, "tested", RPS_VALUE_INT), (int64_t)tested, 1);
    rps_block_wrap(
        sentence, 0, 0, "From %s%s%s: %s%s.", side_text(document, window, 0),
        has_other ? ", compared with " : "", has_other ? side_text(document, window, 1) : "", words,
        listed > 0 && (strncmp(words, "similar", 7) == 0 || strstr(words, RPS_PROFILE_NO_METRIC))
            ? ", except for the table below"
            : "");
    if (listed > 0)
        rps_document_print(
            document,
            "%zu of %zu compared metrics differ%s by at least 5 %% and by more than chance. "
            "Low to High is the interval of the difference (confidence 99 %% for "
            "all metrics together).",
            listed, tested, listed == 1 ? "s" : "");
    if (unknown > 0)
        rps_document_print(document,
                           "%zu of %zu metrics %s not compared: too few measurement periods, or "
                           "the values vary too much.",
                           unknown, unknown + tested, unknown > 1 ? "are" : "is");
    if (code[0])
        rps_document_print(document, "%s", code);
    uselocale(before);
}

/* --- in the report ---------------------------------------------------------------------------- */

void rps_report_read_window(struct rps_report *report)
{
    const struct rps_report_options *options = report->options;
    struct rps_run_window *window = rps_arena_get(report->arena, 1, sizeof(*window));
    struct rps_error none;

    *window = (struct rps_run_window){.from_ns = {options->from_ns},
                                      .to_ns = {options->to_ns},
                                      .region = options->region,
                                      .cpus = options->cpus,
                                      .phases = report->phases};
    if (rps_report_is_part(report) && report->summary.rows <= RPS_RUN_PHASES_PERIODS_MAX &&
        rps_run_window_find(report->document->arena, report->cpu_series.reader, &report->run,
                            window, &none) == 0)
        report->window = window;
}

void rps_report_window(struct rps_report *report)
{
    const struct rps_run_window *window = report->window;
    struct rps_document *document = report->document;
    const struct rps_column *columns;
    size_t count;

    if (!window)
        return;
    rps_put_text(rps_document_field(document, "words", RPS_VALUE_TEXT),
                 rps_window_words(document->arena, window));
    columns = rps_share_block_columns(&count);
    if (window->shares.group_count > 0 && rps_share_is_tested(window->shares.group))
        rps_share_block_stand_out(rps_document_block(document, "stands_out", columns, count),
                                  window->shares.group);
}
