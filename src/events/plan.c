/*
 * Plans: creation, freeing and operands. Parsing is in document.c, the encoding of events in
 * resolve.c.
 */
#include "rpistat/plan.h"

#include "rpistat/array.h"
#include "rpistat/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rps_event_states[] = {
    [RPS_EVENT_MEASURED] = "measured",
    [RPS_EVENT_UNSUPPORTED] = "unsupported",
    [RPS_EVENT_NOT_PERMITTED] = "not permitted",
    NULL,
};

static const char *const fixed_operands[RPS_OPERAND_EVENTS] = {
    [RPS_OPERAND_CLOCK] = "clock",
    [RPS_OPERAND_SECONDS] = "seconds",
    [RPS_OPERAND_CPU_SECONDS] = "cpu_seconds",
};

/* --- life ------------------------------------------------------------------------------------- */

struct rps_plan *rps_plan_new(void)
{
    return calloc(1, sizeof(struct rps_plan));
}

struct rps_event_set *rps_plan_add_set(struct rps_plan *plan)
{
    struct rps_event_set *set = rps_array_grow(plan->set, (size_t)plan->set_count, sizeof(*set));

    if (!set)
        return NULL;
    plan->set = set;
    set += plan->set_count++;
    memset(set, 0, sizeof(*set));
    return set;
}

struct rps_metric *rps_plan_add_metric(struct rps_plan *plan)
{
    struct rps_metric *metric =
        rps_array_grow(plan->metric, (size_t)plan->metric_count, sizeof(*metric));

    if (!metric)
        return NULL;
    plan->metric = metric;
    metric += plan->metric_count++;
    memset(metric, 0, sizeof(*metric));
    return metric;
}

int rps_plan_metric(const struct rps_plan *plan, const char *name)
{
    for (int m = 0; m < plan->metric_count; m++) {
        if (strcmp(plan->metric[m].name, name) == 0)
            return m;
    }
    return -1;
}

char *rps_plan_metric_names(const struct rps_plan *plan, char *ret, size_t size)
{
    ret[0] = '\0';
    for (int m = 0; m < plan->metric_count; m++)
        rps_text_list(ret, size, plan->metric[m].name);
    return ret;
}

void rps_plan_free(struct rps_plan *plan)
{
    if (!plan)
        return;
    free(plan->metric);
    free(plan->set);
    free(plan);
}

void rps_plan_keep_default(struct rps_plan *plan)
{
    int sets = 0, metrics = 0;

    for (int n = 0; n < plan->set_count; n++) {
        if (!plan->set[n].on_request)
            plan->set[sets++] = plan->set[n];
    }
    plan->set_count = sets;
    for (int i = 0; i < plan->metric_count; i++) {
        struct rps_metric *metric = &plan->metric[i];

        if (rps_formula_compile(metric->formula_text, rps_plan_operand, plan, &metric->formula,
                                NULL) == 0)
            plan->metric[metrics++] = *metric;
    }
    plan->metric_count = metrics;
}

/* --- operands of formulas --------------------------------------------------------------------- */

int rps_plan_operand_count(const struct rps_plan *plan)
{
    return RPS_OPERAND_EVENTS + plan->set_count * RPS_SLOT_MAX;
}

/* Operand of the first event whose text at `offset` in struct rps_event is the given name; or
 * -1. */
static int find_event(const struct rps_plan *plan, const char *name, size_t offset)
{
    for (int n = 0; n < plan->set_count; n++) {
        for (int slot = 0; slot < plan->set[n].event_count; slot++) {
            const struct rps_event *event = &plan->set[n].event[slot];

            if (strcmp((const char *)event + offset, name) == 0)
                return RPS_OPERAND_EVENTS + n * RPS_SLOT_MAX + slot;
        }
    }
    return -1;
}

int rps_plan_operand(void *plan, const char *name)
{
    static const size_t offsets[] = {offsetof(struct rps_event, name),
                                     offsetof(struct rps_event, spec),
                                     offsetof(struct rps_event, role)};
    int operand = -1;

    if (*name == '\0')
        return -1;
    for (int i = 0; i < RPS_OPERAND_EVENTS; i++) {
        if (strcmp(fixed_operands[i], name) == 0)
            return i;
    }
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]) && operand < 0; i++)
        operand = find_event(plan, name, offsets[i]);
    return operand;
}

const char *rps_plan_operand_name(const struct rps_plan *plan, int operand)
{
    int n, slot;

    if (operand < 0)
        return "";
    if (operand < RPS_OPERAND_EVENTS)
        return fixed_operands[operand];
    n = rps_operand_set(operand);
    slot = rps_operand_slot(operand);
    if (n >= plan->set_count || slot >= plan->set[n].event_count)
        return "";
    return plan->set[n].event[slot].name;
}

const struct rps_event *rps_plan_role(const struct rps_plan *plan, const char *role, int *ret_set,
                                      int *ret_slot)
{
    for (int n = 0; n < plan->set_count; n++) {
        for (int slot = 0; slot < plan->set[n].event_count; slot++) {
            const struct rps_event *event = &plan->set[n].event[slot];

            if (event->role[0] == '\0' || strcmp(event->role, role) != 0)
                continue;
            if (ret_set)
                *ret_set = n;
            if (ret_slot)
                *ret_slot = slot;
            return event;
        }
    }
    return NULL;
}

int rps_plan_is_gauge(const struct rps_plan *plan, const struct rps_formula *formula)
{
    const struct rps_formula_step *first = formula->step;
    int at = first->operand - RPS_OPERAND_EVENTS;

    return formula->step_count > 0 && first->op == RPS_FORMULA_OPERAND && at >= 0 &&
           at / RPS_SLOT_MAX < plan->set_count &&
           strcmp(plan->set[at / RPS_SLOT_MAX].event[at % RPS_SLOT_MAX].unit, RPS_UNIT_GAUGE) == 0;
}

/* Other clocks in ns have a role. */
int rps_plan_knows_cpu_time(const struct rps_plan *plan)
{
    return plan->clock.role[0] != '\0' || strcmp(plan->clock.unit, "ns") != 0;
}

/* --- formulas --------------------------------------------------------------------------------- */

/* Accept any name: a formula that is invalid with it is invalid with the plan's names. */
static int find_any(void *plan, const char *name)
{
    (void)plan;
    (void)name;
    return RPS_OPERAND_CLOCK;
}

static void find_copies(struct rps_plan *plan)
{
    for (int n = 1; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            struct rps_event *event = &plan->set[n].event[s];
            int first = rps_plan_operand(plan, event->name);

            event->copy_of = rps_event_is_software(event) && rps_operand_set(first) < n ? first : 0;
        }
    }
}

int rps_plan_compile(struct rps_plan *plan, struct rps_error *err)
{
    /* the formula of a metric without events: one missing value */
    static const struct rps_formula nothing = {.step_count = 1,
                                               .step = {{.op = RPS_FORMULA_NUMBER, .number = NAN}}};

    find_copies(plan);
    for (int i = 0; i < plan->metric_count; i++) {
        struct rps_metric *metric = &plan->metric[i];
        const char *text = metric->formula_text;
        int result;

        if (rps_formula_compile(text, rps_plan_operand, plan, &metric->formula, NULL) == 0)
            continue;
        result = rps_formula_compile(text, find_any, NULL, &metric->formula, err);
        if (result < 0)
            return rps_error_prefix(err, result, "metric %s", metric->name);
        metric->formula = nothing;
    }
    return 0;
}
