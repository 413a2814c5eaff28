/*
 * Push: the periods of a run to a time-series database with Prometheus' remote write, during the
 * recording or afterwards. The store is the buffer: a recording never waits for the network. A
 * small separate file records the position of each database.
 */
#ifndef RPISTAT_PUSH_H
#define RPISTAT_PUSH_H

#include <stdint.h>

#include "rpistat/error.h"

struct rps_reader;

struct rps_push_options {
    const char *url;        /* of remote write: http://HOST:8428, with or without /api/v1/write */
    const char *store_path; /* of the run */
    const char *state_path; /* file with the positions, an SQLite database with a table pushed(url,
                               uuid, cpu, period); created if missing */
    int64_t every_ns;       /* time between samples of a series; 0: each period, and at least 10
                               ms */
    int follow;             /* 1: continue until the run has ended */
    int again;              /* 1: from the beginning, even if already pushed */
    int64_t give_up_ns;     /* limit of the duration of failures; 0: none */
    int64_t timeout_ns;     /* of a request */
    const char *user;       /* "NAME:PASSWORD"; NULL: none */
    const char *bearer;     /* token; NULL: none */
    const char *ca_file;    /* certificates to trust; NULL: the system's */
    void (*note)(void *context, const char *sentence); /* may be NULL */
    /* Pause for so long, or not at all; a result other than 0 ends the push. Called between
     * requests, and during one. */
    int (*wait)(void *context, int64_t ns);
    void *context; /* of both */
};

struct rps_push_outcome {
    char target[256];        /* name of the server: its URL, without credentials, printable */
    uint64_t samples, bytes; /* accepted by the server; bytes: of bodies */
    uint64_t skipped;        /* samples in requests that it refused (4xx except 429) */
    int present;             /* 1: nothing was left to push */
    int stopped;             /* 1: `wait` ended it */
    int goes_on; /* 1: the run is being recorded, and is followed: call again in a second */
};

struct rps_push;

/* Begin to push a run, from the end of its last push. Reader and options are borrowed; the reader
 * is closed and opened again while phases are detected. Errors: the store's; an invalid URL; no
 * libcurl. */
int rps_push_open(struct rps_push **ret, struct rps_reader **reader, int64_t run_id,
                  const struct rps_push_options *options, struct rps_error *err);

/*
 * Push the new data, until the outcome's goes_on is 0. Nothing of the store is open between
 * requests, nor between calls. Temporary failures (no answer, 429, 5xx) are retried; refused
 * samples (another 4xx) are left out and counted.
 *
 * Errors: the store's; lasting failures; a server with an untrusted certificate; refused
 * credentials, a redirection, or a server without remote write. A server that reports success is
 * trusted. After an error, the outcome still has the accepted samples.
 */
int rps_push_look(struct rps_push *push, struct rps_error *err);

/* Return the result so far; its address is valid until the push is closed. */
const struct rps_push_outcome *rps_push_outcome(const struct rps_push *push);

/* Close the push. NULL is harmless. */
void rps_push_close(struct rps_push *push);

#endif
