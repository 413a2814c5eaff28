/*
 * A detection of phases written for people (tables), for programs (JSON), and its phases alone for
 * spreadsheets (CSV). Of a run or of a table of numbers.
 */
#ifndef RPISTAT_PHASE_OUTPUT_H
#define RPISTAT_PHASE_OUTPUT_H

#include <locale.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/components.h"
#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/levels.h"
#include "rpistat/pattern.h"
#include "rpistat/phase.h"
#include "rpistat/phases.h"
#include "rpistat/profile.h"
#include "rpistat/run.h"
#include "rpistat/part_shares.h"

struct rps_phase_output {
    const char *title;         /* what was looked at: "run 3, ./phased"; any text */
    const char *unit;          /* of the numbers of phases and outliers: "period" or "row" */
    int block;                 /* 0: an observation is a unit; else a block of so many rotations */
    int64_t periods_from_ns;   /* what was before was thinned to blocks; -1: nothing */
    const struct rps_run *run; /* NULL: rows of a table, which have no times */
    uint64_t observations;
    const char *method;     /* "screened", "exact" */
    const char *parameters; /* JSON object */
    size_t signal_count;
    const char *const *signal;       /* their names */
    const struct rps_phases *phases; /* of the level that is shown */
    size_t level_count;
    const struct rps_level *level; /* all that there are, from the coarsest */
    size_t level_shown;            /* which of them is */
    const char *remark;            /* on the whole: that it repeats; NULL: none */
    const struct rps_detect_details *details;
    const struct rps_profile *profile;
    const struct rps_part_shares *shares;    /* of each label; NULL: no samples */
    const struct rps_components *components; /* of the signals below; NULL: not asked for */
    const char *const *component_signal;     /* names of the signals they are made of */
    locale_t locale;                         /* of the text; (locale_t)0: the C locale */
    int width;                               /* of the text, in characters; 0: 100 */
};

/*
 * The settings of a detection and what it found out, as a JSON object: `parameters` above and in
 * the store. To be freed; NULL without memory. min_length 0 is written as null: chosen.
 */
char *rps_phase_output_parameters(const struct rps_phases_options *find,
                                  const struct rps_detect_details *details, const char *cpus,
                                  const char *const *signal, size_t signal_count);

/* Tables: the phases in order of time, the distinct ones, outliers, and with components their
 * loadings. RPS_FAILED without memory or when a write failed, as below. */
int rps_phase_output_text(FILE *out, const struct rps_phase_output *output, struct rps_error *err);

/* Everything there is to know, as one JSON object. What is not known is null. */
int rps_phase_output_json(FILE *out, const struct rps_phase_output *output, struct rps_error *err);

/* The phases alone, a row each: "phase,label,first,last" and what else is known, behind it a column
 * a figure, NAME, and then NAME_low and NAME_high of each; numbers from 0. */
int rps_phase_output_csv(FILE *out, const struct rps_phase_output *output, struct rps_error *err);

#endif
