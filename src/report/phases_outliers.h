/* Bursts and outliers in the document of detected phases. */
#ifndef RPISTAT_REPORT_PHASES_OUTLIERS_H
#define RPISTAT_REPORT_PHASES_OUTLIERS_H

#include "rpistat/phase_output.h"

/* Put the blocks "bursts" and "outliers", and in the text a sentence on each. */
void rps_phase_outliers(struct rps_document *document, const struct rps_phase_output *output);

#endif
