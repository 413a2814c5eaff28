/* Options of a command as rows: target, limits and completion of a value. Parsing, --help, the
 * configuration file and completion use the rows. Tests compare the manual page with the rows. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"

#define RPS_OPTION_MAX    48 /* maximum options of a command, including shared ones */
#define RPS_OPTION_SHARED 8  /* maximum of --run, --from, --to, --input and the common options */

enum rps_option_kind {
    RPS_OPTION_FLAG = 1, /* an int is set to min, or to 1 if min is 0 */
    RPS_OPTION_INT,      /* int or 64-bit integer, from min to max */
    RPS_OPTION_DURATION, /* int64_t in ns, from min to max */
    RPS_OPTION_SIZE,     /* uint64_t in bytes, at least min */
    RPS_OPTION_TEXT,     /* const char * into argv, of min to max bytes; max 0: any length */
    RPS_OPTION_CHOICE,   /* int or enum: min plus the index of the word in `words`; min - 1 if an
                            optional argument is missing */
    RPS_OPTION_CHAR,     /* char from `words`; "tab" means a tab */
    RPS_OPTION_LIST,     /* struct rps_texts: the option may be repeated up to max times, or
                            until the array is full if max is 0. Each text has at least min bytes */
    RPS_OPTION_NAMES,    /* struct rps_names: names separated by commas; may be repeated */
    RPS_OPTION_OTHER,    /* set() parses the argument */
};

#define RPS_TEXTS_MAX 64

/* Texts of an option that may be repeated. The texts belong to argv. */
struct rps_texts {
    int count;
    int source; /* enum rps_option_source of all texts */
    const char *text[RPS_TEXTS_MAX];
};

/* Names given to an option that accepts several names. */
struct rps_names {
    int source;
    size_t count;
    const char *name[RPS_TEXTS_MAX]; /* pointers into `text` */
    char text[4096];                 /* text of the argument, split at its commas */
    size_t used;
};

/* The source of a value. A later source overrides an earlier one. */
enum rps_option_source {
    RPS_SOURCE_DEFAULT,
    RPS_SOURCE_FILE, /* the configuration file */
    RPS_SOURCE_ENVIRONMENT,
    RPS_SOURCE_COMMAND_LINE,
};

struct rps_option {
    const char *name; /* long name without dashes; NULL ends a table */
    int letter;       /* short form of the option; 0: none */
    const char
        *argument;     /* the argument's name in the help; NULL: no argument; "[=FORM]": an optional
                      argument. FILE, PATH, DIR and RUN also select the completion */
    const char *help;  /* one line of help, without a full stop */
    const char *value; /* default value, parsed and shown in the help; NULL: none */
    enum rps_option_kind kind;
    int is_common; /* 1: the value is in struct rps_cli; 0: the value is in the command's
                      settings */
    size_t offset, size;
    int64_t min, max;
    const char *words; /* words separated by blanks. CHOICE and CHAR accept only these words. For
                          other types, completion offers the words; a word that ends in a colon
                          is offered as a prefix */
    const char *const *(*names)(void); /* returns more words for completion */
    /* Check an argument, for the types TEXT and LIST. Returns RPS_USAGE for an invalid text. NULL:
     * all texts are valid. */
    int (*check)(const char *option, const char *text, struct rps_error *err);
    /* Set the member from the text, for the type OTHER. Messages contain `option`. Returns 0, a
     * negative value with err, or 1 if the command must end after this option. */
    int (*set)(const char *option, const char *text, void *member, struct rps_error *err);
    const char *excludes; /* options that exclude this one: names separated by blanks */
    int is_once;          /* 1: valid for one call only, and not in the configuration file */
    /* Earlier spelling of the name, and of the last word in `words`. Earlier spellings remain valid
     * for ever, but neither --help nor completion shows them. NULL: none. */
    const char *old_name, *old_word;
    const char *gone_word, *gone_text; /* for CHOICE: a word that is no longer accepted, and the
                                          error message for it */
};

/* A command's options: first its own, then the shared ones. */
struct rps_option_list {
    int count;
    struct rps_option row[RPS_OPTION_MAX];
};

/* Refuse to compile an option table that is too long. RPS_OPTIONS makes the same check, and its
 * value is the table. */
#define RPS_OPTIONS_FIT(table)                                                                     \
    _Static_assert(sizeof(table) / sizeof((table)[0]) + RPS_OPTION_SHARED <= RPS_OPTION_MAX + 1,   \
                   "more options than RPS_OPTION_MAX")
#define RPS_OPTIONS(table)                                                                         \
    ((table) + 0 * sizeof(struct {                                                                 \
                   int unused;                                                                     \
                   RPS_OPTIONS_FIT(table);                                                         \
               }))

/* The target of a row's value: is_common, offset and size. */
#define RPS_AT(type, member) 0, offsetof(type, member), sizeof(((type *)NULL)->member)
#define RPS_AT_COMMON(member)                                                                      \
    1, offsetof(struct rps_cli, member), sizeof(((struct rps_cli *)0)->member)
/* Target of set(): the command's settings as a whole, or struct rps_cli. */
#define RPS_AT_SETTINGS 0, 0, 0
#define RPS_AT_CLI      1, 0, 0

struct rps_cli;
struct rps_command;

/* Parse argv[1 ... argc); argv[0] is the command's name. Fills cli and its settings, and moves
 * operands to the end. *ret_operands is the index of the first operand. Returns 0; 1 if the command
 * ends here (help or version was printed); or a negative value with cli->err. */
int rps_options_parse(struct rps_cli *cli, int argc, char **argv, int *ret_operands);

/* Return the first option of `names` (separated by blanks) whose value has the given source or a
 * later source; NULL: none. */
const char *rps_options_set(const struct rps_cli *cli, const char *names,
                            enum rps_option_source from);

/* Collect all options of a command. */
void rps_options_collect(const struct rps_command *command, struct rps_option_list *ret);

/* Return 1 if the name, without dashes, is the option's current or earlier name. */
int rps_options_is_name(const struct rps_option *option, const char *name);

/* Return the index of a word in `words`, separated by blanks; -1: `words` does not contain it. */
int rps_options_word(const char *words, const char *word);

/* Print the help of one command, or of rpistat itself. */
void rps_options_help(FILE *out, const struct rps_command *command);
void rps_options_help_all(FILE *out);
