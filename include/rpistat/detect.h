/*
 * Detection of phases: change points cut a series of observations into segments. Which of them are
 * alike is found for each level (rpistat/levels.h). Pure functions; the same input gives the same
 * output everywhere.
 */
#ifndef RPISTAT_DETECT_H
#define RPISTAT_DETECT_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/count_table.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Something was lost before an observation; another run begins with it. */
#define RPS_BROKEN_GAP 1
#define RPS_BROKEN_RUN 2

/* What is looked at: `count` observations of `signal_count` signals, in order of time. */
struct rps_signals {
    size_t count;
    size_t signal_count;
    double *value; /* owned; value[signal * count + observation]; NaN (and infinities): not seen */
    float *weight; /* owned; same places: how well it was seen, 0 ... 1; NULL: 1 where seen */
    double *resolution;  /* owned; by signal: values that differ by about so much are alike, however
                           little noise there is; NULL: none */
    double *noise_floor; /* owned; by signal: its noise is taken for so much at least, in finding
                            boundaries; NULL: none */
    uint8_t *broken; /* owned; broken[i] is not 0 when something was lost just before observation i
                        (a gap), or another run begins: a boundary whatever the signals say, and
                        where a run begins at every level; NULL: never */
    size_t in_turns; /* what is seen comes in turns of so many observations, as where event sets
                        take turns: a signal may be seen in one of them; 0 or 1: in each */
    int in_blocks; /* 1: an observation is a block of many periods: it is no outlier, may be a phase of
                      its own, and is a mixture where a change falls into it */
    size_t memory_signal; /* number of the signal that is resident memory, from 1; 0: none */
    size_t table_count;
    struct rps_count_table *table; /* owned, as each; of as many observations. rps_detect does not
                                      look at them, rps_phases_find does */
};

void rps_signals_free(struct rps_signals *signals);

/* Set the noise floors of signals whose resolution nobody knows, as of a table's columns: a tenth
 * of the standard deviation. */
void rps_signals_floor_noise(struct rps_signals *signals);

struct rps_detect_options {
    size_t min_length; /* shortest phase, in observations; 0: chosen */
    int exact;         /* 1: exact PELT instead of the screened search */
};

/* What the detection found out beside the phases; for tables and benches. */
struct rps_detect_details {
    size_t used_signal_count; /* signals that vary and are not copies of others */
    double penalty;           /* chosen, per change, for standardised noise */
    double autocorrelation;   /* of the residuals at lag 1, median of the signals */
    double objective;         /* of the segmentation: what the search minimised, at that penalty */
    int linear;  /* 1: linear segments described the series better than constant ones */
    int wanders; /* 1: the phases found are hardly any: the signals wander, or swing, and where they
                    were lately says more of them than the phases do */
};

/*
 * Find the phases. *ret is filled for rps_phases_free, with at least one phase; times are 0, and
 * each has a label of its own.
 * details may be NULL. Memory is proportional to count x signal_count. Without any signal that
 * varies there is one phase. RPS_FAILED for no observations or no signals.
 */
int rps_detect(const struct rps_signals *signals, const struct rps_detect_options *options,
               struct rps_phases *ret, struct rps_detect_details *details, struct rps_error *err);

#endif
