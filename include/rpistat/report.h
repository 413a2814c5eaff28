/* The report of a run: a document that begins with the answer, or a text in the layout of 2013. */
#pragma once

#include <locale.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/cpus.h"
#include "rpistat/document.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"

struct rps_plan;
struct rps_run_summary;

#define RPS_REPORT_ANSWER_SIZE 4096

struct rps_report_options {
    int64_t from_ns, to_ns; /* time range to report; 0 and INT64_MAX for the whole run */
    struct rps_cpus cpus;   /* CPUs to report in a recording by CPU; each has a table */
    const char *region;     /* name of a region; only periods inside are reported; NULL: all */
    locale_t locale;        /* locale of numbers in the text; 0: the C locale */
    int explain;            /* 1 to explain events and metrics below their family */
    int figures;            /* 1 if only metrics are needed, so that phases and code are not read */
    char *answer;           /* Buffer of RPS_REPORT_ANSWER_SIZE bytes for the first lines of the
                               report, or NULL. In the layout of 2013, the first lines do not
                               include phases and code. */
    int64_t *after_ns;      /* Set only by the recorder, otherwise NULL. Before the call: the
                               recorder's CPU time until the recording ended. After the call: the
                               reported CPU time since then. */
};

/* Put the blocks of a run's report into a document, and choose the block that is written as CSV.
 * Errors are those of the store. */
int rps_report_fill(struct rps_document *document, struct rps_reader *reader, int64_t run_id,
                    const struct rps_report_options *options, struct rps_error *err);

/* Write the report in the layout of 2013, without intervals. The text is identical to the text of
 * the program of 2013, even in its blanks. Errors come from the store or a failed write. */
int rps_report_write_2013(FILE *out, struct rps_reader *reader, int64_t run_id,
                          const struct rps_report_options *options, struct rps_error *err);

/* Estimate the whole run, with intervals, for rps_writer_set_estimates. *ret is a new plan for
 * rps_plan_free; `whole` is set in clock event, events and metrics. The estimates use the periods
 * as measured, or blocks for more than two million periods. Errors are those of the store. */
int rps_report_conclude(struct rps_reader *reader, int64_t run_id, struct rps_plan **ret,
                        struct rps_error *err);

struct rps_run_window;

/* Put how a window of a run differs: a sentence, the metrics, and the code. The CSV has the
 * metrics. */
void rps_window_document(struct rps_document *document, const struct rps_run *run,
                         const struct rps_run_window *window);

/* --- the row of a run, in `runs` and in its report -------------------------------------------- */

/* Add a block in which each row is a run. */
struct rps_block *rps_run_block(struct rps_document *document, const char *name);

/* Put a run into the block as a row. */
void rps_run_block_put(struct rps_block *block, const struct rps_run *run,
                       const struct rps_run_summary *summary);

/* Put the shares of functions and programs into the documents of all commands. */

/* Put the samples of a group into columns of kinds INT, NUMBER and BLOCK. The columns are the
 * number of samples, the number expected for the group's CPU time, and the functions. In the text,
 * both numbers are in one cell ("120 of 400"). The group must not be the whole run. */
void rps_share_block_put(struct rps_block *block, const struct rps_sampling *sampling,
                         const struct rps_share_group *group, double cpu_s);

/* rps_share_block_columns returns the columns of a block "stands_out". rps_share_block_stand_out
 * puts a row into the block for each name that distinguishes the group. */
const struct rps_column *rps_share_block_columns(size_t *ret_count);
void rps_share_block_stand_out(struct rps_block *block, const struct rps_share_group *group);

/* Put the CPU time of the whole run that no samples cover into the block. The text has additional
 * lines, indented by `indent`. */
void rps_share_block_unsampled(struct rps_document *document, struct rps_block *block, int indent,
                               const struct rps_sampling *sampling,
                               const struct rps_unsampled *unsampled, double cpu_s);
