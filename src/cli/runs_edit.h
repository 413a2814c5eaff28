/* Which runs `runs` is about, and what it does with them beside listing them. */
#ifndef RPISTAT_CLI_RUNS_EDIT_H
#define RPISTAT_CLI_RUNS_EDIT_H

#include "cli.h"
#include "rpistat/document.h"

/* What --sort takes. */
#define RPS_RUNS_COLUMNS "run label start state elapsed periods host command"

/* cli->settings of `runs`. */
struct rps_runs_settings {
    struct rps_texts run;       /* -r */
    const char *label;          /* --label; NULL: any */
    struct rps_texts tag;       /* --tag: "KEY=VALUE", all of them */
    struct rps_texts host;      /* --host: names or patterns, any of them */
    int64_t since_ns, until_ns; /* --since, --until: of the clock; 0 when not given */
    int is_delete, is_shrink, is_wait;
    const char *set_label; /* --set-label; NULL: as it is */
    struct rps_texts set_tag, unset_tag;
    enum rps_format format; /* of the list */
    struct rps_runs_order {
        const char *column; /* its name in JSON */
        int is_descending;
    } sort; /* --sort */
};

extern const struct rps_option rps_runs_options[];

/* 1 when runs are chosen by their properties. */
int rps_runs_is_filtered(const struct rps_runs_settings *settings);

/* 1 when the store is to be changed, and nothing listed. */
int rps_runs_is_change(const struct rps_runs_settings *settings);

/* Those of the runs that the options and the operands choose, in a new array (free()); all of them
 * when nothing is asked for. RPS_FAILED for an operand or -r that means none. */
int rps_runs_choose(struct rps_cli *cli, int64_t **ret_run_id, size_t *ret_count);

/* Change the chosen runs as the options say, and tell of it. Refused as a whole when one of them
 * cannot be deleted, and when they were not named. */
int rps_runs_change(struct rps_cli *cli, int is_named, const int64_t *run_id, size_t count);

#endif
