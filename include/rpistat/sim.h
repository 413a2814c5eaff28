/* The simulated ARM1176, a backend: its script is described in src/sim/README.md. */
#ifndef RPISTAT_SIM_H
#define RPISTAT_SIM_H

#include "rpistat/pmu.h"

extern const struct rps_pmu rps_pmu_sim;

#endif
