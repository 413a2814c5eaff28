/* The page of a run that is being recorded, served to a browser on this machine. SAFETY: the server
 * uses HTTP on loopback only, requires a secret token, and accepts only GET. The server is a reader
 * in a separate process. The recorder does not depend on the server. */
#pragma once

#include <stdint.h>

#include "rpistat/error.h"

struct rps_live_page_options {
    const char *store_path;
    int64_t run_id;
    const char *script_folder; /* Directory of the parts of the page */
    int port;                  /* Port of the server (0: any free port) */
    /* Called when the server is ready, with url "http://127.0.0.1:PORT/#TOKEN". */
    void (*ready)(void *context, const char *url);
    /* Wait at most `ns` until `fd` is readable. A result other than 0 ends the server. */
    int (*wait)(void *context, int fd, int64_t ns);
    void *context;
};

/* Serve until `wait` ends the server, even after the run's end. The caller must not have the store
 * open, because child processes of the server open it. It is an error if libmicrohttpd is missing
 * or the port is in use. Errors of the store are shown on the page. */
int rps_live_page_serve(const struct rps_live_page_options *options, struct rps_error *err);
