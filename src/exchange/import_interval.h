/*
 * Tables with a line a value: the values of an interval are gathered, from all its lines and
 * whatever their order, and then handed to the builder, a period a CPU.
 */
#ifndef RPISTAT_EXCHANGE_IMPORT_INTERVAL_H
#define RPISTAT_EXCHANGE_IMPORT_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

#include "import_build.h"

struct rps_import_datum {
    int32_t cpu;
    struct rps_import_column column; /* its text is copied */
    int is_exact;                    /* `count` in place of `value` */
    uint64_t count;
    double value;
    int64_t enabled_ns, running_ns;
};

struct rps_import_interval {
    struct rps_import_builder *builder;
    int64_t start_ns, end_ns;
    size_t events, events_before; /* lines of events in this interval and the one before, where a
                                     reader counts them */
    size_t datum_count;
    struct rps_import_gathered *datum; /* owned */
    size_t track_count, next_track;
    char **track; /* owned: what the file has in place of CPUs' numbers */
};

void rps_import_interval_open(struct rps_import_interval *interval,
                              struct rps_import_builder *builder);
/* What is added now is of the interval that ends then; one of another time is handed over. */
int rps_import_interval_line(struct rps_import_interval *interval, int64_t end_ns,
                             struct rps_error *err);

/* The number of a CPU, or of a core or a socket in place of one: "CPU3" and "3" are 3,
 * other names are numbered as they come, with a note; NULL or "" is RPS_CPU_ALL. */
int rps_import_interval_cpu(struct rps_import_interval *interval, const char *track, int32_t *ret,
                            struct rps_error *err);

/* A second value of a column in the interval is another column, NAME#2: an event counted twice. */
int rps_import_interval_add(struct rps_import_interval *interval,
                            const struct rps_import_datum *datum, struct rps_error *err);

/* The file has been read, with that result, which is returned when it is negative: hand over the
 * last interval, and free what is held. An interval with fewer events than the one before is left
 * out, with a note: the file was cut off in it. */
int rps_import_interval_close(struct rps_import_interval *interval, int result,
                              struct rps_error *err);

#endif
