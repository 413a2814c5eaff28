/* Formats of time in other tools' tables: moments, dates, times of day, elapsed times, numbers.
 *
 * A cell is parsed once into its parts (rps_time_read). Some cells have several meanings; for
 * example, the day or the month may come first. All cells of the column together decide between the
 * meanings, because no single cell can (import_time_column.c). Names of zones are refused, because
 * a name such as CST means three zones. */
#include "import_times.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "import_build.h"
#include "import_values.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

#define DIGITS   "0123456789"
#define HOUR_NS  (3600 * RPS_NS_PER_S)
#define DAY_S    86400
#define DAYS_END 84431 /* maximum number of days since 1970 */

/* --- parts of a cell -------------------------------------------------------------------------- */

/* Return the number of digits at a position. strspn would be slower for such short texts. */
static size_t digits_at(const char *at)
{
    size_t digits = 0;

    while (at[digits] >= '0' && at[digits] <= '9')
        digits++;
    return digits;
}

/* Parse a number of `least` to `most` digits. */
static int take_digits(const char **at, size_t least, size_t most, int *ret)
{
    size_t digits = digits_at(*at);
    int value = 0;

    if (digits < least)
        return 0;
    for (digits = digits < most ? digits : most; digits > 0; digits--)
        value = 10 * value + *(*at)++ - '0';
    *ret = value;
    return 1;
}

static int is_day(int year, int month, int day)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int is_leap = year == 0 || (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));

    return (year == 0 || (year >= 1970 && year < 2090)) && month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (month == 2 && is_leap);
}

/* Parse a date in one format, with only the letters Y, m, b, d and y. Returns 1, or 0. */
static int take_pattern(const char **at, const char *pattern, struct rps_time *time)
{
    struct tm tm = {.tm_mday = 1, .tm_year = -1900};
    const char *rest = strptime(*at, pattern, &tm);

    if (!rest || !is_day(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday) ||
        (isdigit((unsigned char)*rest) && strcmp(pattern, "%Y%m%d") != 0) ||
        ((tm.tm_year == -1900) != !strpbrk(pattern, "Yy")) ||
        (strcmp(pattern, "%Y-%m") == 0 && *rest))
        return 0;
    time->year = tm.tm_year + 1900;
    time->month = tm.tm_mon + 1;
    time->day = tm.tm_mday;
    *at = rest;
    return 1;
}

/* Parse a date such as 2026-03-04. The format is frequent, and strptime would be slower. */
static int take_iso_date(const char **at, struct rps_time *time)
{
    const char *rest = *at;
    char mark;

    if (digits_at(rest) != 4 || !(mark = rest[4]) || !strchr("-/.", mark) ||
        digits_at(rest + 5) != 2 || rest[7] != mark || digits_at(rest + 8) != 2)
        return 0;
    time->year =
        ((rest[0] - '0') * 10 + rest[1] - '0') * 100 + (rest[2] - '0') * 10 + rest[3] - '0';
    time->month = (rest[5] - '0') * 10 + rest[6] - '0';
    time->day = (rest[8] - '0') * 10 + rest[9] - '0';
    if (!is_day(time->year, time->month, time->day))
        return 0;
    *at = rest + 10;
    return 1;
}

/* Parse a date. A date with slashes has two meanings if both numbers can be a month. */
static int take_date(const char **at, struct rps_time *time)
{
    static const char *const patterns[] = {
        "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y-%b-%d", "%Y-%m",     "%Y%m%d",    "%d.%m.%Y",
        "%d.%m.%y", "%d/%m/%Y", "%d-%m-%Y", "%d/%m/%y", "%m/%d/%Y",  "%m-%d-%Y",  "%m/%d/%y",
        "%d-%b-%Y", "%d/%b/%Y", "%d %b %Y", "%d-%b-%y", "%d %b, %Y", "%b %d, %Y", "%b %d %Y",
        "%b-%d-%Y", "%b %d",    "%b-%d",    "%d %b"};
    struct rps_time other = *time;

    if (take_iso_date(at, time))
        return 1;
    for (size_t i = 0; i < RPS_COUNT(patterns); i++) {
        const char *pattern = patterns[i], *start = *at;

        if (!take_pattern(at, pattern, time))
            continue;
        time->is_month_first = strncmp(pattern, "%m", 2) == 0;
        time->is_day_first = strncmp(pattern, "%d/%m", 5) == 0 || strncmp(pattern, "%d-%m", 5) == 0;
        time->is_ambiguous = time->is_day_first && time->day != time->month &&
                             take_pattern(&start, patterns[i + 3], &other);
        time->is_day_first &= !time->is_ambiguous && time->day != time->month;
        return 1;
    }
    return 0;
}

/* Parse the digits after a point or a comma, and convert them to ns. */
static int take_fraction(const char **at, int64_t *ret_ns)
{
    int64_t unit_ns = RPS_NS_PER_S;

    *ret_ns = 0;
    if (**at != '.' && **at != ',')
        return 1;
    if (!isdigit((unsigned char)*++*at))
        return 0;
    for (; isdigit((unsigned char)**at); ++*at)
        *ret_ns += (**at - '0') * (unit_ns /= 10);
    return 1;
}

/* Parse "10:00", "1:02:03.5" or "10:00:00 PM"; after a compact date also "100000". */
static int take_clock(const char **at, struct rps_time *time, int compact)
{
    int minute = 0, second = 0;
    int64_t rest_ns = 0;

    time->first_digits = (int)digits_at(*at);
    time->fields = 2;
    if (compact && (time->first_digits == 4 || time->first_digits == 6)) {
        if (!take_digits(at, 2, 2, &time->first) || !take_digits(at, 2, 2, &minute))
            return 0;
        time->fields = 2 + take_digits(at, 2, 2, &second);
        time->first_digits = 2;
    } else {
        if (!take_digits(at, 1, 6, &time->first) || *(*at)++ != ':' ||
            !take_digits(at, 2, 2, &minute))
            return 0;
        if (**at == ':' && isdigit((unsigned char)(*at)[1])) {
            ++*at;
            time->fields = 3;
            if (!take_digits(at, 2, 2, &second))
                return 0;
        }
    }
    if (minute > 59 || second > 60 || !take_fraction(at, &rest_ns))
        return 0;
    time->ns = (((int64_t)time->first * 60 + minute) * 60 + second) * RPS_NS_PER_S + rest_ns;
    time->short_ns = ((int64_t)time->first * 60 + minute) * RPS_NS_PER_S + rest_ns;
    return 1;
}

/* Parse the text AM or PM. */
static int take_half(const char **at, struct rps_time *time)
{
    const char *half = *at + (**at == ' ');
    size_t length = !*half || !half[1]                     ? 0
                    : strncasecmp(half + 1, "m", 1) == 0   ? 2
                    : strncasecmp(half + 1, ".m.", 3) == 0 ? 4
                                                           : 0;

    if (length == 0 || !strchr("aApP", *half) || isalpha((unsigned char)half[length]))
        return 1;
    if (time->first < 1 || time->first > 12)
        return 0;
    time->ns +=
        ((tolower((unsigned char)*half) == 'p' ? 12 : 0) - (time->first == 12 ? 12 : 0)) * HOUR_NS;
    time->first_digits = 2; /* with AM or PM, the cell is a time of day, not an elapsed time */
    *at = half + length;
    return 1;
}

/* Parse a zone: Z, UTC, GMT, +01, +0100, +01:00. Returns -1 for any other name of a zone. */
static int take_zone(const char **at, struct rps_time *time)
{
    int sign, hour, minute = 0;

    *at += strspn(*at, " ");
    if (strncasecmp(*at, "UTC", 3) == 0 || strncasecmp(*at, "GMT", 3) == 0) {
        *at += 3;
        time->has_offset = 1;
    } else if ((**at == 'Z' || **at == 'z') && !isalpha((unsigned char)(*at)[1])) {
        ++*at;
        time->has_offset = 1;
    }
    if (**at != '+' && **at != '-')
        return isalpha((unsigned char)**at) ? -1 : 1;
    sign = *(*at)++ == '-' ? -1 : 1;
    if (!take_digits(at, 1, 2, &hour))
        return 0;
    *at += **at == ':';
    take_digits(at, 2, 2, &minute);
    time->has_offset = 1;
    time->offset_s = sign * (hour * 60 + minute) * 60;
    return hour <= 14 && minute < 60;
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Parse a duration such as "10s", "1h 30m" or "250 ms". */
static int read_duration(const char *at, int64_t *ret_ns)
{
    char text[50], *to = text;

    for (; *at; at++) {
        if (*at != ' ')
            *to++ = *at;
    }
    *to = '\0';
    return rps_parse_duration_ns("", text, 0, RPS_IMPORT_LENGTH_MAX_NS, ret_ns, NULL) == 0;
}

/* Parse a time such as "2 days 01:00:00", "2-01:00:00" (of ps), "10:00:00 AM" or "1:02:03". */
static int read_clock(const char *at, struct rps_time *time)
{
    size_t digits = digits_at(at);
    const char *rest = at + digits;
    int days = -1;

    if (digits > 0 && digits < 5) {
        if (strncmp(rest, " day", 4) == 0) {
            days = atoi(at);
            at = rest + 4 + (rest[4] == 's');
            at += strspn(at, ", ");
        } else if (*rest == '-' && digits_at(rest + 1) == 2 && rest[3] == ':') {
            days = atoi(at);
            at = rest + 1;
        }
    }
    if (!take_clock(&at, time, 0) || !take_half(&at, time) || *at)
        return 0;
    time->kind = days < 0 ? RPS_TIME_CLOCK : RPS_TIME_ELAPSED;
    time->ns += (days > 0 ? days : 0) * RPS_NS_PER_DAY;
    return 1;
}

/* Parse a date, and also the time of day if one follows the date. */
static int read_moment(const char *at, struct rps_time *time)
{
    const char *start;
    struct tm tm;
    int is_compact, is_named = 0;

    *time = (struct rps_time){.kind = RPS_TIME_DATE};
    at += *at == '[';
    if (isalpha((unsigned char)*at) && (start = strptime(at, "%a", &tm)))
        at = start + strspn(start, ",. ");
    is_compact = digits_at(start = at) >= 8;
    if (!take_date(&at, time))
        return 0;
    if (*at && *at != ']' && !(is_compact && isdigit((unsigned char)*at))) {
        if (!strchr("Tt _-:,", *at))
            return 0;
        at += 1 + strspn(at + 1, " ");
    }
    if (*at && *at != ']') {
        time->kind = RPS_TIME_MOMENT;
        if (!take_clock(&at, time, is_compact) || !take_half(&at, time) || time->first > 24 ||
            time->ns > RPS_NS_PER_DAY + RPS_NS_PER_S)
            return 0;
        at += strspn(at, " ");
        if (time->year == 0 && take_digits(&at, 4, 4, &time->year) == 0 &&
            (is_named = take_zone(&at, time)) == 0)
            return 0;
        if (time->year > 0 && !time->has_offset && (is_named = take_zone(&at, time)) == 0)
            return 0;
        if (is_named < 0)
            return -1;
        at += strspn(at, " ");
        if (time->year == 0 && *at && !take_digits(&at, 4, 4, &time->year))
            return 0;
        if (*at == '(') /* skip a zone such as (UTC) after +0000 */
            at += strcspn(at, ")") + 1;
    }
    at += *at == ']';
    return *at == '\0' && is_day(time->year, time->month, time->day);
}

int rps_time_read(const char *cell, struct rps_time *ret)
{
    int result;

    if (strlen(cell) > 48)
        return 0;
    if ((result = read_moment(cell, ret)) != 0)
        return result;
    *ret = (struct rps_time){.kind = RPS_TIME_NONE};
    if (read_clock(cell, ret))
        return 1;
    *ret = (struct rps_time){.kind = RPS_TIME_ELAPSED};
    return read_duration(cell, &ret->ns);
}

/* --- conversion ------------------------------------------------------------------------------- */

/* Return the days since 1970-01-01. The year begins in March, so that a leap day is its last. */
static int64_t days_of(int year, int month, int day)
{
    int64_t years = year - (month < 3), months = (month + 9) % 12;

    return 365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day -
           719469;
}

/* Convert a local time with the UTC offset of its hour. The offset is looked up once per hour. If
 * an hour of local time occurs twice, a time that steps back belongs to the second occurrence. */
static int find_local(struct rps_import_times *times, const struct rps_moment *moment,
                      int64_t local_ns, int64_t *ret_ns)
{
    int64_t hour = local_ns / HOUR_NS + 1, second_ns;

    if (times->hour != hour) {
        if (!rps_moment_find(moment, 0, RPS_IMPORT_TIME_MAX_NS, ret_ns))
            return 0;
        times->hour = hour;
        times->hour_offset_ns = local_ns - *ret_ns;
    }
    *ret_ns = local_ns - times->hour_offset_ns;
    if (*ret_ns < times->last_ns && times->last_ns - *ret_ns < 3 * HOUR_NS &&
        rps_moment_find(moment, *ret_ns + 1, times->last_ns + 3 * HOUR_NS, &second_ns)) {
        times->hour_offset_ns = local_ns - second_ns;
        times->twice++;
        *ret_ns = second_ns;
    }
    return 1;
}

/* Return the latest year in which the date is not after the file's last change. If the column has a
 * February 29, this day exists in the year. At New Year, the year increases. */
static int find_year(struct rps_import_times *times, const struct rps_time *time, int has_leap_day)
{
    int64_t changed_s = times->changed_ns / RPS_NS_PER_S, last_day;
    time_t seconds = changed_s;
    struct tm tm;

    if (times->year == 0) {
        gmtime_r(&seconds, &tm);
        times->year = tm.tm_year + 1900;
        if (days_of(times->year, time->month, time->day) > changed_s / DAY_S + 1)
            times->year--;
        while (has_leap_day && times->year > 1970 &&
               !is_day(times->year + (time->month > 2), 2, 29))
            times->year--;
        return times->year;
    }
    last_day = times->last_ns / RPS_NS_PER_DAY;
    if (days_of(times->year, time->month, time->day) < last_day - 180)
        times->year++;
    return times->year;
}

static int convert(struct rps_import_times *times, const struct rps_time_format *format,
                   const struct rps_time *time, int64_t *ret_ns)
{
    int is_other = time->is_ambiguous && format->is_month_first;
    struct rps_moment moment = {.has_date = 1,
                                .has_offset = time->has_offset,
                                .offset_s = time->offset_s,
                                .year = time->year,
                                .month = is_other ? time->day : time->month,
                                .day = is_other ? time->month : time->day,
                                .time_of_day_ns = time->ns};
    int64_t local_ns;

    if (time->kind == RPS_TIME_CLOCK || time->kind == RPS_TIME_ELAPSED) {
        *ret_ns = format->is_elapsed && time->fields == 2 ? time->short_ns : time->ns;
        if (time->kind == RPS_TIME_ELAPSED || format->is_elapsed)
            return *ret_ns <= RPS_IMPORT_LENGTH_MAX_NS;
        while (*ret_ns < times->last_ns - RPS_NS_PER_DAY / 2)
            *ret_ns += RPS_NS_PER_DAY;
        return time->first <= 24;
    }
    if (time->year == 0)
        moment.year = find_year(times, time, format->has_leap_day);
    if (!is_day(moment.year, moment.month, moment.day))
        return 0;
    local_ns = days_of(moment.year, moment.month, moment.day) * RPS_NS_PER_DAY + time->ns;
    *ret_ns = local_ns - time->offset_s * RPS_NS_PER_S;
    return time->has_offset ? *ret_ns >= 0 : find_local(times, &moment, local_ns, ret_ns);
}

int64_t rps_time_order(const struct rps_time *time, const struct rps_time_format *format)
{
    int is_other = time->is_ambiguous && format->is_month_first;

    if (time->kind == RPS_TIME_CLOCK || time->kind == RPS_TIME_ELAPSED)
        return time->ns;
    return days_of(time->year > 0 ? time->year : 2000, is_other ? time->day : time->month,
                   is_other ? time->month : time->day) *
               RPS_NS_PER_DAY +
           time->ns - time->offset_s * RPS_NS_PER_S;
}

/* Parse a cell with a pattern for strptime. A fraction may follow the seconds. */
static int read_pattern(const char *pattern, const char *cell, struct rps_time *ret)
{
    struct tm tm = {.tm_mday = 1, .tm_year = -1900};
    const char *rest = strptime(cell, pattern, &tm);
    int64_t rest_ns;

    if (!rest || !take_fraction(&rest, &rest_ns) || *rest)
        return 0;
    *ret = (struct rps_time){.kind = RPS_TIME_CLOCK,
                             .first = tm.tm_hour,
                             .ns = ((tm.tm_hour * 60 + tm.tm_min) * 60 + tm.tm_sec) * RPS_NS_PER_S +
                                   rest_ns};
    if (strstr(pattern, "%z") || strstr(pattern, "%s")) { /* %s: strptime sets the local offset */
        ret->has_offset = 1;
        ret->offset_s = (int)tm.tm_gmtoff;
    }
    if (tm.tm_year == -1900 && !strpbrk(pattern, "dejbBm"))
        return 1;
    ret->kind = RPS_TIME_MOMENT;
    ret->year = tm.tm_year == -1900 ? 0 : tm.tm_year + 1900;
    ret->month = tm.tm_mon + 1;
    ret->day = tm.tm_mday;
    return is_day(ret->year, ret->month, ret->day);
}

/* Convert days since 1970-01-01, in the zone or in UTC, to a time, rounded to ms. */
static int read_days(double days, int is_utc, struct rps_time *ret)
{
    int64_t ms = llround(days * DAY_S * 1000);
    time_t seconds = ms / 1000;
    struct tm tm;

    if (!(days >= 1 && days < DAYS_END) || !gmtime_r(&seconds, &tm))
        return 0;
    *ret = (struct rps_time){.kind = RPS_TIME_MOMENT,
                             .year = tm.tm_year + 1900,
                             .month = tm.tm_mon + 1,
                             .day = tm.tm_mday,
                             .ns = ms % (DAY_S * 1000) * RPS_NS_PER_MS,
                             .has_offset = is_utc};
    return 1;
}

int rps_import_time(struct rps_import_times *times, const struct rps_time_format *format,
                    const char *cell, int64_t *ret_ns)
{
    struct rps_time time;
    double value;

    if (format->pattern)
        return read_pattern(format->pattern, cell, &time) && convert(times, format, &time, ret_ns);
    if (format->is_compact)
        return rps_time_read(cell, &time) > 0 && convert(times, format, &time, ret_ns);
    if (format->day_1970 == 0 && rps_import_decimal(cell, times->decimal, format->unit_ns, ret_ns))
        return *ret_ns <= RPS_IMPORT_TIME_MAX_NS;
    /* The cell is a number such as -1 or 1e3. */
    if (rps_value_read(cell, strlen(cell), times->decimal, &value) > 0) {
        if (format->day_1970 > 0)
            return read_days(value - format->day_1970, format->day_1970 != RPS_IMPORT_EXCEL_1970,
                             &time) &&
                   convert(times, format, &time, ret_ns);
        value *= (double)format->unit_ns;
        if (isnan(value) || fabs(value) > (double)RPS_IMPORT_TIME_MAX_NS)
            return 0;
        *ret_ns = llround(value);
        return 1;
    }
    return rps_time_read(cell, &time) > 0 && convert(times, format, &time, ret_ns);
}

int rps_import_stamp(struct rps_import_times *times, const char *cell, int64_t *ret_ns)
{
    static const struct rps_time_format plain = {.unit_ns = 1};
    const char *blank = strchr(cell, ' ');
    struct rps_time time;

    if (!strchr(cell, ':'))
        return 0;
    if (rps_time_read(cell, &time) > 0 && time.is_ambiguous && blank)
        return rps_import_time(times, &plain, blank + 1, ret_ns);
    return rps_import_time(times, &plain, cell, ret_ns) ||
           (blank && rps_import_time(times, &plain, blank + 1, ret_ns));
}

/* --- names of columns ------------------------------------------------------------------------- */

#define OPENING     "([{<"
#define CLOSING     ")]}>"
#define PUNCTUATION " \t\r\n!\"#$%&'*+,-./:;=?@\\^_`|~" OPENING CLOSING
#define UNKNOWN     (-2)

/* Parse a zone, whose text has *ret_length bytes. Returns the values of `found`. */
static int read_zone(const char *at, int is_bracket, char ret[RPS_IMPORT_ZONE_SIZE],
                     size_t *ret_length)
{
    static const char unclear[] = " CET CEST EET EEST WET WEST BST IST MSK EST EDT CST CDT MST MDT "
                                  "PST PDT JST KST HKT SGT AEST AEDT ACST AWST NZST NZDT BRT ";
    size_t length = *ret_length = strcspn(at, is_bracket ? CLOSING "," : CLOSING ", _");
    int has_utc = strncasecmp(at, "UTC", 3) == 0 || strncasecmp(at, "GMT", 3) == 0;
    char word[RPS_IMPORT_ZONE_SIZE + 2];
    struct rps_time time = {0};

    snprintf(ret, RPS_IMPORT_ZONE_SIZE, "%.*s", (int)length, at);
    snprintf(word, sizeof(word), " %s ", ret);
    if (length > 0 && strstr(unclear, word))
        return -1;
    if ((!is_bracket && !has_utc) || (has_utc && isalpha((unsigned char)at[3])))
        return 0;
    at = ret;
    if (take_zone(&at, &time) <= 0 || !time.has_offset || at[strspn(at, " ")]) {
        if (has_utc)
            return -1;
        return isupper((unsigned char)ret[0]) && islower((unsigned char)ret[1]) && strchr(ret, '/');
    }
    snprintf(ret, RPS_IMPORT_ZONE_SIZE, "%c%02d:%02d", time.offset_s < 0 ? '-' : '+',
             abs(time.offset_s) / 3600, abs(time.offset_s) / 60 % 60);
    return 1;
}

/* Return the unit of a word in ns; 0: none, -1: not clear, UNKNOWN: not a word of times. A number
 * is not clear. In brackets, so is a word with a digit. */
static int64_t find_unit(const char *at, size_t length, int is_bracket)
{
    static const struct {
        int64_t ns;
        const char *names;
    } units[] = {
        {RPS_NS_PER_S, " s sec secs second seconds "},
        {60 * RPS_NS_PER_S, " m min mins minute minutes "},
        {HOUR_NS, " h hr hrs hour hours "},
        {RPS_NS_PER_DAY, " d day days "},
        {7 * RPS_NS_PER_DAY, " week weeks "},
        {RPS_NS_PER_MS, " ms msec msecs millis millisecond milliseconds "},
        {RPS_NS_PER_US, " us usec usecs micros microsecond microseconds \xc2\xb5s \xce\xbcs "},
        {1, " ns nsec nsecs nanos nanosecond nanoseconds "},
        {-1, " month months year years tick ticks jiffies cycles frames milli micro nano cs ps "},
        {0, " elapsed relative local unix epoch since "}};
    char word[RPS_IMPORT_ZONE_SIZE];

    snprintf(word, sizeof(word), " %.*s ", (int)length, at);
    for (size_t i = 0; i < RPS_COUNT(units) && length > 0; i++) {
        if (strcasestr(units[i].names, word))
            return units[i].ns;
    }
    return strcspn(at, DIGITS) < (is_bracket ? length : 1) ? -1 : UNKNOWN;
}

int64_t rps_import_time_unit(const char *name, struct rps_import_zone *ret_zone)
{
    struct rps_import_zone zone, none, *first = ret_zone ? ret_zone : &none;
    int64_t unit_ns, ret = 0;
    int is_open = 0; /* 1: no word since the last opening bracket is known */
    size_t length;

    first->found = 0;
    for (const char *at = name; *at; at += length + (length == 0)) {
        zone.found = read_zone(at, at > name && strchr(OPENING, at[-1]), zone.text, &length);
        unit_ns = zone.found ? 0 : find_unit(at, length = strcspn(at, PUNCTUATION), is_open);
        if (first->found == 0)
            *first = zone;
        if (length == 2 && strncasecmp(at, "of", 2) == 0 && at[2]) /* time_of_day is not in days */
            length += 1 + strcspn(at + 3, PUNCTUATION);
        if (length == 5 && strncasecmp(at, "since", 5) == 0) /* days since 1970-01-01 */
            length += strspn(at + 5, " _:-/.+TZ" DIGITS);
        if (unit_ns != UNKNOWN || strchr(OPENING, *at))
            is_open = unit_ns == UNKNOWN;
        else if (is_open && strchr(CLOSING, *at))
            unit_ns = -1;
        if (unit_ns != 0 && unit_ns != UNKNOWN)
            ret = ret == 0 || ret == unit_ns ? unit_ns : -1;
    }
    return ret;
}

int64_t rps_import_day(const char *head)
{
    struct rps_import_times times = {0};
    char line[256], *rest, *word;
    struct rps_time time;
    int64_t day_ns;

    snprintf(line, sizeof(line), "%.*s", (int)strcspn(head, "\r\n"), head);
    rest = strncmp(head, "Linux ", 6) == 0 ? strchr(line, ')') : NULL; /* after the host */
    while ((word = strsep(&rest, " \t"))) {
        if (rps_time_read(word, &time) > 0 && time.kind == RPS_TIME_DATE && time.year > 0 &&
            !time.is_ambiguous && convert(&times, &(struct rps_time_format){0}, &time, &day_ns))
            return day_ns;
    }
    return -1;
}
