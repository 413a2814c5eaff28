/* Conditions of `rpistat watch` (--on, --until), and the commands that the conditions start. */
#pragma once

#include <sys/types.h>

#include "cli.h"
#include "watch_view.h"

/* Minimum length of a segment in periods; shorter segments may be noise. */
#define RPS_WATCH_PERIODS 10

enum rps_watch_condition_kind { RPS_WATCH_PHASE, RPS_WATCH_LOOP_END, RPS_WATCH_METRIC };

/* The start of a segment in which a condition holds. */
struct rps_watch_boundary {
    int64_t start_ns;
    int label; /* label of the phase; -1: none */
};

struct rps_watch_condition {
    const char *text; /* condition as the user typed it; borrowed */
    enum rps_watch_condition_kind kind;
    int label;                /* label of a phase; -1: any */
    char name[RPS_NAME_SIZE]; /* name of a metric, which is compared with `limit` */
    int is_below;
    double limit;
    int is_until; /* 1: a condition of --until; 0: a condition of --on */

    int64_t looked_ns;                    /* end of the run at the last update */
    int64_t start_ns, middle_ns, seen_ns; /* segment in which the condition most recently held,
                                             and the run's end at that time; -1: none, or the
                                             condition no longer holds */
    int seen_label;                       /* label of the phase that was seen last; -1: none */
    struct rps_watch_boundary *boundary;  /* segments for which to run the command; in the arena */
    size_t boundary_count, run_count;     /* number of segments; number of commands started */
    pid_t command;                        /* process of the running command; 0: none */
};

/* Parse "phase", "phase:C", "loop-end", "METRIC>X" or "METRIC<X"; --until does not accept "phase".
 * RPS_USAGE for any other text. */
int rps_watch_condition_parse(const char *option, const char *text, struct rps_watch_condition *ret,
                              struct rps_error *err);

/* Find the earliest new segment since the last update in which the condition holds. Returns 1, or 0
 * if there is no such segment. After the result 1, a phase condition may hold in more segments.
 * Returns RPS_USAGE for a metric that the run does not have. */
int rps_watch_condition_look(struct rps_watch_condition *condition,
                             const struct rps_watch_view *view, struct rps_error *err);

/* Add the most recent segment to the segments for which the command must run. */
void rps_watch_condition_add(struct rps_watch_condition *condition, struct rps_arena *arena);

/* Return 1 if the command must still be started for some segment. */
int rps_watch_condition_is_due(const struct rps_watch_condition *condition);

/* Start the command for the next segment, with the segment in its environment, and do not wait.
 * RPS_FAILED if the command cannot be started. */
int rps_watch_condition_run(struct rps_watch_condition *condition, const struct rps_cli *cli,
                            int64_t run_id, char **argv, struct rps_error *err);

/* Return 1 if the condition's command still runs. With is_end 1, wait for its end. */
int rps_watch_condition_runs(struct rps_watch_condition *condition, int is_end);
