/* The builder's internal declarations. import_text.c reads lines and rows, import_columns.c makes a
 * plan, import_build.c makes periods, and import.c reads the file twice. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "import_build.h"
#include "rpistat/arena.h"
#include "rpistat/csv_rows.h"

struct rps_import_signals;
struct rps_plan;
struct rps_writer;

struct rps_import_known_column {
    const char *name, *unit, *panel;
    enum rps_import_kind kind;
    uint64_t sum;      /* sum of the counts of a column */
    int64_t first_ns;  /* end of the first period with a value */
    int64_t end_ns[2]; /* ends of the latest periods [0] without and [1] with a value; 0: none */
    int is_partial;    /* 1: at some time, only some of the CPUs with values have one */
    long double rest;  /* part of the counts so far that rounding has left out */
    double enabled_ns, running_ns;
    double counted_ns;  /* sum of enabled_ns over the periods that have a value */
    uint64_t periods;   /* number of periods with a value */
    int is_unsupported; /* 1: according to the file, the column cannot be counted */
    double least, most; /* smallest and largest value of a gauge */
    double base, scale; /* a gauge is stored as (value - base) x seconds x scale */
    int set, slot;      /* set and slot of the column in the plan */
    int time_slot;      /* slot in the same set that has the ns in which a gauge was available */
};

/* State of a CPU while its periods are read. */
struct rps_import_track {
    int32_t cpu;
    int64_t end_ns;     /* end of the CPU's last period */
    int64_t gap_ns;     /* start of the latest period that follows a gap; 0: none */
    uint64_t intervals; /* number of the CPU's next interval; numbers may be left out after gaps */
    uint64_t periods;   /* number of the CPU's periods */
    uint64_t cycle;
    uint8_t *has; /* for each column: 1 if this CPU's first value is in this period, 3 if before */
};

struct rps_import_builder {
    struct rps_arena *arena; /* arena of the builder and of all members not marked as owned */

    /* The file and the position in it. */
    FILE *file;
    const char *path; /* path of the file, for messages */
    void (*note)(const char *sentence);
    struct rps_csv_rows *rows;
    int is_cut;   /* 1: the last line has no line end, and this was reported */
    int is_kept;  /* 1: that line is read */
    FILE *mirror; /* copy with the lines in reverse order, which `file` refers to; NULL: none */
    int64_t changed_ns; /* time at which the file was last changed */
    int64_t part_at;    /* start of the part of the file that is read */
    int columns_max;

    /* The contents of the file. */
    struct rps_run run;
    struct rps_run again;  /* the reader's values in the second pass; the writer uses `run` */
    struct rps_plan *plan; /* plan of the run; owned */
    int column_count, next_column;
    struct rps_import_known_column *column;
    const struct rps_import_known_column *clock; /* clock event; NULL: none, or the first pass */
    double seconds;                              /* length of all periods together */
    uint64_t periods;                            /* number of rows in the store */
    int64_t end_ns;                              /* end of the last period */
    const char *time_name;  /* "Zeit=time" or "t=time:s" for exports; NULL: unknown */
    int64_t time_of_day_ns; /* time of day of the run's start; -1: unknown, or the date is known */

    /* State of the current pass. */
    int adds;                  /* 1: several values of a column in one period are added */
    int is_dry_run;            /* 1: the pass only finds the times of periods; no values are kept */
    struct rps_writer *writer; /* writer of the run; NULL: the first pass */
    struct rps_import_signals *signals; /* collects the values in the first pass; NULL: none */
    size_t track_count;
    struct rps_import_track *track;
    int64_t interval_ns; /* start of the latest interval, and that interval's number */
    uint64_t interval;

    /* State of the current period. */
    struct rps_import_track *current; /* CPU of the period; NULL: no period */
    int64_t start_ns, length_ns;
    int is_broken, has_gap; /* 1: after a gap; is_broken: also before the period */
    struct rps_import_cell {
        int is_there;
        long double value;
    } * cell;
};

/* Return a builder for the first pass over the file, which stays open until rps_import_close.
 * is_signals: it collects values for the detector of phases; see import_signals.c. */
struct rps_import_builder *rps_import_open(FILE *file, const char *path, int is_signals,
                                           void (*note)(const char *sentence));

/* Maximum number of signals of a table: each new signal is compared with all other signals. */
#define RPS_IMPORT_SIGNALS_MAX 16384

struct rps_import_signals *rps_import_new_signals(struct rps_arena *arena);

/* Add the period's values to the signals. */
void rps_import_collect(struct rps_import_builder *builder);

/* Copy the signals into the arena. RPS_USAGE: the options name an unknown column. */
int rps_import_take_signals(struct rps_import_builder *builder, struct rps_arena *arena,
                            const struct rps_import_options *options, struct rps_csv_signals *ret,
                            struct rps_error *err);
void rps_import_free_signals(struct rps_import_signals *signals);
void rps_import_close(struct rps_import_builder *builder);

/* Forget the times of the periods, to begin a pass. */
void rps_import_restart(struct rps_import_builder *builder);

/* Read the whole file with a format. The first reading only checks the file; when the builder has a
 * writer, a second reading writes the run. Returns RPS_FAILED for a file without periods, too. */
int rps_import_read(struct rps_import_builder *builder, const struct rps_import_format *format,
                    const struct rps_import_options *options, struct rps_error *err);

/* Choose the format, check the whole file, and make the plan, unless the builder collects signals.
 * Nothing is stored. */
int rps_import_look(struct rps_import_builder *builder, const struct rps_import_options *options,
                    const struct rps_import_format **ret, struct rps_error *err);

/* Make the plan of the columns found in the first pass. */
int rps_import_make_plan(struct rps_import_builder *builder, struct rps_error *err);

/* Add remarks to the run's `fitting` about columns that were counted only part of the time. */
void rps_import_make_remarks(struct rps_import_builder *builder);

/* Mark events counted only part of the time as scaled, and store each such event's share. */
void rps_import_note_shares(const struct rps_import_builder *builder);

/* Return the end of the CPU's last period; 0 before the first period. */
int64_t rps_import_last_end(const struct rps_import_builder *builder, int32_t cpu);

/* Go to the beginning of the file. */
int rps_import_rewind(struct rps_import_builder *builder, struct rps_error *err);

/* Return the value of a gauge in its stored form. */
uint64_t rps_import_gauge_count(const struct rps_import_known_column *column, double value,
                                int64_t length_ns);
