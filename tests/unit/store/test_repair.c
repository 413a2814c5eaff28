/* A repair saves all readable data of a damaged store, and nothing else. The damaged file itself is
 * never changed. */
#include "sound.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* First byte of a leaf page of a table without rowids (sqlite.org/fileformat2.html). */
#define LEAF 10

#define PAGE    4096
#define RUNS    2
#define PERIODS 200

/* Of each list of damages, every `step`th entry from number `first` on is tested. */
static size_t first, step = 1;

/* Expect that a repair has not changed the damaged file. */
static void expect_file(const char *path, const unsigned char *data, size_t size)
{
    size_t after_size;
    unsigned char *after = sound_read(path, &after_size);

    assert_int_equal(after_size, size);
    assert_memory_equal(after, data, size);
    free(after);
}

/* Write a damaged store, repair it, and report the findings. */
static void repaired(void **state, const unsigned char *data, size_t size, struct findings *ret)
{
    const char *path = fixture_path(state, "damaged"), *saved = fixture_path(state, "saved");

    sound_write(path, data, size);
    sound_repair(ret, path, saved);
    expect_file(path, data, size);
}

static unsigned char *store_of(void **state, size_t *ret_size)
{
    const char *path = fixture_path(state, "s");

    sound_store(path, RUNS, PERIODS, 0);
    return sound_read(path, ret_size);
}

/* Return the number of rows of a table that differ between the stores. */
static int64_t differences(void **state, const char *table)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "ATTACH '%s' AS s; CREATE TEMP TABLE IF NOT EXISTS d AS SELECT * FROM"
             " (SELECT * FROM main.%s EXCEPT SELECT * FROM s.%s) UNION ALL SELECT * FROM"
             " (SELECT * FROM s.%s EXCEPT SELECT * FROM main.%s)",
             fixture_path(state, "s"), table, table, table, table);
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t count;

    assert_int_equal(sqlite3_open(fixture_path(state, "saved"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM temp.d", -1, &stmt, NULL), 0);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    count = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return count;
}

static void expect_the_same(void **state)
{
    static const char *const table[] = {
        "run",         "event_set", "event",          "metric", "period", "rollup",    "thinned",
        "metric_step", "phase",     "outlier",        "mark",   "gap",    "detection", "sampling",
        "module",      "frame",     "location",       "stack",  "task",   "program",   "code_count",
        "signal",      "reading",   "reading_rollup", "cgroup"};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (differences(state, table[i]) != 0)
            fail_msg("table %s differs", table[i]);
}

/* Repairing a store without damage gives the same rows. */
static void nothing_is_lost_of_a_sound_store(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    struct findings findings;

    sound_store(path, RUNS, PERIODS, 0);
    fixture_exec(
        path, "INSERT INTO mark VALUES (1, 5, 0, 'été'), (2, 6, 0, printf('%.*c', 9000, 'x'));"
              "INSERT INTO gap VALUES (1, 5, 0, 3, 7, 'why');"
              "INSERT INTO outlier (run_id, detection, period) VALUES (1, 0, 7);"
              "INSERT INTO location VALUES (1, 3, 0, 'f', 'f.c', 1, 'debug', NULL),"
              " (1, 3, 1, 'main', '', 0, 'symbol', NULL);"
              "INSERT INTO detection VALUES (1, 0, 'm', '{}', 1, 'A B, once'),"
              " (2, 3, 'm', '{}', 0, NULL);"
              "INSERT INTO phase (run_id, detection, level, phase, first_period, last_period,"
              " label) VALUES (1, 0, 0, 0, 0, 99, 'A'), (1, 0, 1, 0, 0, 9, 'A'),"
              " (2, 3, 0, 0, 0, 199, 'A');"
              "INSERT INTO phase VALUES (1, 0, 1, 1, 10, 99, 'B', 1, 2, 10, 12, 0.5, 1, 1, 1, 1)");
    sound_repair(&findings, path, saved);
    expect_the_same(state);
    assert_int_equal(findings.repair.dropped, 0);
    assert_string_equal(findings.text, "note: run 1: 200 periods saved, no time is missing\n"
                                       "note: run 2: 200 periods saved, no time is missing\n");
    sound_store(path, 1, 2000, 60 * SOUND_LENGTH_NS);
    sound_repair(&findings, path, saved);
    expect_the_same(state);
    assert_int_equal(findings.repair.periods, 2000);
}

/* Incomplete detections are left out, with their outliers. Complete detections are kept. */
static void detections_that_are_not_whole(void **state)
{
    static const char *const sql[] = {
        "UPDATE detection SET shown_level = 2 WHERE detection = 1",
        "DELETE FROM phase WHERE detection = 1 AND level = 0",
        "DELETE FROM phase WHERE detection = 1 AND level = 1 AND phase = 0",
        "DELETE FROM phase WHERE detection = 1 AND level = 1 AND phase = 1",
        "UPDATE phase SET label = '?' WHERE detection = 1 AND level = 1",
        "UPDATE phase SET first_period = 3 WHERE detection = 1 AND level = 1 AND phase = 1",
        "UPDATE phase SET last_period = 200 WHERE detection = 1 AND last_period = 199",
        "DELETE FROM detection WHERE detection = 1",
        "DELETE FROM phase WHERE detection = 1",
        "DROP TABLE detection; DELETE FROM phase WHERE detection = 0;"
        "DELETE FROM outlier WHERE detection = 0",
    };
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    struct findings findings;

    for (size_t i = first; i < sizeof(sql) / sizeof(sql[0]); i += step) {
        int64_t others = i + 1 < sizeof(sql) / sizeof(sql[0]);

        sound_store(path, 1, PERIODS, 0);
        fixture_exec(path, "INSERT INTO detection VALUES (1, 0, 'm', '{}', 1, NULL),"
                           " (1, 1, 'm', '{}', 1, NULL); INSERT INTO outlier (run_id, detection, "
                           "period) VALUES (1, 0, 7), (1, 1, 7);"
                           "INSERT INTO phase (run_id, detection, level, phase, first_period,"
                           " last_period, label) SELECT 1, value, 0, 0, 0, 199, 'A' FROM"
                           " json_each('[0, 1]') UNION ALL SELECT 1, value, 1, 0, 0, 9, 'A' FROM"
                           " json_each('[0, 1]') UNION ALL SELECT 1, value, 1, 1, 10, 199, 'B' FROM"
                           " json_each('[0, 1]')");
        fixture_exec(path, sql[i]);
        sound_repair(&findings, path, saved);
        assert_string_equal(findings.text,
                            "note: run 1: 200 periods saved, no time is missing\n"
                            "note: run 1: incomplete detections of phases are left out; find the "
                            "phases with `rpistat phases`\n");
        assert_int_equal(fixture_number(saved, "SELECT count(*) FROM detection"), others);
        assert_int_equal(fixture_number(saved, "SELECT count(*) FROM phase WHERE detection = 0"),
                         3 * others);
        assert_int_equal(fixture_number(saved, "SELECT count(*) FROM phase"), 3 * others);
        assert_int_equal(fixture_number(saved, "SELECT count(*) FROM outlier"), others);
    }
}

/* If any single page is lost, even a page of the schema, all data that SQLite can still find are
 * saved. */
static void every_page_in_turn(void **state)
{
    char *path = strdup(fixture_path(state, "damaged")),
         *saved = strdup(fixture_path(state, "saved"));
    struct findings findings;
    unsigned char *data, *damaged;
    char rows_sql[] = "SELECT total(ncell) FROM dbstat WHERE name = 'period' AND"
                      " pagetype = 'leaf' AND pageno = 0000000000";
    size_t size;

    data = store_of(state, &size);
    damaged = malloc(size);
    assert_non_null(damaged);
    for (size_t page = first; page < size / PAGE; page += step) {
        uint64_t lost, rows;

        snprintf(strrchr(rows_sql, '=') + 1, 11, "%zu", page + 1);
        rows = (uint64_t)fixture_number(fixture_path(state, "s"), rows_sql);
        memcpy(damaged, data, size);
        memset(damaged + page * PAGE, page % 2 ? 0xa5 : 0, PAGE);
        sound_write(path, damaged, size);
        sound_repair(&findings, path, saved);
        expect_file(path, damaged, size);
        lost = RUNS * PERIODS - findings.repair.periods;
        /* All periods of other pages are saved. Blocks may replace a part of the lost periods. */
        assert_in_range(lost, rows / 3, rows);
        assert_int_equal(lost > 0, findings.repair.lost_stretches > 0);
        assert_int_equal(
            fixture_number(saved,
                           "SELECT coalesce(sum(length_ns), 0) FROM gap WHERE reason LIKE 'lost%'"),
            findings.repair.runs == RUNS ? (int64_t)lost * SOUND_LENGTH_NS : 0);
    }
    free(saved);
    free(path);
    free(damaged);
    free(data);
}

/* If the end of a file is cut off, the beginning of a run may be lost. The blocks of the run then
 * replace the lost rows. */
static void a_file_that_was_cut(void **state)
{
    struct findings findings;
    unsigned char *data;
    size_t size;

    data = store_of(state, &size);
    for (size_t cut = 1 + first; cut < 6; cut += step) {
        repaired(state, data, size - cut * 3 * PAGE / 2, &findings);
        assert_in_range(findings.repair.periods, 100, RUNS * PERIODS - (cut > 2));
    }
    free(data);
}

/* SQL for every fortieth leaf page of each table. The last leaf is excluded, because a repair
 * searches for the end of a table in leaps. */
static const char leaves[] =
    "SELECT group_concat(pageno) FROM (SELECT pageno, row_number() OVER keys AS number,"
    " lead(pageno) OVER keys AS next FROM dbstat WHERE pagetype = 'leaf'"
    " WINDOW keys AS (PARTITION BY name ORDER BY path)) WHERE number % 40 = 20 AND next NOT NULL";

/* With damage at many places, the rows between these places are found, however far apart the places
 * are. */
static void many_places(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    struct findings findings;
    unsigned char *data;
    const char *page;
    size_t size;

    sound_store(path, 1, 20000, 0);
    data = sound_read(path, &size);
    page = fixture_text(path, leaves);
    for (size_t number; sscanf(page, "%zu", &number) == 1; page += *page == ',') {
        assert_int_equal(data[(number - 1) * PAGE], LEAF);
        memset(data + (number - 1) * PAGE, 0, PAGE);
        page += strspn(page, "0123456789");
    }
    sound_write(path, data, size);
    sound_repair(&findings, path, saved);
    assert_in_range(findings.repair.periods, 17000, 19900);
    assert_in_range(findings.repair.queries, 100, 4000);
    free(data);
}

/* A block replaces lost periods only if there are no finer rows before it. */
static void blocks_stand_for_what_is_lost(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    struct findings findings;

    sound_store(path, 1, PERIODS, 0);
    fixture_exec(path, "DELETE FROM period WHERE period < 70");
    sound_repair(&findings, path, saved);
    assert_int_equal(findings.repair.periods, PERIODS - 6); /* The number includes 64 periods in
                                                               blocks. */
    assert_int_equal(fixture_number(saved, "SELECT before_period FROM thinned WHERE level = 0"),
                     64);
    assert_int_equal(fixture_number(saved, "SELECT sum(length_ns) FROM gap"), 6 * SOUND_LENGTH_NS);
    sound_store(path, 1, PERIODS, 0);
    fixture_exec(path, "DELETE FROM period WHERE period BETWEEN 64 AND 127");
    sound_repair(&findings, path, saved);
    assert_int_equal(findings.repair.periods, PERIODS - 64);
    sound_store(path, 1, 2000, 60 * SOUND_LENGTH_NS);
    fixture_exec(path, "DELETE FROM thinned");
    sound_repair(&findings, path, saved);
    assert_int_equal(findings.repair.periods, 2000);
}

/* Bytes were changed into other valid numbers, which a page cannot reveal. Neighbouring periods
 * reveal the damage. */
static void rows_that_cannot_be_believed(void **state)
{
    static const char *const sql[] = {
        "UPDATE period SET cycle = cycle + 1 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET cycle = 9 * cycle WHERE run_id = 1 AND period = 50",
        "UPDATE period SET cycles = 5 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET period = 9999 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET period = 3 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET length_ns = 9000000000 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET start_ns = 15000000000 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET start_ns = 90000000000000 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET set_no = 200 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET run_id = 77 WHERE run_id = 1 AND period = 50",
    };
    struct findings findings;
    unsigned char *data, *changed;
    size_t size;

    data = store_of(state, &size);
    for (size_t i = first; i < sizeof(sql) / sizeof(sql[0]); i += step) {
        sound_write(fixture_path(state, "s"), data, size);
        fixture_exec(fixture_path(state, "s"), sql[i]);
        changed = sound_read(fixture_path(state, "s"), &size);
        repaired(state, changed, size, &findings);
        if (findings.repair.periods != RUNS * PERIODS - 1 || findings.repair.dropped != 1)
            fail_msg("%s: %s", sql[i], findings.text);
        assert_int_equal(fixture_number(fixture_path(state, "saved"),
                                        "SELECT count(*) FROM period WHERE run_id = 1"
                                        " AND period = 50"),
                         0);
        free(changed);
    }
    free(data);
}

/* A run of which only the periods are left can still be read. */
static void descriptions_that_are_lost(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    struct rps_reader *reader = NULL;
    struct rps_plan *plan = NULL;
    struct findings findings;
    struct rps_error err;

    sound_store(path, RUNS, PERIODS, 0);
    fixture_exec(path, "DELETE FROM run; DELETE FROM event_set; DELETE FROM event;"
                       "UPDATE metric SET formula = '(' WHERE run_id = 1");
    sound_repair(&findings, path, saved);
    assert_int_equal(findings.repair.periods, RUNS * PERIODS);
    assert_non_null(strstr(findings.text, "note: run 1: its command, start time and host"));
    assert_non_null(strstr(findings.text, "numbers instead of names"));
    assert_non_null(strstr(findings.text, "note: run 1: the formulas of its metrics are"));
    assert_int_equal(rps_reader_open(&reader, saved, &err), 0);
    assert_int_equal(rps_reader_plan(fixture_arena, reader, 2, &plan, &err), 0);
    assert_int_equal(plan->set_count, 2);
    assert_int_equal(plan->set[0].event_count, 2);
    assert_int_equal(plan->set[1].event_count, 1); /* event d was never counted */
    assert_string_equal(plan->set[0].event[1].name, "event_0_1");
    assert_int_equal(plan->metric_count, 6);
    rps_reader_close(reader);
}

/* A table that describes runs loses its only page. The measured data are still kept. */
static void pages_of_descriptions(void **state)
{
    static const char *const table[] = {"run",    "event_set",   "event",
                                        "metric", "metric_step", "sqlite_autoindex_run_1"};
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    struct findings findings;
    unsigned char *data;
    char sql[128];
    size_t size;

    for (size_t i = first; i < sizeof(table) / sizeof(table[0]); i += step) {
        sound_store(path, RUNS, PERIODS, 0);
        data = sound_read(path, &size);
        snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'",
                 table[i]);
        memset(data + (fixture_number(path, sql) - 1) * PAGE, 0, PAGE);
        repaired(state, data, size, &findings);
        assert_int_equal(findings.repair.periods, RUNS * PERIODS);
        assert_int_equal(findings.repair.lost_stretches, 0);
        assert_int_equal(fixture_number(saved, "SELECT count(DISTINCT uuid) FROM run"), RUNS);
        assert_int_equal(fixture_number(saved, "SELECT count(*) FROM run WHERE state ="
                                               " 'interrupted'"),
                         i == 0 ? RUNS : 0);
        free(data);
    }
}

/* Committed data that are only in the log are read from the log. */
static void the_log_is_read(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    const struct rps_writer_options every = {.commit_ns = 0};
    struct findings findings;
    struct rps_error err;
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &every, &run);
    struct stat log;
    unsigned char *data;
    char name[600];
    size_t size;

    for (uint64_t n = 0; n < PERIODS; n++) {
        struct rps_period period = sound_period(n);

        rps_writer_period(writer, &period);
    }
    run.state = RPS_RUN_COMPLETE;
    assert_int_equal(rps_writer_end(writer, &run, &err), 0);
    snprintf(name, sizeof(name), "%s-wal", path);
    assert_int_equal(stat(name, &log), 0);
    assert_true(log.st_size > 0); /* Without a log, nothing would be tested. */
    sound_repair(&findings, path, saved);
    assert_int_equal(findings.repair.periods, PERIODS);
    assert_int_equal(findings.repair.lost_stretches, 0);
    /* The last transaction in the log is incomplete. All earlier transactions count. */
    data = sound_read(path, &size);
    sound_write(fixture_path(state, "cut"), data, size);
    free(data);
    data = sound_read(name, &size);
    sound_write(fixture_path(state, "cut-wal"), data, size - 100);
    free(data);
    sound_repair(&findings, fixture_path(state, "cut"), saved);
    assert_int_equal(findings.repair.runs, 1);
    assert_int_equal(findings.repair.periods, PERIODS);
    assert_int_equal(fixture_number(saved, "SELECT state = 'interrupted' FROM run"), 1);
    rps_writer_close(writer);
    rps_run_free(&run);
}

/* After random changes of bytes, a repair ends, and its result is a valid store. */
static void any_bytes_can_be_read(void **state)
{
    char *path = strdup(fixture_path(state, "damaged")),
         *saved = strdup(fixture_path(state, "saved"));
    struct findings findings;
    struct rps_error err;
    unsigned char *data, *damaged;
    uint64_t random = 1;
    size_t size, tried = 0, sound = 0;

    data = store_of(state, &size);
    damaged = malloc(size);
    assert_non_null(damaged);
    for (size_t turn = 0; turn < 60; turn++) {
        memcpy(damaged, data, size);
        for (size_t i = 0; i < 1 + turn % 40; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            /* Every second change is at the beginning of a page, where its structure is. */
            damaged[i % 2 ? (random >> 20) % size
                          : (random >> 20) % (size / PAGE) * PAGE + (random >> 50) % 120] =
                (unsigned char)(random >> 33);
        }
        if (turn % step != first)
            continue; /* This case is tested by another program or in another quarter. */
        tried++;
        sound_write(path, damaged, size);
        if (sound_try_repair(&findings, path, saved, &err) == 0)
            sound++;
        else
            fixture_says(&err, path, NULL);
    }
    assert_in_range(sound, tried / 2, tried);
    assert_in_range(tried, 60 / step, 60);
    free(saved);
    free(path);
    free(damaged);
    free(data);
}

struct meeting {
    int arrived, go; /* file descriptors of pipes */
    int met;
};

/* Wait in the middle of a repair until the other repair has reached the same point. */
static void meet(void *context, enum rps_finding_kind kind, const char *sentence)
{
    struct meeting *meeting = context;
    char byte = 0;

    (void)kind;
    (void)sentence;
    if (meeting->met++)
        return;
    assert_int_equal(write(meeting->arrived, &byte, 1), 1);
    assert_int_equal(read(meeting->go, &byte, 1), 1);
}

/* Repair in a child process. Return 0 if the store was saved, 1 if the repair was correctly
 * refused. */
static int repair_in_child(const char *path, const char *saved, int arrived, int go)
{
    struct meeting meeting = {arrived, go, 0};
    const struct rps_finding_sink sink = {&meeting, meet};
    struct rps_repair_result result;
    struct rps_error err;

    if (rps_store_repair(path, saved, &sink, &result, &err) == 0)
        return 0;
    return strstr(err.message, "exists; name a new file") && strstr(err.message, saved) ? 1 : 2;
}

/* Of two repairs into one path, one is refused as too late. */
static void two_repairs_into_one_place(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    int arrived[2], go[2], status, ended[3] = {0};
    struct findings findings;
    pid_t child[2];
    char byte = 0;

    sound_store(path, RUNS, PERIODS, 0);
    assert_int_equal(pipe(arrived), 0);
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < 2; i++) {
        child[i] = fixture_fork();
        if (child[i] == 0)
            _exit(repair_in_child(path, saved, arrived[1], go[0]));
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(arrived[0], &byte, 1), 1);
    assert_int_equal(access(saved, F_OK), -1); /* No process can see an incomplete store. */
    for (int i = 0; i < 2; i++)
        assert_int_equal(write(go[1], &byte, 1), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 3);
        ended[WEXITSTATUS(status)]++;
    }
    assert_int_equal(ended[0], 1);
    assert_int_equal(ended[1], 1);
    sound_check(&findings, saved);
    assert_string_equal(findings.text, "");
    for (int i = 0; i < 2; i++) {
        close(arrived[i]);
        close(go[i]);
    }
    unlink(path);
    unlink(saved);
    assert_int_equal(rmdir(*state), 0); /* No other file is left in the directory. */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)
/* The SHARED tests have lists of damages. Two programs test one half each. */
#define SHARED                                                                                     \
    TEST(detections_that_are_not_whole), TEST(every_page_in_turn), TEST(a_file_that_was_cut),      \
        TEST(rows_that_cannot_be_believed), TEST(pages_of_descriptions),                           \
        TEST(any_bytes_can_be_read)

/* test_repair [FIRST STEP] */
int main(int argc, char **argv)
{
    const struct CMUnitTest shared[] = {SHARED}, tests[] = {
                                                     TEST(nothing_is_lost_of_a_sound_store),
                                                     TEST(many_places),
                                                     TEST(blocks_stand_for_what_is_lost),
                                                     TEST(descriptions_that_are_lost),
                                                     TEST(the_log_is_read),
                                                     TEST(two_repairs_into_one_place),
                                                     SHARED,
                                                 };

    return sound_part(argc, argv, &first, &step) ? cmocka_run_group_tests(shared, NULL, NULL)
                                                 : cmocka_run_group_tests(tests, NULL, NULL);
}
