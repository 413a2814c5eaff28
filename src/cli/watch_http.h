/* `rpistat watch --http`: the page of a run, served to a browser on this machine. */
#ifndef RPISTAT_CLI_WATCH_HTTP_H
#define RPISTAT_CLI_WATCH_HTTP_H

#include "cli.h"

/* Serve until a signal ends it; the reader is closed. Errors: those of rps_live_page_serve. */
int rps_watch_http(struct rps_cli *cli, int64_t run_id, int port);

#endif
