/*
 * Confidence in the boundaries of a model. Private to the detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_CONFIDENCE_H
#define RPISTAT_ANALYSE_DETECT_CONFIDENCE_H

#include "detect_model.h"

/* Fill model->confidence. drop: remove boundaries with less than one half. The search, which
 * assumes the same noise everywhere, cuts the noisy ones of phases that differ in their noise. */
void rps_confidence_find(struct rps_observed *observed, int drop, struct rps_model *model);

#endif
