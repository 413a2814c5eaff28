/*
 * The page of a run that is being recorded, served to a browser on this machine. SAFETY: HTTP on
 * loopback only, a secret token, GET only. The server is a reader, in a process of its own; the
 * recorder does not know of it.
 */
#ifndef RPISTAT_LIVE_PAGE_H
#define RPISTAT_LIVE_PAGE_H

#include <stdint.h>

#include "rpistat/error.h"

struct rps_live_page_options {
    const char *store_path;
    int64_t run_id;
    const char *script_folder; /* directory of the page's parts */
    int port;                  /* 0: any free one */
    /* The server is ready: "http://127.0.0.1:PORT/#TOKEN". */
    void (*ready)(void *context, const char *url);
    /* Wait until `fd` is readable, at most for so long; a result other than 0 ends the server. */
    int (*wait)(void *context, int fd, int64_t ns);
    void *context;
};

/* Serve until `wait` ends it, even after the run's end. The caller must have no store open, since
 * processes of the server open it. Errors: no libmicrohttpd, a port in use; the page shows those of
 * the store. */
int rps_live_page_serve(const struct rps_live_page_options *options, struct rps_error *err);

#endif
