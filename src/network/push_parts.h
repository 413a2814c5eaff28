/* Declarations that push.c, push_send.c and remote_write.c share. */
#pragma once

#include "http_client.h"
#include "rpistat/protobuf.h"
#include "rpistat/push.h"
#include "rpistat/time_series.h"

/* --- batches: samples by series --------------------------------------------------------------- */

#define RPS_PUSH_BATCH_SAMPLES 8000 /* a batch with this number of samples is sent */

struct rps_push_series {
    const struct rps_time_series *series; /* time series, borrowed */
    size_t count;
    struct rps_remote_sample *sample; /* samples, owned */
};

/* A batch of samples. {0} is an empty batch. */
struct rps_push_batch {
    size_t count; /* number of samples */
    size_t series_count;
    struct rps_push_series *series; /* series by number; owned */
};

/* Add a sample to a batch. The function is for struct rps_time_sink, with the batch as context. */
int rps_push_batch_put(void *batch, const struct rps_time_series *series, int64_t time_ms,
                       double value, struct rps_error *err);

/* Convert the batch to a remote-write request's body. Errors: those of rps_remote_write_body. */
int rps_push_batch_body(const struct rps_push_batch *batch, struct rps_protobuf *ret,
                        struct rps_error *err);

/* Remove the samples of a batch, but keep the series. */
void rps_push_batch_clear(struct rps_push_batch *batch);

void rps_push_batch_free(struct rps_push_batch *batch);

/* --- sending ---------------------------------------------------------------------------------- */

struct rps_push_target {
    const struct rps_push_options *options;
    struct rps_push_outcome *outcome;
    struct rps_http_client *http;
    struct rps_http_url url;
    struct rps_http_answer *answer;
    int attempts;       /* number of failed attempts since the last success */
    int64_t trouble_ns; /* time of the failed attempts and of the pauses */
};

int rps_push_target_open(struct rps_arena *arena, struct rps_push_target *ret,
                         const struct rps_push_options *options, struct rps_push_outcome *outcome,
                         struct rps_error *err);

/* Return the pause before the next attempt. attempts: number of failed attempts so far.
 * retry_after_s: Retry-After in the latest answer (-1: none). */
int64_t rps_push_pause_ns(int attempts, int64_t retry_after_s);

/* Send a batch until the server accepts or refuses it, and empty the batch. Returns 0, 1 if `wait`
 * ended the sending, or RPS_FAILED (see rps_push_look). */
int rps_push_send(struct rps_push_target *target, struct rps_push_batch *batch,
                  struct rps_error *err);

/* Requests of Prometheus' remote-write protocol 1.0 (https://prometheus.io/docs/specs/prw/
 * remote_write_spec/). A request is a protobuf message, compressed in snappy's block format. */

struct rps_remote_sample {
    int64_t time_ms; /* time of the sample as Unix time in ms */
    double value;
};

/* Add a series with its samples, in order of time, to a request. A request is {0} at first. */
void rps_remote_write_add(struct rps_protobuf *request, const struct rps_time_series *series,
                          const struct rps_remote_sample *sample, size_t count);

/* Compress a request into *ret, which becomes the body to send, and empty the request. Release *ret
 * with rps_protobuf_free. RPS_FAILED if there is no libsnappy or no memory, or if memory was
 * missing in an earlier call. */
int rps_remote_write_body(struct rps_protobuf *request, struct rps_protobuf *ret,
                          struct rps_error *err);
