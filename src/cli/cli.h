/* The command line: the data that every command receives, and functions for the dispatcher and the
 * commands.
 *
 * Each command is one const row (struct rps_command) at the end of the command's file cmd_*.c. The
 * dispatcher main.c finds the row, parses the options, which are rows too (options.h), and opens
 * the store and the output (output.c). Then main.c calls run() and converts the result into an exit
 * status. */
#pragma once

#include <locale.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"
#include "rpistat/arena.h"
#include "rpistat/cpus.h"
#include "rpistat/document.h"
#include "rpistat/error.h"
#include "rpistat/order.h"
#include "rpistat/output_file.h"
#include "rpistat/plot.h"
#include "rpistat/run.h"
#include "rpistat/sampler.h"
#include "rpistat/process.h"

/* The user's configuration file: long options, one per line. */

/* A line of the file: "name = value", or "name" alone. */
struct rps_config_line {
    int number;          /* line number in the file, from 1 */
    const char *section; /* "record" below the line [record]; NULL above the first section */
    const char *name;
    const char *value; /* NULL if the line has only a name */
};

/* Contents of the configuration file. All members are zero if the file does not exist. */
struct rps_config {
    char *path, *text; /* `text` holds the names and values */
    int count;
    struct rps_config_line *line;
};

/* Read rpistat/config in $XDG_CONFIG_HOME (~/.config if the variable is not set or not absolute)
 * into the arena. If the file is missing, or this user may not open it, *ret is empty. Returns
 * RPS_FAILED if root does not trust the file (rps_trust_own), or if it is not a text file. Returns
 * RPS_USAGE, with file and line, unless a line is empty, a comment (#), a [section] or an option.
 */
int rps_config_read(struct rps_arena *arena, struct rps_config *ret, struct rps_error *err);

/* Set the error RPS_USAGE. The message is "FILE, line N" and then the printf-style sentence. */
#define rps_config_error(config, at, err, ...)                                                     \
    (rps_error_set(err, RPS_USAGE, __VA_ARGS__),                                                   \
     rps_error_prefix(err, RPS_USAGE, "%s, line %d", (config)->path, (at)->number))

/* Error message for a feature that needs the extension `code`, in a build without `code`. */
#define RPS_CLI_NO_CODE                                                                            \
    "code and samples are not built into this rpistat: build it without -Dauto_features=disabled " \
    "(Debian: libdw-dev, libiberty-dev)"

/* --- commands --------------------------------------------------------------------------------- */

enum rps_command_input {
    RPS_INPUT_NONE,  /* default: the command reads no store (record opens its own for writing) */
    RPS_INPUT_PATH,  /* the command opens the store of -i itself */
    RPS_INPUT_STORE, /* rpistat opens the store of -i before the command runs */
    RPS_INPUT_RUN,   /* rpistat opens the store and finds the run of -r; --from and --to are
                        accepted */
};

enum rps_command_output {
    RPS_OUTPUT_STREAM, /* default: cli->out is open: standard output, or the file of -o */
    RPS_OUTPUT_PATH,   /* the command uses cli->output itself */
};

struct rps_command {
    const char *name;
    const char *summary;     /* one line about the command in `rpistat --help` */
    const char *answers;     /* question that the command answers, for programs */
    const char *usage;       /* usage after the command's name: "[OPTIONS] [NAME...]" */
    const char *description; /* help lines that are printed below the usage */
    const char *examples;    /* lines at the end of the help, each indented by two blanks */
    enum rps_command_input input;
    enum rps_command_output output;
    const char *output_help;  /* help text of -o; NULL: "file to write" */
    const char *output_value; /* default of -o; NULL: standard output */
    int operand_max;          /* maximum number of operands; -1: any number */
    int operand_is_run;       /* 1: the first operand is the run, as with -r */
    int runs_workload;        /* 1: options end at the first operand */
    int counts;               /* 1: the command opens counters, so rpistat keeps its rights to
                                 open them (rpistat/rights.h) */
    const struct rps_option *options; /* the command's own options; NULL: none */
    size_t settings_size;             /* size of cli->settings, zeroed before options are set */
    /* Check the settings as a whole, before anything is opened. Returns 0, or negative with
     * cli->err. NULL: no check. */
    int (*check)(struct rps_cli *cli);
    /* Run the command. Returns the exit status, or negative (enum rps_error_code) with cli->err. */
    int (*run)(struct rps_cli *cli);
};

extern const struct rps_command rps_command_record;
extern const struct rps_command rps_command_runs;
extern const struct rps_command rps_command_report;
extern const struct rps_command rps_command_phases;
extern const struct rps_command rps_command_code;
extern const struct rps_command rps_command_explain;
extern const struct rps_command rps_command_compare;
extern const struct rps_command rps_command_history;
extern const struct rps_command rps_command_plot;
extern const struct rps_command rps_command_watch;
extern const struct rps_command rps_command_export;
extern const struct rps_command rps_command_import;
extern const struct rps_command rps_command_merge;
extern const struct rps_command rps_command_push;
extern const struct rps_command rps_command_status;
extern const struct rps_command rps_command_stop;
extern const struct rps_command rps_command_events;
extern const struct rps_command rps_command_verify;
extern const struct rps_command rps_command_check;

/* All commands in the order of the help; the last pointer is NULL. main.c sets rps_commands. */
extern const struct rps_command *const *rps_commands;

/* The data of one call of a command. Texts belong to argv or are constants: do not free them. */
struct rps_cli {
    const struct rps_command *command;
    int implicit;                      /* 1: no command was named, as in `rpistat ./workload` */
    int argc;                          /* number of operands (arguments that are not options) */
    char **argv;                       /* the operands, then NULL */
    struct rps_signals_before before;  /* signal settings at rpistat's start, which the user's
                                          commands receive */
    int quiet;                         /* -q: errors only; no notes, status or progress */
    const char *output;                /* -o or its default; NULL or "-": standard output */
    const char *input;                 /* path of the store: the argument of -i */
    const char *run_text;              /* argument of -r; NULL: the newest run of the store */
    int64_t from_ns, to_ns;            /* times of --from and --to; 0 and INT64_MAX without these
                                          options */
    const char *from_phase, *to_phase; /* phase, mark or time of day ("phase:B", "14:30"), not
                                          converted yet; NULL: none */
    enum rps_option_source source[RPS_OPTION_MAX]; /* source of each option's value */
    struct rps_config config;                      /* configuration file, whose lines are used as
                                                      options, like argv */
    int no_store;                                  /* 1: this call opens no store; set by check() */
    int no_stream;                                 /* 1: -o names no stream; set by check() */
    struct rps_arena *arena; /* memory for run(); a command that only reads ends if it gets no
                                memory */
    void *settings;          /* settings of the command: a struct of settings_size bytes whose
                                type the command defines */
    locale_t locale; /* locale of the environment, for separators of numbers; (locale_t)0 if it
                        is not available. The process itself uses the C locale */
    struct rps_reader *reader;     /* open reader, for RPS_INPUT_STORE and RPS_INPUT_RUN */
    int64_t run_id;                /* number of the run, for RPS_INPUT_RUN */
    FILE *out;                     /* output stream; by default standard output */
    struct rps_progress *progress; /* progress line of rps_progress_begin; NULL: none */
    char note[256];                /* note on the answer; printed after success, except with -q */
    struct rps_error err;          /* set by every function that returns a negative value */
};

/* Return RPS_USAGE if the argument of an option is not KEY=VALUE, or if KEY is empty. */
int rps_tag_check(const char *option, const char *text, struct rps_error *err);

/* Return 1 if a run has the tag "KEY=VALUE". */
int rps_tag_is(const struct rps_run *run, const char *text);

/* Add "KEY=VALUE" texts to the tags of a run. */
void rps_tag_add(struct rps_run *run, const struct rps_texts *texts);

/* --- recording: record_options.c parses, cmd_record.c runs ------------------------------------ */

/* Values of the option --system-metrics of `record`. */
enum rps_record_system {
    RPS_RECORD_SYSTEM_OFF,
    RPS_RECORD_SYSTEM_TREE,
    RPS_RECORD_SYSTEM_MACHINE,
    RPS_RECORD_SYSTEM_PACKAGE, /* system metrics of all CPUs */
    RPS_RECORD_SYSTEM_ALL,     /* all available metrics; without those of the process tree if
                                  whole CPUs are recorded */
};

struct rps_record_settings {
    int64_t period_ns;       /* --period: from 1 ms to 1 h */
    int fine_start;          /* 1: --fine-start is given */
    int64_t duration_ns;     /* --duration; 0: record until the workload ends */
    const char *label;       /* --label, "" when not given; shorter than RPS_RUN_TEXT_SIZE */
    struct rps_texts tag;    /* --tag: "KEY=VALUE"; KEY is not empty */
    struct rps_texts events; /* -e: one event set per text */
    struct rps_texts metric; /* arguments of --metric: "NAME=FORMULA" */
    const char *scenario;    /* argument of --scenario; NULL: none */
    const char *sets;  /* --sets: name of a document, or a file; NULL: the counters determine the
                          event sets */
    const char *pmu;   /* --pmu: "auto", or a backend's name with its argument after a colon */
    int always_rotate; /* 1: --always-rotate is given */
    struct rps_order order;         /* --order; the seed is random if none is given */
    int64_t commit_ns;              /* argument of --commit in ns */
    int durability_full;            /* 1: --durability full is given */
    int64_t keep_ns;                /* argument of --keep; 0: data are kept for ever */
    uint64_t max_bytes;             /* --max-size; 0: no limit */
    struct rps_texts pid;           /* -p: lists of process numbers */
    int all_cpus;                   /* 1: -a (record all CPUs) is given */
    const char *cpus;               /* argument of -C, a list of CPUs; NULL: all CPUs */
    struct rps_texts cgroup;        /* arguments of -G: control groups */
    int64_t delay_ns;               /* argument of --delay; -1: wait until --control sends enable */
    const char *control;            /* argument of --control; NULL: none */
    int no_samples;                 /* 1: --no-samples is given */
    const char *sample;             /* --sample: EVENT or EVENT:N; NULL: not given */
    uint64_t frequency;             /* argument of --frequency */
    enum rps_sample_on sample_on;   /* argument of --sample-on */
    enum rps_stacks stacks;         /* argument of --stacks */
    int jit_names;                  /* 1: --jit-names is given */
    int wall;                       /* 1: --wall is given */
    int asks_for_samples;           /* 1: a sampling option was given, so samples are required */
    enum rps_record_system signals; /* argument of --system-metrics */
    double system_budget;           /* --system-metrics-budget: share of a CPU */
    int needs_system;               /* 1: --system-metrics was given in this call and is not off */
    uint64_t repeat;                /* --repeat: number of runs in a series; 0: a single run */
    uint64_t warmup;                /* --warmup: number of warm-up runs before the series */
    const char *prepare;            /* --prepare: command that sh runs before each run; NULL:
                                       none */
    int alternate;                  /* 1: --alternate is given */
};

/* --- output ----------------------------------------------------------------------------------- */

/* An output: standard output, or a file as in rpistat/output_file.h. */
struct rps_output {
    FILE *file;
    struct rps_output_file target; /* all zero for standard output */
};

/* Open `path` (NULL or "-": standard output) for writing. Devices and pipes are written in place.
 * Errors: those of rps_output_file_open. */
int rps_output_open(struct rps_output *ret, const char *path, struct rps_error *err);

/* Close the output. Standard output is only flushed; a file receives its name only when it is
 * closed. Returns RPS_FAILED if anything could not be written, for example on a full disk. If the
 * reader of a pipe has gone away, the error message is empty, since the user needs none. */
int rps_output_close(struct rps_output *output, struct rps_error *err);

/* Discard the written data. An earlier file with the name of the output is not changed. After
 * rps_output_close, the call has no effect. */
void rps_output_abandon(struct rps_output *output);

/* Return RPS_USAGE if `output` (a path or NULL) is the file `input`, which would be overwritten. */
int rps_output_differs(const char *input, const char *output, struct rps_error *err);

/* Open a substitute for each closed standard stream, so that no file opened later receives the
 * stream's descriptor number. The workload still starts with its standard streams closed. */
void rps_output_guard_streams(void);

/* Print "rpistat: SENTENCE" on standard error, without control characters. The function
 * rps_output_print instead has the arguments of printf. */
void rps_output_message(const char *sentence);
void rps_output_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return 1 if standard error is a terminal, and no other job is in the terminal's foreground. */
int rps_output_has_terminal(void);

/* Return 1 if output to fd reaches no terminal: fd is a file, or a device that is not a terminal. A
 * pipe may lead to a terminal, so the result for a pipe is 0. */
int rps_output_is_file(int fd);

/* Show the name and the duration of a slow operation on a terminal's standard error. After half a
 * second a line such as "rpistat: looking for phases, 12.3 s" appears. With -q there is no line.
 * `what` is a constant. End the progress before you write to the terminal; otherwise the progress
 * ends when the command ends. The call has no effect if progress has already begun or ended. */
void rps_progress_begin(struct rps_cli *cli, const char *what);
void rps_progress_end(struct rps_cli *cli);

/* Return 1 if standard output is a terminal. The numbers of columns and lines come from the
 * variables COLUMNS and LINES, otherwise from the terminal. If both are unknown, the size is 80 x
 * 24. Either pointer may be NULL. */
int rps_output_terminal(int *ret_columns, int *ret_lines);

/* Return 1 if standard output is a terminal on which the cursor can be moved. */
int rps_output_screen(void);

/* Return 1 if human-readable output may be UTF-8: a UTF-8 locale, and not a dumb terminal. */
int rps_output_utf8(void);

/* Return 1 if output may be coloured: rps_output_screen() returns 1, and NO_COLOR is not set. */
int rps_output_colour(void);

/* The niceness of programs that rpistat runs during a measurement. */
#define RPS_CLI_NICENESS 10

/* The words that --chars accepts. The value 0 means that the locale selects the characters. */
#define RPS_CHARS "braille ascii"
enum { RPS_CHARS_BRAILLE = 1, RPS_CHARS_ASCII };

/* Return the directory of the gnuplot scripts. This is an installed directory, ../share next to the
 * program, or a directory of the source tree. */
const char *rps_output_scripts(void);

/* Run `rpistat help` with the words after `help`, up to NULL: a command, --format text or json.
 * Returns 0, or RPS_USAGE. */
int rps_help_run(char **argv, struct rps_error *err);

/* Completion of the command line by shells. */

/* Print the completions of the command line's last word, one per line: the whole word, a tab, and
 * its meaning. A line that begins with a colon makes the shell itself complete the word: ":file",
 * ":folder", or ":command N". In ":command N", word N (counted from 0) and the words after it are
 * another program's command line. */
void rps_completion_answer(FILE *out, int count, char **word);

/* Print the completion script for bash, zsh or fish. Returns RPS_USAGE for any other shell. */
int rps_completion_print(FILE *out, const char *shell, struct rps_error *err);

/* The option --cpu of the reading commands. */

/* Parse "each", "sum", a list of CPUs such as "0-3,8", or both such as "sum,0-3". The list is in
 * the arena. The error message of RPS_USAGE quotes the text. */
int rps_cpus_parse(struct rps_arena *arena, const char *text, struct rps_cpus *ret,
                   struct rps_error *err);

/* Parse --cpu for the run of a reading command; the arena of `cli` holds the list. If `text` is
 * "each" but the run was not recorded by CPU, the run is shown as a whole, with a note in
 * cli->note. If `text` is NULL, *ret is not changed. */
int rps_cpus_choose(struct rps_cli *cli, const char *text, struct rps_cpus *ret);

/* Check the argument of an option that takes a list of CPUs, such as --cpu. */
int rps_cpus_check(const char *option, const char *text, struct rps_error *err);

/* The option --format, and functions for text. Several commands use both. */

/* The option row of --format for a command that writes a document. `at` is the target of the value,
 * an enum rps_format. */
#define RPS_FORMAT_OPTION(at)                                                                      \
    {                                                                                              \
        "format", 0, "FORMAT", "one of " RPS_DOCUMENT_FORMATS, "text", RPS_OPTION_CHOICE, at,      \
            .words = RPS_DOCUMENT_FORMATS                                                          \
    }

/* Return the locale for numbers in human-readable formats, or (locale_t)0, the C locale, for
 * machine-readable formats. */
locale_t rps_format_locale(const struct rps_cli *cli, enum rps_format format);

/* Write a document to cli->out, with the locale of `format`, fitted to the terminal's width. */
void rps_format_document(const struct rps_cli *cli, const struct rps_document *document,
                         enum rps_format format);

/* Put a text such as "run 3 (label nightly, ./naive)", without control characters. Returns ret. */
char *rps_format_run(char *ret, size_t size, const struct rps_run *run);

/* Names that users try, and their equivalents in rpistat. */

/* Return the command of this name, or NULL. */
const struct rps_command *rps_names_command(const char *name);

/* Return rpistat's name for another tool's word ("list": "runs", "-I": "--period"); NULL: none. */
const char *rps_names_habit(const char *word);

/* Find the command with the name nearest to `word`. Put a question such as "did you mean plot? ",
 * or "", into ret. */
char *rps_names_question(const char *word, char *ret, unsigned size);

/* Set the error of `rpistat WORD`, with a suggestion, if WORD is neither a program nor a command.
 * Returns RPS_CANNOT_FIND. */
int rps_names_not_found(const char *word, struct rps_error *err);

/* The time range of a run that --from and --to select. */

/* Set --from or --to of a struct rps_cli, as set() of an option's row does. A time is converted. A
 * phase ("phase:B", "phase:B.2"), an iteration ("turn:12", "turn:3.2"), a mark ("mark:warm",
 * "mark:warm.2") or a moment (rpistat/clock.h) is only checked. RPS_USAGE for any other text. */
int rps_time_range_set(const char *option, const char *text, void *cli, struct rps_error *err);

/* Parse a moment: a duration before now ("2d"), a date, or a text for rps_moment_parse. A time of
 * day means its latest occurrence in the past. Returns RPS_USAGE for any other text.
 * ret_realtime_ns points to an int64_t; its type is void * because options require this type. */
int rps_time_ago_parse(const char *option, const char *text, void *ret_realtime_ns,
                       struct rps_error *err);

/* Return RPS_USAGE if --from is not before --to. */
int rps_time_range_check(struct rps_cli *cli);

/* Convert cli->from_phase and cli->to_phase to times; the run is already known. RPS_FAILED for a
 * phase or mark that the run does not have, or for a moment outside the run. If a phase without a
 * number is one of several, cli->note says so. */
int rps_time_range_resolve(struct rps_cli *cli);

/* Limits of changes, --fail-if: cmd_compare.c. */
struct rps_comparison;
struct rps_comparison_limit;

/* Parse the limits "[PHASE:]METRIC>+N%" or "METRIC<-N%", one per text. Return RPS_USAGE for any
 * other text, and for --inconclusive without limits. */
int rps_limits_parse(struct rps_cli *cli, const struct rps_texts *text,
                     struct rps_comparison_limit *ret);

/* Check whether the changes are within the limits, and set `answer` of each limit. RPS_USAGE for a
 * name that the comparison does not have, RPS_FAILED for a metric without a value on one side. */
int rps_limits_check(const struct rps_comparison *comparison, struct rps_comparison_limit *limit,
                     size_t count, struct rps_error *err);

/* Return the exit status. Print failed limits, unless the terminal's text already shows them.
 * `inconclusive` is the answer of --inconclusive. */
int rps_limits_status(struct rps_cli *cli, const struct rps_comparison *comparison,
                      const struct rps_comparison_limit *limit, size_t count, int inconclusive);

/* Options of the commands that draw pictures: `plot` and `compare`. */

/* Limits of a picture's size, so that the picture is readable and its file can be opened. */
struct rps_picture_size {
    const char *unit;
    unsigned width_min, height_min, width_max, height_max;
    const char *example;
};

extern const struct rps_picture_size rps_picture_pixels;

/* Parse --size "WxH" within limits. A text of NULL (option not given) changes nothing. */
int rps_picture_size(const char *text, const struct rps_picture_size *limits, int *ret_width,
                     int *ret_height, struct rps_error *err);
