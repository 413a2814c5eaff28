/* The export formats of samples, as the wing has them. */
#ifndef RPISTAT_CODE_EXPORT_H
#define RPISTAT_CODE_EXPORT_H

#include "rpistat/export.h"
#include "rpistat/run_code.h"

/* The code of a part of a run. */
struct rps_export_code {
    const struct rps_code *code;
    const struct rps_part_choice *choice;
    const struct rps_run_part *part; /* what that is, one group */
    const struct rps_cpus *cpus;
};

/* Read it, and write it through `write`, which is 0 or negative. RPS_FAILED without samples. */
int rps_export_code(struct rps_export_job *job, const struct rps_part_choice *choice,
                    const struct rps_cpus *cpus,
                    int (*write)(struct rps_export_job *job, const struct rps_export_code *of,
                                 struct rps_error *err),
                    struct rps_error *err);

#endif
