/* What push.c, push_batch.c, push_send.c and push_verify.c share. */
#ifndef RPISTAT_EXCHANGE_PUSH_PARTS_H
#define RPISTAT_EXCHANGE_PUSH_PARTS_H

#include "http_client.h"
#include "remote_write.h"
#include "rpistat/push.h"

/* --- batches: samples by series --------------------------------------------------------------- */

#define RPS_PUSH_BATCH_SAMPLES 8000 /* a batch is sent when it has so many */

struct rps_push_series {
    const struct rps_time_series *series; /* borrowed */
    size_t count, room;
    struct rps_remote_sample *sample; /* owned */
    int has_last;
    struct rps_remote_sample last; /* that was put, unless it was refused */
};

/* {0}: nothing yet. */
struct rps_push_batch {
    size_t count;    /* samples */
    int64_t last_ms; /* time of the newest that was put */
    size_t series_count;
    struct rps_push_series *series; /* owned; by number */
};

/* A function of struct rps_time_sink; the context is the batch. */
int rps_push_batch_put(void *batch, const struct rps_time_series *series, int64_t time_ms,
                       double value, struct rps_error *err);

/* The body of the batch's request, for rps_protobuf_free. RPS_FAILED: those of
 * rps_remote_write_body. */
int rps_push_batch_body(const struct rps_push_batch *batch, struct rps_protobuf *ret,
                        struct rps_error *err);

/* Its samples are gone; its series stay, and their last values if the server took them. */
void rps_push_batch_clear(struct rps_push_batch *batch, int is_taken);

void rps_push_batch_free(struct rps_push_batch *batch);

/* --- sending ---------------------------------------------------------------------------------- */

#define RPS_PUSH_PATH "/api/v1/write" /* of an URL that has none */

/* The metric whose samples are counted: a CPU that has samples of any has one of it. Zeros, which
 * may be sent twice at the beginning, are left out. */
#define RPS_PUSH_COUNTED "rpistat_enabled_seconds_total"

struct rps_push_target {
    const struct rps_push_options *options;
    struct rps_push_outcome *outcome;
    struct rps_http_client *http;
    struct rps_http_url url, query; /* query.request NULL: there is nothing to ask */
    struct rps_http_answer *answer; /* owned: it is large */
    int attempts;                   /* that failed since one did not */
    int64_t trouble_ns;             /* what they and the pauses took */
    int64_t taken; /* samples of RPS_PUSH_COUNTED that the server took, by earlier pushes too */
};

int rps_push_target_open(struct rps_push_target *ret, const struct rps_push_options *options,
                         struct rps_push_outcome *outcome, struct rps_error *err);
void rps_push_target_close(struct rps_push_target *target);

/* How long to pause before the next attempt, after so many that failed, the last with this
 * Retry-After (-1: none). */
int64_t rps_push_pause_ns(int attempts, int64_t retry_after_s);

/* Send a batch until it is taken or refused, and empty it: 0; 1 when `wait` ended it; RPS_FAILED:
 * see rps_push_look. */
int rps_push_send(struct rps_push_target *target, struct rps_push_batch *batch,
                  struct rps_error *err);

/* --- verifying -------------------------------------------------------------------------------- */

/* The URL of queries, in target->query: 0, or RPS_USAGE for one that cannot be. */
int rps_push_find_query(struct rps_push_target *target, struct rps_error *err);

/* Ask for the last values of some series of what was put into a batch, and how many samples of
 * RPS_PUSH_COUNTED there are since the run's start: 0, and in outcome->verified whether both were
 * answered; 1 when `wait` ended it; RPS_FAILED when something is missing. */
int rps_push_verify(struct rps_push_target *target, const struct rps_push_batch *batch,
                    int64_t start_ms, struct rps_error *err);

#endif
