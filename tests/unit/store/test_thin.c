/* Thinning: what is merged, that nothing is lost by it, and that the store stays small. */
#include "sound.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/database.h"
#include "store/thin.h"
#include "store/thin_rows.h"

#define MINUTE_NS (60 * INT64_C(1000000000))

/* Everything that thinning must leave as it is. */
#define SUMS                                                                                       \
    "SELECT group_concat(line, '|') FROM (SELECT printf('%d %d %d %d %d %d %d %d %d %d %d', cpu,"  \
    " set_no, sum(coalesce(merged, 1)), sum(length_ns), sum(cycles), sum(enabled_ns),"             \
    " sum(running_ns), sum(switch_ns), sum(missed), sum(c0), sum(c1)) AS line FROM period"         \
    " GROUP BY cpu, set_no ORDER BY cpu, set_no)"

/* --- making runs ------------------------------------------------------------------------------ */

struct source {
    uint64_t number, cycle;
    int64_t start_ns;
};

/* The next period of a track. */
static struct rps_period next_period(struct source *source, int32_t cpu)
{
    struct rps_period period = fixture_period(source->number, 2);

    period.cpu = cpu;
    period.cycles = 70000000 + source->number % 7;
    source->cycle += period.cycles;
    period.cycle = source->cycle;
    period.start_ns = source->start_ns;
    period.length_ns = SOUND_LENGTH_NS;
    period.missed = source->number % 5 == 0;
    source->start_ns += period.length_ns;
    source->number++;
    return period;
}

/* Hand over a period, when the writer has room for it. */
static void give(struct rps_writer *writer, const struct rps_period *period)
{
    struct rps_writer_status status;

    rps_writer_period(writer, period);
    if (period->period % 1024 != 0)
        return;
    do {
        rps_writer_status(writer, &status);
        sched_yield();
    } while (status.queued > 4096);
}

static void record(const char *path, const struct rps_writer_options *options, uint64_t periods)
{
    struct source source = {0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, options, &run);

    for (uint64_t n = 0; n < periods; n++) {
        struct rps_period period = next_period(&source, RPS_CPU_ALL);

        give(writer, &period);
    }
    fixture_end(writer, &run);
}

static void expect_sound(const char *path)
{
    struct findings findings;

    sound_check(&findings, path);
    if (findings.check.wrong != 0 || findings.check.odd != 0)
        fail_msg("%s", findings.text);
}

/* The same sums in both, and in both they are those of the run. */
static void expect_same_sums(const char *path, const char *other)
{
    char sums[1024];

    snprintf(sums, sizeof(sums), "%s", fixture_text(path, SUMS));
    assert_string_equal(fixture_text(other, SUMS), sums);
    snprintf(
        sums, sizeof(sums), "%s",
        fixture_text(path, "SELECT group_concat(periods || ' ' || enabled_ns) FROM event_set"));
    assert_string_equal(
        fixture_text(other, "SELECT group_concat(periods || ' ' || enabled_ns) FROM event_set"),
        sums);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void rows_that_follow(void **state)
{
    struct rps_period row[40], merged[2];
    struct rps_thin_run run = {0};
    struct source source = {0};
    uint64_t count = 0;

    (void)state;
    for (size_t i = 0; i < 40; i++) {
        row[i] = next_period(&source, 3);
        count += i % 2 == 1 ? row[i].count[1] : 0;
    }
    row[6].count[0] = 77; /* not counted: whatever stands there */
    row[6].counted = 2;
    assert_int_equal(rps_thin_run_find(row, 40, 2, 0, &run), 1);
    assert_int_equal(run.first, 0);
    assert_int_equal(run.count, 40);
    rps_thin_run_merge(row, &run, 2, merged);
    assert_int_equal(merged[1].count[1], count);
    assert_int_equal(merged[0].period, 0);
    assert_int_equal(merged[1].period, 1);
    assert_int_equal(merged[0].merged, 20);
    assert_int_equal(merged[1].cpu, 3);
    assert_int_equal(merged[0].start_ns, 0);
    assert_int_equal(merged[0].length_ns, 20 * SOUND_LENGTH_NS);
    assert_int_equal(merged[1].start_ns, 20 * SOUND_LENGTH_NS);
    assert_int_equal(merged[0].cycle, merged[0].cycles);
    assert_int_equal(merged[1].cycle, row[39].cycle);
    assert_int_equal(merged[0].counted, 3);
    assert_int_equal(rps_period_next(&merged[0], 2), 1);
    assert_int_equal(rps_period_next(&merged[1], 2), 40);
    count = 0;
    for (size_t i = 0; i < 40; i += 2)
        count += i == 6 ? 0 : row[i].count[0];
    assert_int_equal(merged[0].count[0], count);
}

/* Where rows do not follow, none are merged across; half a rotation is none. */
static void rows_that_do_not_follow(void **state)
{
    struct rps_period row[21];
    struct rps_thin_run run = {0};
    struct source source = {.number = 1};

    (void)state;
    for (size_t i = 0; i < 21; i++) {
        if (i == 8)
            source.start_ns++; /* before number 9: the second half of a rotation */
        if (i == 13)
            source.number += 2;
        row[i] = next_period(&source, RPS_CPU_ALL);
    }
    row[18].set_no = 0;
    assert_int_equal(rps_thin_run_find(row, 21, 2, 0, &run), 1);
    assert_int_equal(run.first, 1);
    assert_int_equal(run.count, 6);
    assert_int_equal(rps_thin_run_find(row, 21, 2, 7, &run), 1);
    assert_int_equal(run.first, 9); /* 9 ... 12 */
    assert_int_equal(run.count, 4);
    assert_int_equal(rps_thin_run_find(row, 21, 2, 13, &run), 1);
    assert_int_equal(run.first, 13);
    assert_int_equal(run.count, 4);
    assert_int_equal(rps_thin_run_find(row, 21, 2, 17, &run), 0);
    assert_int_equal(rps_thin_run_find(row, 3, 2, 0, &run), 0);
    assert_int_equal(rps_thin_run_find(row, 21, 22, 0, &run), 0);
}

/* --- by age ----------------------------------------------------------------------------------- */

static void old_periods_are_merged(void **state)
{
    const struct rps_writer_options keep = {.keep_ns = MINUTE_NS};
    const char *plain = fixture_path(state, "plain"), *thin = fixture_path(state, "thin");

    record(plain, NULL, 12000); /* 20 minutes */
    record(thin, &keep, 12000);
    expect_sound(thin);
    expect_same_sums(plain, thin);
    /* the last minute is whole, the nine before are ten to a row, the rest a hundred */
    assert_int_equal(fixture_number(thin, "SELECT count(*) FROM period WHERE merged IS NULL"), 600);
    assert_int_equal(fixture_number(thin, "SELECT max(merged) FROM period"), 100);
    assert_int_equal(fixture_number(thin, "SELECT count(*) FROM period WHERE merged = 100"),
                     2 * 30);
    assert_int_equal(fixture_number(thin, "SELECT count(*) FROM period WHERE merged = 10"),
                     2 * 270);
    assert_int_equal(fixture_number(thin, "SELECT sum(periods) FROM run_summary"), 12000);
    /* a mark each level, where its periods end */
    assert_string_equal(
        fixture_text(thin,
                     "SELECT group_concat((time_ns / 1000000000) || ' ' || text, '|') FROM mark"),
        "600 before this 100 to a row: periods older than 10 min 00 s are merged|"
        "1140 before this 10 to a row: periods older than 1 min 00 s are merged");
    assert_int_equal(fixture_number(thin, "SELECT max(start_ns + length_ns) = 600000000000"
                                          " FROM period WHERE merged = 100"),
                     1);
}

/* What a rate comes to over a merged rotation is what it came to over its rotations. */
static void rates_stay(void **state)
{
    const struct rps_writer_options keep = {.keep_ns = MINUTE_NS};
    const char *plain = fixture_path(state, "plain"), *thin = fixture_path(state, "thin");
    double value;

    record(plain, NULL, 2000);
    record(thin, &keep, 2000);
    value = fixture_real(plain, "SELECT 1.0 * sum(c1) * (SELECT sum(enabled_ns) FROM period WHERE"
                                " period < 20) / sum(running_ns) / 2 FROM period"
                                " WHERE period < 20 AND set_no = 0");
    assert_float_equal(fixture_real(thin, "SELECT value FROM rate WHERE run_id = 1 AND metric ="
                                          " 'b_rate' AND rotation = 0"),
                       value, value * 1e-9);
    assert_float_equal(fixture_real(thin, "SELECT length_s FROM rate WHERE run_id = 1 AND metric ="
                                          " 'b_rate' AND rotation = 0"),
                       2, 1e-9);
    assert_int_equal(fixture_number(thin, "SELECT min(rotation) FROM rate WHERE run_id = 1"
                                          " AND rotation > 0"),
                     10);
}

/* Nothing is merged across a gap, and what is on both sides of it is. */
static void gaps_stay(void **state)
{
    const struct rps_writer_options keep = {.keep_ns = MINUTE_NS};
    const char *path = fixture_path(state, "s");
    struct source source = {0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &keep, &run);

    for (uint64_t n = 0; n < 3000; n++) {
        struct rps_period period;

        if (n == 47 || n == 1000) {
            rps_writer_gap(writer, RPS_CPU_ALL, source.start_ns, 5000000000, "paused");
            source.start_ns += 5000000000;
        }
        period = next_period(&source, RPS_CPU_ALL);
        give(writer, &period);
    }
    fixture_end(writer, &run);
    expect_sound(path);
    /* 40 ... 45 and 48 ... 59 by themselves; 46 and 47 are halves of a rotation */
    assert_string_equal(
        fixture_text(path, "SELECT group_concat(period || ':' || coalesce(merged, 1), ' ') FROM"
                           " (SELECT * FROM period WHERE period BETWEEN 20 AND 79 ORDER BY cycle)"),
        "20:10 21:10 40:3 41:3 46:1 47:1 48:6 49:6 60:10 61:10");
    assert_int_equal(fixture_number(path, "SELECT sum(coalesce(merged, 1)) FROM period"), 3000);
}

/* A CPU that goes away: the tracks are merged alike, and what is not alike stays. */
static void cpus_are_merged_alike(void **state)
{
    const struct rps_writer_options keep = {.keep_ns = MINUTE_NS};
    const char *path[2] = {fixture_path(state, "plain"), fixture_path(state, "thin")};

    for (int i = 0; i < 2; i++) {
        struct source source[3] = {{0}};
        struct rps_run run;
        struct rps_writer *writer = fixture_writer(path[i], i ? &keep : NULL, &run);

        for (uint64_t n = 0; n < 3000; n++) {
            for (int cpu = 0; cpu < 3; cpu++) {
                struct rps_period period;

                if (cpu == 1 && n >= 1009)
                    continue;
                period = next_period(&source[cpu], cpu);
                give(writer, &period);
            }
        }
        rps_writer_gap(writer, 1, 1009 * SOUND_LENGTH_NS, (3000 - 1009) * SOUND_LENGTH_NS,
                       "the CPU was offline");
        fixture_end(writer, &run);
    }
    expect_sound(path[1]);
    expect_same_sums(path[0], path[1]);
    assert_int_equal(fixture_number(path[1], "SELECT count(*) FROM period WHERE period / 20 = 50"
                                             " AND merged IS NOT NULL"),
                     0);
    assert_int_equal(fixture_number(path[1], "SELECT count(*) FROM period WHERE period / 20 = 49"
                                             " AND merged = 10"),
                     6);
    assert_int_equal(fixture_number(path[1], "SELECT count(*) FROM period WHERE period / 20 = 51"
                                             " AND merged = 10"),
                     4);
}

/* A workload that sleeps: the cycle timestamps stand still, the numbers go on. */
static void sleep_is_merged(void **state)
{
    const struct rps_writer_options keep = {.keep_ns = MINUTE_NS};
    const char *path = fixture_path(state, "s");
    struct source source = {0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &keep, &run);

    for (uint64_t n = 0; n < 4000; n++) {
        struct rps_period period = next_period(&source, RPS_CPU_ALL);

        source.cycle -= period.cycles;
        period.cycles = 0;
        period.cycle = source.cycle;
        period.enabled_ns = period.running_ns = 0;
        memset(period.count, 0, sizeof(period.count));
        give(writer, &period);
    }
    fixture_end(writer, &run);
    expect_sound(path);
    assert_in_range(fixture_number(path, "SELECT count(*) FROM period"), 620, 1000);
    assert_int_equal(fixture_number(path, "SELECT sum(coalesce(merged, 1)) FROM period"), 4000);
}

/* --- by size ---------------------------------------------------------------------------------- */

static void the_store_stays_small(void **state)
{
    const struct rps_writer_options options = {.max_bytes = RPS_MAX_BYTES_LEAST};
    const char *path = fixture_path(state, "s");
    struct rps_writer_status status;
    struct source source = {0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &options, &run);
    uint64_t most = 0;

    for (uint64_t n = 0; n < 250000; n++) {
        struct rps_period period = next_period(&source, RPS_CPU_ALL);

        give(writer, &period);
        if (n % 256 == 0) {
            rps_writer_status(writer, &status);
            most = status.size_bytes > most ? status.size_bytes : most;
        }
    }
    rps_writer_status(writer, &status);
    assert_int_equal(status.dropped, 0);
    fixture_end(writer, &run);
    assert_in_range(most, RPS_MAX_BYTES_LEAST * 3 / 5, RPS_MAX_BYTES_LEAST);
    expect_sound(path);
    assert_int_equal(fixture_number(path, "SELECT sum(coalesce(merged, 1)) FROM period"), 250000);
    assert_int_equal(fixture_number(path, "SELECT sum(length_ns) FROM period"),
                     250000 * SOUND_LENGTH_NS);
    /* the older, the coarser, and the most of the room is used */
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM (SELECT coalesce(merged, 1) AS m,"
                                          " lag(merged) OVER (ORDER BY cycle) AS b FROM period)"
                                          " WHERE m > b"),
                     0);
    assert_true(fixture_number(path, "SELECT count(*) FROM period WHERE merged IS NULL") > 10000);
}

static void keep_notice(void *context, const char *sentence)
{
    snprintf(context, 512, "%s", sentence);
}

static void a_store_full_of_other_runs(void **state)
{
    const struct rps_writer_options small = {.max_bytes = RPS_MAX_BYTES_LEAST};
    const char *path = fixture_path(state, "s");
    struct rps_plan *plan = fixture_plan();
    struct rps_writer *writer = NULL;
    struct rps_error err;
    struct rps_run run;

    record(path, NULL, 45000);
    fixture_run(&run);
    assert_int_equal(rps_writer_open(&writer, path, &small, &err), 0);
    assert_int_equal(rps_writer_begin(writer, &run, plan, &err), RPS_FAILED);
    fixture_says(&err, path, "MiB of other runs", "below 4.0 MiB", NULL);
    rps_writer_close(writer);
    rps_run_free(&run);
    rps_plan_free(plan);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), 1);
}

/* Periods that each come after a gap cannot be merged: that is said, and all are kept. */
static void what_cannot_be_merged(void **state)
{
    char sentence[512] = "";
    const struct rps_writer_options options = {
        .max_bytes = RPS_MAX_BYTES_LEAST, .notice = keep_notice, .notice_context = sentence};
    const char *path = fixture_path(state, "s");
    struct source source = {0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &options, &run);

    for (uint64_t n = 0; n < 70000; n++) {
        struct rps_period period = next_period(&source, RPS_CPU_ALL);

        source.start_ns++;
        give(writer, &period);
    }
    fixture_end(writer, &run);
    assert_non_null(strstr(sentence, "cannot be kept below 4.0 MiB"));
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period"), 70000);
}

/* --- what others make of it ------------------------------------------------------------------- */

static void a_repair_keeps_it(void **state)
{
    const struct rps_writer_options keep = {.keep_ns = MINUTE_NS};
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "new");
    struct findings findings;

    record(path, &keep, 3000);
    fixture_exec(path, "PRAGMA journal_mode = DELETE");
    sound_repair(&findings, path, saved);
    expect_sound(saved);
    expect_same_sums(path, saved);
    assert_int_equal(findings.repair.dropped, 0);
    assert_int_equal(findings.repair.lost_stretches, 0);
    assert_int_equal(fixture_number(saved, "SELECT count(*) FROM period WHERE merged = 10") > 0, 1);
}

/* CPUs of a damaged page that do not rise, or are none: thinning ends, and begins again. */
static void cpus_that_do_not_rise(void **state)
{
    static const char *const cpu[] = {"'x'", "4.5", "4294967296", "x'00'"};
    const struct rps_thin_options options = {.run_id = 1, .set_count = 2, .keep_ns = MINUTE_NS};
    struct rps_thin *thin = NULL;
    sqlite3 *db = NULL;
    char sql[256];
    int left;

    (void)state;
    for (size_t i = 0; i < sizeof(cpu) / sizeof(cpu[0]); i++) {
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        assert_int_equal(rps_database_migrate(db, RPS_STORE_VERSION), SQLITE_OK);
        assert_int_equal(
            rps_database_exec(db, "DROP TABLE period; CREATE TABLE period (run_id, cpu, cycle,"
                                  " period, set_no, start_ns, length_ns, cycles, enabled_ns,"
                                  " running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7,"
                                  " merged, PRIMARY KEY (run_id, cpu, cycle, period))"
                                  " WITHOUT ROWID"),
            SQLITE_OK);
        snprintf(sql, sizeof(sql),
                 "INSERT INTO period (run_id, cpu, cycle, period) VALUES (1, 4, 1, 0), (1, %s, 1,"
                 " 0)",
                 cpu[i]);
        assert_int_equal(rps_database_exec(db, sql), SQLITE_OK);
        assert_int_equal(rps_thin_open(db, &options, &thin), SQLITE_OK);
        for (int n = 0; n < 2; n++)
            assert_int_equal(rps_thin_work(thin, 1, 2 * MINUTE_NS, INT64_MAX, 1, &left), SQLITE_OK);
        assert_int_equal(left, 0);
        rps_thin_close(thin);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
}

/* A period that is missing, or one too many, is found among merged ones too. */
static void damage_is_found(void **state)
{
    static const struct {
        const char *sql, *says;
    } damages[] = {
        {"UPDATE period SET merged = 9 WHERE period IN (40, 41)", "out of order"},
        {"UPDATE period SET merged = 11 WHERE period = 40", "out of order"},
        {"UPDATE period SET merged = NULL WHERE period = 41", "out of order"},
        {"DELETE FROM period WHERE period IN (40, 41)", "1 stretch is missing"},
        {"UPDATE period SET set_no = 0 WHERE period = 41", "out of order"},
        {"UPDATE period SET c0 = c0 + 1 WHERE period = 40", "the total count of event 0 of set 0"},
        {"UPDATE period SET cycles = cycles + 1 WHERE period = 40", "not the sum of all cycles"},
    };
    const struct rps_writer_options keep = {.keep_ns = MINUTE_NS};
    const char *path = fixture_path(state, "s");
    struct findings findings;
    unsigned char *sound;
    size_t size;

    record(path, &keep, 3000);
    fixture_exec(path, "PRAGMA journal_mode = DELETE");
    sound = sound_read(path, &size);
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        sound_write(path, sound, size);
        fixture_exec(path, damages[i].sql);
        sound_check(&findings, path);
        if (!strstr(findings.text, damages[i].says))
            fail_msg("%s: %s", damages[i].sql, findings.text);
    }
    free(sound);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_follow),
        cmocka_unit_test(rows_that_do_not_follow),
        TEST(old_periods_are_merged),
        TEST(rates_stay),
        TEST(gaps_stay),
        TEST(cpus_are_merged_alike),
        TEST(sleep_is_merged),
        TEST(the_store_stays_small),
        TEST(a_store_full_of_other_runs),
        TEST(what_cannot_be_merged),
        TEST(a_repair_keeps_it),
        TEST(cpus_that_do_not_rise),
        TEST(damage_is_found),
    };

    return cmocka_run_group_tests_name("thin", tests, NULL, NULL);
}
