/*
 * SAFETY: check that the tables of a store are ordinary tables.
 *
 * SQLite can prohibit views (SQLITE_DBCONFIG_ENABLE_VIEW), but neither virtual tables nor computed
 * columns. Here pragmas run as pragmas, because a table of the file hides the table-valued function
 * of the same name. PRAGMA table_list would build all views of the store, which takes longer than
 * the rest of opening it. The schema's rows are sufficient, since SQLite refuses rows whose name
 * and type do not match their SQL. SQLite lets that begin with "CREATE TABLE " for tables, "CREATE
 * VIRTUAL TABLE " for virtual ones.
 */
#include "identity.h"

#include "database.h"
#include "schema.h"
#include "tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Column of PRAGMA table_xinfo. */
enum { INFO_HIDDEN = 6 };

/* 1 for the names of the table-valued functions that rpistat's queries call. */
static int hides_function(const char *name)
{
    return sqlite3_strnicmp(name, "pragma_", 7) == 0 || sqlite3_stricmp(name, "json_each") == 0 ||
           sqlite3_stricmp(name, "json_tree") == 0;
}

/* Hidden columns are not in the rows: 2 and 3 are computed, 1 belongs to virtual tables. */
static int find_hidden(void *ret, sqlite3_stmt *stmt)
{
    *(bool *)ret |= sqlite3_column_int(stmt, INFO_HIDDEN) != 0;
    return SQLITE_OK;
}

/* Check a table or view and its SQL. Returns an SQLite code; *ret: the error, or NULL. */
static int look_at(sqlite3 *db, const char *name, const char *type, const char *sql_of,
                   const char **ret)
{
    const struct rps_table *own = rps_table_find(name);
    bool hidden = false;
    char sql[64];
    int code = SQLITE_OK;

    *ret = NULL;
    if (hides_function(name)) {
        *ret = "name for something else";
    } else if (own && sqlite3_stricmp(type, "table") != 0) {
        *ret = type;
    } else if (own && strncmp(sql_of, "CREATE TABLE ", 13) != 0) {
        *ret = "virtual table";
    } else if (own && !strstr(rps_embedded_schema[0].text, sql_of)) { /* not the embedded SQL */
        snprintf(sql, sizeof(sql), "PRAGMA main.table_xinfo(%s)", own->name);
        code = rps_database_each(db, sql, 0, find_hidden, &hidden);
        *ret = hidden ? "table with computed columns" : NULL;
    }
    return code;
}

int rps_schema_check(sqlite3 *db, const char *path, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    const char *wrong = NULL;
    int result = 0, code = sqlite3_prepare_v2(db,
                                              "SELECT name, type, sql FROM main.sqlite_schema"
                                              " WHERE type COLLATE NOCASE IN ('table', 'view')",
                                              -1, &stmt, NULL);

    while (code == SQLITE_OK && !wrong && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        const char *type = (const char *)sqlite3_column_text(stmt, 1);
        const char *sql = (const char *)sqlite3_column_text(stmt, 2);

        code = name && type ? look_at(db, name, type, sql ? sql : "", &wrong) : SQLITE_NOMEM;
        if (code == SQLITE_OK && wrong)
            result = rps_error_set(err, RPS_FAILED,
                                   "the store %s is not as rpistat made it: its table %s is a %s, "
                                   "which is not read; `rpistat check --repair -i %s -o NEW` saves "
                                   "what can be read",
                                   path, name, wrong, path);
    }
    if (code != SQLITE_OK && code != SQLITE_DONE)
        result = rps_database_error(db, code, path, err);
    sqlite3_finalize(stmt);
    return result;
}
