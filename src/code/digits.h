/*
 * Consecutive numbers in texts of the store, with digits of base 45. The last digit of a number is
 * a character from 'N' to 'z'; the others are from '!' to 'M'. Numbers below 45 take one character,
 * those below 2,025 two.
 */
#ifndef RPISTAT_CODE_DIGITS_H
#define RPISTAT_CODE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

void rps_digits_append(sqlite3_str *text, uint64_t number);

/* Read the next number of the text, of at most nine digits; false: none. */
bool rps_digits_take(const char **text, uint64_t *ret);

#endif
