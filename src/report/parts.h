/* Declarations shared by the parts of the report: the report being made, and its items. */
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

#define RPS_REPORT_NUMBER_SIZE  80 /* size of a number in any locale */
#define RPS_REPORT_LABEL_SIZE   (2 * RPS_NAME_SIZE + 16)
#define RPS_REPORT_EXPLAIN_SIZE (RPS_NAME_SIZE + RPS_EXPLAIN_SIZE + 4)

struct rps_report;

/* The clock event, an event or a metric; the plan owns the texts. */
struct rps_report_item {
    const struct rps_event *event;   /* NULL: a metric */
    const struct rps_metric *metric; /* NULL: an event */
    int set, slot;                   /* of an event; set -1: the clock event */
    const char *label, *unit, *family;
};

/* The value of an item over a tally. */
struct rps_report_value {
    int is_counted; /* 1: an event, and counted */
    uint64_t count;
    int has_estimate;
    uint64_t estimate; /* scaled, and rounded; in the layout of 2013 down */
    double number;     /* likewise, or of the metric; NaN: not known, or hardly counted */
    struct rps_interval sure;
};

/* Receives a remark: one sentence, or several. */
typedef void rps_report_tell(struct rps_report *report, const char *remark);

struct rps_report {
    struct rps_arena *arena;       /* owned */
    struct rps_document *document; /* or NULL, with: */
    FILE *out;                     /* for the layout of 2013 */
    int plain;                     /* 1: that layout, without intervals */
    const struct rps_report_options *options;
    struct rps_run run;
    struct rps_plan *plan;
    struct rps_report_item *item; /* the clock event, then one family after another */
    size_t item_count;
    struct rps_cpu_series cpu_series;
    struct rps_tally tally;      /* of all CPUs, added up */
    struct rps_tally *cpu_tally; /* of each CPU; NULL: not requested */
    int64_t thinned_ns;          /* earlier periods were downsampled; -1: none */
    struct rps_notes gaps, marks;
    struct rps_run_regions regions;
    struct rps_tally *region_tally; /* of the periods that are completely inside each */
    struct rps_run_summary summary;
    struct rps_part_shares shares; /* one group: the reported part; none without samples */
    double cpu_s;                  /* of that part, as far as it may have samples */
    struct rps_phase_levels levels;
    const struct rps_phases *phases;     /* of the run, as shown; NULL: not known, */
    struct rps_error no_phases;          /* and the reason, if that is an error */
    char remark[RPS_PHASE_REMARK_SIZE];  /* on all phases */
    struct rps_profile profile;          /* of the part; without metrics: not known */
    struct rps_part_shares label_shares; /* one group per class, in the part */
    struct rps_part_shares rest_shares;  /* of a part of the run, and of the rest of the run */
    const char *part_words;              /* how the part differs; NULL: unknown, or no part */
    struct rps_run_system system;        /* of the part */
    double *operand;                     /* of the plan's formulas */
    rps_report_tell *tell;
    int titled;               /* the title of the remarks was printed */
    struct rps_block *fields; /* the current ones */
};

/* --- items (figures.c) ------------------------------------------------------------------------ */

/* List the items. */
void rps_report_list(struct rps_report *report);

/* Return an item's value; report->operand has the tally's operands, for metrics. */
struct rps_report_value rps_report_value(const struct rps_report *report,
                                         const struct rps_report_item *item,
                                         const struct rps_tally *tally);

/* Return the end of the family from item `first` on, events first; the periods of its sets. */
size_t rps_report_family_end(const struct rps_report *report, size_t first);
uint64_t rps_report_family_periods(const struct rps_report *report, size_t first, size_t end);

/* Format an item's label, with the unit unless it counts things. Format the heading of the column
 * by the clock event. Format "Label: explanation", "" if not requested. All return ret. */
char *rps_report_label(const struct rps_report_item *item, char ret[RPS_REPORT_LABEL_SIZE]);
char *rps_report_per_clock(const struct rps_report *report, char ret[RPS_REPORT_LABEL_SIZE]);
/* Return the divisor of that column, of report->operand: millions of cycles, or ms; 0: unknown. */
double rps_report_clock_units(const struct rps_report *report);
char *rps_report_explain(const struct rps_report *report, const struct rps_report_item *item,
                         char ret[RPS_REPORT_EXPLAIN_SIZE]);

/* --- fields (fields.c) ------------------------------------------------------------------------ */

/* Format a number with the locale's separators into RPS_REPORT_NUMBER_SIZE bytes; return ret. */
char *rps_report_count(char *ret, uint64_t count);
char *rps_report_figure(char *ret, int decimals, double figure);

/* Return the label of the clock event; its unit, "" for cycles. */
const char *rps_report_clock_label(const struct rps_report *report);
const char *rps_report_clock_unit(const struct rps_report *report);

/* Return the mean period, ns, if the recorder stretched periods because switching event sets took
 * too long; otherwise 0. */
int64_t rps_report_stretched_ns(const struct rps_report *report);

/* Return 1 if there are more periods than the nominal length allows, as with --fine-start. */
int rps_report_has_fine_start(const struct rps_report *report);

/* Return 1 if only a part of the run is reported. */
int rps_report_is_part(const struct rps_report *report);

/* Return the CPU time of the part, s. For a whole run that Linux has not counted completely, it is
 * the command's resource usage, if that is more. */
double rps_report_cpu_s(const struct rps_report *report);

/* Format the start of the run in the user's time zone; "": not known. Return ret. */
char *rps_report_start(const struct rps_report *report, char ret[RPS_REPORT_NUMBER_SIZE]);

/* Put "System information" and "Run". */
void rps_report_machine(struct rps_report *report);
void rps_report_run(struct rps_report *report);

/* --- parts ------------------------------------------------------------------------------------ */

/* Format the lines that the report begins with. First read the phases, if possible (answer.c):
 * RPS_FAILED only without memory. Return ret. */
int rps_report_read_phases(struct rps_report *report, struct rps_error *err);
/* Read how the time was spent, and readings of packages (system.c). Format them as sentences
 * without the last full stop, or ""; put the members for programs. Errors: those of the store. */
int rps_report_read_system(struct rps_report *report, struct rps_error *err);
char *rps_report_time(const struct rps_report *report, char *ret, size_t size);
char *rps_report_packages(const struct rps_report *report, char *ret, size_t size);
void rps_report_system(struct rps_report *report);

char *rps_report_answer(const struct rps_report *report, char ret[RPS_REPORT_ANSWER_SIZE]);

/* Print everything in the layout of 2013 (layout_2013.c). RPS_FAILED: no memory, or a failed
 * write. */
int rps_report_print(struct rps_report *report, struct rps_error *err);

/* Put blocks of the document (blocks.c): the run's members for programs, the metrics, tables with
 * one row per CPU or region, marks and gaps. */
void rps_report_members(struct rps_report *report);
void rps_report_figures(struct rps_report *report);
void rps_report_cpus(struct rps_report *report, struct rps_document *document);
void rps_report_regions(struct rps_report *report);
void rps_report_notes(struct rps_report *report);

/* Find the functions of the samples; put them, if there are any (shares.c). */
int rps_report_read_shares(struct rps_report *report, struct rps_error *err);
void rps_report_shares(struct rps_report *report);

/* Format them in a sentence without its full stop: the run's first functions with their shares; ""
 * if there are too few samples. Return ret. */
char *rps_report_shares_of_run(const struct rps_report *report, char *ret, size_t size);

/* Format the shares of programs in the time that threads of the machine waited for a CPU. "make 30
 * %, cc1 20 %, 4 others 50 %"; "": unknown. Return ret. */
char *rps_report_waits(const struct rps_report *report, char *ret, size_t size);

/* Format the classes of a machine in which a program ran more than elsewhere, beyond chance. The
 * largest difference is first: "B from 20.1 s on, 27 % of samples in xz (elsewhere 2 %)"; "": none.
 * Return ret. */
char *rps_report_differences(const struct rps_report *report, char *ret, size_t size);

/* --- remarks (remarks.c) ---------------------------------------------------------------------- */

/* Pass on all remarks that affect the reliability of the values. */
void rps_report_remarks(struct rps_report *report, rps_report_tell *tell);

/* Return why the event was not counted; "": it was, or a remark gives one reason for all. */
const char *rps_report_reason(const struct rps_report *report, const struct rps_event *event,
                              int set, int slot);

#endif
