/* What perf stat -x says of an event in an interval. */
#ifndef RPISTAT_EXCHANGE_IMPORT_PERF_H
#define RPISTAT_EXCHANGE_IMPORT_PERF_H

#include "import_interval.h"

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

struct rps_perf_reader {
    struct rps_import_interval interval;
    char scope[256]; /* what metrics are of, as a part of their names: the event's PMU and cgroup,
                        which further lines of its metrics do not say */
};

int rps_import_perf_line(struct rps_perf_reader *reader, const struct rps_perf_line *line,
                         struct rps_error *err);

/* When perf started, as its comment says: for the run. */
void rps_import_perf_start(struct rps_import_builder *builder);

#endif
