/* Tests of resolution: generic names, roles, and PMUs and tracepoints of a simulated sysfs. */
#include "tree.h"

#include "events/resolve.h"

#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a sysfs ---------------------------------------------------------------------------------- */

#define DEVICES "bus/event_source/devices"

static const struct tree_entry sysfs[] = {
    {DEVICES "/msr/type", "9\n"},
    {DEVICES "/msr/events/tsc", "event=0x00\n"},
    {DEVICES "/msr/events/smi", "event=0x04"},
    {DEVICES "/msr/format/event", "config:0-63\n"},
    {DEVICES "/cpu/type", "4\n"},
    {DEVICES "/cpu/format/event", "config:0-7,32-35\n"},
    {DEVICES "/cpu/format/umask", "config:8-15\n"},
    {DEVICES "/cpu/format/edge", "config:18\n"},
    {DEVICES "/cpu/format/ldlat", "config1:0-15\n"},
    {DEVICES "/cpu/format/frontend", "config2:4-7\n"},
    {DEVICES "/cpu/format/odd", "config9:0\n"},
    {DEVICES "/cpu/format/backward", "config:7-0\n"},
    {DEVICES "/cpu/format/wide", "config:60-64\n"},
    {DEVICES "/cpu/format/empty", "\n"},
    {DEVICES "/cpu/events/branch-misses", "event=0xc5,umask=0x3\n"},
    {DEVICES "/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=?\n"},
    {DEVICES "/cpu/events/loop", "loop\n"},
    {DEVICES "/broken/type", "many\n"},
    {DEVICES "/armv8_pmuv3_1/type", "11\n"},
    {DEVICES "/armv8_cortex_a53/type", "12\n"},
    {DEVICES "/armv8_cortex_a53/format/event", "config:0-15\n"},
    {DEVICES "/armv8_cortex_a53/events/l1d_cache", "event=0x0004\n"},
    {"kernel/tracing/events/sched/sched_switch/id", "316\n"},
    {"kernel/debug/tracing/events/old/place/id", "77\n"},
    {"kernel/tracing/events/odd/none/id", "x\n"},
};

static void remove_below(const char *root, const char *path)
{
    char name[1024];

    snprintf(name, sizeof(name), "%s/%s", root, path);
    tree_remove(name);
}

static int set_up(void **state)
{
    return tree_set_up(state, sysfs, RPS_COUNT(sysfs));
}

static int resolve(const char *sys, const char *spec, struct rps_event *ret, struct rps_error *err)
{
    memset(ret, 0, sizeof(*ret));
    snprintf(ret->spec, sizeof(ret->spec), "%s", spec);
    /* config1 may have a value from an earlier resolution */
    ret->config1 = 99;
    ret->state = RPS_EVENT_UNSUPPORTED;
    snprintf(ret->reason, sizeof(ret->reason), "old");
    return rps_event_resolve(ret, sys, err);
}

/* --- what is found ---------------------------------------------------------------------------- */

static const struct {
    const char *spec;
    uint32_t type;
    uint64_t config, config1, config2;
    const char *modifiers;
} found[] = {
    {"cycles", RPS_EVENT_HARDWARE, 0, 0, 0, ""},
    {"cpu-cycles:u", RPS_EVENT_HARDWARE, 0, 0, 0, "u"},
    {"instructions:k", RPS_EVENT_HARDWARE, 1, 0, 0, "k"},
    {"branch-instructions:uk", RPS_EVENT_HARDWARE, 4, 0, 0, "uk"},
    {"branches:ku", RPS_EVENT_HARDWARE, 4, 0, 0, "uk"},
    {"branch-misses", RPS_EVENT_HARDWARE, 5, 0, 0, ""},
    {"idle-cycles-frontend", RPS_EVENT_HARDWARE, 7, 0, 0, ""},
    {"stalled-cycles-backend", RPS_EVENT_HARDWARE, 8, 0, 0, ""},
    {"ref-cycles", RPS_EVENT_HARDWARE, 9, 0, 0, ""},
    {"task-clock", RPS_EVENT_SOFTWARE, 1, 0, 0, ""},
    {"faults", RPS_EVENT_SOFTWARE, 2, 0, 0, ""},
    {"cs", RPS_EVENT_SOFTWARE, 3, 0, 0, ""},
    {"migrations", RPS_EVENT_SOFTWARE, 4, 0, 0, ""},
    {"minor-faults:u", RPS_EVENT_SOFTWARE, 5, 0, 0, "u"},
    {"major-faults", RPS_EVENT_SOFTWARE, 6, 0, 0, ""},
    {"cgroup-switches", RPS_EVENT_SOFTWARE, 11, 0, 0, ""},
    {"L1-dcache-loads", RPS_EVENT_HW_CACHE, 0x00000, 0, 0, ""},
    {"L1-dcache-load-misses", RPS_EVENT_HW_CACHE, 0x10000, 0, 0, ""},
    {"L1-icache-load-misses", RPS_EVENT_HW_CACHE, 0x10001, 0, 0, ""},
    {"LLC-stores", RPS_EVENT_HW_CACHE, 0x00102, 0, 0, ""},
    {"dTLB-store-misses:u", RPS_EVENT_HW_CACHE, 0x10103, 0, 0, "u"},
    {"iTLB-loads", RPS_EVENT_HW_CACHE, 0x00004, 0, 0, ""},
    {"branch-load-misses", RPS_EVENT_HW_CACHE, 0x10005, 0, 0, ""},
    {"node-prefetch-misses", RPS_EVENT_HW_CACHE, 0x10206, 0, 0, ""},
    {"r0b", RPS_EVENT_RAW, 0x0b, 0, 0, ""},
    {"rC0DE:u", RPS_EVENT_RAW, 0xc0de, 0, 0, "u"},
    {"rffffffffffffffff", RPS_EVENT_RAW, UINT64_MAX, 0, 0, ""},
    {"msr/tsc/", 9, 0, 0, 0, ""},
    {"msr/tsc/:u", 9, 0, 0, 0, "u"},
    {"msr/smi/k", 9, 4, 0, 0, "k"},
    {"msr/event=0xffffffffffffffff/", 9, UINT64_MAX, 0, 0, ""},
    {"cpu/event=0x3c,umask=0x1/", 4, 0x13c, 0, 0, ""},
    {"cpu/event=0xabc/", 4, UINT64_C(0xa000000bc), 0, 0, ""},
    {"cpu/event=60,edge/", 4, 0x4003c, 0, 0, ""},
    {"cpu/event=1,edge=0,ldlat=3,frontend=0xf/", 4, 1, 3, 0xf0, ""},
    {"cpu/branch-misses/", 4, 0x3c5, 0, 0, ""},
    {"cpu/branch-misses,umask=0x8/", 4, 0x8c5, 0, 0, ""},
    {"cpu/mem-loads,ldlat=30/u", 4, 0x1cd, 30, 0, "u"},
    {"cpu/config=0x7,config1=8,config2=9/", 4, 7, 8, 9, ""},
    {"cpu//", 4, 0, 0, 0, ""},
    {"armv8_*/l1d_cache/", 12, 4, 0, 0, ""},
    {"armv8*/event=0x11/u", 12, 0x11, 0, 0, "u"},
    {"m*r/tsc/", 9, 0, 0, 0, ""},
    {"sched:sched_switch", RPS_EVENT_TRACEPOINT, 316, 0, 0, ""},
    {"sched:sched_switch:u", RPS_EVENT_TRACEPOINT, 316, 0, 0, "u"},
    {"old:place", RPS_EVENT_TRACEPOINT, 77, 0, 0, ""},
};

static void test_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < RPS_COUNT(found); i++) {
        struct rps_event event;
        struct rps_error err = {""};

        if (resolve(*state, found[i].spec, &event, &err) != 0)
            fail_msg("%s", err.message);
        if (event.type != found[i].type || event.config != found[i].config ||
            event.config1 != found[i].config1 || event.config2 != found[i].config2)
            fail_msg("%s is %u, 0x%llx, 0x%llx, 0x%llx", event.spec, event.type,
                     (unsigned long long)event.config, (unsigned long long)event.config1,
                     (unsigned long long)event.config2);
        assert_string_equal(event.modifiers, found[i].modifiers);
        assert_int_equal(event.state, RPS_EVENT_MEASURED);
        assert_string_equal(event.reason, "");
    }
}

/* Each cache event has a unique number. */
static void test_cache_events(void **state)
{
    static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                         "iTLB",      "branch",    "node"};
    static const char *const operations[] = {"load", "store", "prefetch"};

    for (unsigned cache = 0; cache < RPS_COUNT(caches); cache++) {
        for (unsigned operation = 0; operation < RPS_COUNT(operations); operation++) {
            struct rps_event event;
            char spec[64];

            snprintf(spec, sizeof(spec), "%s-%s%s", caches[cache], operations[operation],
                     operation == 2 ? "es" : "s");
            assert_int_equal(resolve(*state, spec, &event, NULL), 0);
            assert_int_equal(event.type, RPS_EVENT_HW_CACHE);
            assert_int_equal(event.config, cache | operation << 8);
            snprintf(spec, sizeof(spec), "%s-%s-misses", caches[cache], operations[operation]);
            assert_int_equal(resolve(*state, spec, &event, NULL), 0);
            assert_int_equal(event.config, cache | operation << 8 | 1u << 16);
        }
    }
}

/* --- what is not here ------------------------------------------------------------------------- */

static const struct {
    const char *spec, *reason;
} absent[] = {
    {"nopmu/tsc/", "this machine has no PMU nopmu;"},
    {"armv9_*/l1d_cache/", "this machine has no PMU armv9_*;"},
    {"armv8_*/stall_frontend/", "PMU armv8_cortex_a53 of this machine has no event or parameter"},
    {"broken/x/", "does not hold a number"},
    {"msr/aperf/", "PMU msr of this machine has no event or parameter named aperf"},
    {"msr/umask=1/", "no event or parameter named umask"},
    {"msr/aperf,event=1/", "named aperf"},
    {"cpu/loop/", "no event or parameter named loop"},
    {"cpu/odd=1/", "format \"config9:0\" of parameter odd is not understood"},
    {"cpu/backward=1/", "is not understood"},
    {"cpu/wide=1/", "is not understood"},
    {"cpu/empty=1/", "is not understood"},
    {"sched:nothing", "this kernel has no tracepoint sched:nothing"},
    {"nothing:at_all:u", "this kernel has no tracepoint nothing:at_all"},
    {"odd:none", "this kernel has no tracepoint odd:none"},
};

static void test_not_here(void **state)
{
    for (size_t i = 0; i < RPS_COUNT(absent); i++) {
        struct rps_event event;
        struct rps_error err = {""};

        if (resolve(*state, absent[i].spec, &event, &err) != 0)
            fail_msg("%s", err.message);
        assert_int_equal(event.state, RPS_EVENT_UNSUPPORTED);
        if (!strstr(event.reason, absent[i].reason))
            fail_msg("\"%s\" does not say \"%s\"", event.reason, absent[i].reason);
    }
}

static void test_no_tracefs(void **state)
{
    struct rps_event event;

    remove_below(*state, "kernel/debug");
    remove_below(*state, "kernel/tracing/events");
    assert_int_equal(resolve(*state, "sched:sched_switch", &event, NULL), 0);
    assert_int_equal(event.state, RPS_EVENT_UNSUPPORTED);
    assert_string_equal(event.reason,
                        "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing");
    remove_below(*state, "kernel");
    assert_int_equal(resolve(*state, "sched:sched_switch", &event, NULL), 0);
    assert_int_equal(event.state, RPS_EVENT_UNSUPPORTED);
}

/* Resolve as a user whose access depends on file modes, which root's does not. */
static int resolve_as_user(const char *sys, const char *spec, struct rps_event *ret)
{
    bool root = geteuid() == 0;
    int result;

    if (root)
        assert_int_equal(seteuid(65534), 0);
    result = resolve(sys, spec, ret, NULL);
    if (root)
        assert_int_equal(seteuid(0), 0);
    return result;
}

static void test_not_permitted(void **state)
{
    struct rps_event event;
    char path[1024];

    assert_int_equal(resolve_as_user(*state, "sched:sched_switch", &event), 0);
    assert_int_equal(event.state, RPS_EVENT_MEASURED);

    snprintf(path, sizeof(path), "%s/kernel/tracing", (char *)*state);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(resolve_as_user(*state, "sched:sched_switch", &event), 0);
    assert_int_equal(chmod(path, 0755), 0);
    /* The other directory is readable and lacks the event. This more precise answer is reported. */
    assert_int_equal(event.state, RPS_EVENT_UNSUPPORTED);

    remove_below(*state, "kernel/debug");
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(resolve_as_user(*state, "sched:sched_switch", &event), 0);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(event.state, RPS_EVENT_NOT_PERMITTED);
    assert_non_null(strstr(event.reason, "kernel/tracing"));

    snprintf(path, sizeof(path), "%s/" DEVICES "/msr/type", (char *)*state);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(resolve_as_user(*state, "msr/tsc/", &event), 0);
    assert_int_equal(event.state, RPS_EVENT_NOT_PERMITTED);
}

/* --- what is no event ------------------------------------------------------------------------- */

static const struct {
    const char *spec, *part;
} wrong[] = {
    {"", "no event is named \"\""},
    {"foo", "no event is named \"foo\"; `rpistat events` lists"},
    {"Cycles", "no event is named \"Cycles\""},
    {"L1-dcache", "no event is named"},
    {"r", "no event is named"},
    {"r0x1g", "no event is named"},
    {"r11112222333344445", "no event is named"},
    {"foo\033[2J", "\"foo\\x1b[2J\""},
    {"cycles:z", "event cycles:z: unknown modifier after the colon; write 'u' or 'k'"},
    {"cycles:uu", "unknown modifier after the colon"},
    {"cycles:", "unknown modifier after the colon"},
    {"r0b:x", "unknown modifier after the colon"},
    {"foo:u", "no event is named \"foo:u\""},
    {"a:", "no event is named"},
    {":b", "no event is named"},
    {"a:b:c", "no event is named"},
    {"cpu/", "is not a PMU event; write PMU/EVENT/"},
    {"cpu/event=1", "is not a PMU event; write"},
    {"cpu/event=1/x", "is not a PMU event; write"},
    {"cpu/a/b/", "is not a PMU event; write"},
    {"*/type/", "is not a PMU event; write"},
    {"*../type/", "is not a PMU event; write"},
    {"Instructoins", "\"Instructoins\"; did you mean instructions? `rpistat events`"},
    {"l1d_mis:u", "\"l1d_mis:u\"; did you mean l1d_miss? "},
    {"L1-dcache-loadz", "did you mean L1-dcache-loads? "},
    {"l2_mess", "did you mean l2_miss? "},
    {"/event=1/", "is not a PMU event; write"},
    {"../cpu/event=1/", "is not a PMU event; write"},
    {"../", "is not a PMU event; write"},
    {"..:..", "no event is named"},
    {"cpu/event=0x1000/", "event cpu/event=0x1000/: 0x1000 is too large for event, which is "
                          "config:0-7,32-35"},
    {"cpu/edge=2/", "0x2 is too large for edge"},
    {"cpu/event=zz/", "event zz: not a whole number"},
    {"cpu/event=-1/", "event -1: must be"},
    {"cpu/event=/", "event '': not a whole number"},
    {"cpu/=1/", "write terms like cpu/event="},
    {"cpu/event=1,,umask=1/", "write terms like"},
    {"cpu/mem-loads/", "a value for ldlat is missing; write one, as in cpu/mem-loads,ldlat=1/"},
    {"cpu/event=?/", "event ?: not a whole number"},
};

static void test_wrong(void **state)
{
    for (size_t i = 0; i < RPS_COUNT(wrong); i++) {
        struct rps_event event;
        struct rps_error err = {""};

        if (resolve(*state, wrong[i].spec, &event, &err) != RPS_USAGE)
            fail_msg("\"%s\" was taken for an event (%s)", wrong[i].spec, event.reason);
        if (!strstr(err.message, wrong[i].part))
            fail_msg("\"%s\" does not say \"%s\"", err.message, wrong[i].part);
        assert_int_equal(event.config1, 99);
        assert_string_equal(event.reason, "old");
    }
}

/* The error for a document's event names the event's line. */
static void test_where(void **state)
{
    struct rps_event event = {.spec = "foo", .where = "my.ini:7"};
    struct rps_error err = {""};

    assert_int_equal(rps_event_resolve(&event, *state, &err), RPS_USAGE);
    assert_int_equal(strncmp(err.message, "my.ini:7: no event is named \"foo\"", 33), 0);
}

/* --- roles ------------------------------------------------------------------------------------ */

#define PI_2 "processor : 0\nCPU implementer : 0x41\nCPU architecture: 7\nCPU part : 0xc07\n"

static const struct {
    const char *cpuinfo, *spec;
    uint32_t type;
    uint64_t config;
    const char *modifiers, *role, *unit;
} roles[] = {
    {PI_2, "l1d_miss", RPS_EVENT_RAW, 0x03, "", "l1d_miss", "events"},
    {PI_2, "branch_misses:u", RPS_EVENT_RAW, 0x10, "u", "branch_misses", "events"},
    {PI_2, "task_clock", RPS_EVENT_SOFTWARE, 1, "", "task_clock", "ns"},
    {PI_2, "branches", RPS_EVENT_HARDWARE, 4, "", "", ""}, /* perf's name has priority over the
                                                              role */
    {"nothing\n", "l1d_miss", RPS_EVENT_HW_CACHE, 0x10000, "", "l1d_miss", "events"},
    {"nothing\n", "frontend_stall:k", RPS_EVENT_HARDWARE, 7, "k", "frontend_stall", "cycles"},
};

static void test_roles(void **state)
{
    for (size_t i = 0; i < RPS_COUNT(roles); i++) {
        struct rps_event event = {.name = "x", .label = "X"};
        struct rps_error err = {""};
        char cpuinfo[1024];

        tree_file(*state, "cpuinfo", roles[i].cpuinfo);
        snprintf(cpuinfo, sizeof(cpuinfo), "%s/cpuinfo", (char *)*state);
        snprintf(event.spec, sizeof(event.spec), "%s", roles[i].spec);
        if (rps_resolve(&event, *state, cpuinfo, &err) != 0)
            fail_msg("%s", err.message);
        assert_int_equal(event.state, RPS_EVENT_MEASURED);
        assert_int_equal(event.type, roles[i].type);
        assert_int_equal(event.config, roles[i].config);
        assert_string_equal(event.modifiers, roles[i].modifiers);
        assert_string_equal(event.role, roles[i].role);
        assert_string_equal(event.unit, roles[i].unit);
        assert_string_equal(event.spec, roles[i].spec);
        assert_string_equal(event.label, "X");
    }
}

static void test_roles_that_are_not_here(void **state)
{
    struct rps_event event = {.spec = "frontend_stall", .role = "mine"};
    char cpuinfo[1024];

    tree_file(*state, "cpuinfo", PI_2);
    snprintf(cpuinfo, sizeof(cpuinfo), "%s/cpuinfo", (char *)*state);
    assert_int_equal(rps_resolve(&event, *state, cpuinfo, NULL), 0);
    assert_int_equal(event.state, RPS_EVENT_UNSUPPORTED);
    assert_string_equal(event.reason,
                        "the event sets for this processor (cortex-a7) have no frontend_stall");
    snprintf(event.spec, sizeof(event.spec), "l1d_access");
    assert_int_equal(rps_resolve(&event, *state, cpuinfo, NULL), 0);
    assert_string_equal(event.role, "mine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_found, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_cache_events, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_not_here, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_no_tracefs, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_not_permitted, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_wrong, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_where, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_roles, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(test_roles_that_are_not_here, set_up, tree_tear_down),
    };

    return cmocka_run_group_tests_name("resolve", tests, NULL, NULL);
}
