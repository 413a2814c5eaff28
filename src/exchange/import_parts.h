/* The builder, as its files see it: import_text.c reads lines and rows, import_columns.c makes a
 * plan of columns, import_build.c makes periods of them, import.c has it read the file twice. */
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
    double counted_ns;  /* of enabled_ns, that of periods in which it was counted */
    uint64_t periods;   /* in which it was counted */
    int is_unsupported; /* the file says so */
    double least, most; /* of gauges */
    double base, scale; /* a gauge is kept as (value - base) x seconds x scale */
    int set, slot;      /* in the plan */
    int time_slot;      /* of a gauge: the ns in which it was there, in the same set */
};

/* What a CPU has had. */
struct rps_import_track {
    int32_t cpu;
    int64_t end_ns;     /* of its last period */
    uint64_t intervals; /* the number of the next one */
    uint64_t cycle;
    uint8_t has[RPS_IMPORT_COLUMNS_MAX]; /* 1: the file says something of that column on it */
};

struct rps_import_builder {
    struct rps_arena *arena; /* of the builder itself, and all that is not said to be owned */

    /* reading */
    FILE *file;
    const char *path; /* for sentences */
    void (*note)(const char *sentence);
    struct rps_csv_rows *rows;
    int is_cut; /* the last line has no end, and that was said */

    /* what the file says */
    struct rps_run run;
    struct rps_run again;  /* what the reader says the second time, when the writer has the first */
    struct rps_plan *plan; /* owned */
    int column_count, next_column;
    struct rps_import_known_column *column;
    const struct rps_import_known_column
        *clock;             /* of these, the clock event's; NULL: none, or looking */
    double seconds;         /* of all periods together */
    uint64_t periods;       /* rows of the store */
    int64_t end_ns;         /* of the last period */
    const char *time_name;  /* "Zeit=time", "t=time:s"; NULL: not known */
    int64_t time_of_day_ns; /* of the run's start; -1: not known, or with its day */

    /* the pass that it is in */
    struct rps_writer *writer; /* NULL: it only looks */
    size_t track_count;
    struct rps_import_track *track;
    int64_t interval_ns; /* the latest beginning of an interval, and its number */
    uint64_t interval;

    /* the period that was begun */
    struct rps_import_track *current; /* NULL: none was */
    int64_t start_ns, length_ns;
    struct rps_import_cell {
        int is_there;
        uint64_t count;
        double value;
    } cell[RPS_IMPORT_COLUMNS_MAX];
};

/* A builder that looks at the file, which lasts until rps_import_close. */
struct rps_import_builder *rps_import_open(FILE *file, const char *path,
                                           void (*note)(const char *sentence));
void rps_import_close(struct rps_import_builder *builder);

/* Have a format read the whole file, from its beginning: once to look, and when a writer has been
 * given to the builder, to write. RPS_FAILED for a file without periods, too. */
int rps_import_read(struct rps_import_builder *builder, const struct rps_import_format *format,
                    const struct rps_import_options *options, struct rps_error *err);

/* Choose the format, look at the whole file, and make the plan: all but the store. */
int rps_import_look(struct rps_import_builder *builder, const struct rps_import_options *options,
                    const struct rps_import_format **ret, struct rps_error *err);

/* Make the plan of the columns that the first reading found. */
int rps_import_make_plan(struct rps_import_builder *builder, struct rps_error *err);

/* What the run's `fitting` says of columns that were not counted all the time. */
void rps_import_make_remarks(struct rps_import_builder *builder);

/* The plan's events that were not counted all the time are scaled ones, with their shares. */
void rps_import_note_shares(const struct rps_import_builder *builder);

/* When the CPU's last period ended; 0 before its first. */
int64_t rps_import_last_end(const struct rps_import_builder *builder, int32_t cpu);

/* Go to the beginning of the file. */
int rps_import_rewind(struct rps_import_builder *builder, struct rps_error *err);

/* What a gauge is kept as. */
uint64_t rps_import_gauge_count(const struct rps_import_known_column *column, double value,
                                int64_t length_ns);

#endif
