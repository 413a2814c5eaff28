/*
 * Exports: a run written for other programs. A format is a const object in a file of its own and a
 * row of the table; numbers are in the C locale whatever the environment says.
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
    int64_t from_ns, to_ns; /* the part of the run; 0 and INT64_MAX for all of it */
    struct rps_cpus cpus;   /* of a recording by CPU; the sum has nothing in its column cpu */

    const char *region; /* the periods that lie wholly inside that region alone; NULL: all. Not of
                           rps_export_follow */

    int64_t every_ns; /* of format "every": length of its stretches, above 0; of "openmetrics": how
                         far apart its samples are */
    int clock;        /* 1: a column `time` behind time_s, the clock on the wall (rpistat/wall.h) */
    void (*note)(const char *sentence); /* something the user should know; may be NULL */

    struct rps_csv_dialect csv; /* of CSV, and of JSON in its place */
};

/* What a format is given: where to write, and what of. */
struct rps_export_job {
    FILE *out;
    struct rps_reader *reader;
    const struct rps_run *run;
    const struct rps_plan *plan;
    const struct rps_export_options *options;
    const struct rps_phases *phases; /* NULL: none are known */
    size_t phase_at;                 /* of rps_phases_at */
    struct rps_arena *arena;         /* memory of the export */
    void *state;                     /* the format's own; NULL at first */
    int result; /* negative, and err: the format has failed otherwise than by writing to out */
    struct rps_error err;
};

/*
 * The formats, in the order of the help: FORMAT(object, name, line of the help). The object is
 * rps_export_<object>. Declarations, tables, words of options and the help are made of these rows.
 * Formats of samples belong to the wing (rpistat/wing.h).
 */
#define RPS_EXPORT_FORMATS(FORMAT)                                                                 \
    FORMAT(wide, "wide",                                                                           \
           "wide           a row a measurement period, a column an event: the default")            \
    FORMAT(table, "table",                                                                         \
           "table          a row a row of an imported file, as it was: its default")               \
    FORMAT(rates, "rates", "rates          a row a rotation of the event sets, a column a figure") \
    FORMAT(long, "long", "long           a row an event and period")                               \
    FORMAT(long_rates, "long-rates", "long-rates     a row a derived figure and rotation")         \
    FORMAT(every, "every",                                                                         \
           "every          a row a stretch of --every T, a column a derived figure")               \
    FORMAT(openmetrics, "openmetrics",                                                             \
           "openmetrics    a line a sample of running totals, for Prometheus and others")          \
    FORMAT(line_protocol, "line-protocol",                                                         \
           "line-protocol  a line a measurement period, for InfluxDB and others")                  \
    FORMAT(signals, "signals", "signals        a row a reading of system signals")                 \
    FORMAT(perfetto, "perfetto",                                                                   \
           "perfetto       a trace for ui.perfetto.dev: figures, phases, calls over time")
#define RPS_EXPORT_SAMPLE_FORMATS(FORMAT)                                                          \
    FORMAT(folded, "folded",                                                                       \
           "folded         a line a call stack of the samples, for flame graphs")                  \
    FORMAT(pprof, "pprof", "pprof          a profile of the samples for pprof, with their phases") \
    FORMAT(firefox, "firefox",                                                                     \
           "firefox        a profile of the samples over time, for profiler.firefox.com")

#define RPS_EXPORT_DECLARE(object, name, help)                                                     \
    extern const struct rps_export_format rps_export_##object;
#define RPS_EXPORT_ROW(object, name, help)  &rps_export_##object,
#define RPS_EXPORT_WORD(object, name, help) " " name
#define RPS_EXPORT_HELP(object, name, help) "\n  " help

/* Functions that a format has no use for are NULL. None looks at what became of its writing: the
 * walk ends when job->out has failed. */
struct rps_export_format {
    const char *name; /* "wide", "rates", "long" */
    int rotations;    /* 1: its rows are made of whole rotations */
    int phases;       /* 1: it says what is in which phase, by the job's phases */
    int own_form;     /* 1: it is neither CSV nor JSON lines, and takes no option of these */
    int takes_every;  /* 1: of those, one that has an every_ns */
    int follows;      /* 1: of those, one for rps_export_follow */

    /* Make job->state, and write what stands before the periods. 0 or negative. */
    int (*begin)(struct rps_export_job *job, struct rps_error *err);
    /* The next period of job->plan, in the order of the CPUs and of time. */
    void (*period)(struct rps_export_job *job, const struct rps_period *period);
    /* All periods were there, for now: write what is left. */
    void (*end)(struct rps_export_job *job);
    /* Release job->state, after a failure of begin too. */
    void (*release)(struct rps_export_job *job);

    /* In place of all these, of formats that are not of periods: write that part of job->run; the job
     * has no plan, and no options. 0 or negative. */
    int (*part)(struct rps_export_job *job, const struct rps_part_choice *choice,
                const struct rps_cpus *cpus, struct rps_error *err);
    int is_binary;
};

/* All formats but those of wings (rpistat/wing.h); the last is NULL. */
extern const struct rps_export_format *const rps_export_formats[];

/* The format of that name, or NULL. */
const struct rps_export_format *rps_export_find(const char *name);

/* Write a run to a stream, and flush that. Errors: the store's, the format's, those of writing. */
int rps_export_run(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                   int64_t run_id, const struct rps_export_options *options, struct rps_error *err);

/* The same of a format that has `part`, for any part of a run. */
int rps_export_part(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                    int64_t run_id, const struct rps_part_choice *choice,
                    const struct rps_cpus *cpus, struct rps_error *err);

/*
 * The same for a run that is being recorded: what was committed is written and flushed, then what
 * has been committed since, until the run has ended; `wait` is called between, and ends it by
 * anything but 0. A rotation of a format that needs whole ones is written when the next has begun.
 */
int rps_export_follow(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                      int64_t run_id, const struct rps_export_options *options,
                      int (*wait)(void *context), void *context, struct rps_error *err);

/* The totals of a run as they are now, in OpenMetrics 1.0 text: what a server of metrics is asked
 * for. A sample a series, without times; no phases. Errors: the store's. */
int rps_export_totals(FILE *out, struct rps_reader *reader, int64_t run_id, int is_openmetrics,
                      struct rps_error *err);

/* --- for formats that show time --------------------------------------------------------------- */

/* What a run has beside its periods, in order of tracks and time: its phases, by letter and what
 * they were mostly in; its regions, a track each; its marks. Texts are the arena's. */
struct rps_export_stretches {
    size_t count;
    struct rps_export_stretch {
        const char *track;        /* "Phases", "Region NAME", "Marks"; one pointer a track */
        const char *name;         /* "B (cc1)" */
        int64_t start_ns, end_ns; /* the same of a mark */
    } * stretch;
};

/* Those of the part [from_ns, to_ns), cut to it. Errors: the store's. */
int rps_export_stretches_find(const struct rps_export_job *job, int64_t from_ns, int64_t to_ns,
                              const struct rps_cpus *cpus, struct rps_export_stretches *ret,
                              struct rps_error *err);

/* Who gets calls (rpistat/wing.h): they begin and end in order of time, CPU by CPU, and nest. */
struct rps_call_sink {
    void (*begin)(void *context, int32_t cpu, int64_t time_ns, const char *function,
                  const char *module);
    void (*end)(void *context, int32_t cpu, int64_t time_ns, const char *function);
    void *context;
};

#endif
