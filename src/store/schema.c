/* Find what a store lacks by comparing the store with an empty in-memory store. Queries in the
 * empty store generate the SQL that adds the missing parts. identity.c has already checked that no
 * table of the store hides SQLite's pragma_table_info. */
#include "schema.h"

#include "database.h"

#include <stdio.h>

static const char sql_columns[] = "SELECT t.name, c.name FROM main.sqlite_schema AS t,"
                                  " pragma_table_info(t.name, 'main') AS c WHERE t.type = 'table'";

/* SQL: missing columns. The query runs in the empty store; `found` has the store's columns. */
#define LACKING                                                                                    \
    " FROM main.sqlite_schema AS t, pragma_table_info(t.name, 'main') AS c"                        \
    " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!'"                           \
    " AND (t.name, c.name) NOT IN (SELECT tbl, col FROM found) GROUP BY t.rowid"
#define IS_THERE "t.name IN (SELECT tbl FROM found)"

/* SQL: make temporary views for reading. The store's own views are made temporary too, because
 * stored views cannot see temporary views. */
static const char sql_reading[] =
    "SELECT 'CREATE TEMP VIEW ' || t.name || ' AS SELECT ' || iif(" IS_THERE ", '*, ', '')"
    " || group_concat('NULL AS ' || c.name, ', ')"
    " || iif(" IS_THERE ", ' FROM main.' || t.name, ' WHERE 0')" LACKING
    " UNION ALL SELECT replace(sql, 'CREATE VIEW', 'CREATE TEMP VIEW')"
    " FROM main.sqlite_schema WHERE type = 'view'";

/* SQL: changes for writing. The last two move data from a separate table of formats up to 1.2. */
static const char sql_writing[] =
    "SELECT iif(" IS_THERE ", group_concat('ALTER TABLE ' || t.name || ' ADD COLUMN ' || c.name"
    " || ' ' || c.type, '; '), t.sql)" LACKING
    " UNION ALL SELECT 'DROP VIEW IF EXISTS ' || name || '; ' || sql"
    " FROM main.sqlite_schema WHERE type = 'view'"
    " UNION ALL SELECT DISTINCT 'UPDATE run SET recorder_after_ns = (SELECT cpu_ns FROM"
    " recorder_after AS a WHERE a.run_id = run.run_id); DROP TABLE recorder_after'"
    " FROM found WHERE tbl = 'recorder_after'";

int rps_schema_open(sqlite3 **ret)
{
    int code = sqlite3_open_v2(":memory:", ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    return code == SQLITE_OK ? rps_database_exec(*ret, rps_embedded_schema[0].text) : code;
}

/* Run the SQL text that a row contains. */
static int run_text(void *db, sqlite3_stmt *stmt)
{
    const char *text = (const char *)sqlite3_column_text(stmt, 0);

    return text ? rps_database_exec(db, text) : SQLITE_NOMEM;
}

/* Run the query `sql` in an empty store, and run in db the SQL that the query generates. */
static int complete(sqlite3 *db, const char *sql)
{
    sqlite3 *empty = NULL;
    int code = rps_schema_open(&empty);

    if (code == SQLITE_OK)
        code = rps_database_exec(empty, "CREATE TEMP TABLE found (tbl TEXT COLLATE NOCASE,"
                                        " col TEXT COLLATE NOCASE)");
    if (code == SQLITE_OK)
        code = rps_database_copy(db, sql_columns, 0, empty, "INSERT INTO found VALUES (?, ?)");
    if (code == SQLITE_OK)
        code = rps_database_each(empty, sql, 0, run_text, db);
    sqlite3_close(empty);
    return code;
}

int rps_schema_complete_for_reading(sqlite3 *db)
{
    int code = rps_database_exec(db, "PRAGMA query_only = OFF");

    if (code == SQLITE_OK)
        code = complete(db, sql_reading);
    return code == SQLITE_OK ? rps_database_exec(db, "PRAGMA query_only = ON") : code;
}

int rps_schema_bring_up_to_date(sqlite3 *db)
{
    int64_t version = 0;
    char marks[128];
    int code = rps_database_exec(db, "BEGIN IMMEDIATE");

    if (code != SQLITE_OK)
        return code;
    /* Read the version in the transaction: another recorder may be creating the store now. */
    code = rps_database_ask(db, &version, "PRAGMA user_version", "");
    if (code == SQLITE_OK && version < RPS_STORE_VERSION) {
        /* the store is empty */
        code = version == 0 ? rps_database_exec(db, rps_embedded_schema[0].text)
                            : complete(db, sql_writing);
        snprintf(marks, sizeof(marks), "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 RPS_STORE_APPLICATION_ID, RPS_STORE_VERSION);
        if (code == SQLITE_OK)
            code = rps_database_exec(db, marks);
    }
    if (code == SQLITE_OK)
        code = rps_database_exec(db, "COMMIT");
    if (code != SQLITE_OK)
        rps_database_exec(db, "ROLLBACK");
    return code;
}
