/* Which document is for which processor, by the /proc/cpuinfo of real machines, shortened. */
#include "tree.h"

#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define X86(vendor, family, model, stepping)                                                       \
    "processor\t: 0\nvendor_id\t: " vendor "\ncpu family\t: " family "\nmodel\t\t: " model         \
    "\nmodel name\t: 7 of a name\nstepping\t: " stepping "\nflags\t\t: fpu\n\n"
#define ARM(architecture, part)                                                                    \
    "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"          \
    "CPU architecture: " architecture "\nCPU variant\t: 0x0\nCPU part\t: " part                    \
    "\nCPU revision\t: 3\n\n"

static const struct {
    const char *cpuinfo, *name;
} machines[] = {
    {ARM("7", "0xb76"), "arm1176"}, /* the Raspberry Pi 1 says 7 */
    {"processor\t: 0\nmodel name\t: ARMv6-compatible processor rev 7 (v6l)\nBogoMIPS\t: 697.95\n"
     "CPU implementer\t: 0x41\nCPU architecture: 7\nCPU variant\t: 0x0\nCPU part\t: 0xb76\n\n"
     "Hardware\t: BCM2835\nRevision\t: 0010\nModel\t\t: Raspberry Pi Model B Plus Rev 1.2\n",
     "arm1176"},
    {ARM("7", "0xc07") ARM("7", "0xc07"), "cortex-a7"},
    {ARM("8", "0xd03"), "cortex-a53"},
    {ARM("7", "0xd03"), "cortex-a53"}, /* with a 32-bit kernel */
    {ARM("8", "0xd08") ARM("8", "0xd08") ARM("8", "0xd08"), "cortex-a72"},
    {ARM("8", "0xd0b"), "cortex-a76"},
    {ARM("8", "0xd0c"), "neoverse-n1"},
    {ARM("8", "0xd03") ARM("8", "0xd08"), "armv8"}, /* slow and fast cores */
    {ARM("8", "0xd40"), "armv8"},
    {ARM("AArch64", "0xd07"), "armv8"},
    {ARM("7", "0xc0f"), "generic"},
    {ARM("7", "0xc07") ARM("7", "0xc0f"), "generic"},
    {X86("GenuineIntel", "6", "94", "3"), "intel"},   /* 5E */
    {X86("GenuineIntel", "6", "143", "8"), "intel"},  /* 8F */
    {X86("GenuineIntel", "6", "151", "2"), "intel"},  /* 97 */
    {X86("GenuineIntel", "6", "60", "3"), "generic"}, /* Haswell */
    {X86("GenuineIntel", "6", "92", "9"), "generic"}, /* Goldmont */
    {X86("GenuineIntel", "15", "4", "1"), "generic"},
    {X86("AuthenticAMD", "25", "1", "1"), "amd-zen"},
    {X86("AuthenticAMD", "25", "97", "2"), "amd-zen"},
    {X86("AuthenticAMD", "26", "2", "1"), "amd-zen"},
    {X86("AuthenticAMD", "23", "113", "0"), "amd-zen"}, /* 71 */
    {X86("AuthenticAMD", "23", "8", "2"), "generic"},   /* the first Zen */
    {X86("AuthenticAMD", "23", "1", "1"), "generic"},
    {X86("AuthenticAMD", "21", "2", "0"), "generic"},
    {X86("HygonGenuine", "24", "1", "0"), "generic"},
    {"processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdc\n", "generic"},
    {"vendor_id : \ncpu family : \n\n\n\nCPU part\n:\nCPU\n", "generic"},
    {"", "generic"},
};

static int set_up(void **state)
{
    *state = (void *)(uintptr_t)tree_new();
    return 0;
}

static int tear_down(void **state)
{
    tree_remove(*state);
    return 0;
}

/* Write a cpuinfo and return its path. */
static const char *cpuinfo(const char *root, const char *text)
{
    static char path[1024];

    tree_file(root, "cpuinfo", text);
    snprintf(path, sizeof(path), "%s/cpuinfo", root);
    return path;
}

static void test_documents(void **state)
{
    for (size_t i = 0; i < COUNT(machines); i++) {
        const char *name = rps_plan_for_cpu(cpuinfo(*state, machines[i].cpuinfo));

        if (strcmp(name, machines[i].name) != 0)
            fail_msg("%s, not %s, for\n%s", name, machines[i].name, machines[i].cpuinfo);
    }
    assert_string_equal(rps_plan_for_cpu("/no/such/file"), "generic");
}

/* A line of any length is one line: text far behind in it is no key. */
static void test_long_lines(void **state)
{
    char text[3000];

    memset(text, 'x', sizeof(text));
    memcpy(text, "flags : ", 8);
    snprintf(text + 255, sizeof(text) - 255, "CPU part : 0xd03 %0500d\n%s", 0,
             X86("AuthenticAMD", "25", "1", "1"));
    assert_string_equal(rps_plan_for_cpu(cpuinfo(*state, text)), "amd-zen");
}

static void test_matches(void **state)
{
    struct rps_plan *plan = NULL;
    struct rps_error why = {""};

    assert_int_equal(rps_plan_load("cortex-a72", &plan, NULL), 0);
    assert_int_equal(rps_plan_matches(plan, cpuinfo(*state, ARM("8", "0xd08")), &why), 1);
    assert_string_equal(why.message, "");
    assert_int_equal(
        rps_plan_matches(plan, cpuinfo(*state, ARM("8", "0xd08") ARM("8", "0xd03")), &why), 0);
    assert_non_null(strstr(why.message, "cortex-a72 (Cortex-A72 (Raspberry Pi 4)) are not for this "
                                        "processor: it is 0x41/0xd08 and 0x41/0xd03"));
    assert_int_equal(
        rps_plan_matches(plan, cpuinfo(*state, X86("GenuineIntel", "6", "143", "8")), &why), 0);
    assert_non_null(strstr(why.message, "it is GenuineIntel-6-8F-8"));
    assert_int_equal(rps_plan_matches(plan, "/no/such/file", &why), 0);
    assert_non_null(strstr(why.message, "that /proc/cpuinfo does not name"));
    assert_int_equal(rps_plan_matches(plan, "/no/such/file", NULL), 0);
    rps_plan_free(plan);
}

static void test_matches_everything(void **state)
{
    static const char *const names[] = {"generic", "software"};

    for (size_t i = 0; i < COUNT(names); i++) {
        struct rps_plan *plan = NULL;

        assert_int_equal(rps_plan_load(names[i], &plan, NULL), 0);
        assert_string_equal(plan->match, "");
        assert_int_equal(rps_plan_matches(plan, cpuinfo(*state, ARM("8", "0xd03")), NULL), 1);
        assert_int_equal(rps_plan_matches(plan, "/no/such/file", NULL), 1);
        rps_plan_free(plan);
    }
}

/* Patterns of the user's own: each is one of a list, and means the whole name. */
static void test_patterns(void **state)
{
    static const struct {
        const char *match;
        int result;
    } patterns[] = {
        {"AuthenticAMD-25-1-1", 1},
        {"AuthenticAMD-25-1", 0},
        {"AuthenticAMD-25-*", 1},
        {"*", 1},
        {"AuthenticAMD-2?-1-1", 1},
        {"x,AuthenticAMD-25-*", 1},
        {"x, y , Auth*-1 ", 1},
        {",,", 0},
        {"armv8", 0},
        {"authenticamd-25-*", 0},
        {"AuthenticAMD-25-1-1,", 1},
        {"-25-1-1", 0},
    };
    const char *file = cpuinfo(*state, X86("AuthenticAMD", "25", "1", "1"));

    for (size_t i = 0; i < COUNT(patterns); i++) {
        struct rps_plan plan = {.name = "mine"};

        snprintf(plan.match, sizeof(plan.match), "%s", patterns[i].match);
        if (rps_plan_matches(&plan, file, NULL) != patterns[i].result)
            fail_msg("\"%s\"", patterns[i].match);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_documents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_matches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_matches_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_patterns, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
