/* Detection of phases: change points cut a series of observations into segments. rpistat/levels.h
 * then finds the segments that are alike at each level. Pure functions: equal input gives equal
 * output on every machine. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/count_table.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

struct rps_arena;

/* Marks of an observation: data was lost just before it, or it is the first of another run. */
#define RPS_BROKEN_GAP 1
#define RPS_BROKEN_RUN 2

/* Input of the detection: `count` observations of `signal_count` signals, in order of time. */
struct rps_signals {
    size_t count;
    size_t signal_count;
    double *value;       /* value[signal * count + observation] (owned); NaN or infinite: unknown */
    float *weight;       /* Reliability of each value, 0 ... 1, same index (owned; NULL: 1) */
    double *resolution;  /* Resolution of each signal (owned; NULL: none). Values that differ by
                            less than the resolution are alike, even if the noise is smaller. */
    double *noise_floor; /* Each signal's minimum noise that the search for boundaries assumes
                            (owned; NULL: none) */
    uint8_t *broken;    /* Not 0 in broken[i] if data was lost just before observation i (a gap), or
                        another run begins (owned; NULL: never). Each mark is a boundary
                        regardless of the signals. A new run is a boundary at every level. */
    size_t in_rotation; /* Observations per rotation of event sets (0 or 1: each observation has
                           all signals). A signal may have a value in only one observation per
                           rotation. */
    int in_blocks;      /* 1: each observation is a block of many periods. A block is never an
                           outlier. One block may be a phase. If a change occurs inside a block,
                           the block is a mixture. */
    size_t memory_signal; /* Number of the signal for resident memory, counted from 1 (0: none) */
    size_t fault_signal;  /* Number of the signal for page faults, counted from 1 (0: none) */
    size_t use_signal;    /* Number of the signal for CPU use, counted from 1 (0: none; if each CPU
                             has a signal: that of the last CPU) */
    double idle; /* The workload is idle while use_signal is below this value (0: unknown) */
    size_t table_count;
    struct rps_count_table *table; /* Tables of counts with `count` observations (owned).
                                      rps_phases_find uses the tables; rps_detect does not. */
};

void rps_signals_free(struct rps_signals *signals);

/* Set the noise floors of signals with unknown resolution, such as columns of a table, to a tenth
 * of the standard deviation. The floors are in the arena. */
void rps_signals_floor_noise(struct rps_arena *arena, struct rps_signals *signals);

struct rps_detect_options {
    size_t min_length; /* Minimum length of a phase in observations (0: automatic) */
    int exact;         /* 1: exact PELT search; 0: screened search */
};

/* Further results of a detection, for tables and benchmarks. */
struct rps_detect_details {
    size_t used_signal_count; /* Number of signals that vary and are not copies of other signals */
    double penalty;           /* Chosen penalty per boundary, for noise standardised to 1 */
    double autocorrelation;   /* Autocorrelation of residuals at lag 1, median over the signals */
    double objective;         /* Minimum cost that the search found at this penalty */
    int linear;      /* 1 if linear segments describe the series better than constant segments */
    int is_drifting; /* 1 if the phases are doubtful: the signals drift or oscillate, and a
                        signal's recent values predict it better than its phase. */
};

/* Find the phases of signals. *ret has at least one phase and is in the arena. The times of the
 * phases are 0, and each phase has a different label. details may be NULL. Memory is proportional
 * to count x signal_count. If no signal varies, there is one phase. Return RPS_FAILED if there are
 * no observations or no signals. */
int rps_detect(struct rps_arena *arena, const struct rps_signals *signals,
               const struct rps_detect_options *options, struct rps_phases *ret,
               struct rps_detect_details *details, struct rps_error *err);
