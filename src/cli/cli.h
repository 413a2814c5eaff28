/*
 * The command line: the data that every command receives, and the functions for the dispatcher.
 *
 * A command is one const row (struct rps_command) at the end of its cmd_*.c. The dispatcher main.c
 * finds the row, parses the options, which are rows too (options.h), and opens the store and the
 * output (output.c). Then it calls run() and converts the result into an exit status.
 */
#ifndef RPISTAT_CLI_H
#define RPISTAT_CLI_H

#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config_file.h"
#include "options.h"
#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/order.h"
#include "rpistat/output_file.h"
#include "rpistat/run.h"
#include "rpistat/sampler.h"
#include "rpistat/signals.h"
#include "rpistat/wing.h"

struct rps_reader;

/* The message for everything that needs the extension `code`, in a build without it. */
#define RPS_CLI_NO_CODE                                                                            \
    "code and samples are not built into this rpistat: build it without -Dauto_features=disabled " \
    "(Debian: libdw-dev, libiberty-dev)"

/* --- commands --------------------------------------------------------------------------------- */

struct rps_cli;

enum rps_command_input {
    RPS_INPUT_NONE,  /* reads no store (record opens its own for writing) */
    RPS_INPUT_PATH,  /* the command opens the store of -i itself */
    RPS_INPUT_STORE, /* the store of -i is opened */
    RPS_INPUT_RUN,   /* and the run of -r is found; --from and --to are accepted */
};

enum rps_command_output {
    RPS_OUTPUT_STREAM, /* cli->out is open: standard output, or the file of -o */
    RPS_OUTPUT_PATH,   /* the command uses cli->output itself */
};

struct rps_command {
    const char *name;
    const char *summary;     /* one line for `rpistat --help` */
    const char *usage;       /* the text after the name: "[OPTIONS] [NAME...]" */
    const char *description; /* lines of the help, below the usage */
    const char *examples;    /* lines of the help, at its end, each indented by two blanks */
    enum rps_command_input input;
    enum rps_command_output output;
    const char *output_help;  /* help of -o */
    const char *output_value; /* default of -o; NULL: standard output */
    int operand_max;          /* arguments that are not options; -1: any number */
    int runs_workload;        /* 1: options end at the first operand */
    int counts; /* 1: opens counters, and keeps the rights for that (rpistat/rights.h) */
    const struct rps_option *options; /* the command's own; NULL: none */
    size_t settings_size;             /* of cli->settings, which are zero before options are set */
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
extern const struct rps_command rps_command_compare;
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

/* All commands in the order of the help; the last is NULL. main sets it. */
extern const struct rps_command *const *rps_commands;

/* The data of one call of a command. Texts are argv's or constant: never freed. */
struct rps_cli {
    const struct rps_command *command;
    int implicit;                      /* 1: `rpistat ./workload`, no command was named */
    int argc;                          /* operands: arguments that are not options */
    char **argv;                       /* the operands, then NULL */
    struct rps_signals_before before;  /* signals at the start, for the user's commands */
    int quiet;                         /* -q: errors only: no notes, status line, progress */
    const char *output;                /* -o, or its default; NULL or "-": standard output */
    const char *input;                 /* -i */
    const char *run_text;              /* -r; NULL: the last */
    int64_t from_ns, to_ns;            /* --from and --to; 0 and INT64_MAX when not given */
    const char *from_phase, *to_phase; /* "phase:B", "mark:warm", "14:30"; NULL: a time */
    enum rps_option_source source[RPS_OPTION_MAX]; /* of each option's value */
    struct rps_config config;                      /* its values are used like argv's */
    int no_store;                                  /* 1, set by check(): this call opens no store */
    int no_stream;           /* 1, likewise: -o is not a stream, whatever the command's row says */
    struct rps_arena *arena; /* for memory of run(): a reading command without memory ends */
    void *settings;          /* settings_size bytes, of the command's own type */
    locale_t locale; /* separators of numbers from the environment; (locale_t)0 if it names no
                        available locale. The process stays in the C locale */
    struct rps_reader *reader;     /* RPS_INPUT_STORE and RPS_INPUT_RUN */
    int64_t run_id;                /* RPS_INPUT_RUN */
    FILE *out;                     /* RPS_OUTPUT_STREAM; otherwise standard output */
    struct rps_progress *progress; /* rps_progress_begin; NULL: none */
    char note[256];                /* set by run(): printed after success, unless quiet */
    struct rps_error err;          /* set by every function that returns a negative value */
};

/* Return RPS_USAGE if the argument of an option is not KEY=VALUE, with a key. */
int rps_tag_check(const char *option, const char *text, struct rps_error *err);

/* Return 1 if a run has the tag "KEY=VALUE". */
int rps_tag_is(const struct rps_run *run, const char *text);

/* Add such texts to the tags of a run. */
int rps_tag_add(struct rps_run *run, const struct rps_texts *texts, struct rps_error *err);

/* --- recording: record_options.c parses, cmd_record.c runs ------------------------------------ */

/* cli->settings of `record`. */
enum rps_record_signals {
    RPS_RECORD_SIGNALS_OFF,
    RPS_RECORD_SIGNALS_TREE,
    RPS_RECORD_SIGNALS_MACHINE,
    RPS_RECORD_SIGNALS_PACKAGE, /* of all CPUs */
    RPS_RECORD_SIGNALS_ALL,     /* all that are available: for whole CPUs no process tree */
};

struct rps_record_settings {
    int64_t period_ns;       /* --period, 1 ms ... 1 h */
    int fine_start;          /* --fine-start */
    int64_t duration_ns;     /* --duration; 0: until the workload ends */
    const char *label;       /* --label, "" when not given; shorter than RPS_RUN_TEXT_SIZE */
    struct rps_texts tag;    /* --tag: "KEY=VALUE", KEY not empty */
    struct rps_texts events; /* -e: one set each */
    struct rps_texts metric; /* --metric: "NAME=FORMULA" */
    const char *scenario;    /* --scenario; NULL: none */
    const char *sets; /* --sets: document name or file; NULL: chosen by the available counters */
    const char *pmu;  /* --pmu: "auto", or a backend's name with its argument after a colon */
    int no_merge;     /* --no-merge */
    struct rps_order order;       /* --order; without a given seed, a random one */
    int64_t commit_ns;            /* --commit */
    int durability_full;          /* --durability full */
    int64_t keep_ns;              /* --keep; 0: for ever */
    uint64_t max_bytes;           /* --max-size; 0: any */
    struct rps_texts pid;         /* -p: lists of processes */
    int all_cpus;                 /* -a */
    const char *cpus;             /* -C: a list of CPUs; NULL: all */
    struct rps_texts cgroup;      /* -G */
    int64_t delay_ns;             /* --delay; -1: until --control sends enable */
    const char *control;          /* --control; NULL: none */
    int no_samples;               /* --no-samples */
    const char *sample;           /* --sample: EVENT or EVENT:N; NULL: not given */
    uint64_t frequency;           /* --frequency */
    enum rps_sample_on sample_on; /* --sample-on */
    enum rps_stacks stacks;       /* --stacks */
    int wall;                     /* --wall */
    int asks_for_samples; /* one of the last three was given: without samples nothing is recorded */
    enum rps_record_signals signals; /* --signals */
    double signal_budget;            /* --signal-budget: share of a CPU */
    int asks_for_signals;            /* --signals was given in this call, and is not off */
    uint64_t repeat;                 /* --repeat: runs in a row; 0: one */
    uint64_t warmup;                 /* --warmup: runs before them */
    int alternate;                   /* --alternate */
};

/* --- output ----------------------------------------------------------------------------------- */

/* Standard output, or a file as in rpistat/output_file.h. */
struct rps_output {
    FILE *file;
    struct rps_output_file target; /* all zero: standard output */
};

/*
 * Open `path` (NULL or "-": standard output) for writing. Devices and pipes are written in place.
 * Errors: those of rps_output_file_open.
 */
int rps_output_open(struct rps_output *ret, const char *path, struct rps_error *err);

/*
 * Close it (standard output is only flushed); the file gets its name now. Returns RPS_FAILED if
 * anything could not be written (a full disk). If the reader of a pipe has gone away, the message
 * is empty, since the user needs none.
 */
int rps_output_close(struct rps_output *output, struct rps_error *err);

/* Discard the written data; an earlier file of that name stays. Harmless after a close. */
void rps_output_abandon(struct rps_output *output);

/* Return RPS_USAGE if output (path or NULL) is the file input: it would be overwritten. */
int rps_output_differs(const char *input, const char *output, struct rps_error *err);

/* Occupy closed standard streams, so that no file opened later takes their place. The workload
 * still finds them closed. */
void rps_output_guard_streams(void);

/* Print "rpistat: SENTENCE" on standard error, printable; the macro takes printf arguments. */
void rps_output_message(const char *sentence);
void rps_output_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return 1 if standard error is a terminal, and no other job is in the foreground there. */
int rps_output_has_terminal(void);

/* Return 1 if output to fd reaches no terminal: fd is a file, or a device that is not a terminal. A
 * pipe may lead to one. */
int rps_output_is_file(int fd);

/*
 * Show a slow operation and its duration on a terminal's standard error. The line appears after
 * half a second: "rpistat: looking for phases, 12.3 s"; nothing with -q. `what` is constant. End it
 * before you write to the terminal; it ends with the command at the latest. Harmless if it has
 * already begun or ended.
 */
void rps_progress_begin(struct rps_cli *cli, const char *what);
void rps_progress_end(struct rps_cli *cli);

/* Return 1 if standard output is a terminal. Its columns and lines come from COLUMNS and LINES,
 * otherwise from the terminal; the fallback is 80 x 24. Either pointer may be NULL. */
int rps_output_terminal(int *ret_columns, int *ret_lines);

/* Return 1 if standard output is a terminal on which the cursor can be moved. */
int rps_output_screen(void);

/* Return 1 if human-readable output may be UTF-8: the locale's characters are, and the terminal is
 * not a dumb one. */
int rps_output_utf8(void);

/* Return 1 if output may be coloured: rps_output_screen, and no NO_COLOR. */
int rps_output_colour(void);

/* The niceness of commands that run while something is measured. */
#define RPS_CLI_NICENESS 10

/* The words of --chars, and their values; 0: from the locale. */
#define RPS_CHARS "braille ascii"
enum { RPS_CHARS_BRAILLE = 1, RPS_CHARS_ASCII };

/* Return the directory of the gnuplot scripts: the installed one, ../share next to the program, or
 * the source tree that it was built from. */
const char *rps_output_scripts(void);

#endif
