/* Declarations of this extension's files, for its table. */
#ifndef RPISTAT_CODE_WING_PARTS_H
#define RPISTAT_CODE_WING_PARTS_H

#include "rpistat/code.h"
#include "rpistat/signal.h"
#include "rpistat/store_wing.h"
#include "rpistat/wing.h"

extern const struct rps_signal_provider rps_code_signals;

/* The code of the run whose phases were found last. It is left with the run's reader, for the
 * shares of these phases. */
struct rps_code_left {
    struct rps_arena *arena; /* owned; holds all members */
    int64_t run_id;
    struct rps_code code;
};

void rps_code_left_free(void *left); /* NULL is harmless */

/* Members of struct rps_wing. */
int rps_code_panel(struct rps_picture *picture, const struct rps_plot_options *options,
                   struct rps_error *err);
int rps_code_page(struct rps_json *json, const struct rps_picture *picture, struct rps_error *err);
int rps_code_page_joint(struct rps_json *json, const struct rps_page_joint *joint,
                        struct rps_error *err);

/* --- checks of the code tables in a store ----------------------------------------------------- */

#define RPS_CODE_QUESTIONS 14
extern const struct rps_store_question rps_code_questions[RPS_CODE_QUESTIONS];

/*
 * Drop invalid rows of the code, and keep the rest. References to lost rows become -1, and totals
 * are computed from the rows that exist. See struct rps_store_wing.
 */
int rps_code_repair(struct sqlite3 *db, int64_t run_id, uint64_t last_period,
                    uint64_t *ret_dropped);

#endif
