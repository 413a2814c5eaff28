/* Tests of exports: exact cells of the three formats, separators of other locales, and dangerous
 * texts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/fixture.h"
#include "rpistat/export.h"
#include "rpistat/plan.h"

static const struct rps_export_options plain = {
    .to_ns = INT64_MAX, .every_ns = 1000000000, .csv.separator = ',', .csv.decimal = '.'};

static char *export_text(struct fixture *fixture, const char *format,
                         const struct rps_export_options *options)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct rps_error err;

    assert_non_null(out);
    assert_non_null(rps_export_find(format));
    if (rps_export_run(rps_export_find(format), out, fixture->reader, fixture->run_id, options,
                       &err) < 0)
        fail_msg("%s", err.message);
    fclose(out);
    return text;
}

/* Write four periods, one rotation of arm1176's sets. In the second period, one event is not
 * counted. */
static void write_rotation(struct fixture *fixture)
{
    static const uint64_t count[4][2] = {
        {1000, 50}, {300, 30}, {7, 5}, {UINT64_C(18446744073709551615) >> 1, 0}};

    for (int i = 0; i < 4; i++) {
        fixture->next.counted = i == 1 ? 1 : 3;
        fixture->next.running_ns = fixture->next.enabled_ns / (i == 0 ? 2 : 1);
        fixture->next.length_ns = FIXTURE_PERIOD_NS + i;
        fixture_period(fixture, 5000, count[i]);
    }
}

static void begin_rotation(struct fixture *fixture)
{
    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    write_rotation(fixture);
    fixture_read(fixture);
}

static void test_wide(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    begin_rotation(&fixture);
    text = export_text(&fixture, "wide", &plain);
    assert_string_equal(
        text, "run,cpu,period,time_s,length_s,cycle,cycles,set,phase,label,instructions,ibuf_stall,"
              "dc_access,dc_miss,micro_tlb_miss,main_tlb_miss,branches,branch_miss\n"
              "1,,0,0.000000000,0.100000000,5000,5000,instr,0,A,1000,50,,,,,,\n"
              "1,,1,0.100000000,0.100000001,10000,5000,dc,0,A,,,300,,,,,\n"
              "1,,2,0.200000001,0.100000002,15000,5000,tlb,0,A,,,,,7,5,,\n"
              "1,,3,0.300000003,0.100000003,20000,5000,br,0,A,,,,,,,9223372036854775807,0\n");
    free(text);
    fixture_end(&fixture);
}

static void test_rates(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    begin_rotation(&fixture);
    text = export_text(&fixture, "rates", &plain);
    /* instructions: 1000 x 4 x 2; CPI = 20000 / 8000; the data cache misses are unknown. */
    assert_string_equal(
        text, "run,cpu,rotation,time_s,length_s,cycle,cycles,phase,label,cpi,ibuf_stall_percent,"
              "dc_miss_ratio_percent,micro_miss_rate_pti,main_miss_rate_pti,branch_rate_pti,"
              "mispredict_ratio_percent,cpi_low,cpi_high,ibuf_stall_percent_low,"
              "ibuf_stall_percent_high,dc_miss_ratio_percent_low,dc_miss_ratio_percent_high,"
              "micro_miss_rate_pti_low,micro_miss_rate_pti_high,main_miss_rate_pti_low,"
              "main_miss_rate_pti_high,branch_rate_pti_low,branch_rate_pti_high,"
              "mispredict_ratio_percent_low,mispredict_ratio_percent_high\n"
              "1,,0,0.000000000,0.400000006,20000,20000,0,A,2.5,2,,3.5,2.5,"
              "4.61168602e+18,0,,,,,,,,,,,,,,\n");
    free(text);
    fixture_end(&fixture);
}

/* A rotation's interval comes from the typical step between its neighbours. Here, instructions go
 * up and down by a tenth, with one jump. One period in four is counted, so the half width of cpi is
 * 1.96 x 1.4826 x log(1.1) x sqrt(3/4 / 2). */
static void test_rates_have_intervals(void **state)
{
    double half = exp(1.96 * 1.4826 * log(1.1) * sqrt(.375)), cpi, low, high;
    struct fixture fixture;
    char *text, *line, *rest;
    int rows = 0;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (uint64_t i = 0; i < 4 * 40; i++) {
        uint64_t leap = i / 4 < 20 ? 1 : 3;
        uint64_t count[2] = {leap * (i / 4 % 2 ? 1100000 : 1000000), 50};

        fixture_period(&fixture, 5000000, count);
    }
    fixture_read(&fixture);
    text = export_text(&fixture, "rates", &plain);
    rest = strchr(text, '\n') + 1;
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        assert_int_equal(
            sscanf(line, "1,,%*d,%*f,%*f,%*d,%*d,%*d,%*[A-Z],%lf,%*f,%*f,%*f,%*f,%*f,%*f,%lf,%lf",
                   &cpi, &low, &high),
            3);
        assert_true(fabs(high / cpi - half) < 1e-6 && fabs(cpi / low - half) < 1e-6);
        rows++;
    }
    assert_int_equal(rows, 40);
    free(text);
    fixture_end(&fixture);
}

static void test_rates_of_incomplete_rotation(void **state)
{
    uint64_t count[2] = {1000, 50};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int i = 0; i < 5; i++)
        fixture_period(&fixture, 4000, count);
    fixture_read(&fixture);
    text = export_text(&fixture, "rates", &plain);
    assert_non_null(
        strstr(text, "\n1,,1,0.400000000,0.100000000,20000,4000,0,A,4,1.25,,,,,,,,,,,,,,,,,,,\n"));
    free(text);
    fixture_end(&fixture);
}

static void test_long(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    begin_rotation(&fixture);
    text = export_text(&fixture, "long", &plain);
    assert_string_equal(
        text,
        "run,cpu,period,time_s,cycle,phase,label,event,unit,count,enabled_ns,running_ns,scaled\n"
        "1,,0,0.000000000,5000,0,A,instructions,events,1000,100000000,50000000,2000\n"
        "1,,0,0.000000000,5000,0,A,ibuf_stall,cycles,50,100000000,50000000,100\n"
        "1,,1,0.100000000,10000,0,A,dc_access,events,300,100000000,100000000,300\n"
        "1,,1,0.100000000,10000,0,A,dc_miss,events,,100000000,100000000,\n"
        "1,,2,0.200000001,15000,0,A,micro_tlb_miss,events,7,100000000,100000000,7\n"
        "1,,2,0.200000001,15000,0,A,main_tlb_miss,events,5,100000000,100000000,5\n"
        "1,,3,0.300000003,20000,0,A,branches,events,9223372036854775807,100000000,100000000,"
        "9223372036854775807\n"
        "1,,3,0.300000003,20000,0,A,branch_miss,events,0,100000000,100000000,0\n");
    free(text);
    fixture_end(&fixture);
}

static void test_other_locale(void **state)
{
    const struct rps_export_options options = {
        .to_ns = INT64_MAX, .csv.separator = ';', .csv.decimal = ',', .csv.crlf = 1, .csv.bom = 1};
    struct fixture fixture;
    char *text;

    (void)state;
    begin_rotation(&fixture);
    text = export_text(&fixture, "rates", &options);
    assert_memory_equal(text, "\xef\xbb\xbfrun;cpu;rotation;", 16);
    assert_non_null(strstr(text,
                           "mispredict_ratio_percent_high\r\n1;;0;0,000000000;0,400000006;20000;"
                           "20000;0;A;2,5;2;;3,5;2,5;4,61168602e+18;0;;;;;;;;;;;;;;\r\n"));
    free(text);
    fixture_end(&fixture);
}

static void test_part(void **state)
{
    const struct rps_export_options options = {.from_ns = FIXTURE_PERIOD_NS,
                                               .to_ns = 2 * FIXTURE_PERIOD_NS,
                                               .csv.separator = '\t',
                                               .csv.decimal = '.'};
    struct fixture fixture;
    char *text, *line;

    (void)state;
    begin_rotation(&fixture);
    text = export_text(&fixture, "wide", &options);
    line = strchr(text, '\n') + 1;
    assert_memory_equal(line, "1\t\t1\t", 5);
    assert_string_equal(strchr(line, '\n'), "\n");
    free(text);
    fixture_end(&fixture);
}

/* Texts that a spreadsheet would execute, and texts that would break the row, are made harmless. */
static void test_hostile_text(void **state)
{
    static const char *const names[] = {"=1+1", "+1", "-1", "@SUM(A1)", "a,b", "a\"b", " a", "\tx"};
    static const char *const cells[] = {"\"'=1+1\"", "\"'+1\"",    "\"'-1\"", "\"'@SUM(A1)\"",
                                        "\"a,b\"",   "\"a\"\"b\"", "\" a\"",  "\\tx"};
    uint64_t count[2] = {1, 2};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct fixture fixture;
        char *text, expected[128];

        fixture_begin(&fixture, "arm1176");
        strcpy(fixture.plan->set[0].name, names[i]);
        fixture_write(&fixture);
        fixture_period(&fixture, 5000, count);
        fixture_read(&fixture);
        text = export_text(&fixture, "wide", &plain);
        snprintf(expected, sizeof(expected), ",5000,5000,%s,0,A,1,2,,,,,,\n", cells[i]);
        if (!strstr(text, expected))
            fail_msg("no %s in %s", expected, text);
        free(text);
        fixture_end(&fixture);
    }
}

/* With more rows than the buffer holds, no row is lost. */
static void test_many_rows(void **state)
{
    uint64_t count[2] = {123456789, 987654321}, expected = 0;
    struct fixture fixture;
    char *text, *line, *rest;
    struct rps_error err;
    FILE *full;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int i = 0; i < 5000; i++)
        fixture_period(&fixture, 5000, count);
    fixture_read(&fixture);
    text = export_text(&fixture, "wide", &plain);
    assert_true(strlen(text) > 4 * 65536);
    rest = strchr(text, '\n') + 1;
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        char start[64];
        int commas = 0;

        snprintf(start, sizeof(start), "1,,%llu,", (unsigned long long)expected++);
        assert_memory_equal(line, start, strlen(start));
        for (char *c = line; *c; c++)
            commas += *c == ',';
        assert_int_equal(commas, 17);
    }
    assert_int_equal(expected, 5000);
    free(text);
    full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(rps_export_run(rps_export_find("wide"), full, fixture.reader, 1, &plain, &err),
                     RPS_FAILED);
    assert_non_null(strstr(err.message, "No space left on device"));
    fclose(full);
    fixture_end(&fixture);
}

static void test_refused_options(void **state)
{
    static const struct {
        char separator, decimal;
    } bad[] = {{',', ','}, {'.', '.'}, {'5', '.'}, {'"', '.'}, {'\n', '.'},
               {'-', '.'}, {',', 'x'}, {0, '.'},   {'\'', '.'}};
    struct fixture fixture;
    struct rps_error err;

    (void)state;
    begin_rotation(&fixture);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rps_export_options options = plain;

        options.csv.separator = bad[i].separator;
        options.csv.decimal = bad[i].decimal;
        assert_int_equal(
            rps_export_run(rps_export_find("wide"), stderr, fixture.reader, 1, &options, &err),
            RPS_USAGE);
    }
    fixture_end(&fixture);
}

static void test_failures(void **state)
{
    struct fixture fixture;
    struct rps_error err;

    (void)state;
    begin_rotation(&fixture);
    assert_null(rps_export_find("tall"));
    for (const struct rps_export_format *const *f = rps_export_formats; *f; f++) {
        FILE *full = fopen("/dev/full", "w");

        assert_non_null(full);
        assert_int_equal(rps_export_run(*f, full, fixture.reader, 1, &plain, &err), RPS_FAILED);
        assert_non_null(strstr(err.message, "cannot write the export: No space left on device"));
        assert_int_equal(rps_export_run(*f, full, fixture.reader, 2, &plain, &err), RPS_FAILED);
        fclose(full);
    }
    fixture_end(&fixture);
}

/* Begin a format other than CSV: one line per period, each with the run's host and label. */
static int lines_begin(struct rps_export_job *job, struct rps_error *err)
{
    (void)err;
    job->state = calloc(1, sizeof(int));
    assert_non_null(job->state);
    fprintf(job->out, "# run %d, %d event sets\n", (int)job->run->run_id, job->plan->set_count);
    return 0;
}

static void lines_period(struct rps_export_job *job, const struct rps_period *period)
{
    const struct rps_event_set *set = &job->plan->set[period->set_no];
    int *count = job->state;

    fprintf(job->out, "%s;%s %s=%llu %.1f\n", job->run->host, job->run->label, set->event[0].name,
            (unsigned long long)period->count[0], (double)period->start_ns / 1e9);
    ++*count;
}

static void lines_end(struct rps_export_job *job)
{
    const int *count = job->state;

    fprintf(job->out, "# %d periods\n", *count);
}

static void lines_release(struct rps_export_job *job)
{
    free(job->state);
}

static const struct rps_export_format lines = {
    .name = "lines",
    .begin = lines_begin,
    .period = lines_period,
    .end = lines_end,
    .release = lines_release,
};

static void test_a_format_of_lines(void **state)
{
    /* options without settings for CSV */
    const struct rps_export_options options = {.to_ns = INT64_MAX};
    struct fixture fixture;
    struct rps_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size), *full = fopen("/dev/full", "w");

    (void)state;
    assert_non_null(out);
    assert_non_null(full);
    fixture_begin(&fixture, "arm1176");
    strcpy(fixture.run.label, "nightly");
    fixture_write(&fixture);
    write_rotation(&fixture);
    fixture_read(&fixture);
    assert_int_equal(rps_export_run(&lines, out, fixture.reader, fixture.run_id, &options, &err),
                     0);
    fclose(out);
    assert_string_equal(text, "# run 1, 4 event sets\n"
                              "pi;nightly instructions=1000 0.0\n"
                              "pi;nightly dc_access=300 0.1\n"
                              "pi;nightly micro_tlb_miss=7 0.2\n"
                              "pi;nightly branches=9223372036854775807 0.3\n"
                              "# 4 periods\n");
    free(text);
    assert_int_equal(rps_export_run(&lines, full, fixture.reader, fixture.run_id, &options, &err),
                     RPS_FAILED);
    assert_non_null(strstr(err.message, "cannot write the export: No space left on device"));
    fclose(full);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_rates_have_intervals),
        cmocka_unit_test(test_rates_of_incomplete_rotation),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_other_locale),
        cmocka_unit_test(test_part),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_refused_options),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_a_format_of_lines),
    };

    return cmocka_run_group_tests_name("export/export", tests, NULL, NULL);
}
