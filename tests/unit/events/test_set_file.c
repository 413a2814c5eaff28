/* Tests of documents: the plan from a valid document, and the line and message of each invalid
 * document. */
#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char good[] = "\xef\xbb\xbf# a comment\r\n"
                           "[plan]\r\n"
                           "name = mine\r\n"
                           "title = My events\r\n"
                           "match = 0x41/0xd0?,\r\n"
                           "    armv8\r\n"
                           "explain = first line\r\n"
                           "    second line ; a comment\r\n"
                           "\tthird line\r\n"
                           "[family f]\n"
                           "label = Fam\n"
                           "[event x]   ; behind a section\n"
                           "event = sched:sched_switch:u\n"
                           "label = Ex\n"
                           "role = cycles\n"
                           "unit = ns\n"
                           "family = f\n"
                           "[event y_1.a:b]\n"
                           "event = r0b\n"
                           "[event z]\n"
                           "event: task-clock\n"
                           "[set one]\n"
                           "events = x , y_1.a:b\n"
                           "explain = Two.\n"
                           "[set two]\n"
                           "events = \n"
                           "    z\n"
                           "[metric m]\n"
                           "formula = 100 * x / (y_1.a:b + z)\n"
                           "    - clock / seconds\n"
                           "unit = %\n"
                           "family = f\n"
                           "panel = P\n"
                           "[metric n]\n"
                           "formula = 'task-clock' / cpu_seconds";

static struct rps_plan *parse(const char *text)
{
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};

    if (rps_plan_parse("some/where.ini", text, strlen(text), &plan, &err) != 0)
        fail_msg("%s", err.message);
    return plan;
}

static void test_plan_and_sets(void **state)
{
    struct rps_plan *plan = parse(good);

    (void)state;
    assert_string_equal(plan->name, "mine");
    assert_string_equal(plan->title, "My events");
    assert_string_equal(plan->match, "0x41/0xd0?, armv8");
    assert_string_equal(plan->explain, "first line second line third line");
    assert_int_equal(plan->set_count, 2);
    assert_string_equal(plan->set[0].name, "one");
    assert_string_equal(plan->set[0].explain, "Two.");
    assert_int_equal(plan->set[0].event_count, 2);
    assert_string_equal(plan->set[0].event[0].name, "x");
    assert_string_equal(plan->set[0].event[1].name, "y_1.a:b");
    assert_int_equal(plan->set[1].event_count, 1);
    assert_string_equal(plan->set[1].event[0].name, "z");
    assert_string_equal(plan->clock.spec, "");
    rps_plan_free(plan);
}

static void test_events(void **state)
{
    struct rps_plan *plan = parse(good);
    const struct rps_event *x = &plan->set[0].event[0], *y = &plan->set[0].event[1];

    (void)state;
    assert_string_equal(x->spec, "sched:sched_switch:u");
    assert_string_equal(x->label, "Ex");
    assert_string_equal(x->role, "cycles");
    assert_string_equal(x->unit, "ns");
    assert_string_equal(x->family, "Fam");
    assert_string_equal(x->where, "some/where.ini:13");
    assert_string_equal(y->spec, "r0b");
    assert_string_equal(y->label, "y_1.a:b");
    assert_string_equal(y->role, "");
    assert_string_equal(y->unit, "events");
    assert_string_equal(y->family, "");
    assert_string_equal(plan->set[1].event[0].spec, "task-clock");
    rps_plan_free(plan);
}

/* A long path is cut at the front, because its end identifies the file. */
static void test_where_of_a_long_path(void **state)
{
    static const char text[] = "[event a]\nevent = r1\n[set s]\nevents = a\n";
    struct rps_plan *plan = NULL;
    char origin[512];
    const char *where;

    (void)state;
    memset(origin, 'd', sizeof(origin));
    snprintf(origin + 490, sizeof(origin) - 490, "/end.ini");
    assert_int_equal(rps_plan_parse(origin, text, strlen(text), &plan, NULL), 0);
    where = plan->set[0].event[0].where;
    assert_int_equal(strncmp(where, "...ddd", 6), 0);
    assert_string_equal(where + strlen(where) - 10, "/end.ini:2");
    rps_plan_free(plan);
}

static void test_metrics(void **state)
{
    struct rps_plan *plan = parse(good);
    double operand[RPS_OPERAND_EVENTS + 2 * RPS_SLOT_MAX] = {0};

    (void)state;
    assert_int_equal(plan->metric_count, 2);
    assert_string_equal(plan->metric[0].label, "m");
    assert_string_equal(plan->metric[0].unit, "%");
    assert_string_equal(plan->metric[0].family, "Fam");
    assert_string_equal(plan->metric[0].panel, "P");
    assert_string_equal(plan->metric[0].formula_text, "100 * x / (y_1.a:b + z) - clock / seconds");
    assert_string_equal(plan->metric[1].panel, "n");

    operand[RPS_OPERAND_CLOCK] = 40;
    operand[RPS_OPERAND_SECONDS] = 2;
    operand[RPS_OPERAND_CPU_SECONDS] = 4;
    operand[RPS_OPERAND_EVENTS] = 3;
    operand[RPS_OPERAND_EVENTS + 1] = 2;
    operand[RPS_OPERAND_EVENTS + RPS_SLOT_MAX] = 8;
    assert_true(rps_formula_value(&plan->metric[0].formula, operand) == 10);
    assert_true(rps_formula_value(&plan->metric[1].formula, operand) == 2);
    rps_plan_free(plan);
}

static void test_names_from_the_file(void **state)
{
    struct rps_plan *plan = parse("[event a]\nevent = r1\n[set s]\nevents = a\n");

    (void)state;
    assert_string_equal(plan->name, "where");
    assert_string_equal(plan->title, "where");
    rps_plan_free(plan);
}

#define A   "[event a]\nevent = r1\n"
#define B   "[event b]\nevent = r2\n"
#define S_A "[set s]\nevents = a\n"
#define X10 "xxxxxxxxxx"
#define X50 X10 X10 X10 X10 X10

#define BASE "[plan]\nbase = neoverse-n1\n"

static const struct {
    const char *text;
    int line;
    const char *part;
} bad[] = {
    {"[plan]\nbase = nothing\n", 2, "'base = nothing': no event sets have this name"},
    {A "[plan]\nbase = neoverse-n1\n", 4, "'base = neoverse-n1' must be in the first section"},
    {A "base = neoverse-n1\n" S_A, 3, "unknown key \"base\" in [event]"},
    {BASE "[event new]\nlabel = N\n", 3, "[event new] has no line 'event ='"},
    {BASE "[event dc_miss]\nevent =\n", 3, "[event dc_miss] has no line 'event ='"},
    {BASE "[event new]\nevent = r1\n", 3, "event new is in no set"},
    {BASE "[event dc_miss]\nevent = r1\n[event dc_miss]\nevent = r2\n", 5,
     "already a [event dc_miss]"},
    {BASE "[set s]\nevents = dc_miss\n", 4, "event dc_miss is already in a set"},
    {BASE "[set tlb]\nevents = dtlb_miss\n", 4, "[metric dtlb_l1_miss_rate] of the base: "},
    {BASE "[metric new]\nlabel = N\n", 3, "[metric new] has no line 'formula ='"},
    {BASE "[metric cpi]\nformula = clock / nothing\n", 4, "nothing named \"nothing\" is counted"},
    {BASE "[event dc_miss]\nfamily = nothing\n", 4, "[family nothing] is not defined above"},
    {"", 1, "no [set]"},
    {"\n\n# nothing\n", 3, "no [set]"},
    {"[plan]\nname = x\n", 2, "no [set]"},
    {"key = 1\n", 1, "\"key\" is outside of a section"},
    {A "garbage\n" S_A, 3, "not of the form key = value"},
    {A "garbage\n[nonsense]\n", 3, "not of the form key = value"},
    {"[nonsense x]\n", 1, "unknown section [nonsense x]; choose from plan, family"},
    {"[]\n", 1, "unknown section []"},
    {"[event a\n", 1, "no closing ]"},
    {"[event a] x\n", 1, "after the ]"},
    {A " [set s]\nevents = a\n", 3, "at the beginning of a line"},
    {"[event a]\nevnt = r1\n", 2,
     "unknown key \"evnt\" in [event]; choose from event, label, role"},
    {"[event a]\nformula = 1\n", 2, "unknown key \"formula\""},
    {"[event a]\nlabel = A\n" S_A, 1, "[event a] has no line 'event ='"},
    {"[event a]\n" S_A, 1, "[event a] has no line 'event ='"},
    {"[event a]\nevent =\n" S_A, 1, "[event a] has no line 'event ='"},
    {"\n[event a]\n", 2, "[event a] has no line 'event ='"},
    {"[family f]\n" A S_A, 1, "[family f] has no line 'label ='"},
    {A "event = r2\n", 3, "'event =' is given twice"},
    {A A S_A, 3, "already a [event a]"},
    {"[family f]\nlabel = F\n[family f]\nlabel = F\n", 3, "already a [family f]"},
    {"[plan]\nname = x\n[plan]\n", 3, "already a [plan]"},
    {A B S_A "[set s]\nevents = b\n", 7, "already a [set s]"},
    {A S_A "[metric m]\nformula = a\n[metric m]\nformula = a\n", 7, "already a [metric m]"},
    {"[plan x]\n", 1, "[plan] takes no name"},
    {"[event]\n", 1, "its name must be of letters"},
    {"[event a-b]\n", 1, "[event a-b]: its name must be of letters"},
    {"[event 1a]\n", 1, "[event 1a]: its name"},
    {"[event a b]\n", 1, "[event a b]: its name"},
    {"[event clock]\nevent = cycles\n", 1, "cannot have the name clock"},
    {"[event seconds]\n", 1, "cannot have the name seconds"},
    {"[event " X50 X10 "xxxx]\n", 1, "longer than 63 characters"},
    {A "family = f\n" S_A, 3, "[family f] is not defined above"},
    {A S_A "[metric m]\nformula = a\nfamily = f\n", 7, "[family f] is not defined above"},
    {A "[set s]\n", 3, "[set s] has no line 'events ='"},
    {A "[set s]\nevents = b\n", 4, "[event b] is not defined above"},
    {"[set s]\nevents = a\n" A, 2, "[event a] is not defined above"},
    {A "[set s]\nevents = a, a\n", 4, "event a is already in a set"},
    {A S_A "[set t]\nevents = a\n", 6, "event a is already in a set"},
    {A "[set s]\nevents = a,\n", 4, "has an extra comma"},
    {A "[set s]\nevents = ,a\n", 4, "has an extra comma"},
    {A B S_A, 3, "event b is in no set"},
    {A S_A "default = maybe\n", 5, "'default =' must be yes or no, not \"maybe\""},
    {A S_A "default = no\n", 5, "no [set] without default = no"},
    {A S_A "[metric m]\nlabel = M\n", 5, "[metric m] has no line 'formula ='"},
    {A S_A "[metric m]\nformula = a +\n", 6, "formula \"a +\", column 4"},
    {A S_A "[metric m]\nlabel = M\nformula = b\n", 7, "nothing named \"b\" is counted"},
    {A B S_A "[metric m]\nformula = b\n", 8, "event b, which is in no set above"},
    {A "[metric m]\nformula = a\n" S_A, 4, "event a, which is in no set above"},
    {A "label = " X50 X10 "xxxx\n", 3, "'label =' is longer than 63 bytes"},
    {A "label = " X50 "\n  " X10 "\n  xx\n", 5, "'label =' is longer than 63 bytes"},
    {A "# " X50 X50 X50 X50 "\n" S_A, 3, "the line is longer than"},
    {A "explain = " X50 X50 X50 X50 "\n" S_A, 3, "the line is longer than"},
    {A "explain = \033[31m\n", 3, "not plain UTF-8 text"},
    {A "explain = \xff\xfe\n", 3, "not plain UTF-8 text"},
    {"\x7f"
     "ELF\x02\x01\x01\n",
     1, "not plain UTF-8 text"},
    {"[event e1]\nevent=r1\n[event e2]\nevent=r1\n[event e3]\nevent=r1\n[event e4]\nevent=r1\n"
     "[event e5]\nevent=r1\n[event e6]\nevent=r1\n[event e7]\nevent=r1\n[event e8]\nevent=r1\n"
     "[event e9]\nevent=r1\n[set s]\nevents = e1,e2,e3,e4,e5,e6,e7,\n e8,e9\n",
     20, "more than 8 events"},
};

static void test_bad_documents(void **state)
{
    (void)state;
    for (size_t i = 0; i < RPS_COUNT(bad); i++) {
        struct rps_plan *plan = NULL;
        struct rps_error err = {""};
        char start[32];

        if (rps_plan_parse("t.ini", bad[i].text, strlen(bad[i].text), &plan, &err) != RPS_USAGE)
            fail_msg("taken for a plan:\n%s", bad[i].text);
        assert_null(plan);
        snprintf(start, sizeof(start), "t.ini:%d: ", bad[i].line);
        if (strncmp(err.message, start, strlen(start)) != 0 || !strstr(err.message, bad[i].part))
            fail_msg("\"%s\" is not \"%s... %s\"", err.message, start, bad[i].part);
    }
}

static void test_zero_byte(void **state)
{
    static const char text[] = A "label = x\0y\n" S_A;
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};

    (void)state;
    assert_int_equal(rps_plan_parse("t.ini", text, sizeof(text) - 1, &plan, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "t.ini:3: the line has a zero byte"));
}

static void test_size_is_respected(void **state)
{
    static const char text[] = A S_A "[nonsense]\n";
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};

    (void)state;
    assert_int_equal(rps_plan_parse("t.ini", text, strlen(A S_A), &plan, &err), 0);
    rps_plan_free(plan);
}

/* --- documents on the base of another --------------------------------------------------------- */

static const struct rps_event *event_of(struct rps_plan *plan, const char *name)
{
    int operand = rps_plan_operand(plan, name) - RPS_OPERAND_EVENTS;

    if (operand < 0)
        fail_msg("no event %s", name);
    return &plan->set[operand / RPS_SLOT_MAX].event[operand % RPS_SLOT_MAX];
}

static const struct rps_metric *metric_of(const struct rps_plan *plan, const char *name)
{
    for (int i = 0; i < plan->metric_count; i++) {
        if (strcmp(plan->metric[i].name, name) == 0)
            return &plan->metric[i];
    }
    fail_msg("no metric %s", name);
    return NULL;
}

/* A document inherits everything from its base except the name. */
static void test_base(void **state)
{
    struct rps_plan *base = NULL, *plan = parse(BASE);

    (void)state;
    assert_int_equal(rps_plan_load("neoverse-n1", &base, NULL), 0);
    assert_string_equal(plan->name, "where");
    assert_string_equal(plan->title, base->title);
    assert_string_equal(plan->match, base->match);
    assert_int_equal(plan->set_count, base->set_count);
    assert_int_equal(plan->metric_count, base->metric_count);
    for (int i = 0; i < plan->set_count; i++)
        assert_memory_equal(&plan->set[i], &base->set[i], sizeof(plan->set[i]));
    rps_plan_free(base);
    rps_plan_free(plan);
}

static void test_changes_to_the_base(void **state)
{
    struct rps_plan *plan = parse(BASE "title = Other\n"
                                       "[family br]\nlabel = Jumps\n"
                                       "[event dc_miss]\nevent = r99\n"
                                       "[event branches]\nfamily = br\n"
                                       "[event new]\nevent = r98\n"
                                       "[set tlb]\nevents = new, dtlb_miss\n"
                                       "[set stall]\nexplain = Else.\n"
                                       "[metric dc_miss_rate]\nformula = dc_miss / clock\n"
                                       "[metric dtlb_l1_miss_rate]\nformula = new / clock\n");
    double operand[RPS_OPERAND_EVENTS + 8 * RPS_SLOT_MAX] = {0};
    const struct rps_event *event = event_of(plan, "dc_miss");

    (void)state;
    assert_string_equal(plan->title, "Other");
    assert_string_equal(plan->match, "0x41/0xd0c");
    assert_string_equal(event->spec, "r99");
    assert_string_equal(event->label, "DC misses");
    assert_string_equal(event->role, "l1d_miss");
    assert_string_equal(event->family, "DC");
    assert_string_equal(event->where, "some/where.ini:7");
    assert_string_equal(event_of(plan, "branches")->family, "Jumps");
    assert_non_null(strstr(event_of(plan, "branches")->where, "neoverse-n1.ini:"));
    assert_int_equal(plan->set[2].event_count, 2);
    assert_string_equal(plan->set[2].event[0].name, "new");
    assert_string_equal(plan->set[2].event[1].name, "dtlb_miss");
    assert_string_equal(plan->set[2].explain, "Address translation.");
    assert_int_equal(rps_plan_operand(plan, "dtlb_l1_miss"), -1);
    assert_int_equal(plan->set_count, 7);
    assert_string_equal(plan->set[6].explain, "Else.");
    assert_string_equal(plan->set[6].event[0].name, "backend_stall");

    /* Slots have moved, and unchanged formulas use the new slots. */
    operand[RPS_OPERAND_CLOCK] = 10;
    operand[rps_plan_operand(plan, "instructions")] = 1000;
    operand[rps_plan_operand(plan, "dtlb_miss")] = 7;
    operand[rps_plan_operand(plan, "new")] = 40;
    operand[rps_plan_operand(plan, "dc_miss")] = 30;
    assert_true(rps_formula_value(&metric_of(plan, "dtlb_walk_rate")->formula, operand) == 7);
    assert_true(rps_formula_value(&metric_of(plan, "dtlb_l1_miss_rate")->formula, operand) == 4);
    assert_true(rps_formula_value(&metric_of(plan, "dc_miss_rate")->formula, operand) == 3);
    assert_string_equal(metric_of(plan, "dc_miss_rate")->unit, "PTI");
    assert_string_equal(metric_of(plan, "dc_miss_rate")->panel,
                        "Data cache misses per 1,000 instructions");
    rps_plan_free(plan);
}

/* Every prefix of a valid document gives a plan, or an error with a line. */
static void test_prefixes(void **state)
{
    (void)state;
    for (size_t size = 0; size < strlen(good); size++) {
        struct rps_plan *plan = NULL;
        struct rps_error err = {""};
        /* exactly as large as the text, so that sanitizers detect a read beyond it */
        char *text = malloc(size ? size : 1);

        assert_non_null(text);
        memcpy(text, good, size);
        if (rps_plan_parse("t.ini", text, size, &plan, &err) != 0)
            assert_int_equal(strncmp(err.message, "t.ini:", 6), 0);
        rps_plan_free(plan);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_and_sets),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_names_from_the_file),
        cmocka_unit_test(test_bad_documents),
        cmocka_unit_test(test_zero_byte),
        cmocka_unit_test(test_size_is_respected),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_changes_to_the_base),
        cmocka_unit_test(test_where_of_a_long_path),
    };

    return cmocka_run_group_tests_name("document", tests, NULL, NULL);
}
