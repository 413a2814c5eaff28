/* What perf stat -x says of an event in an interval. */
#ifndef RPISTAT_EXCHANGE_IMPORT_PERF_H
#define RPISTAT_EXCHANGE_IMPORT_PERF_H

#include <stddef.h>
#include <stdint.h>

#include "import_build.h"

/* As in the file; NULL or "" where it says nothing. */
struct rps_perf_line {
    int64_t end_ns;           /* of the interval */
    const char *track;        /* CPU, core, socket */
    const char *value, *unit; /* of the event */
    const char *event, *cgroup;
    const char *run_ns, *percent; /* how long it was on a counter, and that of its enabled time */
    const char *metric, *metric_unit;
    const char *group; /* of the metrics that follow: "TopdownL1 (cpu_atom)" */
};

/* {.builder = ...}: before the first line. */
struct rps_perf_reader {
    struct rps_import_builder *builder;
    int64_t start_ns, end_ns;     /* of the interval */
    size_t events, events_before; /* lines of events in it and in the one before */
    size_t datum_count;
    struct rps_perf_gathered *datum; /* owned */
    size_t track_count, next_track;
    const char **track; /* the builder's arena's: what the file has in place of CPUs' numbers */
    char scope[256]; /* what metrics are of, as a part of their names: the event's PMU and cgroup,
                        which further lines of its metrics do not say */
};

/* What is added now is of the interval that ends then; one of another time is handed over. */
int rps_perf_interval(struct rps_perf_reader *reader, int64_t end_ns, struct rps_error *err);

/* A second value of a column in the interval is another column, NAME#2: an event counted twice.
 * "CPU3" and "3" are CPU 3, names of others are numbered as they come, with a note. */
int rps_import_perf_line(struct rps_perf_reader *reader, const struct rps_perf_line *line,
                         struct rps_error *err);

/* The file has been read, with that result, which is returned when it is negative: hand over the
 * last interval, and free what is held. An interval with fewer events than the one before is left
 * out, with a note: the file was cut off in it. */
int rps_perf_close(struct rps_perf_reader *reader, int result, struct rps_error *err);

/* When perf started, as its comment says: for the run. */
void rps_import_perf_start(struct rps_import_builder *builder);

#endif
