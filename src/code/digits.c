#include "digits.h"

/* As many digits as needed, and no more than allowed. */
enum { BASE = 45, FIRST = '!', DIGITS_MAX = 9 };

void rps_digits_append(sqlite3_str *text, uint64_t number)
{
    char digit[16];
    int at = sizeof(digit);

    digit[--at] = (char)(FIRST + BASE + number % BASE);
    while ((number /= BASE) > 0)
        digit[--at] = (char)(FIRST + number % BASE);
    sqlite3_str_append(text, digit + at, (int)sizeof(digit) - at);
}

bool rps_digits_take(const char **text, uint64_t *ret)
{
    int digit = 0;

    *ret = 0;
    for (int count = 0; count < DIGITS_MAX && digit < BASE; count++) {
        digit = **text - FIRST;
        if (digit < 0 || digit >= 2 * BASE)
            break;
        *ret = *ret * BASE + (uint64_t)(digit % BASE);
        ++*text;
    }
    return digit >= BASE && digit < 2 * BASE;
}
