/*
 * What the parts of the report share: the report being written, and how its lines are laid
 * out.
 */
#ifndef RPISTAT_SHOW_REPORT_PARTS_H
#define RPISTAT_SHOW_REPORT_PARTS_H

#include "rpistat/report.h"
#include "rpistat/rows.h"
#include "rpistat/part_shares.h"
#include "rpistat/tally.h"
#include "rpistat/walk.h"
#include "rpistat/run_regions.h"

#define RPS_REPORT_LABEL_WIDTH  20 /* of "Label:", in the blocks */
#define RPS_REPORT_SYSTEM_WIDTH 26 /* of "Label:", above the blocks */
#define RPS_REPORT_TEXT_WIDTH   78
#define RPS_REPORT_NUMBER_SIZE  80 /* room for one number in any locale */

struct rps_report;

/* What is to be done with a remark: a sentence, or several. */
typedef void rps_report_tell(struct rps_report *report, const char *remark);

struct rps_report {
    FILE *out;
    const struct rps_report_options *options;
    struct rps_run run;
    struct rps_plan *plan;
    struct rps_cpu_series cpu_series;
    struct rps_tally tally;      /* of all CPUs added up */
    struct rps_tally *cpu_tally; /* owned; of each CPU, or NULL: not asked for */
    int64_t thinned_ns;          /* before it periods were thinned to their sums; -1: nowhere */
    struct rps_notes gaps, marks;
    struct rps_run_regions regions;
    struct rps_tally *region_tally; /* owned; of the periods that lie wholly inside each */
    struct rps_run_summary summary;
    struct rps_part_shares shares; /* a group, the part that is reported; none without samples */
    double cpu_s;                  /* of that part, of which samples may be */
    double *operand;               /* of the plan's formulas */
    rps_report_tell *tell;
    int titled;           /* the title of the remarks is printed */
    struct rps_rows rows; /* of a report for programs */
};

/* --- lines (report_lines.c); their writes fail silently, the stream remembers ----------------- */

/* A number with the locale's separators in a buffer of RPS_REPORT_NUMBER_SIZE; returns it. */
char *rps_report_count(char *ret, uint64_t count);
char *rps_report_figure(char *ret, int decimals, double figure);

/* "  Label:    " to `width`, with at least one blank behind the colon. */
void rps_report_label(struct rps_report *report, const char *label, int width);

/* A line of a label and a text; none when the text is "". */
void rps_report_field(struct rps_report *report, const char *label, const char *text);

/* A text of words, wrapped: the first line behind `indent` blanks, the others two further in. */
void rps_report_wrapped(struct rps_report *report, const char *text, int indent);

/* Label of the clock event; its unit when it does not count cycles, else "". */
const char *rps_report_clock_label(const struct rps_report *report);
const char *rps_report_clock_unit(const struct rps_report *report);

/* What is to be done with one event of a family; `context` is the caller's. */
typedef void rps_report_event(struct rps_report *report, const struct rps_event *event, int set,
                              int slot, void *context);

/* Call each for the events of a family, or of all families when it is NULL. */
void rps_report_each(struct rps_report *report, const char *family, rps_report_event *each,
                     void *context);

/* --- parts ------------------------------------------------------------------------------------ */

/* 1 when the family is not that of an event before (set, slot), or of a metric before `metric`. */
int rps_report_family_is_new(const struct rps_plan *plan, const char *family, int set, int slot,
                             int metric);

/* "Performance events": the blocks of all families (report_blocks.c). */
int rps_report_print_events(struct rps_report *report, struct rps_error *err);

/* "CPU by CPU": tables with a row a CPU (report_tables.c); nothing without cpu_tally. */
int rps_report_print_cpus(struct rps_report *report, struct rps_error *err);

/* The tables with a row a region, and what must be known of them; the marks that are not of
 * regions. Nothing where there are none, and in the layout of 2013 (report_tables.c). */
int rps_report_print_regions(struct rps_report *report, struct rps_error *err);
void rps_report_print_marks(struct rps_report *report);

/* Find the functions that the samples were in; say them, where there are any (shares.c). */
int rps_report_read_shares(struct rps_report *report, struct rps_error *err);
void rps_report_print_shares(struct rps_report *report);

/* Of JSON: the samples of a group of so much CPU time and how many were expected; the array `top`,
 * its functions. */
void rps_report_rows_group(struct rps_rows *rows, const struct rps_sampling *sampling,
                           const struct rps_share_group *group, double cpu_s);

/* 1 when the part that is reported has something of a mark or gap (report_data.c). */
int rps_report_has_note(const struct rps_report *report, const struct rps_note *note);

/* The mean period, ns, of a run whose periods the recorder stretched because switching event sets
 * took too long; 0 of all others. */
int64_t rps_report_stretched_ns(const struct rps_report *report);

/* Tell what the reader must know to trust the figures, if anything (report_remarks.c). */
void rps_report_remarks(struct rps_report *report, rps_report_tell *tell);

/* Why the event was not counted; "": it was, or the remarks have a reason for all. */
const char *rps_report_reason(const struct rps_report *report, const struct rps_event *event,
                              int set, int slot);

/* All of it as JSON, or its figures as CSV (report_data.c). */
int rps_report_write_data(struct rps_report *report, struct rps_error *err);

#endif
