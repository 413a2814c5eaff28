/*
 * Sources: which quantities of a plan become signals, and their values.
 *
 * A metric over the events of several sets has a value once a rotation only. Carrying its last
 * value forward was tried and dropped: copies are correlated, and invent changes. The rates of its
 * events per clock tick say the same, each seen in its own periods, since the clock is counted in
 * all.
 */
#include "sources.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_SIZE 512

/* Standard deviation, relative to the mean, of a large count and of a ratio. */
#define COUNT_VARIATION 0.05
#define RATIO_VARIATION 0.15

/* Deviations of a count that other programs make: when the CPU is taken away, and when it is given
 * back. */
#define OTHERS_DEVIATIONS 4

void rps_sources_free(struct rps_sources *sources)
{
    free(sources->source);
    *sources = (struct rps_sources){0};
}

/* --- what a source is ------------------------------------------------------------------------- */

static int event_set(int operand)
{
    return operand >= RPS_OPERAND_EVENTS ? (operand - RPS_OPERAND_EVENTS) / RPS_SLOT_MAX : -1;
}

/* Does the count of the event depend on what other programs do? */
static int is_others(const struct rps_event *event)
{
    return strcmp(event->role, "context_switches") == 0 ||
           strcmp(event->role, "cpu_migrations") == 0;
}

static const struct rps_event *event_of(const struct rps_plan *plan, int operand)
{
    return &plan->set[event_set(operand)].event[(operand - RPS_OPERAND_EVENTS) % RPS_SLOT_MAX];
}

static struct rps_source of_metric(const struct rps_plan *plan, int m)
{
    const struct rps_metric *metric = &plan->metric[m];
    struct rps_source source = {.metric = m, .set = -1, .slot = -1, .home = RPS_SOURCE_ANY};

    snprintf(source.name, sizeof(source.name), "%s", metric->name);
    for (int i = 0; i < metric->formula.step_count; i++) {
        const struct rps_formula_step *step = &metric->formula.step[i];
        int set = step->op == RPS_FORMULA_OPERAND ? event_set(step->operand) : -1;

        if (step->op == RPS_FORMULA_OPERAND && step->operand == RPS_OPERAND_SECONDS)
            source.over_time = 1;
        if (set >= 0 && source.home != set)
            source.home = source.home == RPS_SOURCE_ANY ? set : RPS_SOURCE_ACROSS;
        if (set >= 0 && is_others(event_of(plan, step->operand)))
            source.others = 1;
    }
    source.transform =
        source.over_time && !strchr(metric->unit, '%') ? RPS_TRANSFORM_COUNT : RPS_TRANSFORM_LOG;
    return source;
}

static struct rps_source of_event(const struct rps_plan *plan, int set, int slot)
{
    struct rps_source source = {.metric = -1,
                                .set = set,
                                .slot = slot,
                                .home = set,
                                .transform = RPS_TRANSFORM_LOG,
                                .others = is_others(&plan->set[set].event[slot])};

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
                               .over_time = 1,
                               .transform = RPS_TRANSFORM_LOG};
}

/*
 * Noise is alike at all levels of a transformed value. A count of n has a variance of at least n,
 * and of (n / 20)^2 where n is large, for no program does quite the same twice: the integral of the
 * inverse deviation is this, in units of the deviation. Ratios vary by some 15 %; far below 1 (a
 * miss in a hundred thousand instructions) they do not matter, whatever their ratio.
 */
static double transformed(double value, enum rps_transform transform, double period_s)
{
    double size = fabs(value);

    if (transform == RPS_TRANSFORM_COUNT)
        size = 2 / COUNT_VARIATION * asinh(COUNT_VARIATION * sqrt(size * period_s));
    else
        size = log1p(size);
    return copysign(size, value);
}

double rps_source_floor(const struct rps_source *source)
{
    double floor = source->transform == RPS_TRANSFORM_COUNT ? 1 : RATIO_VARIATION;

    return source->others ? OTHERS_DEVIATIONS * floor : floor;
}

double rps_source_value(const struct rps_source *source, const struct rps_plan *plan,
                        const struct rps_tally *tally, const double *operand, double period_s)
{
    double value;

    if (source->metric >= 0) {
        const struct rps_formula *formula = &plan->metric[source->metric].formula;

        value = rps_tally_carries(tally, formula) ? rps_formula_value(formula, operand) : NAN;
    } else if (source->set >= 0) {
        int at = RPS_OPERAND_EVENTS + source->set * RPS_SLOT_MAX + source->slot;

        value = tally->clock > 0 ? 1000 * operand[at] / operand[RPS_OPERAND_CLOCK] : NAN;
    } else {
        value = tally->length_ns > 0
                    ? 100 * operand[RPS_OPERAND_CPU_SECONDS] / operand[RPS_OPERAND_SECONDS]
                    : NAN;
    }
    return isfinite(value) ? transformed(value, source->transform, period_s) : NAN;
}

/* --- choosing --------------------------------------------------------------------------------- */

/* Append; there is room for every metric and event of the plan and one more. */
static void append(struct rps_sources *sources, struct rps_source source)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (strcmp(sources->source[i].name, source.name) == 0)
            return;
    }
    sources->source[sources->count++] = source;
}

static size_t most(const struct rps_plan *plan)
{
    size_t count = 1 + (size_t)plan->metric_count;

    for (int n = 0; n < plan->set_count; n++)
        count += (size_t)plan->set[n].event_count;
    return count;
}

/* The rates of the events in a formula. */
static void append_events(struct rps_sources *sources, const struct rps_plan *plan,
                          const struct rps_formula *formula)
{
    for (int i = 0; i < formula->step_count; i++) {
        int operand = formula->step[i].operand;

        if (formula->step[i].op == RPS_FORMULA_OPERAND && operand >= RPS_OPERAND_EVENTS)
            append(sources, of_event(plan, event_set(operand),
                                     (operand - RPS_OPERAND_EVENTS) % RPS_SLOT_MAX));
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

/* The names that --metric may have, cut where there is no room. */
static int unknown(const struct rps_plan *plan, const char *name, struct rps_error *err)
{
    char names[NAMES_SIZE] = "";
    size_t used = 0;

    for (int m = 0; m < plan->metric_count && used + RPS_NAME_SIZE + 8 < sizeof(names); m++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s, ", plan->metric[m].name);
    return rps_error_set(
        err, RPS_USAGE,
        "the run has no metric '%s'; it has %s" RPS_COLLECT_CPU_USE " and its events", name, names);
}

static int choose_name(struct rps_sources *sources, const struct rps_plan *plan, const char *name,
                       struct rps_error *err)
{
    for (int m = 0; m < plan->metric_count; m++) {
        if (strcmp(plan->metric[m].name, name) == 0) {
            append(sources, of_metric(plan, m));
            return 0;
        }
    }
    for (int n = 0; n < plan->set_count; n++) {
        for (int slot = 0; slot < plan->set[n].event_count; slot++) {
            if (strcmp(plan->set[n].event[slot].name, name) == 0) {
                append(sources, of_event(plan, n, slot));
                return 0;
            }
        }
    }
    if (strcmp(name, RPS_COLLECT_CPU_USE) != 0)
        return unknown(plan, name, err);
    append(sources, of_cpu_use());
    return 0;
}

int rps_sources_choose(const struct rps_collect_options *options, struct rps_sources *ret,
                       struct rps_error *err)
{
    struct rps_sources sources = {0};
    int result = 0;

    sources.source = calloc(most(options->plan), sizeof(*sources.source));
    if (!sources.source)
        return rps_error_memory(err);
    for (size_t i = 0; i < options->name_count && result == 0; i++)
        result = choose_name(&sources, options->plan, options->name[i], err);
    if (options->name_count == 0)
        choose_all(&sources, options->plan, options->by_rotation);
    if (result < 0)
        rps_sources_free(&sources);
    else
        *ret = sources;
    return result;
}
