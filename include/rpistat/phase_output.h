/* Output of the phases of a run, or of a table of numbers, as a document. */
#pragma once

#include <stdint.h>

#include "rpistat/joint.h"
#include "rpistat/detect.h"
#include "rpistat/document.h"
#include "rpistat/levels.h"
#include "rpistat/phase.h"
#include "rpistat/phases.h"
#include "rpistat/run.h"
#include "rpistat/run_bursts.h"
#include "rpistat/part_shares.h"

struct rps_profile;

struct rps_phase_output {
    const char *title;         /* Title of the input: "run 3, ./phased", or any text */
    const char *unit;          /* Unit of phase and outlier numbers: "period" or "row" */
    int block;                 /* Number of rotations per observation, if observations are blocks
                                  (0: no blocks) */
    int64_t periods_from_ns;   /* Time before which periods were downsampled to blocks (-1: none) */
    const struct rps_run *run; /* Run (NULL: rows of a table, which have no times) */
    uint64_t observations;
    size_t rows_per;        /* Rows of a table averaged per observation */
    const char *method;     /* Method of detection: "screened", "exact" */
    const char *parameters; /* Settings and results of the detection, a JSON object */
    size_t signal_count;
    const char *const *signal;       /* Names of the signals */
    const struct rps_phases *phases; /* Phases of the shown level */
    const struct rps_phases *fine;   /* Phases of the finest level */
    size_t level_count;
    const struct rps_level *level; /* All levels of phases, from the coarsest */
    size_t level_shown;            /* index of the shown level */
    size_t level_usual;            /* index of the default level */
    int unfolded;                  /* 1: the text shows every iteration of a loop */
    int is_passing;                /* 1: the level is shown only in this output, with every
                                      iteration, and is not stored. If the level is not the
                                      default level, other commands use different labels. */
    const char *remark;            /* Remark on all phases, such as a repetition (NULL: none) */
    const struct rps_profile *profile;
    const struct rps_run_bursts *bursts;     /* Bursts of the run (NULL: not searched) */
    const struct rps_part_shares *shares;    /* Shares of each phase class (NULL: no samples) */
    const struct rps_components *components; /* Principal components (NULL: not requested) */
    const char *const *component_signal;     /* Names of the metrics in the components */
};

/* Return settings and results of a detection as a JSON object, for `parameters` above and for the
 * store. The caller frees the text, which is NULL without memory. min_length 0 (automatic) is
 * written as null. */
char *rps_phase_output_parameters(const struct rps_phases_options *find,
                                  const struct rps_detect_details *details, const char *cpus,
                                  const char *const *signal, size_t signal_count);

/* Put the whole document: heading, tables "phases" and "labels", differences between classes,
 * bursts, outliers, components. Set the document's times to the times of the run. The CSV contains
 * the phases. */
void rps_phase_document(struct rps_document *document, const struct rps_phase_output *output);

/* Put the table "phases", in order of time. Output for programs has the phase's number from 0,
 * label, range and confidence, and in the group `figures` all metrics of the profile with
 * intervals. In the text, the metrics that describe the classes are first, and the last row is
 * "all". The document's times are set to the run's times. If run is NULL, phases are rows of a
 * table without times. */
struct rps_block *rps_phase_block(struct rps_document *document, const struct rps_run *run,
                                  const struct rps_phases *phases,
                                  const struct rps_profile *profile);

/* Put the table "labels", with one row per phase class in the order of labels. A row has the number
 * and the length of the phases, and in the group `mean` all metrics with intervals and deviations.
 * If there are several classes, the text also has a row "all", and a row with the share of each
 * metric's variance that the classes explain. run and shares may be NULL. */
struct rps_block *rps_label_block(struct rps_document *document, const struct rps_run *run,
                                  const struct rps_profile *profile,
                                  const struct rps_part_shares *shares);
