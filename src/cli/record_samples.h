/* The samples of a recording: from the sampler through the tracker into the store, by period. */
#ifndef RPISTAT_CLI_RECORD_SAMPLES_H
#define RPISTAT_CLI_RECORD_SAMPLES_H

#include "cli.h"
#include "rpistat/pmu.h"
#include "rpistat/sampler.h"
#include "rpistat/code_store.h"

struct rps_record_samples;

/* The event of --sample EVENT or EVENT:N, "" when it was not given, and N, or 0. RPS_USAGE for a
 * number that is none. */
int rps_record_samples_event(const struct rps_record_settings *settings, char *ret, size_t size,
                             uint64_t *ret_threshold, struct rps_error *err);

/*
 * Open a sampler of the backend on the target that was attached, as the settings have it, and look
 * at what runs there already. Errors: those of open_sampler.
 */
int rps_record_samples_open(struct rps_record_samples **ret,
                            const struct rps_record_settings *settings, const struct rps_pmu *pmu,
                            void *pmu_self, const struct rps_target *target, struct rps_error *err);

/* The run was added to the store, and begins at start_ns of the event loop's clock. NULL is
 * harmless, as in all that follow. */
void rps_record_samples_begin(struct rps_record_samples *samples, struct rps_writer *writer,
                              int64_t start_ns);

/* For the loop; NULL of no samples. */
const struct rps_sampler *rps_record_samples_sampler(const struct rps_record_samples *samples);
const struct rps_sample_sink *rps_record_samples_sink(const struct rps_record_samples *samples);

/* A period has ended: samples that came before it are counted. */
void rps_record_samples_period(struct rps_record_samples *samples, const struct rps_period *period);

/* All periods and samples have been handed over. */
void rps_record_samples_end(struct rps_record_samples *samples);

/* CPU time of the process that unwound stacks, which has ended by then. */
int64_t rps_record_samples_cpu_ns(const struct rps_record_samples *samples);

/* Name the frames of the run that has ended in the store at path. What has no name says why there.
 * Errors: those of rps_naming_name and rps_store_set_locations. Not for NULL. */
int rps_record_samples_name(struct rps_record_samples *samples, const char *path, int64_t run_id,
                            struct rps_error *err);

void rps_record_samples_close(struct rps_record_samples *samples);

#endif
