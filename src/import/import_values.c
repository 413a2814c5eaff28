/* Values in tables of other tools: numbers with separators of thousands, suffixes and units, and
 * the words that tools write where a value is missing. */
#include "import_values.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rpistat/error.h"

#define NUMBER_SIZE  64 /* maximum length of a number; longer cells are words */
#define EXACT_DIGITS 15 /* maximum digits of an integer that a double holds exactly */

/* Return 1 for a word that a tool writes where a value is missing: "N/A", "--". */
static int is_missing(const char *text)
{
    static const char words[] =
        "||nan|-nan|+nan|na|n/a|n.a.|n.a|#n/a|#na|[n/a]|null|(null)|#null!|nil|none|-|--|---|.|..|"
        "...|\xe2\x80\x93|\xe2\x80\x94|inf|-inf|+inf|infinity|-infinity|?|*|missing|error|err|#"
        "error|"
        "[error]|[unknown error]|#value!|#div/0!|#num!|#ref!|undef|undefined|unknown|unavailable|"
        "not available|not applicable|[insufficient permissions]|timeout|nodata|no data|\\n|";
    char word[40];

    if (snprintf(word, sizeof(word), "|%s|", text) < (int)sizeof(word) && strcasestr(words, word))
        return 1;
    /* <not counted>, [Not Supported], [GPU requires reset] */
    return text[0] == '<' || strncasecmp(text, "[not ", 5) == 0 ||
           strncasecmp(text, "[gpu ", 5) == 0;
}

/* Parse a number that has only digits and a decimal mark. The division of two exact doubles gives
 * the nearest double. Returns 1, 0 for other numbers, or -1 for dates and similar texts. */
static int read_plain(const char *cell, size_t length, char decimal, double *ret)
{
    static const double power[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *at = cell + (*cell == '-'), *end = cell + length, *mark = NULL;
    uint64_t number = 0;
    size_t digits;

    for (; at < end; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';

        if (digit < 10)
            number = 10 * number + digit;
        else if (*at == decimal && !mark)
            mark = at;
        else
            return at > cell && (*at == '-' || *at == ':' || *at == '/') ? -1 : 0;
    }
    digits = (size_t)(at - cell) - (*cell == '-') - (mark != NULL);
    if (digits == 0 || digits > EXACT_DIGITS)
        return 0;
    *ret = (*cell == '-' ? -(double)number : (double)number) / power[mark ? at - mark - 1 : 0];
    return 1;
}

/* Return the length of a thousands separator: ' or a blank of any width. 0: there is none. */
static size_t separator_length(const char *at, char other)
{
    static const char *const marks[] = {
        "'", "\xe2\x80\x99", "\xe2\x80\x89", "\xe2\x80\xaf", "\xc2\xa0", " ", "\xa0"};

    if (other && *at == other)
        return 1;
    for (size_t i = 0; i < RPS_COUNT(marks); i++) {
        if (strncmp(at, marks[i], strlen(marks[i])) == 0)
            return strlen(marks[i]);
    }
    return 0;
}

/* Remove separators as in 1'234.5, 1.234.567,8 and 12,34,567. Returns 0 for misplaced ones. */
static int drop_thousands(char *text, char decimal)
{
    static const char digits[] = "0123456789";
    char other = decimal == ',' ? '.' : ',', *at = text + (*text == '-' || *text == '+');
    size_t group = strspn(at, digits), skip;

    if (group == 0 || group > 3 || separator_length(at + group, other) == 0)
        return 1;
    for (at += group; (skip = separator_length(at, other)) > 0; at += group) {
        group = strspn(at + skip, digits);
        if (group != 3 && !(group == 2 && separator_length(at + skip + group, other) > 0))
            return 0;
        memmove(at, at + skip, strlen(at + skip) + 1);
    }
    return 1;
}

int rps_value_read(const char *cell, size_t length, char decimal, double *ret)
{
    char text[NUMBER_SIZE], *end, *mark;
    double value;
    int kind;

    *ret = NAN;
    if ((kind = read_plain(cell, length, decimal, ret)) > 0)
        return 1;
    if (length >= sizeof(text) || (kind < 0 && isdigit((unsigned char)*cell)))
        return -1;
    memcpy(text, cell, length);
    text[length] = '\0';
    if (!isdigit((unsigned char)text[*text == '-']) && is_missing(text))
        return 0;
    if (!drop_thousands(text, decimal))
        return -1;
    if (decimal == ',') {
        if (strchr(text, '.'))
            return -1;
        if ((mark = strchr(text, ',')))
            *mark = '.';
    }
    if (strpbrk(text, "xXpP")) /* hexadecimal numbers, as in C, are treated as words */
        return -1;
    value = strtod(text, &end); /* strtod uses the C locale */
    if (end == text || *end)
        return -1;
    *ret = isfinite(value) ? value : NAN;
    return 1;
}

long double rps_value_exact(const char *cell, char decimal, double value)
{
    long double exact = 0;

    for (; *cell && *cell != decimal && fabs(value) >= 0x1p53; cell++)
        exact = isdigit((unsigned char)*cell) ? 10 * exact + (*cell - '0') : exact;
    return fabsl(exact - value) <= value * 0x1p-52 ? exact : value;
}

/* Return the factor and the length of a unit's prefix; 1 and 0: no prefix. */
static double read_prefix(const char *unit, size_t *ret_length)
{
    static const char letters[] = "num kMGTP";
    size_t micro = strncmp(unit, "\xc2\xb5", 2) == 0 || strncmp(unit, "\xce\xbc", 2) == 0;
    const char *letter = *unit == 'K' ? strchr(letters, 'k') : strchr(letters, micro ? 'u' : *unit);
    int power = letter && *letter && *letter != ' ' ? (int)(letter - letters) - 3 : 0;
    int is_binary = power > 0 && unit[1] == 'i';

    *ret_length = power == 0 ? 0 : 1 + micro + (size_t)is_binary;
    return pow(is_binary ? 1024 : 1000, power);
}

double rps_value_scale(const char *unit, const char **ret_base)
{
    static const char *const bases[] = {"B",  "s",     "b",     "bit",   "Hz",  "W",
                                        "J",  "V",     "A",     "B/s",   "b/s", "bps",
                                        "/s", "bit/s", "req/s", "ops/s", ""};
    size_t length, count = RPS_COUNT(bases);
    double factor = read_prefix(unit, &length);

    for (size_t i = 0; i < 2 * count; i++) { /* first with the prefix, then without */
        const char *base = bases[i % count], *rest = i < count ? unit : unit + length;

        if (strcmp(rest, base) == 0 && (*base || (i >= count && factor > 1))) {
            *ret_base = base;
            return i < count ? 1 : factor;
        }
    }
    *ret_base = unit;
    return 0;
}

int rps_value_read_unit(const char *cell, char decimal, double *ret, const char **ret_unit)
{
    size_t length = strlen(cell), number = length;
    int kind = rps_value_read(cell, length, decimal, ret);
    const char *base;

    *ret_unit = "";
    if (kind >= 0 || !strpbrk(cell, "0123456789"))
        return kind;
    while (number > 0 && !isdigit((unsigned char)cell[number - 1]))
        number--;
    if (rps_value_read(cell, number, decimal, ret) <= 0 || number == length)
        return kind;
    *ret_unit = cell + number + strspn(cell + number, " ");
    if (cell[number] == ' ' || cell[number] == '%' || (cell[number] & 0x80) ||
        rps_value_scale(*ret_unit, &base) > 0)
        return 1;
    *ret_unit = "";
    return kind;
}
