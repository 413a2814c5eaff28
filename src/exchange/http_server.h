/*
 * HTTP for one user on this machine. SAFETY: loopback and GET only, and nothing secret without the
 * token. The server has no thread of its own: its owner calls rps_http_server_run.
 */
#ifndef RPISTAT_EXCHANGE_HTTP_SERVER_H
#define RPISTAT_EXCHANGE_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* SAFETY: maximum number of connections without a token; another one closes the oldest of them. */
#define RPS_HTTP_CONNECTIONS 16

struct rps_http_page {
    int status;
    const char *type; /* of the content */
    char *text;       /* owned: freed after it was sent */
    size_t size;
};

struct rps_http_server_options {
    int port; /* 0: any free one */
    /* Time limits for a client's request, and for its reading of the answer. */
    int64_t request_ns, answer_ns;
    /* Answer a request for a path, which came with the token unless it is "/". `after` is the
     * argument of that name, `accept` the header Accept, each NULL if missing. */
    void (*answer)(void *context, const char *path, const char *after, const char *accept,
                   struct rps_http_page *ret);
    void *context;
};

struct rps_http_server;

/* Listen at 127.0.0.1, with a new token. The options are borrowed. RPS_FAILED: no libmicrohttpd, a
 * port in use, no random numbers. */
int rps_http_server_open(struct rps_http_server **ret,
                         const struct rps_http_server_options *options, struct rps_error *err);
void rps_http_server_close(struct rps_http_server *server);

/* Return "http://127.0.0.1:PORT/#TOKEN". */
const char *rps_http_server_url(const struct rps_http_server *server);

/* Return a descriptor that is readable when rps_http_server_run has work. */
int rps_http_server_fd(const struct rps_http_server *server);

/* Do all work that needs no waiting. Return the time until the next call in ns, at most
 * limit_ns. */
int64_t rps_http_server_run(struct rps_http_server *server, int64_t limit_ns);

#endif
