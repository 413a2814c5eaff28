/* Clocks in nanoseconds, and the time of day. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

#include "rpistat/error.h"

#define RPS_NS_PER_DAY (86400 * RPS_NS_PER_S)
#define RPS_NS_PER_S   INT64_C(1000000000)
#define RPS_NS_PER_MS  INT64_C(1000000)
#define RPS_NS_PER_US  INT64_C(1000)

/* Add or subtract times. Results beyond 292 years saturate, since clocks may be set to any time. */
static inline int64_t rps_clock_subtract_ns(int64_t a, int64_t b)
{
    int64_t difference;

    if (__builtin_sub_overflow(a, b, &difference) || difference == INT64_MIN)
        return a < b ? -INT64_MAX : INT64_MAX;
    return difference;
}

static inline int64_t rps_clock_add_ns(int64_t a, int64_t b)
{
    return rps_clock_subtract_ns(a, b == INT64_MIN ? INT64_MAX : -b);
}

/* Convert a time of getrusage or wait4 to ns. */
static inline int64_t rps_clock_timeval_ns(const struct timeval *time)
{
    return time->tv_sec * RPS_NS_PER_S + time->tv_usec * RPS_NS_PER_US;
}

/* Return CLOCK_MONOTONIC in ns. The call cannot fail. */
int64_t rps_clock_monotonic_ns(void);

/* Return CLOCK_REALTIME in ns since 1970-01-01 UTC. The call cannot fail. */
int64_t rps_clock_realtime_ns(void);

/* Times of three clocks at one moment. */
struct rps_clocks {
    int64_t monotonic_ns; /* CLOCK_MONOTONIC, which stops while the machine sleeps */
    int64_t boot_ns;      /* CLOCK_BOOTTIME, which continues while the machine sleeps */
    int64_t realtime_ns;  /* CLOCK_REALTIME, which users and the network can set */
};

/* Read three clocks so close together that differences of a tenth of a second are meaningful. The
 * call cannot fail. */
void rps_clock_read_all(struct rps_clocks *ret);

/* Return the CPU time (user and system) of this process and all its threads, in ns. */
int64_t rps_clock_process_cpu_ns(void);

/* Wall-clock time: moments of real time (ns since 1970-01-01 UTC) as users read and type them. The
 * time zone is the reader's (TZ, otherwise the machine's). Each moment has its own offset from UTC,
 * so that summer time is right. */

/* Buffer size for rps_wall_text and rps_wall_short. */
#define RPS_WALL_TEXT_SIZE 48

/* Return the offset of the time zone from UTC at the given moment, in s. */
int rps_wall_offset_s(int64_t realtime_ns);

/* Return the first moment in (from_ns, to_ns] with a new offset from UTC, or INT64_MAX. */
int64_t rps_wall_change_ns(int64_t from_ns, int64_t to_ns);

/* Format a moment as ISO 8601 with its offset and with milliseconds, rounded down:
 * "2026-11-21T14:30:00.100+01:00". Write at most `size` bytes, and return ret. */
char *rps_wall_text(char *ret, size_t size, int64_t realtime_ns);

/* Format a tick of an axis with steps of step_ns: "14:30", "14:30:05", "14:30:05.1". A tick at
 * midnight is the date, "2026-11-21". */
char *rps_wall_short(char *ret, size_t size, int64_t realtime_ns, int64_t step_ns);

/* Return the first moment, not before from_ns, at which the clock shows a multiple of step_ns.
 * If summer time begins and the clock skips a multiple, this is the moment of the change. If the
 * clock goes back by less than a step, the second occurrence of a multiple does not count. */
int64_t rps_wall_step_ns(int64_t from_ns, int64_t step_ns);

/* Return the last moment, at most to_ns, at which a step begins. See rps_wall_step_ns. */
int64_t rps_wall_last_step_ns(int64_t to_ns, int64_t step_ns);

/* A moment that a user typed: a time of day, optionally after a date. */
struct rps_moment {
    int has_date, has_offset;
    int year, month, day;   /* Date, if has_date is set */
    int offset_s;           /* Offset from UTC, if has_offset is set; needs a date */
    int64_t time_of_day_ns; /* Time since midnight */
};

/* Return 1 if the text is a moment (14:30, 2026-11-21T14:30) and not a duration. */
int rps_moment_is(const char *text);

/* Parse HH:MM[:SS[.f...]], alone or after YYYY-MM-DD and a T or a blank. If there is a date, an
 * offset may follow the time: Z, +HH:MM, -HH:MM, +HHMM or -HHMM. Return RPS_USAGE for other text,
 * with a sentence that begins with `what`. */
int rps_moment_parse(const char *what, const char *text, struct rps_moment *ret,
                     struct rps_error *err);

/* A time since the start of a run, as rps_text_clock and documents write it. */
struct rps_position {
    int64_t ns;
    int has_hours;    /* 1 for hh:mm:ss, 0 for mm:ss */
    int has_fraction; /* 1 if the text ends with a fraction */
};

/* Parse hh:mm:ss or mm:ss, with or without a fraction. Return 1, or 0 for other text. */
int rps_position_parse(const char *text, struct rps_position *ret);

/* Find the first moment in [from_ns, to_ns] that matches `moment`. Return 1 with the moment in
 * *ret_ns, or 0 if no moment matches. A time that the clock showed twice, because summer time
 * ended, matches twice; a skipped time never matches. */
int rps_moment_find(const struct rps_moment *moment, int64_t from_ns, int64_t to_ns,
                    int64_t *ret_ns);
