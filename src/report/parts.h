/* What the parts of the report share: the report that is being made, and what is reported. */
#ifndef RPISTAT_REPORT_PARTS_H
#define RPISTAT_REPORT_PARTS_H

#include "rpistat/part_shares.h"
#include "rpistat/part_words.h"
#include "rpistat/profile.h"
#include "rpistat/report.h"
#include "rpistat/run_phases.h"
#include "rpistat/run_regions.h"
#include "rpistat/run_system.h"
#include "rpistat/tally.h"
#include "rpistat/walk.h"

#define RPS_REPORT_NUMBER_SIZE  80 /* room for one number in any locale */
#define RPS_REPORT_LABEL_SIZE   (2 * RPS_NAME_SIZE + 16)
#define RPS_REPORT_EXPLAIN_SIZE (RPS_NAME_SIZE + RPS_EXPLAIN_SIZE + 4)

struct rps_report;

/* The clock event, an event or a metric; texts are the plan's. */
struct rps_report_item {
    const struct rps_event *event;   /* NULL: a metric */
    const struct rps_metric *metric; /* NULL: an event */
    int set, slot;                   /* of an event; set -1: the clock event */
    const char *label, *unit, *family;
};

/* What it came to over a tally. */
struct rps_report_value {
    int is_counted; /* 1: an event, and counted */
    uint64_t count;
    int has_estimate;
    uint64_t estimate; /* scaled, and rounded; in the layout of 2013 down */
    double number;     /* the same, or that of the metric; NaN: not known, or hardly counted */
    struct rps_interval sure;
};

/* What is to be done with a remark: a sentence, or several. */
typedef void rps_report_tell(struct rps_report *report, const char *remark);

struct rps_report {
    struct rps_arena *arena;       /* owned */
    struct rps_document *document; /* or NULL, and: */
    FILE *out;                     /* of the layout of 2013 */
    int plain;                     /* 1: it is that layout, without intervals */
    const struct rps_report_options *options;
    struct rps_run run;
    struct rps_plan *plan;
    struct rps_report_item *item; /* the clock event, then family by family */
    size_t item_count;
    struct rps_cpu_series cpu_series;
    struct rps_tally tally;      /* of all CPUs added up */
    struct rps_tally *cpu_tally; /* of each CPU, or NULL: not asked for */
    int64_t thinned_ns;          /* before it periods were thinned to their sums; -1: nowhere */
    struct rps_notes gaps, marks;
    struct rps_run_regions regions;
    struct rps_tally *region_tally; /* of the periods that lie wholly inside each */
    struct rps_run_summary summary;
    struct rps_part_shares shares; /* a group, the part that is reported; none without samples */
    double cpu_s;                  /* of that part, of which samples may be */
    struct rps_phase_levels levels;
    const struct rps_phases *phases;     /* of the run, as they are shown; NULL: not known, */
    struct rps_error no_phases;          /* and why, if that is an error */
    char remark[RPS_PHASE_REMARK_SIZE];  /* on all of them */
    struct rps_profile profile;          /* of the part; without figures: not known */
    struct rps_part_shares label_shares; /* a group each label, in the part */
    struct rps_part_shares rest_shares;  /* of a part of the run, and of the rest of the run */
    const char *part_words;              /* what sets the part apart; NULL: unknown, or no part */
    struct rps_run_system system;        /* of the part */
    double *operand;                     /* of the plan's formulas */
    rps_report_tell *tell;
    int titled;               /* the title of the remarks is printed */
    struct rps_block *fields; /* those that are being put */
};

/* --- what is reported (figures.c) ------------------------------------------------------------- */

/* List the items. */
void rps_report_list(struct rps_report *report);

/* What one came to; report->operand has the tally's operands, for metrics. */
struct rps_report_value rps_report_value(const struct rps_report *report,
                                         const struct rps_report_item *item,
                                         const struct rps_tally *tally);

/* The items of one family are first ... end - 1, events first; periods of their sets. */
size_t rps_report_family_end(const struct rps_report *report, size_t first);
uint64_t rps_report_family_periods(const struct rps_report *report, size_t first, size_t end);

/* Its label, with the unit where it does not count things; the heading of a column by the clock
 * event; "Label: explanation", "" where none is asked for. All return ret. */
char *rps_report_label(const struct rps_report_item *item, char ret[RPS_REPORT_LABEL_SIZE]);
char *rps_report_per_clock(const struct rps_report *report, char ret[RPS_REPORT_LABEL_SIZE]);
/* What that column divides by, of report->operand: millions of cycles, or ms; 0: not known. */
double rps_report_clock_units(const struct rps_report *report);
char *rps_report_explain(const struct rps_report *report, const struct rps_report_item *item,
                         char ret[RPS_REPORT_EXPLAIN_SIZE]);

/* --- fields (fields.c) ------------------------------------------------------------------------ */

/* A number with the locale's separators in a buffer of RPS_REPORT_NUMBER_SIZE; returns it. */
char *rps_report_count(char *ret, uint64_t count);
char *rps_report_figure(char *ret, int decimals, double figure);

/* Label of the clock event; its unit when it does not count cycles, else "". */
const char *rps_report_clock_label(const struct rps_report *report);
const char *rps_report_clock_unit(const struct rps_report *report);

/* The mean period, ns, of a run whose periods the recorder stretched because switching event sets
 * took too long; 0 of all others. */
int64_t rps_report_stretched_ns(const struct rps_report *report);

/* Are there more periods than the nominal length allows, as record --fine-start makes them? */
int rps_report_has_fine_start(const struct rps_report *report);

/* Is a part of the run alone reported? */
int rps_report_is_part(const struct rps_report *report);

/* CPU time of the part, in seconds; of a whole run of which Linux has not counted all, what Linux
 * says that its command took, if that is more. */
double rps_report_cpu_s(const struct rps_report *report);

/* When the run began, by the clock of the reader's zone; "" not known. Returns ret. */
char *rps_report_start(const struct rps_report *report, char ret[RPS_REPORT_NUMBER_SIZE]);

/* "System information" and "Run". */
void rps_report_machine(struct rps_report *report);
void rps_report_run(struct rps_report *report);

/* --- parts ------------------------------------------------------------------------------------ */

/* What the report begins with: lines of a sentence each; what they say of phases is read before, as
 * far as it can be (answer.c): RPS_FAILED without memory alone. Returns ret. */
int rps_report_read_phases(struct rps_report *report, struct rps_error *err);
/* Where its time went, and what packages took, as far as it was read (system.c): read it; sentences without the last full
 * stop, or ""; the members that programs read. Errors: the store's. */
int rps_report_read_system(struct rps_report *report, struct rps_error *err);
char *rps_report_time(const struct rps_report *report, char *ret, size_t size);
char *rps_report_packages(const struct rps_report *report, char *ret, size_t size);
void rps_report_system(struct rps_report *report);

char *rps_report_answer(const struct rps_report *report, char ret[RPS_REPORT_ANSWER_SIZE]);

/* All of it in the layout of 2013 (layout_2013.c). RPS_FAILED without memory, or when it could not
 * be written. */
int rps_report_print(struct rps_report *report, struct rps_error *err);

/* Blocks of the document (blocks.c): what programs read of the run, the figures, tables with a row
 * a CPU or region, marks and gaps. */
void rps_report_members(struct rps_report *report);
void rps_report_figures(struct rps_report *report);
void rps_report_cpus(struct rps_report *report, struct rps_document *document);
void rps_report_regions(struct rps_report *report);
void rps_report_notes(struct rps_report *report);

/* Find the functions that the samples were in; put them, where there are any (shares.c). */
int rps_report_read_shares(struct rps_report *report, struct rps_error *err);
void rps_report_shares(struct rps_report *report);

/* The same in a sentence without its full stop: the first functions of all of it with their shares.
 * "" where samples are too few to tell. Returns ret. */
char *rps_report_shares_of_run(const struct rps_report *report, char *ret, size_t size);

/* Write the shares of programs in the time that threads of the machine waited for a CPU: "make 30 %,
 * cc1 20 %, 4 others 50 %"; "" if they are unknown. Returns ret. */
char *rps_report_waits(const struct rps_report *report, char *ret, size_t size);

/* Write in which classes of a machine a program ran beyond chance more than elsewhere, the largest
 * difference first: "B from 20.1 s on, 27 % of samples in xz (elsewhere 2 %)"; "" if there are none.
 * Returns ret. */
char *rps_report_differences(const struct rps_report *report, char *ret, size_t size);

/* --- remarks (remarks.c) ---------------------------------------------------------------------- */

/* Tell what the reader must know to trust the figures, if anything. */
void rps_report_remarks(struct rps_report *report, rps_report_tell *tell);

/* Why the event was not counted; "": it was, or the remarks have a reason for all. */
const char *rps_report_reason(const struct rps_report *report, const struct rps_event *event,
                              int set, int slot);

#endif
