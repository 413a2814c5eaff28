/*
 * The schema of a store, schema/schema.sql, and stores of older formats that lack parts of it.
 * Every missing column or table reads as "not known".
 */
#ifndef RPISTAT_STORE_SCHEMA_H
#define RPISTAT_STORE_SCHEMA_H

#include <sqlite3.h>

#include "embed.h"

/* schema/schema.sql, embedded at build time. */
extern const struct rps_embedded rps_embedded_schema[];

/* Open a new store without rows, in memory; close *ret in any case. Returns an SQLite code. */
int rps_schema_open(sqlite3 **ret);

/*
 * Give db, a connection that reads an older store, all columns, tables and views of the schema.
 * Missing ones become temporary views, which hide the tables that they complete. Nothing in the
 * store changes. Returns an SQLite code.
 */
int rps_schema_complete_for_reading(sqlite3 *db);

/* Upgrade db, a new or older store, to RPS_STORE_VERSION, in a transaction; a store of that or a
 * newer format is left unchanged. Returns an SQLite code. */
int rps_schema_bring_up_to_date(sqlite3 *db);

#endif
