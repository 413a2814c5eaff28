/* Choose the quantities of a plan that become signals.
 *
 * A metric over the events of several sets has a value only once per rotation. We tried to repeat
 * the most recent value of such a metric in later periods. This was dropped, because repeated
 * values are correlated and cause false changes. Instead, the rates of the metric's events per
 * clock tick become signals. They contain the same information. Each rate has values in all periods
 * of the event's set, because the clock is counted in all periods. */
#include "sources.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"
#include "rpistat/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_SIZE 512

/* --- kinds of sources ------------------------------------------------------------------------- */

/* Return 1 if other programs affect the count of the event. */
static int is_others(const struct rps_event *event)
{
    return strcmp(event->role, "context_switches") == 0 ||
           strcmp(event->role, "cpu_migrations") == 0;
}

static int is_fault(const struct rps_event *event)
{
    return strcmp(event->role, "minor_faults") == 0;
}

static const struct rps_event *event_of(const struct rps_plan *plan, int operand)
{
    return &plan->set[rps_operand_set(operand)].event[rps_operand_slot(operand)];
}

static struct rps_source of_metric(const struct rps_plan *plan, int m)
{
    const struct rps_metric *metric = &plan->metric[m];
    struct rps_source source = {.metric = m, .set = -1, .slot = -1, .home = RPS_SOURCE_ANY};
    int over_time = 0;

    snprintf(source.name, sizeof(source.name), "%s", metric->name);
    for (int i = 0; i < metric->formula.step_count; i++) {
        const struct rps_formula_step *step = &metric->formula.step[i];
        int set = step->op == RPS_FORMULA_OPERAND ? rps_operand_set(step->operand) : -1;

        if (step->op == RPS_FORMULA_OPERAND && step->operand == RPS_OPERAND_SECONDS)
            over_time = 1;
        if (set >= 0 && source.home != set)
            source.home = source.home == RPS_SOURCE_ANY ? set : RPS_SOURCE_ACROSS;
        if (set >= 0 && is_others(event_of(plan, step->operand)))
            source.others = 1;
        if (set >= 0 && is_fault(event_of(plan, step->operand)))
            source.faults = 1;
    }
    if (!over_time)
        source.kind = RPS_SOURCE_RATIO;
    else
        source.kind = strchr(metric->unit, '%') ? RPS_SOURCE_USE : RPS_SOURCE_RATE;
    source.elapsed = source.kind == RPS_SOURCE_USE;
    return source;
}

static struct rps_source of_event(const struct rps_plan *plan, int set, int slot)
{
    struct rps_source source = {.metric = -1,
                                .set = set,
                                .slot = slot,
                                .home = set,
                                .kind = RPS_SOURCE_RATIO,
                                .others = is_others(&plan->set[set].event[slot]),
                                .faults = is_fault(&plan->set[set].event[slot])};

    snprintf(source.name, sizeof(source.name), "%s", plan->set[set].event[slot].name);
    return source;
}

static struct rps_source of_cpu_use(void)
{
    return (struct rps_source){.name = RPS_COLLECT_CPU_USE,
                               .metric = -1,
                               .set = -1,
                               .slot = -1,
                               .home = RPS_SOURCE_ANY,
                               .elapsed = 1,
                               .kind = RPS_SOURCE_USE};
}

/* --- choosing --------------------------------------------------------------------------------- */

/* Append a source. There is room for one source per metric and event of the plan, and one more. */
static void append(struct rps_sources *sources, struct rps_source source)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (strcmp(sources->source[i].name, source.name) == 0)
            return;
    }
    sources->source[sources->count++] = source;
}

size_t rps_sources_events(const struct rps_plan *plan)
{
    size_t count = 0;

    for (int n = 0; n < plan->set_count; n++)
        count += (size_t)plan->set[n].event_count;
    return count;
}

static void append_events(struct rps_sources *sources, const struct rps_plan *plan,
                          const struct rps_formula *formula)
{
    for (int i = 0; i < formula->step_count; i++) {
        int operand = formula->step[i].operand;

        if (formula->step[i].op == RPS_FORMULA_OPERAND && operand >= RPS_OPERAND_EVENTS)
            append(sources, of_event(plan, rps_operand_set(operand), rps_operand_slot(operand)));
    }
}

static void choose_all(struct rps_sources *sources, const struct rps_plan *plan, int by_rotation)
{
    for (int m = 0; m < plan->metric_count; m++) {
        struct rps_source source = of_metric(plan, m);

        if (source.home == RPS_SOURCE_ACROSS && !by_rotation)
            append_events(sources, plan, &plan->metric[m].formula);
        else
            append(sources, source);
    }
    for (int n = 0; plan->metric_count == 0 && n < plan->set_count; n++) {
        for (int slot = 0; slot < plan->set[n].event_count; slot++)
            append(sources, of_event(plan, n, slot));
    }
    append(sources, of_cpu_use());
}

static int choose_name(struct rps_sources *sources, const struct rps_plan *plan, const char *name,
                       struct rps_error *err)
{
    int metric = rps_plan_metric(plan, name);

    if (metric >= 0) {
        append(sources, of_metric(plan, metric));
        return 0;
    }
    for (int n = 0; n < plan->set_count; n++) {
        for (int slot = 0; slot < plan->set[n].event_count; slot++) {
            if (strcmp(plan->set[n].event[slot].name, name) == 0) {
                append(sources, of_event(plan, n, slot));
                return 0;
            }
        }
    }
    if (strcmp(name, RPS_COLLECT_CPU_USE) != 0) {
        char names[NAMES_SIZE];
        int is_named = rps_plan_metric(plan, RPS_COLLECT_CPU_USE) >= 0;

        rps_plan_metric_names(plan, names, sizeof(names));
        return rps_error_set(
            err, RPS_USAGE, "the run has no metric '%s'; choose from %s%s%s and its events", name,
            names, names[0] && !is_named ? ", " : "", is_named ? "" : RPS_COLLECT_CPU_USE);
    }
    append(sources, of_cpu_use());
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct rps_source *)a)->name, ((const struct rps_source *)b)->name);
}

int rps_sources_choose(struct rps_arena *arena, const struct rps_collect_options *options,
                       struct rps_sources *ret, struct rps_error *err)
{
    size_t room = rps_sources_events(options->plan) + (size_t)options->plan->metric_count + 1;
    struct rps_sources sources = {.source = rps_arena_get(arena, room, sizeof(*sources.source))};
    int result = 0;

    for (size_t i = 0; i < options->name_count && result == 0; i++)
        result = choose_name(&sources, options->plan, options->name[i], err);
    if (options->name_count == 0)
        choose_all(&sources, options->plan, options->by_rotation);
    if (options->together)
        qsort(sources.source, sources.count, sizeof(*sources.source), compare_names);
    for (size_t i = 0; i < sources.count; i++) {
        struct rps_source *source = &sources.source[i];

        source->named = options->name_count > 0;
        source->sleeps = options->sleeps && source->kind == RPS_SOURCE_RATE;
        source->elapsed |= source->sleeps || ((options->name_count > 0 || options->as_shown) &&
                                              source->kind == RPS_SOURCE_RATE);
    }
    *ret = sources;
    return result;
}
