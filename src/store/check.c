/* Check a store in four steps. SQLite checks the file. The tables are compared with those of
 * schema/. Rows that refer to missing runs are found. Each run is checked (check_run.c).
 *
 * The check of the file is SQLite's full check, not the quick one. The full check is hardly slower
 * than the quick check, because almost no table has a separate index. The table itself is the index
 * of its primary key. For a day's store the full check takes 0.24 s, and the quick check 0.20 s. */
#include "rpistat/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "database.h"
#include "findings.h"
#include "schema.h"
#include "rpistat/arena.h"

struct check {
    struct rps_reader reader;
    struct rps_findings findings;
    struct rps_check_result result;
    sqlite3 *expected; /* empty store of the checked store's version; NULL: unknown version */
    uint64_t unused;   /* number of pages that belong to no tree and are not free */
};

/* --- the file --------------------------------------------------------------------------------- */

/* Find the table or index whose tree begins at page `root`. *ret is "" if there is no such tree. */
static void name_of_tree(sqlite3 *db, int64_t root, char *ret, size_t size)
{
    sqlite3_stmt *stmt = NULL;

    ret[0] = '\0';
    if (sqlite3_prepare_v2(db, "SELECT type || ' ' || name FROM sqlite_schema WHERE rootpage = ?1",
                           -1, &stmt, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_int64(stmt, 1, root);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        snprintf(ret, size, " in %s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
}

/* Report a line of the integrity check. If it begins with a tree's number, add the tree's name. */
static void report_line(struct check *check, const char *line)
{
    char place[160] = "";
    long long page;

    if (sscanf(line, "Tree %lld", &page) == 1 || sscanf(line, "Page %lld", &page) == 1)
        name_of_tree(check->reader.db, page, place, sizeof(place));
    rps_findings_add(&check->findings, RPS_FINDING_WRONG, "the file is damaged%s (SQLite: %s)",
                     place, line);
}

/* Report one row of the output of PRAGMA integrity_check. A row may have several lines. Unused
 * pages are not reported, because they follow from other damage. */
static int report_integrity(void *context, sqlite3_stmt *stmt)
{
    struct check *check = context;
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    char line[512];

    while (text && *text) {
        size_t length = strcspn(text, "\n");

        snprintf(line, sizeof(line), "%.*s", (int)length, text);
        if (strstr(line, " is never used"))
            check->unused++;
        else if (strcmp(line, "ok") != 0 && strncmp(line, "***", 3) != 0 &&
                 strncmp(line, "CHECK constraint", 16) != 0) /* see check_constraint() */
            report_line(check, line);
        text += length + (text[length] == '\n');
    }
    return SQLITE_OK;
}

static void check_integrity(struct check *check)
{
    int code = rps_database_each(check->reader.db, "PRAGMA integrity_check(10)", 0,
                                 report_integrity, check);

    if (check->unused > 0)
        rps_findings_add(&check->findings, RPS_FINDING_WRONG,
                         "%" PRIu64
                         " or more pages of the file belong to no table and are not free",
                         check->unused);
    if (code != SQLITE_OK && check->findings.count[RPS_FINDING_WRONG] == 0)
        rps_findings_unreadable(&check->findings, check->reader.db, "the file", code);
}

/* --- the tables ------------------------------------------------------------------------------- */

/* SQL: the content of a schema. A table is compared by its columns, because an upgraded older store
 * has the columns in another order, and its CREATE TABLE text differs. */
#define CONTENT_SQL                                                                                \
    "SELECT s.type, s.name, CASE s.type WHEN 'table' THEN (SELECT l.strict || l.wr ||"             \
    " group_concat(c.name || ' ' || c.type || c.\"notnull\" || c.pk || c.hidden)"                  \
    " FROM pragma_table_list(s.name) AS l, (SELECT * FROM pragma_table_xinfo(s.name, 'main')"      \
    " ORDER BY name) AS c WHERE l.schema = 'main') ELSE coalesce(s.sql, '') END AS content"        \
    " FROM main.sqlite_schema AS s"

/* SQL: find the differences between two schemas. The query runs in the empty store; `found` is the
 * schema of the checked store. */
static const char sql_differences[] =
    "SELECT e.type, e.name, f.type IS NULL AS missing, 0 AS added FROM (" CONTENT_SQL ") AS e"
    " LEFT JOIN found AS f ON f.type = e.type AND f.name = e.name"
    " WHERE f.content IS NOT e.content UNION ALL SELECT type, name, 0, 1 FROM found"
    " WHERE (type, name) NOT IN (SELECT type, name FROM main.sqlite_schema)";

static int report_difference(void *context, sqlite3_stmt *stmt)
{
    struct check *check = context;
    int missing = sqlite3_column_int(stmt, 2), added = sqlite3_column_int(stmt, 3);

    rps_findings_add(&check->findings, added ? RPS_FINDING_WARNING : RPS_FINDING_WRONG, "%s %s %s",
                     (const char *)sqlite3_column_text(stmt, 0),
                     (const char *)sqlite3_column_text(stmt, 1),
                     added     ? "was added by another program"
                     : missing ? "is missing"
                               : "is not as rpistat makes it");
    return SQLITE_OK;
}

static int compare_schema(struct check *check)
{
    int code = rps_database_exec(check->expected, "CREATE TEMP TABLE found (type, name, content)");

    if (code == SQLITE_OK)
        code = rps_database_copy(check->reader.db, CONTENT_SQL, 0, check->expected,
                                 "INSERT INTO found VALUES (?, ?, ?)");
    return code == SQLITE_OK
               ? rps_database_each(check->expected, sql_differences, 0, report_difference, check)
               : code;
}

/* Compare tables, views and indexes with those of a new store of the same version. */
static int check_schema(struct check *check, struct rps_error *err)
{
    int64_t version = 0;
    int code = rps_database_ask(check->reader.db, &version, "PRAGMA user_version", "");

    if (code == SQLITE_OK && version > RPS_STORE_VERSION) {
        rps_findings_add(&check->findings, RPS_FINDING_WARNING,
                         "the store has format %d.%d, which is newer than this rpistat, so the "
                         "definitions of its tables were not checked",
                         (int)(version / RPS_STORE_VERSION_MAJOR),
                         (int)(version % RPS_STORE_VERSION_MAJOR));
        return 0;
    }
    if (code != SQLITE_OK) {
        rps_findings_unreadable(&check->findings, check->reader.db, "the version", code);
        return 0;
    }
    if (rps_schema_open(&check->expected) != SQLITE_OK)
        return rps_error_memory(err);
    if (version == RPS_STORE_VERSION) /* older stores lack parts of the schema */
        code = compare_schema(check);
    if (code != SQLITE_OK)
        rps_findings_unreadable(&check->findings, check->reader.db, "the schema", code);
    return 0;
}

/* --- constraints ------------------------------------------------------------------------------ */

/* Find the rows of a table that violate a CHECK condition. The first `length` bytes of `condition`
 * are the condition's text from CREATE TABLE. Some versions of SQLite do not check conditions, and
 * no version reports which condition is violated. */
static void check_constraint(struct check *check, const char *table, const char *condition,
                             int length)
{
    char *sql =
        sqlite3_mprintf("SELECT count(*) FROM \"%w\" WHERE NOT %.*s", table, length, condition);
    int64_t found[2];

    if (rps_findings_ask(&check->findings, check->reader.db, sql, NULL, table, found) &&
        found[0] > 0)
        rps_findings_add(&check->findings, RPS_FINDING_WRONG,
                         "table %s has %" PRId64 " row%s not as it must be: CHECK %.*s", table,
                         found[0], found[0] == 1 ? " that is" : "s that are", length, condition);
}

/* Length of the parenthesized text at the beginning of text, including the parentheses. */
static int parenthesis_length(const char *text)
{
    int depth = 0, length = 0;

    do {
        depth += (text[length] == '(') - (text[length] == ')');
        length++;
    } while (depth > 0 && text[length]);
    return length;
}

/* Check all CHECK conditions of a table. */
static int check_table(void *context, sqlite3_stmt *stmt)
{
    static const char mark[] = "CHECK (";
    const char *sql = (const char *)sqlite3_column_text(stmt, 1);

    for (const char *at = sql ? strstr(sql, mark) : NULL; at; at = strstr(at, mark)) {
        at += sizeof(mark) - 2;
        check_constraint(context, (const char *)sqlite3_column_text(stmt, 0), at,
                         parenthesis_length(at));
    }
    return SQLITE_OK;
}

/* --- rows of runs that are not there -----------------------------------------------------------
 */

/* Find the rows of a table whose runs do not exist. */
static void check_orphans(struct check *check, const char *table)
{
    char *sql = sqlite3_mprintf(
        RPS_SQL_RUN_IDS("%s") " SELECT count(*), min(n) FROM id"
                              " WHERE n IS NOT NULL AND n NOT IN (SELECT run_id FROM run)",
        table, table);
    int64_t found[2];
    char what[64];

    snprintf(what, sizeof(what), "table %s", table);
    if (rps_findings_ask(&check->findings, check->reader.db, sql, NULL, what, found) &&
        found[0] > 0)
        rps_findings_add(&check->findings, RPS_FINDING_WRONG,
                         "%s has rows of %" PRId64 " run%s not in the store, run %" PRId64
                         " the first",
                         what, found[0], found[0] == 1 ? " that is" : "s that are", found[1]);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void check_runs(struct check *check)
{
    struct rps_arena *arena = rps_arena_new();
    int64_t *run_id = NULL;
    size_t count = 0;
    struct rps_error why;

    if (rps_reader_runs(arena, &check->reader, &run_id, &count, &why) < 0 &&
        !rps_findings_end_by_error(&check->findings, &why))
        rps_findings_add(&check->findings, RPS_FINDING_WRONG, "the runs cannot be listed: %s",
                         why.message);
    for (size_t i = 0; i < count; i++)
        check->result.periods +=
            rps_check_run(&check->reader, run_id[i], check->expected, &check->findings);
    check->result.runs = count;
    rps_arena_free(arena);
}

int rps_store_check(const char *path, const struct rps_finding_sink *sink,
                    struct rps_check_result *ret, struct rps_error *err)
{
    struct check check = {.findings.sink = sink, .reader.path = (char *)path};
    int result = rps_database_open_read(path, &check.reader.db, err), code;

    if (result < 0)
        return result;
    /* use one transaction, so that all queries see the same state of the store */
    if (result == 0 && (code = rps_database_exec(check.reader.db, "BEGIN")) != SQLITE_OK)
        result = rps_database_error(check.reader.db, code, path, err);
    if (result == 0)
        check_integrity(&check);
    if (result == 0)
        result = check_schema(&check, err);
    if (result == 0) {
        if (check.expected) /* the expected schema is trusted: it is not from the checked file */
            rps_database_each(check.expected, "SELECT name, sql FROM sqlite_schema", 0, check_table,
                              &check);
        for (size_t i = 1; i < RPS_TABLE_COUNT; i++)
            check_orphans(&check, rps_tables[i].name);
        check_runs(&check);
        rps_findings_end(&check.findings);
    }
    if (result == 0 && check.findings.no_memory)
        result = rps_error_memory(err);
    if (result == 0) {
        check.result.wrong = check.findings.count[RPS_FINDING_WRONG];
        check.result.odd = check.findings.count[RPS_FINDING_WARNING];
        *ret = check.result;
    }
    sqlite3_close(check.expected);
    sqlite3_close(check.reader.db);
    rps_database_tidy(path);
    return result;
}

struct first_finding {
    char *text;
    size_t size;
};

static void keep_first(void *context, enum rps_finding_kind kind, const char *sentence)
{
    struct first_finding *first = context;
    const char *text = strstr(sentence, ": "); /* the text after the run's number */

    if (kind == RPS_FINDING_WRONG && first->text[0] == '\0')
        snprintf(first->text, first->size, "%s", text ? text + 2 : sentence);
}

int rps_store_run_is_sound(struct rps_reader *reader, int64_t run_id, char *why, size_t why_size)
{
    struct first_finding first = {why, why_size};
    const struct rps_finding_sink sink = {&first, keep_first};
    struct rps_findings findings = {.sink = &sink};
    int64_t pages = 0;
    sqlite3 *expected = NULL;
    int code = rps_schema_open(&expected);

    why[0] = '\0';
    /* Each query covers all rows of a run, so the limit of steps grows with the file's pages. */
    if (rps_database_ask(reader->db, &pages, "PRAGMA page_count", "") == SQLITE_OK)
        reader->limit.calls_max += (int)(pages < INT32_MAX / 2 ? pages : INT32_MAX / 2);
    reader->limit.calls = 0;
    if (code == SQLITE_OK)
        rps_check_run(reader, run_id, expected, &findings);
    rps_database_limit_steps(reader->db, &reader->limit);
    sqlite3_close(expected);
    return code == SQLITE_OK && findings.count[RPS_FINDING_WRONG] == 0 && !findings.no_memory;
}
