/* The page of a live run in a build without libmicrohttpd's header: replaces live_page.c. */
#include "rpistat/live_page.h"

int rps_live_page_serve(const struct rps_live_page_options *options, struct rps_error *err)
{
    (void)options;
    return rps_error_set(err, RPS_FAILED,
                         "--http is not built into this rpistat: build it where libmicrohttpd's "
                         "header is (Debian: libmicrohttpd-dev)");
}
