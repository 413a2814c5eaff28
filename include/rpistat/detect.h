/*
 * Detection of phases: change points cut a series of observations into segments. For each level,
 * rpistat/levels.h finds the segments that are alike. Pure functions; the same input gives the same
 * output everywhere.
 */
#ifndef RPISTAT_DETECT_H
#define RPISTAT_DETECT_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/count_table.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Something was lost before an observation, or another run begins with it. */
#define RPS_BROKEN_GAP 1
#define RPS_BROKEN_RUN 2

/* The input: `count` observations of `signal_count` signals, in order of time. */
struct rps_signals {
    size_t count;
    size_t signal_count;
    double *value; /* owned; value[signal * count + observation]; NaN (and infinities): not seen */
    float *weight; /* owned; same places: how well it was seen, 0 ... 1; NULL: 1 where seen */
    double *resolution;  /* owned; by signal: values that differ by about this much are alike, even
                            if the noise is smaller; NULL: none */
    double *noise_floor; /* owned; by signal: lower limit of its noise in the search for boundaries;
                            NULL: none */
    uint8_t *broken; /* owned; broken[i] is not 0 if something was lost just before observation i (a
                        gap), or another run begins. Each is a boundary regardless of the signals, a
                        new run at every level. NULL: never */
    size_t in_turns; /* observations per rotation of the event sets: a signal may be seen in only
                        one of them; 0 or 1: seen in each */
    int in_blocks;   /* 1: an observation is a block of many periods: never an outlier, possibly a
                      phase, and a mixture if a change falls into it */
    size_t memory_signal; /* number of the signal for resident memory, from 1; 0: none */
    size_t table_count;
    struct rps_count_table *table; /* owned, as is each; of as many observations. Used by
                                      rps_phases_find, not by rps_detect */
};

void rps_signals_free(struct rps_signals *signals);

/* Set the noise floors of signals of unknown resolution, such as a table's columns: a tenth of the
 * standard deviation. */
void rps_signals_floor_noise(struct rps_signals *signals);

struct rps_detect_options {
    size_t min_length; /* shortest phase, in observations; 0: automatic */
    int exact;         /* 1: exact PELT instead of the screened search */
};

/* Further results of the detection, for tables and benches. */
struct rps_detect_details {
    size_t used_signal_count; /* signals that vary and are not copies of others */
    double penalty;           /* chosen, per change, for standardised noise */
    double autocorrelation;   /* of the residuals at lag 1, median of the signals */
    double objective;         /* of the segmentation: minimised by the search, at that penalty */
    int linear;  /* 1: linear segments described the series better than constant ones */
    int wanders; /* 1: the phases found are doubtful: the signals drift or oscillate, and their
                    recent values describe them better than the phases do */
};

/*
 * Find the phases. *ret is filled for rps_phases_free, with at least one phase; times are 0, and
 * each has its own label. details may be NULL. Memory is proportional to count x signal_count. If
 * no signal varies, there is one phase. RPS_FAILED: no observations or no signals.
 */
int rps_detect(const struct rps_signals *signals, const struct rps_detect_options *options,
               struct rps_phases *ret, struct rps_detect_details *details, struct rps_error *err);

#endif
