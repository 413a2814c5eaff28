/* Tests that choose the document for a processor, with shortened /proc/cpuinfo files of real
 * machines. */
#include "tree.h"

#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define X86(vendor, family, model, stepping)                                                       \
    "processor\t: 0\nvendor_id\t: " vendor "\ncpu family\t: " family "\nmodel\t\t: " model         \
    "\nmodel name\t: 7 of a name\nstepping\t: " stepping "\nflags\t\t: fpu\n\n"
#define CORE(implementer, architecture, part, variant, revision)                                   \
    "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\nCPU implementer\t: " implementer    \
    "\nCPU architecture: " architecture "\nCPU variant\t: " variant "\nCPU part\t: " part          \
    "\nCPU revision\t: " revision "\n\n"
#define ARM(architecture, part) CORE("0x41", architecture, part, "0x0", "3")

static const struct {
    const char *cpuinfo, *name;
} machines[] = {
    {ARM("7", "0xb76"), "arm1176"}, /* the Raspberry Pi 1 reports architecture 7 */
    {"processor\t: 0\nmodel name\t: ARMv6-compatible processor rev 7 (v6l)\nBogoMIPS\t: 697.95\n"
     "CPU implementer\t: 0x41\nCPU architecture: 7\nCPU variant\t: 0x0\nCPU part\t: 0xb76\n\n"
     "Hardware\t: BCM2835\nRevision\t: 0010\nModel\t\t: Raspberry Pi Model B Plus Rev 1.2\n",
     "arm1176"},
    {ARM("7", "0xc07") ARM("7", "0xc07"), "cortex-a7"},
    {ARM("8", "0xd03"), "cortex-a53"},
    {ARM("7", "0xd03"), "cortex-a53"}, /* Cortex-A53 with a 32-bit kernel */
    {ARM("8", "0xd08") ARM("8", "0xd08") ARM("8", "0xd08"), "cortex-a72"},
    {ARM("8", "0xd0b"), "cortex-a76"},
    {ARM("8", "0xd0c"), "neoverse-n1"},
    {ARM("8", "0xd03") ARM("8", "0xd08"), "armv8"}, /* slow and fast cores together */
    {CORE("0x41", "8", "0xd0c", "0x3", "1"), "neoverse-n1"},
    {CORE("0x41", "8", "0xd40", "0x1", "1"), "neoverse-v1"},
    {CORE("0x41", "8", "0xd4f", "0x0", "0"), "neoverse-v2"},
    {CORE("0x41", "8", "0xd49", "0x0", "0"), "neoverse-n2"},
    {CORE("0x41", "8", "0xd49", "0x0", "2"), "neoverse-n2"},
    {CORE("0x41", "8", "0xd49", "0x0", "3"), "neoverse-n2-r0p3"},
    {CORE("0x6d", "8", "0xd49", "0x0", "0"), "neoverse-n2"}, /* Cobalt 100 */
    {CORE("0x41", "8", "0xd49", "0x0", "3") CORE("0x41", "8", "0xd49", "0x0", "0"), "neoverse-n2"},
    {ARM("8", "0xd84"), "armv8"}, /* Neoverse V3 */
    {ARM("8", "0xd41"), "armv8"},
    {ARM("AArch64", "0xd07"), "armv8"},
    {ARM("7", "0xc0f"), "generic"},
    {ARM("7", "0xc07") ARM("7", "0xc0f"), "generic"},
    {X86("GenuineIntel", "6", "78", "3"), "intel-skylake"},     /* model 0x4E */
    {X86("GenuineIntel", "6", "94", "3"), "intel-skylake"},     /* model 0x5E */
    {X86("GenuineIntel", "6", "85", "4"), "intel-skylake"},     /* model 0x55: Skylake-SP */
    {X86("GenuineIntel", "6", "85", "7"), "intel-skylake"},     /* model 0x55: Cascade Lake */
    {X86("GenuineIntel", "6", "85", "11"), "intel-skylake"},    /* model 0x55: Cooper Lake */
    {X86("GenuineIntel", "6", "142", "10"), "intel-skylake"},   /* model 0x8E: Kaby Lake R */
    {X86("GenuineIntel", "6", "158", "13"), "intel-skylake"},   /* model 0x9E: Coffee Lake R */
    {X86("GenuineIntel", "6", "165", "5"), "intel-skylake"},    /* model 0xA5: Comet Lake */
    {X86("GenuineIntel", "6", "166", "0"), "intel-skylake"},    /* model 0xA6 */
    {X86("GenuineIntel", "6", "125", "1"), "intel-icelake"},    /* model 0x7D */
    {X86("GenuineIntel", "6", "126", "5"), "intel-icelake"},    /* model 0x7E */
    {X86("GenuineIntel", "6", "106", "6"), "intel-icelake"},    /* model 0x6A: Ice Lake-SP */
    {X86("GenuineIntel", "6", "108", "1"), "intel-icelake"},    /* model 0x6C: Ice Lake-D */
    {X86("GenuineIntel", "6", "140", "1"), "intel-icelake"},    /* model 0x8C: Tiger Lake */
    {X86("GenuineIntel", "6", "141", "1"), "intel-icelake"},    /* model 0x8D */
    {X86("GenuineIntel", "6", "167", "1"), "intel-icelake"},    /* model 0xA7: Rocket Lake */
    {X86("GenuineIntel", "6", "151", "2"), "intel-goldencove"}, /* model 0x97: Alder Lake */
    {X86("GenuineIntel", "6", "154", "3"), "intel-goldencove"}, /* model 0x9A */
    {X86("GenuineIntel", "6", "183", "1"), "intel-goldencove"}, /* model 0xB7: Raptor Lake */
    {X86("GenuineIntel", "6", "186", "2"), "intel-goldencove"}, /* model 0xBA */
    {X86("GenuineIntel", "6", "191", "2"), "intel-goldencove"}, /* model 0xBF */
    {X86("GenuineIntel", "6", "170", "4"), "intel-goldencove"}, /* model 0xAA: Meteor Lake */
    {X86("GenuineIntel", "6", "172", "1"), "intel-goldencove"}, /* model 0xAC */
    {X86("GenuineIntel", "6", "181", "0"), "intel-goldencove"}, /* model 0xB5: Arrow Lake U */
    {X86("GenuineIntel", "6", "143", "8"), "intel-goldencove"}, /* model 0x8F: Sapphire Rapids */
    {X86("GenuineIntel", "6", "207", "2"), "intel-goldencove"}, /* model 0xCF: Emerald Rapids */
    {X86("GenuineIntel", "6", "173", "1"), "intel-goldencove"}, /* model 0xAD: Granite Rapids */
    {X86("GenuineIntel", "6", "174", "1"), "intel-goldencove"}, /* model 0xAE */
    {X86("GenuineIntel", "6", "189", "1"), "intel-lioncove"},   /* model 0xBD: Lunar Lake */
    {X86("GenuineIntel", "6", "197", "2"), "intel-lioncove"},   /* model 0xC5: Arrow Lake H */
    {X86("GenuineIntel", "6", "198", "2"), "intel-lioncove"},   /* model 0xC6: Arrow Lake S */
    /* model 0xBE: Alder Lake N: small cores */
    {X86("GenuineIntel", "6", "190", "0"), "generic"},
    /* model 0xAF: Sierra Forest: small cores */
    {X86("GenuineIntel", "6", "175", "3"), "generic"},
    {X86("GenuineIntel", "6", "204", "1"), "generic"}, /* model 0xCC: Panther Lake */
    /* model 0x66: Cannon Lake, without a document */
    {X86("GenuineIntel", "6", "102", "3"), "generic"},
    {X86("GenuineIntel", "6", "60", "3"), "generic"}, /* Haswell */
    {X86("GenuineIntel", "6", "92", "9"), "generic"}, /* Goldmont */
    {X86("GenuineIntel", "15", "4", "1"), "generic"},
    {X86("AuthenticAMD", "25", "1", "1"), "amd-zen"},    /* Milan */
    {X86("AuthenticAMD", "25", "33", "0"), "amd-zen"},   /* model 0x21: Vermeer */
    {X86("AuthenticAMD", "25", "80", "0"), "amd-zen"},   /* model 0x50: Cezanne */
    {X86("AuthenticAMD", "25", "17", "1"), "amd-zen4"},  /* model 0x11: Genoa */
    {X86("AuthenticAMD", "25", "97", "2"), "amd-zen4"},  /* model 0x61: Raphael */
    {X86("AuthenticAMD", "25", "116", "1"), "amd-zen4"}, /* model 0x74: Phoenix */
    {X86("AuthenticAMD", "25", "160", "2"), "amd-zen4"}, /* model 0xA0: Bergamo */
    {X86("AuthenticAMD", "26", "2", "1"), "amd-zen5"},   /* Turin */
    {X86("AuthenticAMD", "26", "17", "0"), "amd-zen5"},  /* model 0x11: Turin Dense */
    {X86("AuthenticAMD", "26", "36", "0"), "amd-zen5"},  /* model 0x24: Strix Point */
    {X86("AuthenticAMD", "26", "68", "0"), "amd-zen5"},  /* model 0x44: Granite Ridge */
    {X86("AuthenticAMD", "26", "112", "0"), "amd-zen5"}, /* model 0x70: Strix Halo */
    {X86("AuthenticAMD", "23", "113", "0"), "amd-zen"},  /* model 0x71 */
    {X86("AuthenticAMD", "23", "8", "2"), "generic"},    /* the first Zen */
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

/* Write a cpuinfo file and return its path. */
static const char *cpuinfo(const char *root, const char *text)
{
    static char path[1024];

    tree_file(root, "cpuinfo", text);
    snprintf(path, sizeof(path), "%s/cpuinfo", root);
    return path;
}

static void test_documents(void **state)
{
    for (size_t i = 0; i < RPS_COUNT(machines); i++) {
        const char *name = rps_plan_for_cpu(cpuinfo(*state, machines[i].cpuinfo));

        if (strcmp(name, machines[i].name) != 0)
            fail_msg("%s, not %s, for\n%s", name, machines[i].name, machines[i].cpuinfo);
    }
    assert_string_equal(rps_plan_for_cpu("/no/such/file"), "generic");
}

/* A line of any length counts as one line: text at its end is no key. */
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
    assert_non_null(strstr(why.message, "cortex-a72 (Cortex-A72 (Raspberry Pi 4)) do not match "
                                        "this processor (0x41/0xd08/r0p3 and 0x41/0xd03/r0p3)"));
    assert_int_equal(
        rps_plan_matches(plan, cpuinfo(*state, X86("GenuineIntel", "6", "143", "8")), &why), 0);
    assert_non_null(strstr(why.message, "this processor (GenuineIntel-6-8F-8)"));
    assert_int_equal(rps_plan_matches(plan, "/no/such/file", &why), 0);
    assert_non_null(strstr(why.message, "that /proc/cpuinfo does not name"));
    assert_int_equal(rps_plan_matches(plan, "/no/such/file", NULL), 0);
    rps_plan_free(plan);
}

static void test_matches_everything(void **state)
{
    static const char *const names[] = {"generic", "software"};

    for (size_t i = 0; i < RPS_COUNT(names); i++) {
        struct rps_plan *plan = NULL;

        assert_int_equal(rps_plan_load(names[i], &plan, NULL), 0);
        assert_string_equal(plan->match, "");
        assert_int_equal(rps_plan_matches(plan, cpuinfo(*state, ARM("8", "0xd03")), NULL), 1);
        assert_int_equal(rps_plan_matches(plan, "/no/such/file", NULL), 1);
        rps_plan_free(plan);
    }
}

/* A user's pattern is one of a list, and must match the whole name. */
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

    for (size_t i = 0; i < RPS_COUNT(patterns); i++) {
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
