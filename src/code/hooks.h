/* Declares the functions of this extension for the table in hooks.c. */
#pragma once

#include "rpistat/code.h"
#include "rpistat/signal.h"
#include "rpistat/store_hooks.h"
#include "rpistat/code_hooks.h"

extern const struct rps_signal_provider rps_code_signals;

/* The code (struct rps_code) of the run in which rpistat most recently found phases. The run's
 * reader keeps the code, because it is needed to compute the shares of these phases. */
struct rps_code_left {
    struct rps_arena *arena; /* Owned arena that holds all members. */
    int64_t run_id;
    struct rps_code code;
};

void rps_code_left_free(void *left); /* `left` may be NULL. */

/* Members of struct rps_code_hooks. */
int rps_code_panel(struct rps_picture *picture, const struct rps_plot_options *options,
                   struct rps_error *err);
int rps_code_page(struct rps_json *json, const struct rps_picture *picture, struct rps_error *err);
int rps_code_page_joint(struct rps_json *json, const struct rps_page_joint *joint,
                        struct rps_error *err);
int rps_code_programs(struct rps_export_job *job, struct rps_export_programs *ret,
                      struct rps_error *err);

/* --- checks of the code tables in a store ----------------------------------------------------- */

#define RPS_CODE_QUESTIONS 14
extern const struct rps_store_question rps_code_questions[RPS_CODE_QUESTIONS];

/* Drop invalid rows of the code tables, and keep all valid rows. References to lost rows become -1,
 * and totals are computed from the rows that exist. See struct rps_store_hooks. */
int rps_code_repair(struct sqlite3 *db, int64_t run_id, uint64_t last_period,
                    uint64_t *ret_dropped);
