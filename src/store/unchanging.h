/* A store that nobody is writing, as it seems: SQLite may read it without locks, and is asked after
 * each query whether the file is still the one that was opened. */
#ifndef RPISTAT_STORE_UNCHANGING_H
#define RPISTAT_STORE_UNCHANGING_H

#include <sqlite3.h>

#define RPS_UNCHANGING_QUERY_SIZE 100

/* The query part of the URI that opens the file so; what the file is now is kept in it. */
void rps_unchanging_query(const char *name, char ret[RPS_UNCHANGING_QUERY_SIZE]);

/* 1 when db was opened so, and somebody wrote. */
int rps_unchanging_has_changed(sqlite3 *db);

#endif
