/* The report of a run: a document, which begins with the answer, and text in the layout of 2013. */
#ifndef RPISTAT_REPORT_H
#define RPISTAT_REPORT_H

#include <locale.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/cpus.h"
#include "rpistat/document.h"
#include "rpistat/error.h"

struct rps_plan;
struct rps_reader;
struct rps_run_summary;

#define RPS_REPORT_ANSWER_SIZE 4096

struct rps_report_options {
    int64_t from_ns, to_ns; /* the part of the run; 0 and INT64_MAX for all of it */
    struct rps_cpus cpus;   /* of a recording by CPU: each adds a table of them to the sum */
    const char *region;     /* the periods that lie wholly inside that region alone; NULL: all */
    locale_t locale;        /* of what people read, which is numbers; 0: the C locale */
    int explain;            /* 1: each event's and metric's explanation below its family */
    int figures;            /* 1: nobody reads more than these: phases and code are not looked at */
    char *answer;           /* NULL, or room of RPS_REPORT_ANSWER_SIZE for the lines that the report
                               begins with; in the layout of 2013, which has none, without phases
                               and code */
    int64_t *after_ns;      /* NULL, but of the recorder: its CPU time before the recording ended;
                               becomes that since then, as the report says it */
};

/* Put the report of a run into a document: its blocks, and which of them a CSV is. Errors: those of
 * the store. */
int rps_report_fill(struct rps_document *document, struct rps_reader *reader, int64_t run_id,
                    const struct rps_report_options *options, struct rps_error *err);

/* Write it in the layout of 2013, without intervals, to the blank. Errors: those of the store, a
 * failed write. Without `cpus` to show one by one no arena is used: it can be called by who must
 * not end without memory. */
int rps_report_write_2013(FILE *out, struct rps_reader *reader, int64_t run_id,
                          const struct rps_report_options *options, struct rps_error *err);

/*
 * What the whole run came to, and how sure that is: a new plan for rps_plan_free whose clock event,
 * events and metrics have `whole`, made from the periods as measured (beyond two million, from
 * blocks of them). For rps_writer_set_estimates. Errors: the store's.
 */
int rps_report_conclude(struct rps_reader *reader, int64_t run_id, struct rps_plan **ret,
                        struct rps_error *err);

/* --- a run's row, in `runs` and in its report ------------------------------------------------- */

/* Add a block for rows of runs. */
struct rps_block *rps_run_block(struct rps_document *document, const char *name);

/* Put a run's row. */
void rps_run_block_put(struct rps_block *block, const struct rps_run *run,
                       const struct rps_run_summary *summary);

#endif
