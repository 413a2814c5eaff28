/* Choose the events that a program counts in its own regions. The backends of recordings choose the
 * events, so a program counts what a recording on this machine would count, under the same names. A
 * recording rotates sets that cannot be counted together; regions cannot, because a region may last
 * only a microsecond. Therefore, only the first set is counted, after the sets were fitted to the
 * counters. The author of the program should put the most important set first in the set file. */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/plan.h"
#include "rpistat/pmu.h"

void rps_choice_complain(struct rps_region_choice *choice, const char *format, ...)
{
    size_t used = strlen(choice->problem), size = sizeof(choice->problem);
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (line[0] != '\0' && used + 1 + strlen(line) < size)
        snprintf(choice->problem + used, size - used, "%s%s", used > 0 ? "\n" : "", line);
}

/* Return the first set with an event to count; -1: none. */
static int first_set(const struct rps_plan *plan)
{
    for (int n = 0; n < plan->set_count; n++)
        for (int s = 0; s < plan->set[n].event_count; s++)
            if (plan->set[n].event[s].state == RPS_EVENT_MEASURED)
                return n;
    return -1;
}

/* For each event that is not counted, set the reason. */
static void leave_out(struct rps_region_choice *choice)
{
    const struct rps_event_set *chosen = &choice->plan->set[choice->set];

    for (int s = 0; s < chosen->event_count; s++)
        if (chosen->event[s].state != RPS_EVENT_MEASURED)
            rps_choice_complain(choice, "%s is not counted: %s", chosen->event[s].label,
                                chosen->event[s].reason);
    for (int n = 0; n < choice->plan->set_count; n++) {
        struct rps_event_set *set = &choice->plan->set[n];

        if (n == choice->set)
            continue;
        rps_choice_complain(choice,
                            "event set %s is not counted: it does not fit on the counters together "
                            "with %s",
                            set->name, chosen->name);
        for (int s = 0; s < set->event_count; s++) {
            struct rps_event *event = &set->event[s];

            if (event->state != RPS_EVENT_MEASURED)
                continue;
            event->state = RPS_EVENT_UNSUPPORTED;
            snprintf(event->reason, sizeof(event->reason),
                     "it does not fit on the counters together with %s", chosen->name);
        }
    }
}

int rps_choice_make(struct rps_region_choice *ret, const char *sets)
{
    const struct rps_pmu *pmu = NULL;
    struct rps_fitting fitting;
    struct rps_error err;
    char note[1024];
    void *self = NULL;
    int rc;

    memset(ret, 0, sizeof(*ret));
    if ((rc = rps_pmu_open("auto", NULL, &pmu, &self, note, sizeof(note), &err)) < 0)
        goto fail;
    if (!sets)
        rps_choice_complain(ret, "%s", note);
    if ((rc = rps_pmu_load_plan(pmu, sets, &ret->plan, &err)) < 0)
        goto fail;
    rps_plan_keep_default(ret->plan);
    if ((rc = rps_pmu_prepare(pmu, self, ret->plan, 1, &fitting, &err)) < 0)
        goto fail;
    pmu->close(self);
    ret->set = first_set(ret->plan);
    leave_out(ret);
    return 0;
fail:
    if (pmu)
        pmu->close(self);
    rps_plan_free(ret->plan);
    ret->plan = NULL;
    rps_choice_complain(ret, "%s", err.message);
    return rc;
}

void rps_choice_free(struct rps_region_choice *choice)
{
    rps_plan_free(choice->plan);
    choice->plan = NULL;
}
