/*
 * What the export formats share: one walk over a run's periods, for which a format supplies what
 * happens at its beginning, at each period and at its end.
 */
#ifndef RPISTAT_SHOW_EXPORT_ROWS_H
#define RPISTAT_SHOW_EXPORT_ROWS_H

#include "rpistat/export.h"
#include "csv_writer.h"

struct rps_export_job {
    struct rps_csv_writer *csv;
    const struct rps_plan *plan;
    int64_t run_id;
    void *state; /* the format's own */
};

struct rps_export_rows {
    /* Make job->state and write the header row. On failure nothing is left to free. */
    int (*begin)(struct rps_export_job *job, struct rps_error *err);
    void (*period)(struct rps_export_job *job, const struct rps_period *period);
    void (*end)(struct rps_export_job *job);     /* all periods were there; may be NULL */
    void (*release)(struct rps_export_job *job); /* frees job->state */
};

/* Export a run through rows. Errors: the store's, the sheet's, the format's. */
int rps_export_walk(FILE *out, struct rps_reader *reader, int64_t run_id,
                    const struct rps_export_options *options, const struct rps_export_rows *rows,
                    struct rps_error *err);

/* The cells that name a place in the run: "run,cpu". */
void rps_export_place(struct rps_export_job *job, int32_t cpu);

/* Cells of the header: the format's own columns, and then one of the plan's, which becomes NAME_KIND
 * where one of the format's has that name: `-e cycles` makes cycles_event. */
void rps_export_fixed(struct rps_export_job *job, const char *const *fixed, int fixed_count);
void rps_export_named(struct rps_export_job *job, const char *const *fixed, int fixed_count,
                      const char *name, const char *kind);

int rps_export_wide(FILE *out, struct rps_reader *reader, int64_t run_id,
                    const struct rps_export_options *options, struct rps_error *err);
int rps_export_rates(FILE *out, struct rps_reader *reader, int64_t run_id,
                     const struct rps_export_options *options, struct rps_error *err);
int rps_export_long(FILE *out, struct rps_reader *reader, int64_t run_id,
                    const struct rps_export_options *options, struct rps_error *err);

#endif
