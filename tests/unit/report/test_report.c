/* Tests of the report: the published values of 2013, the layout, and events that were not counted.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "support/fixture.h"
#include "rpistat/phase_output.h"
#include "rpistat/profile.h"
#include "rpistat/report.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/store.h"

/* Return the report in the layout of 2013. */
static char *report_text(struct fixture *fixture, const struct rps_report_options *options)
{
    const struct rps_report_options all = {.to_ns = INT64_MAX};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct rps_error err;

    assert_non_null(out);
    if (rps_report_write_2013(out, fixture->reader, fixture->run_id, options ? options : &all,
                              &err) < 0)
        fail_msg("%s", err.message);
    fclose(out);
    return text;
}

static char *document_in(struct fixture *fixture, enum rps_format format)
{
    const struct rps_report_options all = {.to_ns = INT64_MAX};
    struct rps_document document = {.arena = rps_arena_new(), .width = RPS_DOCUMENT_WIDTH};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct rps_error err;

    assert_non_null(out);
    if (rps_report_fill(&document, fixture->reader, fixture->run_id, &all, &err) < 0)
        fail_msg("%s", err.message);
    rps_document_write(&document, out, format, 0);
    fclose(out);
    rps_arena_free(document.arena);
    return text;
}

static char *document_text(struct fixture *fixture)
{
    return document_in(fixture, RPS_FORMAT_TEXT);
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fputs(text, stderr);
        fail_msg("the report above has no \"%s\"", part);
    }
}

/* --- the reports of 2013 ---------------------------------------------------------------------- */

/* A quantity of the published reports: its event set, its slot, and the label of its line. */
static const struct quantity {
    const char *name, *label;
    int set, slot; /* set is -1 if the quantity is not an event */
} quantities[] = {
    {"cycles", "Cycles", -1, 0},
    {"instructions", "Instructions", 0, 0},
    {"IBUF stall cycles", "IBUF stall cycles", 0, 1},
    {"DC cached accesses", "DC cached accesses", 1, 0},
    {"DC misses", "DC misses", 1, 1},
    {"MicroTLB misses", "MicroTLB misses", 2, 0},
    {"main TLB misses", "Main TLB misses", 2, 1},
    {"branches", "Branches", 3, 0},
    {"mispredicted branches", "Mispredicted BR", 3, 1},
    {"CPI", "CPI", -1, 0},
    {"IBUF stall percent", "IBUF stall percent", -1, 0},
    {"DC miss ratio", "DC miss ratio", -1, 0},
    {"micro miss rate", "Micro miss rate", -1, 0},
    {"main miss rate", "Main miss rate", -1, 0},
    {"branch rate", "Branch rate", -1, 0},
    {"mispredict ratio", "Mispredict ratio", -1, 0},
    {"total periods", "Total periods", -1, 0},
    {"instruction set periods", "Instr periods", -1, 0},
    {"data cache set periods", "DC periods", -1, 0},
    {"TLB set periods", "TLB periods", -1, 0},
    {"branch set periods", "BR periods", -1, 0},
};

struct published {
    char raw[sizeof(quantities) / sizeof(quantities[0])][32];
    char scaled[sizeof(quantities) / sizeof(quantities[0])][32];
};

static int quantity_find(const char *name)
{
    for (size_t i = 0; i < sizeof(quantities) / sizeof(quantities[0]); i++) {
        if (strcmp(quantities[i].name, name) == 0)
            return (int)i;
    }
    fail_msg("%s is no known quantity", name);
    return -1;
}

static void read_published(char report, struct published *ret)
{
    FILE *file = fopen(TEST_DATA_FOLDER "/rpistat-2013-reports.csv", "r");
    char line[256];

    assert_non_null(file);
    memset(ret, 0, sizeof(*ret));
    while (fgets(line, sizeof(line), file)) {
        char *rest = line, *name, *raw;
        int q;

        if (line[0] != report || line[1] != ',')
            continue;
        strsep(&rest, ",");
        name = strsep(&rest, ",");
        raw = strsep(&rest, ",");
        q = quantity_find(name);
        strcpy(ret->raw[q], raw);
        strcpy(ret->scaled[q], strsep(&rest, ","));
    }
    fclose(file);
}

/* Return part number `part` of `parts` of a total. The parts add up to the total. */
static uint64_t portion(uint64_t total, uint64_t part, uint64_t parts)
{
    return total / parts + (part < total % parts);
}

static uint64_t published_count(const struct published *published, const char *name)
{
    return strtoull(published->raw[quantity_find(name)], NULL, 10);
}

static void write_published(struct fixture *fixture, const struct published *published)
{
    static const char *const periods_name[] = {"instruction set periods", "data cache set periods",
                                               "TLB set periods", "branch set periods"};
    uint64_t total = published_count(published, "total periods");
    uint64_t cycles = published_count(published, "cycles");

    for (uint64_t i = 0; i < total; i++) {
        uint64_t parts = published_count(published, periods_name[i % 4]);
        uint64_t count[2] = {0, 0};

        for (size_t q = 0; q < sizeof(quantities) / sizeof(quantities[0]); q++) {
            if (quantities[q].set == (int)(i % 4))
                count[quantities[q].slot] =
                    portion(published_count(published, quantities[q].name), i / 4, parts);
        }
        fixture_period(fixture, portion(cycles, i, total), count);
    }
}

static void test_2013(void **state)
{
    int estimates = 0, derived = 0;

    (void)state;
    for (char which = 'A'; which <= 'B'; which++) {
        struct published published;
        struct fixture fixture;
        char *text;

        read_published(which, &published);
        fixture_begin(&fixture, "arm1176");
        fixture_write(&fixture);
        write_published(&fixture, &published);
        fixture_read(&fixture);
        text = report_text(&fixture, NULL);
        for (size_t q = 0; q < sizeof(quantities) / sizeof(quantities[0]); q++) {
            char label[32], line[160];
            int decimals = strchr(published.raw[q], '.') != NULL;

            snprintf(label, sizeof(label), "%s:", quantities[q].label);
            if (published.scaled[q][0])
                snprintf(line, sizeof(line), "\n  %-20s%s  [%s]\n", label, published.raw[q],
                         published.scaled[q]);
            else
                snprintf(line, sizeof(line), "\n  %-20s%-*s%s", label, decimals ? 7 : 0,
                         published.raw[q], decimals ? "" : "\n");
            assert_holds(text, line);
            estimates += published.scaled[q][0] != '\0';
            derived += decimals;
        }
        free(text);
        fixture_end(&fixture);
    }
    assert_int_equal(estimates, 16);
    assert_int_equal(derived, 14);
}

static void test_layout(void **state)
{
    static const char expected[] =
        "***************************************************************\n"
        "rpistat: ./naive\n"
        "Wed Jun 26 15:12:33 2013\n"
        "***************************************************************\n"
        "\n"
        "System information\n"
        "  Number of processors:     1\n"
        "  Processor:                ARMv6-compatible processor rev 7 (v6l)\n"
        "  Host:                     pi\n"
        "  Kernel:                   Linux 3.6.11+\n"
        "  Counters:                 hardware, 2 counters in addition to the clock event\n"
        "\n"
        "Run\n"
        "  Number:                   1\n"
        "  Elapsed time:             16.9 s\n"
        "  Measurement period:       0.100 s\n"
        "  Exit status:              0\n"
        "  Recorder's CPU time:      0.003 s while recording (0.018 % of the time, 0.018 % of the "
        "workload's CPU time)\n"
        "\n"
        "Performance events\n"
        "  [ ... ] = scaled event count\n"
        "  PTI     = per thousand instructions\n"
        "  Total periods:      169\n"
        "\n"
        "  Cycles:             11794467561\n"
        "  Instructions:       316920650  [1245571856]\n"
        "  IBUF stall cycles:  69764851  [274192088]\n"
        "  Instr periods:      43\n"
        "  CPI:                9.469  \n"
        "  IBUF stall percent: 2.325  %\n"
        "\n"
        "  DC cached accesses: 4619258  [18587014]\n"
        "  DC misses:          928231  [3735024]\n"
        "  DC periods:         42\n"
        "  DC miss ratio:      20.095 %\n"
        "\n"
        "  MicroTLB misses:    224704  [904166]\n"
        "  Main TLB misses:    164438  [661667]\n"
        "  TLB periods:        42\n"
        "  Micro miss rate:    0.726   PTI\n"
        "  Main miss rate:     0.531   PTI\n"
        "\n"
        "  Branches:           33633705  [135335622]\n"
        "  Mispredicted BR:    369167  [1485457]\n"
        "  BR periods:         42\n"
        "  Branch rate:        108.653 PTI\n"
        "  Mispredict ratio:   1.098  %\n";
    struct published published;
    struct fixture fixture;
    char *text;

    (void)state;
    read_published('A', &published);
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    write_published(&fixture, &published);
    fixture_read(&fixture);
    text = report_text(&fixture, NULL);
    assert_string_equal(text, expected);
    free(text);
    fixture_end(&fixture);
}

/* Return a locale with thousands separators: a locale of this system, or one made in the directory
 * of the fixture. */
static locale_t grouping_locale(struct fixture *fixture)
{
    static const char *const names[] = {"en_US.UTF-8", "en_GB.UTF-8", "de_DE.UTF-8"};
    locale_t locale = (locale_t)0;
    char command[1024];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !locale; i++)
        locale = newlocale(LC_NUMERIC_MASK, names[i], (locale_t)0);
    snprintf(command, sizeof(command), "localedef -i en_US -f UTF-8 '%s/en_US.UTF-8' 2>/dev/null",
             fixture->folder);
    if (!locale && system(command) == 0) {
        setenv("LOCPATH", fixture->folder, 1);
        locale = newlocale(LC_NUMERIC_MASK, names[0], (locale_t)0);
        unsetenv("LOCPATH");
    }
    return locale;
}

static void test_locale(void **state)
{
    struct rps_report_options options = {.to_ns = INT64_MAX};
    uint64_t count[2] = {1234567, 1};
    struct fixture fixture;
    char *text, line[128];
    const char *separator;
    locale_t before;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    options.locale = grouping_locale(&fixture);
    if (!options.locale) {
        fixture_end(&fixture);
        print_message("no locale with separators of thousands is installed here\n");
        skip();
    }
    fixture_write(&fixture);
    fixture_period(&fixture, 98765432, count);
    fixture_read(&fixture);
    text = report_text(&fixture, &options);
    before = uselocale(options.locale);
    separator = localeconv()->thousands_sep;
    snprintf(line, sizeof(line), "  Instructions:       1%s234%s567  [1%s234%s567]\n", separator,
             separator, separator, separator);
    uselocale(before);
    assert_true(separator[0] != '\0');
    assert_holds(text, line);
    free(text);
    fixture_end(&fixture);
    freelocale(options.locale);
}

/* --- honesty ---------------------------------------------------------------------------------- */

static void test_not_counted(void **state)
{
    uint64_t count[2] = {1000, 10};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture.plan->set[1].event[1].state = RPS_EVENT_UNSUPPORTED;
    strcpy(fixture.plan->set[1].event[1].reason, "this processor has no such event");
    strcpy(fixture.plan->set[0].event[0].modifiers, "u");
    strcpy(fixture.run.fitting, "first line\nsecond line\n");
    fixture.run.state = RPS_RUN_INTERRUPTED;
    fixture_write(&fixture);
    fixture.next.missed = 2;
    for (int i = 0; i < 3; i++) { /* The fourth event set is never active. */
        fixture.next.running_ns = fixture.next.enabled_ns / (i == 2 ? 2 : 1);
        fixture.next.counted = i == 2 ? 1 : 3;
        fixture_period(&fixture, 5000, count);
    }
    rps_writer_gap(fixture.writer, RPS_CPU_ALL, 5 * FIXTURE_PERIOD_NS, 1500000000,
                   "the disk was full");
    fixture_read(&fixture);
    text = report_text(&fixture, NULL);
    assert_holds(text, "\n  DC cached accesses: 1000  [3000]\n  DC misses:          not counted\n");
    assert_holds(text, "\n  DC miss ratio:      not known\n");
    assert_holds(text, "\n  Branches:           not counted\n");
    assert_holds(text, "\n  BR periods:         0\n");
    assert_holds(text, "  State:                    interrupted: the recorded periods are valid\n");
    assert_holds(text, "\nRemarks\n");
    assert_holds(text, "\n  Not counted: DC misses. Reason: this processor has no such event.\n");
    assert_holds(text,
                 "\n  Not counted: Branches, Mispredicted BR. Reason: the run ended before its\n"
                 "    event set was counted.\n");
    assert_holds(text,
                 "\n  Not counted: Main TLB misses. Reason: its counter could not be read.\n");
    assert_holds(text, "\n  Counted in user mode only (:u): Instructions.");
    assert_holds(text, "\n  Set tlb was on counters for 50.0 % of its time: another program or");
    assert_holds(text, "\n  Not recorded: 1.500 s from 00:00:00.500 on (the disk was full).\n");
    assert_holds(text, "rpistat woke up late (other programs may have used the CPUs): 6 periods\n  "
                       "  became part of longer ones.\n");
    assert_holds(text, "\n  first line\n  second line\n");
    free(text);
    fixture_end(&fixture);
}

/* --- how sure it is --------------------------------------------------------------------------- */

/* Begin a run with four sets of two events each. Each event shows a different kind of certainty. */
static void begin_certainties(struct fixture *fixture)
{
    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    for (uint64_t i = 0; i < 80; i++) {
        uint64_t turn = i / 4;
        uint64_t count[4][2] = {{1000 + turn % 2, 1000 + 900 * (turn % 2)},
                                {1000, turn == 7 ? 400 : 0},
                                {0, 20},
                                {9, 9}};

        if (i % 4 == 3) /* The event set is hardly counted. */
            fixture->next.enabled_ns = fixture->next.running_ns = i == 3 ? 1000 : 0;
        else
            fixture->next.enabled_ns = fixture->next.running_ns = (uint64_t)FIXTURE_PERIOD_NS;
        fixture->next.clock_running_ns = fixture->next.enabled_ns;
        fixture_period(fixture, i % 4 == 3 ? 50 : 5000, count[i % 4]);
    }
}

static void write_certainties(struct fixture *fixture)
{
    begin_certainties(fixture);
    fixture_read(fixture);
}

static void test_certainties(void **state)
{
    struct rps_report_options old = {.to_ns = INT64_MAX};
    struct fixture fixture;
    char *text;

    (void)state;
    write_certainties(&fixture);
    text = document_text(&fixture);
    assert_holds(text,
                 "\n  Value: estimate for the whole time, scaled up from the counted time.\n");
    assert_holds(text, "\n    Instructions          20010       60030  ± 0.04 % ");
    assert_holds(text, "\n    IBUF stall cycles     29000       87000  72600 to 106000 ");
    assert_holds(text, "\n    DC cached accesses    20000       60000  ± 0.01 % ");
    assert_holds(text, "\n    DC misses               400        1200  rare bursts ");
    assert_holds(text, "\n    DC miss ratio                   2.000 %  rare bursts\n");
    assert_holds(text,
                 "\n    MicroTLB misses           0           0  none seen in 33 % of the time ");
    assert_holds(text,
                 "\n    Micro miss rate               0.000 PTI  none seen in 33 % of the time\n");
    assert_holds(text, "\n    Branches                180              hardly counted\n");
    assert_holds(text, "\n    Branch rate                              hardly counted\n");
    assert_holds(
        text, "\n  Set br was on counters for 1.7e-05 % of the time in which the workload ran: too "
              "little for");
    free(text);
    text = report_text(&fixture, &old);
    assert_holds(text, "\n  [ ... ] = scaled event count\n");
    assert_holds(text, "\n  DC misses:          400  [1200]\n");
    assert_holds(text, "\n  Branches:           180  hardly counted\n");
    assert_null(strstr(text, "±"));
    free(text);
    fixture_end(&fixture);
}

/* The report shows the estimates that were stored at the end of the run. */
static void test_concluded(void **state)
{
    struct fixture fixture;
    struct rps_plan *plan = NULL;
    struct rps_error err;
    char *before, *after;

    (void)state;
    write_certainties(&fixture);
    before = document_text(&fixture);
    fixture_end(&fixture);

    begin_certainties(&fixture);
    assert_int_equal(rps_writer_end(fixture.writer, &fixture.run, &err), 0);
    assert_int_equal(rps_reader_open(&fixture.reader, fixture.path, &err), 0);
    assert_int_equal(rps_report_conclude(fixture.reader, fixture.run_id, &plan, &err), 0);
    assert_true(fabs(plan->set[0].event[0].whole.value - 60030) < 1);
    plan->metric[0].whole.high *= 1.05; /* The changed bound shows whether the report uses the
                                           stored value. */
    assert_int_equal(rps_writer_set_estimates(fixture.writer, plan, &err), 0);
    rps_plan_free(plan);
    rps_writer_close(fixture.writer);
    fixture.writer = NULL;
    after = document_text(&fixture);
    assert_holds(before, "\n    CPI                               5.014  ± 0.04 %\n");
    assert_holds(after, "\n    CPI                               5.014  ± 5.1 %\n");
    assert_string_equal(strstr(before, "\n    IBUF stall percent"),
                        strstr(after, "\n    IBUF stall percent"));
    free(before);
    free(after);
    fixture_end(&fixture);
}

/* Only one event set saw the start of the run, so the intervals of other events are guesses. One
 * remark reports this, except in the layout of 2013. No printed interval begins above its value. */
static void test_start(void **state)
{
    struct rps_report_options old = {.to_ns = INT64_MAX};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (uint64_t i = 0; i < 78; i++) {
        uint64_t count[2] = {i == 0 ? 90000 : i == 5 ? 1002 : 1001, i % 4 == 1 ? 0 : 50};

        fixture_period(&fixture, 5000, count);
    }
    fixture_read(&fixture);
    text = document_text(&fixture);
    assert_holds(text,
                 "\n    DC cached accesses    20021        78082  its start was not counted ");
    assert_holds(text,
                 "\n    DC misses                 0            0  none seen; its start was not");
    assert_holds(text, "\n  Not counted at the start: DC cached accesses, DC misses, DC miss");
    assert_null(strstr(strstr(text, "at the start:") + 1, "at the start:"));
    free(text);
    text = report_text(&fixture, &old);
    assert_null(strstr(text, "start"));
    free(text);
    text = document_in(&fixture, RPS_FORMAT_JSON); /* the value is 78081.9; its interval has
                                                      integer bounds too */
    assert_holds(text, "\"value\": 78082, \"low\": 77037, \"high\": 879157, ");
    assert_holds(text,
                 "\"value\": 0, \"low\": 0, \"high\": null, \"certainty\": \"start not counted\"");
    free(text);
    fixture_end(&fixture);
}

static void test_all_the_time(void **state)
{
    uint64_t count[2] = {1000, 10};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture.plan->set_count = 1;
    assert_int_equal(rps_plan_compile(fixture.plan, NULL), 0);
    fixture_write(&fixture);
    for (int i = 0; i < 5; i++)
        fixture_period(&fixture, 5000, count);
    fixture_read(&fixture);
    text = document_text(&fixture);
    assert_null(strstr(text, "scaled"));
    assert_null(strstr(text, "interval"));
    assert_holds(text, "\n    Instructions           5000 ");
    free(text);
    fixture_end(&fixture);
}

/* Another program used the counter of the clock event for half of the time, or all the time. */
static void test_clock_was_taken(void **state)
{
    uint64_t count[2] = {1000, 10};

    (void)state;
    for (int part = 0; part < 2; part++) {
        struct fixture fixture;
        char *text;

        fixture_begin(&fixture, "arm1176");
        fixture_write(&fixture);
        for (int i = 0; i < 8; i++) {
            int has_it = part == 0 && i < 4;

            fixture.next.clock_running_ns = has_it ? fixture.next.enabled_ns : 0;
            fixture_period(&fixture, has_it ? 5000 : 0, count);
        }
        fixture_read(&fixture);
        text = report_text(&fixture, NULL);
        assert_holds(text, part == 0 ? "\n  Cycles:             20000  [40000]\n"
                                     : "\n  Cycles:             0  [not known]\n");
        assert_holds(text, part == 0 ? "\n  CPI:                5.000  \n"
                                     : "\n  CPI:                not known\n");
        assert_holds(text, part == 0 ? "\n  Cycles had a counter for 50 % of the time"
                                     : "\n  Cycles never had a counter");
        free(text);
        fixture_end(&fixture);
    }
}

/* One of four readings of an event fails. The estimate uses the other readings, and the report
 * mentions the failure. */
static void test_reading_failed(void **state)
{
    uint64_t count[2] = {1000, 10};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (uint64_t i = 0; i < 64; i++) {
        fixture.next.counted = i % 16 == 0 ? 2 : 3;
        fixture_period(&fixture, 5000, count);
    }
    fixture_read(&fixture);
    text = report_text(&fixture, NULL);
    assert_holds(text, "\n  Instructions:       12000  [64000]\n");
    assert_holds(text, "\n  IBUF stall cycles:  160  [640]\n");
    assert_holds(text,
                 "\n  Events that could not be read for up to 25 % of the time on a counter:\n"
                 "    Instructions. The estimates leave this time out.");
    free(text);
    fixture_end(&fixture);
}

/* If all events have no counts for one reason, the report prints the reason once. */
static void test_no_counts(void **state)
{
    uint64_t count[2] = {0};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    strcpy(fixture.run.fitting, RPS_RUN_NO_COUNTS);
    strcpy(fixture.plan->set[0].event[0].modifiers, "u");
    fixture_write(&fixture);
    fixture.next.running_ns = fixture.next.enabled_ns;
    fixture.next.counted = 0;
    for (int i = 0; i < 4; i++)
        fixture_period(&fixture, 5000, count);
    fixture_read(&fixture);
    text = report_text(&fixture, NULL);
    assert_holds(text, "\n  Branches:           not counted\n");
    assert_holds(text,
                 "\n  the command changes its user, group or capabilities, or may not be read:"
                 "\n    Linux stops");
    assert_null(strstr(text, "Not counted:"));
    assert_null(strstr(text, "in user mode only"));
    free(text);
    fixture_end(&fixture);
}

static void test_software(void **state)
{
    uint64_t count[RPS_SLOT_MAX] = {50000000, 200, 0, 30, 1};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "software");
    rps_plan_keep_default(fixture.plan);
    strcpy(fixture.plan->clock.label, "Task clock");
    strcpy(fixture.plan->clock.role, "cycles");
    strcpy(fixture.plan->clock.unit, "ns");
    fixture.plan->set[0].event[4].state = RPS_EVENT_NOT_PERMITTED;
    fixture.run.user_ns = 150000000; /* of 200 ms that were counted */
    fixture.run.memory_bytes = 12 << 20;
    fixture.run.system_ns = 20000000;
    fixture_write(&fixture);
    for (int i = 0; i < 4; i++)
        fixture_period(&fixture, 50000000, count);
    fixture_read(&fixture);
    text = report_text(&fixture, NULL);
    assert_holds(text, "  Clock event:              Task clock (ns)\n");
    assert_holds(text, "\n  Task clock:         200000000 ns\n\n"
                       "  Software                Count   Per second  Per ms of CPU\n"
                       "  Task clock (ns)     200000000  500000000.0    1000000.000\n"
                       "  Minor faults              800       2000.0          4.000\n"
                       "  Major faults                0          0.0          0.000\n"
                       "  Context switches          120        300.0          0.600\n"
                       "  CPU migrations    not counted\n\n"
                       "  CPU use:            100.000 %\n"
                       "  Minor faults:       2000.000 /s\n");
    assert_holds(text,
                 /* If no symbol is used, the legend is missing. */
                 "\nPerformance events\n  Total periods:      4\n");
    assert_holds(text, "\n  CPU migrations:     not known\n");
    assert_holds(text,
                 "Not counted: CPU migrations. Reason: this user is not permitted to count it.");
    assert_null(strstr(text, "Counting cost"));
    assert_holds(
        text,
        "\n  CPU time:                 0.150 s in user mode, 0.020 s in the kernel (of processes "
        "waited for)\n"
        "  Peak memory:              at least 12.0 MiB (of the largest process waited "
        "for)\n");
    free(text);
    fixture_end(&fixture);
}

/* If a command does not fit in the first line, its directories are left out first. */
static void test_long_command(void **state)
{
    uint64_t count[RPS_SLOT_MAX] = {50000000, 200};
    char *argv[] = {(char[]){"/usr/bin/python3"}, (char[]){"-u"},
                    (char[]){"/home/someone/project/tools/phases.py"}, (char[]){"a/b"}, NULL};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "software");
    rps_plan_keep_default(fixture.plan);
    rps_run_set_command(&fixture.run, 4, argv);
    strcpy(fixture.run.target, "command");
    fixture_write(&fixture);
    fixture_period(&fixture, 50000000, count);
    fixture_read(&fixture);
    text = document_text(&fixture);
    assert_holds(text, "python3 -u .../phases.py a/b ran for ");
    assert_holds(text, "/usr/bin/python3 -u /home/someone/project/tools/phases.py a/b\n");
    free(text);
    fixture_end(&fixture);
}

static void assert_first_line(int argc, char **argv, const char *expected)
{
    uint64_t count[RPS_SLOT_MAX] = {50000000, 200};
    struct fixture fixture;
    char *text;

    fixture_begin(&fixture, "software");
    rps_plan_keep_default(fixture.plan);
    rps_run_set_command(&fixture.run, argc, argv);
    strcpy(fixture.run.target, "command");
    fixture_write(&fixture);
    fixture_period(&fixture, 50000000, count);
    fixture_read(&fixture);
    text = document_text(&fixture);
    assert_memory_equal(text, expected, strlen(expected));
    free(text);
    fixture_end(&fixture);
}

/* A command argument with blanks or other shell characters is not shortened as a path, and neither
 * is a short path. */
static void test_shell_command(void **state)
{
    char sh[] = "/bin/sh", option[] = "-c", bare[] = "./build/tool",
         path[] = "/usr/share/dict/words", tar[] = "/usr/bin/tar", create[] = "cf",
         null[] = "/dev/null", source[] = "./linux-6.12/drivers/";
    char script[] = "/bin/true; cat /etc/passwd | wc -l",
         dense[] = "/bin/true;/usr/bin/env;/bin/false";
    char *of_script[] = {sh, option, script}, *of_dense[] = {sh, option, dense, path};
    char *of_bare[] = {bare, script, path}, *of_null[] = {tar, create, null, source, path};

    (void)state;
    assert_first_line(3, of_script, "sh -c '/bin/true; cat /etc/pa...");
    assert_first_line(4, of_dense, "sh -c '/bin/true;/usr/bin/env...");
    assert_first_line(5, of_null, "tar cf /dev/null ./linux-6.12...");
    assert_first_line(3, of_bare, "tool '/bin/true; cat /etc/pas...");
}

/* 4,000 calls in each 100 ms of CPU time, 150 ns each, cost 0.6 %. */
static void test_cost(void **state)
{
    uint64_t count[RPS_SLOT_MAX] = {100000000, 0, 0, 0, 0, 4000, 0};
    struct fixture fixture;
    char *text;
    int set, slot;

    (void)state;
    fixture_begin(&fixture, "software");
    assert_int_equal(rps_plan_select(fixture.plan, "syscalls", NULL), 0);
    assert_non_null(rps_plan_role(fixture.plan, "syscalls", &set, &slot));
    assert_int_equal(slot, 5);
    fixture.plan->set[set].event[slot].cost_ns = 150;
    fixture_write(&fixture);
    for (int i = 0; i < 4; i++)
        fixture_period(&fixture, 100000000, count);
    fixture_read(&fixture);
    text = report_text(&fixture, NULL);
    assert_holds(text,
                 "  Counting cost: System calls took about 150 ns longer each (measured when the\n"
                 "    recording began), in total about 0.6 % of the workload's CPU time.\n");
    free(text);
    fixture_end(&fixture);
}

static void test_part_and_explain(void **state)
{
    struct rps_report_options options = {
        .from_ns = 4 * FIXTURE_PERIOD_NS, .to_ns = 8 * FIXTURE_PERIOD_NS, .explain = 1};
    uint64_t count[2] = {1000, 10};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    strcpy(fixture.plan->set[0].event[0].explain, "What it is.");
    fixture_write(&fixture);
    for (int i = 0; i < 12; i++)
        fixture_period(&fixture, 5000, count);
    fixture_read(&fixture);
    text = report_text(&fixture, &options);
    assert_holds(text, "  Time range:               00:00:00.400 to 00:00:00.800\n");
    assert_holds(text, "\n  Total periods:      4\n");
    assert_holds(text, "\n  Cycles:             20000\n  Instructions:       1000  [4000]\n");
    assert_holds(text, "\n    Instructions: What it is.\n");
    free(text);
    fixture_end(&fixture);
}

static void test_hostile_text(void **state)
{
    uint64_t count[2] = {1000, 10};
    struct fixture fixture;
    char *argv[] = {(char[]){"a\033]0;title\007"}, NULL};
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    rps_run_set_command(&fixture.run, 1, argv);
    strcpy(fixture.run.label, "la\033[2Jbel %s %n");
    strcpy(fixture.plan->set[0].event[0].label, "In\033structions");
    rps_run_add_tag(&fixture.run, "k\033", "v\033");
    fixture_write(&fixture);
    fixture_period(&fixture, 5000, count);
    fixture_read(&fixture);
    text = report_text(&fixture, NULL);
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\007'));
    assert_holds(text, "la\\x1b[2Jbel %s %n\n");
    free(text);
    fixture_end(&fixture);
}

static void test_empty_run(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    fixture_read(&fixture);
    text = report_text(&fixture, NULL);
    assert_holds(text, "\n  Total periods:      0\n");
    assert_holds(text, "\n  Instructions:       not counted\n");
    free(text);
    fixture_end(&fixture);
}

/* The name of a class stands behind the question mark of a doubtful phase. A doubtful phase of a
 * class without a name ends with the mark. */
static void test_doubtful_phases(void **state)
{
    struct rps_phase phase[] = {{.last = 9, .confidence = 1, .label_confidence = 1},
                                {.first = 10, .last = 19, .label_confidence = .7},
                                {.first = 20, .last = 29, .label = 1, .label_confidence = .7}};
    const struct rps_phases phases = {.count = 3, .phase = phase, .label_count = 2};
    struct rps_profile_label label[2] = {{.periods = 20, .code = "solve"}, {.periods = 10}};
    const struct rps_profile profile = {
        .phase_count = 3, .periods = 30, .label_count = 2, .main_label = -1, .label = label};
    struct rps_document document = {.arena = rps_arena_new(), .width = RPS_DOCUMENT_WIDTH};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    rps_phase_block(&document, NULL, &phases, &profile);
    rps_document_write(&document, out, RPS_FORMAT_TEXT, 0);
    assert_int_equal(fclose(out), 0);
    assert_holds(text, "\n  A solve ");
    assert_holds(text, "\n  A? solve ");
    assert_holds(text, "\n  B? ");
    free(text);
    rps_arena_free(document.arena);
}

static void test_failed_write(void **state)
{
    const struct rps_report_options all = {.to_ns = INT64_MAX};
    uint64_t count[2] = {1000, 10};
    struct fixture fixture;
    struct rps_error err;
    FILE *full = fopen("/dev/full", "w");

    (void)state;
    assert_non_null(full);
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    fixture_period(&fixture, 5000, count);
    fixture_read(&fixture);
    assert_int_equal(rps_report_write_2013(full, fixture.reader, 1, &all, &err), RPS_FAILED);
    assert_holds(err.message, "cannot write the report: No space left on device");
    assert_int_equal(rps_report_write_2013(stderr, fixture.reader, 99, &all, &err), RPS_FAILED);
    fclose(full);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_2013),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_locale),
        cmocka_unit_test(test_not_counted),
        cmocka_unit_test(test_certainties),
        cmocka_unit_test(test_concluded),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_all_the_time),
        cmocka_unit_test(test_clock_was_taken),
        cmocka_unit_test(test_reading_failed),
        cmocka_unit_test(test_no_counts),
        cmocka_unit_test(test_software),
        cmocka_unit_test(test_long_command),
        cmocka_unit_test(test_shell_command),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_part_and_explain),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_empty_run),
        cmocka_unit_test(test_doubtful_phases),
        cmocka_unit_test(test_failed_write),
    };

    setenv("TZ", "UTC0", 1);
    tzset();
    return cmocka_run_group_tests_name("report/report", tests, NULL, NULL);
}
