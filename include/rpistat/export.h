/*
 * Exports: a run written for other programs. A format is a const object in a file of its own and a
 * row of the table. Numbers are in the C locale, whatever the environment is.
 */
#ifndef RPISTAT_EXPORT_H
#define RPISTAT_EXPORT_H

#include <stdint.h>
#include <stdio.h>

#include "rpistat/arena.h"
#include "rpistat/cpus.h"
#include "rpistat/csv_writer.h"
#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/run.h"
#include "rpistat/run_part.h"

struct rps_plan;
struct rps_reader;

struct rps_export_options {
    int64_t from_ns, to_ns; /* time range; 0 and INT64_MAX: the whole run */
    struct rps_cpus cpus;   /* of a recording by CPU; the column cpu is empty for the sum */

    const char *region; /* only periods wholly inside this region; NULL: all. Not for
                           rps_export_follow */

    int64_t every_ns; /* of format "every": length of its intervals, above 0; of "openmetrics": time
                         between its samples */
    int clock;        /* 1: a column `time` after time_s, the time of day (rpistat/wall.h) */
    void (*note)(const char *sentence); /* prints a message for the user; may be NULL */

    struct rps_csv_dialect csv; /* of CSV, and of JSON instead of it */
};

/* The data that a format receives: its input and its output. */
struct rps_export_job {
    FILE *out;
    struct rps_reader *reader;
    const struct rps_run *run;
    const struct rps_plan *plan;
    const struct rps_export_options *options;
    const struct rps_phases *phases; /* NULL: unknown */
    size_t phase_at;                 /* of rps_phases_at */
    struct rps_arena *arena;         /* memory of the export */
    void *state;                     /* the format's own; NULL at first */
    int result; /* negative, with err: the format failed, but not in writing to out */
    struct rps_error err;
};

/*
 * The formats, in the order of the help: FORMAT(object, name, line of the help). The object is
 * rps_export_<object>. Declarations, tables, words of options and the help are generated from these
 * rows. Formats of samples belong to the extension (rpistat/wing.h).
 */
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
    FORMAT(pprof, "pprof", "pprof          the samples with their phases, for pprof")              \
    FORMAT(firefox, "firefox", "firefox        the samples over time, for profiler.firefox.com")

#define RPS_EXPORT_DECLARE(object, name, help)                                                     \
    extern const struct rps_export_format rps_export_##object;
#define RPS_EXPORT_ROW(object, name, help)  &rps_export_##object,
#define RPS_EXPORT_WORD(object, name, help) " " name
#define RPS_EXPORT_HELP(object, name, help) "\n  " help

/* Functions that a format does not need are NULL. They do not check their writes: the walk ends
 * when job->out has failed. */
struct rps_export_format {
    const char *name; /* "wide", "rates", "long" */
    int rotations;    /* 1: its rows are whole rotations */
    int phases;       /* 1: it contains phases, from the job's phases */
    int own_form;     /* 1: it is neither CSV nor JSON lines, and accepts no options for these */
    int takes_every;  /* 1: if so, it uses every_ns */
    int follows;      /* 1: if so, it is for rps_export_follow */

    /* Make job->state, and write the start of the output. 0 or negative. */
    int (*begin)(struct rps_export_job *job, struct rps_error *err);
    /* Write the next period of job->plan, in the order of the CPUs and of time. */
    void (*period)(struct rps_export_job *job, const struct rps_period *period);
    /* No more periods, for now: write the rest. */
    void (*end)(struct rps_export_job *job);
    /* Release job->state, even if begin failed. */
    void (*release)(struct rps_export_job *job);

    /* For formats not of periods, instead of the others: write that part of job->run. The job has
     * no plan, and no options. 0 or negative. */
    int (*part)(struct rps_export_job *job, const struct rps_part_choice *choice,
                const struct rps_cpus *cpus, struct rps_error *err);
    int is_binary;
};

/* All formats except those of extensions (rpistat/wing.h); the last is NULL. */
extern const struct rps_export_format *const rps_export_formats[];

/* Return the format of that name, or NULL. */
const struct rps_export_format *rps_export_find(const char *name);

/* Write a run to a stream, and flush that. Errors: the store's, the format's, those of writing. */
int rps_export_run(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                   int64_t run_id, const struct rps_export_options *options, struct rps_error *err);

/* Write any part of a run, in a format that has `part`. */
int rps_export_part(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                    int64_t run_id, const struct rps_part_choice *choice,
                    const struct rps_cpus *cpus, struct rps_error *err);

/*
 * Write a run that is being recorded: write and flush the committed data, then those committed
 * since, until the run has ended. `wait` is called in between; its return value other than 0 ends
 * the export. A format of whole rotations gets a rotation when the next one has begun.
 */
int rps_export_follow(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                      int64_t run_id, const struct rps_export_options *options,
                      int (*wait)(void *context), void *context, struct rps_error *err);

/* Write the current totals of a run as OpenMetrics 1.0 text, the answer to a scrape. One sample per
 * series, without times; no phases. Errors: the store's. */
int rps_export_totals(FILE *out, struct rps_reader *reader, int64_t run_id, int is_openmetrics,
                      struct rps_error *err);

/* --- for formats that show time --------------------------------------------------------------- */

/* Data of a run in addition to its periods, in order of tracks and time. These are phases, with
 * letter and main code; regions, one track each; marks. Texts are the arena's. */
struct rps_export_stretches {
    size_t count;
    struct rps_export_stretch {
        const char *track;        /* "Phases", "Region NAME", "Marks"; one pointer per track */
        const char *name;         /* "B (cc1)" */
        int64_t start_ns, end_ns; /* equal for a mark */
    } * stretch;
};

/* Find those in the time range [from_ns, to_ns), cut to it. Errors: the store's. */
int rps_export_stretches_find(const struct rps_export_job *job, int64_t from_ns, int64_t to_ns,
                              const struct rps_cpus *cpus, struct rps_export_stretches *ret,
                              struct rps_error *err);

/* Receives calls (rpistat/wing.h): they begin and end in order of time, CPU by CPU, and nest. */
struct rps_call_sink {
    void (*begin)(void *context, int32_t cpu, int64_t time_ns, const char *function,
                  const char *module);
    void (*end)(void *context, int32_t cpu, int64_t time_ns, const char *function);
    void *context;
};

#endif
