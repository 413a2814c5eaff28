/*
 * The extension for code, as cli sees it: its part in the core, and its own command's parts.
 */
#ifndef RPISTAT_CODE_WING_H
#define RPISTAT_CODE_WING_H

#include "rpistat/export.h"
#include "rpistat/wing.h"

extern const struct rps_wing rps_code_wing;

/* Its formats, also those of `rpistat code`. */
RPS_EXPORT_SAMPLE_FORMATS(RPS_EXPORT_DECLARE)

/* For `rpistat code --wall` only: time on and off the CPU, us. */
extern const struct rps_export_format rps_export_folded_wall;

#endif
