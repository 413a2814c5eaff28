/*
 * Import: what other tools recorded, tables of numbers, as runs of a store.
 */
#ifndef RPISTAT_IMPORT_H
#define RPISTAT_IMPORT_H

#include <stdint.h>

#include "rpistat/error.h"

#define RPS_IMPORT_COLUMNS_MAX 512
#define RPS_IMPORT_LINE_MAX    (1 << 20)

/* The formats, in the order in which a file is tried: FORMAT(object, name, lines of the help). The
 * object is rps_import_<object>. The last one takes every table. */
#define RPS_IMPORT_FORMATS(FORMAT)                                                                 \
    FORMAT(perf_csv, "perf-csv", "perf-csv    perf stat -I MS -x SEPARATOR")                       \
    FORMAT(csv, "csv",                                                                             \
           "csv         tables of numbers with a row a moment, or one of each CPU:\n"              \
           "              CSV of any country, and as vmstat, sar, pidstat and iostat print\n"      \
           "              it; --map says what is what")

struct rps_import_options {
    const char *format; /* name of one of the formats; NULL: found out */
    const char *label;  /* of the run; NULL: none */
    int tag_count;
    const char *const *tag;    /* "KEY=VALUE" */
    int64_t start_realtime_ns; /* wall clock at time 0 of the file; -1: as it says, or when it was
                                  last changed */
    const char *map; /* of format "csv": which column is what (see the manual); NULL: found out */
    void (*note)(const char *sentence); /* something the user should know; may be NULL */
};

struct rps_import_outcome {
    int64_t run_id;     /* of the new run */
    uint64_t intervals; /* of the file, of the CPU that has most where each has its own, and */
    int periods_each;   /* so many periods of the run are one of them, which has more columns than a
                           period holds */
    const char *format; /* name of the one that it was read as */
};

/*
 * Import a file ("-": standard input, which is copied into a temporary file first) into the store
 * at store_path, which is created when it is not there. An ordinary run comes of it: report,
 * phases, plot and compare take it as any other. RPS_FAILED, with one sentence that names file and
 * line, for a file that is in no known format, ragged or hostile, and when the store cannot be
 * written; then nothing of it is in the store. Memory is an arena's: when there is none left the
 * program ends, and a run that it was writing is an interrupted one.
 */
int rps_import_file(const char *path, const char *store_path,
                    const struct rps_import_options *options, struct rps_import_outcome *ret,
                    struct rps_error *err);

#endif
