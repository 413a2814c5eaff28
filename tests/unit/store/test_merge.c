/* Merging: runs come whole or not at all, and as they were. */
#include "recorder.h"
#include "sound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/tables.h"

/* A row in each of the tables that a sound store leaves empty. */
#define MORE_ROWS                                                                                  \
    "INSERT INTO detection VALUES (1, 0, 'm', '{}', 0, NULL);"                                     \
    "INSERT INTO outlier VALUES (1, 0, 5); INSERT INTO phase VALUES"                               \
    " (1, 0, 0, 0, 0, 2999, 'A', 0, 300000000000, 0, 0, 1.0, 0.25);"                               \
    "INSERT INTO mark VALUES (1, -5, 0, 'x'); INSERT INTO gap VALUES (1, 5, 0, -1, 0, 'x');"       \
    "INSERT INTO location VALUES (1, 3, 0, 'f', '', 0, 'debug');"                                  \
    "UPDATE run SET label = 'there', tags = '{\"a\":\"1\",\"b\":\"2\"}' WHERE run_id = 1;"

/* --- what is merged --------------------------------------------------------------------------- */

/* "added 1 -> 4; replaced 2 (1) -> 5; ", in the order of the calls. */
static char told[4096];

static int tell(void *context, const struct rps_merge_run *run)
{
    static const char *const word[] = {"added", "replaced", "present", "recording"};
    size_t used = strlen(told);

    snprintf(told + used, sizeof(told) - used, "%s %d", word[run->result], (int)run->run->run_id);
    used = strlen(told);
    if (run->replaced_run_id >= 0)
        snprintf(told + used, sizeof(told) - used, " (%d)", (int)run->replaced_run_id);
    used = strlen(told);
    snprintf(told + used, sizeof(told) - used, " -> %d; ", (int)run->run_id);
    return context && --*(int *)context == 0 ? 7 : 0;
}

static void expect_merge(const char *path, const char *other, const char *only, const char *says)
{
    struct rps_error err;

    told[0] = '\0';
    if (rps_store_merge(path, other, only, tell, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(told, says);
}

static void expect_refused(const char *path, const char *other, struct rps_error *err)
{
    told[0] = '\0';
    assert_int_equal(rps_store_merge(path, other, NULL, tell, NULL, err), RPS_FAILED);
    assert_string_equal(told, "");
}

static void expect_sound(const char *path, uint64_t runs)
{
    struct findings findings;

    sound_check(&findings, path);
    assert_string_equal(findings.text, "");
    assert_int_equal(findings.check.runs, runs);
}

/* Rows of one store that are not in the other, by the columns that `columns` names and uuid. */
static int64_t rows_missing(const char *path, const char *other, const char *table,
                            const char *columns)
{
    static const char join[] = " JOIN %s.run AS r ON r.run_id = t.run_id";
    char sql[4096], here[64] = "", there[64] = "";
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;
    int64_t ret;

    if (strcmp(table, "run") != 0) {
        snprintf(here, sizeof(here), join, "main");
        snprintf(there, sizeof(there), join, "o");
    }
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    snprintf(sql, sizeof(sql), "ATTACH '%s' AS o", other);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM (SELECT uuid%s FROM main.%s AS t%s EXCEPT"
             " SELECT uuid%s FROM o.%s AS t%s)",
             columns, table, here, columns, table, there);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    ret = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return ret;
}

/* Both stores hold the same runs, by all columns of all tables that the file has, but for run_id:
 * the list of tables is the schema's, and not the code's. */
static void expect_equal(const char *path, const char *other)
{
    char sql[256], name[64], columns[2048];
    int64_t tables = fixture_number(path, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"
                                          " AND name NOT IN ('sqlite_sequence', 'heartbeat')");

    assert_int_equal(tables, RPS_TABLE_COUNT - 1);
    for (int64_t i = 0; i < tables; i++) {
        snprintf(sql, sizeof(sql),
                 "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN"
                 " ('sqlite_sequence', 'heartbeat') ORDER BY name LIMIT 1 OFFSET %d",
                 (int)i);
        snprintf(name, sizeof(name), "%s", fixture_text(path, sql));
        snprintf(sql, sizeof(sql),
                 "SELECT group_concat(', t.' || name, '') FROM pragma_table_info('%s')"
                 " WHERE name <> 'run_id'",
                 name);
        snprintf(columns, sizeof(columns), "%s", fixture_text(path, sql));
        snprintf(sql, sizeof(sql), "SELECT count(*) > 0 FROM %s", name);
        if (fixture_number(path, sql) != 1)
            fail_msg("there is nothing in table %s to be compared", name);
        if (rows_missing(path, other, name, columns) != 0 ||
            rows_missing(other, path, name, columns) != 0)
            fail_msg("table %s is not the same in both", name);
    }
}

static void a_copy_of_a_copy_is_equal(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    const char *c = fixture_path(state, "c"), *d = fixture_path(state, "d");

    sound_store(a, 2, 3000, 60 * INT64_C(1000000000)); /* thinned */
    fixture_exec(a, MORE_ROWS);
    sound_store(b, 1, 100, 0);
    expect_merge(b, a, NULL, "added 1 -> 2; added 2 -> 3; ");
    expect_merge(c, b, NULL, "added 1 -> 1; added 2 -> 2; added 3 -> 3; ");
    expect_equal(b, c);
    expect_merge(d, a, "last", "added 2 -> 1; ");
    expect_merge(d, c, NULL, "added 1 -> 2; added 2 -> 3; present 3 -> 1; ");
    expect_merge(d, b, NULL, "present 1 -> 2; present 2 -> 3; present 3 -> 1; ");
    expect_equal(b, d);
    fixture_exec(d, "DELETE FROM mark WHERE text = 'x'"); /* the comparison can fail */
    assert_int_equal(rows_missing(b, d, "mark", ", t.text"), 1);
    fixture_exec(c, "DELETE FROM gap; DELETE FROM phase; DELETE FROM outlier; DELETE FROM mark"
                    " WHERE text = 'x'; DELETE FROM detection; DELETE FROM location");
    expect_sound(c, 3);
}

static void the_list_of_tables_is_the_schemas(void **state)
{
    const char *path = fixture_path(state, "s");
    char sql[512];

    fixture_store(path);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"
                                          " AND name <> 'sqlite_sequence'"),
                     RPS_TABLE_COUNT);
    for (int i = 0; i < RPS_TABLE_COUNT; i++) {
        const struct rps_table *table = &rps_tables[i];

        assert_ptr_equal(rps_table_find(table->name), table);
        for (int key = 0; key < table->keys; key++) {
            snprintf(sql, sizeof(sql), "SELECT pk FROM pragma_table_info('%s') WHERE name = '%s'",
                     table->name, table->key[key]);
            assert_int_equal(fixture_number(path, sql), key + 1);
        }
        snprintf(sql, sizeof(sql), "SELECT max(pk) FROM pragma_table_info('%s')", table->name);
        assert_int_equal(fixture_number(path, sql) > table->keys, table->is_part);
        assert_false(table->is_part && table->is_many);
    }
    assert_string_equal(rps_tables[0].name, "run");
}

static void the_longer_copy_wins(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");

    sound_store(a, 2, 500, 0);
    fixture_exec(a, "UPDATE run SET label = 'there', tags = '{\"a\":\"1\",\"b\":\"2\"}'");
    expect_merge(b, a, NULL, "added 1 -> 1; added 2 -> 2; ");
    fixture_exec(b, "UPDATE run SET label = 'here', tags = '{\"b\":\"3\",\"c\":\"4\"}',"
                    " elapsed_ns = elapsed_ns - 1, state = 'interrupted' WHERE run_id = 1;"
                    "UPDATE run SET label = '', state = 'interrupted' WHERE run_id = 2;");
    expect_merge(b, a, NULL, "replaced 1 (1) -> 3; replaced 2 (2) -> 4; ");
    assert_string_equal(fixture_text(b, "SELECT label || tags FROM run WHERE run_id = 3"),
                        "here{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}");
    assert_string_equal(fixture_text(b, "SELECT label FROM run WHERE run_id = 4"), "there");
    assert_int_equal(rows_missing(a, b, "period", ", t.cycle, t.c0"), 0);
    expect_sound(b, 2);
    expect_merge(b, a, NULL, "present 1 -> 3; present 2 -> 4; ");
    /* of the other's copies one is shorter now, and one was interrupted */
    fixture_exec(a, "UPDATE run SET elapsed_ns = elapsed_ns - 1 WHERE run_id = 1;"
                    "UPDATE run SET state = 'interrupted' WHERE run_id = 2");
    expect_merge(b, a, NULL, "present 1 -> 3; present 2 -> 4; ");
}

/* --- beside recorders ------------------------------------------------------------------------- */

static void what_is_being_recorded_is_left(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_writer *there, *here;
    struct rps_run run_there, run_here;

    sound_store(a, 1, 2000, 0);
    there = fixture_writer(a, NULL, &run_there);
    recorder_write(there, 0, 100);
    recorder_wait_committed(there, 100);
    here = fixture_writer(b, NULL, &run_here);
    recorder_write(here, 0, 100);
    expect_merge(b, a, NULL, "added 1 -> 2; recording 2 -> -1; ");
    recorder_write(here, 100, 200);
    recorder_write(there, 100, 150);
    fixture_end(there, &run_there);
    fixture_end(here, &run_here);
    recorder_expect(b, 1, 0, 200);
    expect_merge(b, a, NULL, "present 1 -> 2; added 2 -> 3; ");
    recorder_expect(b, 3, 0, 150);
    /* ours is: its recorder was taken for dead when it was copied */
    fixture_exec(b, "UPDATE run SET state = 'recording', elapsed_ns = NULL WHERE run_id = 3;"
                    "INSERT INTO heartbeat VALUES (3, unixepoch() * 1000000000, '', 5000000000)");
    expect_merge(b, a, NULL, "present 1 -> 2; recording 2 -> 3; ");
}

/* A recorder that died there has left its run `recording`; here it is as its readers see it. */
static void a_dead_recorders_run(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");

    sound_store(a, 1, 100, 0);
    fixture_exec(a, "UPDATE run SET state = 'recording', elapsed_ns = NULL;"
                    "INSERT INTO heartbeat VALUES (1, 5, '', 5000000000)");
    expect_merge(b, a, NULL, "added 1 -> 1; ");
    assert_string_equal(fixture_text(b, "SELECT state || elapsed_ns FROM run"),
                        "interrupted10000000000");
    assert_int_equal(fixture_number(b, "SELECT count(*) FROM heartbeat"), 0);
    expect_merge(b, a, NULL, "present 1 -> 1; ");
}

static void what_a_killed_merge_left_is_swept(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct findings findings;

    sound_store(a, 1, 100, 0);
    sound_store(b, 2, 100, 0);
    fixture_exec(b, "UPDATE sqlite_sequence SET seq = 9; INSERT INTO mark VALUES (9, 5, 0, 'x');"
                    "INSERT INTO heartbeat VALUES (9, unixepoch() * 1000000000, '', 1000000000)");
    sound_check(&findings, b); /* it goes on */
    assert_string_equal(findings.text, "");
    expect_merge(b, a, NULL, "added 1 -> 10; ");
    assert_int_equal(fixture_number(b, "SELECT count(*) FROM mark WHERE run_id = 9"), 1);
    fixture_exec(b, "UPDATE heartbeat SET realtime_ns = realtime_ns - 4000000000");
    sound_check(&findings, b);
    assert_non_null(strstr(findings.text, "odd: table heartbeat has rows of 1 run"));
    assert_non_null(strstr(findings.text, "odd: table mark has rows of 1 run"));
    assert_int_equal(findings.check.wrong, 0);
    expect_merge(b, a, NULL, "present 1 -> 10; ");
    expect_sound(b, 3);
}

static char swept_path[4096];

/* Before each transaction another program takes the heartbeats away. */
static int before_transaction(unsigned int type, void *context, void *stmt, void *sql)
{
    sqlite3 *db = context;

    (void)type;
    (void)stmt;
    if (strcmp(sql, "BEGIN IMMEDIATE") == 0 &&
        strcmp(sqlite3_db_filename(db, "main"), swept_path) == 0)
        fixture_exec(swept_path, "DELETE FROM heartbeat");
    return 0;
}

static int watch_transactions(sqlite3 *db)
{
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, before_transaction, db);
}

/* It stood still for so long that a sweep has taken its rows for those of a dead one. */
static void a_merge_that_was_taken_for_dead(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_error err;

    sound_store(a, 1, 100, 0);
    sound_store(b, 1, 10, 0);
    assert_non_null(realpath(b, swept_path));
    assert_int_equal(sqlite3_auto_extension((void (*)(void))watch_transactions), SQLITE_OK);
    expect_refused(b, a, &err);
    sqlite3_reset_auto_extension();
    fixture_says(&err, "run 1", a, b, "stood still", "merge it again", NULL);
    assert_int_equal(fixture_number(b, "SELECT count(DISTINCT run_id) FROM period"), 1);
    expect_sound(b, 1);
    expect_merge(b, a, NULL, "added 1 -> 3; ");
}

static void each_may_end_it(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_error err;
    int calls = 2;

    sound_store(a, 3, 10, 0);
    told[0] = '\0';
    assert_int_equal(rps_store_merge(b, a, NULL, tell, &calls, &err), 7);
    assert_string_equal(told, "added 1 -> 1; added 2 -> 2; ");
    expect_merge(b, a, NULL, "present 1 -> 1; present 2 -> 2; added 3 -> 3; ");
    expect_sound(b, 3);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void not_the_same_file(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    const char *absent = fixture_path(state, "absent");
    struct rps_error err;
    struct stat status;

    sound_store(a, 1, 10, 0);
    expect_refused(a, a, &err);
    fixture_says(&err, a, "the same store", NULL);
    assert_int_equal(symlink(a, b), 0);
    expect_refused(a, b, &err);
    fixture_says(&err, "the same store", NULL);
    expect_refused(absent, fixture_path(state, "nothing"), &err);
    fixture_says(&err, "nothing", NULL);
    assert_int_equal(rps_store_merge(absent, a, "7", tell, NULL, &err), RPS_FAILED);
    fixture_says(&err, "run 7", "holds run 1 only", NULL);
    assert_int_equal(stat(absent, &status), -1);
}

static void older_and_newer_formats(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_error err;

    sound_store(a, 1, 100, 0);
    fixture_exec(a, "PRAGMA user_version = 1002");
    expect_refused(b, a, &err);
    fixture_says(&err, a, "has format 1.2", "newer", NULL);
    fixture_exec(a, "DROP TABLE sampling; DROP TABLE module; DROP TABLE frame; DROP TABLE location;"
                    "DROP TABLE stack; DROP TABLE task; DROP TABLE code_count;"
                    "DROP VIEW stack_count; DROP VIEW task_count; DROP VIEW function_count;"
                    "PRAGMA user_version = 1000");
    expect_merge(b, a, NULL, "added 1 -> 1; ");
    expect_sound(b, 1);
    fixture_exec(b, "PRAGMA user_version = 1002"); /* and into a newer one */
    sound_store(a, 1, 100, 0);
    expect_merge(b, a, NULL, "added 1 -> 2; ");
}

static void hostile_stores(void **state)
{
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"DROP TABLE mark; CREATE TABLE mark (run_id, time_ns, mark_no, text);"
         "INSERT INTO mark VALUES (1, 'x', 0, 'x')",
         "table mark has a row that no recorder writes"},
        {"DROP TABLE period; CREATE TABLE period (run_id, cpu, cycle, period, start_ns, length_ns);"
         "INSERT INTO period VALUES (1, 0, 0, 0, 0, 5)",
         "no such column: rotation"},
        {"DROP TABLE mark; CREATE TABLE mark (run_id, time_ns, mark_no, text);"
         "INSERT INTO mark VALUES (1, 5, 0, 'x'), (1, 5, 0, 'x')",
         "table mark has a row that no recorder writes"},
        {"UPDATE run SET tags = 'no JSON'", "malformed JSON"},
        {"DROP TABLE rollup; CREATE VIEW rollup AS SELECT 1 AS run_id",
         "its table rollup is a view"},
        {"DROP TABLE gap", "no such table: gap"},
        {"DROP TABLE outlier; CREATE TABLE outlier (x)", "no such column: run_id"},
        {"PRAGMA ignore_check_constraints = ON; UPDATE run SET state = 'asleep'",
         "table run has a row that no recorder writes"},
    };
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_error err;

    sound_store(b, 1, 10, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sound_store(a, 1, 100, 0);
        fixture_exec(a, cases[i].sql);
        expect_refused(b, a, &err);
        fixture_says(&err, a, cases[i].says, NULL);
        expect_sound(b, 1);
        assert_int_equal(fixture_number(b, "SELECT count(DISTINCT run_id) FROM period"), 1);
    }
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_copy_of_a_copy_is_equal),
        TEST(the_list_of_tables_is_the_schemas),
        TEST(the_longer_copy_wins),
        TEST(what_is_being_recorded_is_left),
        TEST(a_dead_recorders_run),
        TEST(what_a_killed_merge_left_is_swept),
        TEST(each_may_end_it),
        TEST(a_merge_that_was_taken_for_dead),
        TEST(not_the_same_file),
        TEST(older_and_newer_formats),
        TEST(hostile_stores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
