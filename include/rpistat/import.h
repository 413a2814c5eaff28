/* Import: convert recordings of other tools, which are tables of numbers, into runs of a store. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"

#define RPS_IMPORT_COLUMNS_MAX 512
#define RPS_IMPORT_LINE_MAX    (1 << 20)

/* The import formats, in the order in which they are tried: FORMAT(object, name, lines of the
 * help). The object is rps_import_<object>. The last format accepts every table. */
#define RPS_IMPORT_FORMATS(FORMAT)                                                                 \
    FORMAT(perf_csv, "perf-csv", "perf-csv    perf stat -I MS -x SEPARATOR")                       \
    FORMAT(csv, "csv",                                                                             \
           "csv         tables with one row per time, or per time and CPU; also\n"                 \
           "              the output of vmstat, sar, pidstat and iostat (see --map)")

struct rps_import_options {
    const char *format; /* Name of the format (NULL: automatic) */
    const char *label;  /* Label of the run (NULL: none) */
    int tag_count;
    const char *const *tag;    /* Tags of the run, each "KEY=VALUE" */
    int64_t start_realtime_ns; /* Wall clock at time 0 of the file (-1: as in the file, or
                                  computed from the time at which the file was last changed) */
    const char *map; /* Meaning of columns for format "csv", see the manual (NULL: automatic) */
    char separator;  /* Separator of cells (0: detected) */
    char decimal;    /* Decimal mark, '.' or ',' (0: detected) */
    int skip_bad;    /* 1: skip cells that are not numbers, and rows without a time */
    const char *const *metric; /* Columns that rps_import_signals_read reads, by header or number */
    size_t metric_count;       /* Number of columns (0: all except times and row numbers) */
    void (*note)(const char *sentence); /* Print a message for the user (may be NULL). */
    int (*set_zone)(const char *zone);  /* Set the local zone to the zone in a column's name, until
                                           the file is read; return < 0 for an unknown zone. NULL:
                                           names of columns contain no zone */
};

struct rps_import_outcome {
    int64_t run_id;     /* Number of the new run, or of the last of several runs */
    int runs;           /* Number of runs; several if perf stat --append continued the file */
    uint64_t intervals; /* Number of intervals in the file, or of the CPU with most of them */
    int periods_each;   /* Periods of the run per interval; several if a period cannot hold all
                           columns */
    const char *format; /* Name of the detected format */
};

/* Import a file into the store at store_path, which is created if missing. Path "-" is standard
 * input, which is first copied into a temporary file. The result is an ordinary run: report,
 * phases, plot and compare work as with any other run. Return RPS_FAILED, with one sentence that
 * names file and line, if the file has no known format, has rows of unequal length, or is hostile.
 * Also return RPS_FAILED if the store cannot be written. In both cases, no data of the file is in
 * the store. Memory comes from an arena. If memory runs out, the program ends; a run that was not
 * complete is then marked as interrupted. */
int rps_import_file(const char *path, const char *store_path,
                    const struct rps_import_options *options, struct rps_import_outcome *ret,
                    struct rps_error *err);

struct rps_csv_signals;

/* Read a file into the arena, as signals for phases. Each row is an observation. If several rows
 * have equal times because they belong to several CPUs, processes or devices, these rows are one
 * observation. Return RPS_FAILED, or RPS_USAGE for unknown columns, with one sentence. */
int rps_import_signals_read(struct rps_arena *arena, const char *path,
                            const struct rps_import_options *options, struct rps_csv_signals *ret,
                            struct rps_error *err);
