/*
 * Downsample a run that is being recorded: delete fine rows that a coarser row replaces, and update
 * `thinned` in the same transaction. SAFETY: used only by the thread that owns the database.
 */
#ifndef RPISTAT_STORE_DOWNSAMPLE_H
#define RPISTAT_STORE_DOWNSAMPLE_H

#include <stdint.h>

#include <sqlite3.h>

struct rps_downsample;

struct rps_downsample_options {
    int64_t run_id;
    int64_t keep_ns;    /* delete periods older than this; 0: no age limit */
    int keep_blocks;    /* but only when the run has this many blocks of the next level */
    uint64_t max_bytes; /* limit of the store's file and its log; 0: none */
    void *wing;         /* what the extension has opened for this run; NULL: it has no rows of it */
};

/* Prepare downsampling. With max_bytes the log is kept short from now on. db and what the extension
 * has opened must outlive it. Returns an SQLite code. */
int rps_downsample_open(sqlite3 *db, const struct rps_downsample_options *options,
                        struct rps_downsample **ret);
void rps_downsample_close(struct rps_downsample *downsample);

/* Return 1 if enough was written since the last work to look again. end_ns is the end of the last
 * period in the store, `periods` their number. */
int rps_downsample_is_due(const struct rps_downsample *downsample, uint64_t periods,
                          int64_t end_ns);

/*
 * Do the work that is due, in at most `transactions` transactions of some thousand rows. Returns an
 * SQLite code; if not SQLITE_OK, the transaction was rolled back, and the next call retries.
 * *ret_left (may be NULL) is 1 if work remains.
 */
int rps_downsample_work(struct rps_downsample *downsample, uint64_t periods, int64_t end_ns,
                        int transactions, int *ret_left);

/* Return 1 if the store exceeds max_bytes and no more can be deleted. */
int rps_downsample_is_in_vain(const struct rps_downsample *downsample);

/* Bytes that max_bytes must leave for a run, in addition to the store's present content. */
#define RPS_DOWNSAMPLE_ROOM_BYTES (UINT64_C(2) << 20)

#endif
