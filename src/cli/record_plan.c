/* Choosing the plan of a recording. */
#include "record.h"

#include <string.h>

static int is_scenario(const char *name)
{
    const char *const *row = rps_plan_scenarios();

    while (*row && strcmp(*row, name) != 0)
        row++;
    return *row != NULL;
}

static int load_sets(const struct rps_record_settings *settings, const struct rps_pmu *pmu,
                     struct rps_plan **ret, const char *note, struct rps_error *err)
{
    int rc = rps_pmu_load_plan(pmu, settings->sets, ret, err);

    if (rc == 0 && !settings->scenario)
        rps_plan_keep_default(*ret);
    if (rc < 0 || !settings->scenario)
        return rc;
    rc = rps_plan_select(*ret, settings->scenario, err);
    if (rc == RPS_USAGE && *note && !settings->sets && is_scenario(settings->scenario))
        rps_error_write(err,
                        "--scenario %s: %s; the kernel's own events have nothing for it: leave it "
                        "out, or record on a machine that has such counters",
                        settings->scenario, note);
    return rc;
}

int rps_record_plan_load(const struct rps_record_settings *settings, const struct rps_pmu *pmu,
                         struct rps_plan **ret, const char *note, struct rps_error *err)
{
    struct rps_plan *plan = NULL;
    int rc;

    if (settings->events.count > 0)
        rc = rps_plan_from_events(settings->events.text, settings->events.count, &plan, err);
    else
        rc = load_sets(settings, pmu, &plan, note, err);
    for (int i = 0; rc == 0 && i < settings->metric.count; i++)
        rc = rps_plan_add_formula(plan, settings->metric.text[i], err);
    if (rc == 0 && settings->events.count > 0)
        rc = rps_plan_add_rates(plan, err);
    if (rc < 0) {
        rps_plan_free(plan);
        return rc;
    }
    *ret = plan;
    return 0;
}
