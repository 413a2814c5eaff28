/* The schema of a store (schema/schema.sql), and the upgrade of older stores that lack parts of it.
 * If a column or table is missing, readers treat its values as unknown. */
#pragma once

#include <sqlite3.h>

#include "embed.h"

/* Text of schema/schema.sql, embedded at build time. */
extern const struct rps_embedded rps_embedded_schema[];

/* Open a new store without rows, in memory. Returns an SQLite code. The caller closes *ret. */
int rps_schema_open(sqlite3 **ret);

/* Give db, a connection that reads an older store, all columns, tables and views of the schema.
 * Missing parts are added as temporary views, which hide incomplete tables. Nothing in the store
 * changes. Returns an SQLite code. */
int rps_schema_complete_for_reading(sqlite3 *db);

/* Upgrade db, a new or older store, to RPS_STORE_VERSION, in a transaction. A store of this or a
 * newer version is not changed. Returns an SQLite code. */
int rps_schema_bring_up_to_date(sqlite3 *db);
