/* Tests of imported files, up to the store: the values read, and the rejected files. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "import/import_parts.h"
#include "rpistat/clock.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"

static const struct rps_import_options no_options = {.start_realtime_ns = -1};

static char noted[600];
static FILE *file; /* file that is read; a builder may read a copy of it */

static void note(const char *sentence)
{
    snprintf(noted + strlen(noted), sizeof(noted) - strlen(noted), "%s\n", sentence);
}

/* Read a file. *ret is for close_file, also after an error. */
static int look(const void *text, size_t size, const struct rps_import_options *options,
                struct rps_import_builder **ret, struct rps_error *err)
{
    const struct rps_import_format *format;

    file = fmemopen((void *)(uintptr_t)text, size, "r");
    assert_non_null(file);
    noted[0] = '\0';
    *ret = rps_import_open(file, "t.csv", 0, note);
    return rps_import_look(*ret, options, &format, err);
}

static void close_file(struct rps_import_builder *builder)
{
    rps_import_close(builder);
    fclose(file);
}

static struct rps_import_builder *look_with(const char *text, const char *map)
{
    struct rps_import_options options = no_options;
    struct rps_import_builder *builder;
    struct rps_error err;

    options.map = map;
    if (look(text, strlen(text), &options, &builder, &err) < 0)
        fail_msg("%s", err.message);
    return builder;
}

static void refused_bytes(const char *text, size_t size, const char *map, const char *words)
{
    struct rps_import_options options = no_options;
    struct rps_import_builder *builder;
    struct rps_error err = {""};

    options.map = map;
    assert_true(look(text, size, &options, &builder, &err) < 0);
    if (!strstr(err.message, words))
        fail_msg("'%s' has no '%s'", err.message, words);
    close_file(builder);
}

static void refused(const char *text, const char *map, const char *words)
{
    refused_bytes(text, strlen(text), map, words);
}

static const struct rps_import_known_column *column(const struct rps_import_builder *builder,
                                                    const char *name)
{
    for (int i = 0; i < builder->column_count; i++) {
        if (strcmp(builder->column[i].name, name) == 0)
            return &builder->column[i];
    }
    fail_msg("no column %s", name);
    return NULL;
}

static void check_times(const char *text, const char *map, int64_t end_ns, double seconds)
{
    struct rps_import_builder *builder = look_with(text, map);

    assert_int_equal(builder->end_ns, end_ns);
    assert_float_equal(builder->seconds, seconds, 1e-9);
    close_file(builder);
}

static void test_times(void **state)
{
    struct rps_import_builder *builder;

    (void)state;
    check_times("time,x\n0.1,1\n0.204,1\n0.3,1\n", NULL, 300000000, 0.3); /* time begins at 0 */
    /* the first row is as long as the second */
    check_times("time,x\n50,1\n51,1\n54,1\n", NULL, 5000000000, 5);
    check_times("ts,x\n1732270000100,1\n1732270000200,1\n", NULL, 200000000, 0.2);
    check_times("time,x\n100,1\n300,1\n", "time=time:ms", 300000000, 0.3);
    check_times("time_ms,x\n100,1\n300,1\n", NULL, 300000000, 0.3);
    check_times("Time (us),x\n100,1\n300,1\n", NULL, 300000, 0.0003);
    check_times("time_ms,x\n100,1\n300,1\n", "time_ms=time:s", 300000000000, 300);
    check_times("timestamp, x [%]\n2026/10/05 03:00:00.100, 1 %\n2026/10/05 03:00:05.100, 9 %\n",
                NULL, 10 * RPS_NS_PER_S, 10); /* file of nvidia-smi */
    check_times("# hostname;interval;timestamp;%idle\nh;60;2026-08-06 20:00:00 UTC;1.5\n"
                "h;60;2026-08-06 20:01:00 UTC;2.5\n",
                NULL, 120 * RPS_NS_PER_S, 120); /* file of sadf -d */
    check_times("Linux 6.1 (h) \t11/23/26 \t_x86_64_\t(2 CPU)\n\n"
                "11:59:58 PM     CPU     %user\n11:59:59 PM     all      1.50\n"
                "12:00:01 AM     all      2.50\n\n12:00:01 AM     CPU     %user\n"
                "12:00:02 AM     all      3.50\nAverage:        all      2.50\n",
                NULL, 4 * RPS_NS_PER_S, 4); /* file of sar, past midnight */
    check_times("procs ---memory-- -----timestamp-----\n r  free                 UTC\n"
                " 1    20 2026-11-23 09:32:29\n 1    20 2026-11-23 09:32:30\n",
                NULL, 2 * RPS_NS_PER_S, 2); /* file of vmstat -t */
    check_times("x,y\n1,2\n2,3\n4,1\n", NULL, 3000000000, 3);
    assert_non_null(strstr(noted, "its rows are taken to be one second apart"));
    builder = look_with("Date;a\n1970-01-02T00:00:01Z;0,5\n1970-01-02T00:00:02Z;1,5\n", NULL);
    assert_int_equal(builder->run.start_realtime_ns, -1);
    close_file(builder);
    builder =
        look_with("Date;a\n2026-11-21 14:30:01+01:00;0,5\n2026-11-21 14:30:02+01:00;1,5\n", NULL);
    assert_int_equal(builder->run.start_realtime_ns, 1795267800000000000);
    assert_float_equal(column(builder, "a")->most, 1.5, 0);
    close_file(builder);
}

/* A header may contain the types of its columns. Cells may contain words. */
static void test_headers(void **state)
{
    struct rps_import_builder *builder = look_with(
        "# host: h\nt,a=b=count,c=gauge:K:of all,d=gauge,e=1\n1,5,2,x,7\n2,6,3,y,8\n", NULL);

    (void)state;
    assert_int_equal(builder->column_count, 3);
    assert_int_equal(column(builder, "a=b")->kind, RPS_IMPORT_COUNT);
    assert_string_equal(column(builder, "c")->unit, "K");
    assert_string_equal(column(builder, "c")->panel, "of all");
    assert_int_equal(column(builder, "e=1")->kind, RPS_IMPORT_GAUGE);
    assert_string_equal(builder->run.host, "h");
    close_file(builder);
    builder = look_with("Linux 6.1 (h)\n01:00:00 UID PID %usr CPU Command\n"
                        "01:00:01 0 7 0,25 1 a b\n01:00:02 0 7 0,75 0 a\"b\n",
                        NULL);
    assert_int_equal(builder->column_count, 1);
    assert_int_equal(builder->track_count, 1);
    assert_float_equal(column(builder, "%usr")->most, 0.75, 0);
    close_file(builder);
    builder = look_with("01:00:00 CPU %idle\n01:00:01 all 9\n01:00:01 0 8\n01:00:01 1 10\n"
                        "01:00:02 all 9\n01:00:02 0 8\n01:00:02 1 10\n",
                        NULL);
    assert_int_equal(builder->periods, 4);
    close_file(builder);
}

/* A file may contain several tables with a time before each. Several rows with one time become
 * separate columns. */
static void test_tables(void **state)
{
    struct rps_import_builder *builder = look_with(
        "Linux 6.1 (h) \t24.11.2026\n\n24.11.2026 16:00:00\navg-cpu: %user %idle\n 1,5 98,5\n\n"
        "Device r/s\nsda 1,0\nsdb 2,0\n\n24.11.2026 16:00:02\navg-cpu: %user %idle\n 2,5 97,5\n\n"
        "Device r/s\nsda 3,0\nsdb 4,0\nsdc 5,0\n",
        NULL);

    (void)state;
    assert_int_equal(builder->column_count, 5);
    assert_int_equal(builder->periods, 2);
    assert_int_equal(builder->end_ns, 4 * RPS_NS_PER_S);
    assert_float_equal(column(builder, "%user")->most, 2.5, 0);
    assert_string_equal(column(builder, "%user")->panel, "avg-cpu");
    assert_float_equal(column(builder, "sdb r/s")->most, 4, 0);
    assert_string_equal(column(builder, "sdb r/s")->panel, "r/s");
    assert_int_equal(column(builder, "sdc r/s")->periods, 1);
    assert_non_null(strstr(noted, "the first row of vmstat and iostat is the mean"));
    close_file(builder);
    builder = look_with("Linux 6.1 (h)\navg-cpu: %idle\n 98.5\nDevice r/s\nsda 1.0\n"
                        "avg-cpu: %idle\n 97.5\nDevice r/s\nsda 3.0\n",
                        NULL); /* each row lasts one second */
    assert_int_equal(builder->periods, 2);
    assert_float_equal(column(builder, "r/s")->most, 3, 0);
    assert_non_null(strstr(noted, "left out: Device ("));
    close_file(builder);
    builder = look_with("Linux 6.1 (h)\n01:00:00 CPU %idle\n01:00:01 all 9\n\n01:00:00 kbfree\n"
                        "01:00:01 7\n\n01:00:01 CPU %idle\n01:00:02 all 8\n\n01:00:01 kbfree\n"
                        "01:00:02 6\n\nAverage: CPU %idle\nAverage: all 8.5\n",
                        NULL); /* file of sar -ur */
    assert_int_equal(builder->periods, 2);
    assert_float_equal(column(builder, "kbfree")->least, 6, 0);
    close_file(builder);
    builder = look_with("t;sensor;v\n1;a;5\n1;b;6\n2;a;7\n2;b;8\n", NULL);
    assert_int_equal(builder->periods, 2);
    assert_float_equal(column(builder, "b v")->most, 8, 0);
    close_file(builder);
    builder = look_with("t;n;v\n1;1;5\n1;2;6\n2;1;7\n", "n=key");
    assert_float_equal(column(builder, "2 v")->most, 6, 0);
    close_file(builder);
    builder = look_with("t;n;v\n1;1;5\n1;2;6\n2;1;7\n", NULL);
    assert_non_null(strstr(noted, "line 3; each follows a gap of one interval"));
    assert_int_equal(builder->periods, 3);
    close_file(builder);
}

/* Processes are imported separately. Many processes are added up by name. */
static void test_processes(void **state)
{
    static const char head[] = "# Time UID PID %usr CPU Command\n";
    static const char counts[] = "PID=skip,Command=key,n=count";
    char text[20000];
    struct rps_import_builder *builder;

    (void)state;
    snprintf(text, sizeof(text),
             "Linux 6.1 (h)\n\n%s10:00:01 PM 0 7 1.0 0 a b\n%s"
             "10:00:02 PM 0 7 2.0 1 a b\n10:00:02 PM 0 8 4.0 1 a b\n",
             head, head);
    builder = look_with(text, NULL);
    assert_int_equal(builder->column_count, 2);
    assert_float_equal(column(builder, "a 8 %usr")->most, 4, 0);
    assert_non_null(strstr(noted, "left out: UID, CPU ("));
    close_file(builder);
    builder = look_with(text, "PID=skip");
    assert_int_equal(builder->column_count, 1);
    assert_float_equal(column(builder, "a %usr")->most, 6, 0);
    close_file(builder);
    builder = look_with("t,PID,Command,n\n1,7,a,1.4\n1,8,a,1.4\n2,7,a,5\n2,8,a,6\n", counts);
    assert_int_equal(column(builder, "a n")->sum, 14); /* 3 and 11, rounded together */
    close_file(builder);
    refused("t,PID,Command,n\n1,7,a,5\n1,8,a,-6\n", counts, "line 3: a count of 'a n' is below 0");
    refused("t,PID,Command,n\n1,7,a,9e18\n1,8,a,9e18\n", counts, "is too large: 18000000000");
    snprintf(text, sizeof(text), "Linux 6.1 (h)\n%s", head);
    for (int i = 0; i <= RPS_IMPORT_COLUMNS_MAX; i++)
        sprintf(text + strlen(text), "10:00:01 PM 0 %d 1.0 0 c\n", i);
    refused(text, NULL, "there are more than 512 columns to import, because each process");
    snprintf(text, sizeof(text),
             "Linux 6.1 (h)\n# Time UID PID Command\n"); /* a file without values is refused too */
    for (int i = 0; i <= RPS_IMPORT_COLUMNS_MAX; i++)
        sprintf(text + strlen(text), "10:00:01 PM 0 %d c\n", i);
    strcat(text, "# Time kbfree\n10:00:01 PM 7\n");
    refused(text, NULL, "there are more than 512 columns to import, because each process");
}

/* A column named cpu is a value if each time has one row. Date and time may be two columns. */
static void test_german(void **state)
{
    struct rps_import_builder *builder =
        look_with("Datum;Uhrzeit;cpu;Menge\n24.11.2026;16:00:05;12,5;1.234\n"
                  "24.11.2026;16:00:06;13;12.345\n",
                  NULL);

    (void)state;
    assert_int_equal(builder->track_count, 1);
    assert_int_equal(builder->end_ns, 2 * RPS_NS_PER_S);
    assert_float_equal(column(builder, "cpu")->most, 13, 0);
    assert_float_equal(column(builder, "Menge")->most, 12345, 0);
    close_file(builder);
    builder = look_with("t;W\xe4rme (\xb0"
                        "C)\n1;12,5\n2;13,5\n",
                        NULL); /* file of a Windows program */
    assert_float_equal(column(builder, "W\xc3\xa4rme (\xc2\xb0"
                                       "C)")
                           ->most,
                       13.5, 0);
    close_file(builder);
    builder = look_with("t,cpu,n\n1,12,5\n2,13,6\n", NULL);
    assert_int_equal(column(builder, "cpu")->kind, RPS_IMPORT_GAUGE);
    close_file(builder);
}

static void test_columns(void **state)
{
    static const char text[] =
        "t,cpu,req,s,v,v,index\n1,0,5,a,1,9,1\n2,0,7,b,NA,9,2\n2,1,,c,-4,9,3\n";
    struct rps_import_builder *builder = look_with(text, "req=count,v=gauge:K,6=gauge");

    (void)state;
    assert_int_equal(builder->column_count, 3);
    assert_int_equal(column(builder, "req")->sum, 12);
    assert_float_equal(column(builder, "v")->least, -4, 0);
    assert_string_equal(column(builder, "v")->unit, "K");
    assert_float_equal(column(builder, "v (2)")->most, 9, 0);
    assert_int_equal(builder->track_count, 2);
    close_file(builder);
    builder = look_with(text, NULL);
    assert_int_equal(builder->column_count, 3); /* req, v, v: s is text, and index numbers the
                                                   rows */
    assert_int_equal(column(builder, "req")->kind, RPS_IMPORT_GAUGE);
    close_file(builder);
    builder = look_with("t,n\n1,0.4\n2,0.4\n3,0.4\n4,0.4\n5,0.4\n", "n=count");
    assert_int_equal(column(builder, "n")->sum, 2); /* fractions of counts add up */
    close_file(builder);
    builder = look_with("# s;t;load\na;1;5 %\na;2;7 %\n", NULL); /* the header is a comment */
    assert_int_equal(builder->column_count, 1);
    assert_float_equal(column(builder, "load")->least, 5, 0);
    assert_string_equal(column(builder, "load")->unit, "%");
    close_file(builder);
}

/* A gauge's stored count gives the original value. */
static void test_gauges(void **state)
{
    static const double extremes[][2] = {{0, 1e-100},  {-1e280, 1e280}, {1e15, 1e15 + 1},
                                         {-40, 85.25}, {0, 0},          {3, 3}};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(extremes) / sizeof(extremes[0]); i++) {
        const double *v = extremes[i];
        struct rps_import_builder *builder;
        double operand[64] = {0}, value;

        snprintf(text, sizeof(text), "t,v\n0.1,%.17g\n0.2,%.17g\n", v[0], v[1]);
        builder = look_with(text, "v=gauge");
        operand[RPS_OPERAND_EVENTS + 1] = 1e8; /* time in which the gauge had a value, ns */
        for (int n = 0; n < 2; n++) {
            uint64_t count = rps_import_gauge_count(&builder->column[0], v[n], 100000000);

            operand[RPS_OPERAND_EVENTS] = (double)count;
            assert_true(count < UINT64_C(1) << 62);
            value = rps_formula_value(&builder->plan->metric[0].formula, operand);
            assert_true(fabs(value - v[n]) <= 1e-12 * fmax(fabs(v[0]), fabs(v[1])));
        }
        close_file(builder);
    }
}

/* Sets have about the same size, and event names are unique. */
static void test_sets(void **state)
{
    char head[2000] = "t", row[2000] = "1", map[2000] = "1=time", text[4200];
    struct rps_import_builder *builder;

    (void)state;
    for (int i = 0; i < 30; i++) {
        sprintf(head + strlen(head), ",a%cb%d", i % 2 ? '.' : '-', i / 2);
        strcat(row, ",3");
        sprintf(map + strlen(map), ",%d=count", i + 2);
    }
    snprintf(text, sizeof(text), "%s\n%s\n", head, row);
    builder = look_with(text, map);
    assert_int_equal(builder->plan->set_count, 4);
    for (int n = 0; n < 4; n++)
        assert_in_range(builder->plan->set[n].event_count, 6, 8);
    assert_string_equal(builder->plan->set[0].event[0].name, "a_b0");
    assert_string_equal(builder->plan->set[0].event[1].spec, "a.b0");
    assert_string_not_equal(builder->plan->set[0].event[1].name, "a_b0");
    close_file(builder);
}

static void test_refused(void **state)
{
    static const char nul[] = "t,x\n1,\0\n";
    struct rps_import_options options = no_options;
    char *line = malloc(RPS_IMPORT_LINE_MAX + 10);
    struct rps_import_builder *builder;
    struct rps_error err;

    (void)state;
    refused("t,x\n1,2\n2\n", NULL, "t.csv, line 3: the row has 1 cell, and the first has 2");
    refused("t,x\n1,5 KiB\n2,5 MHz\n", NULL,
            "line 3: '5 MHz' in the column 'x' is not in the unit of");
    refused("t,x\nyesterday,2\n", "t=time", "'yesterday' in the column 't' is not a time");
    refused("t,x\n1,-2\n", "x=count", "is below 0");
    refused("t,x\n1,1e30\n", "x=count", "too large");
    refused("t,x\n1,9000000000000000000\n", "x=count", "add up to more than");
    refused("t,x\n1,1e308\n", NULL, "cannot be stored");
    refused("t,x\n1,two\n", "x=count", "t.csv, line 2: 'two' in the column 'x' is not a number");
    refused("t,x\n1,\"2\n", NULL, "t.csv, line 2: a quote that begins here is never closed");
    refused("cpu,x\n-3,2\n", "cpu=cpu", "'-3' is not a CPU");
    refused("a b c\n1 2 3\n1 2\n", NULL, "t.csv, line 3: the row has 2 words");
    refused("Linux 6.1 (h)\n01:00:00 CPU %idle\n01:00:01 0 9\n01:00:01 1 8\n01:00:00 "
            "kbfree\n01:00:01 7\n",
            NULL, "has a table per CPU and a different table");
    refused("t,x\n1,2\n# t,y,z\n1,2,3\n", NULL, "import two tables from two files");
    refused("t,x\n1,2\n", "y=count", "has no column 'y'");
    refused("t,x\n1,2\n", "x=cake", "is not a kind of column; choose from time, cpu, count,");
    refused("t,x,y\n1,0.5,2\n", "x=cpu",
            "'0.5' is not a CPU; choose another kind for the column "
            "'x' with --map: time, cpu, count,");
    refused("t,x\n1,2\n", "x=gauge,2=count", "the column 'x' occurs twice");
    refused("t,x,y\n1,2,3\n", "x=cpu,y=cpu", "choose one cpu column");
    refused("t,x\n1,2\n", "x=skip:W", "':W' is not possible for 'x': only times, counts");
    refused("t,x\n1,2\n", "x=clock:ms", "':ms' is not possible for 'x': a clock is in ns");
    refused("t,x\n1,2\n", "x", "write COLUMN=KIND");
    refused("t,x\n1,2\n", "t=time:fortnight", "'fortnight' is not a format of times");
    options.map = "t=time:fortnight";
    assert_int_equal(look("t,x\n1,2\n", 8, &options, &builder, &err), RPS_USAGE);
    close_file(builder);
    refused("t,x\n1,2\n", "t=time:%H%q", "'%q' in '%H%q' is not a letter of strptime");
    refused("t,x\n1,2\n", "t=time,x=time",
            "choose one time column, or one date and one time of day");
    refused("t,x\n-4e9,2\n4e9,2\n", NULL,
            "t.csv: rows are 8e+09 s apart, which is too long; check the unit of the time");
    refused("t,x\n2200-01-01T00:00Z,2\n", "t=time", "is not a time");
    refused("t,x\n", NULL, "no");
    refused("\n\n", NULL, "no rows");
    refused("{}\n", NULL, "the format of t.csv is unknown");
    refused_bytes("\xff\xfet\0,\0x\0\n\0", 10, NULL, "t.csv is in UTF-16; save it as UTF-8");
    refused("hello\n", NULL, "has no rows to import, only a header");
    refused("run;cpu;period;time_s;length_s;cycle;cycles;set;n\n1;-1;0;0;1;1;1;one;2\n", NULL,
            "t.csv is an export of rpistat and");
    refused_bytes(nul, sizeof(nul) - 1, NULL, "NUL byte");
    for (int i = 1; i <= 2 * (RPS_IMPORT_COLUMNS_MAX + 1); i++)
        memcpy(line + 2 * i - 2, i % (RPS_IMPORT_COLUMNS_MAX + 1) == 0 ? "1\n" : "1,", 2);
    refused_bytes(line, 4 * (RPS_IMPORT_COLUMNS_MAX + 1), NULL,
                  "there are more than 512 columns to import");
    memset(line, 'x', RPS_IMPORT_LINE_MAX + 9);
    memcpy(line, "a,b\n1,2\n", 8);
    refused_bytes(line, RPS_IMPORT_LINE_MAX + 9, NULL,
                  "line 3: the line is longer than 1048576 bytes");
    free(line);
}

static void test_last_line(void **state)
{
    static const struct {
        const char *text;
        uint64_t periods;
        const char *note;
    } files[] = {
        {"t,x\n1,2\n2,34", 2, "line 3: the last line has no line end"},
        {"t,x\n1,2\n2,\"34\"", 2, "line 3: the last line has no line end"},
        {"t,x,n\n1,2,a\n2,3,\"b\nc\"", 2, "line 4: the last line has no line end"},
        {"t,x\n1,2\n2,", 2, "line 3: the last line has no line end"},
        {"t,x\n3,2\n2,3\n1,4", 3, "line 4: the last line has no line end"}, /* newest first */
        {"t,x\n3,2\n2,3\n1", 2, "line 4: the last line may be cut off, so it is left out"},
        {"t,x\n1,2\n2", 1, "line 3: the last line may be cut off, so it is left out"},
        {"t,x\n1,2\n2,\"34", 1, "line 3: the last line may be cut off, so it is left out"},
        {"t,x\n1,2\n2,3\n# 4", 2, ""}};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct rps_import_builder *builder = look_with(files[i].text, "x=gauge");

        assert_int_equal(builder->periods, files[i].periods);
        assert_non_null(strstr(noted, files[i].note));
        close_file(builder);
    }
}

/* Rows that arrive faster than a disk writes them, from any number of CPUs, are all written. */
static void test_many_cpus(void **state)
{
    enum { CPUS = 1024, TIMES = 70 };
    const struct rps_writer_options options = {.ring_periods = 1};
    const struct rps_import_options mapped = {.start_realtime_ns = -1, .map = "n=count"};
    char path[] = "/tmp/rpistat-import-XXXXXX", name[64], *text = malloc(CPUS * TIMES * 16),
         *end = text;
    struct rps_import_builder *builder;
    struct rps_writer_status status;
    struct rps_writer *writer;
    struct rps_error err;

    (void)state;
    close(mkstemp(path));
    end += sprintf(end, "t,cpu,n\n");
    for (int i = 0; i < CPUS * TIMES; i++)
        end += sprintf(end, "%d,%d,7\n", i / CPUS + 1, i % CPUS);
    builder = look_with(text, mapped.map);
    builder->run.period_ns = RPS_NS_PER_S;
    assert_int_equal(rps_writer_open(&writer, path, &options, &err), 0);
    assert_int_equal(rps_writer_begin(writer, &builder->run, builder->plan, &err), 0);
    builder->writer = writer;
    if (rps_import_read(builder, &rps_import_csv, &mapped, &err) < 0)
        fail_msg("%s", err.message);
    if (rps_writer_end(writer, &builder->run, &err) < 0)
        fail_msg("%s", err.message);
    rps_writer_status(writer, &status);
    assert_int_equal(status.dropped, 0);
    assert_int_equal(status.committed, CPUS * TIMES);
    rps_writer_close(writer);
    close_file(builder);
    free(text);
    unlink(path);
    snprintf(name, sizeof(name), "%s-wal", path);
    unlink(name);
    snprintf(name, sizeof(name), "%s-shm", path);
    unlink(name);
}

/* A file that is cut off at any byte is rejected, or becomes a shorter run with a note. */
static void test_cut(void **state)
{
    static const char *const texts[] = {"t;x\n1;2,5\n1,5;3\n",
                                        "t,cpu,x\n1,0,2\n1.1,0,\"3\n\"\n1.1,1,4\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (size_t size = 1; size <= strlen(texts[i]); size++) {
            struct rps_import_builder *builder;
            struct rps_error err = {""};
            int result = look(texts[i], size, &no_options, &builder, &err);

            if (result < 0)
                assert_true(strlen(err.message) > 10);
            else if (texts[i][size - 1] != '\n')
                assert_non_null(strstr(noted, "may be cut off"));
            close_file(builder);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),     cmocka_unit_test(test_headers),
        cmocka_unit_test(test_columns),   cmocka_unit_test(test_gauges),
        cmocka_unit_test(test_sets),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_last_line), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_many_cpus), cmocka_unit_test(test_tables),
        cmocka_unit_test(test_processes), cmocka_unit_test(test_german),
    };

    return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
