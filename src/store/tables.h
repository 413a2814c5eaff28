/* The list of a store's tables, all of which hold rows of runs. A test compares it with the
 * schema. */
#ifndef RPISTAT_STORE_TABLES_H
#define RPISTAT_STORE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "rpistat/store_wing.h"

#define RPS_TABLE_COUNT    26
#define RPS_TABLE_KEYS_MAX 5

struct rps_table {
    const char *name;
    int keys;
    const char *key[RPS_TABLE_KEYS_MAX]; /* columns of its primary key, run_id first */
    int64_t least[RPS_TABLE_KEYS_MAX];   /* the lowest value that a recorder writes in each */
    bool is_part; /* key[] is only the first part of the primary key; the rest is text */
};

/* A table that describes rows of others precedes them: run is the first. */
extern const struct rps_table rps_tables[RPS_TABLE_COUNT];

/* The tables passed to rps_store_use. */
extern const struct rps_store_wing *rps_store_wing;

/* Find the table of that name, in any case of letters; NULL: none. */
const struct rps_table *rps_table_find(const char *name);

/* Is it the heartbeat table? Recorders write it for the runs that they record: it is not copied. */
bool rps_table_is_heartbeat(const struct rps_table *table);

#endif
