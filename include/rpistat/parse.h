/*
 * Strict parsing of user input. The whole text must be the value, nothing is guessed, nothing
 * overflows silently, and the C locale applies whatever the environment says.
 *
 * Every function returns 0, or RPS_USAGE with a sentence in err that quotes the text and says how
 * to correct it; *ret is untouched then. `what` names the value in that sentence ("--period").
 */
#ifndef RPISTAT_PARSE_H
#define RPISTAT_PARSE_H

#include <stdint.h>

#include "rpistat/error.h"

/* Parse a decimal or 0x-hexadecimal unsigned number, min <= value <= max. */
int rps_parse_uint64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
                     struct rps_error *err);

/* Parse a finite decimal number. */
int rps_parse_double(const char *what, const char *text, double *ret, struct rps_error *err);

/*
 * Parse a duration: numbers each followed by ns, us, ms, s, m (or min), h, d, as in `100ms`,
 * `1.5s`, `1h30m`. The result is in ns, min_ns <= value <= max_ns. Negative durations are refused.
 * So is a bare number other than 0, which is milliseconds in one tool and seconds in another.
 */
int rps_parse_duration_ns(const char *what, const char *text, int64_t min_ns, int64_t max_ns,
                          int64_t *ret_ns, struct rps_error *err);

/* Parse a position in a run: a duration from its start, or a bare number of seconds, as in tables
 * and on axes. */
int rps_parse_time_ns(const char *what, const char *text, int64_t min_ns, int64_t max_ns,
                      int64_t *ret_ns, struct rps_error *err);

/* Parse a size in bytes: a number, optionally followed by K, M, G or T (powers of 1024; "iB" or "B"
 * may follow). */
int rps_parse_size(const char *what, const char *text, uint64_t *ret_bytes, struct rps_error *err);

/* Parse a list of CPUs, as in "0-3,8"; *ret is a new array for free() with each CPU once. */
int rps_parse_cpus(const char *what, const char *text, int **ret, int *ret_count,
                   struct rps_error *err);

#endif
