/* See export.h. */
#include "export.h"

#include "rpistat/code_store.h"

int rps_export_code(struct rps_export_job *job, const struct rps_part_choice *choice,
                    const struct rps_cpus *cpus,
                    int (*write)(struct rps_export_job *job, const struct rps_export_code *of,
                                 struct rps_error *err),
                    struct rps_error *err)
{
    int64_t run_id = job->run->run_id;
    struct rps_run_part part = {0};
    struct rps_code code;
    int result = rps_reader_code(job->arena, job->reader, run_id, &code, err);

    if (result == 0 || (result > 0 && code.stack_count == 0))
        result = rps_run_code_none(run_id, err);
    if (result > 0)
        result = rps_run_part_choose(job->arena, job->reader, run_id, choice, &part, err);
    if (result == 0)
        result = write(job, &(struct rps_export_code){&code, choice, &part, cpus}, err);
    return result;
}
