/*
 * Check a store, and repair a damaged one.
 *
 * A store is sound if SQLite finds its file sound and its tables are those of `schema/`. In every
 * run the periods must be consecutive or a gap row must explain why not. The cycle timestamp must
 * be the sum of the cycles, and the totals must be those of the periods.
 */
#ifndef RPISTAT_CHECK_H
#define RPISTAT_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

enum rps_finding_kind {
    RPS_FINDING_WRONG, /* the store is not sound */
    RPS_FINDING_ODD,   /* a warning, no damage */
    RPS_FINDING_NOTE,  /* of a repair: the rows that were saved */
};

/* Receives the findings. SAFETY: a sentence may hold text of the store, which may be
 * unprintable. */
struct rps_finding_sink {
    void *context;
    void (*finding)(void *context, enum rps_finding_kind kind, const char *sentence);
};

struct rps_check_result {
    uint64_t runs, periods; /* checked; of a run its measurement periods, as in `runs` */
    uint64_t wrong, odd;    /* findings */
};

/*
 * Check the whole store at path and report every error. Nothing in it is changed, but the log of a
 * killed recorder is read first, as by rps_reader_open. The same error in many periods of a run is
 * one finding. During a recording, the check sees the store's state at its beginning. Returns 0 if
 * the store was checked, whatever was found; RPS_FAILED if it cannot be opened: the errors of
 * rps_reader_open.
 */
int rps_store_check(const char *path, const struct rps_finding_sink *sink,
                    struct rps_check_result *ret, struct rps_error *err);

struct rps_reader;

/* Check one run by the same rules: 1 if it is sound. Otherwise returns 0, with the first finding in
 * `why`; "": no memory. */
int rps_store_run_is_sound(struct rps_reader *reader, int64_t run_id, char *why, size_t why_size);

struct rps_repair_result {
    uint64_t runs, periods;  /* in the new store, as above */
    uint64_t dropped;        /* readable rows that are invalid */
    uint64_t lost_stretches; /* time ranges for which gap rows were written */
    uint64_t queries;        /* needed for reading */
};

/*
 * Copy what SQLite can still read of the store at path into a new store at new_path, which must not
 * exist. The damaged store is only read. Missing periods become gap rows, rollups and totals are
 * rebuilt, and numbers replace lost names. The sink receives every run's saved and lost rows. A run
 * that was being recorded is interrupted in the new store, which appears only when it is complete.
 * RPS_FAILED if nothing can be read, the new store cannot be written, or new_path has appeared in
 * between; nothing is left then.
 */
int rps_store_repair(const char *path, const char *new_path, const struct rps_finding_sink *sink,
                     struct rps_repair_result *ret, struct rps_error *err);

#endif
