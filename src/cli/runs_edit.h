/* The runs that `runs` selects, and its changes to them. */
#ifndef RPISTAT_CLI_RUNS_EDIT_H
#define RPISTAT_CLI_RUNS_EDIT_H

#include "cli.h"
#include "rpistat/document.h"

/* The columns that --sort accepts. */
#define RPS_RUNS_COLUMNS "run label start state elapsed periods host command"

/* cli->settings of `runs`. */
struct rps_runs_settings {
    struct rps_texts run;       /* -r */
    const char *label;          /* --label; NULL: any */
    struct rps_texts tag;       /* --tag: "KEY=VALUE", all of them */
    struct rps_texts host;      /* --host: names or patterns, any of them */
    int64_t since_ns, until_ns; /* --since, --until: times of day; 0 if not given */
    int is_delete, is_shrink, is_wait;
    const char *set_label; /* --set-label; NULL: unchanged */
    struct rps_texts set_tag, unset_tag;
    enum rps_format format; /* of the list */
    struct rps_runs_order {
        const char *column; /* its name in JSON */
        int is_descending;
    } sort; /* --sort */
};

extern const struct rps_option rps_runs_options[];

/* Return 1 if runs are chosen by their properties. */
int rps_runs_is_filtered(const struct rps_runs_settings *settings);

/* Return 1 if the store is to be changed, and nothing listed. */
int rps_runs_is_change(const struct rps_runs_settings *settings);

/* Return the runs that the options and the operands select, in a new array (free()); all runs
 * without a selection. RPS_FAILED for an operand or -r that matches none. */
int rps_runs_choose(struct rps_cli *cli, int64_t **ret_run_id, size_t *ret_count);

/* Change the selected runs as the options say, and report it. Refused as a whole if one of them
 * cannot be deleted, or if they were not named. */
int rps_runs_change(struct rps_cli *cli, int is_named, const int64_t *run_id, size_t count);

#endif
