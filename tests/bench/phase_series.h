/*
 * Series of observations for the bench of phase detection: with known phases, and without any.
 */
#ifndef BENCH_PHASE_SERIES_H
#define BENCH_PHASE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/detect.h"

#define PHASE_KINDS_MOST   8
#define PHASE_SIGNALS_MOST 12
#define PHASE_TURNS_MOST   32

/* What lies about the means. Masked: each signal is seen in one observation of four. Correlated:
 * the signals share a factor, .8 between any two. */
enum phase_noise { WHITE, AR, STUDENT, OUTLIERS, VARIANCE, MASKED, CORRELATED, PHASE_NOISES };

/* AR(1) of AR, shared variance of CORRELATED. */
#define AR_PHI           0.6
#define CORRELATED_SHARE 0.8

/* "white" ... */
extern const char *const phase_noise_name[PHASE_NOISES];

/* A series and the truth about it. */
struct phase_series {
    struct rps_signals signals;
    int *label;      /* by observation */
    size_t segments; /* stretches of one label */
    size_t shortest; /* observations of a segment */
    enum phase_noise noise;
    int phases;                                        /* kinds of phases */
    double mean[PHASE_KINDS_MOST][PHASE_SIGNALS_MOST]; /* of a kind, in each signal */
    double scale[PHASE_KINDS_MOST];                    /* of a kind's noise; VARIANCE alone */
};

/* How to make one. */
struct phase_draft {
    enum phase_noise noise;
    double delta;    /* standard deviation of the means, in that of the noise */
    size_t n, d;     /* observations, signals */
    size_t segments; /* of at least 20 observations, their lengths exponential; 0: as many as fit of
                        5 to 10 observations */
    uint64_t seed;
};

/* 3 to 8 kinds of phases that recur in random order. */
void phase_series_make(const struct phase_draft *draft, struct phase_series *ret);

/* A program: turns of its kinds of phases, one after the other. */
struct phase_program {
    int kinds;
    double mean[PHASE_KINDS_MOST][PHASE_SIGNALS_MOST]; /* of a kind, in each signal */
    size_t turns;
    struct {
        int kind;
        size_t length; /* observations */
    } turn[PHASE_TURNS_MOST];
};

/* A run of it, with noise of its own: d signals; label is the number of the turn. */
void phase_series_run(const struct phase_program *program, enum phase_noise noise, size_t d,
                      uint64_t seed, struct phase_series *ret);

/* A kind of series without phases. */
struct phase_null {
    const char *name;
    void (*fill)(uint64_t *random, double number, double *x,
                 size_t n); /* one signal; NULL: noise */
    double number;          /* the kind's own */
    enum phase_noise noise;
};

/* Up to one without name. */
extern const struct phase_null phase_nulls[];

void phase_series_make_null(const struct phase_null *null, size_t n, size_t d, uint64_t seed,
                            struct phase_series *ret);

void phase_series_free(struct phase_series *series);

/* d normal numbers, of mean 0: what a kind is like. */
void phase_series_draw(double deviation, size_t d, uint64_t *random, double *ret);

/* For memory that must be there. */
void *phase_must(void *memory);

#endif
