/* Small wrappers for clocks, so that all other code uses times in int64_t nanoseconds. */
#include "rpistat/clock.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Maximum time between the first and the last reading of a set of clock readings. */
#define READ_ALL_NS    (10 * RPS_NS_PER_MS)
#define READ_ALL_TRIES 5

static int64_t read_clock(clockid_t clock)
{
    struct timespec now = {0};
    int64_t seconds;

    clock_gettime(clock, &now); /* cannot fail: the clocks below exist on every Linux */
    seconds = now.tv_sec;
    if (seconds >= INT64_MAX / RPS_NS_PER_S || seconds <= -INT64_MAX / RPS_NS_PER_S)
        return seconds < 0 ? -INT64_MAX : INT64_MAX;
    return seconds * RPS_NS_PER_S + now.tv_nsec;
}

int64_t rps_clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t rps_clock_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* If the process was interrupted between two readings, read again, at most READ_ALL_TRIES times. */
void rps_clock_read_all(struct rps_clocks *ret)
{
    int64_t taken_ns = INT64_MAX;

    for (int i = 0; i < READ_ALL_TRIES && taken_ns > READ_ALL_NS; i++) {
        ret->monotonic_ns = read_clock(CLOCK_MONOTONIC);
        ret->boot_ns = read_clock(CLOCK_BOOTTIME);
        ret->realtime_ns = read_clock(CLOCK_REALTIME);
        taken_ns = read_clock(CLOCK_MONOTONIC) - ret->monotonic_ns;
    }
}

int64_t rps_clock_process_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* Functions for wall-clock time, with the C library's time zones. */

#define DAY_S           INT64_C(86400)
#define POSITION_DIGITS 6 /* maximum digits of hours, so that the time in ns fits into 64 bits */

static int64_t floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

static struct tm local_time(int64_t realtime_ns)
{
    time_t seconds = floor_div(realtime_ns, RPS_NS_PER_S);
    struct tm tm = {0};

    localtime_r(&seconds, &tm); /* cannot fail: 64 bits of ns cover only a few centuries */
    return tm;
}

int rps_wall_offset_s(int64_t realtime_ns)
{
    return (int)local_time(realtime_ns).tm_gmtoff;
}

int64_t rps_wall_change_ns(int64_t from_ns, int64_t to_ns)
{
    int offset_s = rps_wall_offset_s(from_ns);
    int64_t low = floor_div(from_ns, RPS_NS_PER_S), high = low,
            end = floor_div(to_ns, RPS_NS_PER_S);

    /* Search day by day, then bisect to the second: offsets change only at whole seconds. */
    do {
        if (high >= end)
            return INT64_MAX;
        low = high;
        high = end - high > DAY_S ? high + DAY_S : end;
    } while (rps_wall_offset_s(high * RPS_NS_PER_S) == offset_s);
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;

        if (rps_wall_offset_s(middle * RPS_NS_PER_S) == offset_s)
            low = middle;
        else
            high = middle;
    }
    return high * RPS_NS_PER_S;
}

char *rps_wall_text(char *ret, size_t size, int64_t realtime_ns)
{
    int64_t ms = floor_div(realtime_ns, RPS_NS_PER_MS);
    struct tm tm = local_time(realtime_ns);
    int minutes = (int)(tm.tm_gmtoff < 0 ? -tm.tm_gmtoff : tm.tm_gmtoff) / 60;

    snprintf(ret, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03d%c%02d:%02d", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
             (int)(ms - floor_div(ms, 1000) * 1000), tm.tm_gmtoff < 0 ? '-' : '+', minutes / 60,
             minutes % 60);
    return ret;
}

char *rps_wall_short(char *ret, size_t size, int64_t realtime_ns, int64_t step_ns)
{
    int64_t rest_ns = realtime_ns - floor_div(realtime_ns, RPS_NS_PER_S) * RPS_NS_PER_S;
    struct tm tm = local_time(realtime_ns);
    int digits = 0;

    for (int64_t unit_ns = RPS_NS_PER_S; unit_ns > step_ns && digits < 9; unit_ns /= 10)
        digits++;
    for (int i = digits; i < 9; i++)
        rest_ns /= 10;
    if (step_ns >= RPS_NS_PER_DAY ||
        (tm.tm_hour == 0 && tm.tm_min == 0 && tm.tm_sec == 0 && rest_ns == 0))
        snprintf(ret, size, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
    else if (step_ns >= 60 * RPS_NS_PER_S)
        snprintf(ret, size, "%02d:%02d", tm.tm_hour, tm.tm_min);
    else if (digits == 0)
        snprintf(ret, size, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
    else
        snprintf(ret, size, "%02d:%02d:%02d.%0*lld", tm.tm_hour, tm.tm_min, tm.tm_sec, digits,
                 (long long)rest_ns);
    return ret;
}

/* Return the last moment, at most at_ns, at which a clock shows a multiple of step_ns. The clock
 * has the offset of at_ns. */
static int64_t floor_step(int64_t at_ns, int64_t step_ns)
{
    int64_t offset_ns = rps_wall_offset_s(at_ns) * RPS_NS_PER_S;

    return floor_div(at_ns + offset_ns, step_ns) * step_ns - offset_ns;
}

/* Return the moment at which the first step after a change of the offset begins. If the clock skips
 * a multiple, this is the moment of the change. If the clock goes back by less than a step, the
 * second occurrence of a multiple does not count. */
static int64_t step_after_change(int64_t change_ns, int64_t step_ns)
{
    int64_t back_s = rps_wall_offset_s(change_ns - 1) - rps_wall_offset_s(change_ns);
    int64_t back_ns = back_s * RPS_NS_PER_S;
    int64_t next_ns = floor_step(change_ns - 1, step_ns) + step_ns + back_ns;

    if (back_ns >= step_ns)
        next_ns = floor_step(change_ns - 1 + step_ns, step_ns);
    return next_ns > change_ns ? next_ns : change_ns;
}

int64_t rps_wall_step_ns(int64_t from_ns, int64_t step_ns)
{
    int64_t plain_ns = floor_step(from_ns, step_ns), found_ns, change_ns;

    plain_ns += plain_ns < from_ns ? step_ns : 0;
    found_ns = plain_ns;
    change_ns = rps_wall_change_ns(from_ns - step_ns, found_ns);
    while (change_ns != INT64_MAX) {
        found_ns = step_after_change(change_ns, step_ns);
        if (found_ns < from_ns)
            found_ns = plain_ns;
        change_ns = rps_wall_change_ns(change_ns, found_ns);
    }
    return found_ns;
}

int64_t rps_wall_last_step_ns(int64_t to_ns, int64_t step_ns)
{
    for (;;) {
        int64_t found_ns = floor_step(to_ns, step_ns), next_ns;
        int64_t change_ns = rps_wall_change_ns(found_ns - step_ns, to_ns);

        if (change_ns == INT64_MAX)
            return found_ns;
        next_ns = step_after_change(change_ns, step_ns);
        if (next_ns <= to_ns)
            return next_ns > found_ns ? next_ns : found_ns;
        to_ns = change_ns - 1;
    }
}

/* --- moments that are typed ------------------------------------------------------------------- */

int rps_moment_is(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return digits > 0 && (text[digits] == ':' || (digits == 4 && text[digits] == '-'));
}

/* Read exactly `digits` digits, value 0 to `most`, after the character `before` ('\0': none). */
static int take_digits(const char **text, char before, int digits, int most, int *ret)
{
    const char *at = *text;
    int value = 0;

    if (before != '\0' && *at++ != before)
        return 0;
    for (int i = 0; i < digits; i++) {
        if (!isdigit((unsigned char)at[i]))
            return 0;
        value = 10 * value + at[i] - '0';
    }
    if (value > most || isdigit((unsigned char)at[digits]))
        return 0;
    *text = at + digits;
    *ret = value;
    return 1;
}

static int take_date(const char **text, struct rps_moment *moment)
{
    struct tm tm = {0};

    if (!take_digits(text, '\0', 4, 9999, &moment->year) ||
        !take_digits(text, '-', 2, 12, &moment->month) ||
        !take_digits(text, '-', 2, 31, &moment->day) || (**text != 'T' && **text != ' '))
        return 0;
    (*text)++;
    moment->has_date = 1;
    tm = (struct tm){
        .tm_year = moment->year - 1900, .tm_mon = moment->month - 1, .tm_mday = moment->day};
    timegm(&tm); /* 29 February of a common year becomes 1 March */
    return moment->year >= 1970 && moment->year < 2260 && tm.tm_mday == moment->day &&
           tm.tm_mon == moment->month - 1;
}

/* Read the digits after a decimal point or a decimal comma as ns. */
static int take_fraction(const char **text, int64_t *ret_ns)
{
    int64_t unit_ns = RPS_NS_PER_S;

    *ret_ns = 0;
    for ((*text)++; isdigit((unsigned char)**text); (*text)++) {
        unit_ns /= 10;
        *ret_ns += (**text - '0') * unit_ns;
    }
    return unit_ns < RPS_NS_PER_S;
}

static int is_decimal_sign(char c)
{
    return c == '.' || c == ',';
}

static int take_time(const char **text, struct rps_moment *moment)
{
    int hour, minute, second = 0;
    int64_t rest_ns = 0;

    if (!take_digits(text, '\0', 2, 23, &hour) || !take_digits(text, ':', 2, 59, &minute))
        return 0;
    moment->time_of_day_ns = (hour * 60 + minute) * 60 * RPS_NS_PER_S;
    if (**text != ':')
        return 1;
    if (!take_digits(text, ':', 2, 59, &second))
        return 0;
    moment->time_of_day_ns += second * RPS_NS_PER_S;
    if (is_decimal_sign(**text) && !take_fraction(text, &rest_ns))
        return 0;
    moment->time_of_day_ns += rest_ns;
    return 1;
}

static int take_offset(const char **text, struct rps_moment *moment)
{
    int sign = **text == '-' ? -1 : 1, hour, minute;

    if (**text == '\0')
        return 1;
    moment->has_offset = 1;
    if (**text == 'Z') {
        (*text)++;
        return 1;
    }
    if (take_digits(text, sign < 0 ? '-' : '+', 4, 2359, &minute)) { /* as in `date +%z` */
        hour = minute / 100;
        minute %= 100;
        if (minute > 59)
            return 0;
    } else if (!take_digits(text, sign < 0 ? '-' : '+', 2, 23, &hour) ||
               !take_digits(text, ':', 2, 59, &minute)) {
        return 0;
    }
    moment->offset_s = sign * (hour * 60 + minute) * 60;
    return 1;
}

int rps_moment_parse(const char *what, const char *text, struct rps_moment *ret,
                     struct rps_error *err)
{
    struct rps_moment moment = {0};
    const char *at = text;

    if ((strchr(text, '-') != text + 4 || take_date(&at, &moment)) && take_time(&at, &moment) &&
        (!moment.has_date || take_offset(&at, &moment)) && *at == '\0') {
        *ret = moment;
        return 0;
    }
    return rps_error_set(err, RPS_USAGE,
                         "%s: '%s' is not a time of day; write 14:30, 14:30:05.5 or "
                         "2026-11-21T14:30, and append Z or +01:00 for another time zone",
                         what, text);
}

int rps_position_parse(const char *text, struct rps_position *ret)
{
    struct rps_position position = {0};
    int digits = (int)strspn(text, "0123456789"), first, second, third = 0;

    if (digits < 2 || digits > POSITION_DIGITS ||
        !take_digits(&text, '\0', digits, INT_MAX, &first) ||
        !take_digits(&text, ':', 2, 59, &second))
        return 0;
    position.has_hours = *text == ':';
    if (position.has_hours && !take_digits(&text, ':', 2, 59, &third))
        return 0;
    position.has_fraction = is_decimal_sign(*text);
    if (position.has_fraction && !take_fraction(&text, &position.ns))
        return 0;
    position.ns += (position.has_hours ? ((int64_t)first * 60 + second) * 60 + third
                                       : (int64_t)first * 60 + second) *
                   RPS_NS_PER_S;
    *ret = position;
    return *text == '\0';
}

/* Find the first moment of a local time in [from_ns, to_ns]. as_utc_ns is the local time, converted
 * as if it were UTC. Try the zone's offset one day earlier, then the offset one day later. */
static int find_local(int64_t as_utc_ns, int64_t from_ns, int64_t to_ns, int64_t *ret_ns)
{
    for (int64_t day_ns = -RPS_NS_PER_DAY; day_ns <= RPS_NS_PER_DAY; day_ns += 2 * RPS_NS_PER_DAY) {
        int offset_s = rps_wall_offset_s(as_utc_ns + day_ns);
        int64_t found_ns = as_utc_ns - offset_s * RPS_NS_PER_S;

        if (rps_wall_offset_s(found_ns) == offset_s && found_ns >= from_ns && found_ns <= to_ns) {
            *ret_ns = found_ns;
            return 1;
        }
    }
    return 0;
}

int rps_moment_find(const struct rps_moment *moment, int64_t from_ns, int64_t to_ns,
                    int64_t *ret_ns)
{
    int64_t day_ns = floor_div(from_ns, RPS_NS_PER_DAY) * RPS_NS_PER_DAY - RPS_NS_PER_DAY;
    int found = 0;

    if (moment->has_date) {
        struct tm tm = {
            .tm_year = moment->year - 1900, .tm_mon = moment->month - 1, .tm_mday = moment->day};

        day_ns = timegm(&tm) * RPS_NS_PER_S + moment->time_of_day_ns;
        if (!moment->has_offset)
            return find_local(day_ns, from_ns, to_ns, ret_ns);
        day_ns -= moment->offset_s * RPS_NS_PER_S;
        if (day_ns >= from_ns && day_ns <= to_ns)
            *ret_ns = day_ns;
        return day_ns >= from_ns && day_ns <= to_ns;
    }
    for (; !found && day_ns - RPS_NS_PER_DAY <= to_ns; day_ns += RPS_NS_PER_DAY)
        found = find_local(day_ns + moment->time_of_day_ns, from_ns, to_ns, ret_ns);
    return found;
}
