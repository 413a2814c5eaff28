/* Lines of perf stat -x. A line has one event in one interval. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "import_build.h"

/* A line, with the texts of the file; a missing text is "". */
struct rps_perf_line {
    int64_t end_ns;           /* end of the interval */
    const char *track;        /* name of a CPU, core or socket */
    const char *value, *unit; /* value and unit of the event */
    const char *event, *cgroup;
    const char *run_ns, *percent; /* time on a counter, and its share of the enabled time */
    const char *metric, *metric_unit;
    const char *group; /* group of the metrics that follow: "TopdownL1 (cpu_atom)" */
};

/* State of a reader. The initial value is {.builder = ...}. */
struct rps_perf_reader {
    struct rps_import_builder *builder;
    int64_t start_ns, end_ns;     /* start and end of the current interval */
    int64_t base_ns;              /* end of the file's previous run; only to find phases */
    size_t events, events_before; /* number of event lines in this interval; number of event
                                     lines in the previous interval */
    size_t value_count;
    struct rps_perf_value *value; /* values of the interval; owned */
    size_t track_count, next_track;
    const char **track; /* the file's names for CPUs; in the builder's arena */
    char scope[256];    /* prefix of metrics' names: the event's PMU and cgroup, which only the
                           first of the event's lines contains */
};

/* Begin the interval that ends at end_ns. If end_ns differs from the current interval's end, the
 * current interval is first passed to the builder. */
int rps_perf_interval(struct rps_perf_reader *reader, int64_t end_ns, struct rps_error *err);

/* Add a line. If a column already has a value in the interval, the value goes into another column,
 * NAME#2, because the event was counted twice. "CPU3" and "3" are CPU 3. Other names get numbers in
 * the order in which they occur, with a note. */
int rps_import_perf_line(struct rps_perf_reader *reader, const struct rps_perf_line *line,
                         struct rps_error *err);

/* End the reading: pass on the last interval, and free all memory. If `result` of the reading is
 * negative, it is returned. If the last interval has fewer events than the previous one, the last
 * interval is left out, with a note, because the file was truncated. */
int rps_perf_close(struct rps_perf_reader *reader, int result, struct rps_error *err);

/* Set the run's start from perf's comment. */
void rps_import_perf_start(struct rps_import_builder *builder);
