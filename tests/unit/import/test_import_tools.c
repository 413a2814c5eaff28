/* Tests of the reader of perf stat -x: columns, sums and rejected texts. tests/cli/import_tools.py
 * compares whole files with independent sums. */
#include "import/import_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fixtures[] = {
    "perf-task.csv",     "perf-core.csv",   "perf-cpu.csv",
    "perf-hardware.csv", "perf-cgroup.tsv", "perf-6.8-hybrid.csv",
};

/* Result of a reader. */
static struct {
    int result, columns;
    uint64_t periods;
    int64_t end_ns;
    char name[32][64];
    uint64_t sum[32];
    double least[32], most[32];
    struct rps_error err;
    char note[256]; /* last note that the reader wrote */
    int64_t start_realtime_ns;
} found;

static void keep_note(const char *sentence)
{
    snprintf(found.note, sizeof(found.note), "%s", sentence);
}

/* Read the text as a file. */
static void look(const struct rps_import_format *format, const char *text, size_t size)
{
    static const struct rps_import_options options = {.start_realtime_ns = -1};
    FILE *file = fmemopen(size > 0 ? (void *)(uintptr_t)text : NULL, size > 0 ? size : 1, "r");
    struct rps_import_builder *builder;

    memset(&found, 0, sizeof(found));
    assert_non_null(file);
    builder = rps_import_open(file, "FILE", 0, keep_note);
    assert_non_null(builder);
    found.result = rps_import_read(builder, format, &options, &found.err);
    found.columns = builder->column_count;
    found.periods = builder->periods;
    found.end_ns = builder->end_ns;
    found.start_realtime_ns = builder->run.start_realtime_ns;
    for (int i = 0; i < builder->column_count && i < 32; i++) {
        snprintf(found.name[i], sizeof(found.name[i]), "%s", builder->column[i].name);
        found.sum[i] = builder->column[i].sum;
        found.least[i] = builder->column[i].least;
        found.most[i] = builder->column[i].most;
    }
    rps_import_close(builder);
    fclose(file);
}

static void look_at(const struct rps_import_format *format, const char *text)
{
    look(format, text, strlen(text));
    if (found.result < 0)
        print_error("%s\n", found.err.message);
    assert_int_equal(found.result, 0);
}

static void refuses(const struct rps_import_format *format, const char *text, const char *words)
{
    look(format, text, strlen(text));
    assert_int_equal(found.result, RPS_FAILED);
    if (!strstr(found.err.message, words))
        fail_msg("no '%s' in: %s", words, found.err.message);
    assert_null(strpbrk(found.err.message, "\n\x1b"));
}

static int column(const char *name)
{
    for (int i = 0; i < found.columns; i++)
        if (strcmp(found.name[i], name) == 0)
            return i;
    fail_msg("no column '%s'", name);
    return -1;
}

static char *read_fixture(const char *name, size_t *ret_size)
{
    char path[512], *text = malloc(65536);
    FILE *file;

    assert_non_null(text);
    snprintf(path, sizeof(path), "%s/import/%s", TEST_DATA_FOLDER, name);
    file = fopen(path, "r");
    assert_non_null(file);
    *ret_size = fread(text, 1, 65535, file);
    text[*ret_size] = '\0';
    fclose(file);
    return text;
}

/* --- recognising ------------------------------------------------------------------------------ */

static void test_recognised(void **state)
{
    (void)state;
    for (size_t i = 0; i < RPS_COUNT(fixtures); i++) {
        size_t size;
        char *text = read_fixture(fixtures[i], &size);

        if (!rps_import_perf_csv.recognises(text))
            fail_msg("%s is not taken", fixtures[i]);
        free(text);
    }
}

/* Tables of other programs are left to the format "csv". */
static void test_not_recognised(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "#",
        "time,cycles\n0.100000000,12\n",
        "time,cycles,\n0.1,12,\n",
        "time,cpu,GHz,\n0.100000000,CPU0,2.1,\n",
        "Time,load\n1,2\n",
        "a,b,c\n1,2,3\n",
        "0.5,12,13\n",
        "1.5\n",
        "{\"a\":1}\n",
        "Timestamp,CPU,Value\n1,2,3\n",
        "1,2,3,4,5\n",
        "0.100000000,2,3,4\n",
        "2026-01-01 00:00:00,a,1,b\n",
        "12,,,,,,,,\n",
        "1.001301722,Frontend_Bound,74.01%,above,\n",
    };

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(texts); i++)
        if (rps_import_perf_csv.recognises(texts[i]))
            fail_msg("'%s' is taken", texts[i]);
}

/* --- files that were cut off ------------------------------------------------------------------ */

/* Every cut-off file is a shorter run, or rejected with one sentence. A cut-off number is never
 * used: the result up to a byte equals the result up to its line. */
static void test_cut(void **state)
{
    size_t every = *(const size_t *)*state;

    for (size_t i = 0; i < RPS_COUNT(fixtures); i++) {
        size_t size;
        char *text = read_fixture(fixtures[i], &size);
        uint64_t line_sums = 0, line_periods = 0, periods = 0;
        int line_result = RPS_FAILED;

        for (size_t n = 0; n <= size; n++) {
            uint64_t sums = 0;

            if (n % every != 0 && n > 0 && n < size && text[n - 1] != '\n')
                continue;

            look(&rps_import_perf_csv, text, n);
            for (int k = 0; k < found.columns && k < 32; k++)
                sums += found.sum[k];
            if (found.result < 0) {
                assert_true(strlen(found.err.message) > 10);
                assert_null(strchr(found.err.message, '\n'));
            }
            if (n == 0 || text[n - 1] == '\n') {
                line_sums = sums;
                line_periods = found.periods;
                line_result = found.result;
            }
            assert_int_equal(found.result, line_result);
            assert_int_equal(found.periods, line_periods);
            assert_int_equal(sums, line_sums);
            assert_true(found.result < 0 || found.periods >= periods);
            periods = found.result < 0 ? periods : found.periods;
        }
        assert_int_equal(found.result, 0);
        free(text);
    }
}

/* An interval with missing lines is left out, because its counts would be too small. */
static void test_cut_interval(void **state)
{
    static const char text[] = "     0.100000000,10,,cs,1000,100.00,,\n"
                               "     0.100000000,20,,faults,1000,100.00,,\n"
                               "     0.204000000,1,,cs,1000,100.00,,\n";

    (void)state;
    look_at(&rps_import_perf_csv, text);
    assert_int_equal(found.periods, 1);
    assert_int_equal(found.sum[column("cs")], 10);
    assert_non_null(strstr(found.note, "left out"));
}

/* --- perf stat -x ----------------------------------------------------------------------------- */

static void test_perf_times(void **state)
{
    static const char text[] = "# started on Mon Mar  2 09:15:04 2026\n\n"
                               "     0.104000001,1,,cs,1000,100.00,,\n"
                               "     0.250000000,3,,cs,1000,100.00,,\n";

    (void)state;
    setenv("TZ", "UTC0", 1);
    look_at(&rps_import_perf_csv, text);
    assert_int_equal(found.periods, 2);
    assert_int_equal(found.end_ns, 250000000);
    assert_int_equal(found.sum[column("cs")], 4);
    assert_int_equal(found.start_realtime_ns, INT64_C(1772442904000000000));
}

/* A count is 0 if the workload did not run. A count is missing if the event was never counted. */
static void test_perf_not_counted(void **state)
{
    static const char text[] = "     0.1,x\n";
    static const char slept[] = "     0.100000000,5,,cs,1000,100.00,,\n"
                                "     0.100000000,6,,cycles,500,50.00,,\n"
                                "     0.100000000,<not supported>,,never,0,100.00,,\n"
                                "     0.200000000,<not counted>,,cs,0,100.00,,\n"
                                "     0.200000000,<not counted>,,cycles,0,0.00,,\n"
                                "     0.200000000,<not supported>,,never,0,100.00,,\n";
    struct rps_import_builder *builder;
    const struct rps_import_options options = {.start_realtime_ns = -1};
    FILE *file = fmemopen((void *)(uintptr_t)slept, sizeof(slept) - 1, "r");
    struct rps_error err;

    (void)state;
    builder = rps_import_open(file, "FILE", 0, NULL);
    assert_non_null(builder);
    assert_int_equal(rps_import_read(builder, &rps_import_perf_csv, &options, &err), 0);
    assert_int_equal(builder->column_count, 3);
    assert_true(builder->column[2].is_unsupported);
    assert_int_equal(builder->column[2].periods, 0);
    assert_int_equal(builder->periods, 2);
    /* values of the cells after the last period */
    assert_true(builder->cell[0].is_there);
    assert_float_equal((double)builder->cell[0].value, 0, 0);
    assert_false(builder->cell[1].is_there);
    assert_true(builder->column[1].running_ns < builder->column[1].enabled_ns);
    rps_import_close(builder);
    fclose(file);
    refuses(&rps_import_perf_csv, text, "line 1: it has no cells with times");
}

static void test_perf_events(void **state)
{
    static const char text[] = "     0.1000000000,1\n"; /* the time has ten decimals instead of
                                                           nine */
    static const char events[] =
        "     0.100000000,402.603109,,task-clock,402596410,100.00\n"
        "     0.100000000,12.5,msec,task-clock,402596410,100.00\n"
        "     0.100000000,7,,cpu/event=0x3c,umask=0x0,name=a/u,1000,100.00,1.5,GHz\n"
        "     0.100000000,,,,,,2.25,%  tma_retiring\n"
        "     0.100000000,1.25,Joules,power/energy-pkg/,1000,100.00,,\n"
        "     0.100000000,2.50,MiB,imc/reads/,1000,100.00,,\n"
        "     0.100000000,41.50,C,msr/thermal/,1000,100.00,,\n"
        "     0.100000000,8,,cs,/a.slice,3.77%,1000,100.00,12.0,K/sec\n"
        "     0.100000000,9,,cs,,1000,100.00,12.0,K/sec\n"
        "     0.100000000,3,,mem:0x1000/8:rw,1000,100.00,,\n"
        "     0.100000000,18446744073709551000,,big,1000,100.00,,\n";

    (void)state;
    refuses(&rps_import_perf_csv, text, "no cells with times");
    refuses(&rps_import_perf_csv, events, "'big'");
    look(&rps_import_perf_csv, events, (size_t)(strstr(events, "     0.100000000,1844") - events));
    assert_int_equal(found.result, 0);
    assert_int_equal(found.sum[column("task-clock")], 402603109);
    assert_int_equal(found.sum[column("task-clock#2")], 12500000);
    assert_int_equal(found.sum[column("cpu/event=0x3c,umask=0x0,name=a/u")], 7);
    assert_float_equal(found.most[column("GHz")], 1.5, 0);
    assert_float_equal(found.most[column("tma_retiring")], 2.25, 0);
    assert_int_equal(found.sum[column("power/energy-pkg/ in uJ")], 1250000);
    assert_int_equal(found.sum[column("imc/reads/ in bytes")], 2621440);
    assert_float_equal(found.least[column("msr/thermal/")], 41.5, 0);
    assert_int_equal(found.sum[column("cs /a.slice")], 8);
    assert_int_equal(found.sum[column("cs")], 9);
    assert_int_equal(found.sum[column("mem:0x1000/8:rw")], 3);
    assert_int_equal(found.columns, 11);
}

/* Metrics come and go, so a complete interval cannot be recognised by lines of metrics. */
static void test_perf_metric_lines(void **state)
{
    static const char text[] = "     0.100000000,10,,cs,1000,100.00,,\n"
                               "     0.100000000,,,,,,0.21,stalled cycles per insn\n"
                               "     0.204000000,1,,cs,1000,100.00,,\n";

    (void)state;
    look_at(&rps_import_perf_csv, text);
    assert_int_equal(found.periods, 2);
    assert_int_equal(found.sum[column("cs")], 11);
}

/* A metric's scope is a part of its name, because the events that have metrics change. */
static void test_perf_scopes(void **state)
{
    static const char cgroups[] = "     0.100000000,1,,cycles,A,1000,100.00,0.5,GHz\n"
                                  "     0.100000000,,,,,,,1.37,stalled\n"
                                  "     0.100000000,1,,cycles,B,1000,100.00,1.5,GHz\n"
                                  "     0.100000000,,,,,,,1.99,stalled\n"
                                  "     0.200000000,<not counted>,,cycles,A,0,0.00,,\n"
                                  "     0.200000000,2,,cycles,B,1000,100.00,2.5,GHz\n"
                                  "     0.200000000,,,,,,,2.99,stalled\n";
    static const char groups[] = "0.100000000,1,,cpu_atom/cycles/u,1000,100.00,0.5,GHz\n"
                                 "0.100000000,<not counted>,,cpu_core/cycles/u,0,0.00,,\n"
                                 "0.100000000,,648266,100.00,,,,TopdownL1 (cpu_atom)\n"
                                 "0.100000000,,,,,,87.9,%  bad\n"
                                 "0.100000000,,648266,100.00,,,24.0,%  front\n"
                                 "0.100000000,,648266,100.00,,,,TopdownL1\n"
                                 "0.100000000,,,,,,237.5,MB/s  read\n";

    (void)state;
    look_at(&rps_import_perf_csv, cgroups);
    assert_float_equal(found.most[column("GHz A")], 0.5, 0);
    assert_float_equal(found.most[column("stalled A")], 1.37, 0);
    assert_float_equal(found.least[column("GHz B")], 1.5, 0);
    assert_float_equal(found.least[column("stalled B")], 1.99, 0);
    assert_int_equal(found.columns, 6);
    look_at(&rps_import_perf_csv, groups);
    assert_float_equal(found.most[column("GHz (cpu_atom)")], 0.5, 0);
    assert_float_equal(found.most[column("bad (cpu_atom)")], 87.9, 0);
    assert_float_equal(found.most[column("front (cpu_atom)")], 24, 0);
    assert_float_equal(found.most[column("read")], 237.5, 0);
    assert_int_equal(found.columns, 6); /* includes the column of cpu_core, which is never
                                           counted */
}

/* The second event of a name remains the second if the first is not counted. */
static void test_perf_twice(void **state)
{
    (void)state;
    look_at(&rps_import_perf_csv, "0.100000000,10,,cs,1000,50.00,,\n"
                                  "0.100000000,20,,cs,1000,50.00,,\n"
                                  "0.200000000,<not counted>,,cs,0,0.00,,\n"
                                  "0.200000000,30,,cs,1000,50.00,,\n");
    assert_int_equal(found.sum[column("cs")], 10);
    assert_int_equal(found.sum[column("cs#2")], 50);
}

/* The output of --metric-only is an ordinary table. */
static void test_perf_metric_only(void **state)
{
    static const char text[] = "# started on Mon Mar  2 09:15:04 2026\n\ntime,socket,GHz,\n"
                               "     0.100000000,S0,0.5,\n     0.100000000,S1,0.7,\n"
                               "     0.300000000,S0,,\n";

    (void)state;
    assert_false(rps_import_perf_csv.recognises(text));
    look_at(&rps_import_csv, text);
    assert_int_equal(found.periods, 2);
    assert_int_equal(found.end_ns, 300000000);
    assert_float_equal(found.most[column("S1 GHz")], 0.7, 0);
    refuses(&rps_import_csv, "time,GHz,insn per cycle,\n0.1,2.00,\n",
            "import two tables from two files");
}

/* Lines of some versions of perf, and totals after the intervals, are read. */
static void test_perf_versions(void **state)
{
    static const char totals[] = "     1.000000000,S0,8,5,,cs,1000,100.00,,\n"
                                 "S0,8,5,,cs,1000,100.00,,\n"
                                 "5,,cs,1000,100.00,,\n"
                                 ",,,,,1.37,stalled\n";

    (void)state;
    look_at(&rps_import_perf_csv, "     0.001813453,S0,1,5,,cs,1000,100.00,,\n"
                                  "     0.001813453,,S0,1,,,,,,,1.34,stalled\n");
    assert_float_equal(found.most[column("stalled")], 1.34, 0);
    assert_int_equal(found.periods, 1);
    look_at(&rps_import_perf_csv, "1.000000000,S0-D0-C1,9,,cpu/event=cpu-cycles,percore=1/,"
                                  "1000,100.00,,\n");
    assert_int_equal(found.sum[column("cpu/event=cpu-cycles,percore=1/")], 9);
    look_at(&rps_import_perf_csv, totals);
    assert_int_equal(found.sum[column("cs")], 5);
    assert_non_null(strstr(found.note, "left out: 3 lines without a time"));
}

/* A value without a time is reported. A run time that is not a number is not a control group. */
static void test_perf_bad_lines(void **state)
{
    static const char *const bad[][2] = {
        {"-5", "line 2: the run time '-5' is not a number"},
        {"abc", "line 2: the run time 'abc' is not a number"},
        {"10.5", "line 2: the run time '10.5' is not a number"},
        {"1.00%,x", "line 2: the run time '1.00%' is not a number"},
        {"a.slice,x", "the run time 'a.slice' is not a number"},
        {"1000,-5", "line 2: the share of time '-5' is not"}};
    char text[200];

    (void)state;
    look_at(&rps_import_perf_csv, "1.000000000,5,,cs,1000,100.00,,\n"
                                  ",7,,cs,1000,100.00,,\n"
                                  "2.000000000,6,,cs,1000,100.00,,\n");
    assert_int_equal(found.sum[column("cs")], 11);
    assert_non_null(strstr(found.note, "left out: 1 line without a time"));
    for (size_t i = 0; i < RPS_COUNT(bad); i++) {
        snprintf(text, sizeof(text),
                 "1.000000000,5,,cs,1000,100.00,,\n2.000000000,5,,cs,%s,100.00,,\n", bad[i][0]);
        refuses(&rps_import_perf_csv, text, bad[i][1]);
    }
}

/* A decimal comma is rejected if cells are separated by commas too. */
static void test_perf_decimal_comma(void **state)
{
    (void)state;
    refuses(&rps_import_perf_csv, "     0.100000000,16,,cs,55295971,100,00,289,352,/sec\n",
            "LC_ALL");
    refuses(&rps_import_perf_csv, "     0.100000000,55,30,msec,task-clock,55295971,100,00,,\n",
            "LC_ALL");
    look_at(&rps_import_perf_csv, "     0.100000000;55,30;msec;task-clock;55295971;74,91;;\n");
    assert_int_equal(found.sum[column("task-clock")], 55300000);
    static const char comma[] = "     0,100000000;55,30;msec;task-clock;55295971;74,91;;\n"
                                "     0,200000000;5;;cs;55295971;100,00;9,1;/sec\n";
    assert_true(rps_import_perf_csv.recognises(comma));
    look_at(&rps_import_perf_csv, comma);
    assert_int_equal(found.sum[column("task-clock")], 55300000);
}

/* The number of CPUs is limited, because the work grows with it. */
static void test_perf_many_cpus(void **state)
{
    char *text = malloc(10000 * 64);
    size_t length = 0;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 8193; i++)
        length += (size_t)sprintf(text + length, "     0.100000000,CPU%d,1,,cs,1000,100.00,,\n", i);
    refuses(&rps_import_perf_csv, text, "there are more than 8192 CPUs");
    length = 0;
    for (int i = 0; i < 4097; i++)
        length += (size_t)sprintf(text + length, "     0.100000000,S%d,2,1,,cs,1000,100.00,,\n", i);
    refuses(&rps_import_perf_csv, text, "line 4097: there are more than 4096 names");
    free(text);
}

/* The output of --per-thread is rejected: a thread is not a CPU. */
static void test_perf_threads(void **state)
{
    (void)state;
    refuses(&rps_import_perf_csv, "     0.100000000,perf-12,13,,cs,1000,100.00,,\n",
            "--per-thread");
    refuses(&rps_import_perf_csv,
            "     0.100000000,CPU 0/KVM-12,1.3,msec,cpu-clock,1000,100.00,,\n", "--per-thread");
    look_at(&rps_import_perf_csv, "     0.100000000,S0-D0-C1,2,13,,cs,1000,100.00,,\n"
                                  "     0.100000000,S0-D0-C1,2,,,,,,0.21,stalled\n");
    assert_int_equal(found.sum[column("cs")], 13);
    assert_float_equal(found.most[column("stalled")], 0.21, 0);
}

static void test_perf_refused(void **state)
{
    (void)state;
#define LINE "     0.100000000,10,,cs,1000,100.00,,\n"
    refuses(&rps_import_perf_csv, "12,,cs,1000,100.00,,\n", "-I 100");
    refuses(&rps_import_perf_csv,
            "     0.100000000,12,,cs,1000,100.00,,\n0.05,5000,,cs,1,100.00,,\n",
            "line 2: it is not a line of 'perf stat -I");
    refuses(&rps_import_perf_csv, LINE "     0.050000000,10,,cs,1000,100.00,,\n",
            "line 2: the time goes back");
    refuses(&rps_import_perf_csv, "     0.100000000,1x,,cs,1000,100.00,,\n", "line 1");
    refuses(&rps_import_perf_csv, "     0.100000000,10,,cs,g,10x,100.00,,\n", "line 1");
    refuses(&rps_import_perf_csv, "     0.100000000,10,,cs,1000,250.00,,\n",
            "share of time '250.00'");
    refuses(&rps_import_perf_csv, "     0.100000000,10,,cs,1000,-1.00,,\n", "share of time");
    refuses(&rps_import_perf_csv, "     0.100000000,-10,,cs,1000,100.00,,\n", "line 1");
    refuses(&rps_import_perf_csv, "     0.100000000,1e308,,cs,1000,100.00,,\n", "line 1");
    refuses(&rps_import_perf_csv, "     0.100000000,12,,cs,g,\x1b[2J,100\n", "line 1");
    refuses(&rps_import_perf_csv, LINE "hello\n", "line 2");
    refuses(&rps_import_perf_csv, "# started on Mon Mar  2 09:15:04 2026\n\n", "no rows");
    refuses(&rps_import_perf_csv,
            "# started on Mon Mar  2 09:15:04 2026\n"
            "#           time             counts unit events\n"
            "     0.100000000      1.30 msec task-clock\n",
            "line 3");
#undef LINE
}

/* The argument is the step in bytes at which files are cut off, in addition to line ends. */
int main(int argc, char **argv)
{
    size_t every = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    void *state = &every;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recognised),          cmocka_unit_test(test_not_recognised),
        cmocka_unit_test_prestate(test_cut, state), cmocka_unit_test(test_cut_interval),
        cmocka_unit_test(test_perf_times),          cmocka_unit_test(test_perf_not_counted),
        cmocka_unit_test(test_perf_events),         cmocka_unit_test(test_perf_metric_lines),
        cmocka_unit_test(test_perf_scopes),         cmocka_unit_test(test_perf_twice),
        cmocka_unit_test(test_perf_metric_only),    cmocka_unit_test(test_perf_versions),
        cmocka_unit_test(test_perf_bad_lines),      cmocka_unit_test(test_perf_decimal_comma),
        cmocka_unit_test(test_perf_threads),        cmocka_unit_test(test_perf_many_cpus),
        cmocka_unit_test(test_perf_refused),
    };

    return cmocka_run_group_tests_name("import/import_tools", tests, NULL, NULL);
}
