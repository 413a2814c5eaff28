/*
 * What `rpistat watch` knows of a run at one moment: its last minutes, how fast it goes now, and
 * the phase it is in.
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
    struct rps_plan *plan;        /* NULL before the first look */
    int64_t from_ns, to_ns;       /* the last minutes: what there is of them */
    uint64_t periods;             /* of the run so far */
    int have_rates;               /* 1: `recent` holds periods */
    struct rps_tally recent;      /* the last seconds, of all CPUs; its length that of one */
    double *operand;              /* of formulas, of these */
    struct rps_arena *arena;      /* owned; of both */
    int recent_periods;           /* that they are at least; set by the caller */
    struct rps_run_system system; /* of them: what was read beside */
    int have_phases;
    struct rps_phases phases; /* of the last minutes */
};

/* An empty view, to be looked at and freed. */
void rps_watch_view_init(struct rps_watch_view *view);

/*
 * Look at a run as it is now: its last `last_ns`, rates of the last `recent_ns` (or of as much as
 * has every event set in it, when that is longer). The phases keep the labels of the look before;
 * while the last minutes are the whole run they have those that `rpistat phases` gives. The store at
 * path is open only while it is read. The store's errors.
 */
int rps_watch_view_look(struct rps_watch_view *view, const char *path, int64_t run_id,
                        int64_t last_ns, int64_t recent_ns, struct rps_error *err);
void rps_watch_view_free(struct rps_watch_view *view);

/* "run 3  recording  12.3 s  123 periods  duty 25 %  phase B since 00:00:08 (4.3 s)" */
void rps_watch_view_state(const struct rps_watch_view *view, struct rps_status_text *line);

/* "CPU 11 %  waiting 88 %  asleep 1 %  RSS 120 MiB  written 3 MiB/s", as far as it was read, appended
 * to the line; of several threads "threads on a CPU 11 %", of all their time. */
void rps_watch_view_system(const struct rps_watch_view *view, struct rps_status_text *line);

/* "now  CPI 1.23  DC miss ratio 2.1 %  CPU use 99.8 %", appended to the line. */
void rps_watch_view_rates(const struct rps_watch_view *view, struct rps_status_text *line);

/* What a metric of the plan comes to in the last seconds, which there must be; NaN: not known. */
double rps_watch_view_metric(const struct rps_watch_view *view, int metric);

#endif
