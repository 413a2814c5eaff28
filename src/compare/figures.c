/* Find the metrics that runs are compared by. Two runs share a metric if both metrics have the same
 * name and are computed in the same way from the same events. The event sets may differ. Gauges
 * need only the same name. */
#include "work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/collect.h"
#include "rpistat/error.h"
#include "rpistat/plan.h"
#include "rpistat/run_system.h"

/* Maximum number of metrics outside the plan: times, CPU use, clock event, readings, packages. */
#define OFFERED_BESIDE (16 + RPS_PACKAGE_FIGURES)

#define NAMES_MAX 30 /* maximum number of omitted metrics that are named */

/* --- what a run offers ------------------------------------------------------------------------ */

static struct rps_compared_figure *offer(struct rps_compared_run *run,
                                         enum rps_comparison_kind kind, const char *name,
                                         const char *label, const char *unit)
{
    struct rps_compared_figure *figure = &run->offered[run->offered_count++];

    *figure = (struct rps_compared_figure){.is = {.kind = kind}};
    snprintf(figure->is.name, sizeof(figure->is.name), "%s", name);
    snprintf(figure->is.label, sizeof(figure->is.label), "%s", label);
    snprintf(figure->is.unit, sizeof(figure->is.unit), "%s", unit);
    return figure;
}

static struct rps_formula operand_alone(int operand)
{
    return (struct rps_formula){.step_count = 1,
                                .step = {{.op = RPS_FORMULA_OPERAND, .operand = operand}}};
}

/* Return the event whose count an operand is. Return NULL if there is none. */
static const struct rps_event *event_of(const struct rps_plan *plan, int operand)
{
    int set = rps_operand_set(operand);

    if (operand == RPS_OPERAND_CLOCK)
        return &plan->clock;
    if (set < 0 || set >= plan->set_count)
        return NULL;
    return &plan->set[set].event[rps_operand_slot(operand)];
}

/* Return 1 if all events of the formula were counted, so that the formula can have a value. */
static int has_events(const struct rps_plan *plan, const struct rps_formula *formula)
{
    for (int i = 0; i < formula->step_count; i++) {
        const struct rps_formula_step *step = &formula->step[i];
        const struct rps_event *event;

        if (step->op == RPS_FORMULA_NUMBER && isnan(step->number))
            return 0;
        if (step->op != RPS_FORMULA_OPERAND)
            continue;
        event = event_of(plan, step->operand);
        if (event && event != &plan->clock && event->state != RPS_EVENT_MEASURED)
            return 0;
    }
    return 1;
}

static int offer_metrics(struct rps_compared_run *run, struct rps_error *err)
{
    int has_cpu_use = 0;

    for (int m = 0; m < run->plan->metric_count; m++) {
        const struct rps_metric *metric = &run->plan->metric[m];

        has_cpu_use = has_cpu_use || strcmp(metric->name, RPS_COLLECT_CPU_USE) == 0;
        if (has_events(run->plan, &metric->formula))
            offer(run, RPS_FIGURE_METRIC, metric->name, metric->label, metric->unit)->formula =
                metric->formula;
    }
    if (has_cpu_use || !rps_plan_knows_cpu_time(run->plan))
        return 0;
    return rps_formula_compile(
        "100 * cpu_seconds / seconds", rps_plan_operand, run->plan,
        &offer(run, RPS_FIGURE_METRIC, RPS_COLLECT_CPU_USE, "CPU use", "%")->formula, err);
}

/* Return 1 if the event is a total. Events that measure time are not totals here, because the
 * metric CPU time replaces them. Gauges are not totals, because they are compared as metrics. */
static int is_total(const struct rps_event *event)
{
    return strcmp(event->unit, "ns") != 0 && strcmp(event->unit, RPS_UNIT_GAUGE) != 0;
}

static void offer_totals(struct rps_compared_run *run)
{
    const struct rps_plan *plan = run->plan;
    const struct rps_event *clock = &plan->clock;

    if (clock->name[0] && is_total(clock))
        offer(run, RPS_FIGURE_TOTAL, clock->name, clock->label, clock->unit)->formula =
            operand_alone(RPS_OPERAND_CLOCK);
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            const struct rps_event *event = &plan->set[n].event[s];

            if (event->state == RPS_EVENT_MEASURED && !event->by_clock && event->copy_of == 0 &&
                is_total(event))
                offer(run, RPS_FIGURE_TOTAL, event->name, event->label, event->unit)->formula =
                    operand_alone(RPS_OPERAND_EVENTS + n * RPS_SLOT_MAX + s);
        }
    }
}

/* These functions compute metrics from system readings. The waiting time is NaN if the times of
 * states are unknown. The metric "elapsed time without waiting" exists only for a single thread. */
static double wait_s(const struct rps_compared_system *of)
{
    return of->time->elapsed_s > 0 ? of->time->wait_s : NAN;
}

static double waited(const struct rps_compared_system *of)
{
    return of->time->elapsed_s > 0 ? 100 * rps_system_time_waited(of->time) : NAN;
}

static double not_waiting_s(const struct rps_compared_system *of)
{
    return of->elapsed_s - wait_s(of);
}

static double stolen(const struct rps_compared_system *of)
{
    return 100 * rps_run_system_stolen(of->system, of->cpu_count);
}

static double throttled_s(const struct rps_compared_system *of)
{
    return rps_run_system_throttled_s(of->system);
}

static double package(const struct rps_compared_system *of)
{
    return rps_run_system_package(of->system, (enum rps_package_figure)of->package);
}

/* If has_it is 1, add a metric of system readings to the metrics for comparing the run. */
static void offer_system(struct rps_compared_run *run, int has_it, const char *name,
                         const char *label, const char *unit,
                         double (*system)(const struct rps_compared_system *of))
{
    if (has_it)
        offer(run, RPS_FIGURE_SYSTEM, name, label, unit)->system = system;
}

static void offer_readings(struct rps_compared_run *run, const struct rps_run_system *whole,
                           int cpu_count)
{
    struct rps_system_time time = rps_run_system_time(whole, 0);
    struct rps_compared_system of = {whole, &time, 0, cpu_count, 0};
    int has_time = time.elapsed_s > 0, is_of_one = rps_system_time_is_of_one(&time);

    offer_system(run, has_time, "wait", "Waiting for a CPU", "s", wait_s);
    offer_system(run, has_time, "waited", "Share waiting", "%", waited);
    offer_system(run, is_of_one, "elapsed_not_waiting", "Elapsed without waiting", "s",
                 not_waiting_s);
    offer_system(run, isfinite(stolen(&of)), "stolen", "Taken by the hypervisor", "%", stolen);
    offer_system(run, isfinite(throttled_s(&of)), "throttled", "Stopped by a CPU limit", "s",
                 throttled_s);
    for (of.package = 0; of.package < RPS_PACKAGE_FIGURES; of.package++) {
        const struct rps_package_figure_name *is = &rps_package_figures[of.package];

        if (!isfinite(package(&of)))
            continue;
        offer_system(run, 1, is->name, is->label, is->unit, package);
        run->offered[run->offered_count - 1].package = of.package;
    }
}

int rps_comparison_offer_counts(struct rps_arena *arena, struct rps_compared_run *run,
                                struct rps_error *err)
{
    size_t most = OFFERED_BESIDE + (size_t)run->plan->metric_count +
                  (size_t)run->plan->set_count * RPS_SLOT_MAX;

    run->offered = rps_arena_get(arena, most, sizeof(*run->offered));
    run->figure = rps_arena_get(arena, most, sizeof(*run->figure));
    offer(run, RPS_FIGURE_TIME, "elapsed", "Elapsed", "s");
    if (rps_plan_knows_cpu_time(run->plan))
        offer(run, RPS_FIGURE_CPU, "cpu_time", "CPU time", "s")->formula =
            operand_alone(RPS_OPERAND_CPU_SECONDS);
    if (offer_metrics(run, err) < 0)
        return RPS_FAILED;
    offer_totals(run);
    return 0;
}

static int offer_all(struct rps_arena *arena, const struct rps_comparison_run *of,
                     struct rps_compared_run *run, struct rps_error *err)
{
    struct rps_run_system *system;

    if (rps_comparison_offer_counts(arena, run, err) < 0)
        return RPS_FAILED;
    if (rps_run_system_read(arena, of->reader, of->run_id, INT64_MIN, INT64_MAX, NULL, &system,
                            err) < 0)
        return RPS_FAILED;
    offer_readings(run, system, of->run.cpu_count);
    return 0;
}

/* --- metrics in common ------------------------------------------------------------------------ */

static int same_operand(const struct rps_plan *plan_a, int a, const struct rps_plan *plan_b, int b)
{
    const struct rps_event *x = event_of(plan_a, a), *y = event_of(plan_b, b);

    if (!x || !y)
        return a == b;
    return strcmp(x->name, y->name) == 0 && strcmp(x->modifiers, y->modifiers) == 0 &&
           (strcmp(x->spec, y->spec) == 0 || (x->role[0] && strcmp(x->role, y->role) == 0));
}

static int same_formula(const struct rps_plan *plan_a, const struct rps_formula *a,
                        const struct rps_plan *plan_b, const struct rps_formula *b)
{
    if (rps_plan_is_gauge(plan_a, a) && rps_plan_is_gauge(plan_b, b))
        return 1;
    if (a->step_count != b->step_count)
        return 0;
    for (int i = 0; i < a->step_count; i++) {
        const struct rps_formula_step *x = &a->step[i], *y = &b->step[i];

        if (x->op != y->op || (x->op == RPS_FORMULA_NUMBER && x->number != y->number) ||
            (x->op == RPS_FORMULA_OPERAND && !same_operand(plan_a, x->operand, plan_b, y->operand)))
            return 0;
    }
    return 1;
}

size_t rps_comparison_find_same(const struct rps_compared_run *run,
                                const struct rps_compared_run *other,
                                const struct rps_compared_figure *figure)
{
    for (size_t i = 0; i < run->offered_count; i++) {
        if (run->offered[i].is.kind == figure->is.kind &&
            strcmp(run->offered[i].is.name, figure->is.name) == 0 &&
            run->offered[i].system == figure->system &&
            same_formula(run->plan, &run->offered[i].formula, other->plan, &figure->formula))
            return i;
    }
    return run->offered_count;
}

static int all_have(const struct rps_comparison_work *work, const struct rps_compared_run *of,
                    const struct rps_compared_figure *figure)
{
    for (size_t r = 0; r < work->comparison.run_count; r++) {
        if (rps_comparison_find_same(&work->run[r], of, figure) == work->run[r].offered_count)
            return 0;
    }
    return 1;
}

static void take_common(struct rps_comparison_work *work)
{
    struct rps_comparison *comparison = &work->comparison;
    const struct rps_compared_run *first = &work->run[0];

    for (size_t i = 0; i < first->offered_count; i++) {
        const struct rps_compared_figure *figure = &first->offered[i];

        if (!all_have(work, first, figure))
            continue;
        for (size_t r = 0; r < comparison->run_count; r++)
            work->run[r].figure[comparison->figure_count] =
                rps_comparison_find_same(&work->run[r], first, figure);
        comparison->figure[comparison->figure_count++] = figure->is;
    }
}

static const char *name_of(const struct rps_comparison_figure *figure)
{
    return figure->label[0] ? figure->label : figure->name;
}

/* Return 1 if the omitted metric needs no mention, because a compared metric or an earlier omitted
 * metric has the same label. An event's rate and total share a label. */
static int was_named(const struct rps_comparison_work *work, size_t run, size_t i)
{
    const struct rps_comparison_figure *is = &work->run[run].offered[i].is;

    if (rps_comparison_figure(&work->comparison, is->name) >= 0)
        return 1;
    for (size_t r = 0; r <= run; r++) {
        size_t end = r < run ? work->run[r].offered_count : i;

        for (size_t k = 0; k < end; k++) {
            const struct rps_comparison_figure *other = &work->run[r].offered[k].is;

            if (strcmp(name_of(other), name_of(is)) == 0 &&
                rps_comparison_figure(&work->comparison, other->name) < 0)
                return 1;
        }
    }
    return 0;
}

static void remark_left_out(struct rps_comparison_work *work)
{
    struct rps_comparison *comparison = &work->comparison;
    const char *names = NULL;
    int count = 0;

    for (size_t r = 0; r < comparison->run_count; r++) {
        for (size_t i = 0; i < work->run[r].offered_count && count <= NAMES_MAX; i++) {
            const struct rps_comparison_figure *is = &work->run[r].offered[i].is;

            if (!was_named(work, r, i))
                names =
                    rps_arena_print(comparison->arena, "%s%s%s", names ? names : "",
                                    names ? ", " : "", count++ >= NAMES_MAX ? "..." : name_of(is));
        }
    }
    if (names)
        rps_comparison_remark(
            comparison, "Left out, because not all runs have these metrics in the same form: %s.",
            names);
}

int rps_comparison_find_figures(struct rps_comparison_work *work, struct rps_error *err)
{
    struct rps_comparison *comparison = &work->comparison;

    for (size_t r = 0; r < comparison->run_count; r++) {
        if (offer_all(comparison->arena, &comparison->run[r], &work->run[r], err) < 0)
            return RPS_FAILED;
    }
    comparison->figure =
        rps_arena_get(comparison->arena, work->run[0].offered_count, sizeof(*comparison->figure));
    take_common(work);
    remark_left_out(work);
    return 0;
}
