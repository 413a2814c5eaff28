/* Strict parsing of user input. Durations and sizes are read digit by digit in integers, so 100ms
 * is exactly 100,000,000 ns, and the locale has no effect. rps_parse_double uses a separate locale
 * object: setlocale would change the whole process, and strtod alone would accept a decimal comma
 * under LC_NUMERIC=de_DE. */
#include "rpistat/clock.h"
#include "rpistat/text.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTE_SIZE 80

struct unit {
    const char *name;
    uint64_t factor;
};

/* Units, in the order that a duration requires. format_duration uses the first unit that fits. */
static const struct unit duration_units[] = {
    {"d", RPS_NS_PER_DAY},
    {"h", 3600 * RPS_NS_PER_S},
    {"m", 60 * RPS_NS_PER_S},
    {"s", RPS_NS_PER_S},
    {"ms", RPS_NS_PER_MS},
    {"us", RPS_NS_PER_US},
    {"ns", 1},
    {NULL, 0},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Return the user's text for a message: printable, or '' if it is empty. */
static const char *quote(char *ret, const char *text)
{
    if (text[0] == '\0')
        return "''";
    return rps_text_printable(ret, QUOTE_SIZE, text);
}

/* --- whole numbers ---------------------------------------------------------------------------- */

enum scan {
    SCAN_OK,
    SCAN_NOT_A_NUMBER,
    SCAN_TOO_LARGE,
};

/* Read the whole text as an unsigned number, decimal or with 0x. */
static enum scan scan_uint64(const char *text, uint64_t *ret)
{
    int is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;

    errno = 0;
    if (is_digit(*text)) /* strtoull would accept blanks and a sign */
        *ret = strtoull(text, &end, is_hex ? 16 : 10);
    if (!is_digit(*text) || *end)
        return SCAN_NOT_A_NUMBER;
    return errno == ERANGE ? SCAN_TOO_LARGE : SCAN_OK;
}

/* Return true for a well-formed negative number, whose error message also shows the valid range. */
static bool is_negative_number(const char *text)
{
    uint64_t ignored = 0;

    return text[0] == '-' && scan_uint64(text + 1, &ignored) != SCAN_NOT_A_NUMBER;
}

static void describe_uint64_range(char *ret, size_t size, uint64_t min, uint64_t max)
{
    if (max == UINT64_MAX && min == 0)
        snprintf(ret, size, "a number from 0 up, below 2 to the power of 64");
    else if (max == UINT64_MAX)
        snprintf(ret, size, "a number of at least %llu", (unsigned long long)min);
    else
        snprintf(ret, size, "a number between %llu and %llu", (unsigned long long)min,
                 (unsigned long long)max);
}

int rps_parse_uint64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
                     struct rps_error *err)
{
    char quoted[QUOTE_SIZE], range[96];
    uint64_t value = 0;
    enum scan scan = scan_uint64(text, &value);

    if (scan == SCAN_OK && value >= min && value <= max) {
        *ret = value;
        return 0;
    }
    describe_uint64_range(range, sizeof(range), min, max);
    if (scan == SCAN_NOT_A_NUMBER && !is_negative_number(text))
        return rps_error_set(err, RPS_USAGE, "%s %s: not a whole number; write %s", what,
                             quote(quoted, text), range);
    return rps_error_set(err, RPS_USAGE, "%s %s: must be %s", what, quote(quoted, text), range);
}

/* --- decimal numbers -------------------------------------------------------------------------- */

int rps_parse_double(const char *what, const char *text, double *ret, struct rps_error *err)
{
    char quoted[QUOTE_SIZE], *end;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value;

    if (!c_locale)
        return rps_error_memory(err);
    value = strtod_l(text, &end, c_locale);
    freelocale(c_locale);
    /* strtod would accept blanks, hexadecimal digits, "inf" and "nan" */
    if (end == text || *end || text[strspn(text, "0123456789+-.eE")])
        return rps_error_set(err, RPS_USAGE, "%s %s: not a number; write one like 0.25", what,
                             quote(quoted, text));
    if (!isfinite(value))
        return rps_error_set(err, RPS_USAGE, "%s %s: too large; write a number below 1e308", what,
                             quote(quoted, text));
    *ret = value;
    return 0;
}

/* --- numbers with a unit ---------------------------------------------------------------------- */

/* A number as text, because its unit is not known yet. */
struct scaled {
    const char *whole, *fraction;
    int whole_digits, fraction_digits;
};

/* Read digits[.digits] at *text and move *text past the number. */
static bool scan_scaled(const char **text, struct scaled *ret)
{
    const char *at = *text;

    *ret = (struct scaled){.whole = at};
    while (is_digit(*at))
        at++;
    ret->whole_digits = (int)(at - ret->whole);
    if (*at == '.') {
        ret->fraction = ++at;
        while (is_digit(*at))
            at++;
        ret->fraction_digits = (int)(at - ret->fraction);
        if (ret->fraction_digits == 0)
            return false;
    }
    if (ret->whole_digits + ret->fraction_digits == 0)
        return false;
    *text = at;
    return true;
}

/* Multiply the number by a factor, rounded down. Return false on overflow. */
static bool scale(const struct scaled *number, uint64_t factor, uint64_t *ret)
{
    uint64_t value = 0, weight = factor;

    for (int i = 0; i < number->whole_digits; i++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(number->whole[i] - '0'), &value))
            return false;
    }
    if (__builtin_mul_overflow(value, factor, &value))
        return false;
    for (int i = 0; i < number->fraction_digits && weight > 0; i++) {
        uint64_t digit = (uint64_t)(number->fraction[i] - '0');

        /* digit * weight / 10, computed in 64 bits for any factor */
        uint64_t part = weight / 10 * digit + weight % 10 * digit / 10;

        if (__builtin_add_overflow(value, part, &value))
            return false;
        weight /= 10;
    }
    *ret = value;
    return true;
}

/* --- durations -------------------------------------------------------------------------------- */

/* Move *text past the unit at its start. Return its index in duration_units, or -1. */
static int scan_duration_unit(const char **text)
{
    size_t length = 0;

    while ((*text)[length] >= 'a' && (*text)[length] <= 'z')
        length++;
    if (length == 3 && strncmp(*text, "min", 3) == 0) {
        *text += length;
        return 2;
    }
    for (int i = 0; duration_units[i].name; i++) {
        if (strlen(duration_units[i].name) == length &&
            strncmp(*text, duration_units[i].name, length) == 0) {
            *text += length;
            return i;
        }
    }
    return -1;
}

/* Read numbers, each with a smaller unit than the one before. On overflow, *ret is INT64_MAX. */
static bool scan_units(const char *text, uint64_t *ret)
{
    uint64_t total = 0;
    int last = -1;

    while (*text) {
        struct scaled number;
        uint64_t part = 0;
        int unit;

        if (!scan_scaled(&text, &number))
            return false;
        unit = scan_duration_unit(&text);
        if (unit <= last)
            return false;
        last = unit;
        if (!scale(&number, duration_units[unit].factor, &part) ||
            __builtin_add_overflow(total, part, &total) || total > INT64_MAX)
            total = INT64_MAX;
    }
    *ret = total;
    return last >= 0;
}

/* Read the whole text as a duration. If the duration overflows, *ret is INT64_MAX. */
static bool scan_duration(const char *text, int64_t *ret)
{
    const char *rest = text;
    struct scaled number;
    uint64_t value = 0;

    if (!scan_scaled(&rest, &number))
        return false;
    if (*rest == '\0') {
        if (!scale(&number, RPS_NS_PER_S, &value) || value > INT64_MAX)
            value = INT64_MAX;
    } else if (!scan_units(text, &value)) {
        return false;
    }
    *ret = (int64_t)value;
    return true;
}

/* Format a duration as the user would type it: "1h30m", "100ms", "0s". */
static const char *format_duration(char *ret, size_t size, int64_t ns)
{
    uint64_t rest = ns < 0 ? 0 : (uint64_t)ns;
    size_t length = 0;

    if (rest == 0) {
        snprintf(ret, size, "0s");
        return ret;
    }
    for (int i = 0; duration_units[i].name && rest > 0; i++) {
        uint64_t number = rest / duration_units[i].factor;

        if (number > 0 && length < size)
            length += (size_t)snprintf(ret + length, size - length, "%llu%s",
                                       (unsigned long long)number, duration_units[i].name);
        rest %= duration_units[i].factor;
    }
    return ret;
}

static void describe_duration_range(char *ret, size_t size, int64_t min_ns, int64_t max_ns)
{
    char low[64], high[64];

    format_duration(low, sizeof(low), min_ns);
    format_duration(high, sizeof(high), max_ns);
    if (max_ns == INT64_MAX)
        snprintf(ret, size, "%s or more", low);
    else
        snprintf(ret, size, "between %s and %s", low, high);
}

/* Return true if the only error is a missing unit. The message suggests up to two valid units. */
static bool lacks_unit(const char *what, const char *text, int64_t min_ns, int64_t max_ns,
                       struct rps_error *err)
{
    static const char *const unit[] = {"ms", "s", "m", "h", "d"};
    char readings[2 * QUOTE_SIZE] = "", reading[QUOTE_SIZE];
    int64_t ns = 0;
    int count = 0;

    if (text[strcspn(text, "abcdefghijklmnopqrstuvwxyz")] != '\0' || !scan_duration(text, &ns) ||
        ns == 0)
        return false;
    for (size_t i = 0; i < RPS_COUNT(unit) && count < 2; i++) {
        size_t used = strlen(readings);

        if (snprintf(reading, sizeof(reading), "%s%s", text, unit[i]) >= (int)sizeof(reading) ||
            !scan_duration(reading, &ns) || ns < min_ns || ns > max_ns)
            continue;
        snprintf(readings + used, sizeof(readings) - used, "%s%s", count++ > 0 ? " or " : "",
                 reading);
    }
    if (count > 0)
        rps_error_set(err, RPS_USAGE, "%s %s: the unit is missing; write %s", what, text, readings);
    return count > 0;
}

int rps_parse_duration_ns(const char *what, const char *text, int64_t min_ns, int64_t max_ns,
                          int64_t *ret_ns, struct rps_error *err)
{
    return lacks_unit(what, text, min_ns, max_ns, err)
               ? RPS_USAGE
               : rps_parse_time_ns(what, text, min_ns, max_ns, ret_ns, err);
}

int rps_parse_time_ns(const char *what, const char *text, int64_t min_ns, int64_t max_ns,
                      int64_t *ret_ns, struct rps_error *err)
{
    char quoted[QUOTE_SIZE], range[160];
    int64_t value = -1;
    bool negative = text[0] == '-';

    describe_duration_range(range, sizeof(range), min_ns, max_ns);
    if (!scan_duration(text + negative, &value))
        return rps_error_set(err, RPS_USAGE,
                             "%s %s: not a duration; write one like 100ms, 1.5s or 1h30m, %s", what,
                             quote(quoted, text), range);
    if (value == INT64_MAX && max_ns == INT64_MAX && !negative)
        return rps_error_set(err, RPS_USAGE, "%s %s: too long; write at most 292 years", what,
                             quote(quoted, text));
    if (negative || value < min_ns || value > max_ns)
        return rps_error_set(err, RPS_USAGE, "%s %s: must be %s", what, quote(quoted, text), range);
    *ret_ns = value;
    return 0;
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* Return the factor of a size suffix, or 0 for an unknown suffix. */
static uint64_t size_factor(const char *suffix)
{
    static const char letters[] = "KMGT";
    const char *letter;

    if (*suffix == '\0' || strcmp(suffix, "B") == 0)
        return 1;
    letter = strchr(letters, *suffix == 'k' ? 'K' : *suffix);
    if (!letter)
        return 0;
    suffix++;
    if (*suffix != '\0' && strcmp(suffix, "B") != 0 && strcmp(suffix, "iB") != 0)
        return 0;
    return UINT64_C(1024) << (10 * (letter - letters));
}

int rps_parse_size(const char *what, const char *text, uint64_t *ret_bytes, struct rps_error *err)
{
    char quoted[QUOTE_SIZE];
    const char *rest = text;
    struct scaled number;
    uint64_t factor = 0, value = 0;

    if (scan_scaled(&rest, &number))
        factor = size_factor(rest);
    if (factor == 0)
        return rps_error_set(err, RPS_USAGE, "%s %s: not a size; write one like 512K, 64M or 2G",
                             what, quote(quoted, text));
    if (!scale(&number, factor, &value))
        return rps_error_set(err, RPS_USAGE, "%s %s: too large; write at most 16777215T", what,
                             quote(quoted, text));
    *ret_bytes = value;
    return 0;
}

/* --- lists of CPUs ---------------------------------------------------------------------------- */

#define CPU_MAX 65535

/* Read an item of a CPU list, "8" or "0-3". */
static int parse_cpus_item(const char *what, char *item, uint64_t *ret_first, uint64_t *ret_last,
                           struct rps_error *err)
{
    char *dash = strchr(item, '-');
    int rc;

    if (dash)
        *dash = '\0';
    if ((rc = rps_parse_uint64(what, item, 0, CPU_MAX, ret_first, err)) < 0)
        return rc;
    *ret_last = *ret_first;
    if (dash && (rc = rps_parse_uint64(what, dash + 1, 0, CPU_MAX, ret_last, err)) < 0)
        return rc;
    if (*ret_last < *ret_first)
        return rps_error_set(err, RPS_USAGE, "%s: the range of CPUs %s-%s is reversed; write %s-%s",
                             what, item, dash + 1, dash + 1, item);
    return 0;
}

int rps_parse_cpus(const char *what, const char *text, int **ret, int *ret_count,
                   struct rps_error *err)
{
    char *copy = strdup(text), *rest = copy, *item;
    int *list = malloc((CPU_MAX + 1) * sizeof(*list)), count = 0;
    int rc = copy && list ? 0 : rps_error_memory(err);
    uint8_t known[CPU_MAX + 1] = {0};

    while (rc == 0 && (item = strsep(&rest, ","))) {
        uint64_t first = 0, last = 0;

        rc = parse_cpus_item(what, item, &first, &last, err);
        for (uint64_t cpu = first; rc == 0 && cpu <= last; cpu++) {
            if (!known[cpu])
                list[count++] = (int)cpu;
            known[cpu] = 1;
        }
    }
    free(copy);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *ret = list;
    *ret_count = count;
    return 0;
}

/* Suggestions of names that are similar to a typed name. */

#define NEAR_LENGTH_MAX (RPS_SUGGESTION_SIZE - 1)

static bool same_letter(char a, char b)
{
    return (a >= 'A' && a <= 'Z' ? a + 'a' - 'A' : a) == (b >= 'A' && b <= 'Z' ? b + 'a' - 'A' : b);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Return the number of changes that turn a into b. A change inserts, removes or replaces a letter,
 * or swaps two neighbours. Case is ignored. Names have at most NEAR_LENGTH_MAX letters. */
static int distance_between(const char *a, const char *b)
{
    int row[3][NEAR_LENGTH_MAX + 1]; /* rows of the last three letters of a, indexed modulo 3 */
    int length_a = (int)strlen(a), length_b = (int)strlen(b);

    for (int j = 0; j <= length_b; j++)
        row[0][j] = j;
    for (int i = 1; i <= length_a; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = i;
        for (int j = 1; j <= length_b; j++) {
            now[j] = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            now[j] = smaller(now[j], smaller(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]))
                now[j] = smaller(now[j], before[j - 2] + 1);
        }
    }
    return row[length_a % 3][length_b];
}

void rps_suggestion_consider(struct rps_suggestion *suggestion, const char *name)
{
    size_t typed_length = strlen(suggestion->typed), length = strlen(name);
    /* A fifth of the letters may be wrong, so that short names are not confused. */
    int limit = typed_length < 5 ? 1 : (int)(typed_length / 5), distance;

    if (typed_length == 0 || typed_length > NEAR_LENGTH_MAX || length > NEAR_LENGTH_MAX ||
        length + (size_t)limit < typed_length || typed_length + (size_t)limit < length)
        return;
    distance = distance_between(suggestion->typed, name);
    if (distance > limit || (suggestion->count > 0 && distance > suggestion->distance))
        return;
    if (suggestion->count > 0 && distance < suggestion->distance)
        suggestion->count = 0;
    for (int i = 0; i < suggestion->count; i++) {
        if (strcmp(suggestion->name[i], name) == 0)
            return;
    }
    if (suggestion->count == RPS_SUGGESTIONS_MAX)
        return;
    suggestion->distance = distance;
    memcpy(suggestion->name[suggestion->count++], name, length + 1);
}

char *rps_suggestion_question(const struct rps_suggestion *suggestion, char *ret, size_t size)
{
    size_t length = 0;

    ret[0] = '\0';
    for (int i = 0; i < suggestion->count && length < size; i++) {
        const char *before = i == 0 ? "did you mean " : i == suggestion->count - 1 ? " or " : ", ";

        length += (size_t)snprintf(ret + length, size - length, "%s%s%s", before,
                                   suggestion->name[i], i == suggestion->count - 1 ? "? " : "");
    }
    return ret;
}
