/*
 * Exports: a run written for other programs. Formats are rows of a const table, a file each; numbers
 * are in the C locale whatever the environment says.
 */
#ifndef RPISTAT_EXPORT_H
#define RPISTAT_EXPORT_H

#include <stdint.h>
#include <stdio.h>

#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/store.h"

struct rps_export_options {
    int64_t from_ns, to_ns; /* the part of the run; 0 and INT64_MAX for all of it */
    struct rps_cpus cpus;   /* of a recording by CPU; the sum has -1 in its column cpu */
    char separator;         /* ',' */
    char decimal;           /* '.' */
    int crlf;               /* 1: lines end in CR LF */
    int bom;                /* 1: a UTF-8 byte order mark first */
};

struct rps_export_format {
    const char *name;    /* "wide", "rates", "long" */
    const char *summary; /* one line for --help */
    int (*write)(FILE *out, struct rps_reader *reader, int64_t run_id,
                 const struct rps_export_options *options, struct rps_error *err);
};

/* All formats; the last row has a NULL name. */
extern const struct rps_export_format rps_export_formats[];

/* The format of that name, or NULL. */
const struct rps_export_format *rps_export_find(const char *name);

#endif
