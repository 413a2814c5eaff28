/* A detection of phases as a document; of a run or of a table of numbers. */
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
    const char *title;         /* what was looked at: "run 3, ./phased"; any text */
    const char *unit;          /* of the numbers of phases and outliers: "period" or "row" */
    int block;                 /* 0: an observation is a unit; else a block of so many rotations */
    int64_t periods_from_ns;   /* what was before was thinned to blocks; -1: nothing */
    const struct rps_run *run; /* NULL: rows of a table, which have no times */
    uint64_t observations;
    size_t rows_per;        /* of a table: rows that each observation is the mean of */
    const char *method;     /* "screened", "exact" */
    const char *parameters; /* JSON object */
    size_t signal_count;
    const char *const *signal;       /* their names */
    const struct rps_phases *phases; /* of the level that is shown */
    const struct rps_phases *fine;   /* of the finest one */
    size_t level_count;
    const struct rps_level *level; /* all that there are, from the coarsest */
    size_t level_shown;            /* which of them is */
    size_t level_usual;            /* which is when none is asked for */
    int unfolded;                  /* 1: people read every turn of a loop too */
    int is_passing;                /* 1: a level that is shown once, and listed however long it is;
                                      but of the usual one, letters of other commands are of another */
    const char *remark;            /* on the whole: that it repeats; NULL: none */
    const struct rps_detect_details *details;
    const struct rps_profile *profile;
    const struct rps_run_bursts *bursts;     /* NULL: none were looked for */
    const struct rps_part_shares *shares;    /* of each label; NULL: no samples */
    const struct rps_components *components; /* of the signals below; NULL: not asked for */
    const char *const *component_signal;     /* names of the signals they are made of */
};

/*
 * The settings of a detection and what it found out, as a JSON object: `parameters` above and in
 * the store. To be freed; NULL without memory. min_length 0 is written as null: chosen.
 */
char *rps_phase_output_parameters(const struct rps_phases_options *find,
                                  const struct rps_detect_details *details, const char *cpus,
                                  const char *const *signal, size_t signal_count);

/* All of it: heading, both tables, what sets the kinds of phases apart, bursts, outliers, components. The
 * document's times become those of the run. Its CSV is the phases. */
void rps_phase_document(struct rps_document *document, const struct rps_phase_output *output);

/*
 * The table of the phases alone, named "phases", in order of time: for programs numbers from 0,
 * label, stretch and confidence, and in the group `figures` all figures of the profile with their
 * intervals; people see those first that the words of labels name, and a last row "all". The
 * document's times become those of the run. run NULL: rows of a table, which have no times.
 */
struct rps_block *rps_phase_block(struct rps_document *document, const struct rps_run *run,
                                  const struct rps_phases *phases,
                                  const struct rps_profile *profile);

/* The table of the distinct phases, named "labels": a row each in the order of the labels, how often
 * and how long, and in the group `mean` all figures with intervals and deviations; people see two
 * rows more where there are two labels, "all" and how much of each figure they explain. run and
 * shares may be NULL. */
struct rps_block *rps_label_block(struct rps_document *document, const struct rps_run *run,
                                  const struct rps_profile *profile,
                                  const struct rps_part_shares *shares);

#endif
