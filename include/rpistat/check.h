/* Check a store, and repair a damaged one.
 *
 * A store is sound if SQLite finds no error in the file, and the store has the tables that
 * `schema/` describes. In every run the periods must be consecutive, or a gap row must explain the
 * missing periods. The cycle timestamp must be equal to the sum of the cycles. The totals must be
 * equal to the sums over the periods. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

enum rps_finding_kind {
    RPS_FINDING_WRONG,   /* Error: the store is not sound */
    RPS_FINDING_WARNING, /* Possible problem without damage to the store */
    RPS_FINDING_NOTE,    /* Information from a repair: the rows that were saved */
};

/* A receiver of findings. SAFETY: a sentence may contain text from the store, and this text may be
 * unprintable. */
struct rps_finding_sink {
    void *context;
    void (*finding)(void *context, enum rps_finding_kind kind, const char *sentence);
};

struct rps_check_result {
    uint64_t runs, periods; /* Numbers of checked runs, and of their periods as in table `runs` */
    uint64_t wrong, odd;    /* Numbers of errors and of warnings */
};

/* Check the whole store at path, and report every error. The check changes nothing. If a recorder
 * was killed, SQLite first reads the recorder's log, as in rps_reader_open. An error that occurs in
 * many periods of a run is one finding. During a recording, the check reads the state that the
 * store had when the check began. Return 0 if the store was checked, even if the store has errors.
 * Return RPS_FAILED with the errors of rps_reader_open if the store cannot be opened. */
int rps_store_check(const char *path, const struct rps_finding_sink *sink,
                    struct rps_check_result *ret, struct rps_error *err);

struct rps_reader;

/* Check one run by the same rules as rps_store_check. Return 1 for a sound run, otherwise 0 with
 * the first finding in `why` ("" if memory runs out). */
int rps_store_run_is_sound(struct rps_reader *reader, int64_t run_id, char *why, size_t why_size);

struct rps_repair_result {
    uint64_t runs, periods;  /* Numbers of runs and periods in the new store */
    uint64_t dropped;        /* Number of readable rows that were invalid */
    uint64_t lost_stretches; /* Number of time ranges that became gap rows */
    uint64_t queries;        /* Number of SQL queries that the repair needed to read the store */
};

/* Copy all data that SQLite can still read from the store at path into a new store at new_path,
 * which must not exist. The damaged store is only read. Missing periods become gap rows, rollups
 * and totals are rebuilt, and numbers replace lost names. The sink receives each run's numbers of
 * saved and lost rows. A run that was being recorded has the state "interrupted" in the new store.
 * The new store appears only when it is complete. Return RPS_FAILED, without a new file, if nothing
 * can be read, the new store cannot be written, or new_path appears during the repair. */
int rps_store_repair(const char *path, const char *new_path, const struct rps_finding_sink *sink,
                     struct rps_repair_result *ret, struct rps_error *err);
