/* Tests of fitting: the sets for the documents' events by number of counters, and by type of core.
 */
#include "measure/pmu_perf.h"

#include "rpistat/pmu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

/* --- a processor of so many counters beside that of the clock --------------------------------- */

static int choose_cycles(void *self, struct rps_event *clock, struct rps_error *err)
{
    (void)self;
    *clock = (struct rps_event){.name = "clock", .spec = "cycles"};
    return rps_event_resolve(clock, "/nowhere", err);
}

static int try_event(void *self, struct rps_event *event, struct rps_error *err)
{
    (void)self;
    return rps_event_resolve(event, "/nowhere", err);
}

static int fits(void *self, const struct rps_event *const *event, int count)
{
    (void)event;
    return count <= *(const int *)self;
}

static const struct rps_pmu counters_pmu = {
    .choose_clock = choose_cycles, .try_event = try_event, .fits = fits};

static void fit_plan(struct rps_plan *plan, int counters, int merge)
{
    struct rps_fitting fitting;
    struct rps_error err = {""};

    if (rps_pmu_prepare(&counters_pmu, &counters, plan, merge, &fitting, &err) != 0)
        fail_msg("%s", err.message);
}

/* Load the document and fit its sets to `counters` counters, without merging. */
static struct rps_plan *fit(const char *document, int counters, const char *sampled)
{
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};

    if (rps_plan_load(document, &plan, &err) != 0)
        fail_msg("%s", err.message);
    snprintf(plan->sampled, sizeof(plan->sampled), "%s", sampled);
    fit_plan(plan, counters, 0);
    return plan;
}

/* Return the events of a set ("": no such set). */
static const char *events_of(const struct rps_plan *plan, const char *name)
{
    static char text[512];

    text[0] = '\0';
    for (int n = 0; n < plan->set_count; n++) {
        for (int slot = 0; slot < plan->set[n].event_count; slot++) {
            if (strcmp(plan->set[n].name, name) == 0)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                         slot > 0 ? " " : "", plan->set[n].event[slot].name);
        }
    }
    return text;
}

/* The cycles of a set need no counter, because the clock event counts them. */
static void test_topdown_fits(void **state)
{
    static const struct {
        const char *plan;
        int counters;
        const char *set, *events;
    } rows[] = {
        {"intel-skylake", 8, "topdown",
         "td_cycles td_frontend td_issued td_retired td_recovery td_one_thread td_ticks"},
        {"intel-skylake", 4, "topdown.a", "td_cycles td_frontend td_issued td_retired td_recovery"},
        {"intel-skylake", 4, "topdown.b", "td_one_thread td_ticks"},
        {"intel-icelake", 8, "topdown",
         "td_slots td_frontend td_dropped td_backend td_retired td_clears"},
        {"intel-goldencove", 8, "topdown", "td_slots td_frontend td_dropped td_backend td_retired"},
        {"intel-lioncove", 10, "topdown", "td_slots td_frontend td_backend td_retired"},
        {"amd-zen4", 5, "topdown", "td_cycles td_frontend td_backend td_smt td_issued td_retired"},
        {"amd-zen5", 5, "topdown", "td_cycles td_frontend td_backend td_smt td_issued td_retired"},
        {"neoverse-v1", 6, "topdown",
         "td_cycles td_frontend td_backend td_issued td_retired td_mispredicts"},
        {"neoverse-n2", 6, "topdown",
         "td_cycles td_frontend td_backend td_issued td_retired td_mispredicts"},
    };

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(rows); i++) {
        struct rps_plan *plan = fit(rows[i].plan, rows[i].counters, "");

        assert_string_equal(events_of(plan, rows[i].set), rows[i].events);
        for (int m = 0; m < plan->metric_count; m++)
            assert_true(plan->metric[m].formula.step_count > 1); /* all metrics have their events */
        rps_plan_free(plan);
    }
}

/* The event that triggers samples needs a counter in addition to every set. An unknown sampling
 * event needs no counter. */
static void test_sampled_event(void **state)
{
    static const char *const five = "td_cycles td_frontend td_issued td_retired td_recovery";
    struct rps_plan *plan = fit("intel-skylake", 5, "cache-misses");

    (void)state;
    assert_string_equal(events_of(plan, "topdown.a"), five);
    rps_plan_free(plan);
    plan = fit("intel-skylake", 4, "cache-misses");
    assert_string_not_equal(events_of(plan, "topdown.a"), five);
    rps_plan_free(plan);
    plan = fit("intel-skylake", 4, "no-such-event");
    assert_string_equal(events_of(plan, "topdown.a"), five);
    rps_plan_free(plan);
}

/* --- software events -------------------------------------------------------------------------- */

/* Return the events of all sets for these groups of events, as in "a b | c". */
static const char *sets_of(const char *const *group, int count, int counters, int merge)
{
    static char text[512];
    struct rps_plan *plan = NULL;

    assert_int_equal(rps_plan_from_events(group, count, &plan, NULL), 0);
    fit_plan(plan, counters, merge);
    text[0] = '\0';
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            const struct rps_event *event = &plan->set[n].event[s];
            int first = rps_plan_operand(plan, event->name);

            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                     s > 0   ? " "
                     : n > 0 ? " | "
                             : "",
                     event->name);
            assert_int_equal(event->copy_of, rps_operand_set(first) < n ? first : 0);
        }
    }
    rps_plan_free(plan);
    return text;
}

/* Software events are counted in each set with hardware events, merged or not. Without hardware
 * events, software events rotate. */
static void test_software_events(void **state)
{
    static const char *const mixed[] = {"instructions,branches", "page-faults,context-switches",
                                        "cache-misses"};
    static const char *const alone[] = {"page-faults", "context-switches"};
    static const char *const large[] = {"instructions,branches,cache-misses,branch-misses",
                                        "page-faults,context-switches,cpu-migrations,minor-faults,"
                                        "major-faults"};

    (void)state;
    for (int merge = 0; merge < 2; merge++)
        assert_string_equal(sets_of(mixed, 3, 2, merge),
                            "instructions branches page_faults context_switches"
                            " | cache_misses page_faults context_switches");
    assert_string_equal(sets_of(mixed, 3, 3, 1),
                        "instructions branches cache_misses page_faults context_switches");
    assert_string_equal(sets_of(alone, 2, 2, 0), "page_faults | context_switches");
    assert_string_equal(sets_of(alone, 2, 2, 1), "page_faults context_switches");
    assert_string_equal(
        sets_of(large, 2, 6, 1),
        "instructions branches cache_misses page_faults context_switches cpu_migrations "
        "minor_faults "
        "major_faults | branch_misses page_faults context_switches cpu_migrations minor_faults "
        "major_faults"); /* a set has eight slots */
}

/* --- kinds of core ---------------------------------------------------------------------------- */

/* On Intel, the PMU of the big cores has the type of raw events, and raw event numbers are valid
 * only there. */
static void test_raw_events_on_intel(void **state)
{
    const struct rps_perf perf = {
        .core_count = 2,
        .core = {{.name = "cpu_atom", .type = 10}, {.name = "cpu_core", .type = RPS_EVENT_RAW}}};
    const struct rps_event raw = {.spec = "r600019c", .type = RPS_EVENT_RAW};
    const struct rps_event core = {.spec = "cpu_core/event=0xc0/", .type = RPS_EVENT_RAW};
    const struct rps_event atom = {.spec = "cpu_atom/event=0xc0/", .type = 10};
    const struct rps_event generic = {.spec = "cycles", .type = RPS_EVENT_HARDWARE};

    (void)state;
    assert_int_equal(rps_perf_counts_on(&perf, &raw, 0), 0);
    assert_int_equal(rps_perf_counts_on(&perf, &raw, 1), 1);
    assert_int_equal(rps_perf_counts_on(&perf, &core, 0), 0);
    assert_int_equal(rps_perf_counts_on(&perf, &core, 1), 1);
    assert_int_equal(rps_perf_counts_on(&perf, &atom, 0), 1);
    assert_int_equal(rps_perf_counts_on(&perf, &atom, 1), 0);
    assert_int_equal(rps_perf_counts_on(&perf, &generic, 0), 1);
    assert_int_equal(rps_perf_counts_on(&perf, &generic, 1), 1);
    assert_int_equal(rps_perf_event_on(&perf, &raw, 1).type, RPS_EVENT_RAW);
    assert_int_equal(rps_perf_needs_counter(&perf, &atom), 1);
}

/* On ARM, raw event numbers are valid for all types of core, because the architecture defines them.
 */
static void test_raw_events_on_arm(void **state)
{
    const struct rps_perf perf = {
        .core_count = 2,
        .core = {{.name = "armv8_cortex_a53", .type = 8}, {.name = "armv8_cortex_a72", .type = 9}}};
    const struct rps_event raw = {.spec = "r08", .type = RPS_EVENT_RAW};

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        assert_int_equal(rps_perf_counts_on(&perf, &raw, kind), 1);
        assert_int_equal(rps_perf_event_on(&perf, &raw, kind).type, 8 + kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topdown_fits),      cmocka_unit_test(test_sampled_event),
        cmocka_unit_test(test_software_events),   cmocka_unit_test(test_raw_events_on_intel),
        cmocka_unit_test(test_raw_events_on_arm),
    };

    return cmocka_run_group_tests_name("fitting", tests, NULL, NULL);
}
