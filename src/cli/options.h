/*
 * Options of a command as rows: the target of a value, its limits, and its completion. Parsing,
 * --help, the configuration file and completion read the same rows, and the tests compare the
 * manual page with them.
 */
#ifndef RPISTAT_CLI_OPTIONS_H
#define RPISTAT_CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"

#define RPS_OPTION_MAX 40 /* of a command, with the common ones */

enum rps_option_kind {
    RPS_OPTION_FLAG = 1, /* int: min, or 1 if min is 0 */
    RPS_OPTION_INT,      /* int or 64 bits, from min to max */
    RPS_OPTION_DURATION, /* int64_t: ns, from min to max */
    RPS_OPTION_SIZE,     /* uint64_t: bytes, at least min */
    RPS_OPTION_TEXT,     /* const char *, argv's; of min to max bytes, max 0: any */
    RPS_OPTION_CHOICE,   /* int or enum: min plus the index of the word in `words` */
    RPS_OPTION_CHAR,     /* char: one of those in `words`, "tab" for a tab */
    RPS_OPTION_LIST,     /* struct rps_texts, of at least min bytes each: may be repeated, max
                            times; max 0: until the array is full */
    RPS_OPTION_NAMES,    /* struct rps_names: between commas, and may be repeated */
    RPS_OPTION_OTHER,    /* set() parses it */
};

#define RPS_TEXTS_MAX 64

/* Texts of an option that may be repeated; argv's. */
struct rps_texts {
    int count;
    int source; /* of all of them: enum rps_option_source */
    const char *text[RPS_TEXTS_MAX];
};

/* Names of an option that takes several. */
struct rps_names {
    int source;
    size_t count;
    const char *name[RPS_TEXTS_MAX]; /* in text */
    char text[4096];                 /* split at its commas */
    size_t used;
};

/* The source of a value; later ones override earlier ones. */
enum rps_option_source {
    RPS_SOURCE_DEFAULT,
    RPS_SOURCE_FILE, /* the configuration file */
    RPS_SOURCE_ENVIRONMENT,
    RPS_SOURCE_COMMAND_LINE,
};

struct rps_option {
    const char *name;     /* long name without dashes; NULL ends a table */
    int letter;           /* short form; 0: none */
    const char *argument; /* its name in the help; NULL: takes none. FILE, PATH, DIR and RUN also
                             select the completion */
    const char *help;     /* one line, without a final stop */
    const char *value;    /* default, parsed and shown in the help; NULL: none */
    enum rps_option_kind kind;
    int is_common; /* 1: the value is in struct rps_cli, 0: in the command's settings */
    size_t offset, size;
    int64_t min, max;
    const char *words; /* separated by blanks: all words that CHOICE and CHAR accept; otherwise only
                          offered by completion, as prefixes if they end in a colon */
    const char *const *(*names)(void); /* offered by completion too */
    /* RPS_USAGE for an invalid text; of TEXT and LIST. NULL: all are valid. */
    int (*check)(const char *option, const char *text, struct rps_error *err);
    /* For OTHER: set the member from the text. `option` is for messages. Returns 0, negative with
     * err, or 1 if the command ends here. */
    int (*set)(const char *option, const char *text, void *member, struct rps_error *err);
    const char *excludes; /* names of options that exclude it, separated by blanks */
    int is_once;          /* 1: is for one call only, and not for the configuration file */
};

/* The target of a row's value: is_common, offset and size. */
#define RPS_AT(type, member) 0, offsetof(type, member), sizeof(((type *)NULL)->member)
#define RPS_AT_COMMON(member)                                                                      \
    1, offsetof(struct rps_cli, member), sizeof(((struct rps_cli *)0)->member)
/* The command's settings as a whole, or struct rps_cli, for set(). */
#define RPS_AT_SETTINGS 0, 0, 0
#define RPS_AT_CLI      1, 0, 0

struct rps_cli;
struct rps_command;

/*
 * Parse argv[1 ... argc), after the command's name in argv[0]. Fills cli and its settings, and
 * moves operands to the end; *ret_operands is the index of the first. Returns 0; 1 if the command
 * ends here (help or version was printed); or negative with cli->err.
 */
int rps_options_parse(struct rps_cli *cli, int argc, char **argv, int *ret_operands);

/* Return the source of an option's value. */
enum rps_option_source rps_options_source(const struct rps_cli *cli, const char *name);

/* Put the rows of all options that a command takes, RPS_OPTION_MAX at most; return their number. */
int rps_options_rows(const struct rps_command *command, struct rps_option *ret);

/* Return the index of a word among words separated by blanks; -1: it is not among them. */
int rps_options_word(const char *words, const char *word);

/* Print the help of one command, or of rpistat itself. */
void rps_options_help(FILE *out, const struct rps_command *command);
void rps_options_help_all(FILE *out);

#endif
