/*
 * Text for users and for programs: escaping, and the few number formats used everywhere. All
 * functions write at most `size` bytes, always terminate, and return their buffer.
 */
#ifndef RPISTAT_TEXT_H
#define RPISTAT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Size for every rps_text_duration and rps_text_clock result. */
#define RPS_TEXT_NUMBER_SIZE 48

/*
 * SAFETY: copy text so that it cannot harm a terminal. Control bytes, DEL, C1 control characters
 * and bytes that are not UTF-8 become \xHH, newlines and tabs \n and \t. Text that does not fit is
 * cut at a whole character.
 */
char *rps_text_printable(char *ret, size_t size, const char *text);

/* Write text in the same form to a stream, without a limit of length. */
void rps_text_print(FILE *out, const char *text);

/* The replacement for bytes that are not UTF-8: U+FFFD. */
#define RPS_TEXT_REPLACEMENT "\xef\xbf\xbd"

/*
 * Decode the UTF-8 character at text into *ret_code. Return its length in bytes, or 0 if there is
 * none (stray or missing continuation bytes, overlong forms, surrogates, above U+10FFFF).
 */
int rps_text_decode(const char *text, uint32_t *ret_code);

/* SAFETY: return 0 for a character that a terminal obeys, or that reorders or breaks lines; all are
 * below U+10000. */
int rps_text_is_harmless(uint32_t code);

/* Return 1 for a byte inside a UTF-8 character, 0 for the first byte of one. */
static inline int rps_text_is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Return how many bytes of text fit into `limit` without cutting a character. */
size_t rps_text_cut(const char *text, size_t limit);

/* Format a function's name for a line. Above RPS_TEXT_FUNCTION_MOST bytes it loses parameters and
 * return type, and if still longer, template arguments: "std::vector<>::push_back". It has at most
 * size - 1 bytes, cut with "...". Return ret. */
#define RPS_TEXT_FUNCTION_MOST 40
char *rps_text_function(char *ret, size_t size, const char *name);

/* Add a name to a list, "a, b, c" or "" at first. If it does not fit, add "..." once, and nothing
 * more. */
char *rps_text_list(char *list, size_t size, const char *name);

/* Return how many characters text has: its columns on a screen, wide characters aside. */
int rps_text_width(const char *text);

/* Return a copy for free(), U+FFFD for each byte that is not UTF-8; NULL without memory. */
char *rps_text_repaired(const char *text);

/* Return such a copy with U+FFFD also for each character that is not harmless, except newlines. */
char *rps_text_harmless(const char *text);

/* Close a stream that open_memstream made. Return its text, which is *text and for free(); NULL if
 * not all of it could be written. */
char *rps_text_close(FILE *out, char **text);

/*
 * Format a command line as a shell user would type it: arguments quoted with '...' where needed,
 * joined by blanks, made printable as above.
 */
char *rps_text_command(char *ret, size_t size, int argc, char *const argv[]);

/* Return the last part of a path, inside it; all of it if it ends with '/'. */
const char *rps_text_file_name(const char *path);

/* Format a duration for users: "0.100 s", "16.9 s", "2 min 05 s", "3 h 07 min", "2 d 04 h". Here
 * and below the decimal sign is that of the current locale, as for printf. */
char *rps_text_duration(char *ret, size_t size, int64_t ns);

/* Format a duration between the ends of measurement periods: "0.70 s", "3.8 s". */
char *rps_text_stretch(char *ret, size_t size, int64_t ns);

/* Format a position on the time axis: "hh:mm:ss" or with decimals > 0 "hh:mm:ss.d...". */
char *rps_text_clock(char *ret, size_t size, int64_t ns, int decimals);

/* Format a count, or a number with so many decimals, for the current locale: "20,893.5". All
 * numbers above 999 have this form, except those that users type, as of runs and processes. */
char *rps_text_count(char *ret, size_t size, uint64_t count);
char *rps_text_figure(char *ret, size_t size, int decimals, double value);

/* Format a number for users, with three digits: "0.0123", "1.23", "12.3 k", "4.56 M"; "<0.0001". */
char *rps_text_number(char *ret, size_t size, double value);

/* Return 1 if the unit takes no prefix, since it has one, as MiB, or is a percentage. */
int rps_text_has_prefix(const char *unit);

/* Format a number before its unit, as rps_text_number does: "20480" of MiB, not "20.5 k". */
char *rps_text_number_of(char *ret, size_t size, double value, const char *unit);

/* Round parts to multiples of a unit so that they add up to their total, which is rounded too
 * (largest remainder). They must add up to the total before. */
void rps_text_round_parts(double *part, size_t count, double total, double unit);

/* Format a size for users: "512 B", "1.4 MiB". */
char *rps_text_size(char *ret, size_t size, uint64_t bytes);

/* Format ascending numbers, consecutive ones as a range: "1-3,7"; if not all fit, "1-3,...". */
char *rps_text_numbers(char *ret, size_t size, const int64_t *number, size_t count);

/* Format UTC wall-clock time in ISO 8601: "2013-06-26T15:12:33.000Z". */
char *rps_text_utc(char *ret, size_t size, int64_t realtime_ns);

#endif
