/* Scenarios: a scenario answers one question (the first-level cache, branches, ...) on any
 * processor.
 *
 * A scenario is a set file too, but of the directory scenarios/. The events of a scenario are
 * roles, or `set:NAME` for all events of the set NAME; the chosen event sets provide the events. So
 * a scenario works with every set file whose events have roles, including set files of users and of
 * future processors. A copy of each scenario in each set file was considered. The result would be
 * eleven set files times five scenarios, all nearly identical. The kernel's events exist on every
 * machine, so the set file of the kernel's events provides the events that other set files lack. */
#include "set_file_section.h"
#include "names.h"

#include "rpistat/text.h"

#include <stdio.h>
#include <string.h>

const char *const *rps_plan_scenarios(void)
{
    return rps_embedded_scenarios_names;
}

static int load(const char *scenario, struct rps_plan **ret, struct rps_error *err)
{
    const struct rps_embedded *document = rps_set_file_find(rps_embedded_scenarios, scenario);
    char printable[RPS_NAME_SIZE], known[128];

    if (document)
        return rps_plan_parse(document->name, document->text, document->size, ret, err);
    return rps_error_set(err, RPS_USAGE, "no scenario is named \"%s\"; choose from %s",
                         rps_text_printable(printable, sizeof(printable), scenario),
                         rps_names_join(rps_plan_scenarios(), known, sizeof(known)));
}

/* Return the name after "set:", or NULL. */
static const char *set_of(const char *spec)
{
    return strncmp(spec, "set:", 4) == 0 ? spec + 4 : NULL;
}

/* Add to the set all events of the plan that match spec, without duplicates. */
static void take_matching(const struct rps_plan *plan, const char *spec, struct rps_event_set *ret)
{
    const char *name = set_of(spec);

    for (int n = 0; n < plan->set_count; n++) {
        const struct rps_event_set *set = &plan->set[n];

        for (int slot = 0; slot < set->event_count && ret->event_count < RPS_SLOT_MAX; slot++) {
            const struct rps_event *event = &set->event[slot];
            bool wanted = name ? strcmp(set->name, name) == 0 : strcmp(event->role, spec) == 0;

            for (int i = 0; i < ret->event_count; i++)
                wanted = wanted && strcmp(ret->event[i].name, event->name) != 0;
            if (wanted)
                ret->event[ret->event_count++] = *event;
        }
    }
}

/* Put the events of the scenario's set into a new set, unless there are no events. *by_software:
 * true if some events came from the kernel's set file. */
static int take_events(const struct rps_plan *plan, const struct rps_plan *software,
                       const struct rps_event_set *wanted, struct rps_plan *ret, bool *by_software,
                       struct rps_error *err)
{
    struct rps_event_set found = {.event_count = 0}, *set;

    for (int slot = 0; slot < wanted->event_count; slot++) {
        int before = found.event_count;

        take_matching(plan, wanted->event[slot].spec, &found);
        if (found.event_count > before)
            continue;
        take_matching(software, wanted->event[slot].spec, &found);
        *by_software = *by_software || found.event_count > before;
    }
    if (found.event_count == 0)
        return 0;
    memcpy(found.name, wanted->name, sizeof(found.name));
    memcpy(found.explain, wanted->explain, sizeof(found.explain));
    set = rps_plan_add_set(ret);
    if (!set)
        return rps_error_memory(err);
    *set = found;
    return 0;
}

static bool same_formula(const struct rps_formula *a, const struct rps_formula *b)
{
    if (a->step_count != b->step_count)
        return false;
    for (int i = 0; i < a->step_count; i++) {
        if (a->step[i].op != b->step[i].op || a->step[i].operand != b->step[i].operand ||
            a->step[i].number != b->step[i].number)
            return false;
    }
    return true;
}

/* Return true if the plan has a metric with this name or formula. */
static bool has_metric(const struct rps_plan *plan, const struct rps_metric *metric)
{
    for (int i = 0; i < plan->metric_count; i++) {
        if (strcmp(plan->metric[i].name, metric->name) == 0 ||
            same_formula(&plan->metric[i].formula, &metric->formula))
            return true;
    }
    return false;
}

/* Add to *ret the metrics of `from` for which *ret has all events. Add the number of these metrics
 * to *count, even if *ret already had some. */
static int take_metrics(const struct rps_plan *from, struct rps_plan *ret, int *count,
                        struct rps_error *err)
{
    for (int i = 0; i < from->metric_count; i++) {
        struct rps_metric metric = from->metric[i], *place;

        if (rps_formula_compile(metric.formula_text, rps_plan_operand, ret, &metric.formula, NULL) <
            0)
            continue;
        ++*count;
        if (has_metric(ret, &metric))
            continue;
        place = rps_plan_add_metric(ret);
        if (!place)
            return rps_error_memory(err);
        *place = metric;
    }
    return 0;
}

static int nothing_to_show(const struct rps_plan *plan, const struct rps_plan *scenario,
                           struct rps_error *err)
{
    char roles[256] = "";

    for (int n = 0; n < scenario->set_count; n++) {
        for (int slot = 0; slot < scenario->set[n].event_count; slot++) {
            const char *spec = scenario->set[n].event[slot].spec;

            if (!set_of(spec))
                rps_text_list(roles, sizeof(roles), spec);
        }
    }
    return rps_error_set(err, RPS_USAGE,
                         "the event sets %s have no events for scenario %s, which needs the roles "
                         "%s; name other sets with --sets, or leave out --scenario",
                         plan->name, scenario->name, roles);
}

int rps_plan_select(struct rps_plan *plan, const char *scenario_name, struct rps_error *err)
{
    struct rps_plan *scenario = NULL, *software = NULL, *selected = rps_plan_new(), old;
    int result = selected ? load(scenario_name, &scenario, err) : rps_error_memory(err);
    int kept = 0, added = 0;
    bool by_software = false;

    if (result == 0)
        result = rps_plan_load("software", &software, err);
    for (int n = 0; result == 0 && n < scenario->set_count; n++)
        result = take_events(plan, software, &scenario->set[n], selected, &by_software, err);
    if (result == 0)
        result = take_metrics(plan, selected, &kept, err);
    if (result == 0 && by_software)
        result = take_metrics(software, selected, &kept, err);
    if (result == 0)
        result = take_metrics(scenario, selected, &added, err);
    if (result == 0 && added == 0)
        result = nothing_to_show(plan, scenario, err);
    if (result == 0) {
        memcpy(selected->name, plan->name, sizeof(selected->name));
        memcpy(selected->match, plan->match, sizeof(selected->match));
        memcpy(selected->explain, scenario->explain, sizeof(selected->explain));
        snprintf(selected->title, sizeof(selected->title), "%.60s: %.60s", plan->title,
                 scenario->title);
        selected->clock = plan->clock;
        old = *plan;
        *plan = *selected;
        *selected = old;
    }
    rps_plan_free(selected);
    rps_plan_free(software);
    rps_plan_free(scenario);
    return result;
}
