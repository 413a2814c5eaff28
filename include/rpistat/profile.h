/* Profiles of phases: metrics of a run, or columns of a table, for each phase, each label and the
 * whole run. A profile shows the spread of each metric, and which metrics separate the phases. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/cpus.h"
#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/loops.h"
#include "rpistat/interval.h"
#include "rpistat/part_shares.h"
#include "rpistat/period.h"
#include "rpistat/phase.h"
#include "rpistat/phases.h"

struct rps_run_system;

struct rps_figure {
    char name[RPS_NAME_SIZE];
    char label[RPS_NAME_SIZE];
    char unit[RPS_NAME_SIZE];
    char panel[RPS_NAME_SIZE]; /* panel of the metric, or ""; a panel's metrics add up to a total */
    int is_of_package;         /* 1 for the energy of a package, which is a total, not a mean */
    double whole;              /* value over the whole run or table; NaN: never observed */
    struct rps_interval interval; /* interval of `whole` */
    double rest; /* Value over everything outside the main label, for comparison with the main
                    label. NaN if there is no main label. */
    struct rps_interval rest_interval;
    double spread;    /* standard deviation of the observations */
    double inside;    /* Standard deviation within labels: root of the mean variance. */
    double clumps;    /* Variance of a label's mean, divided by the variance for independent
                      observations. The ratio is above 1 if neighbours are alike. 0 means 1. */
    double explained; /* share of the variance that lies between the labels' means, 0 to 1; NaN:
                         the metric does not vary */
    double apart;     /* How clearly the metric separates the labels: the deviation between
                         labels, divided by the mean or the spread of all (whichever is larger),
                         times `explained`. 0: not at all. */
    double error; /* In the profile of a window: half the width of the interval for the difference
                     between both sides (rpistat/run_window.h). NaN: unknown */
};

struct rps_profile_label {
    size_t occurrences;
    int is_ramp;       /* 1 if the label's values change steadily (struct rps_phase, trend) */
    uint64_t periods;  /* number of periods, or of table rows */
    int64_t length_ns; /* length of the label; 0 without times */
    double seconds;    /* total length of the label's periods, for a run */
    double cpu_s;      /* CPU time in the label's periods */
    char code[48];     /* code name after the label's letter, from rps_profile_code: "solve" */
    int is_described;  /* 1 if code or sleep describes the label, from rps_profile_code */
    char place[RPS_SHARE_TEXT_SIZE]; /* Text that precedes the label's words, for example "in
                                        solve", from rps_profile_place. */
};

struct rps_profile {
    struct rps_arena *arena; /* arena of the profile and of the arrays below */
    size_t figure_count;
    struct rps_figure *figure; /* metrics in the order of the plan or table */
    size_t *order;             /* Indices of the metrics: first `cpi`, then metrics that separate
                                  labels most and vary unlike earlier ones. */
    size_t phase_count;
    uint64_t periods;                    /* periods of all phases, or table rows */
    int64_t length_ns;                   /* length of all phases; 0 without times */
    const int *label_of;                 /* label of each phase */
    double *phase;                       /* value of each metric in each phase: phase[phase *
                                            figure_count + figure] */
    struct rps_interval *phase_interval; /* Intervals of `phase`, with the same indices. Columns
                                            of a table have no intervals. */
    int label_count;
    int main_label;                     /* label with more than half of the whole; -1: none */
    struct rps_profile_label *label;    /* data of each label */
    double *mean;                       /* value of each metric in each label: mean[label *
                                           figure_count + figure] */
    struct rps_interval *mean_interval; /* intervals of `mean`, with the same indices */
    double *spread;                     /* standard deviation between observations (rotations,
                                           rows) of a label, with the indices of `mean` */
    struct rps_run_system *system;      /* System metrics of each label, and of all together
                                           (rpistat/run_system.h). NULL: not read, or a table. */
    struct rps_profile
        *io;           /* Profile of memory and of bytes read and written for these labels. In this
                profile, readings of system metrics take the role of periods, and the label of a
                metric is a verb. NULL: not read. In the profile of a window, the
                verb is in `panel` ("": none). */
    const char *other; /* In the profile of a window: text for label 1, which label 0 is compared
                          with ("rest of the run"). NULL: any other profile */
    struct rps_loops loops; /* loops in the sequence of phases */
};

/* Make `count` profiles of a run and read the run's periods once. ret[i] describes phases[i] (from
 * rps_run_phases_get or _detect, or parts of these). The metrics are those of the run's plan, then
 * CPU use, then metrics of packages if present. Each value is computed from sums over the segment.
 * CPUs of a recording by CPU are added up. Periods outside [from_ns, to_ns) are left out. Only the
 * first `intervals` profiles get intervals. Errors are those of the store. */
int rps_profile_run(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, const struct rps_cpus *cpus,
                    const struct rps_phases *phases, size_t count, size_t intervals,
                    struct rps_profile *ret, struct rps_error *err);

/* Return the profile of the phases of signals: means of the observed values. `name` has the
 * signals' names. Phases are numbered in rows; rows_per is the number of rows per observation. */
struct rps_profile rps_profile_signals(struct rps_arena *arena, const struct rps_signals *signals,
                                       const char *const *name, size_t rows_per,
                                       const struct rps_phases *phases);

/* Return the share (0 to 1) of a phase or label in the time of all phases. Without times, return
 * the share of the rows. */
double rps_profile_share(const struct rps_profile *profile, int64_t length_ns, uint64_t periods);

/* Describe how a label differs from the whole run or table. The text begins with `place` of the
 * label, followed by at most three clauses on the metrics that differ most. Example: "3.1 x the
 * page faults of the whole run, CPI 2.4 (whole run: 1.1)". A metric is described if it differs by
 * 15 % and by more than chance, also from most other labels. In the profile of a window, 5 % are
 * enough. System metrics follow: "sleeps in timers", "RSS 306 MiB summed over processes", "waits
 * for a CPU 82 % of the time that it could run". Clauses after the first are left out if they
 * exceed `room` characters (0: no limit). Without clauses, the text is "similar to the whole run",
 * "similar to the whole run; small difference: " and a rate that takes little time, "similar to
 * most other classes", "no difference beyond chance", or "" if nothing can be compared. Without
 * `room`, a difference from the class before follows. Numbers are in the thread's locale. Return
 * ret. */
#define RPS_PROFILE_WORDS_SIZE 1536
char *rps_profile_words(char ret[RPS_PROFILE_WORDS_SIZE], const struct rps_profile *profile,
                        int label, int room);

/* Words of a window without a difference that can be described. */
#define RPS_PROFILE_NO_METRIC "no compared metric differs by at least 5 % and by more than chance"

/* For the profile of a window, return how label 0 differs from label 1 in a metric, as the
 * logarithm of their ratio. Return 0 for a difference below 5 % or within chance. Return NaN for a
 * metric that is not compared: even a change to zero would be within chance, or it is unknown. */
double rps_profile_difference(const struct rps_profile *profile, size_t figure);

/* Return the number of metrics that the words of a label mention; ret has their indices. */
#define RPS_PROFILE_DIFFERENCES_MAX 3
int rps_profile_reported(const struct rps_profile *profile, int label,
                         size_t ret[RPS_PROFILE_DIFFERENCES_MAX]);

/* Return the phases whose profile the remark needs: the tenths of ramps, or of a run that drifts.
 * Without ramps and drift, there are no phases. The phases are in the arena. */
struct rps_phases rps_profile_tenths(struct rps_arena *arena, const struct rps_found_phases *found);

/* Write the remark on the whole run into ret: a sentence without its full stop, or "". The remark
 * reports repetition, and how large the drift is according to `tenths`, the profile of the phases
 * from rps_profile_tenths. If observations are single periods, the remark reports for which share
 * of the time the class is uncertain, and whether the recorder missed most periods. If observations
 * are blocks, the remark reports changes that blocks hide. */
void rps_profile_remark(const struct rps_found_phases *found, const struct rps_observing *observing,
                        const struct rps_profile *tenths, char ret[RPS_PHASE_REMARK_SIZE]);

/* Append to the remark how far RSS rises or falls, if it does so steadily during the whole run, or
 * during a phase that takes at least half of the time. Errors are those of the store. */
int rps_profile_remark_memory(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                              const struct rps_phases *phases, char ret[RPS_PHASE_REMARK_SIZE],
                              struct rps_error *err);

/* Set the text that precedes the words of a label: the functions in which the label was sampled.
 * `shares` has one group per label. Source lines are left out, because legends lack the space,
 * unless the line distinguishes the label. */
void rps_profile_place(struct rps_profile *profile, const struct rps_part_shares *shares);

/* Describe how each label of a profile differs from the whole run, as rps_profile_words does. The
 * result is an array in the profile's arena with one text per label. `shares` has one group per
 * label, or is empty. */
const char **rps_part_words(struct rps_profile *profile, const struct rps_part_shares *shares);

/* Give each label a name, used in reports, tables, charts, pages and exports. A label with little
 * CPU time is named after its main reason of sleep: "asleep in timers". Any other label is named
 * after the function or program that has at least half of its samples. `shares` has one group per
 * label, or none. If all labels would get the same name, no label gets a name. */
void rps_profile_code(struct rps_profile *profile, const struct rps_part_shares *shares);
