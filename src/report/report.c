/* Read a run from the store and report it, as a document or in the layout of 2013. All data is read
 * before any output is formatted, so that the user's locale applies to the output only. */
#include "rpistat/formula.h"
#include "rpistat/plan.h"
#include "rpistat/profile.h"
#include "rpistat/report.h"
#include "rpistat/run.h"
#include "rpistat/walk.h"

#include <math.h>
#include <string.h>

#include "parts.h"

/* --- reading ---------------------------------------------------------------------------------- */

static struct rps_tally *make_tallies(const struct rps_report *report, size_t count)
{
    struct rps_tally *tally = rps_arena_get(report->arena, count, sizeof(*tally));

    for (size_t i = 0; i < count; i++)
        tally[i] = rps_tally_new(report->arena, report->plan);
    return tally;
}

static int read_cpus(struct rps_report *report, struct rps_error *err)
{
    struct rps_walk walk = {.series = &report->cpu_series, .way = RPS_CPUS_EACH};
    int result = 0;

    if (report->options->cpus.way != RPS_CPUS_EACH || !report->cpu_series.by_cpu)
        return 0;
    report->cpu_tally = make_tallies(report, (size_t)report->cpu_series.count);
    while (rps_walk_next(&walk, &result, err))
        rps_tally_add(&report->cpu_tally[walk.track], walk.period);
    return result;
}

/* The cost of starting to read a span equals the cost of reading this many periods. */
#define SPAN_PERIODS 1000

/* Read a series, and add each period to those of the regions first ... end - 1 that contain it. */
static int walk_regions(struct rps_report *report, const struct rps_cpu_series *series,
                        size_t first, size_t end, struct rps_error *err)
{
    struct rps_walk walk = {.series = series, .way = RPS_CPUS_SUM};
    int result = 0;

    while (rps_walk_next(&walk, &result, err)) {
        for (size_t i = first; i < end; i++) {
            if (rps_spans_hold(&report->regions.region[i].spans, walk.period->start_ns,
                               rps_period_end_ns(walk.period)))
                rps_tally_add(&report->region_tally[i], walk.period);
        }
    }
    return result;
}

/* Read a span. If the run has too many periods, the middle of a long span is read in blocks. The
 * span's ends are read in single periods. */
static int read_span(struct rps_report *report, size_t number, const struct rps_span *span,
                     struct rps_error *err)
{
    struct rps_cpu_series part = report->cpu_series;

    part.from_ns = span->start_ns > part.from_ns ? span->start_ns : part.from_ns;
    part.to_ns = span->end_ns < part.to_ns ? span->end_ns : part.to_ns;
    rps_cpu_series_choose_signals(&part, 1);
    return part.from_ns < part.to_ns ? walk_regions(report, &part, number, number + 1, err) : 0;
}

/* Read the regions: each span separately, or all periods once, whichever is faster. */
static int read_regions(struct rps_report *report, struct rps_error *err)
{
    struct rps_cpu_series whole = report->cpu_series;
    uint64_t spans = 0;
    int result = 0;

    report->region_tally = make_tallies(report, report->regions.count);
    for (size_t i = 0; i < report->regions.count; i++)
        spans += report->regions.region[i].spans.count;
    whole.resolution = 0;
    if (spans > whole.periods / SPAN_PERIODS)
        return walk_regions(report, &whole, 0, report->regions.count, err);
    for (size_t i = 0; i < report->regions.count; i++) {
        const struct rps_run_region *region = &report->regions.region[i];

        for (size_t k = 0; result == 0 && k < region->spans.count; k++)
            result = read_span(report, i, &region->spans.span[k], err);
    }
    return result;
}

/* Return 1 if the store has the intervals that were computed at the end of the run. */
static int is_concluded(const struct rps_report *report)
{
    return report->options->from_ns <= 0 && report->options->to_ns == INT64_MAX &&
           !report->options->region && report->options->cpus.count == 0 &&
           report->options->cpus.way != RPS_CPUS_EACH &&
           report->plan->clock.whole.certainty != RPS_CERTAINTY_NONE;
}

static int is_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fabs(b);
}

/* Return 1 if the stored intervals belong to the periods that are now in the store. Rows of periods
 * may have changed since the intervals were stored. */
static int is_of_these_rows(const struct rps_report *report)
{
    const struct rps_plan *plan = report->plan;

    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            if (!is_same(rps_tally_estimate(&report->tally, n, s),
                         plan->set[n].event[s].whole.value))
                return 0;
        }
    }
    for (int m = 0; m < plan->metric_count; m++) {
        double value = rps_formula_value(&plan->metric[m].formula, report->operand);

        if (!is_same(isfinite(value) ? value : NAN, plan->metric[m].whole.value))
            return 0;
    }
    return 1;
}

/* Choose between blocks and single periods. Sums are equal at every level, but intervals need
 * single periods. */
static void choose_resolution(struct rps_report *report)
{
    if ((report->plain && !report->options->region) || is_concluded(report))
        report->cpu_series.resolution = RPS_LEVELS;
    else
        rps_cpu_series_choose_signals(&report->cpu_series, 1);
}

static int read_sums(struct rps_report *report, struct rps_error *err)
{
    struct rps_walk walk = {.series = &report->cpu_series, .way = RPS_CPUS_SUM};
    int result = 0;

    rps_tally_reset(&report->tally);
    while (rps_walk_next(&walk, &result, err))
        rps_tally_add(&report->tally, walk.period);
    rps_tally_operands(&report->tally, report->plan, report->operand);
    return result;
}

static int keep_region(struct rps_report *report, struct rps_error *err)
{
    if (!report->options->region)
        return 0;
    if (rps_run_regions_choose(&report->regions, report->run.run_id, report->options->region, err) <
        0)
        return RPS_FAILED;
    return rps_run_region_keep(&report->cpu_series, &report->regions.region[0], err);
}

static int read_run(struct rps_report *report, struct rps_reader *reader, int64_t run_id,
                    struct rps_error *err)
{
    if (rps_reader_run(report->arena, reader, run_id, &report->run, err) < 0 ||
        rps_reader_plan(report->arena, reader, run_id, &report->plan, err) < 0 ||
        rps_reader_gaps(report->arena, reader, run_id, &report->gaps, err) < 0 ||
        rps_reader_marks(report->arena, reader, run_id, &report->marks, err) < 0 ||
        rps_reader_summary(reader, run_id, &report->summary, err) < 0)
        return RPS_FAILED;
    rps_report_list(report);
    report->regions = rps_run_regions_find(report->arena, &report->marks, report->options->from_ns,
                                           report->options->to_ns);
    report->tally = rps_tally_new(report->arena, report->plan);
    if (rps_cpu_series_open(report->arena, &report->cpu_series, reader, run_id,
                            report->options->from_ns, report->options->to_ns,
                            &report->options->cpus, err) < 0 ||
        keep_region(report, err) < 0 ||
        rps_reader_downsampled(reader, run_id, &report->thinned_ns, err) < 0)
        return RPS_FAILED;
    report->operand = rps_arena_get(report->arena, (size_t)rps_plan_operand_count(report->plan),
                                    sizeof(*report->operand));
    choose_resolution(report);
    if (read_sums(report, err) < 0 || read_cpus(report, err) < 0)
        return RPS_FAILED;
    if (is_concluded(report) && is_of_these_rows(report))
        return 0;
    if (is_concluded(report)) {
        report->plan->clock.whole.certainty = RPS_CERTAINTY_NONE;
        choose_resolution(report);
        if (read_sums(report, err) < 0)
            return RPS_FAILED;
    }
    rps_tally_conclude(&report->tally, report->plan, report->operand);
    return 0;
}

/* --- putting ---------------------------------------------------------------------------------- */

static void put_answer(struct rps_report *report)
{
    char text[RPS_REPORT_ANSWER_SIZE], *rest = rps_report_answer(report, text);
    struct rps_block *block = rps_document_field(report->document, "answer", RPS_VALUE_TEXT);

    rps_put_text(block, text);
    for (int indent = 0; *rest; indent = 2)
        rps_block_wrap(block, indent, indent + 2, "%s", strsep(&rest, "\n"));
}

static void put_remark(struct rps_report *report, const char *remark)
{
    if (rps_block_rows(report->fields) == 0)
        rps_block_title(report->fields, "Remarks");
    rps_put_text(report->fields, remark);
    rps_block_wrap(report->fields, 2, 4, "%s", remark);
}

static int fill(struct rps_report *report, struct rps_error *err)
{
    static const struct rps_column texts = {.name = ""};

    (void)err;
    report->document->csv = "figures";
    put_answer(report);
    rps_report_members(report);
    rps_report_system(report);
    rps_report_machine(report);
    rps_report_run(report);
    rps_report_figures(report);
    rps_report_cpus(report, report->document);
    rps_report_regions(report);
    rps_report_window(report);
    rps_report_shares(report);
    rps_report_notes(report);
    report->fields = rps_document_block(report->document, "remarks", &texts, 1);
    rps_report_remarks(report, put_remark);
    return 0;
}

/* Read the run, then put the run's report in the user's locale. */
static int make(struct rps_report *report, struct rps_reader *reader, int64_t run_id,
                int (*put)(struct rps_report *, struct rps_error *), struct rps_error *err)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
    const struct rps_report_options *options = report->options;
    int result = c_locale ? 0 : rps_error_memory(err);

    report->arena = rps_arena_new();
    report->profile = rps_arena_get(report->arena, 1, sizeof(*report->profile));
    if (result == 0)
        result = read_run(report, reader, run_id, err);
    if (result == 0 && !report->plain)
        result = read_regions(report, err);
    if (result == 0 && !report->plain && !options->figures) {
        result = rps_report_read_system(report, err);
        if (result == 0)
            result = rps_report_read_phases(report, err);
        if (result == 0)
            result = rps_report_read_shares(report, err);
        if (result == 0)
            rps_report_read_window(report);
    }
    if (result == 0) {
        before = uselocale(options->locale ? options->locale : c_locale);
        result = put(report, err);
        if (options->answer)
            rps_report_answer(report, options->answer);
        uselocale(before);
    }
    if (c_locale)
        freelocale(c_locale);
    rps_arena_free(report->arena);
    return result;
}

int rps_report_fill(struct rps_document *document, struct rps_reader *reader, int64_t run_id,
                    const struct rps_report_options *options, struct rps_error *err)
{
    struct rps_report report = {.document = document, .options = options};

    return make(&report, reader, run_id, fill, err);
}

int rps_report_write_2013(FILE *out, struct rps_reader *reader, int64_t run_id,
                          const struct rps_report_options *options, struct rps_error *err)
{
    struct rps_report report = {.out = out, .options = options, .plain = 1};

    return make(&report, reader, run_id, rps_report_print, err);
}

int rps_report_conclude(struct rps_reader *reader, int64_t run_id, struct rps_plan **ret,
                        struct rps_error *err)
{
    const struct rps_report_options options = {.to_ns = INT64_MAX};
    struct rps_report report = {.options = &options, .arena = rps_arena_new()};
    int result = read_run(&report, reader, run_id, err);

    if (result == 0)
        *ret = report.plan;
    else
        rps_arena_free(report.arena);
    return result;
}
