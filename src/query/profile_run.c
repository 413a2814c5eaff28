/* The profile of a run's phases. Periods are added up per phase and per label, and the metrics are
 * computed from the sums, as in the report. The spread of a metric is its spread between rotations
 * of the event sets. A rotation that crosses a phase boundary is used for neither phase. */
#include "rpistat/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile_parts.h"
#include "rpistat/collect.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"
#include "rpistat/rotation.h"
#include "rpistat/run_system.h"
#include "rpistat/store.h"
#include "rpistat/system_rows.h"
#include "rpistat/walk.h"

#define NOWHERE     SIZE_MAX
#define KIB_PER_MIB 1024

struct work {
    struct rps_arena *arena;
    struct rps_reader *reader;
    int64_t run_id, from_ns, to_ns; /* The range includes all ranges of the window. */
    const struct rps_plan *plan;
    const struct rps_phases *phases;
    const struct rps_window *window;
    const struct rps_window_range *range; /* Range that is being read. */
    struct rps_profile profile;
    struct rps_spreads spreads;
    struct rps_tally whole, rest, *phase, *label; /* For `rest`, see rps_figure. */
    struct rps_rotation rotation; /* Of all profiles; only the first element has it. */
    int64_t length_ns;            /* Length of the previous rotation, like `rotation`. */
    size_t rotation_phase;        /* Phase of the rotation; NOWHERE: several phases, or none. */
    size_t at;                    /* Index of the phase of the previous period. */
    int is_plain;                 /* 1: no intervals. */
    double *operand;
    size_t tallied; /* Number of metrics from tallies. Metrics of packages follow. */
    struct rps_run_system *packages; /* Owned by the arena: sums of each phase, then the sum of
                                        all phases. */
    enum rps_package_figure package[RPS_PACKAGE_FIGURES];
};

/* Return a metric of a tally. The index after the plan's metrics is the CPU use. */
static double value_of(const struct work *work, size_t figure, const struct rps_tally *tally)
{
    const struct rps_formula *formula;

    if (figure == (size_t)work->plan->metric_count)
        return 100 * work->operand[RPS_OPERAND_CPU_SECONDS] / work->operand[RPS_OPERAND_SECONDS];
    formula = &work->plan->metric[figure].formula;
    return rps_tally_carries(tally, formula) ? rps_formula_value(formula, work->operand) : NAN;
}

static size_t label_of(const struct work *work, size_t phase)
{
    return (size_t)work->phases->phase[phase].label;
}

/* Add a metric of the rotation to the spreads of each profile in which the rotation has a phase. */
static void add_to_spreads(struct work *work, size_t count, size_t figure, double value,
                           double weight)
{
    for (size_t i = 0; i < count; i++) {
        if (work[i].rotation_phase != NOWHERE)
            rps_spread_add(&work[i].spreads, label_of(&work[i], work[i].rotation_phase),
                           work[i].profile.figure_count, figure, value, weight);
    }
}

/* A rotation that is shorter than the previous one, such as the last period of a run, has a lower
 * weight, because rates vary more in a shorter time. */
static void end_rotation(struct work *work, size_t count)
{
    const struct rps_rotation *rotation = &work->rotation;
    const struct rps_tally *tally = &rotation->tally;
    const int64_t before_ns = work->length_ns;
    double weight;

    work->length_ns =
        tally->periods > 0 && rotation->level == 0 ? tally->end_ns - tally->start_ns : 0;
    weight = work->length_ns < before_ns ? (double)work->length_ns / (double)before_ns : 1;
    if (tally->periods > 0 && work->range->is_spread &&
        rotation->level >= work->range->resolution) {
        rps_tally_operands(tally, work->plan, work->operand);
        for (size_t f = 0; f < work->tallied; f++)
            add_to_spreads(work, count, f, value_of(work, f, tally), weight);
    }
    rps_rotation_reset(&work->rotation);
}

/* Add a period to the profiles, if it is in a phase of the first profile. */
static void add_period(struct work *work, size_t count, const struct rps_period *period)
{
    for (size_t i = 0; i < count; i++) {
        struct work *of = &work[i];
        size_t at = rps_phases_at(of->phases, period->period, &of->at), end = at;

        if (period->level > 0)
            end = rps_phases_at(of->phases, rps_period_last(period), &of->at);
        if (i == 0 && at == NOWHERE)
            return;
        if (of->window->other && (end == NOWHERE || label_of(of, end) % 2 != label_of(of, at) % 2))
            return; /* A block of a downsampled run crosses the end of the window. */
        if (i == 0 && rps_rotation_ends(&work->rotation, period))
            end_rotation(work, count);
        if (work->rotation.tally.periods == 0)
            of->rotation_phase = at;
        if (of->rotation_phase != at || end != at)
            of->rotation_phase = NOWHERE;
        if (of->window->other) {
            rps_tally_add(&of->label[label_of(of, at)], period);
            rps_tally_add(&of->whole, period);
        } else if (at != NOWHERE) {
            rps_tally_add(&of->phase[at], period);
        }
    }
    rps_rotation_add(&work->rotation, period);
}

/* Compute a metric and its interval from the tally that filled the operands. CPU use needs no
 * interval, since it is fully counted. */
static void evaluate_figure(const struct work *work, size_t figure, const struct rps_tally *tally,
                            double *ret, struct rps_interval *ret_interval)
{
    double value = tally->periods > 0 ? value_of(work, figure, tally) : NAN;

    *ret = isfinite(value) ? value : NAN;
    if (isfinite(value) && figure == (size_t)work->plan->metric_count)
        *ret_interval = (struct rps_interval){.certainty = RPS_CERTAINTY_COUNTED};
    else if (isfinite(value) && !work->is_plain)
        *ret_interval =
            rps_tally_formula_interval(tally, &work->plan->metric[figure].formula, work->operand);
}

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

    for (size_t l = 2; work->window->other && l < (size_t)profile->label_count; l++)
        rps_tally_merge(&work->label[l % 2], &work->label[l]);
    for (size_t i = 0; !work->window->other && i < work->phases->count; i++) {
        rps_tally_merge(&work->label[work->phases->phase[i].label], &work->phase[i]);
        rps_tally_merge(&work->whole, &work->phase[i]);
        evaluate(work, &work->phase[i], profile->phase + i * figures,
                 profile->phase_interval + i * figures);
    }
    for (size_t l = 0; l < (size_t)profile->label_count; l++) {
        evaluate(work, &work->label[l], profile->mean + l * figures,
                 profile->mean_interval + l * figures);
        if (work->window->other)
            profile->label[l].periods = work->label[l].periods;
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
static size_t read_packages(struct work *work, int *result, struct rps_error *err)
{
    const struct rps_phases *phases = work->phases;
    struct rps_run_part part = rps_run_part_of_phases(work->arena, phases, 0);
    struct rps_system_state state;
    struct rps_system_row total;
    size_t count = 0;

    *result =
        rps_reader_system(work->reader, work->run_id, RPS_SYSTEM_PACKAGE, &state, &total, err);
    if (*result <= 0)
        return 0;
    *result = rps_run_system_read(work->arena, work->reader, work->run_id, work->from_ns,
                                  work->to_ns, &part, &work->packages, err);
    for (int f = 0; f < RPS_PACKAGE_FIGURES && *result == 0; f++) {
        if (isfinite(
                rps_run_system_package(&work->packages[phases->count], (enum rps_package_figure)f)))
            work->package[count++] = (enum rps_package_figure)f;
    }
    return count;
}

/* Put the package metrics of a phase or a label. */
static void put_packages(const struct work *work, const struct rps_run_system *system, double *ret)
{
    for (size_t f = work->tallied; f < work->profile.figure_count; f++)
        ret[f] = rps_run_system_package(system, work->package[f - work->tallied]);
}

static void evaluate_packages(struct work *work)
{
    struct rps_profile *profile = &work->profile;
    const size_t figures = profile->figure_count;
    /* sum: all phases that do not have the main label. */
    struct rps_run_system *sum = rps_arena_get(work->arena, 1, sizeof(*sum));

    for (size_t i = 0; i < work->phases->count; i++)
        put_packages(work, &work->packages[i], profile->phase + i * figures);
    for (int l = 0; l < profile->label_count; l++) {
        put_packages(work, &profile->system[l], profile->mean + (size_t)l * figures);
        if (l != profile->main_label)
            rps_run_system_join(sum, &profile->system[l]);
    }
    for (size_t f = work->tallied; f < figures; f++) {
        const enum rps_package_figure package = work->package[f - work->tallied];

        profile->figure[f].whole =
            rps_run_system_package(&profile->system[profile->label_count], package);
        profile->figure[f].rest =
            profile->main_label >= 0 ? rps_run_system_package(sum, package) : NAN;
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

    for (size_t i = 0; i < count; i++) {
        tally[i] = rps_tally_new(arena, work->plan);
        tally[i].is_plain = work->is_plain;
    }
    return tally;
}

/* Begin a profile. Its tallies are in `scratch`. */
static int work_begin(struct work *work, const struct rps_plan *plan, const struct rps_run *run,
                      struct rps_arena *scratch, struct rps_error *err)
{
    const struct rps_window *window = work->window;
    int figures = plan->metric_count + (rps_plan_metric(plan, RPS_COLLECT_CPU_USE) < 0), result = 0;
    size_t packages;

    work->plan = plan;
    work->from_ns = window->range[0].from_ns;
    work->to_ns = window->range[window->range_count - 1].to_ns;
    work->tallied = (size_t)figures;
    packages = window->other ? 0 : read_packages(work, &result, err);
    work->spreads =
        rps_profile_init(work->arena, &work->profile, work->tallied + packages, work->phases);
    work->operand =
        rps_arena_get(scratch, (size_t)rps_plan_operand_count(plan), sizeof(*work->operand));
    work->phase = make_tallies(work, window->other ? 0 : work->phases->count, scratch);
    work->label = make_tallies(work, (size_t)work->phases->label_count, scratch);
    work->whole = rps_tally_new(scratch, plan);
    work->rest = rps_tally_new(scratch, plan);
    work->rotation = rps_rotation_new(scratch, plan);
    work->rotation.tally.is_plain = 1;
    work->rotation.least_ns = rps_rotation_least_ns(run, plan->set_count, plan->set_count);
    name_figures(work);
    return result;
}

/* --- memory, and bytes read and written ------------------------------------------------------- */

struct io {
    size_t count;
    enum rps_system_source source;
    int slot[RPS_SYSTEM_SLOT_MAX];
    const char *name[RPS_SYSTEM_SLOT_MAX]; /* Text after the number: "reads MiB/s from disks". */
};

static const struct io io_of[] = {
    {11,
     RPS_SYSTEM_TREE,
     {RPS_TREE_RSS, RPS_TREE_READ, RPS_TREE_WRITTEN, RPS_TREE_DISK_READ, RPS_TREE_DISK_WRITTEN,
      RPS_TREE_WAIT, RPS_TREE_IN_IO, RPS_TREE_IN_LOCK, RPS_TREE_IN_MESSAGE, RPS_TREE_IN_TIMER,
      RPS_TREE_IN_OTHER},
     {"RSS MiB summed over processes", "reads MiB/s", "writes MiB/s", "reads MiB/s from disks",
      "writes MiB/s to disks", "waits s/s for a CPU", "has threads asleep in block I/O",
      RPS_IO_LOCKS, "has threads asleep in pipes, sockets or polls", "has threads asleep in timers",
      "has threads asleep in other waits"}},
    {4,
     RPS_SYSTEM_MACHINE,
     {RPS_MACHINE_DISK_READ, RPS_MACHINE_DISK_WRITTEN, RPS_MACHINE_NET_IN, RPS_MACHINE_NET_OUT},
     {"reads MiB/s from disks", "writes MiB/s to disks", "receives MiB/s from networks",
      "sends MiB/s to networks"}}};

/* Put the names of the metrics of a window, and their values over the whole sides. */
static void name_io(const struct io *io, const struct rps_profile *profile, struct rps_profile *ret)
{
    for (size_t s = 0; s < ret->figure_count; s++) {
        const struct rps_system_metric *metric = &rps_system_metrics[io->source][io->slot[s]];
        struct rps_figure *figure = &ret->figure[s];

        snprintf(figure->panel, sizeof(figure->panel), "%s", io->name[s]);
        snprintf(figure->name, sizeof(figure->name), "%s", metric->name);
        snprintf(figure->label, sizeof(figure->label), "%s", metric->label);
        snprintf(figure->unit, sizeof(figure->unit), "%s",
                 strcmp(metric->unit, "us") == 0      ? "s/s"
                 : strcmp(metric->unit, "KiB") != 0   ? metric->unit
                 : metric->kind == RPS_SYSTEM_COUNTER ? "MiB/s"
                                                      : "MiB");
        for (size_t l = 0; l < 2; l++)
            ret->mean[l * ret->figure_count + s] =
                rps_run_system_mean(&profile->system[l], io->source, io->slot[s]) /
                metric->column.divisor;
    }
}

/* Add the readings of a range to the spreads of their labels. */
static int add_readings(struct rps_profile *io, const struct rps_spreads *spreads,
                        struct rps_run_system *sums, const struct io *of, struct rps_reader *reader,
                        int64_t run_id, const struct rps_window_range *range,
                        const struct rps_phases *phases, struct rps_error *err)
{
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    size_t at = 0, phase, label;
    int result = rps_system_cursor_open(&cursor, reader, run_id, of->source, range->from_ns,
                                        range->to_ns, range->resolution, err);

    if (result < 0)
        return result;
    while ((result = rps_system_cursor_next(cursor, &row, err)) > 0) {
        struct rps_run_system one = {0};

        phase = rps_phases_at(phases, row.period + (row.last_period - row.period) / 2, &at);
        if (phase == NOWHERE)
            continue;
        label = (size_t)phases->phase[phase].label;
        io->label[label].periods++;
        io->periods++;
        rps_run_system_add(&one, &row);
        rps_run_system_add(&sums[label], &row);
        rps_run_system_add(&sums[io->label_count], &row);
        for (size_t s = 0; s < io->figure_count; s++) {
            const double value = rps_run_system_mean(&one, of->source, of->slot[s]) /
                                 rps_system_metrics[of->source][of->slot[s]].column.divisor;

            rps_spread_add(spreads, label, io->figure_count, s, value, 1);
        }
    }
    rps_system_cursor_close(cursor);
    return result;
}

/* Replace the means of readings by means over time, because readings differ in length. `system` has
 * the sums of each label, then those of all labels. */
static void weight_by_length(struct rps_profile *io, const struct io *of,
                             const struct rps_run_system *system)
{
    for (size_t s = 0; s < io->figure_count; s++) {
        const double divisor = rps_system_metrics[of->source][of->slot[s]].column.divisor;

        for (int l = 0; l < io->label_count; l++) {
            io->label[l].seconds = system[l].length_s[of->source];
            if (io->label[l].periods > 0)
                io->mean[(size_t)l * io->figure_count + s] =
                    rps_run_system_mean(&system[l], of->source, of->slot[s]) / divisor;
        }
        io->figure[s].whole =
            rps_run_system_mean(&system[io->label_count], of->source, of->slot[s]) / divisor;
        if (io->main_label >= 0)
            io->figure[s].rest = rps_profile_elsewhere(io, io->main_label, s);
    }
}

/* Profile the I/O of the workload, and the waits in a window. If the I/O is unknown, profile the
 * I/O of the machine's disks. Each reading is an observation. */
static int read_io(struct work *work, const struct rps_cpu_series *series, size_t tests,
                   struct rps_error *err)
{
    struct rps_profile *profile = &work->profile;
    const struct rps_window *window = work->window;
    const int sides = window->other ? window->side.label_count : work->phases->label_count;
    const int has_tree = profile->system[sides].length_s[RPS_SYSTEM_TREE] > 0;
    const struct io *of = &io_of[!has_tree];
    struct rps_profile *io = rps_arena_get(profile->arena, 1, sizeof(*io));
    struct rps_spreads spreads = rps_profile_init(profile->arena, io, of->count, work->phases);
    struct rps_run_system *sums =
        rps_arena_get(profile->arena, (size_t)io->label_count + 1, sizeof(*sums));
    int result = 0;

    io->periods = 0;
    for (int l = 0; l < io->label_count; l++)
        io->label[l].periods = 0;
    for (size_t r = 0; r < window->range_count && result == 0 && (has_tree || series->by_cpu);
         r++) {
        struct rps_window_range range = window->range[r];

        range.resolution = window->other ? range.resolution : series->resolution;
        if (range.is_spread)
            result = add_readings(io, &spreads, sums, of, work->reader, work->run_id, &range,
                                  work->phases, err);
    }
    if (result < 0 || io->periods == 0)
        return result;
    for (size_t s = 0; s < io->figure_count; s++)
        snprintf(io->figure[s].name, sizeof(io->figure[s].name), "%s", of->name[s]);
    rps_profile_means(io, &spreads);
    if (!window->other)
        weight_by_length(io, of, sums);
    rps_profile_finish(io, &spreads);
    if (window->other) {
        rps_profile_compare_sides(io, &spreads, window->other, tests, window->range_count == 1);
        name_io(of, profile, io);
    }
    profile->io = io;
    return 0;
}

static int work_end(struct work *work, const struct rps_cpu_series *series, struct rps_profile *ret,
                    struct rps_error *err)
{
    const struct rps_window *window = work->window;
    const size_t tests = work->tallied + io_of[0].count;
    struct rps_run_part part =
        rps_run_part_of_phases(work->arena, window->other ? &window->side : work->phases, 1);
    int result = rps_run_system_read(work->arena, work->reader, work->run_id, work->from_ns,
                                     work->to_ns, &part, &work->profile.system, err);

    if (result < 0)
        return result;
    evaluate_all(work);
    if (work->profile.figure_count > work->tallied)
        evaluate_packages(work);
    rps_profile_finish(&work->profile, &work->spreads);
    result = read_io(work, series, tests, err);
    if (window->other)
        rps_profile_compare_sides(&work->profile, &work->spreads, window->other, tests,
                                  window->range_count == 1);
    if (result == 0)
        *ret = work->profile;
    return result;
}

/* Make the profiles of phases, which have one window, or of the sides of a window. */
static int profile_run(struct work *work, size_t count, const struct rps_cpus *cpus,
                       struct rps_profile *ret, struct rps_error *err)
{
    const struct rps_window *window = work->window;
    struct rps_arena *scratch = rps_arena_new();
    struct rps_cpu_series series = {0};
    struct rps_walk walk = {.series = &series, .way = RPS_CPUS_SUM};
    struct rps_plan *plan = NULL;
    struct rps_run run;
    int result = rps_reader_plan(scratch, work->reader, work->run_id, &plan, err);

    if (result == 0)
        result = rps_reader_run(scratch, work->reader, work->run_id, &run, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = work_begin(&work[i], plan, &run, scratch, err);
    for (size_t r = 0; r < window->range_count && result == 0; r++) {
        const struct rps_window_range *range = &window->range[r];

        result = rps_cpu_series_open(work->arena, &series, work->reader, work->run_id,
                                     range->from_ns, range->to_ns, cpus, err);
        if (!window->other)
            rps_cpu_series_choose_signals(&series, plan->metric_count + 1);
        else
            series.resolution = range->resolution;
        for (size_t i = 0; i < count; i++)
            work[i].range = range;
        while (work->phases->count > 0 && rps_walk_next(&walk, &result, err))
            add_period(work, count, walk.period);
        end_rotation(work, count);
    }
    for (size_t i = 0; i < count && result == 0; i++)
        result = work_end(&work[i], &series, &ret[i], err);
    rps_arena_free(scratch);
    return result;
}

int rps_profile_run(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, const struct rps_cpus *cpus,
                    const struct rps_phases *phases, size_t count, size_t intervals,
                    struct rps_profile *ret, struct rps_error *err)
{
    const struct rps_window whole = {.range_count = 1, .range = {{from_ns, to_ns, 0, 1}}};
    struct work *work = rps_arena_get(arena, count, sizeof(*work));

    for (size_t i = 0; i < count; i++)
        work[i] = (struct work){arena,
                                reader,
                                run_id,
                                .phases = &phases[i],
                                .window = &whole,
                                .is_plain = i >= intervals};
    return profile_run(work, count, cpus, ret, err);
}

int rps_profile_window(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                       const struct rps_cpus *cpus, const struct rps_window *window,
                       struct rps_profile *ret, struct rps_error *err)
{
    struct work work = {arena, reader, run_id, .phases = &window->part, .window = window};

    return profile_run(&work, 1, cpus, ret, err);
}
