/* The export formats of samples, for this extension's table. */
#ifndef RPISTAT_CODE_EXPORT_H
#define RPISTAT_CODE_EXPORT_H

#include "rpistat/export.h"
#include "rpistat/run_code.h"

/* The code of a part of a run. */
struct rps_export_code {
    const struct rps_code *code;
    const struct rps_part_choice *choice;
    const struct rps_run_part *part; /* the part, one group */
    const struct rps_cpus *cpus;
};

/* Read the part and write it with `write`, which returns 0 or negative. RPS_FAILED: no samples. */
int rps_export_code(struct rps_export_job *job, const struct rps_part_choice *choice,
                    const struct rps_cpus *cpus,
                    int (*write)(struct rps_export_job *job, const struct rps_export_code *of,
                                 struct rps_error *err),
                    struct rps_error *err);

#endif
