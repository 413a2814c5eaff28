/* The table of backends, the choice of a backend, and the code that fits a plan to its counters. */
#include "rpistat/pmu.h"
#include "rpistat/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct rps_pmu *const rps_pmus[] = {&rps_pmu_hardware, &rps_pmu_software, NULL};

/* Maximum number of counters that the search tries. */
#define COUNTER_MAX 16

#define CPUINFO "/proc/cpuinfo"

/* --- choosing --------------------------------------------------------------------------------- */

static int open_best(const struct rps_pmu **ret_pmu, void **ret_self, char *note, size_t size,
                     struct rps_error *err)
{
    int rc = RPS_FAILED;

    if (size > 0)
        note[0] = '\0';
    for (int i = 0; rps_pmus[i]; i++) {
        size_t used = strlen(note);

        rc = rps_pmus[i]->open(ret_self, NULL, err);
        if (rc == 0) {
            *ret_pmu = rps_pmus[i];
            return 0;
        }
        if (err)
            snprintf(note + used, size - used, "%s%s", used ? "\n" : "", err->message);
    }
    return rc;
}

/* Find the backend with a name of `length` letters. Returns NULL if there is none. */
static const struct rps_pmu *find_backend(const struct rps_pmu *const *pmu, const char *name,
                                          size_t length)
{
    for (; pmu && *pmu; pmu++) {
        if (strlen((*pmu)->name) == length && strncmp((*pmu)->name, name, length) == 0)
            return *pmu;
    }
    return NULL;
}

/* Append ", NAME" for each backend. If is_end is 1, append " and NAME" for the last backend. */
static void list_backends(const struct rps_pmu *const *pmu, int is_end, char *ret, size_t size)
{
    for (; pmu && *pmu; pmu++) {
        size_t used = strlen(ret);

        snprintf(ret + used, size - used, "%s%s", is_end && !pmu[1] ? " and " : ", ",
                 (*pmu)->usage ? (*pmu)->usage : (*pmu)->name);
    }
}

int rps_pmu_open(const char *choice, const struct rps_pmu *const *others,
                 const struct rps_pmu **ret_pmu, void **ret_self, char *note, size_t size,
                 struct rps_error *err)
{
    const char *colon = strchr(choice, ':');
    size_t length = colon ? (size_t)(colon - choice) : strlen(choice);
    const struct rps_pmu *pmu = find_backend(rps_pmus, choice, length);
    char known[128] = "auto";
    int rc;

    if (strcmp(choice, "auto") == 0)
        return open_best(ret_pmu, ret_self, note, size, err);
    if (size > 0)
        note[0] = '\0';
    if (!pmu && !(pmu = find_backend(others, choice, length))) {
        list_backends(rps_pmus, !others, known, sizeof(known));
        list_backends(others, 1, known, sizeof(known));
        return rps_error_set(err, RPS_USAGE, "--pmu %s: no such counters; choose from %s", choice,
                             known);
    }
    rc = pmu->open(ret_self, colon ? colon + 1 : NULL, err);
    if (rc == 0)
        *ret_pmu = pmu;
    return rc;
}

int rps_pmu_load_plan(const struct rps_pmu *pmu, const char *sets, struct rps_plan **ret,
                      struct rps_error *err)
{
    int hardware = pmu == &rps_pmu_hardware, rc;
    struct rps_plan *plan = NULL;
    struct rps_error why;

    if (!sets)
        sets = hardware ? rps_plan_for_cpu(CPUINFO) : pmu->default_plan;
    if ((rc = rps_plan_load(sets, &plan, err)) < 0)
        return rc;
    if (hardware && !rps_plan_matches(plan, CPUINFO, &why)) {
        rps_plan_free(plan);
        return rps_error_set(err, RPS_FAILED,
                             "%s; leave out the name to count this machine's events", why.message);
    }
    *ret = plan;
    return 0;
}

/* --- fitting ---------------------------------------------------------------------------------- */

struct fit {
    const struct rps_pmu *pmu;
    void *self;
    struct rps_fitting *fitting;
    int hardware_count;            /* number of measured events except software events */
    struct rps_event_set software; /* software events, which are counted with each set */
    struct rps_event sampled;      /* event for samples, in state `measured`, or no event */
};

static void __attribute__((format(printf, 2, 3))) say(struct fit *fit, const char *format, ...)
{
    char *text = fit->fitting->text;
    size_t used = strlen(text), size = sizeof(fit->fitting->text);
    va_list args;

    if (used + 2 >= size)
        return;
    if (used > 0)
        text[used++] = '\n';
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

static int set_fits(struct fit *fit, const struct rps_event_set *set)
{
    const struct rps_event *event[RPS_SLOT_MAX + 1];
    int count = 0;

    for (int s = 0; s < set->event_count; s++)
        if (set->event[s].state == RPS_EVENT_MEASURED && !set->event[s].by_clock)
            event[count++] = &set->event[s];
    if (count > 0 && fit->sampled.state == RPS_EVENT_MEASURED)
        event[count++] = &fit->sampled;
    return set->event_count + fit->software.event_count <= RPS_SLOT_MAX &&
           (count == 0 || fit->pmu->fits(fit->self, event, count));
}

/* Count the programmable counters in addition to the clock event, by trying copies of an event. If
 * the plan has a branch event, the search uses copies of it, because some processors have a
 * separate counter for instructions. The search begins with the number of events that have already
 * fitted together, and needs two or three tries. */
static int count_counters(struct fit *fit, const struct rps_plan *plan)
{
    const struct rps_event *probe = rps_plan_role(plan, "branches", NULL, NULL);
    const struct rps_event *event[COUNTER_MAX + 1];
    int count = 1;

    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++)
            if (plan->set[n].event[s].state == RPS_EVENT_MEASURED &&
                (!probe || probe->state != RPS_EVENT_MEASURED))
                probe = &plan->set[n].event[s];
        if (plan->set[n].event_count > count)
            count = plan->set[n].event_count;
    }
    if (!probe || probe->state != RPS_EVENT_MEASURED)
        return -1;
    for (int i = 0; i <= COUNTER_MAX; i++)
        event[i] = probe;
    while (count > 0 && !fit->pmu->fits(fit->self, event, count))
        count--;
    while (count <= COUNTER_MAX && fit->pmu->fits(fit->self, event, count + 1))
        count++;
    return count <= COUNTER_MAX ? count : -1;
}

/* Try every event. At least one event must be countable. */
static int try_events(struct fit *fit, struct rps_plan *plan, int *ret_measured,
                      struct rps_error *err)
{
    struct rps_error first = {""};
    int measured = 0;

    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            struct rps_event *event = &plan->set[n].event[s];
            int rc = fit->pmu->try_event(fit->self, event, err);

            if (rc < 0)
                return rc;
            if (event->state == RPS_EVENT_MEASURED) {
                measured++;
                fit->hardware_count += !rps_event_is_software(event);
                continue;
            }
            if (!first.message[0])
                rps_error_set(&first, RPS_FAILED, "nothing can be counted: %s: %s", event->spec,
                              event->reason);
        }
    }
    *ret_measured = measured;
    if (measured == 0) {
        if (err)
            *err = first;
        return RPS_FAILED;
    }
    return 0;
}

/* Let plan events that equal the clock event use its count, so that they take no counter. Example:
 * `-e cycles,instructions` on a processor with two counters. */
static void use_clock(struct rps_plan *plan)
{
    for (int n = 0; n < plan->set_count; n++)
        for (int s = 0; s < plan->set[n].event_count; s++) {
            struct rps_event *event = &plan->set[n].event[s];

            event->by_clock =
                event->state == RPS_EVENT_MEASURED && event->type == plan->clock.type &&
                event->config == plan->clock.config && event->config1 == plan->clock.config1 &&
                event->config2 == plan->clock.config2 &&
                strcmp(event->modifiers, plan->clock.modifiers) == 0;
        }
}

/* Give a lone clock event a counter, which shows for how long the set was active. */
static void keep_lone_clocks(struct rps_plan *plan)
{
    for (int n = 0; n < plan->set_count; n++) {
        struct rps_event_set *set = &plan->set[n];
        int others = 0;

        for (int s = 0; s < set->event_count; s++)
            others += set->event[s].state == RPS_EVENT_MEASURED && !set->event[s].by_clock;
        for (int s = 0; others == 0 && s < set->event_count; s++)
            set->event[s].by_clock = 0;
    }
}

static void append_events(struct rps_event_set *into, const struct rps_event_set *set)
{
    memcpy(&into->event[into->event_count], set->event,
           (size_t)set->event_count * sizeof(set->event[0]));
    into->event_count += set->event_count;
}

/* Append to a text of `size` bytes, with a separator if the text is not empty. */
static void append_text(char *text, size_t size, const char *separator, const char *more)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%s%s", used ? separator : "", more);
}

/* Return 1 if two sets may be joined. Events that are not measured need no counter. With `merge`
 * they may fill any set that has a free slot. */
static int joins(struct fit *fit, const struct rps_event_set *into, const struct rps_event_set *set)
{
    struct rps_event_set joined = *into;

    if (into->event_count + set->event_count > RPS_SLOT_MAX)
        return 0;
    append_events(&joined, set);
    return set_fits(fit, &joined);
}

/* Add a set to the fitted plan. Split the set if its events cannot be counted together. */
static int add_split(struct fit *fit, struct rps_plan *fitted, const struct rps_event_set *set,
                     struct rps_error *err)
{
    struct rps_event_set part = {.event_count = 0};
    int parts = 0;

    for (int s = 0; s <= set->event_count; s++) {
        struct rps_event_set one = {.event_count = 1, .event = {set->event[s % set->event_count]}};

        if (part.event_count > 0 && (s == set->event_count || !joins(fit, &part, &one))) {
            struct rps_event_set *added = rps_plan_add_set(fitted);

            if (!added)
                return rps_error_memory(err);
            *added = part;
            snprintf(added->explain, sizeof(added->explain), "%s", set->explain);
            snprintf(added->name, sizeof(added->name), "%.*s.%c", RPS_NAME_SIZE - 3, set->name,
                     'a' + parts++);
            part.event_count = 0;
        }
        if (s < set->event_count) {
            part.event[part.event_count] = set->event[s];
            part.event_count++;
        }
    }
    say(fit, "event set %s was split into %d, because its events need more counters than there are",
        set->name, parts);
    return 0;
}

/* Rebuild the plan's sets: join sets in order while they fit, and split sets that do not fit. */
static int arrange_sets(struct fit *fit, struct rps_plan *plan, int merge, struct rps_error *err)
{
    struct rps_plan *fitted = rps_plan_new();
    int before = plan->set_count, rc = 0;

    if (!fitted)
        return rps_error_memory(err);
    for (int n = 0; rc == 0 && n < plan->set_count; n++) {
        const struct rps_event_set *set = &plan->set[n];
        struct rps_event_set *last = fitted->set_count ? &fitted->set[fitted->set_count - 1] : NULL;

        if (merge && last && joins(fit, last, set)) {
            append_events(last, set);
            append_text(last->name, sizeof(last->name), "+", set->name);
            append_text(last->explain, sizeof(last->explain), set->explain[0] ? " " : "",
                        set->explain);
        } else if (set_fits(fit, set)) {
            last = rps_plan_add_set(fitted);
            if (last)
                *last = *set;
            else
                rc = rps_error_memory(err);
        } else {
            rc = add_split(fit, fitted, set, err);
        }
    }
    if (rc == 0) {
        struct rps_event_set *old = plan->set;

        plan->set = fitted->set;
        plan->set_count = fitted->set_count;
        fitted->set = old;
        fitted->set_count = before;
        if (plan->set_count < before)
            say(fit, "%d event sets were merged into %d, because there are enough counters", before,
                plan->set_count);
    }
    rps_plan_free(fitted);
    return rc;
}

/* Drop sets without countable events, which would only waste periods. Events of a dropped set move
 * to the end of a set with free slots. If no set has free slots, the set is not dropped. */
static void drop_idle_sets(struct rps_plan *plan)
{
    for (int n = plan->set_count - 1; n >= 0; n--) {
        struct rps_event_set *set = &plan->set[n];
        int measured = 0, target = -1;

        for (int s = 0; s < set->event_count; s++)
            measured += set->event[s].state == RPS_EVENT_MEASURED;
        if (measured > 0)
            continue;
        for (int m = 0; m < plan->set_count && target < 0; m++)
            if (m != n && plan->set[m].event_count + set->event_count <= RPS_SLOT_MAX)
                target = m;
        if (target < 0)
            continue;
        append_events(&plan->set[target], set);
        memmove(set, set + 1, (size_t)(plan->set_count - n - 1) * sizeof(*set));
        plan->set_count--;
    }
}

/* Remove software events from the sets of a plan that also counts hardware events. Software events
 * need no counter, and are counted with each set. Two slots are reserved for hardware events. */
static void take_software(struct fit *fit, struct rps_plan *plan)
{
    for (int n = 0; n < plan->set_count && fit->hardware_count > 0; n++) {
        const struct rps_event_set old = plan->set[n];

        plan->set[n].event_count = 0;
        for (int s = 0; s < old.event_count; s++) {
            int is_software = old.event[s].state == RPS_EVENT_MEASURED &&
                              rps_event_is_software(&old.event[s]) &&
                              fit->software.event_count < RPS_SLOT_MAX - 2;
            struct rps_event_set *to = is_software ? &fit->software : &plan->set[n];

            to->event[to->event_count++] = old.event[s];
        }
    }
}

/* Find the event for samples. If the event cannot be sampled, opening the sampler reports why. */
static void find_sampled(struct fit *fit, const char *spec)
{
    struct rps_event event = {.name = "sampled"};

    snprintf(event.spec, sizeof(event.spec), "%s", spec);
    if (spec[0] && fit->pmu->try_event(fit->self, &event, NULL) == 0)
        fit->sampled = event;
}

int rps_pmu_prepare(const struct rps_pmu *pmu, void *self, struct rps_plan *plan, int merge,
                    struct rps_fitting *ret, struct rps_error *err)
{
    struct rps_fitting fitting = {.counter_count = -1};
    struct fit fit = {pmu, self, &fitting, .sampled = {.state = RPS_EVENT_UNSUPPORTED}};
    int measured = 0, rc;

    find_sampled(&fit, plan->sampled);
    if ((rc = pmu->choose_clock(self, &plan->clock, err)) < 0 ||
        (rc = try_events(&fit, plan, &measured, err)) < 0)
        return rc;
    take_software(&fit, plan);
    drop_idle_sets(plan);
    use_clock(plan);
    if ((rc = arrange_sets(&fit, plan, merge, err)) < 0)
        return rc;
    for (int n = 0; n < plan->set_count; n++)
        append_events(&plan->set[n], &fit.software);
    if (fit.software.event_count > 0 && plan->set_count > 1)
        say(&fit, "software events are counted all the time, in addition to each event set");
    if ((rc = rps_plan_compile(plan, err)) < 0)
        return rc;
    keep_lone_clocks(plan);
    fitting.counter_count = count_counters(&fit, plan);
    *ret = fitting;
    return 0;
}
