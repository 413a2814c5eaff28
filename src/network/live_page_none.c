/* The page of a live run without libmicrohttpd's header. This file replaces live_page.c. */
#include "rpistat/live_page.h"

int rps_live_page_serve(const struct rps_live_page_options *options, struct rps_error *err)
{
    (void)options;
    return rps_error_set(err, RPS_FAILED,
                         "this rpistat was built without --http; rebuild it with libmicrohttpd "
                         "(Debian: libmicrohttpd-dev)");
}
