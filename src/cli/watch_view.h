/*
 * The state of a run at one moment, for `rpistat watch`: its last minutes, its current rates, and
 * its current phase.
 */
#ifndef RPISTAT_CLI_WATCH_VIEW_H
#define RPISTAT_CLI_WATCH_VIEW_H

#include "terminal_line.h"
#include "rpistat/phase.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/run_system.h"
#include "rpistat/store.h"
#include "rpistat/tally.h"

struct rps_watch_view {
    struct rps_run run;
    struct rps_plan *plan;        /* NULL before the first update */
    int64_t from_ns, to_ns;       /* the available part of the last minutes */
    uint64_t periods;             /* of the run so far */
    int have_rates;               /* 1: `recent` holds periods */
    struct rps_tally recent;      /* the last seconds, of all CPUs; its length is that of one */
    double *operand;              /* of formulas, of these */
    struct rps_arena *arena;      /* owned; for both */
    int recent_periods;           /* minimum periods in it; set by the caller */
    struct rps_run_system system; /* system metrics of the same seconds */
    int have_phases;
    struct rps_phases phases; /* of the last minutes */
};

/* Make an empty view, for updates and for free. */
void rps_watch_view_init(struct rps_watch_view *view);

/*
 * Update the view of a run: its last `last_ns`, and rates of the last `recent_ns`, extended until
 * every event set is included. Phases keep the labels of the last update; while the last minutes
 * are the whole run, they equal those of `rpistat phases`. The store at path is open only while it
 * is read. Errors: the store's.
 */
int rps_watch_view_look(struct rps_watch_view *view, const char *path, int64_t run_id,
                        int64_t last_ns, int64_t recent_ns, struct rps_error *err);
void rps_watch_view_free(struct rps_watch_view *view);

/* Append "run 3 recording 12.3 s 123 periods duty 25 % phase B since 00:00:08 (4.3 s)". */
void rps_watch_view_state(const struct rps_watch_view *view, struct rps_status_text *line);

/* Append "CPU 11 % waiting 88 % asleep 1 % RSS 120 MiB written 3 MiB/s", as far as it was read.
 * With several threads, it is "threads on a CPU 11 %", of their total time. */
void rps_watch_view_system(const struct rps_watch_view *view, struct rps_status_text *line);

/* Append "now CPI 1.23 DC miss ratio 2.1 % CPU use 99.8 %". */
void rps_watch_view_rates(const struct rps_watch_view *view, struct rps_status_text *line);

/* Return a metric of the plan over the last seconds, which must exist; NaN: unknown. */
double rps_watch_view_metric(const struct rps_watch_view *view, int metric);

#endif
