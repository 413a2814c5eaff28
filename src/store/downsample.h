/*
 * Downsampling a run that is being recorded: fine rows for which a coarser one stands are deleted,
 * and `thinned` says so in the same transaction. Used by the thread that owns the database.
 */
#ifndef RPISTAT_STORE_DOWNSAMPLE_H
#define RPISTAT_STORE_DOWNSAMPLE_H

#include <stdint.h>

#include <sqlite3.h>

struct rps_downsample;

struct rps_downsample_options {
    int64_t run_id;
    int64_t keep_ns;    /* periods older than this go; 0: none for their age */
    int keep_blocks;    /* and not before the run has so many blocks of the next level */
    uint64_t max_bytes; /* of the store's file and its log; 0: any */
    void *wing;         /* what the wing has opened for this run; NULL: it has no rows of it */
};

/* Prepare; an SQLite code. With max_bytes the log is kept short from now on. db and what the wing
 * has opened must outlive it. */
int rps_downsample_open(sqlite3 *db, const struct rps_downsample_options *options,
                        struct rps_downsample **ret);
void rps_downsample_close(struct rps_downsample *downsample);

/* 1 when so much has come since the last work that it is time to look again. end_ns is the end of
 * the last period in the store, `periods` how many there were. */
int rps_downsample_is_due(const struct rps_downsample *downsample, uint64_t periods,
                          int64_t end_ns);

/*
 * Do what is to be done now, in at most so many transactions of some thousand rows. An SQLite code;
 * after another one than SQLITE_OK the transaction was taken back, and the next call tries again.
 * *ret_left (may be NULL) is 1 when there is more to do.
 */
int rps_downsample_work(struct rps_downsample *downsample, uint64_t periods, int64_t end_ns,
                        int transactions, int *ret_left);

/* 1 when the store is above max_bytes for all that can be done. */
int rps_downsample_is_in_vain(const struct rps_downsample *downsample);

/* Bytes that max_bytes must leave for a run, beside what the store holds already. */
#define RPS_DOWNSAMPLE_ROOM_BYTES (UINT64_C(2) << 20)

#endif
