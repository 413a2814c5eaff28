/*
 * Whether a run is still being recorded, by its heartbeat, which is written with commits, also
 * while paused. Process ids are not checked: a recorder may be in another PID namespace or on
 * another machine. A program that knows this machine's recorders may know it sooner.
 */
#ifndef RPISTAT_STORE_HEARTBEAT_H
#define RPISTAT_STORE_HEARTBEAT_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

/* A recorder writes one at least this often, and not much more often. */
#define RPS_HEARTBEAT_INTERVAL_NS (INT64_C(5) * 1000000000)

/* Time after three missed intervals until a recorder counts as late, or dead. */
#define RPS_HEARTBEAT_GRACE_NS (INT64_C(30) * 1000000000)

/* SQL: the run of this row of `run` is in state `recording`, and its recorder is dead: it is known
 * to be (rps_store_ask_recorders), it has not written for three intervals and 30 s, or this machine
 * has restarted. Parameters: ?1 now, ns since 1970; ?2 this boot's id; ?3 the host's name. */
#define RPS_HEARTBEAT_IS_DEAD                                                                      \
    "(run.state = 'recording' AND (rpistat_is_dead(run.uuid) OR NOT EXISTS (SELECT 1"              \
    " FROM heartbeat AS h"                                                                         \
    " WHERE h.run_id = run.run_id AND h.realtime_ns + 3 * h.interval_ns + 30000000000 > ?1"        \
    " AND (h.boot_id = ?2 OR h.boot_id = '' OR ?2 = '' OR run.host <> ?3))))"

/* Bind the parameters of RPS_HEARTBEAT_IS_DEAD. Returns an SQLite code. */
int rps_heartbeat_bind(sqlite3_stmt *stmt);

/* Give a connection the function that RPS_HEARTBEAT_IS_DEAD calls. Returns an SQLite code. */
int rps_heartbeat_add_function(sqlite3 *db);

/* Write Linux's id of this boot to ret, or "". */
void rps_heartbeat_boot_id(char *ret, size_t size);

#endif
