/* Shared by push.c, push_send.c and remote_write.c. */
#ifndef RPISTAT_EXCHANGE_PUSH_PARTS_H
#define RPISTAT_EXCHANGE_PUSH_PARTS_H

#include "http_client.h"
#include "rpistat/protobuf.h"
#include "rpistat/push.h"
#include "rpistat/time_series.h"

/* --- batches: samples by series --------------------------------------------------------------- */

#define RPS_PUSH_BATCH_SAMPLES 8000 /* a batch with so many is sent */

struct rps_push_series {
    const struct rps_time_series *series; /* borrowed */
    size_t count;
    struct rps_remote_sample *sample; /* owned */
};

/* {0}: empty. */
struct rps_push_batch {
    size_t count; /* samples */
    size_t series_count;
    struct rps_push_series *series; /* owned; by number */
};

/* Add a sample: a function of struct rps_time_sink; the context is the batch. */
int rps_push_batch_put(void *batch, const struct rps_time_series *series, int64_t time_ms,
                       double value, struct rps_error *err);

/* Convert the batch to remote write's body. Errors: those of rps_remote_write_body. */
int rps_push_batch_body(const struct rps_push_batch *batch, struct rps_protobuf *ret,
                        struct rps_error *err);

/* Remove its samples; its series stay. */
void rps_push_batch_clear(struct rps_push_batch *batch);

void rps_push_batch_free(struct rps_push_batch *batch);

/* --- sending ---------------------------------------------------------------------------------- */

struct rps_push_target {
    const struct rps_push_options *options;
    struct rps_push_outcome *outcome;
    struct rps_http_client *http;
    struct rps_http_url url;
    struct rps_http_answer *answer; /* owned: it is large */
    int attempts;                   /* failures since the last success */
    int64_t trouble_ns;             /* time of these and of the pauses */
};

int rps_push_target_open(struct rps_push_target *ret, const struct rps_push_options *options,
                         struct rps_push_outcome *outcome, struct rps_error *err);
void rps_push_target_close(struct rps_push_target *target);

/* Return the pause before the next attempt, after so many failures, the last with this Retry-After
 * (-1: none). */
int64_t rps_push_pause_ns(int attempts, int64_t retry_after_s);

/* Send a batch until it is accepted or refused, and empty it: 0; 1 if `wait` ended it; RPS_FAILED:
 * see rps_push_look. */
int rps_push_send(struct rps_push_target *target, struct rps_push_batch *batch,
                  struct rps_error *err);

/*
 * Requests of Prometheus' remote-write protocol 1.0 (https://prometheus.io/docs/specs/prw/
 * remote_write_spec/): a protobuf message, snappy in its block format.
 */

struct rps_remote_sample {
    int64_t time_ms; /* Unix time */
    double value;
};

/* Add a series with its samples, in order of time, to a request, {0} at first. */
void rps_remote_write_add(struct rps_protobuf *request, const struct rps_time_series *series,
                          const struct rps_remote_sample *sample, size_t count);

/* Compress a request into *ret, its body as sent (for rps_protobuf_free), and empty it. RPS_FAILED
 * without libsnappy, or memory, also if memory was missing before. */
int rps_remote_write_body(struct rps_protobuf *request, struct rps_protobuf *ret,
                          struct rps_error *err);

#endif
