/*
 * Checking a store, and saving what can be read of a damaged one.
 *
 * A store is sound when SQLite finds its file sound, its tables are those of `schema/`, and of
 * every run: the periods follow one another or a gap row says why not, the cycle timestamp is the
 * sum of the cycles, and the totals are those of the periods.
 */
#ifndef RPISTAT_CHECK_H
#define RPISTAT_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

enum rps_finding_kind {
    RPS_FINDING_WRONG, /* the store is not sound */
    RPS_FINDING_ODD,   /* worth knowing, and no damage */
    RPS_FINDING_NOTE,  /* of a repair: what was saved */
};

/* Who is told of findings. A sentence may hold text of the store: it is not made printable. */
struct rps_finding_sink {
    void *context;
    void (*finding)(void *context, enum rps_finding_kind kind, const char *sentence);
};

struct rps_check_result {
    uint64_t runs, periods; /* looked at; of a run its measurement periods, as in `runs` */
    uint64_t wrong, odd;    /* findings */
};

/*
 * Look at the whole store at path and tell of everything that is not as it should be. Nothing in it
 * is changed, but what a killed recorder left is brought in first, as by rps_reader_open. What is
 * wrong in the same way in many periods of a run is one finding. A store that is being recorded
 * into is seen as it was when the check began. Returns 0 when the store was looked at, whatever was
 * found; RPS_FAILED when it cannot be opened: the errors of rps_reader_open.
 */
int rps_store_check(const char *path, const struct rps_finding_sink *sink,
                    struct rps_check_result *ret, struct rps_error *err);

struct rps_reader;

/* Look at a run alone, by the same rules: 1 when it is sound. 0, and of a run that is not the first
 * finding in `why`, which is "" where memory was lacking. */
int rps_store_run_is_sound(struct rps_reader *reader, int64_t run_id, char *why, size_t why_size);

struct rps_repair_result {
    uint64_t runs, periods;  /* in the new store, as above */
    uint64_t dropped;        /* rows that could be read and make no sense */
    uint64_t lost_stretches; /* of time, for which gap rows were written */
    uint64_t queries;        /* that reading took */
};

/*
 * Save what SQLite can still read of the store at path into a new one at new_path, which must not
 * be there. The damaged one is only read. What is missing becomes gap rows, rollups and totals are
 * made anew, and what is lost of a run's description is replaced by numbers for names. The sink is
 * told what was saved and lost of every run. A run that was being recorded is interrupted in the
 * new store, which is written beside its place and appears there when it is whole. RPS_FAILED when
 * nothing of a store can be read, or the new one cannot be written, or another one has come there
 * meanwhile; nothing is left then.
 */
int rps_store_repair(const char *path, const char *new_path, const struct rps_finding_sink *sink,
                     struct rps_repair_result *ret, struct rps_error *err);

#endif
