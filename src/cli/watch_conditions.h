/* Conditions of `rpistat watch` in a recording (--on, --until), and the command that it runs. */
#ifndef RPISTAT_CLI_WATCH_CONDITIONS_H
#define RPISTAT_CLI_WATCH_CONDITIONS_H

#include <sys/types.h>

#include "cli.h"
#include "watch_view.h"

/* Minimum length of a segment, so that it is not noise. */
#define RPS_WATCH_PERIODS 10

enum rps_watch_condition_kind { RPS_WATCH_PHASE, RPS_WATCH_LOOP_END, RPS_WATCH_METRIC };

/* The start of a segment in which a condition holds. */
struct rps_watch_boundary {
    int64_t start_ns;
    int label; /* the phase; -1: none */
};

struct rps_watch_condition {
    const char *text; /* as typed; borrowed */
    enum rps_watch_condition_kind kind;
    int label;                /* of a phase; -1: any */
    char name[RPS_NAME_SIZE]; /* of a metric, and its limit */
    int is_below;
    double limit;
    int is_until; /* 1: of --until */

    int64_t looked_ns;                    /* how far the run was at the last update */
    int64_t start_ns, middle_ns, seen_ns; /* the segment that it was last seen in, and how far the
                                             run was then; -1: none, or it holds no longer */
    int seen_label;                       /* the phase; -1: none */
    struct rps_watch_boundary *boundary;  /* all for which the command must run; the arena's */
    size_t boundary_count, run_count;     /* and for how many it was started */
    pid_t command;                        /* that runs because of it; 0: none */
};

/* Parse "phase", "phase:C", "loop-end", "METRIC>X" or "METRIC<X"; --until does not accept the
 * first. RPS_USAGE for any other text. */
int rps_watch_condition_parse(const char *option, const char *text, struct rps_watch_condition *ret,
                              struct rps_error *err);

/* Find the earliest segment since the last update in which the condition holds and was not seen.
 * Return 1, or 0 if there is none; after 1 a phase condition may have more. RPS_USAGE for a metric
 * that the run does not have. */
int rps_watch_condition_look(struct rps_watch_condition *condition,
                             const struct rps_watch_view *view, struct rps_error *err);

/* Remember the segment that was seen, so that the command runs for it. */
void rps_watch_condition_add(struct rps_watch_condition *condition, struct rps_arena *arena);

/* Return 1 if the command must still run for a segment. */
int rps_watch_condition_is_due(const struct rps_watch_condition *condition);

/* Start the command for the next segment, with the segment in its environment, and do not wait.
 * RPS_FAILED if it cannot be started. */
int rps_watch_condition_run(struct rps_watch_condition *condition, const struct rps_cli *cli,
                            int64_t run_id, char **argv, struct rps_error *err);

/* Return 1 if its command still runs; with is_end 1, wait for its end. */
int rps_watch_condition_runs(struct rps_watch_condition *condition, int is_end);

#endif
