/* Values in tables of other tools: numbers, units, missing values. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Parse a cell. Returns 1 and the number, 0 for a missing value, or -1 for a word. Numbers may be
 * written as 1'234.5 or 12,34,567, or with a decimal comma as 1.234,5. An infinity becomes NaN. */
int rps_value_read(const char *cell, size_t length, char decimal, double *ret);

/* Parse a number followed by a unit: "35 %", "2.4GiB", "12K". *ret_unit points to the unit in the
 * cell, or to "". The number is not scaled. The results are those of rps_value_read. */
int rps_value_read_unit(const char *cell, char decimal, double *ret, const char **ret_unit);

/* Return the parsed value. An integer in digits, also with separators, is as exact as a long double
 * holds it: below 2^64, but on 32-bit ARM below 2^53, as in a double. */
long double rps_value_exact(const char *cell, char decimal, double value);

/* Return a unit's factor and base unit: 2^30 and "B" for "GiB", 1000 and "" for "K". 0: unknown. */
double rps_value_scale(const char *unit, const char **ret_base);
