/*
 * Push: the periods of a run to a time-series database that takes Prometheus' remote write, while
 * it is recorded or afterwards. The store is the buffer: a recording never waits for the network.
 * How far each database has got is kept in a small file of its own.
 */
#ifndef RPISTAT_PUSH_H
#define RPISTAT_PUSH_H

#include <stdint.h>

#include "rpistat/error.h"

struct rps_reader;

struct rps_push_options {
    const char *url;        /* of remote write: http://HOST:8428, with or without /api/v1/write */
    const char *store_path; /* of the run */
    const char *state_path; /* file of what was pushed, an SQLite database with a table pushed(url,
                               uuid, cpu, period); created when it is not there */
    int64_t every_ns;       /* a sample of each series for each such time; 0: each period, and 10 ms
                               at least */
    int follow;             /* 1: go on until the run has ended */
    int again;              /* 1: from the beginning, whatever was pushed */
    int64_t give_up_ns;     /* trouble lasts so long at most; 0: for ever */
    int64_t timeout_ns;     /* of a request */
    const char *user;       /* "NAME:PASSWORD"; NULL: none */
    const char *bearer;     /* token; NULL: none */
    const char *ca_file;    /* certificates to trust; NULL: the system's */
    void (*note)(void *context, const char *sentence); /* may be NULL */
    /* Pause for so long, or not at all; anything but 0 ends the push. Asked between requests, and
     * while one is on its way. */
    int (*wait)(void *context, int64_t ns);
    void *context; /* of both */
};

struct rps_push_outcome {
    char target[256]; /* what the server is called: its URL, without credentials, printable */
    uint64_t samples, bytes; /* taken by the server; bytes: of bodies */
    uint64_t skipped;        /* samples in requests that it refused (4xx but 429) */
    int present;             /* 1: nothing was left to push */
    int stopped;             /* 1: `wait` ended it */
    int goes_on; /* 1: the run is being recorded, and is followed: look again in a second */
};

struct rps_push;

/* Begin to push a run, from where the last push of it stopped. Reader and options are borrowed;
 * the reader is closed and opened anew while phases are found.
 * Errors: the store's; an URL that cannot be one; no libcurl. */
int rps_push_open(struct rps_push **ret, struct rps_reader **reader, int64_t run_id,
                  const struct rps_push_options *options, struct rps_error *err);

/*
 * Push what there is and was not pushed, until the outcome's goes_on is 0. Nothing of the store is
 * held between requests, nor between looks. Trouble (no answer, 429, 5xx) is waited out, and what
 * the server refuses (another 4xx) is left out and counted.
 *
 * Errors: the store's; trouble that lasts; a server whose certificate is not trusted; a refusal of
 * the credentials, a redirection, or a server without remote write. A server that says that it took
 * samples is believed. What was taken stays in the outcome then.
 */
int rps_push_look(struct rps_push *push, struct rps_error *err);

/* So far; it stays where it is until the push is closed. */
const struct rps_push_outcome *rps_push_outcome(const struct rps_push *push);

/* NULL is harmless. */
void rps_push_close(struct rps_push *push);

#endif
