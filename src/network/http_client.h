/* Requests by HTTP. Only this module uses libcurl. A client reads only the status and the beginning
 * of an answer, so memory does not grow with the answer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"

#define RPS_HTTP_TEXT_MAX 65536

struct rps_http_client_options {
    const char *user;    /* "NAME:PASSWORD"; NULL: use the user in the URL, if there is one */
    const char *bearer;  /* token for authorization; NULL: none */
    const char *ca_file; /* file of trusted certificates; NULL: the system's */
    int64_t timeout_ns;  /* time limit of a whole request */
    /* Called with 0 during a request. A result other than 0 ends the request. May be NULL. */
    int (*wait)(void *context, int64_t ns);
    void *context;
};

struct rps_http_answer {
    int status;            /* HTTP status such as 200; 0: no answer */
    int64_t retry_after_s; /* value of Retry-After; -1: none */
    const char *way_out;   /* remedy if status is 0 and another attempt cannot help; otherwise
                              NULL */
    size_t size;           /* size of `text` in bytes */
    char text[RPS_HTTP_TEXT_MAX + 1]; /* beginning of the body; or the target of a redirection;
                                         or, if status is 0, the error */
};

struct rps_http_client;

/* Open a client in the arena. RPS_FAILED without libcurl. The texts of options are borrowed. */
int rps_http_open(struct rps_arena *arena, struct rps_http_client **ret,
                  const struct rps_http_client_options *options, struct rps_error *err);
/* Close the client. NULL is harmless. */
void rps_http_close(struct rps_http_client *client);

/* Split a URL of http or https. The parts are the URL without name, password and fragment; the same
 * URL without its query, for output and tables; and "NAME:PASSWORD" or NULL. If the URL has no
 * path, `path` is used as its path. The parts are in the client's arena. Any other text is
 * RPS_USAGE. */
struct rps_http_url {
    const char *request, *shown, *user;
};

int rps_http_url_parse(struct rps_http_client *client, const char *text, const char *path,
                       struct rps_http_url *ret, struct rps_error *err);

/* Post a body to `url` with `headers`, of which the last is NULL. Returns 0 and sets *ret, even if
 * there is no answer; 1 if `wait` ended the request; RPS_FAILED if there is no memory. Redirections
 * are ordinary answers. */
int rps_http_post(struct rps_http_client *client, const struct rps_http_url *url,
                  const char *const *headers, const void *body, size_t size,
                  struct rps_http_answer *ret, struct rps_error *err);
