/* Interim: replaced in the next commits. */
#include "rpistat/check.h"

int rps_store_repair(const char *path, const char *new_path, const struct rps_finding_sink *sink,
                     struct rps_repair_result *ret, struct rps_error *err)
{
    (void)path;
    (void)new_path;
    (void)sink;
    *ret = (struct rps_repair_result){0};
    return rps_error_set(err, RPS_FAILED, "interim");
}
