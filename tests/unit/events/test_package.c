/* Tests of package events: the sysfs of a server with two packages as in Linux, and errors in the
 * sysfs. A sum has no count if one of its parts is unknown. */
#include "tree.h"

#include "rpistat/package.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define DEVICES "bus/event_source/devices"

static const struct tree_entry sysfs[] = {
    {DEVICES "/power/type", "24\n"},
    {DEVICES "/power/cpumask", "0,18\n"},
    {DEVICES "/power/format/event", "config:0-7\n"},
    {DEVICES "/power/events/energy-pkg", "event=0x02\n"},
    {DEVICES "/power/events/energy-pkg.unit", "Joules\n"},
    {DEVICES "/power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n"},
    {DEVICES "/uncore_imc_0/type", "30\n"},
    {DEVICES "/uncore_imc_0/cpumask", "0,18\n"},
    {DEVICES "/uncore_imc_0/format/event", "config:0-7\n"},
    {DEVICES "/uncore_imc_0/format/umask", "config:8-15\n"},
    {DEVICES "/uncore_imc_0/events/cas_count_read", "event=0x04,umask=0x03\n"},
    {DEVICES "/uncore_imc_0/events/cas_count_read.unit", "MiB\n"},
    {DEVICES "/uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5\n"},
    {DEVICES "/uncore_imc_10/type", "31\n"},
    {DEVICES "/uncore_imc_10/cpumask", "0-1,18\n"},
    {DEVICES "/uncore_imc_10/format/event", "config:0-7\n"},
    {DEVICES "/uncore_imc_10/format/umask", "config:8-15\n"},
    {DEVICES "/uncore_imc_10/events/cas_count_read", "event=0x04,umask=0x03\n"},
    {DEVICES "/uncore_imc_10/events/cas_count_read.unit", "MiB\n"},
    {DEVICES "/uncore_imc_10/events/cas_count_read.scale", "6.103515625e-5\n"},
    {DEVICES "/uncore_imc_free_running_0/type", "32\n"},
    {DEVICES "/uncore_imc_free_running_0/cpumask", "0\n"},
    {DEVICES "/msr/type", "9\n"},
    {DEVICES "/msr/events/tsc", "event=0x00\n"},
    {DEVICES "/msr/format/event", "config:0-63\n"},
};

static int set_up(void **state)
{
    return tree_set_up(state, sysfs, RPS_COUNT(sysfs));
}

static void test_energy(void **state)
{
    struct rps_package_search search = {
        .sys = *state, .pmu = "power", .name = "energy-pkg", .unit = "Joules"};
    struct rps_package_event event;
    struct rps_error err = {""};

    assert_int_equal(rps_package_next(&search, &event, &err), 1);
    assert_int_equal(event.event.type, 24);
    assert_int_equal(event.event.config, 2);
    assert_int_equal(event.event.state, RPS_EVENT_MEASURED);
    assert_true(event.scale == 0x1p-32);
    assert_int_equal(event.cpu_count, 2);
    assert_int_equal(event.cpu[0], 0);
    assert_int_equal(event.cpu[1], 18);
    assert_int_equal(rps_package_next(&search, &event, &err), 0);
}

/* Find each PMU that matches the pattern and has the event, in alphabetical order. */
static void test_pattern(void **state)
{
    struct rps_package_search search = {
        .sys = *state, .pmu = "uncore_imc*", .name = "cas_count_read", .unit = "MiB"};
    struct rps_package_event event;
    struct rps_error err = {""};

    assert_int_equal(rps_package_next(&search, &event, &err), 1);
    assert_string_equal(search.last, "uncore_imc_0");
    assert_int_equal(event.event.type, 30);
    assert_int_equal(event.event.config, 0x304);
    assert_true(event.scale == 64. / (1 << 20));
    assert_int_equal(rps_package_next(&search, &event, &err), 1);
    assert_string_equal(search.last, "uncore_imc_10");
    assert_int_equal(event.cpu_count, 3);
    assert_int_equal(event.cpu[1], 1);
    assert_int_equal(rps_package_next(&search, &event, &err), 0);
}

static void test_none(void **state)
{
    struct rps_package_search none = {.sys = *state, .pmu = "nest*", .name = "x", .unit = "MiB"};
    struct rps_package_search other = {
        .sys = *state, .pmu = "power", .name = "energy-ram", .unit = "Joules"};
    struct rps_package_search nowhere = {
        .sys = "/nowhere", .pmu = "power", .name = "energy-pkg", .unit = "Joules"};
    struct rps_package_event event;
    struct rps_error err = {""};

    assert_int_equal(rps_package_next(&none, &event, &err), 0);
    assert_int_equal(rps_package_next(&other, &event, &err), 0);
    assert_int_equal(rps_package_next(&nowhere, &event, &err), 0);
}

/* An event is not counted, with an error message, if a file in sysfs is missing or malformed. */
static void test_broken(void **state)
{
    static const struct {
        const char *file, *text, *why;
    } broken[] = {
        {"/power/cpumask", NULL, "PMU power has no file cpumask, which names its CPUs"},
        {"/power/cpumask", "\n", "PMU power has no file cpumask, which names its CPUs"},
        {"/power/cpumask", "0-\n", "PMU power has no file cpumask, which names its CPUs"},
        {"/power/cpumask", "1-0\n", "PMU power has no file cpumask, which names its CPUs"},
        {"/power/cpumask", "0,\n", "PMU power has no file cpumask, which names its CPUs"},
        {"/power/cpumask", "ffff\n", "PMU power has no file cpumask, which names its CPUs"},
        {"/power/cpumask", "0-999999\n", "PMU power has no file cpumask, which names its CPUs"},
        {"/power/events/energy-pkg.unit", NULL, "power/energy-pkg/ does not have the unit Joules"},
        {"/power/events/energy-pkg.unit", "mJ\n",
         "power/energy-pkg/ does not have the unit Joules"},
        {"/power/events/energy-pkg.scale", NULL, "power/energy-pkg/ has no scale"},
        {"/power/events/energy-pkg.scale", "0\n", "power/energy-pkg/ has no scale"},
        {"/power/events/energy-pkg.scale", "-1\n", "power/energy-pkg/ has no scale"},
        {"/power/events/energy-pkg.scale", "1e999\n", "power/energy-pkg/ has no scale"},
        {"/power/events/energy-pkg.scale", "many\n", "power/energy-pkg/ has no scale"},
        {"/power/type", "\n", NULL},
        {"/power/events/energy-pkg", "event=0x100\n", NULL},
        {"/power/events/energy-pkg", "other=1\n", NULL},
    };

    for (size_t i = 0; i < RPS_COUNT(broken); i++) {
        struct rps_package_search search = {
            .sys = *state, .pmu = "power", .name = "energy-pkg", .unit = "Joules"};
        struct rps_package_event event;
        struct rps_error err = {""};
        char path[512];

        for (size_t k = 0; k < RPS_COUNT(sysfs); k++)
            tree_file(*state, sysfs[k].path, sysfs[k].text);
        snprintf(path, sizeof(path), "%s/" DEVICES "%s", (const char *)*state, broken[i].file);
        tree_remove(path);
        if (broken[i].text)
            tree_file(*state, path + strlen(*state) + 1, broken[i].text);
        assert_int_equal(rps_package_next(&search, &event, &err), RPS_FAILED);
        assert_in_range(strlen(err.message), 1, 200);
        if (broken[i].why)
            assert_string_equal(err.message, broken[i].why);
    }
}

/* Package events are refused in event sets. Events of other PMUs are accepted. */
static void test_refused(void **state)
{
    static const char *const specs[] = {"power/energy-pkg/", "uncore_imc_0/event=0x04/",
                                        "uncore_imc*/cas_count_read/"};
    struct rps_event event;
    struct rps_error err = {""};

    for (size_t i = 0; i < RPS_COUNT(specs); i++) {
        memset(&event, 0, sizeof(event));
        strcpy(event.spec, specs[i]);
        assert_int_equal(rps_event_resolve(&event, *state, &err), 0);
        assert_int_equal(event.state, RPS_EVENT_UNSUPPORTED);
        assert_string_equal(
            event.reason,
            "it counts the whole package, not a program; use record -a, which also reads energy "
            "and memory traffic of packages");
    }
    memset(&event, 0, sizeof(event));
    strcpy(event.spec, "msr/tsc/");
    assert_int_equal(rps_event_resolve(&event, *state, &err), 0);
    assert_int_equal(event.state, RPS_EVENT_MEASURED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_energy, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_pattern, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_none, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_broken, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tree_tear_down),
    };

    return cmocka_run_group_tests_name("package", tests, NULL, NULL);
}
