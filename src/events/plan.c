/* Plans: creation, freeing and operands. Parsing is in set_file.c, the encoding of events in
 * resolve.c. */
#include "rpistat/plan.h"

#include "rpistat/arena.h"
#include "rpistat/run.h"
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
    if (plan->arena)
        plan->set =
            rps_arena_grow(plan->arena, plan->set, (size_t)plan->set_count, sizeof(*plan->set));
    else if (!rps_array_add(&plan->set, (size_t)plan->set_count, sizeof(*plan->set)))
        return NULL;
    return &plan->set[plan->set_count++];
}

struct rps_metric *rps_plan_add_metric(struct rps_plan *plan)
{
    if (plan->arena)
        plan->metric = rps_arena_grow(plan->arena, plan->metric, (size_t)plan->metric_count,
                                      sizeof(*plan->metric));
    else if (!rps_array_add(&plan->metric, (size_t)plan->metric_count, sizeof(*plan->metric)))
        return NULL;
    return &plan->metric[plan->metric_count++];
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
    if (plan && plan->arena) {
        rps_arena_free(plan->arena);
    } else if (plan) {
        free(plan->metric);
        free(plan->set);
        free(plan);
    }
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

/* Search for the first event that has `name` in the member at `offset` of struct rps_event. Return
 * the operand of the event, or -1. */
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
    for (size_t i = 0; i < RPS_COUNT(offsets) && operand < 0; i++)
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

/* Return 1 if the CPU time is known. The CPU time is unknown if the clock event has the unit ns and
 * no role. Such a clock event is the elapsed time of an import. */
int rps_plan_knows_cpu_time(const struct rps_plan *plan)
{
    return plan->clock.role[0] != '\0' || strcmp(plan->clock.unit, "ns") != 0;
}

/* --- formulas --------------------------------------------------------------------------------- */

/* Accept any name. A formula invalid with arbitrary names is invalid with the plan's names too. */
static int find_any(void *plan, const char *name)
{
    (void)plan;
    (void)name;
    return RPS_OPERAND_CLOCK;
}

int rps_plan_compile(struct rps_plan *plan, struct rps_error *err)
{
    /* Formula of a metric without events. Its value is always missing. */
    static const struct rps_formula nothing = {.step_count = 1,
                                               .step = {{.op = RPS_FORMULA_NUMBER, .number = NAN}}};

    for (int n = 1; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            struct rps_event *event = &plan->set[n].event[s];
            int first = rps_plan_operand(plan, event->name);

            event->copy_of = rps_event_is_software(event) && rps_operand_set(first) < n ? first : 0;
        }
    }
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

/* Functions for words and numbers in sentences. */

char *rps_words_name(char ret[RPS_NAME_SIZE], const char *label, const char *name)
{
    if (!label[0])
        label = name;
    snprintf(ret, RPS_NAME_SIZE, "%s", label);
    if (strcmp(label, name) != 0 && label[0] >= 'A' && label[0] <= 'Z' && label[1] >= 'a' &&
        label[1] <= 'z')
        ret[0] = (char)(label[0] - 'A' + 'a');
    return ret;
}

const char *rps_words_clock_label(const struct rps_run *run, const struct rps_plan *plan)
{
    if (plan->clock.label[0])
        return plan->clock.label;
    return run->clock_label[0] ? run->clock_label : "Cycles";
}

int rps_words_clock_name(char ret[RPS_NAME_SIZE], const char *label)
{
    const int has_blanks = strchr(label, ' ') != NULL;

    snprintf(ret, RPS_NAME_SIZE, "%s", label);
    for (char *c = ret; *c && has_blanks; c++)
        *c = *c == ' ' ? '_' : (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return has_blanks;
}

char *rps_words_times(char *ret, size_t size, double ratio)
{
    if (ratio < 99.5)
        snprintf(ret, size, "%.*f", ratio >= 9.95 ? 0 : ratio >= .995 ? 1 : 2, ratio);
    else
        snprintf(ret, size, "%.0f", 10 * round(ratio / 10));
    return ret;
}

char *rps_words_cut(char *ret, size_t size, const char *text, int width)
{
    size_t at = 0;

    rps_text_printable(ret, size, text);
    if (rps_text_width(ret) <= width)
        return ret;
    for (int seen = 0; ret[at]; at++) {
        if (!rps_text_is_inside(ret[at]) && ++seen > width - 3)
            break;
    }
    memcpy(ret + at, "...", 4);
    return ret;
}
