/*
 * Whether a run is still being recorded, as its heartbeat says: the recorder writes one with its
 * commits, also while paused. Process ids are not asked: a recorder may live in another PID
 * namespace or on another machine. Who knows the recorders of this machine may know it sooner.
 */
#ifndef RPISTAT_STORE_HEARTBEAT_H
#define RPISTAT_STORE_HEARTBEAT_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

/* A recorder writes one at least so often, and not much more often. */
#define RPS_HEARTBEAT_INTERVAL_NS (INT64_C(5) * 1000000000)

/* Behind three intervals: when a recorder that writes none is late, or dead. */
#define RPS_HEARTBEAT_GRACE_NS (INT64_C(30) * 1000000000)

/* SQL: the run of this row of `run` is in state `recording`, and its recorder is dead: it is known to
 * be (rps_store_ask_recorders), it has not written for three intervals and 30 s, or this machine has
 * been started anew since. Parameters: ?1 now, ns since 1970; ?2 this boot's id; ?3 this host's name. */
#define RPS_HEARTBEAT_IS_DEAD                                                                      \
    "(run.state = 'recording' AND (rpistat_is_dead(run.uuid) OR NOT EXISTS (SELECT 1"              \
    " FROM heartbeat AS h"                                                                         \
    " WHERE h.run_id = run.run_id AND h.realtime_ns + 3 * h.interval_ns + 30000000000 > ?1"        \
    " AND (h.boot_id = ?2 OR h.boot_id = '' OR ?2 = '' OR run.host <> ?3))))"

/* Bind the parameters of RPS_HEARTBEAT_IS_DEAD; an SQLite code. */
int rps_heartbeat_bind(sqlite3_stmt *stmt);

/* Give a connection the function that RPS_HEARTBEAT_IS_DEAD calls; an SQLite code. */
int rps_heartbeat_add_function(sqlite3 *db);

/* Linux's id of this boot, or "". */
void rps_heartbeat_boot_id(char *ret, size_t size);

#endif
