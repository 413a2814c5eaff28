/*
 * Requests by HTTP, over libcurl: the only place that knows it. What a server answers is looked at
 * as far as its status, and a little of its text; memory does not grow with it.
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
    /* Asked, with 0, while a request is on its way: anything but 0 ends it. May be NULL. */
    int (*wait)(void *context, int64_t ns);
    void *context;
};

struct rps_http_answer {
    int status;            /* 200, ...; 0: there was no answer */
    int64_t retry_after_s; /* -1: nothing was said of it */
    const char *way_out;   /* with status 0: what to do where trying again cannot help; else NULL */
    size_t size;           /* of the text */
    char text[RPS_HTTP_TEXT_MAX + 1]; /* the beginning of the body; of a redirection where it leads
                                         to; with status 0: what happened */
};

struct rps_http_client;

/* RPS_FAILED without libcurl. The texts of options are borrowed. */
int rps_http_open(struct rps_http_client **ret, const struct rps_http_client_options *options,
                  struct rps_error *err);
/* NULL is harmless. */
void rps_http_close(struct rps_http_client *client);

/*
 * The parts of an URL of http or https, each for free(): the URL without name, password and
 * fragment, the same without its query too, for people and for tables, and "NAME:PASSWORD" or NULL.
 * `path`: that of an URL that has none. RPS_USAGE for anything else.
 */
struct rps_http_url {
    char *request, *shown, *user;
};

int rps_http_url_parse(struct rps_http_client *client, const char *text, const char *path,
                       struct rps_http_url *ret, struct rps_error *err);
void rps_http_url_free(struct rps_http_url *url);

/*
 * Post a body to `url` with `headers` (the last is NULL): 0 and *ret, whatever the server answers
 * or does not; 1 when `wait` ended it; RPS_FAILED without memory. Redirections are answers like
 * others.
 */
int rps_http_post(struct rps_http_client *client, const struct rps_http_url *url,
                  const char *const *headers, const void *body, size_t size,
                  struct rps_http_answer *ret, struct rps_error *err);

#endif
