/* What the export formats that are CSV share. Their state begins with the writer. */
#ifndef RPISTAT_SHOW_EXPORT_CSV_H
#define RPISTAT_SHOW_EXPORT_CSV_H

#include <stddef.h>

#include "rpistat/csv_writer.h"
#include "rpistat/export.h"

extern const struct rps_export_format rps_export_wide, rps_export_rates, rps_export_long,
    rps_export_long_rates, rps_export_every, rps_export_folded, rps_export_pprof,
    rps_export_openmetrics, rps_export_line_protocol;

/* Make job->state, of `size` bytes and all zero but for the struct rps_csv_writer at its beginning.
 * Errors: rps_csv_begin's. */
int rps_export_csv_begin(struct rps_export_job *job, size_t size, struct rps_error *err);

/* The cells that name a place in the run: "run,cpu". */
void rps_export_csv_place(struct rps_export_job *job, int32_t cpu);

/* The cells of a time of the run: "time_s", and "time" where it was asked for. */
void rps_export_csv_time(struct rps_export_job *job, int64_t time_ns);

/* The cells "phase,label" of what begins with one period and ends with another: those of the phase
 * that its middle lies in, empty where none are known. */
void rps_export_csv_phase(struct rps_export_job *job, uint64_t first, uint64_t last);

/* Cells of the header: the format's own columns, with "time" behind "time_s" where that was asked
 * for; then one of the plan's, which becomes NAME_KIND where one of the format's has that name: `-e
 * cycles` makes cycles_event; or all metrics, and behind them NAME_LOWER and NAME_UPPER of each. */
void rps_export_csv_fixed(struct rps_export_job *job, const char *const *fixed, int fixed_count);
void rps_export_csv_named(struct rps_export_job *job, const char *const *fixed, int fixed_count,
                          const char *name, const char *kind);
void rps_export_csv_metrics(struct rps_export_job *job, const char *const *fixed, int fixed_count,
                            const char *lower, const char *upper);

/* Write what is left. */
void rps_export_csv_end(struct rps_export_job *job);

/* Release job->state, which may be NULL. */
void rps_export_csv_release(struct rps_export_job *job);

#endif
