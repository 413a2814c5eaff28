/*
 * What detections of phases in one run and in several share: from periods to signals, and from
 * observations back to periods.
 */
#ifndef RPISTAT_SHOW_RUN_COLLECT_H
#define RPISTAT_SHOW_RUN_COLLECT_H

#include "rpistat/collect.h"
#include "rpistat/cpus.h"
#include "rpistat/phase.h"
#include "rpistat/run.h"
#include "rpistat/walk.h"

/* Walk the periods of a run, CPUs side by side or added up; options say what to collect, and are
 * filled for CPUs side by side. *ret is ready for rps_collect_end, and for rps_collect_free.
 * Errors: the store's; those of rps_collect_new. */
int rps_run_collect_walk(struct rps_reader *reader, const struct rps_cpu_series *cpu_series,
                         const struct rps_cpus *cpus, struct rps_collect_options *options,
                         struct rps_collect **ret, struct rps_error *err);

/* From observations to period numbers and times. */
void rps_run_collect_place(struct rps_phases *phases, const struct rps_collected *collected);

/*
 * The shortest phase, in periods, where nobody asked for one; 0: the detector's choice. Where sets
 * take turns every metric must be seen twice: a value that stands alone looks like a phase without
 * any noise.
 */
size_t rps_run_collect_shortest(const struct rps_run *run, const struct rps_collected *collected);

#endif
