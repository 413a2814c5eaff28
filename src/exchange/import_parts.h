/* The builder, as its files see it: import_text.c reads lines and rows, import_columns.c makes a
 * plan, import_build.c makes periods, import.c reads the file twice. */
#ifndef RPISTAT_EXCHANGE_IMPORT_PARTS_H
#define RPISTAT_EXCHANGE_IMPORT_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "import_build.h"
#include "rpistat/arena.h"
#include "rpistat/csv_rows.h"

struct rps_plan;
struct rps_writer;

struct rps_import_known_column {
    const char *name, *unit, *panel;
    enum rps_import_kind kind;
    uint64_t sum; /* of counts */
    double enabled_ns, running_ns;
    double counted_ns;  /* part of enabled_ns in periods in which it was counted */
    uint64_t periods;   /* in which it was counted */
    int is_unsupported; /* according to the file */
    double least, most; /* of gauges */
    double base, scale; /* a gauge is kept as (value - base) x seconds x scale */
    int set, slot;      /* in the plan */
    int time_slot;      /* of a gauge: the ns in which it was available, in the same set */
};

/* State of a CPU. */
struct rps_import_track {
    int32_t cpu;
    int64_t end_ns;     /* of its last period */
    uint64_t intervals; /* the number of the next one */
    uint64_t cycle;
    uint8_t has[RPS_IMPORT_COLUMNS_MAX]; /* 1: the file has a value of that column for it */
};

struct rps_import_builder {
    struct rps_arena *arena; /* of the builder itself, and everything not marked as owned */

    /* reading */
    FILE *file;
    const char *path; /* for messages */
    void (*note)(const char *sentence);
    struct rps_csv_rows *rows;
    int is_cut; /* the last line has no newline, and that was reported */

    /* from the file */
    struct rps_run run;
    struct rps_run again;  /* the reader's values in the second pass: the writer has the first */
    struct rps_plan *plan; /* owned */
    int column_count, next_column;
    struct rps_import_known_column *column;
    const struct rps_import_known_column
        *clock;             /* of these, the clock event's; NULL: none, or in the first pass */
    double seconds;         /* of all periods together */
    uint64_t periods;       /* rows of the store */
    int64_t end_ns;         /* of the last period */
    const char *time_name;  /* "Zeit=time", "t=time:s"; NULL: unknown */
    int64_t time_of_day_ns; /* of the run's start; -1: unknown, or with its day */

    /* the current pass */
    struct rps_writer *writer; /* NULL: the first pass */
    size_t track_count;
    struct rps_import_track *track;
    int64_t interval_ns; /* the latest start of an interval, and its number */
    uint64_t interval;

    /* the current period */
    struct rps_import_track *current; /* NULL: none */
    int64_t start_ns, length_ns;
    struct rps_import_cell {
        int is_there;
        uint64_t count;
        double value;
    } cell[RPS_IMPORT_COLUMNS_MAX];
};

/* Return a builder for the first pass over the file, which stays open until rps_import_close. */
struct rps_import_builder *rps_import_open(FILE *file, const char *path,
                                           void (*note)(const char *sentence));
void rps_import_close(struct rps_import_builder *builder);

/* Read the whole file with a format, from its beginning: once to check, and once to write, after
 * the builder got a writer. RPS_FAILED also for a file without periods. */
int rps_import_read(struct rps_import_builder *builder, const struct rps_import_format *format,
                    const struct rps_import_options *options, struct rps_error *err);

/* Choose the format, check the whole file, and make the plan: everything except the store. */
int rps_import_look(struct rps_import_builder *builder, const struct rps_import_options *options,
                    const struct rps_import_format **ret, struct rps_error *err);

/* Make the plan of the columns found in the first pass. */
int rps_import_make_plan(struct rps_import_builder *builder, struct rps_error *err);

/* Add columns that were not counted all the time to the run's `fitting`. */
void rps_import_make_remarks(struct rps_import_builder *builder);

/* Mark the plan's events that were not counted all the time as scaled, with their shares. */
void rps_import_note_shares(const struct rps_import_builder *builder);

/* Return the end of the CPU's last period; 0 before its first. */
int64_t rps_import_last_end(const struct rps_import_builder *builder, int32_t cpu);

/* Go to the beginning of the file. */
int rps_import_rewind(struct rps_import_builder *builder, struct rps_error *err);

/* Return the stored form of a gauge. */
uint64_t rps_import_gauge_count(const struct rps_import_known_column *column, double value,
                                int64_t length_ns);

#endif
