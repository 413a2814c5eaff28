/* Lines of perf stat -x: an event in an interval. */
#ifndef RPISTAT_EXCHANGE_IMPORT_PERF_H
#define RPISTAT_EXCHANGE_IMPORT_PERF_H

#include <stddef.h>
#include <stdint.h>

#include "import_build.h"

/* As in the file; NULL or "" if missing. */
struct rps_perf_line {
    int64_t end_ns;           /* of the interval */
    const char *track;        /* CPU, core, socket */
    const char *value, *unit; /* of the event */
    const char *event, *cgroup;
    const char *run_ns, *percent; /* time on a counter, and its share of the enabled time */
    const char *metric, *metric_unit;
    const char *group; /* of the metrics that follow: "TopdownL1 (cpu_atom)" */
};

/* {.builder = ...}: before the first line. */
struct rps_perf_reader {
    struct rps_import_builder *builder;
    int64_t start_ns, end_ns;     /* of the interval */
    size_t events, events_before; /* event lines in it and in the previous one */
    size_t datum_count;
    struct rps_perf_gathered *datum; /* owned */
    size_t track_count, next_track;
    const char **track; /* the builder's arena's: the file's names for CPUs */
    char scope[256];    /* prefix of the names of metrics: the event's PMU and cgroup, which further
                        lines of its metrics do not have */
};

/* Begin the interval that ends at end_ns; one with another end is passed on first. */
int rps_perf_interval(struct rps_perf_reader *reader, int64_t end_ns, struct rps_error *err);

/* Add a line. A second value of a column in the interval becomes another column, NAME#2: the event
 * was counted twice. "CPU3" and "3" are CPU 3, other names are numbered in order, with a note. */
int rps_import_perf_line(struct rps_perf_reader *reader, const struct rps_perf_line *line,
                         struct rps_error *err);

/* End the reading, whose result is returned if it is negative: pass on the last interval, and free
 * all memory. An interval with fewer events than the previous one is left out, with a note: the
 * file was truncated. */
int rps_perf_close(struct rps_perf_reader *reader, int result, struct rps_error *err);

/* Set the run's start from perf's comment. */
void rps_import_perf_start(struct rps_import_builder *builder);

#endif
