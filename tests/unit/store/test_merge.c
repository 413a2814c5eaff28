/* Tests of merging: a run is merged unchanged and completely, or not at all. */
#include "recorder.h"
#include "sound.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/database.h"

/* SQL that adds a row to each table that is empty in a valid store. */
#define MORE_ROWS                                                                                  \
    "INSERT INTO detection VALUES (1, 0, 'm', '{}', 0, NULL);"                                     \
    "INSERT INTO outlier (run_id, detection, period) VALUES (1, 0, 5); INSERT INTO phase VALUES"   \
    " (1, 0, 0, 0, 0, 2999, 'A', 0, 300000000000, 0, 0, 1.0, 0.25, 1, 1, 1);"                      \
    "INSERT INTO mark VALUES (1, -5, 0, 'x'); INSERT INTO gap VALUES (1, 5, 0, -1, 0, 'x');"       \
    "INSERT INTO location VALUES (1, 3, 0, 'f', '', 0, 'debug', NULL);"                            \
    "UPDATE run SET label = 'there', tags = '{\"a\":\"1\",\"b\":\"2\"}', recorder_after_ns = 5"    \
    " WHERE run_id = 1;"

/* --- what is merged --------------------------------------------------------------------------- */

/* Reported actions, in order, such as "added 1 -> 4; replaced 2 (1) -> 5; ". */
static char told[4096];

/* Reason why the last damaged run was refused. */
static char why[1024];

static int tell(void *context, const struct rps_merge_run *run)
{
    static const char *const word[] = {"added",   "replaced",  "copied",
                                       "present", "recording", "unsound"};
    size_t used = strlen(told);

    snprintf(told + used, sizeof(told) - used, "%s %d", word[run->result], (int)run->run->run_id);
    used = strlen(told);
    if (run->replaced_run_id >= 0)
        snprintf(told + used, sizeof(told) - used, " (%d)", (int)run->replaced_run_id);
    used = strlen(told);
    snprintf(told + used, sizeof(told) - used, " -> %d; ", (int)run->run_id);
    snprintf(why, sizeof(why), "%s", run->why ? run->why : "");
    return context && --*(int *)context == 0 ? 7 : 0;
}

static void expect_merge(const char *path, const char *other, const char *only, const char *says)
{
    struct rps_error err;

    told[0] = '\0';
    if (rps_store_merge(path, other, only, 0, INT64_MAX, tell, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(told, says);
}

static void expect_refused(const char *path, const char *other, struct rps_error *err)
{
    told[0] = '\0';
    assert_int_equal(rps_store_merge(path, other, NULL, 0, INT64_MAX, tell, NULL, err), RPS_FAILED);
    assert_string_equal(told, "");
}

static void expect_sound(const char *path, uint64_t runs)
{
    struct findings findings;

    sound_check(&findings, path);
    assert_string_equal(findings.text, "");
    assert_int_equal(findings.check.runs, runs);
}

/* Return the number of rows of one store that are missing in the other, compared by uuid and the
 * given columns. */
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

/* Expect that both stores hold the same runs, in all columns of all tables except run_id. The
 * tables are read from the schema of the file. */
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

    sound_store(a, 2, 3000, 60 * INT64_C(1000000000)); /* a downsampled store */
    fixture_exec(a, MORE_ROWS);
    sound_store(b, 1, 100, 0);
    expect_merge(b, a, NULL, "added 1 -> 2; added 2 -> 3; ");
    expect_merge(c, b, NULL, "added 1 -> 1; added 2 -> 2; added 3 -> 3; ");
    expect_equal(b, c);
    expect_merge(d, a, "last", "added 2 -> 1; ");
    expect_merge(d, c, NULL, "added 1 -> 2; added 2 -> 3; present 3 -> 1; ");
    expect_merge(d, b, NULL, "present 1 -> 2; present 2 -> 3; present 3 -> 1; ");
    expect_equal(b, d);
    fixture_exec(d, "DELETE FROM mark WHERE text = 'x'"); /* The comparison must detect a missing
                                                             row. */
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
    }
    assert_string_equal(rps_tables[0].name, "run");
}

/* Cut a run back to the rows that a recorder leaves if it is killed after `periods` periods. */
static void cut(const char *path, int run, int periods)
{
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "DELETE FROM period WHERE run_id = %d AND period >= %d;"
             "DELETE FROM rollup WHERE run_id = %d AND last_period >= %d;"
             "DELETE FROM code_count WHERE run_id = %d AND period >= %d;"
             "DELETE FROM reading WHERE run_id = %d AND period >= %d;"
             "DELETE FROM reading_rollup WHERE run_id = %d AND last_period >= %d;"
             "UPDATE signal SET total = NULL, readings = NULL, lowest = NULL, highest = NULL"
             " WHERE run_id = %d;"
             "UPDATE event_set SET periods = NULL, enabled_ns = NULL, running_ns = NULL"
             " WHERE run_id = %d; UPDATE event SET count = NULL WHERE run_id = %d;"
             "UPDATE run SET state = 'interrupted', elapsed_ns = %d * 100000000 WHERE run_id = %d",
             run, periods, run, periods, run, periods, run, periods, run, periods, run, run, run,
             periods, run);
    fixture_exec(path, sql);
}

static void the_beginning_is_replaced(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");

    sound_store(a, 3, 500, 0);
    fixture_exec(a, "UPDATE run SET label = 'there', tags = '{\"a\":\"1\",\"b\":\"2\"}'");
    expect_merge(b, a, NULL, "added 1 -> 1; added 2 -> 2; added 3 -> 3; ");
    fixture_exec(b, "UPDATE run SET label = 'here', tags = '{\"b\":\"3\",\"c\":\"4\"}'"
                    " WHERE run_id = 1; UPDATE run SET label = '' WHERE run_id = 2;");
    cut(b, 1, 301);
    cut(b, 2, 500); /* Everything is there except the end. */
    cut(b, 3, 0);
    expect_sound(b, 3);
    expect_merge(b, a, NULL, "replaced 1 (1) -> 4; replaced 2 (2) -> 5; replaced 3 (3) -> 6; ");
    assert_string_equal(fixture_text(b, "SELECT label || tags FROM run WHERE run_id = 4"),
                        "here{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}");
    assert_string_equal(fixture_text(b, "SELECT label FROM run WHERE run_id = 5"), "there");
    assert_int_equal(rows_missing(a, b, "period", ", t.cycle, t.c0"), 0);
    expect_sound(b, 3);
    expect_merge(b, a, NULL, "present 1 -> 4; present 2 -> 5; present 3 -> 6; ");
    cut(a, 1, 301);
    cut(a, 2, 500);
    cut(a, 3, 0);
    expect_merge(b, a, NULL, "present 1 -> 4; present 2 -> 5; present 3 -> 6; ");
}

/* --- a live store that is thinned ------------------------------------------------------------- */

/* Numbers of periods after which the live store is copied. */
static const uint64_t copied_at[] = {1, 31, 64, 500, 1023, 1500, 2001, 2500};

#define LIVE_COPIES ((int)(sizeof(copied_at) / sizeof(copied_at[0])))

static const char *live_copy(void **state, char live, int i)
{
    char name[16];

    snprintf(name, sizeof(name), "%c%d", live, i);
    return fixture_path(state, name);
}

/* Copy a store while its recorder continues and keeps keep_ns of full detail. The last copy has the
 * ended run. Two recordings differ, because the moment decides how sample counts are grouped into
 * rows. */
static void make_live_copies(void **state, char live, int64_t keep_ns, bool has_samples)
{
    const struct rps_writer_options options = {.keep_ns = keep_ns, .commit_ns = 1000000};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(fixture_path(state, "live"), &options, &run);
    uint64_t n = 0;
    char sql[4200];

    for (int i = 0; i < LIVE_COPIES; i++) {
        for (; n < copied_at[i]; n++) {
            struct rps_period period = sound_period(n);

            rps_writer_period(writer, &period);
            fixture_system(writer, n);
            if (has_samples)
                fixture_code(writer, n);
        }
        if (i + 1 < LIVE_COPIES) {
            fixture_wait_committed(writer, n);
        } else {
            if (has_samples)
                fixture_code(writer, n);
            fixture_end(writer, &run);
        }
        snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", live_copy(state, live, i));
        fixture_exec(fixture_path(state, "live"), sql);
        fixture_exec(live_copy(state, live, i), "UPDATE heartbeat SET realtime_ns = 5;"
                                                "UPDATE run SET uuid = 'live'");
    }
    unlink(fixture_path(state, "live"));
}

/* Every night a copy of a live store is merged. Since the last copy, the run has grown and was
 * downsampled. */
static void merge_every_night(void **state)
{
    const char *all = fixture_path(state, "all");

    unlink(all);
    for (int i = 0; i < LIVE_COPIES; i++) {
        char expected[64];

        snprintf(expected, sizeof(expected), i == 0 ? "added 1 -> 1; " : "replaced 1 (%d) -> %d; ",
                 i, i + 1);
        expect_merge(all, live_copy(state, 'a', i), NULL, expected);
        expect_sound(all, 1);
        snprintf(expected, sizeof(expected), "present 1 -> %d; ", i + 1);
        for (int k = 0; k <= i; k++) {
            if (!fixture_is_in_quarter((uint64_t)(i + k)))
                continue;
            all = fixture_path(state, "all");
            expect_merge(all, live_copy(state, 'a', k), NULL, expected);
        }
    }
}

static void nightly_copies_of_a_live_store(void **state)
{
    make_live_copies(state, 'a', 0, true);
    merge_every_night(state);
}

static void nightly_copies_of_a_downsampled_live_store(void **state)
{
    make_live_copies(state, 'a', 2 * INT64_C(1000000000), true);
    assert_true(fixture_number(live_copy(state, 'a', 6), "SELECT max(level) FROM finest") > 1);
    merge_every_night(state);
}

/* The copies of a run were downsampled differently, or one of them not at all. A different count is
 * detected in all rows that both copies have. */
static void copies_that_were_downsampled_differently(void **state)
{
    static const int64_t keep_s[] = {0, 100};

    make_live_copies(state, 'a', 2 * INT64_C(1000000000), false);
    for (int round = 0; round < 2; round++) {
        make_live_copies(state, 'b', keep_s[round] * INT64_C(1000000000), false);
        for (int i = 1 - round; i < LIVE_COPIES; i += 2) {
            for (int k = round; k < LIVE_COPIES; k += 2) {
                const char *all = fixture_path(state, "all");

                if (!fixture_is_in_quarter((uint64_t)(i + k) / 2))
                    continue;
                unlink(all);
                expect_merge(all, live_copy(state, 'a', i), NULL, "added 1 -> 1; ");
                expect_merge(all, live_copy(state, 'b', k), NULL,
                             k > i ? "replaced 1 (1) -> 2; " : "present 1 -> 1; ");
                if (k > 0)
                    fixture_exec(all,
                                 "UPDATE period SET c0 = c0 + 1; UPDATE rollup SET c0 = c0 + 1");
                if (k > 1 && i > 1)
                    expect_merge(all, live_copy(state, 'a', i), NULL,
                                 k > i ? "copied 1 -> 3; " : "copied 1 -> 2; ");
            }
        }
        for (int i = 0; i < LIVE_COPIES; i++)
            unlink(live_copy(state, 'b', i));
    }
}

/* --- what differs ----------------------------------------------------------------------------- */

/* SQL that deletes the blocks, for runs with changed periods. */
#define NO_ROLLUP "DELETE FROM rollup;"

static void forged_copies(void **state)
{
    static const struct {
        const char *sql, *result, *why;
    } cases[] = {
        /* copies with changes of the run row only */
        {"UPDATE run SET elapsed_ns = elapsed_ns + 1; DELETE FROM period; DELETE FROM rollup",
         "unsound", "1 time range is missing, and no row of gap says why"},
        {"UPDATE run SET elapsed_ns = elapsed_ns + 1", "copied", NULL},
        {"UPDATE run SET elapsed_ns = elapsed_ns + 100000000", "unsound", "time range is missing"},
        {"UPDATE run SET exit_status = 1", "copied", NULL},
        {"UPDATE run SET host = 'another'", "copied", NULL},
        {"UPDATE run SET state = 'interrupted', elapsed_ns = 2 * elapsed_ns", "present", NULL},
        /* copies with changed periods */
        {"UPDATE period SET c0 = c0 + 1 WHERE period = 100", "unsound",
         "blocks of level 1 are not the sum of the finer rows"},
        {NO_ROLLUP "UPDATE period SET c0 = c0 + 1 WHERE period = 100", "unsound",
         "the total count of event 0 of set 0"},
        {NO_ROLLUP "UPDATE period SET c0 = c0 + 1 WHERE period = 100;"
                   "UPDATE event SET count = count + 1 WHERE set_no = 0 AND slot = 0",
         "copied", NULL},
        {NO_ROLLUP "DELETE FROM period WHERE period = 100", "unsound", "1 time range is missing"},
        {NO_ROLLUP "DELETE FROM period WHERE period = 100; UPDATE event_set SET periods = NULL;"
                   "INSERT INTO gap VALUES (1, 10000000000, 0, -1, 100000000, 'x');"
                   "UPDATE run SET state = 'interrupted'",
         "copied", NULL},
        {"INSERT INTO period SELECT run_id, cpu, cycle + 1, 300, 150, 0, start_ns + 100000000,"
         " length_ns, 1, clock_running_ns, idle_ns, enabled_ns, running_ns, switch_ns, missed,"
         " c0, c1, c2, c3, c4, c5, c6, c7 FROM period WHERE period = 299;"
         "UPDATE run SET state = 'interrupted', elapsed_ns = 30100000000;"
         "UPDATE event_set SET periods = NULL",
         "copied", NULL}, /* The copy is longer, but our run is complete. */
        {"UPDATE period SET start_ns = start_ns + 1 WHERE period = 100;" NO_ROLLUP, "copied", NULL},
        {"UPDATE period SET cpu = 3; UPDATE rollup SET cpu = 3; UPDATE code_count SET cpu = 3",
         "copied", NULL},
        {"UPDATE run SET state = 'interrupted'; UPDATE event_set SET periods = NULL;"
         "UPDATE period SET c0 = -5 WHERE period = 100",
         "unsound", "no recorder writes"},
        /* copies of a downsampled run with a different sum */
        {"DELETE FROM period WHERE period < 64; INSERT INTO thinned VALUES (1, -1, 0, 64);"
         "DELETE FROM rollup WHERE level > 1 AND period < 64; DELETE FROM code_count;"
         "UPDATE sampling SET lost = 10000;"
         "UPDATE rollup SET c0 = c0 + 1 WHERE level = 1 AND period = 32;"
         "UPDATE event SET count = count + 1 WHERE set_no = 0 AND slot = 0",
         "copied", NULL},
        /* copies with changes of rows that belong to the run */
        {"UPDATE event SET explain = 'x' WHERE slot = 1", "copied", NULL},
        {"INSERT INTO mark VALUES (1, 5, 0, 'x')", "copied", NULL},
        {"UPDATE code_count SET stacks = '{\"3\":[0]}' WHERE period = 100", "copied", NULL},
        {"UPDATE frame SET address = address + 1 WHERE frame = 3", "copied", NULL},
        /* copies with changes that are allowed */
        {"UPDATE run SET label = 'x', tags = '{\"a\":\"1\"}'; DELETE FROM location", "present",
         NULL},
        {"UPDATE run SET uuid = 'another'", "added", NULL},
    };
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    const char *good = fixture_path(state, "good");
    char sql[4200], expected[64];

    sound_store(good, 1, 300, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int is_new = strcmp(cases[i].result, "copied") == 0 || cases[i].result[0] == 'a';
        int number = is_new ? 2 : cases[i].result[0] == 'p' ? 1 : -1;
        int unsound = number < 0;
        size_t size;
        unsigned char *data;

        if (!fixture_is_in_quarter(i))
            continue;
        data = sound_read(good, &size);
        unlink(b);
        sound_write(a, data, size);
        sound_write(b, data, size);
        free(data);
        fixture_exec(a, cases[i].sql);
        why[0] = '\0';
        snprintf(expected, sizeof(expected), "%s 1 -> %d; ", cases[i].result, unsound ? 1 : number);
        expect_merge(b, a, NULL, expected);
        if (cases[i].why && !strstr(why, cases[i].why))
            fail_msg("%s: %s", cases[i].sql, why);
        assert_int_equal(fixture_number(b, "SELECT state = 'complete' FROM run WHERE run_id = 1"),
                         1);
        assert_int_equal(rows_missing(good, b, "period", ", t.cycle, t.c0"), 0);
        snprintf(expected, sizeof(expected), "%s 1 -> %d; ", unsound ? "unsound" : "present",
                 unsound ? 1 : number);
        expect_merge(b, a, NULL, expected); /* The merge is repeated. */
        expect_merge(b, good, NULL, "present 1 -> 1; ");
        if (strcmp(cases[i].result, "copied") == 0) {
            snprintf(sql, sizeof(sql),
                     "SELECT c.tags ->> 'copy_of' = r.uuid AND c.uuid <> r.uuid AND length(c.uuid)"
                     " = 36 FROM run AS r, run AS c WHERE r.run_id = 1 AND c.run_id = 2");
            assert_int_equal(fixture_number(b, sql), 1);
        }
        assert_int_equal(fixture_number(b, "SELECT count(*) FROM run"), is_new ? 2 : 1);
    }
}

/* A copy that differs is recognized by its tag, and may grow. */
static void a_copy_that_grows(void **state)
{
    static const int periods[] = {100, 200, 300};
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    const char *forged = fixture_path(state, "forged");
    size_t size;
    unsigned char *data;
    char uuid[64];

    sound_store(b, 1, 300, 0);
    data = sound_read(b, &size);
    for (int i = 0; i < 3; i++) {
        sound_write(forged, data, size);
        fixture_exec(forged, "UPDATE run SET host = 'another'");
        cut(forged, 1, periods[i]);
        expect_merge(b, forged, NULL,
                     i == 0   ? "copied 1 -> 2; "
                     : i == 1 ? "replaced 1 (2) -> 3; "
                              : "replaced 1 (3) -> 4; ");
        if (i > 0)
            assert_string_equal(fixture_text(b, "SELECT uuid FROM run WHERE host = 'another'"),
                                uuid);
        snprintf(uuid, sizeof(uuid), "%s",
                 fixture_text(b, "SELECT uuid FROM run WHERE host = 'another'"));
    }
    expect_sound(b, 2);
    sound_write(a, data, size);
    free(data);
    expect_merge(b, a, NULL, "present 1 -> 1; ");
    /* Two stores have each merged the same copy, and then a third store merges it. */
    expect_merge(a, forged, NULL, "copied 1 -> 2; ");
    expect_merge(a, b, NULL, "present 1 -> 1; present 4 -> 2; ");
    unlink(b);
    expect_merge(b, a, NULL, "added 1 -> 1; added 2 -> 2; ");
    expect_merge(b, forged, NULL, "present 1 -> 2; ");
}

/* Page types of SQLite's file format, for tables without rowids. An inner page has its cell count
 * at byte 3 and its cells from byte 12. Each cell begins with a page number. */
enum { PAGE_SIZE = 4096, PAGE_INNER = 2, PAGE_LEAF = 10 };

/* Return a leaf page in the middle of table `period`. */
static unsigned char *leaf_of_periods(const char *path, unsigned char *data)
{
    int64_t root = fixture_number(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'period'");
    unsigned char *page = data + (root - 1) * PAGE_SIZE;

    assert_int_equal(page[0], PAGE_INNER);
    while (page[0] == PAGE_INNER) {
        int middle = (page[3] << 8 | page[4]) / 2;
        int at = page[12 + 2 * middle] << 8 | page[13 + 2 * middle];

        page = data + ((page[at + 2] << 8 | page[at + 3]) - 1) * PAGE_SIZE;
    }
    assert_int_equal(page[0], PAGE_LEAF);
    return page;
}

static void a_repaired_copy(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    const char *repaired = fixture_path(state, "repaired");
    struct findings findings;
    size_t size;
    unsigned char *data, *leaf;

    sound_store(a, 1, 3000, 0);
    expect_merge(b, a, NULL, "added 1 -> 1; ");
    sound_repair(&findings, a, repaired); /* The repair lost nothing. */
    expect_merge(b, repaired, NULL, "present 1 -> 1; ");
    data = sound_read(a, &size);
    leaf = leaf_of_periods(a, data);
    /* Clear every 20th page, except inner pages, because a whole table may be below an inner page.
     */
    for (size_t at = 20 * PAGE_SIZE; at + PAGE_SIZE < size; at += 20 * PAGE_SIZE)
        memset(data + at, 0, data[at] == PAGE_INNER ? 0 : PAGE_SIZE);
    memset(leaf, 0, PAGE_SIZE);
    sound_write(a, data, size);
    free(data);
    sound_repair(&findings, a, repaired);
    assert_true(findings.repair.lost_stretches > 0);
    expect_merge(b, repaired, NULL, "copied 1 -> 2; ");
    expect_merge(b, repaired, NULL, "present 1 -> 2; ");
    expect_sound(b, 2);
    assert_int_equal(fixture_number(b, "SELECT count(*) FROM period WHERE run_id = 1"), 3000);
}

/* --- beside recorders ------------------------------------------------------------------------- */

static void write_sound(struct rps_writer *writer, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        struct rps_period period = sound_period(n);

        rps_writer_period(writer, &period);
    }
}

static void what_is_being_recorded_is_left(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_writer *there, *here;
    struct rps_run run_there, run_here;

    sound_store(a, 1, 2000, 0);
    there = fixture_writer(a, NULL, &run_there);
    write_sound(there, 0, 100);
    fixture_wait_committed(there, 100);
    here = fixture_writer(b, NULL, &run_here);
    recorder_write(here, 0, 100);
    fixture_exec(a, "UPDATE run SET tags = '{\"copy_of\":\"x\"}' WHERE run_id = 2");
    expect_merge(b, a, NULL, "added 1 -> 2; recording 2 -> -1; ");
    recorder_write(here, 100, 200);
    write_sound(there, 100, 150);
    fixture_end(there, &run_there);
    fixture_end(here, &run_here);
    recorder_expect(b, 1, 0, 200);
    expect_merge(b, a, NULL, "present 1 -> 2; added 2 -> 3; ");
    assert_int_equal(fixture_number(b, "SELECT count(*) FROM period WHERE run_id = 3"), 150);
    /* Our run is still being recorded, although its recorder was considered dead when the run was
     * copied. */
    fixture_exec(b, "UPDATE run SET state = 'recording', elapsed_ns = NULL WHERE run_id = 3;"
                    "INSERT INTO heartbeat VALUES (3, unixepoch() * 1000000000, '', 5000000000)");
    expect_merge(b, a, NULL, "present 1 -> 2; recording 2 -> 3; ");
}

/* The recorder died and left its run in state `recording`. The merged run has the state that
 * readers report. */
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

/* While a run is recorded, new runs of more than a million periods are not merged. */
static void a_large_run_beside_a_recorder(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_writer *writer;
    struct rps_error err;
    struct rps_run run;

    sound_store(a, 1, 100, 0);
    fixture_exec(a,
                 "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n"
                 " WHERE i < 1000000) INSERT INTO period SELECT 1, -1, 100000000000 + i, i, i / 2,"
                 " 0, i * 100000000, 100, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 FROM n");
    writer = fixture_writer(b, NULL, &run);
    recorder_write(writer, 0, 100);
    expect_refused(b, a, &err);
    fixture_says(&err, "run 1 of", a, "more than 1000000 periods", "run 1 is being recorded into",
                 b, "merge it later", "add --wait", NULL);
    fixture_end(writer, &run);
    recorder_expect(b, 1, 0, 100);
}

static void each_may_end_it(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_error err;
    int calls = 2;

    sound_store(a, 3, 10, 0);
    told[0] = '\0';
    assert_int_equal(rps_store_merge(b, a, NULL, 0, INT64_MAX, tell, &calls, &err), 7);
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
    assert_int_equal(rps_store_merge(absent, a, "7", 0, INT64_MAX, tell, NULL, &err), RPS_FAILED);
    fixture_says(&err, "run 7", "has run 1 only", NULL);
    assert_int_equal(stat(absent, &status), -1);
}

static void older_and_newer_formats(void **state)
{
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_error err;

    sound_store(a, 1, 100, 0);
    fixture_exec(a, "PRAGMA user_version = 1999");
    expect_refused(b, a, &err);
    fixture_says(&err, a, "has format 1.999", "newer", NULL);
    fixture_exec(a, "DROP TABLE sampling; DROP TABLE module; DROP TABLE frame; DROP TABLE location;"
                    "DROP TABLE stack; DROP TABLE task; DROP TABLE code_count;"
                    "DROP TABLE program;"
                    "DROP VIEW stack_count; DROP VIEW task_count; DROP VIEW function_count;"
                    "DROP VIEW frame_name; DROP VIEW stack_frame; DROP VIEW blocked_time;"
                    "DROP VIEW code_number; DROP "
                    "VIEW run_summary;"
                    "ALTER TABLE run DROP COLUMN recorder_after_ns;"
                    "PRAGMA user_version = 1000");
    expect_merge(b, a, NULL, "added 1 -> 1; ");
    expect_sound(b, 1);
    fixture_exec(b, "PRAGMA user_version = 1999"); /* Merge into a newer store too. */
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
         "table mark has an invalid row"},
        {"DROP TABLE period; CREATE TABLE period (run_id, cpu, cycle, period, start_ns, length_ns);"
         "INSERT INTO period VALUES (1, 0, 0, 0, 0, 5)",
         "no such column: rotation"},
        {"DROP TABLE mark; CREATE TABLE mark (run_id, time_ns, mark_no, text);"
         "INSERT INTO mark VALUES (1, 5, 0, 'x'), (1, 5, 0, 'x')",
         "table mark has an invalid row"},
        {"UPDATE run SET tags = 'no JSON'", "malformed JSON"},
        {"DROP TABLE rollup; CREATE VIEW rollup AS SELECT 1 AS run_id",
         "its table rollup is a view"},
        {"DROP TABLE gap", "no such table: gap"},
        {"DROP TABLE outlier; CREATE TABLE outlier (x)", "no such column: detection"},
        {"PRAGMA ignore_check_constraints = ON; UPDATE run SET state = 'asleep'",
         "table run has an invalid row"},
    };
    const char *a = fixture_path(state, "a"), *b = fixture_path(state, "b");
    struct rps_error err;

    sound_store(b, 1, 10, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sound_store(a, 1, 100, 0);
        fixture_exec(a, cases[i].sql);
        told[0] = '\0';
        if (rps_store_merge(b, a, NULL, 0, INT64_MAX, tell, NULL, &err) < 0)
            fixture_says(&err, a, cases[i].says, NULL);
        else if (strcmp(told, "unsound 1 -> -1; ") != 0 || !strstr(why, cases[i].says))
            fail_msg("%s: %s%s", cases[i].sql, told, why);
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
        TEST(the_beginning_is_replaced),
        TEST(nightly_copies_of_a_live_store),
        TEST(nightly_copies_of_a_downsampled_live_store),
        TEST(copies_that_were_downsampled_differently),
        TEST(forged_copies),
        TEST(a_copy_that_grows),
        TEST(a_repaired_copy),
        TEST(what_is_being_recorded_is_left),
        TEST(a_dead_recorders_run),
        TEST(a_large_run_beside_a_recorder),
        TEST(each_may_end_it),
        TEST(not_the_same_file),
        TEST(older_and_newer_formats),
        TEST(hostile_stores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
