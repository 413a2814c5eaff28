/* Tests of tables of other tools. Each format of time gives its moment or its error message. Also
 * tested: the choice of the time column, order and gaps, values, running totals. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "import/import_parts.h"
#include "import/import_values.h"
#include "rpistat/clock.h"

/* Time of the file's last change: 2026-03-10. */
#define CHANGED_NS (INT64_C(1773100800) * RPS_NS_PER_S)

static char noted[2000];
static FILE *file; /* temporary file with the table */

static char zone[100]; /* zone that a header has set */

static int set_zone(const char *name)
{
    snprintf(zone, sizeof(zone), "%s", name);
    return strcmp(name, "Europe/Nowhere") == 0 ? -1 : 0;
}

static void note(const char *sentence)
{
    snprintf(noted + strlen(noted), sizeof(noted) - strlen(noted), "%s\n", sentence);
}

/* Read a table. The builder is for close_table, also after an error. */
static int look(const char *text, const char *map, int skip_bad, struct rps_import_builder **ret,
                struct rps_error *err)
{
    const struct rps_import_options options = {
        .start_realtime_ns = -1, .map = map, .skip_bad = skip_bad, .set_zone = set_zone};
    const struct rps_import_format *format;

    zone[0] = '\0';
    file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    noted[0] = '\0';
    err->message[0] = '\0';
    *ret = rps_import_open(file, "t.csv", 0, note);
    (*ret)->changed_ns = CHANGED_NS;
    return rps_import_look(*ret, &options, &format, err);
}

static void close_table(struct rps_import_builder *builder)
{
    rps_import_close(builder);
    fclose(file);
}

/* A column with two times 10 s apart, under a header. `end` is the second time as UTC or elapsed
 * seconds, or a part of the error message. */
struct format {
    const char *name, *first, *second, *end;
    double length_s;
    const char *map;
};

static const struct format formats[] = {
    /* times in ISO 8601 */
    {"time", "2026-03-04 10:00:00", "2026-03-04 10:00:10", "2026-03-04T10:00:10", 10, NULL},
    {"time", "2026-03-04T10:00:00", "2026-03-04T10:00:10", "2026-03-04T10:00:10", 10, NULL},
    {"time", "2026-03-04T10:00:00Z", "2026-03-04T10:00:10Z", "2026-03-04T10:00:10", 10, NULL},
    {"time", "2026-03-04 10:00:00 UTC", "2026-03-04 10:00:10 UTC", "2026-03-04T10:00:10", 10, NULL},
    {"time", "2026-03-04T10:00:00+01:00", "2026-03-04T10:00:10+01:00", "2026-03-04T09:00:10", 10,
     NULL},
    {"time", "2026-03-04T10:00:00+0100", "2026-03-04T10:00:10+0100", "2026-03-04T09:00:10", 10,
     NULL},
    {"time", "2026-03-04 10:00:00+01", "2026-03-04 10:00:10+01", "2026-03-04T09:00:10", 10, NULL},
    {"time", "2026-03-04 10:00:00 -0530", "2026-03-04 10:00:10 -0530", "2026-03-04T15:30:10", 10,
     NULL},
    {"time", "2026-03-04 10:00:00.500", "2026-03-04 10:00:10.500", "2026-03-04T10:00:10.500", 10,
     NULL},
    {"time", "\"2026-03-04 10:00:00,500\"", "\"2026-03-04 10:00:10,500\"",
     "2026-03-04T10:00:10.500", 10, NULL},
    {"time", "2026-03-04 10:00", "2026-03-04 10:01", "2026-03-04T10:01:00", 60, NULL},
    {"time", "2026/03/04 10:00:00", "2026/03/04 10:00:10", "2026-03-04T10:00:10", 10, NULL},
    {"time", "2026.03.04 10:00:00", "2026.03.04 10:00:10", "2026-03-04T10:00:10", 10, NULL},
    {"time", "20260304 10:00:00", "20260304 10:00:10", "2026-03-04T10:00:10", 10, NULL},
    {"time", "20260304T100000Z", "20260304T100010Z", "2026-03-04T10:00:10", 10, NULL},
    {"time", "20260304100000", "20260304100010", "2026-03-04T10:00:10", 10, NULL},
    {"date", "20260304", "20260305", "2026-03-05T00:00:00", 86400, NULL},
    {"date", "2026-03-04", "2026-03-05", "2026-03-05T00:00:00", 86400, NULL},
    {"month", "2026-03", "2026-04", "2026-04-01T00:00:00", 31 * 86400, NULL},
    /* time formats of other countries and programs */
    {"time", "04.03.2026 10:00:00", "04.03.2026 10:00:10", "2026-03-04T10:00:10", 10, NULL},
    {"time", "4.3.26 10:00", "4.3.26 10:01", "2026-03-04T10:01:00", 60, NULL},
    {"time", "03/24/2026 10:00:00", "03/24/2026 10:00:10", "2026-03-24T10:00:10", 10, NULL},
    {"time", "24/03/2026 10:00:00", "24/03/2026 10:00:10", "2026-03-24T10:00:10", 10, NULL},
    {"time", "03/03/2026", "03/13/2026", "2026-03-13T00:00:00", 864000, NULL},
    {"time", "3/24/26 1:00:00 PM", "3/24/26 1:00:10 PM", "2026-03-24T13:00:10", 10, NULL},
    {"time", "04-Mar-2026 10:00:00", "04-Mar-2026 10:00:10", "2026-03-04T10:00:10", 10, NULL},
    {"time", "4 March 2026 10:00:00", "4 March 2026 10:00:10", "2026-03-04T10:00:10", 10, NULL},
    {"time", "\"Mar 4, 2026 10:00:00\"", "\"Mar 4, 2026 10:00:10\"", "2026-03-04T10:00:10", 10,
     NULL},
    {"time", "Wed Mar  4 10:00:00 2026", "Wed Mar  4 10:00:10 2026", "2026-03-04T10:00:10", 10,
     NULL},
    {"time", "Wed Mar  4 10:00:00 UTC 2026", "Wed Mar  4 10:00:10 UTC 2026", "2026-03-04T10:00:10",
     10, NULL},
    {"time", "\"Wed, 04 Mar 2026 10:00:00 +0000\"", "\"Wed, 04 Mar 2026 10:00:10 +0000\"",
     "2026-03-04T10:00:10", 10, NULL},
    {"time", "[04/Mar/2026:10:00:00 +0100]", "[04/Mar/2026:10:00:10 +0100]", "2026-03-04T09:00:10",
     10, NULL},
    /* the year is 2026 */
    {"time", "Mar  4 10:00:00", "Mar  4 10:00:10", "2026-03-04T10:00:10", 10, NULL},
    {"time", "Dec 31 10:00:00", "Dec 31 10:00:10", "2025-12-31T10:00:10", 10, NULL},
    {"time", "Feb 29 10:00:00", "Feb 29 10:00:10", "2024-02-29T10:00:10", 10, NULL},
    {"time", "Feb 28 23:59:55", "Feb 29 00:00:05", "2024-02-29T00:00:05", 10, NULL},
    {"time", "Mar-04 10:00:00", "Mar-04 10:00:10", "2026-03-04T10:00:10", 10, NULL},
    /* times of day, elapsed times */
    {"time", "10:00:00", "10:00:10", "time of day 09:59:50", 10, NULL},
    {"time", "10:00", "10:05", "time of day 09:55:00", 300, NULL},
    {"time", "11:59:55 PM", "12:00:05 AM", "time of day 23:59:45", 10, NULL},
    {"time", "23:59:55", "00:00:05", "time of day 23:59:45", 10, NULL},
    {"time", "0:10", "0:20", "20", 10, NULL},
    {"time", "59:50", "60:00", "20", 10, NULL},
    {"elapsed", "00:10", "00:20", "20", 10, NULL},
    {"time", "0:00:10", "0:00:20.0", "20", 10, NULL},
    {"time", "10s", "20s", "20", 10, NULL},
    {"time", "1m 30s", "1m 40s", "20", 10, NULL},
    {"time", "500ms", "1000ms", "1", .5, NULL},
    {"time", "2 days 01:00:00", "2 days 01:00:10", "20", 10, NULL},
    /* times as plain numbers */
    {"time", "10", "20", "20", 10, NULL},
    {"time_ms", "100", "200", "0.2", .1, NULL},
    {"Time (hours)", "0", "2", "14400", 7200, NULL},
    {"time [h]", "2", "4", "14400", 7200, NULL},
    {"elapsed_min", "1", "2", "120", 60, NULL},
    {"time_minutes", "1", "2", "120", 60, NULL},
    {"uptime (days)", "1", "2", "172800", 86400, NULL},
    {"minutes", "1", "2", "120", 60, NULL},
    {"elapsed (usec)", "1000000", "2000000", "2", 1, NULL},
    {"time_msec", "1000", "2000", "2", 1, NULL},
    {"time (milliseconds)", "1000", "2000", "2", 1, NULL},
    {"Time [\xce\xbcs]", "1000000", "2000000", "2", 1, NULL},
    {"Time (\xc2\xb5s)", "1000000", "2000000", "2", 1, NULL},
    {"time (weeks)", "1", "2", "1209600", 604800, NULL},
    {"Time (ms since start)", "1000", "2000", "2", 1, NULL},
    {"time_ms_since_boot", "1000", "2000", "2", 1, NULL},
    {"Time (ms) since start", "1000", "2000", "2", 1, NULL},
    {"Time since start (ms)", "1000", "2000", "2", 1, NULL},
    {"time ( ms )", "1000", "2000", "2", 1, NULL},
    {"Time (since start)", "1", "2", "2", 1, NULL},
    {"t/ms", "1000", "2000", "2", 1, NULL},
    {"time_ms_utc", "1000", "2000", "2", 1, NULL},
    {"time_utc_us", "1000000", "2000000", "2", 1, NULL},
    {"time_ms_rel", "1000", "2000", "2", 1, NULL},
    {"time {ms}", "1000", "2000", "2", 1, NULL},
    {"time <ms>", "1000", "2000", "2", 1, NULL},
    {"\"time \"\"ms\"\"\"", "1000", "2000", "2", 1, NULL},
    {"\"time, ms\"", "1000", "2000", "2", 1, NULL},
    {"time-ms", "1000", "2000", "2", 1, NULL},
    {"Time (ms) [relative]", "1000", "2000", "2", 1, NULL},
    {"\"time (ms, UTC)\"", "1000", "2000", "2", 1, NULL},
    {"time_since_boot_ms", "1000", "2000", "2", 1, NULL},
    {"time \xc2\xb5s total", "1000000", "2000000", "2", 1, NULL},
    {"time_of_day_s", "1", "2", "2", 1, NULL},
    {"hours since 2020-01-01 00:00:00", "1", "2", "7200", 3600, NULL},
    {"time (days since 1970-01-01T00:00Z)", "1", "2", "172800", 86400, NULL},
    {"time (sec.)", "1", "2", "2", 1, NULL},
    {"time (s) in s", "1", "2", "2", 1, NULL},
    {"time [CET]", "1", "2", "2", 1, NULL},
    {"\"time (a,b)\"", "1", "2", "0.002", .001, "1=time:ms"},
    {"time (UTC+2)", "1", "2", "2", 1, NULL},
    {"time_of_day", "1", "2", "2", 1, NULL},
    {"time (ticks)", "1772618400", "1772618410", "2026-03-04T10:00:10", 10, NULL},
    {"time (1000 s)", "1", "2", "2000", 1000, "time (1000 s)=time:1000s"},
    {"time (ticks)", "1", "2", "0.02", .01, "time (ticks)=time:10ms"},
    {"a", "1", "2", "7200", 3600, "a=time:h"},
    {"a", "1.5", "3", "180", 90, "a=time:min"},
    {"time", "1772618400", "1772618410", "2026-03-04T10:00:10", 10, NULL},
    {"time", "1772618400.25", "1772618410.25", "2026-03-04T10:00:10.250", 10, NULL},
    {"time", "1772618400000", "1772618410000", "2026-03-04T10:00:10", 10, NULL},
    {"time", "1772618400000000", "1772618410000000", "2026-03-04T10:00:10", 10, NULL},
    {"time", "1772618400000000000", "1772618410000000000", "2026-03-04T10:00:10", 10, NULL},
    /* Excel's day numbers */
    {"Date", "46085.4166666667", "46085.4167824074", "2026-03-04T10:00:10", 10, NULL},
    {"date", "46085", "46086", "2026-03-05", 86400, NULL},
    /* Julian days */
    {"Julian Date", "2461103.9166666667", "2461103.9167824074", "2026-03-04T10:00:10", 10, NULL},
    {"time", "2461104.5", "2461104.6", "2026-03-05T02:24:00", 8640, NULL},
    {"jd", "2461104", "2461105", "2026-03-05T12:00:00", 86400, NULL},
    {"MJD", "61103.5", "61103.6", "2026-03-04T14:24:00", 8640, NULL},
    {"a", "2461104.5", "2461104.6", "2026-03-05T02:24:00", 8640, "a=time:julian"},
    {"days", "20516.5", "20516.6", "2026-03-04T14:24:00", 8640, NULL},
    /* time formats given by --map */
    {"a", "5/11/2026 10h00", "5/11/2026 10h01", "2026-11-05T10:01:00", 60, "a=time:%d/%m/%Y %Hh%M"},
    {"a", "\"11/5/2026, 10:00:00.5\"", "\"11/5/2026, 10:00:10.5\"", "2026-11-05T10:00:10.500", 10,
     "a=time:%m/%d/%Y, %H:%M:%S"},
    {"a", "9:55", "9:56", "time of day 09:54:00", 60, "a=time:%H:%M"},
    {"time", "100050", "100150", "time of day 09:59:50", 60, "time=time:%H%M%S"},
    {"year", "2025", "2026", "2026-01-01", 365 * 86400, "year=time:%Y"},
    {"a", "1772618400", "1772618410", "2026-03-04T10:00:10", 10, "a=time:%s"},
    {"a", "46085.5", "46085.6", "2026-03-04T14:24:00", 8640, "a=time:excel"},
    /* rejected time formats */
    {"time (1000 s)", "1", "2", "unit of the time column 'time (1000 s)' is not clear", 0, NULL},
    {"Time (24h)", "1", "2", "unit of the time column 'Time (24h)' is not clear", 0, NULL},
    {"time (10^3 s)", "1", "2", "write --map 'time (10^3 s)=time:s'", 0, NULL},
    {"time (ks)", "1", "2", "is not clear", 0, NULL},
    {"time (x10 ms)", "1", "2", "is not clear", 0, NULL},
    {"time {foo}", "1", "2", "write --map 'time {foo}=time:s'", 0, NULL},
    {"time <foo>", "1", "2", "is not clear", 0, NULL},
    {"time (ms) (foo)", "1", "2", "is not clear", 0, NULL},
    {"time_ms_s", "1", "2", "is not clear", 0, NULL},
    {"time (min:s)", "1", "2", "is not clear", 0, NULL},
    {"time (milli seconds)", "1", "2", "is not clear", 0, NULL},
    {"\"time (a,b)\"", "1", "2", "write --map '1=time:s'", 0, NULL},
    {"time 'x' (foo)", "1", "2", "write --map '1=time:s'", 0, NULL},
    {"elapsed_months", "1", "2", "is not clear", 0, NULL},
    {"days", "46085.5", "46085.6", "another unit such as ms, 1000s, excel or julian", 0, NULL},
    {"julian day", "2461104.5", "2461104.6", "is not clear", 0, NULL},
    {"julian", "63.5", "63.6", "is not clear", 0, NULL},
    {"date", "20516", "20517", "is not clear", 0, NULL},
    {"time (hours since 1900-01-01)", "1112652", "1112653", "is not clear", 0, NULL},
    {"time", "3865000000", "3865000010", "is not clear", 0, NULL},
    {"time", "134089000000000000", "134089000100000000", "is not clear", 0, NULL},
    {"a", "1", "2", "'parsecs' is not a format of times", 0, "a=time:parsecs"},
    {"a", "1", "2", "'999999weeks' is not a format of times", 0, "a=time:999999weeks"},
    {"a", "1", "2", "'-5s' is not a format of times", 0, "a=time:-5s"},
    {"time", "05/11/2026 10:00", "05/11/2026 10:01", "may have the day first or the month", 0,
     NULL},
    {"time", "100050", "100150", "'100050' may be a time of day or seconds", 0, NULL},
    {"year", "2025", "2026", "'year' may be a part of the time", 0, NULL},
    {"time", "2026-03-04 10:00:00 CET", "2026-03-04 10:00:10 CET", "names a time zone", 0, NULL},
    {"time", "9:55", "9:56", "hours and minutes, or minutes and seconds", 0, NULL},
    {"timestamp", "2026-W10-3", "2026-W10-4",
     "'2026-W10-3' in the column 'timestamp' is not a time between 1970 and 2089 in a known "
     "format; write 2026-03-04",
     0, NULL},
    {"timestamp", "stardate 1", "stardate 2", "is not a time between 1970 and 2089", 0, NULL},
    {"time", "2026-02-30 10:00:00", "2026-02-30 10:00:10", "is not a time between 1970 and 2089", 0,
     NULL},
    {"time", "2026-03-04 10:00:00", "2026-03-04 10:00:00",
     "(2026-03-04 10:00:00 in the first row) does not change enough", 0, NULL},
};

/* A header of a time column, a cell below it, and the zone of the column: "" for none, "?" if the
 * table is refused. */
static const struct {
    const char *name, *cell, *zone;
} zones[] = {
    {"time (UTC+2)", "2026-03-04 10:00:00", "+02:00"},
    {"time [GMT-05:30]", "2026-03-04 10:00:00", "-05:30"},
    {"time [+01]", "10:00:00", "+01:00"},
    {"Timestamp (America/New_York)", "10:00:00", "America/New_York"},
    {"date_utc", "2026-03-04", "+00:00"},
    {"Time UTC", "2026-03-04 10:00:00", "+00:00"},
    {"Date (UTC)", "46085.4", "+00:00"},
    {"time (UTC+2)", "2026-03-04 10:00:00+01:00", ""},
    {"time (CET)", "2026-03-04 10:00:00Z", ""},
    {"time (UTC+2)", "1772618400", ""},
    {"time {UTC+2}", "2026-03-04 10:00:00", "+02:00"},
    {"time_utc_rel", "2026-03-04 10:00:00", "+00:00"},
    {"Time UTC (day/month)", "2026-03-04 10:00:00", "+00:00"},
    {"time (Asia/Tokyo) [local]", "2026-03-04 10:00:00", "Asia/Tokyo"},
    {"time (day/month)", "2026-03-04 10:00:00", ""},
    {"time_utcoffset", "2026-03-04 10:00:00", ""},
    {"time_est", "2026-03-04 10:00:00", ""},
    {"Zeit [CET]", "2026-03-04 10:00:00", "?"},
    {"Time EST", "10:00:00", "?"},
    {"Time CET begin", "10:00:00", "?"},
    {"Time <EST>", "10:00:00", "?"},
    {"Time (UTC+25)", "10:00:00", "?"},
    {"Time (UTC or so)", "10:00:00", "?"},
    {"Time (Europe/Nowhere)", "10:00:00", "?"},
};

static void test_zones(void **state)
{
    (void)state;
    for (size_t i = 0; i < RPS_COUNT(zones); i++) {
        struct rps_import_builder *builder;
        struct rps_error err;
        char text[200];
        int result;

        snprintf(text, sizeof(text), "%s,v\n%s,1\n", zones[i].name, zones[i].cell);
        result = look(text, NULL, 0, &builder, &err);
        if (zones[i].zone[0] == '?' ? result == 0 || !strstr(err.message, "add --zone")
                                    : result < 0 || strcmp(zone, zones[i].zone) != 0)
            fail_msg("%s: %s: '%s'; %s", zones[i].name, zones[i].cell, zone, err.message);
        close_table(builder);
    }
}

/* A note names the columns with values of some CPUs only, at a time. A column that a CPU never has,
 * and one that no CPU has at that time, are not named. */
static void test_partial(void **state)
{
    static const char *const tables[][2] = {
        {"time,cpu,a,b,c\n1,0,1,1,1\n1,1,1,,1\n2,0,1,1,\n2,1,1,,\n", ""},
        {"time,cpu,a,b,c\n1,0,1,1,1\n1,1,1,,1\n2,0,1,1,\n2,1,,,1\n",
         "only some CPUs have a value of a, c; "},
        {"time,a\n1,1\n2,\n3,1\n", ""}};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(tables); i++) {
        struct rps_import_builder *builder;
        struct rps_error err;

        assert_int_equal(look(tables[i][0], NULL, 0, &builder, &err), 0);
        if (tables[i][1][0] ? !strstr(noted, tables[i][1]) : noted[0] != '\0')
            fail_msg("%s: '%s'", tables[i][0], noted);
        close_table(builder);
    }
}

static void check_format(const struct format *format)
{
    char text[400], found[RPS_WALL_TEXT_SIZE + 20] = "";
    struct rps_import_builder *builder;
    struct rps_error err;
    int result;

    snprintf(text, sizeof(text), "%s,v\n%s,1\n%s,2\n", format->name, format->first, format->second);
    result = look(text, format->map, 0, &builder, &err);
    if (result < 0)
        snprintf(found, sizeof(found), "refused");
    else if (builder->run.start_realtime_ns >= 0)
        rps_wall_text(found, sizeof(found), builder->run.start_realtime_ns + builder->end_ns);
    else if (builder->time_of_day_ns >= 0)
        snprintf(found, sizeof(found), "time of day %02d:%02d:%02d",
                 (int)(builder->time_of_day_ns / RPS_NS_PER_S / 3600),
                 (int)(builder->time_of_day_ns / RPS_NS_PER_S / 60 % 60),
                 (int)(builder->time_of_day_ns / RPS_NS_PER_S % 60));
    else
        snprintf(found, sizeof(found), "%.9g", (double)builder->end_ns / RPS_NS_PER_S);
    if (format->length_s == 0 ? !strstr(err.message, format->end)
                              : strncmp(found, format->end, strlen(format->end)) != 0)
        fail_msg("%s: %s: '%s' is not '%s'; %s", format->name, format->first, found, format->end,
                 err.message);
    if (format->length_s > 0 && fabs(builder->seconds - 2 * format->length_s) > 1e-6 &&
        fabs((double)builder->end_ns / RPS_NS_PER_S - 2 * format->length_s) > 1e-6 &&
        strcmp(format->name, "elapsed") != 0)
        fail_msg("%s: %.9g s are not %.9g s", format->first, builder->seconds,
                 2 * format->length_s);
    close_table(builder);
}

static void test_formats(void **state)
{
    (void)state;
    assert_true(RPS_COUNT(formats) >= 60);
    for (size_t i = 0; i < RPS_COUNT(formats); i++)
        check_format(&formats[i]);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Return a readable table, for close_table. */
static struct rps_import_builder *table(const char *text, const char *map, int skip_bad)
{
    struct rps_import_builder *builder;
    struct rps_error err;

    if (look(text, map, skip_bad, &builder, &err) < 0)
        fail_msg("%s", err.message);
    return builder;
}

static void refused(const char *text, const char *map, const char *words)
{
    struct rps_import_builder *builder;
    struct rps_error err;

    assert_true(look(text, map, 0, &builder, &err) < 0);
    if (!strstr(err.message, words))
        fail_msg("'%s' has no '%s'", err.message, words);
    close_table(builder);
}

static void says(const char *words)
{
    if (!strstr(noted, words))
        fail_msg("'%s' has no '%s'", noted, words);
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

static void test_choice(void **state)
{
    struct rps_import_builder *builder;

    (void)state;
    /* A constant column is not the time. A growing column is the time, even without a name. */
    builder = table("time_start,time_end,v\n2026-03-04 10:00:00,2026-03-04 10:00:10,1\n"
                    "2026-03-04 10:00:00,2026-03-04 10:00:20,2\n",
                    NULL, 0);
    assert_int_equal(builder->end_ns, 20 * RPS_NS_PER_S);
    says("left out: time_start");
    close_table(builder);
    builder = table("Date,Time,v\n03/24/2026,10:00:00,1\n03/24/2026,10:00:05,2\n", NULL, 0);
    assert_int_equal(builder->run.start_realtime_ns / RPS_NS_PER_S, 1774346395);
    close_table(builder);
    /* 03/03 shows no order of day and month; 03/13 does. */
    builder = table("time,v\n03/03/2026,1\n03/04/2026,1\n03/13/2026,1\n", NULL, 0);
    assert_int_equal(builder->run.start_realtime_ns / RPS_NS_PER_S, 1772409600);
    close_table(builder);
    builder = table("1772618400,5\n1772618460,3\n", NULL, 0); /* a table without a header */
    assert_int_equal(builder->end_ns, 120 * RPS_NS_PER_S);
    close_table(builder);
    builder = table("epoch,when,v\n1772618400,2026-03-04 10:00:00,1\n"
                    "1772618410,2026-03-04 10:00:10,1\n",
                    NULL, 0); /* both columns have the same times */
    assert_int_equal(builder->end_ns, 20 * RPS_NS_PER_S);
    close_table(builder);
    refused("start_time,end_time,v\n2026-03-04 10:00:00,2026-03-04 11:00:00,1\n"
            "2026-03-04 10:00:10,2026-03-04 12:00:20,2\n",
            NULL, "the columns 'start_time' and 'end_time' may both be the time; choose one");
    refused("start_time,end_time,v\n2026-03-04 10:00:00,2026-03-04 10:00:10,1\n"
            "2026-03-04 10:00:10,2026-03-04 10:00:20,2\n",
            NULL, "the columns 'start_time' and 'end_time' may both be the time; choose one");
    builder = table("elapsed,timestamp,v\n0,1772618400,1\n10,1772618410,1\n", NULL, 0);
    assert_int_equal(builder->run.start_realtime_ns / RPS_NS_PER_S, 1772618390);
    close_table(builder);
    refused("time,v\n2026-03-04 10:00:00,$5\n2026-03-04 10:00:10,$6\n", NULL,
            "'$5' in the first row of the column 'v' is not a number");
    refused("time,v\n3,1\n1,2\n2,3\n", NULL, "neither grows nor falls; --map 'time=gauge'");
    refused("timestamp,v\n1,1\n2,2\nx,3\ny,4\n5,5\n", NULL,
            "'x' in the column 'timestamp' is not a time between 1970 and 2089");
    refused("time~v\n3~1\n1~2\n", NULL, "'~' seems to separate the cells");
    refused("0.100000000::5::cycles\n0.200000000::5::cycles\n", NULL, "'::' seems to separate");
    refused("time,v\n1,1\n1,2\n2,3\n2,4\n3,5\n3,6\n4,7\n4,8\n5,9\n", NULL,
            "4 of 9 rows have the time of the row before");
    /* A second time column does not become a value. */
    builder = table("start,end,v\n2026-03-04 10:00:00,2026-03-04 10:00:10,1\n"
                    "2026-03-04 10:00:00,2026-03-04 10:00:20,2\n",
                    "start=time", 0);
    assert_int_equal(builder->column_count, 1);
    close_table(builder);
    /* Columns with names of durations are values if another column is the time. */
    builder = table("timeStamp,elapsed\n1772618400000,30\n1772618400100,20\n", NULL, 0);
    assert_float_equal(column(builder, "elapsed")->most, 30, 0);
    close_table(builder);
}

/* The keys are the columns of words that distinguish the rows of a time. */
static void test_keys(void **state)
{
    struct rps_import_builder *builder;

    (void)state;
    builder = table("time,status,host,v\n1,ok,a,1\n1,warn,b,2\n2,ok,a,3\n2,ok,b,4\n3,ok,a,5\n"
                    "3,warn: 7,b,6\n",
                    NULL, 0);
    assert_int_equal(builder->column_count, 2);
    assert_float_equal(column(builder, "b v")->most, 6, 0);
    says("left out: status");
    close_table(builder);
    builder = table("time,mem,name,v\n1,1k / 9k,a,1\n1,2k / 9k,b,2\n2,3k / 9k,a,3\n2,4k / 9k,b,4\n",
                    NULL, 0);
    assert_int_equal(builder->column_count, 2);
    assert_float_equal(column(builder, "a v")->most, 3, 0);
    close_table(builder);
    builder =
        table("time,host,dev,v\n1,h,x,1\n1,h,y,2\n1,i,x,3\n1,i,y,4\n2,h,x,5\n2,i,y,6\n", NULL, 0);
    assert_int_equal(builder->column_count, 4);
    assert_float_equal(column(builder, "i y v")->most, 6, 0);
    close_table(builder);
}

/* A row with a bad time is rejected with its line, or left out. The column remains. */
static void test_bad_cells(void **state)
{
    static const char text[] = "time,a,b\n10,1,1\n20,2,1\n30,3,1\n40,4,1\n50,5,1\n60,6,1\n"
                               "70,7,1\n80,8,1\nERROR,9,1\n100,1O,1\n120,12,1\n110,11\n";
    struct rps_import_builder *builder;

    (void)state;
    refused(text, NULL, "t.csv, line 13: the row has 2 cells, and the first has 3");
    refused("time,a\n10,1\n20,2\n30,2\n40,2\n50,2\n60,2\n70,2\n80,2\nERROR,9\n100,1\n", NULL,
            "t.csv, line 10: 'ERROR' in the column 'time' is not a time");
    builder = table(text, NULL, 1);
    says("left out: 1 bad cell\n");
    says("left out: 2 rows without a time, or with a wrong number of cells");
    assert_int_equal(builder->periods, 10);
    assert_int_equal(column(builder, "a")->periods, 9);
    close_table(builder);
    builder = table("time,a\n2026-03-04 10:00:00,1\n2026-03-04 10:00:10,2\nabc,3\n"
                    "2026-03-04 10:00:30,4\n",
                    NULL, 1); /* one of four rows is bad */
    says("left out: 1 row without a time");
    assert_int_equal(builder->periods, 3);
    close_table(builder);
    refused("time,a\n10,1\n20,2\n30,x\n", NULL,
            "t.csv, line 4: 'x' in the column 'a' is not a number");
    builder = table("time,a\n10,1\n20,2\nAverage,1.5\nTotal:\n", NULL, 0);
    says("left out: the rows that begin with Average, Total:");
    assert_int_equal(builder->periods, 2);
    close_table(builder);
    builder = table("dev,time,v\na,1,5\nb,1,6\nTotal,1,11\na,2,5\nb,2,6\nTotal,2,11\n", NULL, 0);
    assert_null(strstr(noted, "left out"));
    assert_int_equal(column(builder, "Total v")->periods, 2);
    close_table(builder);
}

static void test_order(void **state)
{
    struct rps_import_builder *builder;

    (void)state;
    builder = table("# made by x\ntime,v\n2026-03-04 10:00:20,3\n2026-03-04 10:00:10,2\n"
                    "2026-03-04 10:00:00,1\n2026-03-04 09:59",
                    NULL, 0);
    says("has its newest rows first; they");
    assert_int_equal(builder->run.start_realtime_ns / RPS_NS_PER_S, 1772618390);
    assert_int_equal(builder->end_ns, 30 * RPS_NS_PER_S);
    assert_true(builder->cell[0].value == 3); /* the cell keeps the value of the last period */
    close_table(builder);
    /* lines are counted from the file's start */
    refused("time,v\n30,3\n20,2\n10,x\n0,1\n", NULL, "line 4: 'x'");
    /* a gap; the first row has the median length */
    builder = table("time,v\n10:00:01,1\n10:01:01,1\n10:02:01,1\n20:00:01,1\n20:01:01,1\n"
                    "20:02:01,1\n20:03:01,1\n20:04:01,1\n20:05:01,1\n20:06:01,1\n20:07:01,1\n"
                    "20:08:01,1\n",
                    NULL, 0);
    assert_float_equal(builder->seconds, 720, 1e-9);
    says("1 gap of 9 h 57 min in total; the first is before line 5");
    close_table(builder);
    /* the times are irregular */
    builder = table("time,v\n0,1\n1,1\n10,1\n30,1\n31,1\n90,1\n", NULL, 0);
    assert_float_equal(builder->seconds, 9 + 90, 1e-9);
    close_table(builder);
    /* Intervals given in the rows, restarts, duplicates, and steps back are handled. */
    builder = table("time,interval,v\n100,10,1\n200,10,1\n250,50,1\n", NULL, 0);
    assert_float_equal(builder->seconds, 10 + 10 + 50, 1e-9);
    close_table(builder);
    builder = table("# t;interval;v\n100;10;1\n110;10;1\n115;-1;LINUX-RESTART\t(2 CPU)\n130;10;1\n",
                    NULL, 0);
    assert_float_equal(builder->seconds, 30, 1e-9);
    says("1 gap of 10.0 s");
    close_table(builder);
    builder =
        table("Linux 6.12.24 (h) \t03/24/26\n10:00:00 CPU %idle\n10:00:10 all 1\n10:00:20 all 1\n\n"
              "10:00:35 LINUX RESTART (2 CPU)\n\n10:00:30 CPU %idle\n10:00:45 all 1\n",
              NULL, 0);
    assert_float_equal(builder->seconds, 10 + 10 + 10, 1e-9);
    assert_int_equal(builder->run.start_realtime_ns / RPS_NS_PER_S, 1774346400);
    close_table(builder);
    builder =
        table("time,v\n10,1\n20,1\n20,2\n30,1\n15,1\n25,1\n35,1\n45,1\n55,1\n65,1\n", NULL, 0);
    says("2 rows are not later than the row before, the first in line 4; each follows a gap");
    assert_int_equal(builder->periods, 10);
    assert_float_equal(builder->seconds, 100, 1e-9);
    assert_int_equal(builder->end_ns, 120 * RPS_NS_PER_S);
    close_table(builder);
}

/* In the file's time zone, the hour that occurs twice counts as two hours. */
static void test_summer_time(void **state)
{
    struct rps_import_builder *builder;

    (void)state;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    builder = table("time,v\n2026-10-25 01:30:00,1\n2026-10-25 02:00:00,1\n2026-10-25 02:30:00,1\n"
                    "2026-10-25 02:00:00,1\n2026-10-25 02:30:00,1\n2026-10-25 03:00:00,1\n",
                    NULL, 0);
    assert_float_equal(builder->seconds, 6 * 1800, 1e-9);
    assert_int_equal(builder->end_ns, 6 * 1800 * RPS_NS_PER_S);
    says("an hour occurs twice");
    close_table(builder);
    refused("time,v\n2026-03-29 01:30:00,1\n2026-03-29 02:30:00,1\n2026-03-29 03:30:00,1\n", NULL,
            "line 3: '2026-03-29 02:30:00' in the column 'time' is not a time, or does not exist "
            "in its zone");
    setenv("TZ", "UTC0", 1);
    tzset();
}

static void test_values(void **state)
{
    static const struct {
        const char *cell;
        char decimal;
        int kind;
        double value;
        const char *unit;
    } cells[] = {
        {"12", '.', 1, 12, ""},
        {"-0.5", '.', 1, -0.5, ""},
        {"1e3", '.', 1, 1000, ""},
        {"1'234.5", '.', 1, 1234.5, ""},
        {"12,34,567", '.', 1, 1234567, ""},
        {"1,234,567.5", '.', 1, 1234567.5, ""},
        {"1\xe2\x80\xaf"
         "234",
         '.', 1, 1234, ""},
        {"1\xe2\x80\x89"
         "234",
         '.', 1, 1234, ""},
        {"1\xc2\xa0"
         "234,5",
         ',', 1, 1234.5, ""},
        {"1.234.567,8", ',', 1, 1234567.8, ""},
        {"1,5", '.', -1, 0, ""},
        {"1,23,4", '.', -1, 0, ""},
        {"12K", '.', 1, 12, "K"},
        {"2.4GiB", '.', 1, 2.4, "GiB"},
        {"35 %", '.', 1, 35, "%"},
        {"35%", '.', 1, 35, "%"},
        {"10 \xc2\xb5s", '.', 1, 10, "\xc2\xb5s"},
        {"20\xc2\xb0"
         "C",
         '.', 1, 20,
         "\xc2\xb0"
         "C"},
        {"5x", '.', -1, 0, ""},
        {"0x10", '.', -1, 0, ""},
        {"12345678901234567890", '.', 1, 12345678901234567890.0, ""},
        {"0.1", '.', 1, 0.1, ""},
        {"123456.789012345678", '.', 1, 123456.789012345678, ""},
        {"N/A", '.', 0, 0, ""},
        {"[N/A]", '.', 0, 0, ""},
        {"[Not Supported]", '.', 0, 0, ""},
        {"--", '.', 0, 0, ""},
        {".", '.', 0, 0, ""},
        {"#N/A", '.', 0, 0, ""},
        {"n.a.", '.', 0, 0, ""},
        {"ERROR", '.', 0, 0, ""},
        {"<not counted>", '.', 0, 0, ""},
        {"idle", '.', -1, 0, ""},
    };
    struct rps_import_builder *builder;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(cells); i++) {
        const char *unit;
        double value;
        int kind = rps_value_read_unit(cells[i].cell, cells[i].decimal, &value, &unit);

        if (kind != cells[i].kind || (kind > 0 && value != cells[i].value) ||
            strcmp(unit, cells[i].unit) != 0)
            fail_msg("'%s': %d, %.17g '%s'", cells[i].cell, kind, value, unit);
    }
    builder = table("t,a,b,c\n1,800K,900 KiB,5 ms\n2,1.5M,1.5 MiB,7 ms\n3,0,0,0\n", NULL, 0);
    assert_float_equal(column(builder, "a")->most, 1.5e6, 0);
    assert_float_equal(column(builder, "b")->least, 0, 0);
    assert_float_equal(column(builder, "b")->most, 1.5 * 1048576, 0);
    assert_string_equal(column(builder, "b")->unit, "B");
    assert_float_equal(column(builder, "c")->most, 7, 0); /* the unit of all values is kept */
    assert_string_equal(column(builder, "c")->unit, "ms");
    close_table(builder);
}

/* Counts and totals that a double cannot hold are exact. */
static void test_exact(void **state)
{
    static const char *const counts[] = {"9007199254740993",      "9007199254740993.0",
                                         "+9007199254740993",     "9,007,199,254,740,993",
                                         "9 007 199 254 740 993", "9'007'199'254'740'993.0",
                                         "9007199254740993 B",    "9 007 199 254 740 993 B"};
    struct rps_import_builder *builder;
    char text[100];

    (void)state;
#if LDBL_MANT_DIG < 64
    print_message("a long double has no more digits than a double here\n");
    skip();
#endif
    for (size_t i = 0; i < RPS_COUNT(counts); i++) {
        snprintf(text, sizeof(text), "t;a\n1;%s\n2;0\n", counts[i]);
        builder = table(text, "a=count", 0);
        if (column(builder, "a")->sum != 9007199254740993)
            fail_msg("%s: %llu", counts[i], (unsigned long long)column(builder, "a")->sum);
        close_table(builder);
    }
    builder = table("t;a\n1;9.007.199.254.740.993,0\n2;1,5\n", "a=count", 0);
    assert_int_equal(column(builder, "a")->sum, 9007199254740993 + 2);
    close_table(builder);
    builder = table("t,a\n1,1234567890123456701\n2,1234567890123456702\n", "a=count", 0);
    assert_int_equal(column(builder, "a")->sum, 2469135780246913403);
    close_table(builder);
    builder = table("time,x\n10,9007199254740993\n20,9007199254740996\n30,5\n40,7\n",
                    "time=time,x=counter", 0);
    assert_int_equal(column(builder, "x")->sum, 3 + 2);
    close_table(builder);
    builder = table("time,x\n10,18446744073709551601\n20,18446744073709551602\n"
                    "30,18446744073709551604\n",
                    "x=counter", 0);
    assert_int_equal(column(builder, "x")->sum, 3);
    close_table(builder);
    builder = table("time,x\n1,18446744073709551586\n2,18446744073709551606\n3,0\n4,10\n",
                    "x=counter", 0); /* a counter of 64 bits wraps */
    assert_int_equal(column(builder, "x")->sum, 40);
    close_table(builder);
}

static void test_counters(void **state)
{
    static const char text[] =
        "time,requests_total,cpu_seconds_total,memory_total,x\n"
        "10,1000,1.5,7,1\n20,1050,2.5,7,5\n30,1150,2.5,7,2\n40,1150,4.5,7,9\n";
    struct rps_import_builder *builder = table(text, NULL, 0);

    (void)state;
    says("'requests_total' is read as a running total");
    assert_int_equal(column(builder, "requests_total")->kind, RPS_IMPORT_COUNT);
    assert_int_equal(column(builder, "requests_total")->sum, 150);
    /* the first row has no growth */
    assert_int_equal(column(builder, "requests_total")->periods, 3);
    assert_float_equal(column(builder, "cpu_seconds_total")->most, 0.2, 1e-12);
    assert_int_equal(column(builder, "memory_total")->kind, RPS_IMPORT_GAUGE);
    close_table(builder);
    builder = table("time,\"a,b_total\"\n1,1\n2,3\n3,7\n", NULL, 0);
    says("(--map '2=gauge' imports its values)");
    close_table(builder);
    /* A fall counts no growth. */
    builder = table("time,x\n10,993\n20,996\n30,5\n40,7\n", "time=time,x=counter", 0);
    assert_int_equal(column(builder, "x")->sum, 3 + 2);
    close_table(builder);
    /* The program restarted once. */
    builder = table("time,x_total\n1,5\n2,6\n3,8\n4,9\n5,11\n6,12\n7,13\n8,14\n9,15\n10,16\n"
                    "11,17\n12,1\n13,2\n",
                    NULL, 0);
    assert_int_equal(column(builder, "x_total")->sum, 12 + 1);
    close_table(builder);
    /* Growth over several rows is divided among them by their lengths. */
    builder = table("time,x_total,y\n10,100,1\n20,,5\n30,N/A,2\n70,150,4\n80,160,4\n", NULL, 0);
    assert_int_equal(column(builder, "x_total")->sum, 60);
    assert_int_equal(column(builder, "x_total")->periods, 4);
    close_table(builder);
    builder = table("time,a_total,b_total\n10,,5\n20,1.5,\n30,,25\n40,3.5,\n50,,45\n", NULL, 0);
    assert_float_equal(column(builder, "a_total")->least, 0.1, 1e-12);
    assert_float_equal(column(builder, "a_total")->most, 0.1, 1e-12);
    assert_int_equal(column(builder, "a_total")->periods, 2);
    assert_int_equal(column(builder, "b_total")->sum, 40);
    assert_int_equal(column(builder, "b_total")->periods, 4);
    close_table(builder);
    /* The growth over a gap is unknown, also if a total is missing next to the gap. */
    builder = table("time,x_total\n1,1\n2,2\n3,3\n4,4\n5,5\n6,6\n7,7\n8,8\n9,9\n10,\n"
                    "100,\n101,500\n102,501\n103,502\n104,503\n105,504\n106,505\n107,506\n"
                    "108,507\n109,508\n110,509\n111,510\n112,511\n113,512\n",
                    NULL, 0);
    says("rows are missing in 1 gap");
    assert_int_equal(column(builder, "x_total")->sum, 8 + 12);
    assert_int_equal(column(builder, "x_total")->periods, 8 + 12);
    close_table(builder);
    /* A host's totals are compared with those of the same host, also if it has no row for a time. */
    builder = table("time,host,x_total,size_total\n10,a,100,7\n10,b,5000,9\n20,a,110,7\n"
                    "30,a,120,7\n30,b,5040,9\n40,a,130,7\n40,b,5060,9\n",
                    NULL, 0);
    assert_int_equal(column(builder, "a x_total")->sum, 30);
    assert_int_equal(column(builder, "b x_total")->sum, 60);
    assert_int_equal(column(builder, "b x_total")->periods, 3);
    assert_float_equal(builder->column[builder->column_count - 1].most, 9, 0); /* b size_total */
    close_table(builder);
    builder =
        table("time,cpu,x_total\n10,0,100\n10,1,7\n20,0,150\n20,1,9\n30,0,160\n30,1,19\n", NULL, 0);
    assert_int_equal(column(builder, "x_total")->sum, 60 + 12);
    close_table(builder);
    /* A counter of 32 bits wraps. */
    builder = table("time,a_counter\n1,4294967266\n2,4294967276\n3,4294967286\n4,0\n5,10\n"
                    "6,20\n7,30\n8,40\n9,50\n10,60\n11,70\n12,80\n13,90\n",
                    "a_counter=counter", 0);
    assert_int_equal(column(builder, "a_counter")->sum, 120);
    close_table(builder);
    builder = table("time,v,x_counter\n13,1,90\n12,2,80\n11,2,70\n10,2,60\n9,2,50\n8,2,40\n"
                    "7,2,30\n6,2,20\n5,2,10\n4,2,0\n3,2,4294967286\n2,2,4294967276\n",
                    NULL, 0); /* the newest row first */
    says("'x_counter' is read as a running total");
    assert_int_equal(column(builder, "x_counter")->sum, 110);
    close_table(builder);
    /* Row numbers are whole, so this column n is a value. */
    builder = table("time,n\n1,1.2\n2,12.3\n3,123.4\n", NULL, 0);
    assert_int_equal(builder->column_count, 1);
    close_table(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),  cmocka_unit_test(test_zones),
        cmocka_unit_test(test_partial),  cmocka_unit_test(test_choice),
        cmocka_unit_test(test_keys),     cmocka_unit_test(test_bad_cells),
        cmocka_unit_test(test_order),    cmocka_unit_test(test_summer_time),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_exact),
        cmocka_unit_test(test_counters),
    };

    setenv("TZ", "UTC0", 1);
    return cmocka_run_group_tests_name("import_times", tests, NULL, NULL);
}
