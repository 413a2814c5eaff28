/* --format of the commands that write text for people, JSON and CSV, and what their texts share. */
#ifndef RPISTAT_CLI_FORMAT_H
#define RPISTAT_CLI_FORMAT_H

#include "rpistat/rows.h"

/* The words of --format, in the order of enum rps_format. */
#define RPS_FORMATS "text json csv"

/* When a run began, in the reader's zone: "2026-11-21 14:30"; "?" when that is not known. */
void rps_format_start(char *ret, size_t size, int64_t realtime_ns);

/* "run 3 (label nightly, ./naive)", printable. Writes at most `size` bytes, and returns ret. */
char *rps_format_run(char *ret, size_t size, const struct rps_run *run);

#endif
