/*
 * Profiles of phases: metrics of a run, or columns of a table, for each phase, each label and the
 * whole. They show how the values spread, and which of them separate the phases.
 */
#ifndef RPISTAT_PROFILE_H
#define RPISTAT_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/cpus.h"
#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/fold.h"
#include "rpistat/interval.h"
#include "rpistat/part_shares.h"
#include "rpistat/period.h"
#include "rpistat/phase.h"
#include "rpistat/phases.h"

struct rps_plan;
struct rps_reader;

struct rps_run_system;

struct rps_figure {
    char name[RPS_NAME_SIZE];
    char label[RPS_NAME_SIZE];
    char unit[RPS_NAME_SIZE];
    char panel[RPS_NAME_SIZE]; /* of the metric: metrics of one panel are parts of one thing; "" */
    int is_of_package; /* 1: not a mean of observations; an energy is the sum of all of it */
    double whole;      /* over everything; NaN: never observed, as below */
    struct rps_interval interval; /* of the whole */
    double rest; /* over everything but the main label, which is most of the whole and is tested
                    against the rest; NaN without one */
    struct rps_interval rest_interval;
    double spread; /* standard deviation of the observations */
    double inside; /* the same inside labels: root of the mean variance, weighted by observations */
    double clumps; /* variance of a label's mean, as a multiple of that of independent observations:
                      neighbours are alike; 0, 1: no more than that */
    double explained; /* share of the variance that lies between the labels' means, 0 ... 1; NaN:
                         the metric does not vary */
    double apart;     /* how well it separates labels: deviation between them by the larger of the
                         mean and the spread of all, times the share of variance between them; 0:
                         not at all */
};

struct rps_profile_label {
    size_t occurrences;
    int is_ramp;       /* 1: its values change steadily (struct rps_phase, trend) */
    uint64_t periods;  /* or rows */
    int64_t length_ns; /* 0 without times */
    double seconds;    /* of a run: the length of its periods, */
    double cpu_s;      /* and the CPU time in them */
    char code[48];     /* "solve", "gzip": after its letter; rps_profile_code. "" at first */
    char place[RPS_SHARE_TEXT_SIZE]; /* "in solve": before its words; rps_profile_place. "" at
                                        first */
};

struct rps_profile {
    struct rps_arena *arena; /* that it was made in, also the arrays below */
    size_t figure_count;
    struct rps_figure *figure; /* in the order of the plan or table */
    size_t *order;             /* indices of metrics: `cpi`, then those that separate labels most,
                                  and do not repeat earlier ones */
    size_t phase_count;
    uint64_t periods;                    /* of all phases; or rows */
    int64_t length_ns;                   /* 0 without times */
    double *phase;                       /* phase[phase * figure_count + figure] */
    struct rps_interval *phase_interval; /* same places; none for columns of a table, as for the
                                            other intervals */
    int label_count;
    int main_label;                     /* has more than half of everything; -1: no label has */
    struct rps_profile_label *label;    /* of each label */
    double *mean;                       /* mean[label * figure_count + figure] */
    struct rps_interval *mean_interval; /* same places */
    double *spread;                     /* same places: standard deviation between the
                                        label's observations (rotations, rows) */
    struct rps_run_system *system;      /* of each label, and of all: rpistat/run_system.h; NULL:
                                           not read, as for a table */
    struct rps_profile
        *io; /* memory, and bytes read and written, of the same labels; its periods are readings.
                NULL: not read. A metric's label is the verb */
    struct rps_loops loops; /* of the phases */
};

/*
 * Profile a run's phases (as of rps_run_phases_get or _detect), walking its periods once. The
 * metrics are those of its plan, and CPU use, each over the segment: a ratio of sums. Those of
 * packages follow, if they were read. CPUs of a recording by CPU are added up. Periods outside
 * [from_ns, to_ns) are left out. Errors: the store's.
 */
int rps_profile_run(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, const struct rps_cpus *cpus,
                    const struct rps_phases *phases, struct rps_profile *ret,
                    struct rps_error *err);

/* Return the profile of phases of signals, with signal_count names: means of the observed values.
 * The phases count rows, of which an observation has rows_per. */
struct rps_profile rps_profile_signals(struct rps_arena *arena, const struct rps_signals *signals,
                                       const char *const *name, size_t rows_per,
                                       const struct rps_phases *phases);

/*
 * Return the share of all phases, 0 ... 1, that a phase or label of this length has: of their time,
 * or without times of their rows.
 */
double rps_profile_share(const struct rps_profile *profile, int64_t length_ns, uint64_t periods);

/*
 * Describe how a label differs from the whole run (or table): its place, then at most three clauses
 * on the metrics that differ most. Example: "3.1 x the page faults of the whole run, CPI 2.4 (whole
 * run: 1.1)". A metric counts if it differs by 15 % beyond chance, and from most of the other
 * labels too. System metrics follow: "sleeps in locks", "uses 306 MiB", "waits for a CPU in 82 % of
 * its runnable time". Clauses after the first are left out if there are not `room` characters for
 * them; 0: all. If only rates of faults and switches that take little time differ: "little sets it
 * apart: " and the largest difference. If nothing differs: "nothing counted sets it apart"; "" if
 * nothing can be compared. Numbers are in the thread's locale. Returns ret.
 */
#define RPS_PROFILE_WORDS_SIZE 1024
char *rps_profile_words(char ret[RPS_PROFILE_WORDS_SIZE], const struct rps_profile *profile,
                        int label, int room);

/* Join the names that rps_share_group_text returns and the words of a label. The names come first,
 * except the text that no name differs. */
char *rps_profile_join(char *ret, size_t size, const char *names, const char *words);

/* Return how many metrics the words of a label name, and which: the first is named first. */
#define RPS_PROFILE_TOLD 3
int rps_profile_told(const struct rps_profile *profile, int label, size_t ret[RPS_PROFILE_TOLD]);

/* Profile phases of the analysed data; context: the caller's. */
typedef int rps_profile_find(const void *context, struct rps_arena *arena,
                             const struct rps_phases *phases, struct rps_profile *ret,
                             struct rps_error *err);

/*
 * Write the remark on the whole into ret, a sentence without its full stop, or "". It reports that
 * the run repeats, and how far it drifts, by the profile of its tenths. For single periods it
 * reports the share of the time with an uncertain class; for blocks, which changes these hide. An
 * observation takes observation_ns; 0: it is rows of a table. With in_blocks, observations are
 * blocks of periods. Errors: those of `profile`.
 */
int rps_profile_remark(const struct rps_found_phases *found, int64_t observation_ns, int in_blocks,
                       rps_profile_find *profile, const void *context,
                       char ret[RPS_PHASE_REMARK_SIZE], struct rps_error *err);

/* Put the names of each label's samples before its words. `shares` has one group per label. Source
 * lines are left out, because legends have no space for them. */
void rps_profile_place(struct rps_profile *profile, const struct rps_part_shares *shares);

/* Give each label its name, the same one in reports, tables, charts, pages and exports. A label
 * that was hardly on a CPU is named by its sleep, "asleep in timers". Any other label is named by
 * the function or program that has at least half of its samples. `shares` has one group per label,
 * or none. If all would have the same name, no label has a name. */
void rps_profile_code(struct rps_profile *profile, const struct rps_part_shares *shares);

#endif
