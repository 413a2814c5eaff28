/* The functions that this extension provides to the core. */
#include "hooks.h"

#include "rpistat/code_store.h"
#include "rpistat/code_output.h"
#include "rpistat/off_cpu.h"
#include "rpistat/run_code.h"
#include "rpistat/store.h"
#include "sample_source.h"
#include "timeline.h"

/* --- shares ----------------------------------------------------------------------------------- */

static int find_shares(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                       const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                       struct rps_part_shares *ret, struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_code_left *left = rps_reader_leave(reader, NULL, NULL);
    struct rps_code code;
    struct rps_run run;
    int result = rps_reader_run(scratch, reader, run_id, &run, err);

    if (result == 0 && left && left->run_id == run_id) {
        code = left->code;
        result = 1;
    } else if (result == 0) {
        result = rps_reader_code(scratch, reader, run_id, &code, err);
    }
    if (result > 0)
        result = rps_code_is_sampled(&run, &code);
    if (result > 0 &&
        rps_code_part_shares(arena, reader, run_id, part, count, cpus, &code, ret, err) < 0)
        result = RPS_FAILED;
    for (size_t p = 0; p < count && result > 0 && code.sampling.has_waits; p++) {
        if (rps_off_cpu_find_waits(arena, reader, run_id, &part[p], cpus, &code, &ret[p], err) < 0)
            result = RPS_FAILED;
    }
    rps_code_left_free(left);
    rps_arena_free(scratch);
    return result;
}

/* --- formats ---------------------------------------------------------------------------------- */

static const struct rps_export_format *const formats[] = {RPS_EXPORT_SAMPLE_FORMATS(RPS_EXPORT_ROW)
                                                              NULL};

const struct rps_code_hooks rps_code_hooks = {
    .signals = &rps_code_signals,
    .formats = formats,
    .shares = find_shares,
    .programs = rps_code_programs,
    .calls = rps_timeline_calls,
    .panel = rps_code_panel,
    .page = rps_code_page,
    .page_joint = rps_code_page_joint,
};
