/*
 * Options of the examples: a table, from which --help and the parsing are made.
 */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

/* One option: exactly one of number, text and flag is set, and holds the default before. */
struct example_option {
    const char *name, *argument, *help; /* long name without dashes; argument NULL: a flag */
    long long min, max;                 /* of a number */
    long long *number;
    const char **text;
    int *flag;
};

/*
 * Parse the command line against a table that ends with a NULL name. Returns 0; 1 when --help was
 * printed; -1 with a sentence on standard error for wrong usage. The first letter of a name is its
 * short form, unless an earlier row has it.
 */
int example_options(int argc, char *argv[], const char *summary,
                    const struct example_option *option);

/*
 * "8,64,1024", sizes in KiB from 1 to 16777216 (16 GiB), into at most `room` places. Returns how
 * many, or -1 with a sentence on standard error.
 */
int example_sizes(const char *program, const char *text, size_t *ret_kib, int room);

/* A length such as "2", "2s", "1.5s", "200ms" or "1m"; 0, or -1 with a sentence on standard error. */
int example_length(const char *program, const char *text, int64_t *ret_ns);

#endif
