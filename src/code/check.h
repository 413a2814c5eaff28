/* What is right of the tables of the code in a store. */
#ifndef RPISTAT_CODE_CHECK_H
#define RPISTAT_CODE_CHECK_H

#include "rpistat/store_wing.h"

#define RPS_CODE_QUESTIONS 14
extern const struct rps_store_question rps_code_questions[RPS_CODE_QUESTIONS];

/*
 * Drop what cannot be right of the code that was seen, and keep the rest: what refers to rows that
 * were lost refers to -1, and the totals are what there is. See struct rps_store_wing.
 */
int rps_code_repair(struct sqlite3 *db, int64_t run_id, uint64_t last_period,
                    uint64_t *ret_dropped);

#endif
