/* The report of a run: a document that begins with the answer, or text in the layout of 2013. */
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
    struct rps_cpus cpus;   /* for a recording by CPU: each adds its own table to the sum */
    const char *region;     /* only the periods completely inside that region; NULL: all */
    locale_t locale;        /* of numbers in the text; 0: the C locale */
    int explain;            /* 1: explanations of events and metrics below their family */
    int figures;            /* 1: only metrics are needed: phases and code are not read */
    char *answer;           /* NULL, or RPS_REPORT_ANSWER_SIZE bytes for the lines that the report
                               begins with. The layout of 2013 has none: then without phases and
                               code */
    int64_t *after_ns;      /* NULL, except in the recorder: its CPU time before the recording
                               ended; becomes the CPU time since then, as reported */
};

/* Put the report of a run into a document: its blocks, and the choice of its CSV. Errors: those of
 * the store. */
int rps_report_fill(struct rps_document *document, struct rps_reader *reader, int64_t run_id,
                    const struct rps_report_options *options, struct rps_error *err);

/* Write the report in the layout of 2013, without intervals, identical to the blank. Errors: those
 * of the store, a failed write. */
int rps_report_write_2013(FILE *out, struct rps_reader *reader, int64_t run_id,
                          const struct rps_report_options *options, struct rps_error *err);

/*
 * Estimate the whole run, with intervals. *ret: a new plan for rps_plan_free whose clock event,
 * events and metrics have `whole`, from the periods as measured (beyond two million, from blocks).
 * For rps_writer_set_estimates. Errors: those of the store.
 */
int rps_report_conclude(struct rps_reader *reader, int64_t run_id, struct rps_plan **ret,
                        struct rps_error *err);

/* --- the row of a run, in `runs` and in its report -------------------------------------------- */

/* Add a block for rows of runs. */
struct rps_block *rps_run_block(struct rps_document *document, const char *name);

/* Put the row of a run. */
void rps_run_block_put(struct rps_block *block, const struct rps_run *run,
                       const struct rps_run_summary *summary);

#endif
