/* Text functions: number formats, escaping, parsing of user input, suggestions for mistyped names.
 * Functions that format write at most `size` bytes, always terminate, and return their buffer. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"

/* Buffer size for every result of rps_text_duration and rps_text_clock. */
#define RPS_TEXT_NUMBER_SIZE 48

/* SAFETY: copy text so that it cannot harm a terminal. Control bytes, DEL, C1 control characters
 * and bytes that are not UTF-8 become \xHH. Newlines and tabs become   and \t. Text that does not
 * fit is cut at a whole character. */
char *rps_text_printable(char *ret, size_t size, const char *text);

/* Write text to a stream in the form of rps_text_printable, without a limit of length. */
void rps_text_print(FILE *out, const char *text);

/* replacement for bytes that are not UTF-8: U+FFFD */
#define RPS_TEXT_REPLACEMENT "\xef\xbf\xbd"

/* Decode the UTF-8 character at text into *ret_code. Return its length in bytes, or 0 for an
 * invalid character (stray or missing continuation bytes, overlong form, surrogate, above
 * U+10FFFF). */
int rps_text_decode(const char *text, uint32_t *ret_code);

/* SAFETY: return 0 for a character that controls a terminal, or that reorders or breaks lines. All
 * harmful characters are below U+10000. */
int rps_text_is_harmless(uint32_t code);

/* Return 1 for a continuation byte of a UTF-8 character, 0 for a first byte. */
static inline int rps_text_is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Return the number of bytes, at most `limit`, of whole characters at the text's start. */
size_t rps_text_cut(const char *text, size_t limit);

/* Format a function's name for a line, without the suffixes of clones, such as ".constprop.0" and
 * "[clone .isra.0]". If a name is longer than RPS_TEXT_FUNCTION_MAX bytes, its parameters and its
 * return type are removed. If the name is still longer, its template arguments are also removed:
 * "std::vector<>::push_back". If the result is longer than RPS_TEXT_QUALIFIED_MAX bytes or does not
 * fit, namespaces and classes are removed from its start: "...::push_back". If the result is longer
 * than size - 1 bytes, it is cut and ends with "...". Return ret. */
#define RPS_TEXT_FUNCTION_MAX  40
#define RPS_TEXT_QUALIFIED_MAX 48
char *rps_text_function(char *ret, size_t size, const char *name);

/* Return a function's own name, which *ret_end ends, between its return type and its parameters. */
const char *rps_text_function_own(const char *name, const char **ret_end);

/* Add a name to a list "a, b, c" ("" at first). If the name does not fit, add "..." once, and
 * nothing more. */
char *rps_text_list(char *list, size_t size, const char *name);

/* Return the text's width on a terminal, in columns. Wide characters need two columns, and
 * combining characters none. A byte that is not UTF-8, or a character of unknown width, counts as
 * one column. The locale must be UTF-8 for characters that are not ASCII. */
int rps_text_width(const char *text);

/* Return the number of bytes, of whole characters at the text's start, that fit into `columns`. */
size_t rps_text_fit(const char *text, int columns);

/* Copy text for free(), with U+FFFD for each byte that is not UTF-8; NULL if memory runs out. */
char *rps_text_repaired(const char *text);

/* Copy text like rps_text_repaired, and also replace harmful characters, except newlines. ret has
 * 3 * strlen(text) + 1 bytes. Return ret. */
char *rps_text_harmless(char *ret, const char *text);

/* Close a stream that open_memstream made. Return its text (*text, for free()), or NULL if a part
 * of the text could not be written. */
char *rps_text_close(FILE *out, char **text);

/* Format a command line as typed in a shell. Arguments are quoted with '...' if necessary, joined
 * by blanks, and made printable as by rps_text_printable. */
char *rps_text_command(char *ret, size_t size, int argc, char *const argv[]);

/* Return a pointer to the last component of a path, or the whole path if it ends with '/'. */
const char *rps_text_file_name(const char *path);

/* Format a duration for users: "0.100 s", "16.9 s", "2 min 05 s", "3 h 07 min", "2 d 04 h". Like
 * all functions below, rps_text_duration uses the decimal sign of the current locale. */
char *rps_text_duration(char *ret, size_t size, int64_t ns);

/* Format the length of a time range of whole measurement periods: "0.70 s", "3.8 s". */
char *rps_text_stretch(char *ret, size_t size, int64_t ns);

/* Format a time since the start of a run as "hh:mm:ss", or with decimals > 0 as "hh:mm:ss.d...". */
char *rps_text_clock(char *ret, size_t size, int64_t ns, int decimals);

/* rps_text_count formats a count, and rps_text_figure a number with the given decimals, for the
 * current locale: "20,893.5". In output, all numbers above 999 have this form, except numbers that
 * users type, such as run numbers. */
char *rps_text_count(char *ret, size_t size, uint64_t count);
char *rps_text_figure(char *ret, size_t size, int decimals, double value);

/* Format a number for users with three digits: "0.0123", "1.23", "12.3 k", "4.56 M", "<0.0001". */
char *rps_text_number(char *ret, size_t size, double value);

/* Return 1 if the unit takes no prefix, because it has a prefix (MiB) or is a percentage. */
int rps_text_has_prefix(const char *unit);

/* Format a number that a unit follows, like rps_text_number. If the unit takes no prefix, such as
 * MiB, the number is "20480" instead of "20.5 k". */
char *rps_text_number_of(char *ret, size_t size, double value, const char *unit);

/* Round parts to multiples of a unit so that their sum equals the rounded total (largest remainder
 * method). Before rounding, the parts must add up to the total. */
void rps_text_round_parts(double *part, size_t count, double total, double unit);

/* Format a size for users: "512 B", "1.4 MiB". */
char *rps_text_size(char *ret, size_t size, uint64_t bytes);

/* Format ascending numbers as a list with ranges: "1-3,7". If the text does not fit: "1-3,...". */
char *rps_text_numbers(char *ret, size_t size, const int64_t *number, size_t count);

/* Format UTC wall-clock time in ISO 8601: "2013-06-26T15:12:33.000Z". */
char *rps_text_utc(char *ret, size_t size, int64_t realtime_ns);

/* Strict parsing of user input. The value must be the whole text. Nothing is guessed, overflow is
 * an error, and the C locale is used in every environment.
 *
 * Every function returns 0, or RPS_USAGE with a sentence in err that quotes the text and explains
 * how to correct it. In this case, *ret is not changed. `what` is the value's name in the sentence
 * ("--period"). */

/* Parse an unsigned number in decimal or 0x-hexadecimal, with min <= value <= max. */
int rps_parse_uint64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
                     struct rps_error *err);

/* Parse a finite decimal number. */
int rps_parse_double(const char *what, const char *text, double *ret, struct rps_error *err);

/* Parse a duration: one or more numbers, each with a unit ns, us, ms, s, m (or min), h or d, as in
 * `100ms`, `1.5s`, `1h30m`. The result is in ns, min_ns <= value <= max_ns. Negative durations are
 * refused. A number other than 0 needs a unit, because different tools assume different units. */
int rps_parse_duration_ns(const char *what, const char *text, int64_t min_ns, int64_t max_ns,
                          int64_t *ret_ns, struct rps_error *err);

/* Parse a position in a run: a duration from the start of the run, or a number of seconds without a
 * unit. */
int rps_parse_time_ns(const char *what, const char *text, int64_t min_ns, int64_t max_ns,
                      int64_t *ret_ns, struct rps_error *err);

/* Parse a size in bytes: a number with an optional K, M, G or T (powers of 1024). "iB" or "B" may
 * follow. */
int rps_parse_size(const char *what, const char *text, uint64_t *ret_bytes, struct rps_error *err);

/* Parse a list of CPUs, as in "0-3,8". *ret is a new array for free(), without duplicates. */
int rps_parse_cpus(const char *what, const char *text, int **ret, int *ret_count,
                   struct rps_error *err);

/* Suggestions of names that are similar to a typed name. */

#define RPS_SUGGESTIONS_MAX 3
#define RPS_SUGGESTION_SIZE 64 /* maximum size of a name; longer names are not considered */

/* The known names nearest to a typed name. First, set `typed`, and all other members to 0. */
struct rps_suggestion {
    const char *typed;
    int distance; /* edit distance of the suggested names */
    int count;
    char name[RPS_SUGGESTIONS_MAX][RPS_SUGGESTION_SIZE];
};

/* Consider a name. The name becomes a suggestion if only few letters of the typed name are missing,
 * surplus, wrong or swapped, and if no earlier name is nearer to the typed name. */
void rps_suggestion_consider(struct rps_suggestion *suggestion, const char *name);

/* Format the question "did you mean a, b or c? ", or "" without suggestions. Return ret. */
char *rps_suggestion_question(const struct rps_suggestion *suggestion, char *ret, size_t size);
