/*
 * Requests by HTTP. This is the only module that uses libcurl. It reads an answer's status and a
 * little of its text, so memory does not grow with the answer.
 */
#ifndef RPISTAT_EXCHANGE_HTTP_CLIENT_H
#define RPISTAT_EXCHANGE_HTTP_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

#define RPS_HTTP_TEXT_MAX 65536

struct rps_http_client_options {
    const char *user;    /* "NAME:PASSWORD"; NULL: that of the URL, or none */
    const char *bearer;  /* token; NULL: none */
    const char *ca_file; /* certificates to trust; NULL: the system's */
    int64_t timeout_ns;  /* of a whole request */
    /* Called with 0 during a request: a result other than 0 ends it. May be NULL. */
    int (*wait)(void *context, int64_t ns);
    void *context;
};

struct rps_http_answer {
    int status;            /* 200, ...; 0: no answer */
    int64_t retry_after_s; /* -1: not given */
    const char *way_out;   /* with status 0: the remedy if another attempt cannot help; otherwise
                              NULL */
    size_t size;           /* of the text */
    char text[RPS_HTTP_TEXT_MAX + 1]; /* the beginning of the body; of a redirection, its target;
                                         with status 0: the failure */
};

struct rps_http_client;

/* Open a client. RPS_FAILED without libcurl. The texts of options are borrowed. */
int rps_http_open(struct rps_http_client **ret, const struct rps_http_client_options *options,
                  struct rps_error *err);
/* Close the client. NULL is harmless. */
void rps_http_close(struct rps_http_client *client);

/*
 * Split a URL of http or https; each part is for free(). They are the URL without name, password
 * and fragment; the same without its query, for output and tables; and "NAME:PASSWORD" or NULL.
 * `path`: the path for a URL without one. RPS_USAGE for any other text.
 */
struct rps_http_url {
    char *request, *shown, *user;
};

int rps_http_url_parse(struct rps_http_client *client, const char *text, const char *path,
                       struct rps_http_url *ret, struct rps_error *err);
void rps_http_url_free(struct rps_http_url *url);

/*
 * Post a body to `url` with `headers` (the last is NULL). Returns 0 and *ret, for any answer or
 * none; 1 if `wait` ended it; RPS_FAILED without memory. Redirections are ordinary answers.
 */
int rps_http_post(struct rps_http_client *client, const struct rps_http_url *url,
                  const char *const *headers, const void *body, size_t size,
                  struct rps_http_answer *ret, struct rps_error *err);

#endif
