/* Series of observations for the benchmark of phase detection, with known phases and without
 * phases. */
#ifndef BENCH_PHASE_SERIES_H
#define BENCH_PHASE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/detect.h"

#define PHASE_KINDS_MAX   8
#define PHASE_SIGNALS_MAX 12
#define PHASE_TURNS_MAX   32

/* Noise around the means. MASKED: each signal is known in one of four observations. CORRELATED: the
 * signals share a factor, with a correlation of .8 between any two. */
enum phase_noise { WHITE, AR, STUDENT, OUTLIERS, VARIANCE, MASKED, CORRELATED, PHASE_NOISES };

/* Coefficient of the AR(1) noise; shared variance of the CORRELATED noise. */
#define AR_PHI           0.6
#define CORRELATED_SHARE 0.8

/* Names of the noises, such as "white". */
extern const char *const phase_noise_name[PHASE_NOISES];

/* A series, and its true phases. */
struct phase_series {
    struct rps_signals signals;
    int *label;      /* label of each observation */
    size_t segments; /* number of segments; each has one label */
    size_t shortest; /* minimum observations of a segment */
    enum phase_noise noise;
    int phases;                                      /* number of kinds of phases */
    double mean[PHASE_KINDS_MAX][PHASE_SIGNALS_MAX]; /* mean of each kind, in each signal */
    double scale[PHASE_KINDS_MAX];                   /* noise scale of each kind; only for
                                                        VARIANCE */
};

/* Parameters for making a series. */
struct phase_draft {
    enum phase_noise noise;
    double delta;    /* standard deviation of the means, as a multiple of that of the noise */
    size_t n, d;     /* numbers of observations and of signals */
    size_t segments; /* Number of segments of at least 20 observations and exponential length (0:
                        as many segments of 5 to 10 observations as fit). */
    uint64_t seed;
};

/* Make a series of 3 to 8 kinds of phases that recur in random order. */
void phase_series_make(const struct phase_draft *draft, struct phase_series *ret);

/* A program: a sequence of segments, each of one kind of phases. */
struct phase_program {
    int kinds;
    double mean[PHASE_KINDS_MAX][PHASE_SIGNALS_MAX]; /* mean of each kind, in each signal */
    size_t turns;
    struct {
        int kind;
        size_t length; /* number of observations of the segment */
    } turn[PHASE_TURNS_MAX];
};

/* Make a run of a program with its own noise and d signals. `label` is the number of the segment.
 */
void phase_series_run(const struct phase_program *program, enum phase_noise noise, size_t d,
                      uint64_t seed, struct phase_series *ret);

/* A kind of series without phases. */
struct phase_null {
    const char *name;
    void (*fill)(uint64_t *random, double number, double *x,
                 size_t n); /* fills one signal; NULL: noise only */
    double number;          /* parameter of the kind of series */
    enum phase_noise noise;
};

/* The last entry has no name. */
extern const struct phase_null phase_nulls[];

void phase_series_make_null(const struct phase_null *null, size_t n, size_t d, uint64_t seed,
                            struct phase_series *ret);

void phase_series_free(struct phase_series *series);

/* Draw d normal numbers with mean 0: the means of a kind of phases. */
void phase_series_draw(double deviation, size_t d, uint64_t *random, double *ret);

/* Return `memory`, or end the program if it is NULL. */
void *phase_must(void *memory);

#endif
