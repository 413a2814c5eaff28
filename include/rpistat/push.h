/* Push the periods of a run to a time-series database with Prometheus' remote write. `rpistat push`
 * can run during the recording or afterwards. The store is the buffer, so a recording never waits
 * for the network. A small separate file records the last period pushed to each database. */
#pragma once

#include <stdint.h>

#include "rpistat/error.h"

struct rps_reader;

struct rps_push_options {
    const char *url;        /* address of remote write: http://HOST:8428 or .../api/v1/write */
    const char *store_path; /* path of the run's store */
    const char *state_path; /* File that records the last pushed periods: an SQLite database with
                               a table pushed(url, uuid, cpu, period). It is created if missing. */
    int64_t every_ns;       /* Time between samples of a series, at least 10 ms. 0: one sample
                               per period. */
    int follow;             /* 1 to continue until the run has ended */
    int again;              /* 1 to push from the run's beginning, also data already pushed */
    int64_t give_up_ns;     /* maximum time for which failed requests are retried; 0: no limit */
    int64_t timeout_ns;     /* time limit of a request */
    const char *user;       /* "NAME:PASSWORD" of the user; NULL: none */
    const char *bearer;     /* bearer token; NULL: none */
    const char *ca_file;    /* file of trusted certificates; NULL: the system's */
    void (*note)(void *context, const char *sentence); /* receives sentences for users, or NULL */
    /* Wait for `ns` (may be 0). Called between and during requests. If the result is not 0, the
     * push ends. */
    int (*wait)(void *context, int64_t ns);
    void *context; /* argument of both functions */
};

struct rps_push_outcome {
    char target[256];        /* printable URL of the server, without credentials */
    uint64_t samples, bytes; /* numbers of accepted samples, and of bytes in requests */
    uint64_t skipped;        /* samples in requests that the server refused (4xx except 429) */
    int present;             /* 1 if all existing data was pushed */
    int stopped;             /* 1 if `wait` ended the push */
    int goes_on;             /* 1 if the followed run is still recorded: call again in a second */
};

struct rps_push;

/* Begin to push a run. Pushing continues where the previous push of the run ended. Reader and
 * options are borrowed. The reader is closed and opened again while phases are detected. Errors
 * come from the store, an invalid URL or a missing libcurl. */
int rps_push_open(struct rps_push **ret, struct rps_reader **reader, int64_t run_id,
                  const struct rps_push_options *options, struct rps_error *err);

/* Push new data of the run. Call this function again as long as goes_on of the outcome is 1. The
 * store is closed during requests and between calls. Temporary failures (no answer, 429, 5xx) are
 * retried. Refused samples (another 4xx) are left out and counted.
 *
 * Errors come from the store, lasting failures, an untrusted certificate, refused credentials, a
 * redirection, and a server without remote write. If the server reports success, the samples count
 * as stored. The outcome counts the accepted samples even after an error. */
int rps_push_look(struct rps_push *push, struct rps_error *err);

/* Return the result of all pushes so far. The pointer is valid until the push is closed. */
const struct rps_push_outcome *rps_push_outcome(const struct rps_push *push);

/* Close the push, which may be NULL. */
void rps_push_close(struct rps_push *push);
