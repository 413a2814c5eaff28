/* Identify a file by queries within one transaction. Without a transaction, the queries could see
 * different states of a store that a recorder is creating. This mixture could look like another
 * program's file. */
#include "identity.h"

#include <stdio.h>
#include <string.h>

#include "database.h"
#include "schema.h"

static int read_identity(sqlite3 *db, struct rps_identity *ret)
{
    int code = rps_database_ask(db, &ret->application_id, "PRAGMA application_id", "");

    if (code == SQLITE_OK)
        code = rps_database_ask(db, &ret->version, "PRAGMA user_version", "");
    if (code == SQLITE_OK && ret->application_id == 0 && ret->version == 0)
        code = rps_database_ask(db, &ret->tables, "SELECT count(*) FROM sqlite_schema", "");
    return code;
}

int rps_identity_is_blank(const struct rps_identity *id)
{
    return id->application_id == 0 && id->version == 0 && id->tables == 0;
}

static int judge(sqlite3 *db, const char *path, int header_only, struct rps_identity *ret,
                 struct rps_error *err)
{
    int code = read_identity(db, ret);

    if (code != SQLITE_OK)
        return rps_database_error(db, code, path, err);
    if (rps_identity_is_blank(ret))
        return 0;
    if (ret->application_id != RPS_STORE_APPLICATION_ID)
        return rps_error_set(err, RPS_FAILED,
                             "%s belongs to another program that uses SQLite and was not changed; "
                             "choose another name",
                             path);
    if (ret->version / RPS_STORE_VERSION_MAJOR > RPS_STORE_VERSION / RPS_STORE_VERSION_MAJOR)
        return rps_error_set(err, RPS_FAILED,
                             "the store %s has format %d.%d, and this rpistat reads formats up to "
                             "%d; use a newer rpistat",
                             path, (int)(ret->version / RPS_STORE_VERSION_MAJOR),
                             (int)(ret->version % RPS_STORE_VERSION_MAJOR),
                             RPS_STORE_VERSION / RPS_STORE_VERSION_MAJOR);
    return header_only ? 0 : rps_schema_check(db, path, err);
}

int rps_identity_check(sqlite3 *db, const char *path, int header_only, struct rps_identity *ret,
                       struct rps_error *err)
{
    int code = rps_database_exec(db, "BEGIN"), result;

    if (code != SQLITE_OK)
        return rps_database_error(db, code, path, err);
    result = judge(db, path, header_only, ret, err);
    code = rps_database_exec(db, "COMMIT");
    if (result == 0 && code != SQLITE_OK)
        return rps_database_error(db, code, path, err);
    return result;
}

/* SAFETY: check that the tables of a store are ordinary tables.
 *
 * SQLite can prohibit views (SQLITE_DBCONFIG_ENABLE_VIEW), but neither virtual tables nor computed
 * columns. This code runs pragmas as statements, because a table of the file can hide the
 * table-valued function of the same name. PRAGMA table_list is not used: it would build all views
 * of the store, which takes longer than all other steps of opening a store. The rows of
 * sqlite_schema are sufficient, since SQLite refuses rows whose name and type do not match their
 * SQL. SQLite accepts only SQL that begins with "CREATE TABLE " for tables, and "CREATE VIRTUAL
 * TABLE " for virtual tables. */

/* Index of column `hidden` in PRAGMA table_xinfo. */
enum { INFO_HIDDEN = 6 };

/* Return 1 if rpistat's queries call a table-valued function with this name. */
static int hides_function(const char *name)
{
    return sqlite3_strnicmp(name, "pragma_", 7) == 0 || sqlite3_stricmp(name, "json_each") == 0 ||
           sqlite3_stricmp(name, "json_tree") == 0;
}

/* Find a hidden column. `hidden` is 2 or 3 for computed columns, and 1 in virtual tables. */
static int find_hidden(void *ret, sqlite3_stmt *stmt)
{
    *(bool *)ret |= sqlite3_column_int(stmt, INFO_HIDDEN) != 0;
    return SQLITE_OK;
}

/* Check the name and SQL of a table or view. Returns an SQLite code. *ret is the error, or NULL. */
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
    } else if (own && !strstr(rps_embedded_schema[0].text, sql_of)) {
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
                                   "the store %s is not as rpistat made it: its table %s is a %s; "
                                   "save its data with `rpistat check --repair -i %s -o NEW`",
                                   path, name, wrong, path);
    }
    if (code != SQLITE_OK && code != SQLITE_DONE)
        result = rps_database_error(db, code, path, err);
    sqlite3_finalize(stmt);
    return result;
}
