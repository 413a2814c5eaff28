/*
 * The wing that says which code ran, as cli sees it: what it gives the core, and its own command's
 * parts beside that.
 */
#ifndef RPISTAT_CODE_WING_H
#define RPISTAT_CODE_WING_H

#include "rpistat/export.h"
#include "rpistat/wing.h"

extern const struct rps_wing rps_code_wing;

/* Its formats, which are those of `rpistat code`, too. */
RPS_EXPORT_SAMPLE_FORMATS(RPS_EXPORT_DECLARE)

/* `rpistat code --wall` alone: time on and off the CPU, us. */
extern const struct rps_export_format rps_export_folded_wall;

#endif
