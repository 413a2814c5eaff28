/* --format of the commands that write text for people, JSON and CSV, and what their texts share. */
#ifndef RPISTAT_CLI_FORMAT_H
#define RPISTAT_CLI_FORMAT_H

#include "cli.h"
#include "rpistat/document.h"

/* The words of --format, in the order of enum rps_format. */
#define RPS_FORMATS "text json csv"

/* Write a document to cli->out, fitted to the terminal when that is where it goes. RPS_FAILED
 * without memory. */
int rps_format_document(struct rps_cli *cli, const struct rps_document *document,
                        enum rps_format format);

/* "run 3 (label nightly, ./naive)", printable. Writes at most `size` bytes, and returns ret. */
char *rps_format_run(char *ret, size_t size, const struct rps_run *run);

#endif
