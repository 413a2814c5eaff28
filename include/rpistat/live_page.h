/*
 * The page of a run that is being recorded, served to a browser on this machine: HTTP on loopback
 * alone, a secret token, GET only. The server is a reader, in a process of its own; the recorder
 * does not know of it.
 */
#ifndef RPISTAT_LIVE_PAGE_H
#define RPISTAT_LIVE_PAGE_H

#include <stdint.h>

#include "rpistat/error.h"

struct rps_live_page_options {
    const char *store_path;
    int64_t run_id;
    const char *script_folder; /* where the page's parts are */
    int port;                  /* 0: any that is free */
    /* The server stands: "http://127.0.0.1:PORT/#TOKEN". */
    void (*ready)(void *context, const char *url);
    /* Wait until `fd` can be read, or for so long; anything but 0 ends the server. */
    int (*wait)(void *context, int fd, int64_t ns);
    void *context;
};

/* Serve until `wait` says that it is over, also when the run has ended. The caller has no store
 * open meanwhile, since processes of the server open it. Errors: no libmicrohttpd, a port in use;
 * what the store says stands in the page. */
int rps_live_page_serve(const struct rps_live_page_options *options, struct rps_error *err);

#endif
