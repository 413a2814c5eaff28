/*
 * The profile of a run's phases. Its periods are added up per phase and per label, and the metrics
 * are computed from the sums, as in the report. The spread of a metric is that between rotations of
 * the event sets; a rotation that lies across a boundary belongs to neither side.
 */
#include "rpistat/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile_parts.h"
#include "rpistat/collect.h"
#include "rpistat/formula.h"
#include "rpistat/phase.h"
#include "rpistat/plan.h"
#include "rpistat/rotation.h"
#include "rpistat/run_system.h"
#include "rpistat/store.h"
#include "rpistat/system_rows.h"
#include "rpistat/walk.h"

#define NOWHERE     SIZE_MAX
#define KIB_PER_MIB 1024

struct work {
    const struct rps_plan *plan;
    const struct rps_phases *phases;
    struct rps_profile profile;
    struct rps_spreads spreads;
    struct rps_tally whole, rest, *phase, *label; /* rest: see rps_figure */
    struct rps_rotation rotation;
    size_t rotation_phase; /* NOWHERE: it is of several */
    size_t at;             /* where the last period was found */
    double *operand;
    size_t tallied; /* metrics that are made of tallies; after them those of packages */
    struct rps_run_system *packages; /* in the arena; of each phase, and of all */
    enum rps_package_figure package[RPS_PACKAGE_FIGURES];
};

/* Return a metric of a tally. The one after the plan's metrics is the CPU use. */
static double value_of(const struct work *work, size_t figure, const struct rps_tally *tally)
{
    const struct rps_formula *formula;

    if (figure == (size_t)work->plan->metric_count)
        return 100 * work->operand[RPS_OPERAND_CPU_SECONDS] / work->operand[RPS_OPERAND_SECONDS];
    formula = &work->plan->metric[figure].formula;
    return rps_tally_carries(tally, formula) ? rps_formula_value(formula, work->operand) : NAN;
}

static void end_rotation(struct work *work)
{
    size_t figures = work->profile.figure_count;

    if (work->rotation.tally.periods > 0 && work->rotation_phase != NOWHERE) {
        size_t label = (size_t)work->phases->phase[work->rotation_phase].label;

        rps_tally_operands(&work->rotation.tally, work->plan, work->operand);
        for (size_t f = 0; f < work->tallied; f++) {
            double value = value_of(work, f, &work->rotation.tally);

            rps_spread_add(&work->spreads.label[label * figures + f], value);
            rps_spread_add(&work->spreads.whole[f], value);
        }
    }
    rps_rotation_reset(&work->rotation);
}

static void add_period(struct work *work, const struct rps_period *period)
{
    size_t end = rps_phases_at(work->phases, rps_period_last(period), &work->at);
    size_t at = rps_phases_at(work->phases, period->period, &work->at);

    if (at == NOWHERE)
        return;
    if (rps_rotation_ends(&work->rotation, period))
        end_rotation(work);
    if (work->rotation.tally.periods == 0)
        work->rotation_phase = at;
    if (work->rotation_phase != at || end != at)
        work->rotation_phase = NOWHERE;
    rps_rotation_add(&work->rotation, period);
    rps_tally_add(&work->phase[at], period);
    rps_tally_add(&work->whole, period);
}

/* Compute a metric of the tally that filled the operands, with interval; CPU use is counted. */
static void evaluate_figure(const struct work *work, size_t figure, const struct rps_tally *tally,
                            double *ret, struct rps_interval *ret_interval)
{
    double value = tally->periods > 0 ? value_of(work, figure, tally) : NAN;

    *ret = isfinite(value) ? value : NAN;
    if (isfinite(value) && figure == (size_t)work->plan->metric_count)
        *ret_interval = (struct rps_interval){.certainty = RPS_CERTAINTY_COUNTED};
    else if (isfinite(value))
        *ret_interval =
            rps_tally_formula_interval(tally, &work->plan->metric[figure].formula, work->operand);
}

/* Compute the metrics of a tally and their intervals. */
static void evaluate(struct work *work, const struct rps_tally *tally, double *ret,
                     struct rps_interval *ret_interval)
{
    rps_tally_operands(tally, work->plan, work->operand);
    for (size_t f = 0; f < work->tallied; f++)
        evaluate_figure(work, f, tally, &ret[f], &ret_interval[f]);
}

static void evaluate_all(struct work *work)
{
    struct rps_profile *profile = &work->profile;
    size_t figures = profile->figure_count;

    for (size_t i = 0; i < work->phases->count; i++) {
        rps_tally_merge(&work->label[work->phases->phase[i].label], &work->phase[i]);
        evaluate(work, &work->phase[i], profile->phase + i * figures,
                 profile->phase_interval + i * figures);
    }
    for (size_t l = 0; l < (size_t)profile->label_count; l++) {
        evaluate(work, &work->label[l], profile->mean + l * figures,
                 profile->mean_interval + l * figures);
        profile->label[l].seconds = work->operand[RPS_OPERAND_SECONDS];
        profile->label[l].cpu_s = work->operand[RPS_OPERAND_CPU_SECONDS];
        if (profile->main_label >= 0 && (int)l != profile->main_label)
            rps_tally_merge(&work->rest, &work->label[l]);
    }
    rps_tally_operands(&work->whole, work->plan, work->operand);
    for (size_t f = 0; f < work->tallied; f++)
        evaluate_figure(work, f, &work->whole, &profile->figure[f].whole,
                        &profile->figure[f].interval);
    rps_tally_operands(&work->rest, work->plan, work->operand);
    for (size_t f = 0; f < work->tallied; f++)
        evaluate_figure(work, f, &work->rest, &profile->figure[f].rest,
                        &profile->figure[f].rest_interval);
}

/* --- packages --------------------------------------------------------------------------------- */

/* Read the packages' values in each phase. Return how many metrics are known. */
static size_t read_packages(struct work *work, struct rps_reader *reader, int64_t run_id,
                            int64_t from_ns, int64_t to_ns, struct rps_arena *arena, int *result,
                            struct rps_error *err)
{
    const struct rps_phases *phases = work->phases;
    struct rps_run_part part = {
        phases->count, rps_arena_get(arena, phases->count, sizeof(*part.stretch)), phases->count};
    struct rps_system_state state;
    struct rps_system_row total;
    size_t count = 0;

    if (*result == 0)
        *result = rps_reader_system(reader, run_id, RPS_SYSTEM_PACKAGE, &state, &total, err);
    if (*result <= 0)
        return 0;
    for (size_t i = 0; i < phases->count; i++)
        part.stretch[i] =
            (struct rps_run_stretch){phases->phase[i].first, phases->phase[i].last, i};
    *result =
        rps_run_system_read(arena, reader, run_id, from_ns, to_ns, &part, &work->packages, err);
    for (int f = 0; f < RPS_PACKAGE_FIGURES && *result == 0; f++) {
        if (isfinite(
                rps_run_system_package(&work->packages[phases->count], (enum rps_package_figure)f)))
            work->package[count++] = (enum rps_package_figure)f;
    }
    return count;
}

/* Put packages' metrics for the phases of a label, or for those without the main label. */
static void put_packages(const struct work *work, const struct rps_run_system *system, double *ret)
{
    for (size_t f = work->tallied; f < work->profile.figure_count; f++)
        ret[f] = rps_run_system_package(system, work->package[f - work->tallied]);
}

static void evaluate_packages(struct work *work, struct rps_arena *arena)
{
    struct rps_profile *profile = &work->profile;
    const size_t figures = profile->figure_count;
    struct rps_run_system *sum = rps_arena_get(arena, 1, sizeof(*sum)); /* without the main label */
    double *rest = rps_arena_get(arena, figures, sizeof(*rest));

    for (size_t i = 0; i < work->phases->count; i++)
        put_packages(work, &work->packages[i], profile->phase + i * figures);
    for (int l = 0; l < profile->label_count; l++) {
        put_packages(work, &profile->system[l], profile->mean + (size_t)l * figures);
        if (l != profile->main_label)
            rps_run_system_join(sum, &profile->system[l]);
    }
    put_packages(work, sum, rest);
    for (size_t f = work->tallied; f < figures; f++) {
        profile->figure[f].whole = rps_run_system_package(&profile->system[profile->label_count],
                                                          work->package[f - work->tallied]);
        profile->figure[f].rest = profile->main_label >= 0 ? rest[f] : NAN;
    }
}

/* --- the whole profile ------------------------------------------------------------------------ */

static void name_figures(struct work *work)
{
    for (size_t f = work->tallied; f < work->profile.figure_count; f++) {
        const struct rps_package_figure_name *of =
            &rps_package_figures[work->package[f - work->tallied]];
        struct rps_figure *figure = &work->profile.figure[f];

        figure->is_of_package = 1;
        snprintf(figure->name, sizeof(figure->name), "%s", of->name);
        snprintf(figure->label, sizeof(figure->label), "%s", of->label);
        snprintf(figure->unit, sizeof(figure->unit), "%s", of->unit);
    }
    for (size_t f = 0; f < work->tallied; f++) {
        struct rps_figure *figure = &work->profile.figure[f];

        if (f == (size_t)work->plan->metric_count) {
            *figure =
                (struct rps_figure){.name = RPS_COLLECT_CPU_USE, .label = "CPU use", .unit = "%"};
            continue;
        }
        memcpy(figure->panel, work->plan->metric[f].panel, sizeof(figure->panel));
        memcpy(figure->name, work->plan->metric[f].name, sizeof(figure->name));
        memcpy(figure->label, work->plan->metric[f].label, sizeof(figure->label));
        memcpy(figure->unit, work->plan->metric[f].unit, sizeof(figure->unit));
    }
}

static struct rps_tally *make_tallies(const struct work *work, size_t count,
                                      struct rps_arena *arena)
{
    struct rps_tally *tally = rps_arena_get(arena, count, sizeof(*tally));

    for (size_t i = 0; i < count; i++)
        tally[i] = rps_tally_new(arena, work->plan);
    return tally;
}

static void work_begin(struct work *work, size_t packages, struct rps_arena *arena)
{
    const struct rps_plan *plan = work->plan;
    int figures = plan->metric_count + (rps_plan_metric(plan, RPS_COLLECT_CPU_USE) < 0);

    work->tallied = (size_t)figures;
    work->spreads = rps_profile_init(arena, &work->profile, work->tallied + packages, work->phases);
    work->operand =
        rps_arena_get(arena, (size_t)rps_plan_operand_count(plan), sizeof(*work->operand));
    work->phase = make_tallies(work, work->phases->count, arena);
    work->label = make_tallies(work, (size_t)work->phases->label_count, arena);
    work->whole = rps_tally_new(arena, plan);
    work->rest = rps_tally_new(arena, plan);
    work->rotation = rps_rotation_new(arena, plan);
    work->rotation.tally.is_plain = 1;
    name_figures(work);
}

/* Read the system metrics of the labels. */
static int read_system(struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                       const struct rps_phases *phases, struct rps_profile *profile,
                       struct rps_error *err)
{
    struct rps_run_part part = {phases->count,
                                rps_arena_get(profile->arena, phases->count, sizeof(*part.stretch)),
                                (size_t)phases->label_count};

    for (size_t i = 0; i < phases->count; i++)
        part.stretch[i] = (struct rps_run_stretch){phases->phase[i].first, phases->phase[i].last,
                                                   (size_t)phases->phase[i].label};
    return rps_run_system_read(profile->arena, reader, run_id, from_ns, to_ns, &part,
                               &profile->system, err);
}

/* --- memory, and bytes read and written ------------------------------------------------------- */

#define IO_MAX 3

struct io {
    size_t count;
    enum rps_system_source source;
    int slot[IO_MAX];
    const char *name[IO_MAX]; /* text without the number: "reads MiB/s from disks" */
};

static const struct io io_of[] = {{3,
                                   RPS_SYSTEM_TREE,
                                   {RPS_TREE_RSS, RPS_TREE_READ, RPS_TREE_WRITTEN},
                                   {"uses MiB", "reads MiB/s", "writes MiB/s"}},
                                  {2,
                                   RPS_SYSTEM_MACHINE,
                                   {RPS_MACHINE_DISK_READ, RPS_MACHINE_DISK_WRITTEN},
                                   {"reads MiB/s from disks", "writes MiB/s to disks"}}};

static double io_value(const struct io *io, size_t s, const struct rps_system_row *row)
{
    const double by = strstr(io->name[s], "/s") ? (double)row->length_us / 1e6
                                                : (double)row->readings[io->slot[s]];

    return row->readings[io->slot[s]] > 0 ? (double)row->sum[io->slot[s]] / KIB_PER_MIB / by : NAN;
}

/* Profile I/O of the workload, or otherwise of the machine's disks, with one row per reading. */
static int read_io(struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                   const struct rps_cpu_series *series, const struct rps_phases *phases,
                   struct rps_profile *profile, struct rps_error *err)
{
    const int has_tree = profile->system[phases->label_count].length_s[RPS_SYSTEM_TREE] > 0;
    const struct io *io = &io_of[!has_tree];
    struct rps_arena *arena = profile->arena;
    struct rps_phases rows = {.phase = rps_arena_get(arena, phases->count, sizeof(*rows.phase)),
                              .label_count = phases->label_count};
    struct rps_signals signals = {.signal_count = io->count};
    double(*value)[IO_MAX] = NULL;
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    size_t at = 0, before = NOWHERE, phase;
    int result = !has_tree && !series->by_cpu;

    if (result == 0)
        result = rps_system_cursor_open(&cursor, reader, run_id, io->source, from_ns, to_ns,
                                        series->resolution, err);
    if (result != 0)
        return result < 0 ? result : 0;
    while ((result = rps_system_cursor_next(cursor, &row, err)) > 0) {
        phase = rps_phases_at(phases, row.period + (row.last_period - row.period) / 2, &at);
        if (phase == NOWHERE || (before != NOWHERE && phase < before)) /* an impossible order */
            continue;
        if (phase != before) {
            rows.phase[rows.count] = phases->phase[phase];
            rows.phase[rows.count++].first = signals.count;
        }
        before = phase;
        rows.phase[rows.count - 1].last = signals.count;
        value = rps_arena_grow(arena, value, signals.count, sizeof(*value));
        for (size_t s = 0; s < io->count; s++)
            value[signals.count][s] = io_value(io, s, &row);
        signals.count++;
    }
    rps_system_cursor_close(cursor);
    if (result < 0 || signals.count == 0)
        return result;
    signals.value = rps_arena_get(arena, io->count * signals.count, sizeof(*signals.value));
    for (size_t i = 0; i < io->count * signals.count; i++)
        signals.value[i] = value[i % signals.count][i / signals.count];
    profile->io = rps_arena_get(arena, 1, sizeof(*profile->io));
    *profile->io = rps_profile_signals(arena, &signals, io->name, 1, &rows);
    return 0;
}

int rps_profile_run(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, const struct rps_cpus *cpus,
                    const struct rps_phases *phases, struct rps_profile *ret, struct rps_error *err)
{
    struct work work = {.phases = phases};
    struct rps_cpu_series cpu_series = {0};
    struct rps_walk walk = {.series = &cpu_series, .way = RPS_CPUS_SUM};
    struct rps_plan *plan = NULL;
    struct rps_run run;
    int result = rps_reader_plan(reader, run_id, &plan, err);
    size_t packages = read_packages(&work, reader, run_id, from_ns, to_ns, arena, &result, err);

    work.plan = plan;
    if (result == 0)
        result = rps_cpu_series_open(arena, &cpu_series, reader, run_id, from_ns, to_ns, cpus, err);
    if (result == 0) {
        rps_cpu_series_choose_signals(&cpu_series, plan->metric_count + 1);
        work_begin(&work, packages, arena);
        result = rps_reader_run(reader, run_id, &run, err);
    }
    if (result == 0) {
        work.rotation.least_ns = rps_rotation_least_ns(&run, plan->set_count, plan->set_count);
        rps_run_free(&run);
    }
    while (phases->count > 0 && rps_walk_next(&walk, &result, err))
        add_period(&work, walk.period);
    if (result == 0)
        result = read_system(reader, run_id, from_ns, to_ns, phases, &work.profile, err);
    if (result == 0) {
        end_rotation(&work);
        evaluate_all(&work);
        if (packages > 0)
            evaluate_packages(&work, arena);
        rps_profile_finish(&work.profile, &work.spreads);
        result = read_io(reader, run_id, from_ns, to_ns, &cpu_series, phases, &work.profile, err);
    }
    if (result == 0)
        *ret = work.profile;
    rps_plan_free(plan);
    return result;
}
