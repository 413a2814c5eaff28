/* Functions for text that users or programs read.
 *
 * SAFETY: text is escaped piece by piece. A piece is one whole character of the input, or the
 * escape of a character. A piece is written completely or not at all, so that text that is cut
 * never ends with half a piece. Characters that control a terminal are escaped. Characters that
 * reorder or break lines (bidirectional controls, U+2028, U+2029) are also escaped, because they
 * can make a stored command look like another command.
 *
 * Numbers are formatted from integers, so that they are exact. Numbers have the decimal sign of the
 * current locale. The current locale is C, except during the printing of text for users. */
#include "rpistat/text.h"
#include "rpistat/clock.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <langinfo.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

/* --- UTF-8 ------------------------------------------------------------------------------------ */

int rps_text_decode(const char *text, uint32_t *ret_code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)text;
    uint32_t code = byte[0];
    int length = 1;

    if (byte[0] >= 0x80) {
        length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
        if (byte[0] < 0xc2 || byte[0] > 0xf4)
            return 0;
        code = byte[0] & (0x7fu >> length);
        for (int i = 1; i < length; i++) {
            if (!rps_text_is_inside(text[i]))
                return 0;
            code = code << 6 | (byte[i] & 0x3fu);
        }
        if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return 0;
    }
    *ret_code = code;
    return length;
}

size_t rps_text_cut(const char *text, size_t limit)
{
    size_t length = strnlen(text, limit + 1);

    if (length <= limit)
        return length;
    length = limit;
    while (length > 0 && rps_text_is_inside(text[length]))
        length--;
    return length;
}

/* --- names of functions ----------------------------------------------------------------------- */

/* Return the position after the closing bracket of the bracket at `at`, or the text's end. */
static const char *behind_bracket(const char *at)
{
    static const char pairs[] = "<>()[]{}";
    char opens = *at, closes = strchr(pairs, opens)[1];
    int depth = 0;

    for (; *at; at++) {
        depth += *at == opens;
        if (*at == closes && at[-1] != '-' && --depth == 0)
            return at + 1;
    }
    return at;
}

static int is_word(char byte)
{
    return byte == '_' || isalnum((unsigned char)byte);
}

/* Return the position after the operator's name ("operator<", "operator new") at `at`, or `at`.
 * Template arguments are no part of the name, but the space in "operator< <int>" is. */
static const char *behind_operator(const char *name, const char *at)
{
    static const char word[] = "operator";
    const char *behind = at + strlen(word), *symbol = behind;

    if (strncmp(at, word, strlen(word)) != 0 || is_word(*behind) || (at > name && is_word(at[-1])))
        return at;
    behind += strspn(behind, "<");
    behind += strspn(behind, "+-*/%^&|~!=>,");
    if (behind == symbol && (strncmp(behind, "()", 2) == 0 || strncmp(behind, "[]", 2) == 0))
        behind += 2;
    if (behind == symbol) /* "operator new", or a conversion to a type */
        return behind + strcspn(behind, "(");
    return behind + (strncmp(behind, " <", 2) == 0);
}

const char *rps_text_function_own(const char *name, const char **ret_end)
{
    const char *begin = name, *at = name, *next;
    int is_taken = 0; /* 1 if an opening bracket here would begin the parameters */

    for (; *at; at = next) {
        next = behind_operator(name, at);
        is_taken |= next > at;
        if (next > at)
            continue;
        next = strchr("<([{", *at) ? behind_bracket(at) : at + 1;
        if (*at == '(' && (is_taken || (at > name && !strchr(" :.", at[-1]))) &&
            strncmp(next, "::", 2) != 0) {
            *ret_end = at;
            return begin;
        }
        is_taken = 0;
        if (*at == ' ')
            begin = next;
    }
    *ret_end = at;
    return name;
}

/* Return the position after the first "namespace::" or "class::" of the name `at`, if another name
 * follows it before `end`; otherwise NULL. A closure without its function would have no name, nor
 * would a function of a trait without the trait. */
static const char *behind_qualifier(const char *name, const char *at, const char *end)
{
    const char *begin = at;

    for (const char *next; at < end && *begin != '<'; at = next) {
        next = behind_operator(name, at);
        if (next == at && strncmp(at, "::", 2) == 0)
            return at + 2 < end && at[2] != '{' ? at + 2 : NULL;
        next = next > at ? next : strchr("<([{", *at) ? behind_bracket(at) : at + 1;
    }
    return NULL;
}

/* Write the name from `at` to `end`, after "...::" if qualifiers were removed. Return its length,
 * which is at least `size` if the name does not fit. */
static size_t put_function(char *ret, size_t size, const char *name, const char *at,
                           const char *end, int is_part, int by_templates)
{
    size_t used = (size_t)snprintf(ret, size, "%s", is_part ? "...::" : "");
    const char *operator_end = NULL;

    for (const char *next; at < end && used < size; at = next) {
        int is_template =
            by_templates && *at == '<' && at > name && (is_word(at[-1]) || at == operator_end);

        next = is_template ? behind_bracket(at) : (operator_end = behind_operator(name, at));
        next += next == at;
        used += (size_t)snprintf(ret + used, size - used, "%.*s",
                                 is_template ? 2 : (int)(next - at), is_template ? "<>" : at);
    }
    return used;
}

/* Return the end of a name without what compilers append to the names of clones of a function, such
 * as ".constprop.0", or " [clone .constprop.0]" in a demangled name. */
static const char *before_clone(const char *name)
{
    static const char *const suffix[] = {".constprop.", ".isra.", ".part.",
                                         ".lto_priv.",  ".llvm.", ".cold"};
    const char *clone = strstr(name, " [clone ."), *end = clone ? clone : name + strlen(name);

    for (size_t i = 0; i < RPS_COUNT(suffix); i++) {
        const char *at = strstr(name, suffix[i]);

        if (at && at > name && at < end && strchr("0123456789.", at[strlen(suffix[i])]))
            end = at;
    }
    return end;
}

char *rps_text_function(char *ret, size_t size, const char *name)
{
    const char *begin = name, *end = before_clone(name), *at;
    size_t used, cut;
    int by_templates;

    if (end - begin > RPS_TEXT_FUNCTION_MAX)
        begin = rps_text_function_own(name, &end);
    by_templates = end - begin > RPS_TEXT_FUNCTION_MAX;
    used = put_function(ret, size, name, begin, end, 0, by_templates);
    for (at = begin; (used >= size || used > RPS_TEXT_QUALIFIED_MAX) &&
                     (at = behind_qualifier(name, at, end)) != NULL;)
        used = put_function(ret, size, name, at, end, 1, by_templates);
    if (used >= size) {
        cut = rps_text_cut(ret, size - sizeof("..."));
        memcpy(ret + cut, "...", sizeof("..."));
    }
    return ret;
}

char *rps_text_list(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);
    const char *comma = used > 0 ? ", " : "";
    int is_full = used + strlen(name) + sizeof(", , ...") > size;

    if (used < 3 || strcmp(list + used - 3, "...") != 0)
        snprintf(list + used, size - used, "%s%s", comma, is_full ? "..." : name);
    return list;
}

/* Return the width of the character at text in columns, and its length in bytes. */
static int width_at(const char *text, int *ret_length)
{
    uint32_t code = 0;
    int length = rps_text_decode(text, &code), width = length > 0 ? wcwidth((wchar_t)code) : 1;

    *ret_length = length > 0 ? length : 1;
    return width < 0 ? 1 : width;
}

int rps_text_width(const char *text)
{
    int width = 0;

    for (int length; *text; text += length)
        width += width_at(text, &length);
    return width;
}

size_t rps_text_fit(const char *text, int columns)
{
    const char *at = text;

    for (int length; *at && (columns -= width_at(at, &length)) >= 0;)
        at += length;
    return (size_t)(at - text);
}

/* Replace bytes that are not UTF-8, and with `every` also harmful characters. Return ret, which has
 * room for a replacement per byte, or NULL. */
static char *replace_odd_characters(char *ret, const char *text, bool every)
{
    const size_t most = strlen(RPS_TEXT_REPLACEMENT);
    char *at = ret;

    while (ret && *text) {
        uint32_t code;
        int length = rps_text_decode(text, &code);
        bool kept = length > 0 && (!every || code == '\n' || rps_text_is_harmless(code));

        memcpy(at, kept ? text : RPS_TEXT_REPLACEMENT, kept ? (size_t)length : most);
        at += kept ? (size_t)length : most;
        text += length > 0 ? length : 1;
    }
    if (ret)
        *at = '\0';
    return ret;
}

char *rps_text_repaired(const char *text)
{
    return replace_odd_characters(malloc(strlen(text) * strlen(RPS_TEXT_REPLACEMENT) + 1), text,
                                  false);
}

char *rps_text_harmless(char *ret, const char *text)
{
    return replace_odd_characters(ret, text, true);
}

char *rps_text_close(FILE *out, char **text)
{
    int failed = ferror(out);

    failed |= fclose(out) != 0;
    if (!failed)
        return *text;
    free(*text);
    return NULL;
}

int rps_text_is_harmless(uint32_t code)
{
    if (code < 0x20 || (code >= 0x7f && code < 0xa0))
        return 0;
    if (code == 0x200e || code == 0x200f || code == 0x061c)
        return 0;
    if (code >= 0x2028 && code <= 0x202e)
        return 0;
    if (code == 0xfffe || code == 0xffff) /* not characters, and not allowed in XML */
        return 0;
    return code < 0x2066 || code > 0x2069;
}

/* --- escaping --------------------------------------------------------------------------------- */

#define PIECE_SIZE 24 /* size of the longest piece, four bytes as \xHH with a terminating 0 */

/* Write the piece for the character at text. Return the length of the character in bytes. */
static int next_piece(const char *text, char piece[PIECE_SIZE])
{
    uint32_t code = 0;
    int length = rps_text_decode(text, &code);
    int used = length > 0 ? length : 1;

    if (length > 0 && rps_text_is_harmless(code)) {
        memcpy(piece, text, (size_t)length);
        piece[length] = '\0';
    } else if (code == '\n' || code == '\t') {
        snprintf(piece, PIECE_SIZE, "\\%c", code == '\n' ? 'n' : 't');
    } else {
        for (int i = 0; i < used; i++)
            snprintf(piece + 4 * i, PIECE_SIZE - 4 * (size_t)i, "\\x%02x", (unsigned char)text[i]);
    }
    return used;
}

/* Text that is being written to a buffer. `full` is set when a piece did not fit. */
struct writer {
    char *at;
    size_t left;
    bool full;
};

static struct writer writer_start(char *ret, size_t size)
{
    if (size > 0)
        ret[0] = '\0';
    return (struct writer){.at = ret, .left = size, .full = size == 0};
}

static void write_piece(struct writer *writer, const char *piece)
{
    size_t length = strlen(piece);

    if (writer->full || length >= writer->left) {
        writer->full = true;
        return;
    }
    memcpy(writer->at, piece, length + 1);
    writer->at += length;
    writer->left -= length;
}

static void append_printable(struct writer *writer, const char *text)
{
    char piece[PIECE_SIZE];

    while (*text && !writer->full) {
        text += next_piece(text, piece);
        write_piece(writer, piece);
    }
}

char *rps_text_printable(char *ret, size_t size, const char *text)
{
    struct writer writer = writer_start(ret, size);

    append_printable(&writer, text);
    return ret;
}

void rps_text_print(FILE *out, const char *text)
{
    char piece[PIECE_SIZE];

    while (*text) {
        text += next_piece(text, piece);
        fputs(piece, out);
    }
}

/* --- command lines ---------------------------------------------------------------------------- */

/* Return true if a shell needs quotes around the argument. */
static bool needs_quotes(const char *argument, bool first)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_@%+:,./-";

    if (*argument == '\0')
        return true;
    for (; *argument; argument++) {
        bool plain = strchr(safe, *argument) || (unsigned char)*argument >= 0x80;

        /* "=" needs quotes in the first word, because NAME=value would be an assignment */
        if (!plain && (first || *argument != '='))
            return true;
    }
    return false;
}

static void append_quoted(struct writer *writer, const char *argument)
{
    char piece[PIECE_SIZE];

    write_piece(writer, "'");
    while (*argument && !writer->full) {
        argument += next_piece(argument, piece);
        write_piece(writer, strcmp(piece, "'") == 0 ? "'\\''" : piece);
    }
    write_piece(writer, "'");
}

char *rps_text_command(char *ret, size_t size, int argc, char *const argv[])
{
    struct writer writer = writer_start(ret, size);

    for (int i = 0; i < argc; i++) {
        if (i > 0)
            write_piece(&writer, " ");
        if (needs_quotes(argv[i], i == 0))
            append_quoted(&writer, argv[i]);
        else
            append_printable(&writer, argv[i]);
    }
    return ret;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static uint64_t rounded(uint64_t n, uint64_t unit)
{
    return n / unit + (n % unit >= unit - n % unit);
}

/* Return the absolute value of a number. *ret_sign is "-" or "". */
static uint64_t magnitude(int64_t value, const char **ret_sign)
{
    *ret_sign = value < 0 ? "-" : "";
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* Return the decimal sign of the current locale, as in printf. */
static const char *point(void)
{
    return nl_langinfo(RADIXCHAR);
}

static void short_duration(char *ret, size_t size, const char *sign, uint64_t ns)
{
    uint64_t tenths_us = rounded(ns, 100), us_10 = rounded(ns, 10000), ms = rounded(ns, 1000000);

    if (ns > 0 && ns < 1000)
        snprintf(ret, size, "%s%" PRIu64 " ns", sign, ns);
    else if (ns > 0 && tenths_us < 10000)
        snprintf(ret, size, "%s%" PRIu64 "%s%" PRIu64 " us", sign, tenths_us / 10, point(),
                 tenths_us % 10);
    else if (ns > 0 && us_10 < 1000)
        snprintf(ret, size, "%s%" PRIu64 "%s%02" PRIu64 " ms", sign, us_10 / 100, point(),
                 us_10 % 100);
    else
        snprintf(ret, size, "%s%" PRIu64 "%s%03" PRIu64 " s", sign, ms / 1000, point(), ms % 1000);
}

const char *rps_text_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

char *rps_text_duration(char *ret, size_t size, int64_t ns)
{
    const char *sign = "";
    uint64_t length = magnitude(ns, &sign);
    uint64_t tenths = rounded(length, 100000000), s = rounded(length, 1000000000);
    uint64_t min = rounded(s, 60), h = rounded(s, 3600);

    /* Choose the form by the rounded value, so that 59.96 s does not become "60.0 s". */
    if (rounded(length, 1000000) < 10000)
        short_duration(ret, size, sign, length);
    else if (tenths < 600)
        snprintf(ret, size, "%s%" PRIu64 "%s%" PRIu64 " s", sign, tenths / 10, point(),
                 tenths % 10);
    else if (s < 3600)
        snprintf(ret, size, "%s%" PRIu64 " min %02" PRIu64 " s", sign, s / 60, s % 60);
    else if (min < 24 * 60)
        snprintf(ret, size, "%s%" PRIu64 " h %02" PRIu64 " min", sign, min / 60, min % 60);
    else
        snprintf(ret, size, "%s%" PRIu64 " d %02" PRIu64 " h", sign, h / 24, h % 24);
    return ret;
}

char *rps_text_stretch(char *ret, size_t size, int64_t ns)
{
    const int64_t hundredth = RPS_NS_PER_S / 100;

    rps_text_duration(ret, size, ns);
    if (ns >= 10 * hundredth && ns < 10 * RPS_NS_PER_S)
        snprintf(ret, size, "%.*f s", ns < RPS_NS_PER_S - hundredth / 2 ? 2 : 1,
                 (double)ns / RPS_NS_PER_S);
    return ret;
}

void rps_text_round_parts(double *part, size_t count, double total, double unit)
{
    int64_t left = (int64_t)(total / unit + .5);

    for (size_t i = 0; i < count; i++) {
        part[i] = part[i] / unit + 1e-9; /* a deficit that is below the rounding error becomes 0 */
        left -= (int64_t)part[i];
    }
    for (size_t most = 0; count > 0 && left > 0; left--) {
        for (size_t i = 0; i < count; i++)
            if (part[i] - (double)(int64_t)part[i] > part[most] - (double)(int64_t)part[most])
                most = i;
        part[most] = (double)((int64_t)part[most] + 1);
    }
    for (size_t i = 0; i < count; i++)
        part[i] = (double)(int64_t)part[i] * unit;
}

char *rps_text_clock(char *ret, size_t size, int64_t ns, int decimals)
{
    const char *sign = "";
    uint64_t unit = RPS_NS_PER_S, per_second = 1, ticks, s;
    int digits = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;

    for (int i = 0; i < digits; i++) {
        unit /= 10;
        per_second *= 10;
    }
    ticks = rounded(magnitude(ns, &sign), unit);
    s = ticks / per_second;
    if (digits == 0)
        snprintf(ret, size, "%s%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, sign, s / 3600, s / 60 % 60,
                 s % 60);
    else
        snprintf(ret, size, "%s%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 "%s%0*" PRIu64, sign,
                 s / 3600, s / 60 % 60, s % 60, point(), digits, ticks % per_second);
    return ret;
}

/* The printf flag ' is in POSIX, but not in ISO C. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
char *rps_text_count(char *ret, size_t size, uint64_t count)
{
    snprintf(ret, size, "%'" PRIu64, count);
    return ret;
}

char *rps_text_figure(char *ret, size_t size, int decimals, double value)
{
    snprintf(ret, size, "%'.*f", decimals, value);
    return ret;
}
#pragma GCC diagnostic pop

char *rps_text_number(char *ret, size_t size, double value)
{
    static const char *const suffix[] = {"", " k", " M", " G", " T", " P", " E"};
    size_t i = 0;

    for (; fabs(value) >= 999.5 && i + 1 < RPS_COUNT(suffix); i++)
        value /= 1000;
    if (value > 0 && value < 1e-4)
        snprintf(ret, size, "<0.0001");
    else
        snprintf(ret, size, "%.3g%s", value + 0.0, suffix[i]); /* adding 0.0 changes -0 to 0 */
    return ret;
}

int rps_text_has_prefix(const char *unit)
{
    const char *micro = "\xc2\xb5"; /* the prefix is both bytes of the sign, not the first alone */
    const char *base = unit + (strncmp(unit, micro, 2) == 0 ? 2 : 1);

    return *unit == '%' || (*unit && (base == unit + 2 || strchr("numkKMGTP", *unit)) &&
                            (isupper((unsigned char)*base) || strncmp(base, "iB", 2) == 0 ||
                             (*base == 's' && !isalnum((unsigned char)base[1]))));
}

char *rps_text_number_of(char *ret, size_t size, double value, const char *unit)
{
    if (!rps_text_has_prefix(unit) || fabs(value) < 999.5)
        return rps_text_number(ret, size, value);
    return rps_text_figure(ret, size, 0, value);
}

char *rps_text_numbers(char *ret, size_t size, const int64_t *number, size_t count)
{
    size_t used = 0;

    ret[0] = '\0';
    for (size_t i = 0, last; i < count; i = last + 1) {
        char text[RPS_TEXT_NUMBER_SIZE];
        size_t length;

        for (last = i; last + 1 < count && (uint64_t)number[last + 1] - (uint64_t)number[last] == 1;
             last++)
            ;
        length =
            (size_t)snprintf(text, sizeof(text), last > i ? "%s%" PRId64 "-%" PRId64 : "%s%" PRId64,
                             i > 0 ? "," : "", number[i], number[last]);
        if (used + length + sizeof(",...") > size) {
            snprintf(ret + used, size - used, ",...");
            break;
        }
        memcpy(ret + used, text, length + 1);
        used += length;
    }
    return ret;
}

char *rps_text_size(char *ret, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint64_t unit = 1024;
    size_t i = 0;
    uint64_t whole, tenths;

    if (bytes < 1024) {
        snprintf(ret, size, "%" PRIu64 " B", bytes);
        return ret;
    }
    while (i + 1 < RPS_COUNT(units) && bytes / unit >= 1024) {
        unit *= 1024;
        i++;
    }
    whole = bytes / unit;
    tenths = rounded(bytes % unit / (unit / 1024) * 10, 1024);
    if (tenths == 10) {
        tenths = 0;
        whole++;
    }
    if (whole == 1024 && i + 1 < RPS_COUNT(units)) {
        whole = 1;
        i++;
    }
    snprintf(ret, size, "%" PRIu64 "%s%" PRIu64 " %s", whole, point(), tenths, units[i]);
    return ret;
}

char *rps_text_utc(char *ret, size_t size, int64_t realtime_ns)
{
    int64_t ms = realtime_ns / RPS_NS_PER_MS - (realtime_ns % RPS_NS_PER_MS < 0);
    time_t seconds = ms / 1000 - (ms % 1000 < 0);
    struct tm tm = {0};

    gmtime_r(&seconds, &tm); /* cannot fail: 64 bits of ns cover only a few centuries */
    snprintf(ret, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ms - (int64_t)seconds * 1000));
    return ret;
}
