/*
 * Import: recordings of other tools, which are tables of numbers, as runs of a store.
 */
#ifndef RPISTAT_IMPORT_H
#define RPISTAT_IMPORT_H

#include <stdint.h>

#include "rpistat/error.h"

#define RPS_IMPORT_COLUMNS_MAX 512
#define RPS_IMPORT_LINE_MAX    (1 << 20)

/* The formats, in the order of the attempts: FORMAT(object, name, lines of the help). The object is
 * rps_import_<object>. The last one accepts every table. */
#define RPS_IMPORT_FORMATS(FORMAT)                                                                 \
    FORMAT(perf_csv, "perf-csv", "perf-csv    perf stat -I MS -x SEPARATOR")                       \
    FORMAT(csv, "csv",                                                                             \
           "csv         tables with one row per moment, or per moment and CPU; also\n"             \
           "              the output of vmstat, sar, pidstat and iostat (see --map)")

struct rps_import_options {
    const char *format; /* name of one of the formats; NULL: automatic */
    const char *label;  /* of the run; NULL: none */
    int tag_count;
    const char *const *tag;    /* "KEY=VALUE" */
    int64_t start_realtime_ns; /* wall clock at time 0 of the file; -1: from the file, or from its
                                  last change */
    const char *map; /* of format "csv": the meaning of columns (see the manual); NULL: automatic */
    void (*note)(const char *sentence); /* prints a message for the user; may be NULL */
};

struct rps_import_outcome {
    int64_t run_id;     /* of the new run */
    uint64_t intervals; /* of the file, for the CPU with most if they differ by CPU, and */
    int periods_each;   /* number of periods of the run for each of them: more columns than a period
                           holds need several */
    const char *format; /* name of the detected one */
};

/*
 * Import a file ("-": standard input, which is copied into a temporary file first) into the store
 * at store_path, which is created if missing. The result is an ordinary run: report, phases, plot
 * and compare work as with any other. RPS_FAILED, with one sentence that names file and line: the
 * file has no known format, is ragged or hostile, or the store cannot be written. Then nothing of
 * it is in the store. Memory is an arena's. Without memory the program ends, and a run that is
 * being written is interrupted.
 */
int rps_import_file(const char *path, const char *store_path,
                    const struct rps_import_options *options, struct rps_import_outcome *ret,
                    struct rps_error *err);

#endif
