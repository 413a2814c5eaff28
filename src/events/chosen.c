/* Makes plans from the command line: events (`-e`) and formulas (`--metric`). Such a plan has the
 * same form as a plan from a set file, so that other files need not distinguish them. */
#include "names.h"

#include <stdio.h>
#include <string.h>

/* Copy the first `length` bytes of text to ret, but at most size - 1 bytes. */
static void copy_part(char *ret, size_t size, const char *text, size_t length)
{
    snprintf(ret, size, "%.*s", (int)length, text);
}

static void trim(const char **text, size_t *length)
{
    while (*length > 0 && ((*text)[0] == ' ' || (*text)[0] == '\t')) {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\t'))
        (*length)--;
}

/* --- -e --------------------------------------------------------------------------------------- */

/* Return the length of the first event of a group. The event ends before the first comma that is
 * outside slashes. */
static size_t event_length(const char *group)
{
    bool inside = false;
    size_t length = 0;

    for (; group[length] && (inside || group[length] != ','); length++) {
        if (group[length] == '/')
            inside = !inside;
    }
    return length;
}

/* Make an ID from an event's spec. Replace characters that formulas cannot use without quotes by _.
 * Several such characters in a row become a single _. Drop a _ at the end. */
static void make_id(const char *spec, char ret[RPS_NAME_SIZE])
{
    size_t length = 0;

    ret[length++] = '_';
    if (rps_name_is_id(spec, 1))
        length = 0;
    for (; *spec && length < RPS_NAME_SIZE - 1; spec++) {
        ret[length] = *spec;
        if (rps_name_is_id(ret, length + 1))
            length++;
        else if (length > 0 && ret[length - 1] != '_')
            ret[length++] = '_';
    }
    while (length > 1 && ret[length - 1] == '_')
        length--;
    ret[length] = '\0';
}

/* Return true if an operand has this name. The specs and roles of events are not compared. */
static bool is_taken(const struct rps_plan *plan, const char *name)
{
    for (int i = 0; i < rps_plan_operand_count(plan); i++) {
        if (strcmp(rps_plan_operand_name(plan, i), name) == 0)
            return true;
    }
    return false;
}

void rps_plan_new_id(const struct rps_plan *plan, const char *text, char ret[RPS_NAME_SIZE])
{
    char base[RPS_NAME_SIZE];

    make_id(text, ret);
    memcpy(base, ret, sizeof(base));
    for (int i = 2; is_taken(plan, ret); i++)
        snprintf(ret, RPS_NAME_SIZE, "%.50s_%d", base, i);
}

/* Add the event in `text` to the plan's last set, unless the set has the event. */
static int add_event(struct rps_plan *plan, const char *group, const char *text, size_t length,
                     struct rps_error *err)
{
    struct rps_event_set *set = &plan->set[plan->set_count - 1];
    struct rps_event event = {.unit = "events"};
    char plain[RPS_SPEC_SIZE], modifiers[8];

    trim(&text, &length);
    if (length == 0)
        return rps_error_set(
            err, RPS_USAGE,
            "\"%s\" has no event before or after a comma; write the events of a set as a,b", group);
    if (length >= sizeof(event.spec))
        return rps_error_set(err, RPS_USAGE,
                             "the event \"%.40s...\" is longer than %zu characters; shorten it",
                             text, sizeof(event.spec) - 1);
    copy_part(event.spec, sizeof(event.spec), text, length);
    for (int e = 0; e < set->event_count; e++)
        if (strcmp(set->event[e].spec, event.spec) == 0)
            return 0;
    copy_part(event.label, sizeof(event.label), text, length);
    rps_plan_new_id(plan, event.spec, event.name);
    memcpy(plain, event.spec, sizeof(plain));
    rps_name_take_modifiers(plain, modifiers);
    snprintf(event.unit, sizeof(event.unit), "%s", rps_name_unit(plain));
    set->event[set->event_count++] = event;
    return 0;
}

static int count_events(const char *group)
{
    int count = 1;

    for (size_t length; group[length = event_length(group)] != '\0'; group += length + 1)
        count++;
    return count;
}

/* Add the group as one set, or if it is too large, as several sets of about equal size. */
static int add_group(struct rps_plan *plan, const char *group, struct rps_error *err)
{
    int left = count_events(group), sets = (left + RPS_SLOT_MAX - 1) / RPS_SLOT_MAX;
    const char *at = group;

    for (; sets > 0; sets--) {
        struct rps_event_set *set = rps_plan_add_set(plan);

        if (!set)
            return rps_error_memory(err);
        snprintf(set->name, sizeof(set->name), "set%d", plan->set_count);
        for (int share = (left + sets - 1) / sets; share > 0; share--, left--) {
            size_t length = event_length(at);
            int result = add_event(plan, group, at, length, err);

            if (result < 0)
                return result;
            at += length + (at[length] != '\0');
        }
    }
    return 0;
}

int rps_plan_from_events(const char *const *group, int count, struct rps_plan **ret,
                         struct rps_error *err)
{
    struct rps_plan *plan = rps_plan_new();
    int result = plan ? 0 : rps_error_memory(err);

    if (plan) {
        snprintf(plan->name, sizeof(plan->name), "events");
        snprintf(plan->title, sizeof(plan->title), "Events chosen with -e");
    }
    for (int i = 0; i < count && result == 0; i++)
        result = add_group(plan, group[i], err);
    if (result == 0) {
        *ret = plan;
        plan = NULL;
    }
    rps_plan_free(plan);
    return result;
}

/* --- --metric --------------------------------------------------------------------------------- */

struct lookup {
    struct rps_plan *plan;
    bool missing; /* True if a requested name was not found in the plan. */
};

static int look_up(void *context, const char *name)
{
    struct lookup *lookup = context;
    int operand = rps_plan_operand(lookup->plan, name);

    lookup->missing = operand < 0;
    return operand;
}

/* Append to an error message the names that formulas may use. */
static void add_names(const struct rps_plan *plan, struct rps_error *err)
{
    char names[320] = "", message[sizeof(err->message)];

    for (int i = 0; i < rps_plan_operand_count(plan); i++) {
        const char *name = rps_plan_operand_name(plan, i);

        if (*name)
            rps_text_list(names, sizeof(names), name);
    }
    memcpy(message, err->message, sizeof(message));
    rps_error_write(err, "%s; choose from %s", message, names);
}

static int add_metric(struct rps_plan *plan, struct rps_metric *metric, struct rps_error *err)
{
    struct lookup lookup = {.plan = plan};
    struct rps_metric *place;
    int result = rps_formula_compile(metric->formula_text, look_up, &lookup, &metric->formula, err);

    if (result < 0 && lookup.missing && err)
        add_names(plan, err);
    if (result < 0)
        return rps_error_prefix(err, result, "metric %s", metric->label);
    place = rps_plan_add_metric(plan);
    if (!place)
        return rps_error_memory(err);
    *place = *metric;
    return 0;
}

int rps_plan_add_formula(struct rps_plan *plan, const char *text, struct rps_error *err)
{
    const char *equals = strchr(text, '='), *name = text, *formula = equals ? equals + 1 : text;
    struct rps_metric metric = {.unit = ""};
    size_t name_length, length;

    name_length = equals ? (size_t)(equals - text) : 0;
    trim(&name, &name_length);
    length = strlen(formula);
    trim(&formula, &length);
    if (equals ? !rps_name_is_id(name, name_length) || name_length >= sizeof(metric.name)
               : rps_name_is_id(text, strlen(text)) || length == 0)
        return rps_error_set(err, RPS_USAGE,
                             "metric \"%s\" is not complete; write NAME=FORMULA with a NAME of "
                             "letters, digits and _, as in ipc=instructions/clock",
                             text);
    if (length >= sizeof(metric.formula_text))
        return rps_error_set(
            err, RPS_USAGE,
            "metric \"%.40s...\": its formula is longer than %zu characters; shorten it", text,
            sizeof(metric.formula_text) - 1);
    copy_part(metric.formula_text, sizeof(metric.formula_text), formula, length);
    if (equals) {
        copy_part(metric.name, sizeof(metric.name), name, name_length);
        memcpy(metric.label, metric.name, sizeof(metric.label));
    } else {
        make_id(metric.formula_text, metric.name);
        copy_part(metric.label, sizeof(metric.label), formula, length);
    }
    memcpy(metric.panel, metric.label, sizeof(metric.panel));
    snprintf(metric.explain, sizeof(metric.explain), "%s", metric.formula_text);
    if (rps_plan_metric(plan, metric.name) >= 0)
        return rps_error_set(
            err, RPS_USAGE, "there is already a metric named %s; choose another name", metric.name);
    return add_metric(plan, &metric, err);
}

/* --- rates ------------------------------------------------------------------------------------ */

static bool is_used(const struct rps_plan *plan, int operand)
{
    for (int i = 0; i < plan->metric_count; i++) {
        const struct rps_formula *formula = &plan->metric[i].formula;

        for (int step = 0; step < formula->step_count; step++) {
            if (formula->step[step].op == RPS_FORMULA_OPERAND &&
                formula->step[step].operand == operand)
                return true;
        }
    }
    return false;
}

static int add_rate(struct rps_plan *plan, const struct rps_event *event, struct rps_error *err)
{
    bool is_time = strcmp(event->unit, "ns") == 0;
    struct rps_metric metric = {.unit = ""};

    snprintf(metric.name, sizeof(metric.name), "%.50s_rate", event->name);
    for (int i = 2; rps_plan_metric(plan, metric.name) >= 0; i++)
        snprintf(metric.name, sizeof(metric.name), "%.45s_rate_%d", event->name, i);
    snprintf(metric.formula_text, sizeof(metric.formula_text),
             is_time ? "100 * '%s' / (seconds * 1000000000)" : "'%s' / seconds", event->name);
    memcpy(metric.label, event->label, sizeof(metric.label));
    memcpy(metric.family, event->family, sizeof(metric.family));
    snprintf(metric.unit, sizeof(metric.unit), is_time ? "%%" : "/s");
    snprintf(metric.panel, sizeof(metric.panel), "%.45s %s", event->label,
             is_time ? "(% of one CPU)" : "per second");
    snprintf(metric.explain, sizeof(metric.explain), "%s.",
             is_time ? "Share of elapsed time" : "Count per second of elapsed time");
    return add_metric(plan, &metric, err);
}

int rps_plan_add_rates(struct rps_plan *plan, struct rps_error *err)
{
    int result = 0;

    for (int n = 0; n < plan->set_count; n++) {
        for (int slot = 0; slot < plan->set[n].event_count && result == 0; slot++) {
            if (plan->set[n].event[slot].state == RPS_EVENT_MEASURED &&
                !is_used(plan, RPS_OPERAND_EVENTS + n * RPS_SLOT_MAX + slot))
                result = add_rate(plan, &plan->set[n].event[slot], err);
        }
    }
    return result;
}
