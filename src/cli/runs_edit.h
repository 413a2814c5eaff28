/* The runs that `rpistat runs` selects by its options, and changes to these runs. */
#pragma once

#include "cli.h"
#include "rpistat/document.h"

/* The columns that --sort accepts. */
#define RPS_RUNS_COLUMNS "run label start state elapsed periods host command"

struct rps_runs_settings {
    struct rps_texts run;       /* arguments of -r: runs */
    const char *label;          /* argument of --label; NULL: any label */
    struct rps_texts tag;       /* --tag: each "KEY=VALUE" must match */
    struct rps_texts host;      /* arguments of --host: names or patterns; one of them must match */
    int64_t since_ns, until_ns; /* --since, --until: Unix times; 0 if not given */
    int is_delete, is_shrink, is_wait;
    const char *set_label; /* argument of --set-label; NULL: keep the label */
    struct rps_texts set_tag, unset_tag;
    enum rps_format format; /* format of the list */
    struct rps_runs_order {
        const char *column; /* name of the column in JSON */
        int is_descending;
    } sort; /* column and direction of --sort */
};

extern const struct rps_option rps_runs_options[];

/* Return 1 if runs are chosen by their properties. */
int rps_runs_is_filtered(const struct rps_runs_settings *settings);

/* Return 1 if the options change the store instead of listing the runs. */
int rps_runs_is_change(const struct rps_runs_settings *settings);

/* Return the runs that the options and the operands select, in a new array (free()). Without a
 * selection, return all runs. RPS_FAILED for an operand or -r that matches no run. */
int rps_runs_choose(struct rps_cli *cli, int64_t **ret_run_id, size_t *ret_count);

/* Change the selected runs as the options require, and report the changes. Nothing is changed if
 * any of the runs cannot be deleted, or if the user named no runs. */
int rps_runs_change(struct rps_cli *cli, int is_named, const int64_t *run_id, size_t count);
