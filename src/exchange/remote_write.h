/*
 * Requests of Prometheus' remote-write protocol 1.0 (https://prometheus.io/docs/specs/prw/
 * remote_write_spec/): a protobuf message, snappy in its block format.
 */
#ifndef RPISTAT_EXCHANGE_REMOTE_WRITE_H
#define RPISTAT_EXCHANGE_REMOTE_WRITE_H

#include "rpistat/protobuf.h"
#include "rpistat/time_series.h"

struct rps_remote_sample {
    int64_t time_ms; /* Unix time */
    double value;
};

/* Add a series with its samples, in order of time, to a request, {0} at first. */
void rps_remote_write_add(struct rps_protobuf *request, const struct rps_time_series *series,
                          const struct rps_remote_sample *sample, size_t count);

/* Compress a request into *ret, its body as it is sent (for rps_protobuf_free), and empty it.
 * RPS_FAILED when there is no libsnappy, or no memory, also when it was missing before. */
int rps_remote_write_body(struct rps_protobuf *request, struct rps_protobuf *ret,
                          struct rps_error *err);

#endif
