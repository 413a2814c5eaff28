/* The report of a run: as text in the layout and with the labels of 2013, by families of events,
 * and as JSON and CSV; and how sure the estimates are. */
#ifndef RPISTAT_REPORT_H
#define RPISTAT_REPORT_H

#include <locale.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/store.h"

enum rps_report_layout {
    RPS_REPORT_2013,      /* as it was: no intervals */
    RPS_REPORT_INTERVALS, /* behind each estimate that was counted in turns its 95 % interval */
    RPS_REPORT_JSON,      /* the same for programs, */
    RPS_REPORT_CSV,       /* and its figures as a table */
};

#define RPS_REPORT_ANSWER_SIZE 4096

struct rps_report_options {
    enum rps_report_layout layout;
    int64_t from_ns, to_ns; /* the part of the run; 0 and INT64_MAX for all of it */
    struct rps_cpus cpus;   /* of a recording by CPU: each adds a table of them to the sum */
    const char *region;     /* the periods that lie wholly inside that region alone; NULL: all */
    locale_t locale;        /* separators of thousands and decimals in text; 0: the C locale */
    int explain;            /* 1: each event's and metric's explanation below its block */
    char *answer;           /* NULL, or room of RPS_REPORT_ANSWER_SIZE for the lines that the report
                               begins with */
    int64_t *after_ns;      /* NULL, but of the recorder: its CPU time before the recording ended;
                               becomes that since then, as the report says it */
};

/* Write the report of a run. Errors: those of the store, a failed write. */
int rps_report_write(FILE *out, struct rps_reader *reader, int64_t run_id,
                     const struct rps_report_options *options, struct rps_error *err);

/*
 * What the whole run came to, and how sure that is: a new plan for rps_plan_free whose clock event,
 * events and metrics have `whole`, made from the periods as measured (beyond two million, from
 * blocks of them). For rps_writer_set_estimates. Errors: the store's.
 */
int rps_report_conclude(struct rps_reader *reader, int64_t run_id, struct rps_plan **ret,
                        struct rps_error *err);

#endif
