/* Times in other tools' tables, as text. */
#ifndef RPISTAT_EXCHANGE_IMPORT_TIMES_H
#define RPISTAT_EXCHANGE_IMPORT_TIMES_H

#include <stdint.h>

/* No time can be later, and no row as long, so that their sums and differences fit. */
#define RPS_IMPORT_TIME_MAX_NS   INT64_C(4000000000000000000)
#define RPS_IMPORT_LENGTH_MAX_NS INT64_C(1000000000000000000)

/* Numbers from here on are seconds since 1970, then milliseconds, microseconds, nanoseconds. */
#define RPS_IMPORT_EPOCH_S 1e8

/* How a file writes times. */
struct rps_import_times {
    char decimal;
    int64_t last_ns; /* the one that was read before: times of a day go on past midnight */
};

/* 1 and a time in ns: of a moment, or a number of `unit_ns`; 0 for other text. */
int rps_import_time(const struct rps_import_times *times, const char *cell, int64_t unit_ns,
                    int64_t *ret_ns);

/* The same of a line that has nothing else, as iostat writes it. A date that is 5 November in one
 * country and 11 May in the next is left out: then it is a time of day. */
int rps_import_stamp(const struct rps_import_times *times, const char *cell, int64_t *ret_ns);

/* 1 for 05/11/2026, which is one day in one country, and another in the next. */
int rps_import_is_ambiguous(const char *cell);

/* The unit that stands at the end of a name, "time_ms", "Time (us)", or is the whole of it; in ns,
 * 0: none does. */
int64_t rps_import_time_unit(const char *name);

/* The day that sar and pidstat name above a table as 2026-11-23 (S_TIME_FORMAT=ISO), in ns of Unix
 * time; -1: none. `head` is the beginning of the file. */
int64_t rps_import_day(const char *head);

#endif
