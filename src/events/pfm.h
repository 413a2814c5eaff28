/* libpfm4's names of events, for the processor of this machine. Without libpfm4 at build time there
 * are none. */
#ifndef RPISTAT_EVENTS_PFM_H
#define RPISTAT_EVENTS_PFM_H

#include "rpistat/error.h"
#include "rpistat/plan.h"

/*
 * Look the name up ("RETIRED_INSTRUCTIONS", "skl::INST_RETIRED:ANY_P"). Returns 1 with type,
 * config* and modifiers (where the name has some) of *event filled; 0 when there is no such event;
 * RPS_USAGE when there is one, but what stands behind its name is wrong or missing.
 */
int rps_pfm_find(struct rps_event *event, const char *name, struct rps_error *err);

/* Call `each` with the name of every event that this processor has, by libpfm4. */
void rps_pfm_each(void (*each)(void *context, const char *name), void *context);

#endif
