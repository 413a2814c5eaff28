/*
 * The schema of a store, schema/schema.sql, and stores that lack some of it: those of older
 * formats. A column or table that is not there reads as "not known", whatever it is.
 */
#ifndef RPISTAT_STORE_SCHEMA_H
#define RPISTAT_STORE_SCHEMA_H

#include <sqlite3.h>

#include "embed.h"

/* schema/schema.sql, made a part of the program at build time. */
extern const struct rps_embedded rps_embedded_schema[];

/* A new store without rows, in memory; *ret is to be closed in any case. An SQLite code. */
int rps_schema_open(sqlite3 **ret);

/*
 * Have db, a connection that reads an older store, find all columns, tables and views of the
 * schema: what the store lacks is there as temporary views, which hide what they complete. Nothing
 * of the store is changed. An SQLite code.
 */
int rps_schema_complete_for_reading(sqlite3 *db);

/* Make db, a new or an older store, one of RPS_STORE_VERSION, in a transaction; a store of that or
 * a newer format is left as it is. An SQLite code. */
int rps_schema_bring_up_to_date(sqlite3 *db);

#endif
