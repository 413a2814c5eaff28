/* What the wide and the full export share: a column an event, in the order of their first sets. */
#ifndef RPISTAT_SHOW_EXPORT_WIDE_H
#define RPISTAT_SHOW_EXPORT_WIDE_H

#include "export_csv.h"

/* Make job->state and write the header: the format's own columns, then the events. */
int rps_export_wide_begin(struct rps_export_job *job, const char *const *fixed, int fixed_count,
                          struct rps_error *err);
/* Cells of a period: "run,cpu,period,time_s,length_s,cycle,cycles,set"; those of the events. */
void rps_export_wide_place(struct rps_export_job *job, const struct rps_period *period);
void rps_export_wide_events(struct rps_export_job *job, const struct rps_period *period);
/* A row with nothing but text in the last of the format's own columns. */
void rps_export_wide_text(struct rps_export_job *job, const char *text);
void rps_export_wide_release(struct rps_export_job *job);

#endif
