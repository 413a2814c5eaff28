/* An HTTP server for one user on this machine. SAFETY: the server listens only at loopback, accepts
 * only GET, and sends nothing secret without the token. The server has no thread of its own: its
 * owner calls rps_http_server_run. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* SAFETY: maximum number of connections without a token. If one more client without a token
 * connects, the server closes the oldest connection without a token. */
#define RPS_HTTP_CONNECTIONS 16

struct rps_http_page {
    int status;
    const char *type; /* media type of the content */
    char *text;       /* text of the answer; owned: freed after it was sent */
    size_t size;
};

struct rps_http_server_options {
    int port; /* port to listen at; 0: any free port */
    /* Time limits: for a client to send its request, and to read the answer. */
    int64_t request_ns, answer_ns;
    /* Answer a request for a path. Requests come with the token, except for the path "/". `after`
     * is the argument "after" of the request, `accept` the header Accept; NULL: missing. */
    void (*answer)(void *context, const char *path, const char *after, const char *accept,
                   struct rps_http_page *ret);
    void *context;
};

struct rps_http_server;

/* Listen at 127.0.0.1, with a new token. The options are borrowed. RPS_FAILED: there is no
 * libmicrohttpd, the port is in use, or there are no random numbers. */
int rps_http_server_open(struct rps_http_server **ret,
                         const struct rps_http_server_options *options, struct rps_error *err);
void rps_http_server_close(struct rps_http_server *server);

/* Return the URL "http://127.0.0.1:PORT/#TOKEN". */
const char *rps_http_server_url(const struct rps_http_server *server);

/* Return a descriptor that is readable when rps_http_server_run has work. */
int rps_http_server_fd(const struct rps_http_server *server);

/* Do all work that needs no waiting. Return the time until the next call in ns, at most
 * limit_ns. */
int64_t rps_http_server_run(struct rps_http_server *server, int64_t limit_ns);
