/* The runs of a comparison over time, and the axis by phase. Each side has a run that represents
 * it. The phases of both representing runs are aligned in order. Two aligned phases with the same
 * row share a slot of the axis. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match.h"
#include "parts.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"
#include "rpistat/walk.h"
#include "rpistat/bins.h"
#include "rpistat/rotation.h"
#include "rpistat/clock.h"
#include "rpistat/collect.h"

#define APART 9 /* a distance at which two labels never match */

/* --- figures ---------------------------------------------------------------------------------- */

/* Significance of a metric's change in its most significant row: the row with the lowest p. If p is
 * equal, the row with the largest change is the most significant. */
struct worth {
    double p, change;
    size_t figure;
};

static struct worth worth_of(const struct rps_comparison *comparison, size_t figure)
{
    struct worth worth = {INFINITY, 0, figure};

    for (size_t r = 0; r < comparison->row_count; r++) {
        const struct rps_change *change = &comparison->row[r].change[figure];
        double size = fabs(log1p(change->ratio)), p = isnan(change->p) ? INFINITY : change->p;

        if (p < worth.p) {
            worth.p = p;
            worth.change = 0;
        }
        if (p <= worth.p && size > worth.change)
            worth.change = size;
    }
    if (strcmp(comparison->figure[figure].name, RPS_COLLECT_CPU_USE) == 0)
        worth.p = -1; /* CPU use is the first panel: the other metrics are compared with it */
    return worth;
}

static int compare_worths(const void *a, const void *b)
{
    const struct worth *x = a, *y = b;

    if (x->p < y->p || x->p > y->p)
        return x->p < y->p ? -1 : 1;
    if (x->change < y->change || x->change > y->change)
        return x->change > y->change ? -1 : 1;
    return x->figure < y->figure ? -1 : 1;
}

/* Return 1 if the plot of a run would also draw the metric, and not all values are zero or missing.
 * read_plan sets the panel of CPU use. */
static int is_worthy(const struct rps_comparison *comparison, const struct rps_plan *plan,
                     size_t figure)
{
    const struct rps_change *whole = &comparison->row[0].change[figure];
    const char *name = comparison->figure[figure].name;
    int m = rps_plan_metric(plan, name);

    return m >= 0 && plan->metric[m].panel[0] &&
           (fabs(whole->a) > 0 || fabs(whole->b) > 0 || strcmp(name, RPS_COLLECT_CPU_USE) == 0);
}

static void choose_worthy(const struct rps_comparison *comparison, size_t most,
                          struct rps_comparison_series *ret)
{
    struct worth *worth =
        rps_arena_get(comparison->arena, comparison->figure_count, sizeof(*worth));
    size_t count = 0;

    for (size_t f = 0; f < comparison->figure_count; f++) {
        if (comparison->figure[f].kind == RPS_FIGURE_METRIC && is_worthy(comparison, ret->plan, f))
            worth[count++] = worth_of(comparison, f);
    }
    qsort(worth, count, sizeof(*worth), compare_worths);
    ret->figure_count = count < most ? count : most;
    for (size_t i = 0; i < ret->figure_count; i++)
        ret->figure[i] = worth[i].figure;
}

static int choose_named(const struct rps_comparison *comparison, const char *name, size_t *ret,
                        struct rps_error *err)
{
    const char *known = "";

    for (size_t f = 0; f < comparison->figure_count; f++) {
        const struct rps_comparison_figure *figure = &comparison->figure[f];

        if (figure->kind != RPS_FIGURE_METRIC)
            continue;
        *ret = f;
        if (strcmp(figure->name, name) == 0)
            return 0;
        known =
            rps_arena_print(comparison->arena, "%s%s%s", known, known[0] ? ", " : "", figure->name);
    }
    return rps_error_set(err, RPS_USAGE,
                         "--metric: the runs have no metric '%s' in common; choose from %s", name,
                         known[0] ? known : "none");
}

static int choose(const struct rps_comparison_plot *plot, size_t most,
                  struct rps_comparison_series *ret, struct rps_error *err)
{
    size_t room = plot->comparison->figure_count + plot->metric_count + 1;
    int result = 0;

    ret->figure = rps_arena_get(plot->comparison->arena, room, sizeof(*ret->figure));
    if (!plot->metric || plot->metric_count == 0)
        choose_worthy(plot->comparison, most, ret);
    for (; ret->figure_count < plot->metric_count && result == 0; ret->figure_count++)
        result = choose_named(plot->comparison, plot->metric[ret->figure_count],
                              &ret->figure[ret->figure_count], err);
    return result;
}

/* --- series ----------------------------------------------------------------------------------- */

/* Read the run's plan and add CPU use as a metric. */
static int read_plan(struct rps_arena *arena, const struct rps_comparison_run *run,
                     struct rps_plan **ret, struct rps_error *err)
{
    struct rps_metric *metric;
    int result = rps_reader_plan(arena, run->reader, run->run_id, ret, err);

    if (result == 0 && rps_plan_metric(*ret, RPS_COLLECT_CPU_USE) >= 0)
        return 0;
    if (result == 0)
        result =
            rps_plan_add_formula(*ret, RPS_COLLECT_CPU_USE "=100 * cpu_seconds / seconds", err);
    if (result < 0)
        return result;
    metric = &(*ret)->metric[(*ret)->metric_count - 1];
    snprintf(metric->label, sizeof(metric->label), "CPU use");
    snprintf(metric->panel, sizeof(metric->panel), "CPU use");
    snprintf(metric->unit, sizeof(metric->unit), "%%");
    return 0;
}

static int bin_run(const struct rps_comparison *comparison, struct rps_comparison_series *series,
                   size_t run, const struct rps_plan *plan, size_t bin_count, struct rps_error *err)
{
    const struct rps_comparison_run *from = &comparison->run[run];
    struct rps_comparison_line *line = &series->run[run];
    struct rps_cpus all = {0};
    struct rps_cpu_series cpus = {0};
    struct rps_walk walk = {.series = &cpus, .way = RPS_CPUS_SUM};
    struct rps_bins *bins;
    size_t count = (size_t)ceil((double)bin_count * line->length / series->length);
    int result = rps_cpu_series_open(comparison->arena, &cpus, from->reader, from->run_id, 0,
                                     INT64_MAX, &all, err);

    rps_cpu_series_choose_bins(&cpus, count);
    bins = rps_bins_new(plan, RPS_AXIS_TIME, 0, line->length, count,
                        rps_rotation_least_ns(&from->run, plan->set_count, plan->set_count));
    while (rps_walk_next(&walk, &result, err))
        rps_bins_add(bins, walk.period);
    for (size_t f = 0; f < series->figure_count && result == 0; f++) {
        int metric = rps_plan_metric(plan, comparison->figure[series->figure[f]].name);

        if (metric >= 0)
            line->series[f] = rps_bins_series(bins, metric, comparison->arena);
    }
    rps_bins_free(bins);
    return result;
}

static int read_run(const struct rps_comparison *comparison, struct rps_comparison_series *series,
                    size_t run, size_t bin_count, struct rps_error *err)
{
    struct rps_plan *plan;

    series->run[run].series =
        rps_arena_get(comparison->arena, series->figure_count, sizeof(*series->run[run].series));
    if (read_plan(comparison->arena, &comparison->run[run], &plan, err) < 0)
        return RPS_FAILED;
    return bin_run(comparison, series, run, plan, bin_count, err);
}

static void keep_figures(const struct rps_comparison *comparison,
                         struct rps_comparison_series *series)
{
    struct rps_metric *metric =
        rps_arena_get(comparison->arena, series->figure_count, sizeof(*metric));

    for (size_t f = 0; f < series->figure_count; f++) {
        int m = rps_plan_metric(series->plan, comparison->figure[series->figure[f]].name);

        if (m >= 0)
            metric[f] = series->plan->metric[m];
    }
    series->plan->metric = series->metric = metric;
    series->plan->metric_count = (int)series->figure_count;
}

/* --- the axis by phase ------------------------------------------------------------------------ */

/* Make one range per phase. With too many phases to align, make one range and label per loop. */
static void make_stretches(const struct rps_comparison *comparison, size_t r,
                           struct rps_comparison_line *line)
{
    const struct rps_phases *phases = &comparison->run[r].phases;
    int has_whole_loops = phases->count > RPS_MATCH_MAX;
    size_t count = phases->count > 0 ? phases->count : 1;

    line->stretch = rps_arena_get(comparison->arena, count, sizeof(*line->stretch));
    line->stretch[0] = (struct rps_comparison_stretch){0, line->length, SIZE_MAX, -1};
    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        int64_t end_ns = i + 1 < phases->count ? phase[1].start_ns : phase->end_ns;
        double end = (double)end_ns / RPS_NS_PER_S;

        if (has_whole_loops && i > 0 && phase->loop > 0 && phase->loop == phase[-1].loop)
            line->stretch[line->stretch_count - 1].to = end;
        else
            line->stretch[line->stretch_count++] = (struct rps_comparison_stretch){
                (double)phase->start_ns / RPS_NS_PER_S, end, SIZE_MAX, phase->label};
    }
    line->stretch_count = line->stretch_count > 0 ? line->stretch_count : 1;
}

/* Make one label per row, then one for phases without a row. Different labels never match. */
static struct rps_match_labels make_labels(const struct rps_comparison *comparison)
{
    size_t count = comparison->row_count + 1;
    double *distance = rps_arena_get(comparison->arena, count * count, sizeof(*distance));

    for (size_t i = 0; i < count * count; i++)
        distance[i] = APART;
    return (struct rps_match_labels){(int)count, distance};
}

/* Make phases from a run's ranges, with the labels of make_labels. The phases are in the arena. */
static struct rps_phases make_phases(struct rps_arena *arena,
                                     const struct rps_comparison_line *line, int label_count)
{
    struct rps_phases ret = {.count = line->stretch_count, .label_count = label_count};

    ret.phase = rps_arena_get(arena, ret.count, sizeof(*ret.phase));
    for (size_t i = 0; i < ret.count; i++) {
        int label = line->stretch[i].label;

        ret.phase[i].label = label >= 0 && label < label_count ? label : label_count - 1;
        ret.phase[i].last =
            (uint64_t)fmax(0, (line->stretch[i].to - line->stretch[i].from) * RPS_NS_PER_S);
    }
    return ret;
}

/* For each range of run a, return the range of run b that matches it. */
static size_t *align(struct rps_arena *arena, const struct rps_comparison_line *a,
                     const struct rps_comparison_line *b, const struct rps_match_labels *labels)
{
    struct rps_phases left = make_phases(arena, a, labels->count);
    struct rps_phases right = make_phases(arena, b, labels->count);
    size_t *ret = rps_arena_get(arena, left.count, sizeof(*ret));

    rps_match_align(&left, &right, labels, ret);
    return ret;
}

/* Append a slot for a range and its partner on the other side. NULL: the range has no partner. */
static void add_slot(struct rps_comparison_series *series, int sides,
                     struct rps_comparison_stretch *stretch, struct rps_comparison_stretch *partner)
{
    struct rps_comparison_slot *slot = &series->slot[series->slot_count];
    double length = stretch->to - stretch->from;

    if (partner) {
        length = (length + partner->to - partner->from) / 2;
        partner->slot = series->slot_count;
    }
    stretch->slot = series->slot_count++;
    slot->label = stretch->label;
    slot->sides = sides;
    slot->from = series->phase_length;
    slot->to = series->phase_length += length;
}

static void make_slots(struct rps_arena *arena, struct rps_comparison_series *series,
                       struct rps_comparison_line *a, struct rps_comparison_line *b,
                       const struct rps_match_labels *labels)
{
    const int only_a = 1 << RPS_SIDE_A, only_b = 1 << RPS_SIDE_B;
    const size_t *partner = align(arena, a, b, labels);
    size_t next = 0;

    series->slot = rps_arena_get(arena, a->stretch_count + b->stretch_count, sizeof(*series->slot));
    for (size_t i = 0; i < a->stretch_count; i++) {
        int alone = partner[i] == RPS_MATCH_NONE;

        while (!alone && next < partner[i])
            add_slot(series, only_b, &b->stretch[next++], NULL);
        add_slot(series, alone ? only_a : only_a | only_b, &a->stretch[i],
                 alone ? NULL : &b->stretch[next++]);
    }
    while (next < b->stretch_count)
        add_slot(series, only_b, &b->stretch[next++], NULL);
}

static int lay_out(const struct rps_comparison *comparison, struct rps_comparison_series *series,
                   struct rps_error *err)
{
    struct rps_comparison_line *a = &series->run[comparison->standing[RPS_SIDE_A]];
    struct rps_comparison_line *b = &series->run[comparison->standing[RPS_SIDE_B]];
    struct rps_match_labels labels = make_labels(comparison);

    if (rps_match_check(a->stretch_count, err) < 0 || rps_match_check(b->stretch_count, err) < 0)
        return RPS_FAILED;
    make_slots(comparison->arena, series, a, b, &labels);
    return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

static void begin_runs(const struct rps_comparison *comparison,
                       struct rps_comparison_series *series)
{
    series->run = rps_arena_get(comparison->arena, comparison->run_count, sizeof(*series->run));
    series->run_count = comparison->run_count;
    for (size_t r = 0; r < series->run_count; r++) {
        int64_t elapsed_ns = comparison->run[r].run.elapsed_ns;

        series->run[r].length = elapsed_ns > 0 ? (double)elapsed_ns / RPS_NS_PER_S : 1;
        series->length = fmax(series->length, series->run[r].length);
        make_stretches(comparison, r, &series->run[r]);
    }
}

int rps_comparison_series_read(const struct rps_comparison_plot *plot, size_t most,
                               size_t bin_count, struct rps_comparison_series *ret,
                               struct rps_error *err)
{
    const struct rps_comparison *comparison = plot->comparison;
    int result;

    *ret = (struct rps_comparison_series){0};
    result = read_plan(comparison->arena, &comparison->run[0], &ret->plan, err);
    if (result == 0)
        result = choose(plot, most, ret, err);
    if (result == 0 && ret->figure_count == 0)
        result =
            rps_error_set(err, RPS_FAILED, "the runs have no common metric; choose other runs");
    if (result == 0)
        begin_runs(comparison, ret);
    for (size_t r = 0; r < ret->run_count && result == 0; r++)
        result = read_run(comparison, ret, r, bin_count, err);
    if (result == 0)
        result = lay_out(comparison, ret, err);
    if (result == 0)
        keep_figures(comparison, ret);
    return result;
}
