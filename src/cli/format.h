/* --format of the commands that write text for people, JSON and CSV. */
#ifndef RPISTAT_CLI_FORMAT_H
#define RPISTAT_CLI_FORMAT_H

#include "rpistat/rows.h"

/* The format of that name. `others`: more names for the sentence, ", 2013" or "". */
int rps_format_parse(const char *name, const char *others, enum rps_format *ret,
                     struct rps_error *err);

#endif
