/* What the code wing gives the core. */
#include "wing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "export.h"
#include "rpistat/code_wing.h"

/* --- shares ----------------------------------------------------------------------------------- */

static void free_code(void *code)
{
    rps_code_free(code);
    free(code);
}

static int find_shares(struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                       const struct rps_cpus *cpus, struct rps_part_shares *ret,
                       struct rps_error *err)
{
    struct rps_code *code = calloc(1, sizeof(*code));
    struct rps_run run;
    int result;

    if (!code)
        return rps_error_memory(err);
    ret->texts = code;
    ret->texts_free = free_code;
    rps_run_init(&run);
    result = rps_reader_run(reader, run_id, &run, err);
    if (result == 0)
        result = rps_reader_code(reader, run_id, code, err);
    if (result > 0)
        result = rps_code_is_sampled(&run, code);
    if (result > 0 && rps_code_part_shares(reader, run_id, part, cpus, code, ret, err) < 0)
        result = RPS_FAILED;
    rps_run_free(&run);
    return result;
}

/* --- formats ---------------------------------------------------------------------------------- */

static const struct rps_export_format *const formats[] = {&rps_export_folded, &rps_export_pprof,
                                                          NULL};

const struct rps_wing rps_code_wing = {
    .signals = &rps_code_signals,
    .formats = formats,
    .shares = find_shares,
    .panel = rps_code_panel,
    .page = rps_code_page,
    .page_joint = rps_code_page_joint,
};
