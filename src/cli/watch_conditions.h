/* What `rpistat watch` looks out for in a recording (--on, --until), and the command that it runs. */
#ifndef RPISTAT_CLI_WATCH_CONDITIONS_H
#define RPISTAT_CLI_WATCH_CONDITIONS_H

#include <sys/types.h>

#include "cli.h"
#include "watch_view.h"

/* What a stretch has at least, so that it is no flicker. */
#define RPS_WATCH_PERIODS 10

enum rps_watch_condition_kind { RPS_WATCH_PHASE, RPS_WATCH_LOOP_END, RPS_WATCH_METRIC };

/* Where a stretch began in which a condition holds. */
struct rps_watch_boundary {
    int64_t start_ns;
    int label; /* the phase; -1: none */
};

struct rps_watch_condition {
    const char *text; /* as it was typed; borrowed */
    enum rps_watch_condition_kind kind;
    int label;                /* of a phase; -1: any */
    char name[RPS_NAME_SIZE]; /* of a metric, and its limit */
    int is_below;
    double limit;
    int is_until; /* 1: of --until */

    int64_t looked_ns;                    /* how far the run was at the last look */
    int64_t start_ns, middle_ns, seen_ns; /* the stretch that it was seen in last, and how far the
                                             run was then; -1: none, or it holds no more */
    int seen_label;                       /* the phase; -1: none */
    struct rps_watch_boundary *boundary;  /* all for which the command is to run; the arena's */
    size_t boundary_count, run_count;     /* and for how many it was started */
    pid_t command;                        /* that runs because of it; 0: none */
};

/* "phase", "phase:C", "loop-end", "METRIC>X" or "METRIC<X"; of --until not the first. RPS_USAGE for
 * another text. */
int rps_watch_condition_parse(const char *option, const char *text, struct rps_watch_condition *ret,
                              struct rps_error *err);

/* Find the earliest stretch since the last look in which the condition holds and was not seen. Return
 * 1, or 0 if there is none; after 1 a phase condition may have more. RPS_USAGE for a metric that the
 * run does not have. */
int rps_watch_condition_look(struct rps_watch_condition *condition,
                             const struct rps_watch_view *view, struct rps_error *err);

/* Remember the stretch that was seen, so that the command runs for it. */
void rps_watch_condition_add(struct rps_watch_condition *condition, struct rps_arena *arena);

/* 1 if the command is still to run for a stretch. */
int rps_watch_condition_is_due(const struct rps_watch_condition *condition);

/* Start the command for the next stretch, with that in its environment, and do not wait for it.
 * RPS_FAILED when it cannot be started. */
int rps_watch_condition_run(struct rps_watch_condition *condition, const struct rps_cli *cli,
                            int64_t run_id, char **argv, struct rps_error *err);

/* 1 when its command still runs; with is_end 1 that is waited for. */
int rps_watch_condition_runs(struct rps_watch_condition *condition, int is_end);

#endif
