/*
 * How sure the boundaries of a model are. Private to the detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_CONFIDENCE_H
#define RPISTAT_ANALYSE_DETECT_CONFIDENCE_H

#include "detect_model.h"

/* Fill model->confidence; with `drop` without the boundaries that are less than half sure: where
 * phases differ in their noise, the search, which knows one noise for all, cuts the noisy ones. */
void rps_confidence_find(struct rps_observed *observed, int drop, struct rps_model *model);

#endif
