/* Detected phases as a document, of a run or of a table of numbers. */
#ifndef RPISTAT_PHASE_OUTPUT_H
#define RPISTAT_PHASE_OUTPUT_H

#include <stdint.h>

#include "rpistat/components.h"
#include "rpistat/detect.h"
#include "rpistat/document.h"
#include "rpistat/error.h"
#include "rpistat/levels.h"
#include "rpistat/phase.h"
#include "rpistat/phases.h"
#include "rpistat/run.h"
#include "rpistat/run_bursts.h"
#include "rpistat/part_shares.h"

struct rps_profile;

struct rps_phase_output {
    const char *title;         /* the input: "run 3, ./phased"; any text */
    const char *unit;          /* of the numbers of phases and outliers: "period" or "row" */
    int block;                 /* 0: an observation is a unit; otherwise a block of as many
                                  rotations */
    int64_t periods_from_ns;   /* earlier periods were downsampled to blocks; -1: none */
    const struct rps_run *run; /* NULL: rows of a table, which have no times */
    uint64_t observations;
    size_t rows_per;        /* of a table: rows per observation, which is their mean */
    const char *method;     /* "screened", "exact" */
    const char *parameters; /* JSON object */
    size_t signal_count;
    const char *const *signal;       /* their names */
    const struct rps_phases *phases; /* of the level that is shown */
    const struct rps_phases *fine;   /* of the finest level */
    size_t level_count;
    const struct rps_level *level; /* all levels, from the coarsest */
    size_t level_shown;            /* index of the shown level */
    size_t level_usual;            /* index of the default level */
    int unfolded;                  /* 1: the text has every iteration of a loop */
    int is_passing;                /* 1: a level shown once and listed in full; except for the
                                      default, labels of other commands differ */
    const char *remark;            /* on all phases: that they repeat; NULL: none */
    const struct rps_detect_details *details;
    const struct rps_profile *profile;
    const struct rps_run_bursts *bursts;     /* NULL: not searched */
    const struct rps_part_shares *shares;    /* of each class; NULL: no samples */
    const struct rps_components *components; /* of the metrics below; NULL: not requested */
    const char *const *component_signal;     /* names of the metrics they are made of */
};

/*
 * Return settings and results of a detection as a JSON object, for `parameters` above and the
 * store. The caller frees it; NULL: no memory. min_length 0 is written as null: automatic.
 */
char *rps_phase_output_parameters(const struct rps_phases_options *find,
                                  const struct rps_detect_details *details, const char *cpus,
                                  const char *const *signal, size_t signal_count);

/* Put everything: heading, both tables, differences of classes, bursts, outliers, components. Sets
 * the document's times to those of the run. Its CSV is the phases. */
void rps_phase_document(struct rps_document *document, const struct rps_phase_output *output);

/*
 * Put the table "phases", in order of time. Programs get numbers from 0, label, range and
 * confidence, and in the group `figures` all metrics of the profile with intervals. The text begins
 * with metrics in descriptions of classes, and ends with a row "all". Sets the document's times to
 * the run's. run NULL: rows of a table, which have no times.
 */
struct rps_block *rps_phase_block(struct rps_document *document, const struct rps_run *run,
                                  const struct rps_phases *phases,
                                  const struct rps_profile *profile);

/* Put the table "labels", one row per phase class in the order of labels: number, length, and in
 * the group `mean` all metrics with intervals and deviations. With several classes, the text has
 * rows for "all" and for the share of each metric that they explain. run and shares may be NULL. */
struct rps_block *rps_label_block(struct rps_document *document, const struct rps_run *run,
                                  const struct rps_profile *profile,
                                  const struct rps_part_shares *shares);

#endif
