/* The values of an import's gauges. */
#include "gauges.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return 1 for a formula "sum / (time * N) ..." of one set, as an import makes it. */
static int is_mean(const struct rps_plan *plan, const struct rps_formula *formula)
{
    const struct rps_formula_step *step = formula->step;

    return rps_plan_is_gauge(plan, formula) && formula->step_count > 2 &&
           step[1].op == RPS_FORMULA_OPERAND && step[1].operand >= RPS_OPERAND_EVENTS &&
           rps_operand_set(step[0].operand) == rps_operand_set(step[1].operand);
}

static int find_metric(const struct rps_plan *plan, const struct rps_event *event)
{
    if (strcmp(event->unit, RPS_UNIT_GAUGE) != 0)
        return RPS_GAUGES_COUNT;
    for (int m = 0; m < plan->metric_count; m++) {
        if (strcmp(plan->metric[m].name, event->name) == 0 &&
            is_mean(plan, &plan->metric[m].formula))
            return m;
    }
    return RPS_GAUGES_TIME;
}

struct rps_gauges rps_gauges_find(struct rps_arena *arena, const struct rps_plan *plan)
{
    struct rps_gauges gauges = {.plan = plan};

    gauges.metric =
        rps_arena_get(arena, (size_t)plan->set_count * RPS_SLOT_MAX, sizeof(*gauges.metric));
    gauges.operand =
        rps_arena_get(arena, (size_t)rps_plan_operand_count(plan), sizeof(*gauges.operand));
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++)
            gauges.metric[n * RPS_SLOT_MAX + s] = find_metric(plan, &plan->set[n].event[s]);
    }
    return gauges;
}

int rps_gauges_metric(const struct rps_gauges *gauges, uint32_t set_no, int slot)
{
    return gauges->metric[(size_t)set_no * RPS_SLOT_MAX + (size_t)slot];
}

static const struct rps_formula *formula_of(const struct rps_gauges *gauges, uint32_t set_no,
                                            int slot)
{
    return &gauges->plan->metric[rps_gauges_metric(gauges, set_no, slot)].formula;
}

int rps_gauges_time_slot(const struct rps_gauges *gauges, uint32_t set_no, int slot)
{
    return rps_operand_slot(formula_of(gauges, set_no, slot)->step[1].operand);
}

double rps_gauges_mean(const struct rps_gauges *gauges, uint32_t set_no, int slot, uint64_t sum,
                       uint64_t time)
{
    const struct rps_formula *formula = formula_of(gauges, set_no, slot);
    double *operand = gauges->operand, value, error, rounded;
    char text[40];

    operand[formula->step[1].operand] = (double)time;
    operand[formula->step[0].operand] = (double)sum;
    value = rps_formula_value(formula, operand);
    operand[formula->step[0].operand] += 1; /* a sum is an integer, so 1 is its resolution */
    error = rps_formula_value(formula, operand) - value;
    for (int digits = 9; digits < 15; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        rounded = strtod(text, NULL);
        if (fabs(rounded - value) <= error)
            return rounded;
    }
    return value;
}

double rps_gauges_value(const struct rps_gauges *gauges, const struct rps_period *row, int slot)
{
    int time = rps_gauges_time_slot(gauges, row->set_no, slot);

    if (!(row->counted & (UINT32_C(1) << slot)))
        return NAN;
    return rps_gauges_mean(gauges, row->set_no, slot, row->count[slot], row->count[time]);
}

const char *rps_gauges_event_name(const struct rps_event *event)
{
    return strcmp(event->unit, RPS_UNIT_GAUGE) == 0 ? event->label : event->name;
}

const char *rps_gauges_metric_name(const struct rps_plan *plan, const struct rps_metric *metric)
{
    return rps_plan_is_gauge(plan, &metric->formula) ? metric->label : metric->name;
}
