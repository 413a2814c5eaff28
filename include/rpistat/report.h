/* The text report of a run: the layout and labels of 2013, by families of events. */
#ifndef RPISTAT_REPORT_H
#define RPISTAT_REPORT_H

#include <locale.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/store.h"

struct rps_report_options {
    int64_t from_ns, to_ns; /* the part of the run; 0 and INT64_MAX for all of it */
    struct rps_cpus cpus;   /* of a recording by CPU: each adds a table of them to the sum */
    locale_t locale;        /* separators of thousands and decimals; (locale_t)0: the C locale */
    int explain;            /* 1: each event's and metric's explanation below its block */
};

/* Write the report of a run. Errors: those of the store, a failed write. */
int rps_report_write(FILE *out, struct rps_reader *reader, int64_t run_id,
                     const struct rps_report_options *options, struct rps_error *err);

#endif
