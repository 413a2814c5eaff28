/* Exports write a run for other programs. Each format is a const object in a separate file, and has
 * a row in the table below. Numbers are in the C locale in every environment. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "rpistat/cpus.h"
#include "rpistat/csv_writer.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/period.h"
#include "rpistat/run.h"
#include "rpistat/run_part.h"

struct rps_plan;

struct rps_export_options {
    int64_t from_ns, to_ns; /* Time range to export (0 and INT64_MAX: the whole run) */
    struct rps_cpus cpus;   /* CPUs of a recording by CPU; if added up, column cpu is empty */

    const char *region; /* Export only periods wholly inside this region (NULL: all periods).
                           rps_export_follow does not support regions. */

    int64_t every_ns; /* Length of the intervals of format "every", above 0, or time between
                         samples of format "openmetrics" */
    enum {
        RPS_EXPORT_CLOCK_NONE,
        RPS_EXPORT_CLOCK, /* add a column `time` after time_s: the time of day (rpistat/clock.h) */
        RPS_EXPORT_CLOCK_OFFSET,
        RPS_EXPORT_CLOCK_LOCAL, /* the same in the form of spreadsheets, without the UTC offset */
    } clock;
    int explain; /* 1: instead of the table, write one row per column, which describes the column */
    void (*note)(const char *sentence); /* Print a message for the user (may be NULL). */

    struct rps_csv_dialect csv; /* Dialect of CSV, or JSON instead of CSV */
};

/* Input and output of a format. */
struct rps_export_job {
    const struct rps_export_format *format;
    FILE *out;
    struct rps_reader *reader;
    const struct rps_run *run;
    const struct rps_plan *plan;
    const struct rps_export_options *options;
    const struct rps_phases *phases; /* Phases of the run (NULL: unknown) */
    int is_coarse;                   /* 1: blocks of periods are read where possible */
    size_t phase_at;                 /* Latest result of rps_phases_at, to speed up the next call */
    struct rps_arena *arena;         /* Memory for the export */
    void *state;                     /* State of the format, initially NULL */
    int result; /* Negative if the format failed (see err); failed writes to `out` are ignored */
    int write_errno; /* errno of the write to `out` that failed, or 0 */
    struct rps_error err;
};

/* The formats, in the order of the help: FORMAT(object, name, line of the help). The object is
 * rps_export_<object>. Declarations, tables, words of options and the help are generated from these
 * rows. Formats of samples belong to the extension (rpistat/code_hooks.h). */
#define RPS_EXPORT_FORMATS(FORMAT)                                                                 \
    FORMAT(wide, "wide", "wide           one row per period, one column per event (default)")      \
    FORMAT(table, "table",                                                                         \
           "table          the rows of an imported file, with phases (its default)")               \
    FORMAT(rates, "rates",                                                                         \
           "rates          one row per rotation of event sets, one column per metric")             \
    FORMAT(long, "long", "long           one row per event and period")                            \
    FORMAT(long_rates, "long-rates", "long-rates     one row per metric and rotation")             \
    FORMAT(every, "every", "every          one row per interval --every T, one column per metric") \
    FORMAT(openmetrics, "openmetrics", "openmetrics    running totals, for Prometheus and others") \
    FORMAT(line_protocol, "line-protocol",                                                         \
           "line-protocol  one line per period, for InfluxDB and others")                          \
    FORMAT(signals, "signals", "signals        one row per reading of the system metrics")         \
    FORMAT(perfetto, "perfetto", "perfetto       a trace for ui.perfetto.dev")
#define RPS_EXPORT_SAMPLE_FORMATS(FORMAT)                                                          \
    FORMAT(folded, "folded",                                                                       \
           "folded         one line per call stack of the samples, for flame graphs")              \
    FORMAT(pprof, "pprof", "pprof          the samples with their phases, for pprof")

/* Name of a format that no longer exists, and the message for users who request it. */
#define RPS_EXPORT_GONE "firefox"
#define RPS_EXPORT_GONE_TEXT                                                                       \
    "'firefox' was removed; use `rpistat export --format perfetto`, which the Firefox "            \
    "Profiler opens too"

#define RPS_EXPORT_DECLARE(object, name, help)                                                     \
    extern const struct rps_export_format rps_export_##object;
#define RPS_EXPORT_ROW(object, name, help)  &rps_export_##object,
#define RPS_EXPORT_WORD(object, name, help) " " name
#define RPS_EXPORT_HELP(object, name, help) "\n  " help

/* A format. If a format does not need a function, the member is NULL. The functions do not check
 * their writes, because the caller ends the export after a failed write to job->out. */
struct rps_export_format {
    const char *name; /* Name of the format: "wide", "rates", "long" */
    int sheet;        /* Columns of a table (enum rps_sheet_format); 0: no table */
    int rotations;    /* 1: rows are whole rotations */
    int phases;       /* 1: rows include phases, from the job's phases */
    int own_form;     /* 1: the format is neither CSV nor JSON lines, and has no options for them */
    int takes_every;  /* 1: the format uses every_ns */
    int follows;      /* 1: rps_export_follow accepts the format */

    /* Make job->state, and write the start of the output. Return 0 or a negative value. */
    int (*begin)(struct rps_export_job *job, struct rps_error *err);
    /* Write the next period of job->plan. Periods come CPU by CPU, in order of time. */
    void (*period)(struct rps_export_job *job, const struct rps_period *period);
    /* Write the rest of the output, because there are no more periods now. */
    void (*end)(struct rps_export_job *job);
    /* Release job->state, even if begin failed. */
    void (*release)(struct rps_export_job *job);

    /* Write a part of job->run. A format that does not use periods has this function instead of the
     * functions above. The job has neither plan nor options. Return 0 or a negative value. */
    int (*part)(struct rps_export_job *job, const struct rps_part_choice *choice,
                const struct rps_cpus *cpus, struct rps_error *err);
    int is_binary;
};

/* All formats except those of extensions (rpistat/code_hooks.h); the last is NULL. */
extern const struct rps_export_format *const rps_export_formats[];

/* Return the format with the given name, or NULL. */
const struct rps_export_format *rps_export_find(const char *name);

/* Write a run to a stream and flush it. Errors come from the store, the format, or writing. */
int rps_export_run(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                   int64_t run_id, const struct rps_export_options *options, struct rps_error *err);

/* Write any part of a run in a format that has the function `part`. */
int rps_export_part(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                    int64_t run_id, const struct rps_part_choice *choice,
                    const struct rps_cpus *cpus, struct rps_error *err);

/* Write a run that is being recorded. Write and flush the committed data, then newly committed
 * data, until the run has ended. `wait` is called in between; a result other than 0 ends the
 * export. A format of whole rotations receives a rotation only after the next rotation has begun.
 */
int rps_export_follow(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                      int64_t run_id, const struct rps_export_options *options,
                      int (*wait)(void *context), void *context, struct rps_error *err);

/* Write the current totals of a run as OpenMetrics 1.0 text, the answer to a scrape request. Each
 * series has one sample without a time. Phases are not included. Errors come from the store. */
int rps_export_totals(FILE *out, struct rps_reader *reader, int64_t run_id, int is_openmetrics,
                      struct rps_error *err);

/* --- data of extensions ----------------------------------------------------------------------- */

/* Samples over time of the programs with most samples in the run (rpistat/code_hooks.h). If the run
 * has further programs, the last element, with the name NULL, is their sum. */
struct rps_export_programs {
    size_t count; /* 0: no samples */
    const char *name[RPS_SHARES_OWNERS + 1];
    /* Add the samples in the periods first ... last of a CPU, or of all chosen CPUs if they are
     * added up. Errors come from the store. */
    int (*read)(const struct rps_export_programs *programs, int32_t cpu, uint64_t first,
                uint64_t last, uint64_t samples[RPS_SHARES_OWNERS + 1], struct rps_error *err);
    void *state;
};

/* Time of a thread with samples, within one phase (rpistat/code_hooks.h). */
struct rps_export_thread {
    int64_t pid, tid;
    const char *program, *name; /* name of the process's first thread; name of this thread */
    int64_t start_ns, end_ns;
    size_t phase; /* index in the job's phases; SIZE_MAX: none */
    uint64_t samples;
};

/* A receiver of calls (rpistat/code_hooks.h). Calls begin and end in order of time, CPU by CPU, and
 * are nested. */
struct rps_call_sink {
    void (*begin)(void *context, int32_t cpu, int64_t time_ns, const char *function,
                  const char *module);
    void (*end)(void *context, int32_t cpu, int64_t time_ns, const char *function,
                const char *module);
    /* Receives the time of one thread. Calls are in order of time, and the times do not overlap. */
    void (*thread)(void *context, const struct rps_export_thread *thread);
    void *context;
};

RPS_EXPORT_FORMATS(RPS_EXPORT_DECLARE)
