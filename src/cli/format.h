/* --format of the commands that write text for people, JSON and CSV, and what their texts share. */
#ifndef RPISTAT_CLI_FORMAT_H
#define RPISTAT_CLI_FORMAT_H

#include "rpistat/rows.h"

/* The format of that name. `others`: more names for the sentence, ", 2013" or "". */
int rps_format_parse(const char *name, const char *others, enum rps_format *ret,
                     struct rps_error *err);

/* When a run began, in the reader's zone: "2026-11-21 14:30"; "?" when that is not known. */
void rps_format_start(char *ret, size_t size, int64_t realtime_ns);

/* "run 3 (label nightly, ./naive)", printable. Writes at most `size` bytes, and returns ret. */
char *rps_format_run(char *ret, size_t size, const struct rps_run *run);

#endif
