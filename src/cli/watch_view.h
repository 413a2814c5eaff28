/* A run at one moment, for `rpistat watch`: its last minutes, current rates, and current phase. */
#pragma once

#include "terminal_line.h"
#include "rpistat/phase.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/tally.h"

struct rps_watch_view {
    struct rps_run run;            /* its arena is replaced by each update; owned */
    struct rps_plan *plan;         /* plan of the run; NULL before the first update */
    int64_t from_ns, to_ns;        /* start and end of the available part of the last minutes */
    uint64_t periods;              /* number of periods of the run so far */
    int have_rates;                /* 1: `recent` holds periods, so that rates can be computed */
    struct rps_tally recent;       /* counts of the last seconds; the length is elapsed time, not
                                     the sum of the CPUs' times */
    double *operand;               /* operands of formulas, from `recent` */
    struct rps_arena *arena;       /* arena of `recent`, `operand` and `system`; owned */
    int recent_periods;            /* minimum number of periods in `recent`; set by the caller */
    struct rps_run_system *system; /* system metrics of the seconds in `recent` */
    int have_phases;
    struct rps_phases phases;       /* phases of the last minutes */
    struct rps_arena *phases_arena; /* owned */
};

/* Update the view of a run: its last `last_ns`, and the rates of the last `recent_ns`, extended
 * until every event set is included. Phases keep the labels of the previous update. As long as the
 * run is not longer than `last_ns`, phases equal those of `rpistat phases`. The store at path is
 * open only during the update. The errors are those of the store. */
int rps_watch_view_look(struct rps_watch_view *view, const char *path, int64_t run_id,
                        int64_t last_ns, int64_t recent_ns, struct rps_error *err);
void rps_watch_view_free(struct rps_watch_view *view);

/* Append a text such as "run 3 recording 12.3 s 123 periods duty 25 % phase B since 00:00:08 (4.3
 * s)". */
void rps_watch_view_state(const struct rps_watch_view *view, struct rps_status_text *line);

/* Append a text such as "CPU 11 % waiting 88 % asleep 1 % RSS 120 MiB written 3 MiB/s", without
 * unknown values. With several threads, the text is "threads on a CPU 11 %". The percentage is then
 * a share of the total time of all threads. */
void rps_watch_view_system(const struct rps_watch_view *view, struct rps_status_text *line);

/* Append a text such as "now CPI 1.23 DC miss ratio 2.1 % CPU use 99.8 %". */
void rps_watch_view_rates(const struct rps_watch_view *view, struct rps_status_text *line);

/* Return a plan's metric over the last seconds, NaN if unknown. Rates must exist (have_rates). */
double rps_watch_view_metric(const struct rps_watch_view *view, int metric);
