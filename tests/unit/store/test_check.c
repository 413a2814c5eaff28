/* Every way in which a store can be wrong is said, and only then; a repair takes it away. */
#include "sound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERIODS 12

static void expect_text(const struct findings *findings, const char *text)
{
    if (!strstr(findings->text, text))
        fail_msg("\"%s\" is not in:\n%s", text, findings->text);
}

static void a_sound_store(void **state)
{
    const char *path = fixture_path(state, "s");
    struct findings findings;

    sound_store(path, 2, PERIODS);
    sound_check(&findings, path);
    assert_string_equal(findings.text, "");
    assert_int_equal(findings.check.wrong, 0);
    assert_int_equal(findings.check.runs, 2);
    assert_int_equal(findings.check.periods, 2 * PERIODS);
}

/* Time without periods is right when gap rows cover it, together, for all CPUs or for this one. */
static void holes_with_gap_rows(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct findings findings;

    for (int32_t cpu = 0; cpu < 2; cpu++) {
        for (uint64_t n = 2; n < PERIODS; n++) {
            struct rps_period period = sound_period(n);

            period.cpu = cpu;
            if (n != 5 && n != 6 && !(cpu == 1 && n >= 9))
                rps_writer_period(writer, &period);
        }
    }
    rps_writer_gap(writer, -1, 0, 2 * SOUND_LENGTH_NS, "not yet enabled");
    rps_writer_gap(writer, -1, 5 * SOUND_LENGTH_NS, SOUND_LENGTH_NS, "one");
    rps_writer_gap(writer, 0, 5 * SOUND_LENGTH_NS, 2 * SOUND_LENGTH_NS, "two");
    rps_writer_gap(writer, 1, 6 * SOUND_LENGTH_NS, SOUND_LENGTH_NS, "three");
    rps_writer_gap(writer, 1, 9 * SOUND_LENGTH_NS, 3 * SOUND_LENGTH_NS, "offline");
    fixture_end(writer, &run);
    sound_check(&findings, path);
    assert_string_equal(findings.text, "");
    fixture_exec(path, "DELETE FROM gap WHERE reason = 'three'");
    sound_check(&findings, path);
    expect_text(&findings, "wrong: run 1, CPU 1: 1 stretch is missing, and no gap row says why "
                           "(first: before period 7, at 0.500 s; 0.200 s in all)\n");
    assert_int_equal(findings.check.wrong, 1);
    fixture_exec(path, "DELETE FROM gap WHERE reason = 'offline'");
    sound_check(&findings, path);
    expect_text(&findings, "2 stretches are missing");
}

/* What is done to a store, and what is said of it. */
struct damage {
    const char *sql, *says;
};

static const struct damage damages[] = {
    {"DELETE FROM period WHERE period BETWEEN 3 AND 5",
     "wrong: run 1: 1 stretch is missing, and no gap row says why (first: before period 6, at "
     "0.300 s; 0.300 s in all)\n"},
    {"DELETE FROM period WHERE period IN (0, 4, 11)", "run 1: 3 stretches are missing"},
    {"DELETE FROM period", "run 1: 1 stretch is missing, and no gap row says why (first: before "
                           "period 0, at 0.000 s; 1.200 s in all)\n"},
    {"UPDATE period SET cycle = cycle + 5 WHERE period = 4",
     "run 1: 2 periods with a cycle timestamp that is not the sum"},
    {"UPDATE period SET cycles = 3 WHERE period = 4",
     "run 1: 1 period with a cycle timestamp that is not the sum of all cycles so far (first: in "
     "period 4, at 0.400 s)"},
    {"UPDATE period SET cycle = 1 WHERE period = 7", "out of order"},
    {"UPDATE period SET period = 17 WHERE period = 4", "out of order"},
    {"UPDATE period SET start_ns = start_ns - 50000000 WHERE period = 4",
     "run 1: 1 period beginning before the one before has ended (first: in period 4, at 0.350 s)"},
    {"UPDATE period SET length_ns = 900000000 WHERE period = 4", "before the one before has ended"},
    {"UPDATE period SET set_no = 9 WHERE period = 2",
     "run 1: 1 period with a number that no recorder writes (first: in period 2, at 0.200 s, with "
     "set_no 9)"},
    {"UPDATE period SET length_ns = -7 WHERE period > 9",
     "run 1: 2 periods with a number that no recorder writes (first: in period 10, at 1.000 s, "
     "with length_ns -7)"},
    {"UPDATE period SET c1 = 5 WHERE set_no = 1",
     "run 1: 6 periods with a count of an event that was not measured (first: in period 1,"},
    {"UPDATE period SET running_ns = 0 WHERE period = 2",
     "run 1: 1 period with counts of an event set that was never on the counters in it"},
    {"UPDATE event_set SET periods = 7 WHERE set_no = 0",
     "run 1: the total number of periods of event set 0 is 7, but the periods come to 6"},
    {"UPDATE event_set SET enabled_ns = 7 WHERE set_no = 1",
     "run 1: the total time enabled of event set 1 is 7, but the periods come to 599997000"},
    {"UPDATE event_set SET running_ns = 7", "time on the counters of event set 1 is 7"},
    {"UPDATE event SET count = 7 WHERE name = 'a'",
     "run 1: the total count of event 0 of set 0 is 7"},
    {"UPDATE event SET count = NULL WHERE name = 'a'",
     "run 1: event 0 of set 0 has no total count, but its periods have counts"},
    {"UPDATE event SET count = 0 WHERE name = 'd'",
     "run 1: event 1 of set 1 has a total count, but was never counted"},
    {"UPDATE event_set SET periods = NULL", "run 1: it is complete, but has no totals"},
    {"DELETE FROM event_set WHERE set_no = 1",
     "run 1: its number of event sets is not that of its rows"},
    {"DELETE FROM event WHERE set_no = 1", "the events of run 1 make no sense"},
    {"DELETE FROM run", "table period has rows of 1 run that is not in the store, run 1 the first"},
    {"UPDATE gap SET run_id = 1; INSERT INTO gap VALUES (1, -5, 0, -1, 5, 'x')",
     "run 1: gap rows with times that make no sense: 1\n"},
    {"INSERT INTO phase (run_id, detection, phase, first_period, last_period, label, method,"
     " parameters) VALUES (1, 0, 0, 0, 99, 'A', 'm', '{}')",
     "run 1: phases that are not inside the run: 1\n"},
    {"INSERT INTO phase (run_id, detection, phase, first_period, last_period, label, method,"
     " parameters) VALUES (1, 0, 0, 0, 5, 'A', 'm', '{}'), (1, 0, 1, 5, 7, 'B', 'm', '{}')",
     "run 1: phases that begin before the one before has ended: 1\n"},
    {"INSERT INTO outlier VALUES (1, 0, 99)", "run 1: outliers that are not inside the run: 1\n"},
    {"UPDATE period SET merged = 2 WHERE period = 4", "out of order: the numbers of periods"},
    {"UPDATE period SET merged = -1 WHERE period = 4", "with a number that no recorder writes"},
    {"UPDATE run SET elapsed_ns = 5", "run 1: it ended before its last period did"},
    {"UPDATE run SET elapsed_ns = 2000000000", "(first: before period 12, at 1.200 s; 0.800 s"},
    {"UPDATE run SET command = 'nonsense'", "malformed JSON"},
    {"UPDATE metric SET formula = 'a / / b' WHERE name = 'nested'", "wrong: run 1: run 1 of "},
    {"DROP VIEW rate", "wrong: view rate is missing"},
    {"DROP TABLE mark; CREATE TABLE mark (run_id INTEGER NOT NULL)",
     "wrong: table mark is not as rpistat makes it"},
};

static void everything_wrong_is_said_and_mended(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "new");
    size_t sound_size, size;
    unsigned char *sound, *before, *after;
    struct findings findings;

    sound_store(path, 1, PERIODS);
    sound = sound_read(path, &sound_size);
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        sound_write(path, sound, sound_size);
        fixture_exec(path, damages[i].sql);
        sound_check(&findings, path);
        expect_text(&findings, damages[i].says);
        assert_true(findings.check.wrong > 0);
        before = sound_read(path, &size);
        sound_repair(&findings, path, saved);
        after = sound_read(path, &size);
        assert_memory_equal(before, after, size);
        free(before);
        free(after);
    }
    free(sound);
}

/* What is worth a word, and no damage. */
static const struct damage oddities[] = {
    {"UPDATE period SET running_ns = 3 * enabled_ns WHERE period = 2;"
     "UPDATE event_set SET running_ns = (SELECT sum(running_ns) FROM period AS p"
     " WHERE p.set_no = event_set.set_no)",
     "odd: run 1: 1 period with more time on the counters than the workload ran (first: in period "
     "2, at 0.200 s; by up to 199.999 ms)"},
    {"UPDATE period SET c0 = NULL WHERE period = 2;"
     "UPDATE event SET count = (SELECT sum(c0) FROM period WHERE set_no = 0) WHERE name = 'a'",
     "odd: run 1: 1 period without a count of an event that was on the counters, as recorded: the "
     "recorder could not read it (first: in period 2, at 0.200 s)"},
    {"UPDATE run SET state = 'recording', recorder_start_ticks = 1, elapsed_ns = NULL;"
     "UPDATE event_set SET periods = NULL; UPDATE event SET count = NULL",
     "odd: run 1: its recorder was killed"},
    {"INSERT INTO mark VALUES (1, 9000000000, 0, 'late')",
     "odd: run 1: marks outside the run: 1\n"},
    {"CREATE TABLE mine (x)", "odd: table mine is not rpistat's: another program has added it"},
    {"PRAGMA user_version = 1999", "odd: the store has format 1.999"},
};

static void oddities_are_no_damage(void **state)
{
    const char *path = fixture_path(state, "s");
    unsigned char *sound;
    struct findings findings;
    size_t size;

    sound_store(path, 1, PERIODS);
    sound = sound_read(path, &size);
    for (size_t i = 0; i < sizeof(oddities) / sizeof(oddities[0]); i++) {
        sound_write(path, sound, size);
        fixture_exec(path, oddities[i].sql);
        sound_check(&findings, path);
        expect_text(&findings, oddities[i].says);
        if (findings.check.wrong != 0 || findings.check.odd != 1)
            fail_msg("%s: %s", oddities[i].sql, findings.text);
    }
    free(sound);
}

/* The tables of an older store are those of its own version. */
static void an_older_store(void **state)
{
    const char *path = fixture_path(state, "s");
    struct findings findings;

    sound_store(path, 1, PERIODS);
    fixture_exec(path, "DROP TABLE outlier; ALTER TABLE phase DROP COLUMN start_ns;"
                       "ALTER TABLE phase DROP COLUMN end_ns; ALTER TABLE phase DROP COLUMN"
                       " earliest; ALTER TABLE phase DROP COLUMN latest; ALTER TABLE phase DROP"
                       " COLUMN confidence; ALTER TABLE phase DROP COLUMN label_confidence;"
                       "PRAGMA user_version = 1000");
    sound_check(&findings, path);
    assert_null(strstr(findings.text, "outlier"));
    assert_int_equal(fixture_number(path, "PRAGMA user_version"), 1000);
}

/* Of a store from elsewhere, not more is listed than anybody reads. */
static void the_list_is_cut(void **state)
{
    const char *path = fixture_path(state, "s");
    struct findings findings;
    int lines = 0;

    sound_store(path, 1, PERIODS);
    fixture_exec(path, "WITH RECURSIVE n (x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE"
                       " x < 999) INSERT INTO period SELECT 1, x, 5, 1, 0, 0, 1, 9, 0, 0, 0, 0,"
                       " NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM n");
    sound_check(&findings, path);
    assert_true(findings.check.wrong > 1000);
    expect_text(&findings, " more like these are not listed\n");
    for (const char *at = findings.text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_in_range(lines, 101, 202);
}

static void what_is_no_store(void **state)
{
    static const unsigned char text[] = "This is no store, but some text of a hundred and more "
                                        "letters, so that nobody takes it for an empty file.";
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "new");
    const struct rps_finding_sink sink = {NULL, NULL};
    struct rps_repair_result repaired;
    struct rps_check_result result;
    struct rps_error err;

    assert_int_equal(rps_store_check(path, &sink, &result, &err), RPS_FAILED);
    fixture_says(&err, "there is no store", path, NULL);
    assert_int_equal(rps_store_repair(path, saved, &sink, &repaired, &err), RPS_FAILED);
    fixture_says(&err, "cannot open", path, NULL);
    sound_write(path, text, sizeof(text));
    assert_int_equal(rps_store_check(path, &sink, &result, &err), RPS_FAILED);
    fixture_says(&err, "is not an rpistat store", NULL);
    assert_int_equal(rps_store_repair(path, saved, &sink, &repaired, &err), RPS_FAILED);
    fixture_says(&err, "nothing in", path, "store", NULL);
    assert_int_equal(access(saved, F_OK), -1);
    sound_store(saved, 1, 2);
    assert_int_equal(rps_store_repair(path, saved, &sink, &repaired, &err), RPS_FAILED);
    fixture_says(&err, saved, "is there already", NULL);
    assert_int_equal(fixture_number(saved, "SELECT count(*) FROM period"), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sound_store),
        TEST(holes_with_gap_rows),
        TEST(everything_wrong_is_said_and_mended),
        TEST(oddities_are_no_damage),
        TEST(an_older_store),
        TEST(the_list_is_cut),
        TEST(what_is_no_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
