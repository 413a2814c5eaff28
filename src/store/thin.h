/*
 * Thinning a run that is being recorded: old periods become fewer, longer ones. Used by the thread
 * that owns the database.
 */
#ifndef RPISTAT_STORE_THIN_H
#define RPISTAT_STORE_THIN_H

#include <stdint.h>

#include <sqlite3.h>

struct rps_thin;

struct rps_thin_options {
    int64_t run_id;
    int set_count;
    int64_t period_ns;  /* nominal; not above 0: not known */
    int64_t keep_ns;    /* periods older than this are merged; 0: none for their age */
    uint64_t max_bytes; /* of the store's file and its log; 0: any */
};

/* Prepare; an SQLite code. With max_bytes the log is kept short from now on. db must outlive it. */
int rps_thin_open(sqlite3 *db, const struct rps_thin_options *options, struct rps_thin **ret);
void rps_thin_close(struct rps_thin *thin);

/* 1 when so much has come since the last work that it is time to look again. end_ns is the end of
 * the last period in the store, `periods` how many there are. */
int rps_thin_is_due(const struct rps_thin *thin, uint64_t periods, int64_t end_ns);

/*
 * Do what is to be done now, in at most so many transactions of some 2,000 rows. Nothing that ends
 * behind settled_ns is touched. An SQLite code; after another one than SQLITE_OK the transaction
 * was taken back, and the next call tries again. *ret_left (may be NULL) is 1 when there is more to
 * do.
 */
int rps_thin_work(struct rps_thin *thin, uint64_t periods, int64_t end_ns, int64_t settled_ns,
                  int transactions, int *ret_left);

/* 1 when the store is, or will soon be, above max_bytes for all that can be done. */
int rps_thin_is_in_vain(const struct rps_thin *thin);

/* Bytes that max_bytes must leave for a run, beside what the store holds already. */
#define RPS_THIN_ROOM_BYTES (UINT64_C(2) << 20)

/* What the store takes that cannot be thinned by this run: pages in use, in bytes, before it has
 * any. An SQLite code. */
int rps_thin_used_bytes(sqlite3 *db, uint64_t *ret);

#endif
