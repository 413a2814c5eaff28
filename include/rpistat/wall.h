/*
 * Wall-clock time: moments of real time (ns since 1970-01-01 UTC) as users read and type them, in
 * the reader's zone (TZ, otherwise the machine's). The offset is that of each moment, so that
 * summer time is right.
 */
#ifndef RPISTAT_WALL_H
#define RPISTAT_WALL_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* Size for every rps_wall_text and rps_wall_short. */
#define RPS_WALL_TEXT_SIZE 48

/* Return how far the zone's clocks are ahead of UTC at the moment, s. */
int rps_wall_offset_s(int64_t realtime_ns);

/* Return the first moment in (from_ns, to_ns] with another offset than from_ns; INT64_MAX: none. */
int64_t rps_wall_change_ns(int64_t from_ns, int64_t to_ns);

/* Format ISO 8601 with milliseconds, rounded down, and offset: "2026-11-21T14:30:00.100+01:00".
 * Write at most `size` bytes, and return ret. */
char *rps_wall_text(char *ret, size_t size, int64_t realtime_ns);

/* Format a tick of an axis with steps of step_ns: "14:30", "14:30:05", "14:30:05.1"; at midnight
 * the date, "2026-11-21". */
char *rps_wall_short(char *ret, size_t size, int64_t realtime_ns, int64_t step_ns);

/* Return the first moment from from_ns on at which the clock shows a multiple of step_ns. */
int64_t rps_wall_step_ns(int64_t from_ns, int64_t step_ns);

/* Return the last such moment up to to_ns. */
int64_t rps_wall_last_step_ns(int64_t to_ns, int64_t step_ns);

/* A moment that a user typed: a time of day, with or without a date before it. */
struct rps_moment {
    int has_date, has_offset;
    int year, month, day;   /* if it has a date */
    int offset_s;           /* if it has one, which needs a date */
    int64_t time_of_day_ns; /* since midnight */
};

/* Return 1 for text that is a moment and not a duration: 14:30, 2026-11-21T14:30. */
int rps_moment_is(const char *text);

/*
 * Parse HH:MM[:SS[.f...]], alone or after YYYY-MM-DD and a T or a blank. After a date, Z, +HH:MM,
 * -HH:MM or these without the colon may follow. RPS_USAGE, with a sentence that begins with `what`,
 * for other text.
 */
int rps_moment_parse(const char *what, const char *text, struct rps_moment *ret,
                     struct rps_error *err);

/* A time since the start of a run, as rps_text_clock and documents write it. */
struct rps_position {
    int64_t ns;
    int has_hours;    /* hh:mm:ss, not mm:ss */
    int has_fraction; /* .f at its end */
};

/* Parse hh:mm:ss or mm:ss, each with a fraction or without. Return 1, or 0 for another text. */
int rps_position_parse(const char *text, struct rps_position *ret);

/*
 * Find the first such moment in [from_ns, to_ns]. Return 1 and *ret_ns, or 0 for none. A time that
 * the clock showed twice, as summer time ended, exists twice; a skipped one does not exist.
 */
int rps_moment_find(const struct rps_moment *moment, int64_t from_ns, int64_t to_ns,
                    int64_t *ret_ns);

#endif
