/* Readings of system metrics can be read back at every resolution, and stay correct after
 * downsampling, merging and repair. */
#include "sound.h"
#include "rpistat/store.h"
#include "rpistat/system_rows.h"
#include "rpistat/system_reader.h"
#include "rpistat/period.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PERIODS 5000
#define KEEP_NS (60 * SOUND_LENGTH_NS)

/* Sums over the rows of a part, and the number of rows. */
struct all {
    uint64_t rows, readings[RPS_SYSTEM_SLOT_MAX];
    /* sums of counters, and their time */
    int64_t sum[RPS_SYSTEM_SLOT_MAX], length_us;
    /* integrals and times of gauges, in us */
    double integral[RPS_SYSTEM_SLOT_MAX], known_us[RPS_SYSTEM_SLOT_MAX];
    /* lowest and highest value of slot 1 */
    double lowest, highest;
    /* coarsest level of the rows */
    int level;
    uint64_t first, last;
};

static int is_gauge(enum rps_system_source source, int slot)
{
    return slot < rps_system_metric_count[source] &&
           rps_system_metrics[source][slot].kind == RPS_SYSTEM_GAUGE;
}

static struct all all_of(const char *path, enum rps_system_source source, int64_t from_ns,
                         int64_t to_ns, int resolution)
{
    struct all all = {.lowest = 1e300, .highest = -1};
    struct rps_reader *reader = fixture_reader(path);
    struct rps_system_cursor *cursor = NULL;
    struct rps_system_row row;
    struct rps_error err;
    int got;

    if (rps_system_cursor_open(&cursor, reader, 1, source, from_ns, to_ns, resolution, &err) < 0)
        fail_msg("%s", err.message);
    while ((got = rps_system_cursor_next(cursor, &row, &err)) > 0) {
        if (all.rows++ == 0)
            all.first = row.period;
        else
            assert_true(row.period > all.last);
        all.last = row.last_period;
        all.length_us += row.length_us;
        all.level = row.level > all.level ? row.level : all.level;
        for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++) {
            double known_us = (double)row.length_us * (double)row.readings[slot] /
                              (double)rps_system_row_readings(&row);

            all.readings[slot] += row.readings[slot];
            if (row.readings[slot] > 0 && is_gauge(source, slot)) {
                all.integral[slot] += (double)row.sum[slot] / (double)row.readings[slot] * known_us;
                all.known_us[slot] += known_us;
            } else if (row.readings[slot] > 0) {
                all.sum[slot] += row.sum[slot];
            }
        }
        all.lowest = row.lowest[1] < all.lowest ? row.lowest[1] : all.lowest;
        all.highest = row.highest[1] > all.highest ? row.highest[1] : all.highest;
    }
    if (got < 0)
        fail_msg("%s", err.message);
    rps_system_cursor_close(cursor);
    rps_reader_close(reader);
    return all;
}

static void expect_equal(const struct all *a, const struct all *b)
{
    assert_memory_equal(a->readings, b->readings, sizeof(a->readings));
    assert_memory_equal(a->sum, b->sum, sizeof(a->sum));
    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++)
        assert_false(fabs(a->integral[slot] / a->known_us[slot] -
                          b->integral[slot] / b->known_us[slot]) > .1);
    assert_int_equal(a->length_us, b->length_us);
    assert_true(a->lowest == b->lowest && a->highest == b->highest);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->last, b->last);
}

static void what_is_written_is_read(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_system_state can;
    struct rps_system_row total;
    struct rps_reader *reader;
    struct rps_error err;
    struct all all, of_machine;

    sound_store(path, 1, PERIODS, 0);
    all = all_of(path, RPS_SYSTEM_TREE, INT64_MIN, INT64_MAX, 0);
    of_machine = all_of(path, RPS_SYSTEM_MACHINE, INT64_MIN, INT64_MAX, 0);
    assert_int_equal(all.rows, PERIODS);
    assert_int_equal(of_machine.rows, PERIODS / 10);
    assert_int_equal(all.readings[RPS_TREE_WAIT], PERIODS);
    assert_int_equal(all.readings[RPS_TREE_RSS], PERIODS / 5);
    assert_int_equal(of_machine.readings[RPS_MACHINE_STEAL], 0);
    assert_true(fabs(all.integral[3] / all.known_us[3] -
                     fixture_real(path, "SELECT sum(1. * s3 * length_us) / sum(length_us) FROM"
                                        " reading WHERE source = 0")) < 1e-6);
    assert_true(all.highest == fixture_real(path,
                                            "SELECT max(round(s1 * 1e6 / length_us)) FROM reading"
                                            " WHERE source = 0"));
    for (int resolution = 1; resolution <= RPS_LEVELS; resolution++) {
        static const uint64_t rows[] = {0, 313, 20, 2, 1};
        struct all coarse = all_of(path, RPS_SYSTEM_TREE, INT64_MIN, INT64_MAX, resolution);

        expect_equal(&coarse, &all);
        assert_int_equal(coarse.rows, rows[resolution]);
        coarse = all_of(path, RPS_SYSTEM_MACHINE, INT64_MIN, INT64_MAX, resolution);
        expect_equal(&coarse, &of_machine);
    }
    reader = fixture_reader(path);
    assert_int_equal(rps_reader_system(reader, 1, RPS_SYSTEM_TREE, &can, &total, &err), 1);
    assert_int_equal(can.supported, (1 << RPS_TREE_SLOTS) - 1);
    assert_memory_equal(total.readings, all.readings, sizeof(all.readings));
    for (int slot = 0; slot < RPS_TREE_SLOTS; slot++) {
        double readings = (double)all.readings[slot];

        if (is_gauge(RPS_SYSTEM_TREE, slot))
            assert_false(fabs((double)total.sum[slot] / readings -
                              all.integral[slot] / all.known_us[slot]) > .1);
        else
            assert_int_equal(total.sum[slot], all.sum[slot]);
    }
    assert_true(total.lowest[1] == all.lowest && total.highest[1] == all.highest);
    assert_int_equal(rps_reader_system(reader, 1, RPS_SYSTEM_MACHINE, &can, &total, &err), 1);
    assert_int_equal(can.supported >> RPS_MACHINE_STEAL & 1, 0);
    assert_string_equal(can.reason[RPS_MACHINE_STEAL], "no hypervisor");
    assert_int_equal(rps_reader_system(reader, 2, RPS_SYSTEM_TREE, &can, &total, &err), 0);
    rps_reader_close(reader);
}

/* A part contains the readings whose middles lie in it, at every resolution. */
static void a_part_is_the_same_at_every_resolution(void **state)
{
    const char *path = fixture_path(state, "s");

    sound_store(path, 1, 1200, 0);
    for (int64_t from_ns = 0; from_ns < 1200 * SOUND_LENGTH_NS; from_ns += 37 * SOUND_LENGTH_NS) {
        int64_t to_ns = from_ns + 411 * SOUND_LENGTH_NS;
        struct all fine = all_of(path, RPS_SYSTEM_TREE, from_ns, to_ns, 0);

        assert_int_equal(fine.first, (from_ns + SOUND_LENGTH_NS / 2) / 100030000);
        for (int resolution = 1; resolution <= RPS_LEVELS; resolution++) {
            struct all coarse = all_of(path, RPS_SYSTEM_TREE, from_ns, to_ns, resolution);

            expect_equal(&coarse, &fine);
            assert_true(coarse.rows < fine.rows / 3);
        }
    }
}

static void downsampling_keeps_sums_and_extremes(void **state)
{
    const char *path = fixture_path(state, "s"), *thin = fixture_path(state, "thin");
    struct findings findings;

    sound_store(path, 1, PERIODS, 0);
    sound_store(thin, 1, PERIODS, KEEP_NS);
    assert_in_range(fixture_number(thin, "SELECT count(*) FROM reading WHERE source = 0"), 60, 120);
    assert_int_equal(fixture_number(thin, "SELECT max(p.period) FROM reading AS r JOIN period AS p"
                                          " USING (run_id, period)"),
                     PERIODS - 1);
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++) {
        struct all all = all_of(path, (enum rps_system_source)source, INT64_MIN, INT64_MAX, 0);

        for (int resolution = 0; resolution <= RPS_LEVELS; resolution++) {
            struct all left =
                all_of(thin, (enum rps_system_source)source, INT64_MIN, INT64_MAX, resolution);

            expect_equal(&left, &all);
            assert_true(left.level > 0);
        }
    }
    sound_check(&findings, thin);
    assert_string_equal(findings.text, "");
}

/* Record a run with a hole of five periods after number 1001. Blocks of periods and blocks of
 * readings have different boundaries. */
static void record_with_hole(const char *path, int64_t keep_ns)
{
    const struct rps_writer_options options = {.keep_ns = keep_ns};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &options, &run);

    for (uint64_t n = 0; n < 2000; n++) {
        struct rps_period period = sound_period(n);

        if (n > 1001 && n < 1007)
            continue;
        rps_writer_period(writer, &period);
        fixture_system(writer, n);
    }
    fixture_end(writer, &run);
}

static void blocks_are_downsampled_as_a_whole(void **state)
{
    const char *path = fixture_path(state, "s");
    struct all all;

    record_with_hole(path, 0);
    all = all_of(path, RPS_SYSTEM_TREE, INT64_MIN, INT64_MAX, 0);
    for (int seconds = 92; seconds < 104; seconds++) {
        const char *thin = fixture_path(state, "thin");
        struct all left;

        record_with_hole(thin, seconds * 10 * SOUND_LENGTH_NS);
        left = all_of(thin, RPS_SYSTEM_TREE, INT64_MIN, INT64_MAX, 0);
        expect_equal(&left, &all);
        assert_true(left.level > 0);
        assert_int_equal(fixture_number(thin,
                                        "SELECT count(*) FROM reading_rollup AS b WHERE level"
                                        " = 1 AND source = 0 AND (SELECT count(*) FROM reading"
                                        " AS r WHERE r.source = 0 AND r.period BETWEEN"
                                        " b.period AND b.last_period) NOT IN (0, n1)"),
                         0);
        remove(thin);
    }
}

static void values_are_seen_in_the_view(void **state)
{
    const char *path = fixture_path(state, "s");

    sound_store(path, 1, 100, 0);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM signal_value"),
                     (RPS_TREE_SLOTS - 1) * 100 + 20 + 10 * 10 + 4 * 10 + 6 * 10);
    assert_int_equal(fixture_number(path,
                                    "SELECT count(*) FROM signal_value JOIN reading AS r USING"
                                    " (run_id, period) WHERE r.source = 0 AND ((name = 'rss'"
                                    " AND value = s10) OR (name = 'written'"
                                    " AND abs(value * length_s - s12) < 1e-6))"),
                     20 + 100);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM reading_tree AS t JOIN reading AS r"
                                          " USING (run_id, period) WHERE r.source = 0"
                                          " AND rss IS s10 AND fds IS s16"),
                     100);
    assert_int_equal(fixture_number(path, "SELECT sum(m_wait) = (SELECT sum(s0) FROM reading WHERE"
                                          " source = 1) FROM reading_machine"),
                     1);
}

static void check_finds_what_was_changed(void **state)
{
    static const char *const changes[][2] = {
        {"UPDATE reading SET s2 = s2 + 1 WHERE source = 0 AND period = 77",
         "wrong: run 1: source tree: blocks that differ from the sums of their readings: 4\n"
         "wrong: run 1: source tree: totals that differ from the sums of the readings: 1\n"},
        {"UPDATE reading_rollup SET h4 = h4 + 1 WHERE source = 1 AND level = 2 AND period < 256",
         "wrong: run 1: source machine: blocks that differ from the sums of their readings: 1\n"},
        {"UPDATE reading_rollup SET n10 = 1 WHERE source = 0 AND level = 1 AND period = 32",
         "wrong: run 1: source tree: blocks that differ from the sums of their readings: 1\n"},
        {"UPDATE signal SET total = total - 1 WHERE name = 'rss'",
         "wrong: run 1: source tree: totals that differ from the sums of the readings: 1\n"},
        {"INSERT INTO reading_rollup (run_id, source, level, period, last_period, end_ns, "
         "length_us)"
         " VALUES (1, 0, 1, 35, 36, 9, 9)",
         "wrong: run 1: source tree: blocks that sum no readings: 1\n"},
        {"DELETE FROM signal WHERE source = 1",
         "wrong: run 1: readings that are outside the run, or of no system metrics: "},
        {"UPDATE reading SET period = 5000 WHERE source = 0 AND period = 299",
         "wrong: run 1: readings that are outside the run, or of no system metrics: 1\n"},
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
        struct findings findings;

        sound_store(path, 1, 300, 0);
        sound_check(&findings, path);
        assert_string_equal(findings.text, "");
        fixture_exec(path, changes[i][0]);
        sound_check(&findings, path);
        if (!strstr(findings.text, changes[i][1]))
            fail_msg("%s: %s", changes[i][0], findings.text);
        sound_repair(&findings, path, saved); /* The repaired store is valid. */
        remove(saved);
    }
}

/* The run of a killed recorder has no totals, and its last blocks are missing. */
static void a_killed_run_is_sound_and_gets_totals(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    struct findings findings;
    struct all fine, coarse;

    sound_store(path, 1, 300, 0);
    fine = all_of(path, RPS_SYSTEM_TREE, INT64_MIN, INT64_MAX, 0);
    fixture_exec(path, "UPDATE run SET state = 'interrupted', elapsed_ns = NULL;"
                       "UPDATE signal SET total = NULL, readings = NULL, lowest = NULL,"
                       " highest = NULL; UPDATE event_set SET periods = NULL, enabled_ns = NULL,"
                       " running_ns = NULL; UPDATE event SET count = NULL;"
                       "DELETE FROM reading_rollup WHERE level > 2 OR last_period > 287");
    sound_check(&findings, path);
    assert_null(strstr(findings.text, "source"));
    for (int resolution = 1; resolution <= RPS_LEVELS; resolution++) {
        coarse = all_of(path, RPS_SYSTEM_TREE, INT64_MIN, INT64_MAX, resolution);
        expect_equal(&coarse, &fine);
    }
    sound_repair(&findings, path, saved);
    assert_int_equal(fixture_number(saved, "SELECT total FROM signal WHERE name = 'wait'"),
                     fine.sum[RPS_TREE_WAIT]);
}

static void a_store_without_the_tables_has_no_readings(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_system_state can;
    struct rps_system_row total;
    struct rps_reader *reader;
    struct rps_error err;

    sound_store(path, 1, 20, 0);
    fixture_exec(path, "DROP VIEW signal_value; DROP TABLE signal; DROP TABLE reading;"
                       "DROP TABLE reading_rollup; PRAGMA user_version = 1003");
    assert_int_equal(all_of(path, RPS_SYSTEM_TREE, INT64_MIN, INT64_MAX, 0).rows, 0);
    reader = fixture_reader(path);
    assert_int_equal(rps_reader_system(reader, 1, RPS_SYSTEM_TREE, &can, &total, &err), 0);
    rps_reader_close(reader);
}

/* A gauge applies to the time since the previous reading. A reading over 0.9 s has nine times the
 * weight of a reading over 0.1 s, in blocks and in the total. */
static void a_gauge_is_weighed_by_time(void **state)
{
    static const char total[] = "SELECT total FROM signal WHERE name = 'threads'";
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    struct rps_system_reading reading = {
        RPS_SYSTEM_TREE, 0, 100000000, 100000, 1 << RPS_TREE_THREADS, {[RPS_TREE_THREADS] = 10}, 0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    const struct rps_system_state state_of = {RPS_SYSTEM_TREE, 1 << RPS_TREE_THREADS, {""}};
    struct findings findings;

    rps_writer_system_state(writer, &state_of);
    for (uint64_t n = 0; n < 10; n++) {
        struct rps_period period = sound_period(n);

        rps_writer_period(writer, &period);
        if (n == 0)
            rps_writer_system(writer, &reading);
    }
    reading = (struct rps_system_reading){RPS_SYSTEM_TREE,
                                          9,
                                          1000000000,
                                          900000,
                                          1 << RPS_TREE_THREADS,
                                          {[RPS_TREE_THREADS] = 110},
                                          0};
    rps_writer_system(writer, &reading);
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT min(s3) + max(s3) FROM reading_rollup"), 4 * 100);
    assert_int_equal(fixture_number(path, total), 2 * 100);
    fixture_exec(path, "UPDATE signal SET total = NULL, readings = NULL, lowest = NULL,"
                       " highest = NULL; DELETE FROM reading_rollup");
    sound_repair(&findings, path, saved);
    assert_int_equal(fixture_number(saved, total), 2 * 100);
}

/* A period has one row of readings, so a second reading, as at a pause, is not stored. */
static void a_period_has_one_reading(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_system_reading reading = {RPS_SYSTEM_TREE, 3, 400000000, 100000, 1, {7}, 0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    for (uint64_t n = 0; n < 4; n++) {
        struct rps_period period = sound_period(n);

        rps_writer_period(writer, &period);
    }
    rps_writer_system(writer, &reading);
    reading.value[0] = 9;
    rps_writer_system(writer, &reading);
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT sum(s0) FROM reading"), 7);
    assert_int_equal(fixture_number(path, "SELECT sum(s0) FROM reading_rollup WHERE level = 4"), 7);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_make_folder, fixture_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),
        TEST(a_part_is_the_same_at_every_resolution),
        TEST(downsampling_keeps_sums_and_extremes),
        TEST(blocks_are_downsampled_as_a_whole),
        TEST(values_are_seen_in_the_view),
        TEST(check_finds_what_was_changed),
        TEST(a_killed_run_is_sound_and_gets_totals),
        TEST(a_store_without_the_tables_has_no_readings),
        TEST(a_gauge_is_weighed_by_time),
        TEST(a_period_has_one_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
