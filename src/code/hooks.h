/* Declares the functions of this extension for the table in hooks.c. */
#pragma once

#include "rpistat/signal.h"
#include "rpistat/store_hooks.h"
#include "rpistat/code_hooks.h"

extern const struct rps_signal_provider rps_code_signals;

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
