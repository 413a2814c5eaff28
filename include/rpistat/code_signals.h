/* Samples of the code as signals of phases: in which functions of the workload they were. */
#ifndef RPISTAT_SHOW_CODE_SIGNALS_H
#define RPISTAT_SHOW_CODE_SIGNALS_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/collect.h"
#include "rpistat/cpus.h"
#include "rpistat/store.h"

/* The functions that are worth a signal. All zero: none. */
struct rps_code_signals {
    size_t count;
    char (*name)[RPS_NAME_SIZE * 2]; /* owned; "samples in solve"; most of them first */
    size_t stack_count;
    int32_t *of_stack; /* owned; the signal of each stack, the workload's innermost function; */
                       /* RPS_CODE_SIGNALS_OTHER: of another function; _NONE: not the workload's */
};

#define RPS_CODE_SIGNALS_OTHER (-1)
#define RPS_CODE_SIGNALS_NONE  (-2)

/* Is it the name of such signals: "samples", all of them, or "samples in FUNCTION"? */
int rps_code_signals_is_name(const char *name);

/*
 * The functions that have more than 3 % of the samples in the periods first ... last; or, where
 * there are names, those that are named, whatever they have. Of frames without a name it is the
 * page of code, "samples in libfoo.so.1+0x3000". There are none, and this is no error, when the run
 * has no samples there. Errors: the store's; RPS_USAGE for a name of which there are no samples.
 */
int rps_code_signals_choose(struct rps_reader *reader, int64_t run_id, uint64_t first,
                            uint64_t last, const struct rps_cpus *cpus, const char *const *name,
                            size_t name_count, struct rps_code_signals *ret, struct rps_error *err);

/* The periods of a run. */
struct rps_code_signals_run {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id;
    uint64_t first, last;
};

/*
 * The functions that have more than 3 % of the samples in any of several runs, by name, in the same
 * order for all; one that a run has not has no stacks there. ret[i] is of run[i], all zero before,
 * for rps_code_signals_free in any case. How many runs have samples is in *ret_having; there are no
 * signals unless all have. Errors: the store's.
 */
int rps_code_signals_choose_jointly(const struct rps_code_signals_run *run, size_t count,
                                    const struct rps_cpus *cpus, struct rps_code_signals *ret,
                                    size_t *ret_having, struct rps_error *err);

/* Count the samples in each observation, of the same CPUs added up, and add the signals to what was
 * collected. */
int rps_code_signals_add(const struct rps_code_signals *signals, struct rps_reader *reader,
                         int64_t run_id, const struct rps_cpus *cpus,
                         struct rps_collected *collected, struct rps_error *err);

void rps_code_signals_free(struct rps_code_signals *signals);

#endif
