/* Resolution, with the files that it reads named by the caller; rpistat/plan.h has the rest. */
#ifndef RPISTAT_EVENTS_RESOLVE_H
#define RPISTAT_EVENTS_RESOLVE_H

#include "rpistat/plan.h"

/* rps_event_resolve, with the file that says which processor this is ("/proc/cpuinfo"). */
int rps_resolve(struct rps_event *event, const char *sys, const char *cpuinfo,
                struct rps_error *err);

#endif
