/*
 * HTTP for one user on this machine: loopback and GET alone, and nothing secret without the token.
 * The server has no thread of its own: its owner calls rps_http_server_run.
 */
#ifndef RPISTAT_EXCHANGE_HTTP_SERVER_H
#define RPISTAT_EXCHANGE_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* So many may stay that have shown no token; when another comes the oldest of them is closed. */
#define RPS_HTTP_CONNECTIONS 16

struct rps_http_page {
    int status;
    const char *type; /* of the content */
    char *text;       /* owned: it is freed when it has been sent */
    size_t size;
};

struct rps_http_server_options {
    int port; /* 0: any that is free */
    /* A client is closed that has not sent its request in this time, or has not taken the answer in
     * that time. */
    int64_t request_ns, answer_ns;
    /* Answer a request for a path, which came with the token unless it is "/"; `after` is that
     * argument of it, `accept` the header Accept, each NULL if there is none. */
    void (*answer)(void *context, const char *path, const char *after, const char *accept,
                   struct rps_http_page *ret);
    void *context;
};

struct rps_http_server;

/* Listen at 127.0.0.1, with a new token. The options are borrowed. RPS_FAILED: no libmicrohttpd, a
 * port that is taken, no random numbers. */
int rps_http_server_open(struct rps_http_server **ret,
                         const struct rps_http_server_options *options, struct rps_error *err);
void rps_http_server_close(struct rps_http_server *server);

/* "http://127.0.0.1:PORT/#TOKEN". */
const char *rps_http_server_url(const struct rps_http_server *server);

/* Becomes readable when rps_http_server_run has something to do. */
int rps_http_server_fd(const struct rps_http_server *server);

/* Do what can be done without waiting. Returns in how many ns it is to be called again at the
 * latest, at most limit_ns. */
int64_t rps_http_server_run(struct rps_http_server *server, int64_t limit_ns);

#endif
