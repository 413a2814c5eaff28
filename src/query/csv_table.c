/* Guess the separator and the decimal mark of a table from its beginning. */
#include <string.h>

#include "rpistat/csv_signals.h"

#define SNIFF_LINES 20

/* Count `mark` outside quotes in a line. *ret_length: length of the line with its end. */
static size_t count_in_line(const char *text, size_t size, char mark, size_t *ret_length)
{
    size_t count = 0, i = 0;
    int quoted = 0;

    for (; i < size && (quoted || text[i] != '\n'); i++) {
        if (text[i] == '"')
            quoted = !quoted;
        count += !quoted && text[i] == mark;
    }
    *ret_length = i < size ? i + 1 : i;
    return count;
}

/* Return how often `mark` is in the first line, or 0 if the number of marks is not the same in the
 * following lines. */
static size_t steady_count(const char *text, size_t size, char mark)
{
    size_t first = 0, at = 0, length;

    for (int line = 0; line < SNIFF_LINES && at < size; at += length) {
        size_t count = count_in_line(text + at, size - at, mark, &length);

        /* Skip comments, empty lines, and a last line that is cut off. */
        if (text[at] == '#' || length <= 1 || (text[at] == '\r' && length == 2))
            continue;
        if (text[at + length - 1] != '\n' && line > 0)
            break;
        if (line++ == 0)
            first = count;
        else if (count != first)
            return 0;
    }
    return first;
}

static char guess_separator(const char *text, size_t size, char decimal)
{
    static const char marks[] = ";\t|,";
    size_t length;

    for (const char *mark = marks; *mark; mark++) {
        if (*mark != decimal && steady_count(text, size, *mark) > 0)
            return *mark;
    }
    for (const char *mark = marks; *mark; mark++) { /* The number of marks differs between rows;
                                                       a later error reports this. */
        if (*mark != decimal && count_in_line(text, size, *mark, &length) > 0)
            return *mark;
    }
    return decimal == ',' ? ';' : ',';
}

/* Count the numbers in which `mark` is the last mark and appears once, unlike 21.11.2026. If
 * is_sure is 1, leave out numbers that may mean thousands, such as 1.234. */
static size_t count_decimals(const char *text, size_t size, char mark, int is_sure)
{
    size_t count = 0, end;

    for (size_t i = 0; i < size; i = end + 1) {
        size_t marks = 0, last = 0;

        for (end = i; end < size && memchr("0123456789.,", text[end], 12); end++) {
            if (text[end] == '.' || text[end] == ',')
                last = end;
            marks += text[end] == mark;
        }
        count += marks == 1 && text[last] == mark && last > i && last + 1 < end &&
                 !(is_sure && end - last == 4 && last - i <= 3);
    }
    return count;
}

static char guess_decimal(const char *text, size_t size, char separator)
{
    for (int is_sure = 0; is_sure < 2 && separator != ','; is_sure++) {
        if (count_decimals(text, size, ',', is_sure) > 0 &&
            count_decimals(text, size, '.', is_sure) == 0)
            return ',';
    }
    return '.';
}

void rps_csv_guess(const char *text, size_t size, char *separator, char *decimal)
{
    if (!*separator)
        *separator = guess_separator(text, size, *decimal);
    if (!*decimal)
        *decimal = guess_decimal(text, size, *separator);
}
