/* Times in other tools' tables: moments in the formats of programs and countries, and numbers. */

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_build.h"
#include "rpistat/clock.h"
#include "rpistat/csv_signals.h"
#include "rpistat/wall.h"

/* Return 1 for a date that begins D MARK M MARK YYYY: its three numbers, and its end. */
static int read_day_first(const char *cell, char mark, int ret[3], size_t *ret_end)
{
    size_t at = 0;

    for (int i = 0; i < 3; i++) {
        size_t digits = strspn(cell + at, "0123456789");

        if (digits < (i < 2 ? 1 : 4) || digits > (i < 2 ? 2 : 4) ||
            (i < 2 && cell[at + digits] != mark))
            return 0;
        ret[i] = atoi(cell + at);
        at += digits + (i < 2);
    }
    *ret_end = at;
    return cell[at] == '\0' || cell[at] == ' ';
}

int rps_import_is_ambiguous(const char *cell)
{
    size_t end;
    int number[3];

    return read_day_first(cell, '/', number, &end);
}

/* Parse a moment. It may be nvidia-smi's 2026/10/05 03:00:00.100, sadf's 2026-10-05 03:00:00 UTC,
 * or a spreadsheet's with the day first, 05.10.2026 03:00. */
static int read_moment(const char *cell, struct rps_moment *ret)
{
    char text[40];
    size_t length = strlen(cell), end;
    int date[3];

    if (length >= sizeof(text) - 8)
        return 0;
    if (read_day_first(cell, '.', date, &end))
        snprintf(text, sizeof(text), "%04d-%02d-%02d%s", date[2], date[1], date[0],
                 cell[end] ? cell + end : " 00:00");
    else
        memcpy(text, cell, length + 1);
    length = strlen(text);
    if (length > 8 && text[4] == '/' && text[7] == '/')
        text[4] = text[7] = '-';
    if (length > 4 && strcmp(text + length - 4, " UTC") == 0)
        memcpy(text + length - 4, "Z", 2);
    return rps_moment_is(text) && rps_moment_parse("", text, ret, NULL) == 0;
}

/* Parse a time of day in American format. */
static int read_half_day(const char *cell, int64_t *ret_ns)
{
    int hour, minute, second, length = 0;
    char half;

    if (sscanf(cell, "%2d:%2d:%2d %cM%n", &hour, &minute, &second, &half, &length) != 4 ||
        length == 0 || cell[length] || (half != 'A' && half != 'P') || hour < 1 || hour > 12 ||
        minute < 0 || minute > 59 || second < 0 || second > 60)
        return 0;
    hour = hour % 12 + (half == 'P' ? 12 : 0);
    *ret_ns = ((hour * 60 + minute) * 60 + second) * RPS_NS_PER_S;
    return 1;
}

int rps_import_time(const struct rps_import_times *times, const char *cell, int64_t unit_ns,
                    int64_t *ret_ns)
{
    struct rps_moment moment;
    double value;

    if (rps_import_decimal(cell, times->decimal, unit_ns, ret_ns))
        return *ret_ns <= RPS_IMPORT_TIME_MAX_NS;
    if (rps_csv_cell(cell, strlen(cell), times->decimal, &value) > 0) { /* -1, 1e3 */
        value *= (double)unit_ns;
        if (isnan(value) || fabs(value) > (double)RPS_IMPORT_TIME_MAX_NS)
            return 0;
        *ret_ns = llround(value);
        return 1;
    }
    if (!read_half_day(cell, ret_ns)) {
        if (!read_moment(cell, &moment))
            return 0;
        if (moment.has_date)
            return rps_moment_find(&moment, 0, RPS_IMPORT_TIME_MAX_NS, ret_ns);
        *ret_ns = moment.time_of_day_ns;
    }
    while (*ret_ns < times->last_ns - RPS_NS_PER_DAY / 2)
        *ret_ns += RPS_NS_PER_DAY;
    return 1;
}

int rps_import_stamp(const struct rps_import_times *times, const char *cell, int64_t *ret_ns)
{
    const char *blank = strchr(cell, ' ');

    return strchr(cell, ':') && (rps_import_time(times, cell, 1, ret_ns) ||
                                 (blank && rps_import_time(times, blank + 1, 1, ret_ns)));
}

int64_t rps_import_time_unit(const char *name)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"s", RPS_NS_PER_S}, {"ms", RPS_NS_PER_MS}, {"us", RPS_NS_PER_US}, {"ns", 1}};
    size_t end = strlen(name);

    while (end > 0 && !isalpha((unsigned char)name[end - 1]))
        end--;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t length = strlen(units[i].name);

        if (end >= length && strncmp(name + end - length, units[i].name, length) == 0 &&
            (end == length || !isalpha((unsigned char)name[end - length - 1])))
            return units[i].ns;
    }
    return 0;
}

int64_t rps_import_day(const char *head)
{
    size_t end = strcspn(head, "\n");
    char text[20] = "YYYY-MM-DD 00:00:00";
    struct rps_moment moment;
    int64_t day_ns;

    for (size_t at = 0; at + 10 <= end && strncmp(head, "Linux ", 6) == 0; at++) {
        memcpy(text, head + at, 10);
        if (rps_moment_is(text) && rps_moment_parse("", text, &moment, NULL) == 0 &&
            moment.has_date && rps_moment_find(&moment, 0, RPS_IMPORT_TIME_MAX_NS, &day_ns))
            return day_ns;
    }
    return -1;
}
