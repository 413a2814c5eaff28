/* Rows read from the pages are those that SQL gives; whatever the pages are, an end is reached. */
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/period_walk.h"

#define ROWS_SQL                                                                                   \
    "SELECT " RPS_ROW_COLUMNS ", " RPS_ROW_COUNTS " FROM period WHERE run_id = ?1"                 \
    " ORDER BY cpu, cycle, period"

static sqlite3 *opened(const char *path)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    return db;
}

static void write_run(const char *path, uint64_t periods, int cpus)
{
    const struct rps_writer_options options = {.commit_ns = 10000000};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &options, &run);

    for (int cpu = 0; cpu < cpus; cpu++) {
        for (uint64_t n = 0; n < periods; n++) {
            struct rps_period period = fixture_period(n, 2);

            period.cpu = cpus > 1 ? cpu : RPS_CPU_ALL;
            if (n % 7 == 3)
                period.counted = 0;
            rps_writer_period(writer, &period);
        }
    }
    fixture_end(writer, &run);
}

/* The rows of a run; 0 when they are to be read by SQL. */
static size_t compare(const char *path, int64_t run_id)
{
    sqlite3 *walked = opened(path), *asked = opened(path);
    struct rps_walk *walk = NULL;
    sqlite3_stmt *stmt = NULL;
    struct rps_row row, expected;
    size_t count = 0;

    assert_int_equal(sqlite3_prepare_v2(asked, ROWS_SQL, -1, &stmt, NULL), SQLITE_OK);
    sqlite3_bind_int64(stmt, 1, run_id);
    if (rps_walk_open(&walk, walked, run_id)) {
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            rps_row_take(stmt, &expected);
            assert_int_equal(rps_walk_next(walk, &row), 1);
            assert_memory_equal(row.value, expected.value, sizeof(row.value));
            /* take says nothing of the columns that are never NULL, and merged is no count */
            assert_int_equal(row.present >> RPS_ROW_COUNT_FIRST,
                             expected.present >> RPS_ROW_COUNT_FIRST);
            count++;
        }
        assert_int_equal(rps_walk_next(walk, &row), 0);
        assert_int_equal(rps_walk_next(walk, &row), 0);
    }
    rps_walk_close(walk);
    sqlite3_finalize(stmt);
    sqlite3_close(asked);
    sqlite3_close(walked);
    return count;
}

static void all_runs(void **state)
{
    const char *path = fixture_path(state, "s");

    write_run(path, 1, 1);
    write_run(path, 6000, 1);
    write_run(path, 900, 4);
    write_run(path, 3, 1);
    fixture_exec(path,
                 "UPDATE period SET merged = 3 WHERE run_id = 2 AND period % 5 = 0;"
                 "UPDATE period SET c1 = -1 - c0, c7 = 9223372036854775807, start_ns = 1 << 33"
                 " WHERE run_id = 2 AND period % 11 = 0");
    assert_int_equal(compare(path, 1), 1);
    assert_int_equal(compare(path, 2), 6000);
    assert_int_equal(compare(path, 3), 3600);
    assert_int_equal(compare(path, 4), 3);
}

/* Stores that were made anew by other programs. */
static void other_pages(void **state)
{
    static const char *const sizes[] = {"512", "1024", "65536"};
    const char *path = fixture_path(state, "s");
    char sql[160];

    write_run(path, 3000, 1);
    fixture_exec(path, "PRAGMA journal_mode = DELETE");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        snprintf(sql, sizeof(sql), "PRAGMA page_size = %s; VACUUM", sizes[i]);
        fixture_exec(path, sql);
        assert_int_equal(fixture_number(path, "PRAGMA page_size"), atoi(sizes[i]));
        assert_int_equal(compare(path, 1), 3000);
    }
}

/* What stands in the log only is not in the file's pages. */
static void not_beside_a_log(void **state)
{
    const char *path = fixture_path(state, "s");
    sqlite3 *db = NULL;

    write_run(path, 100, 1);
    assert_int_equal(compare(path, 1), 100);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE period SET missed = 7", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(compare(path, 1), 0);
    sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    assert_int_equal(compare(path, 1), 100);
    sqlite3_close(db);
}

/* A writer that comes while a walk goes on changes nothing that the walk sees. */
static void a_writer_comes(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_walk *walk = NULL;
    struct rps_row row;
    sqlite3 *reading, *db = NULL;
    size_t count = 0;

    write_run(path, 6000, 1);
    reading = opened(path);
    assert_int_equal(rps_walk_open(&walk, reading, 1), 1);
    assert_int_equal(rps_walk_next(walk, &row), 1);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE period SET missed = 7; PRAGMA wal_checkpoint", NULL, NULL, NULL),
        SQLITE_OK);
    for (count = 1; rps_walk_next(walk, &row) == 1; count++)
        assert_int_not_equal(row.value[RPS_ROW_MISSED], 7);
    assert_int_equal(count, 6000);
    rps_walk_close(walk);
    sqlite3_close(reading);
    sqlite3_close(db);
}

static int can_walk(const char *path)
{
    sqlite3 *db = opened(path);
    struct rps_walk *walk = NULL;
    int found = rps_walk_open(&walk, db, 1);

    rps_walk_close(walk);
    sqlite3_close(db);
    return found;
}

static void other_tables(void **state)
{
    const char *path = fixture_path(state, "s");

    write_run(path, 100, 1);
    assert_true(can_walk(path));
    fixture_exec(path, "ALTER TABLE period RENAME COLUMN missed TO lost");
    assert_false(can_walk(path));
    fixture_exec(path, "ALTER TABLE period RENAME COLUMN lost TO missed;"
                       "ALTER TABLE period ADD COLUMN more TEXT");
    assert_false(can_walk(path));
    fixture_exec(path, "DROP TABLE period");
    assert_false(can_walk(path));
}

/* Any byte of any page may be wrong. */
static void damaged_pages(void **state)
{
    const char *path = fixture_path(state, "s"), *copy = fixture_path(state, "copy");
    size_t size = 0, rows;
    uint8_t *bytes = calloc(1, 1 << 20);
    uint64_t random = 1;
    FILE *file;

    write_run(path, 400, 1);
    file = fopen(path, "rb");
    assert_non_null(file);
    size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    for (int trial = 0; trial < 600; trial++) {
        struct rps_walk *walk = NULL;
        struct rps_row row;
        sqlite3 *db;
        int fd = open(copy, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
        for (int change = 0; change < 8; change++) {
            uint8_t byte;
            off_t at;

            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            byte = (uint8_t)(random >> 56);
            /* the heads of pages more often than the rest */
            at = (off_t)((random >> 20) % size);
            at = change % 2 ? at : at / 4096 * 4096 + at % 24;
            if (at >= 100)
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
        close(fd);
        db = opened(copy);
        rows = 0;
        if (rps_walk_open(&walk, db, 1)) {
            while (rps_walk_next(walk, &row) == 1)
                rows++;
        }
        assert_in_range(rows, 0, size);
        rps_walk_close(walk);
        sqlite3_close(db);
    }
    free(bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(all_runs),       TEST(other_pages),  TEST(not_beside_a_log),
        TEST(a_writer_comes), TEST(other_tables), TEST(damaged_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
