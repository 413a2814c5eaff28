/*
 * Numbers in texts of the store, one behind the other: digits of base 45, of which the last of each
 * number is a character from 'N' to 'z', the others one from '!' to 'M'. Below 45 a number takes one
 * character, below 2,025 two.
 */
#ifndef RPISTAT_CODE_DIGITS_H
#define RPISTAT_CODE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

void rps_digits_append(sqlite3_str *text, uint64_t number);

/* Take the number that the text goes on with, of at most nine digits; false where there is none. */
bool rps_digits_take(const char **text, uint64_t *ret);

#endif
