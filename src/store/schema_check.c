/*
 * Whether the tables of a store are tables.
 *
 * SQLite can be told to prohibit views (SQLITE_DBCONFIG_ENABLE_VIEW), not virtual tables and
 * computed columns. A limit of time on queries was thought of: it would end those of long runs.
 */
#include "schema_check.h"

#include "database.h"

#include <stddef.h>

/* Columns that are not in the rows are hidden: 2 and 3 are computed, 1 belongs to virtual tables.
 */
#define SQL_NOT_PLAIN                                                                              \
    "SELECT name, type FROM pragma_table_list AS t WHERE schema = 'main'"                          \
    " AND name COLLATE NOCASE IN ('run', 'event_set', 'event', 'metric', 'metric_step',"           \
    " 'period', 'phase', 'outlier', 'mark', 'gap')"                                                \
    " AND (type <> 'table'"                                                                        \
    "      OR EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) WHERE hidden <> 0))"

int rps_schema_check(sqlite3 *db, const char *path, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int result = 0, code = sqlite3_prepare_v2(db, SQL_NOT_PLAIN, -1, &stmt, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        result =
            rps_error_set(err, RPS_FAILED,
                          "the store %s is not as rpistat made it: its table %s is a %s, "
                          "which is not read; `rpistat check --repair -i %s -o NEW` saves what "
                          "can be read",
                          path, (const char *)sqlite3_column_text(stmt, 0),
                          sqlite3_stricmp((const char *)sqlite3_column_text(stmt, 1), "table")
                              ? (const char *)sqlite3_column_text(stmt, 1)
                              : "table with computed columns",
                          path);
    else if (code != SQLITE_DONE)
        result = rps_database_error(db, code, path, err);
    sqlite3_finalize(stmt);
    return result;
}
