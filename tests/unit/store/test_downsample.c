/* Tests of downsampling by age and by size. Sums stay exact at every resolution, rotations cut by a
 * gap are kept, table `thinned` is correct, and the store stays small. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/database.h"
#include "store/writer.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"

#define LENGTH_NS INT64_C(100000000)
#define MINUTE_NS (60 * INT64_C(1000000000))

/* SQL for all sums that downsampling must not change. */
#define SUMS                                                                                       \
    "SELECT group_concat(line, '|') FROM (SELECT printf('%d %d %d %d %d %d %d %d %d %d %d', cpu,"  \
    " set_no, sum(merged), sum(length_ns), sum(cycles), sum(enabled_ns), sum(running_ns),"         \
    " sum(switch_ns), sum(missed), sum(c0), sum(c1)) AS line FROM finest"                          \
    " GROUP BY cpu, set_no ORDER BY cpu, set_no)"

/* --- making runs ------------------------------------------------------------------------------ */

struct source {
    uint64_t number, cycle;
    int64_t start_ns;
};

/* Return the next period of a CPU. */
static struct rps_period next_period(struct source *source, int32_t cpu)
{
    struct rps_period period = fixture_period(source->number, 2);

    period.cpu = cpu;
    period.cycles = 70000000 + source->number % 7;
    source->cycle += period.cycles;
    period.cycle = source->cycle;
    period.start_ns = source->start_ns;
    period.length_ns = LENGTH_NS;
    period.missed = source->number % 5 == 0;
    source->start_ns += period.length_ns;
    source->number++;
    return period;
}

/* Hand over a period, when the writer has room for it. */
static void give(struct rps_writer *writer, const struct rps_period *period)
{
    rps_writer_period(writer, period);
    if (period->period % 1024 == 0)
        rps_writer_wait(writer);
}

/* --- what is left ----------------------------------------------------------------------------- */

struct sums {
    uint64_t periods, cycles, count[2], enabled_ns;
    int64_t length_ns;
};

/* Return the sums that a cursor of a given resolution reads. The sums are equal for all
 * resolutions. */
static struct sums sums_at(const char *path, int resolution)
{
    struct rps_reader *reader = NULL;
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    struct sums ret = {0};
    struct rps_error err;
    int got;

    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_cursor_open(&cursor, reader, 1, 0, INT64_MAX, resolution, &err), 0);
    while ((got = rps_cursor_next(cursor, &period, &err)) == 1) {
        ret.periods += rps_period_weight(&period);
        ret.cycles += period.cycles;
        ret.enabled_ns += period.enabled_ns;
        ret.length_ns += period.length_ns;
        for (int slot = 0; slot < 2; slot++)
            ret.count[slot] += period.count[slot];
    }
    assert_int_equal(got, 0);
    rps_cursor_close(cursor);
    rps_reader_close(reader);
    return ret;
}

static void expect_same(const char *path, const char *other)
{
    const struct sums sums = sums_at(path, 0);
    char text[1024];

    for (int resolution = 0; resolution <= RPS_LEVELS; resolution++) {
        struct sums again = sums_at(other, resolution);

        assert_memory_equal(&again, &sums, sizeof(sums));
    }
    snprintf(text, sizeof(text), "%s", fixture_text(path, SUMS));
    assert_string_equal(fixture_text(other, SUMS), text);
}

/* Expect that the rows of a level are deleted up to the position in `thinned`, and that blocks
 * replace them. */
static void expect_downsampled(const char *path)
{
    assert_int_equal(
        fixture_number(path,
                       "SELECT count(*) FROM rollup AS r JOIN thinned AS t USING (run_id, cpu,"
                       " level) WHERE r.period < t.before_period"),
        0);
    /* Remaining rows of level 0 before this position are in no block. */
    assert_int_equal(
        fixture_number(path, "SELECT count(*) FROM thinned AS t JOIN period AS p ON p.run_id ="
                             " t.run_id AND p.cpu = t.cpu WHERE t.level = 0 AND CASE WHEN p.period"
                             " < t.before_period THEN EXISTS (SELECT 1 FROM rollup AS r WHERE"
                             " r.run_id = p.run_id AND r.cpu = p.cpu AND r.set_no = p.set_no AND"
                             " p.period BETWEEN r.period AND r.last_period) END"),
        0);
    /* The position follows directly after a block of a coarser level. */
    assert_int_equal(
        fixture_number(path, "SELECT count(*) FROM thinned AS t WHERE NOT EXISTS (SELECT 1 FROM"
                             " rollup AS r WHERE r.run_id = t.run_id AND r.cpu = t.cpu AND r.level"
                             " > t.level AND r.last_period + 1 = t.before_period)"),
        0);
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
}

/* --- by age ----------------------------------------------------------------------------------- */

/* Record three CPUs, one of which goes away. Some gaps are in the middle of a rotation. */
static void record_with_gaps(const char *path, const struct rps_writer_options *options)
{
    struct source source[3] = {{0}};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, options, &run);

    for (uint64_t n = 0; n < 6000; n++) {
        for (int32_t cpu = 0; cpu < 3; cpu++) {
            struct rps_period period;

            if (cpu == 1 && n >= 2015)
                continue;
            if (n == 47 || n == 1000)
                source[cpu].start_ns += 50 * LENGTH_NS;
            period = next_period(&source[cpu], cpu);
            if (n != 501 + 2 * (uint64_t)cpu)
                give(writer, &period);
        }
    }
    fixture_end(writer, &run);
}

static void old_periods_are_downsampled(void **state)
{
    const struct rps_writer_options keep = {.keep_ns = MINUTE_NS / 4};
    const char *plain = fixture_path(state, "plain"), *thin = fixture_path(state, "thin");

    record_with_gaps(plain, NULL);
    record_with_gaps(thin, &keep);
    expect_same(plain, thin);
    expect_downsampled(thin);
    assert_int_equal(fixture_number(plain, "SELECT count(*) FROM thinned"), 0);
    assert_int_equal(fixture_number(thin, "SELECT count(*) FROM thinned WHERE level <= 1"), 6);
    /* The last 15 s of periods are complete, plus up to one block. Of the rest, only periods of
     * rotations cut by gaps are left. */
    assert_in_range(fixture_number(thin, "SELECT count(*) FROM period WHERE cpu = 0 AND start_ns >="
                                         " (SELECT max(start_ns) FROM period) - 18200000000"),
                    150, 182);
    assert_string_equal(fixture_text(thin,
                                     "SELECT group_concat(period, ' ') FROM (SELECT period FROM"
                                     " period WHERE cpu = 0 AND period < 5000 ORDER BY cycle)"),
                        "46 47 500");
    /* Older rows are coarser. */
    assert_int_equal(fixture_number(thin, "SELECT count(*) FROM (SELECT level, lag(level) OVER"
                                          " (PARTITION BY cpu ORDER BY period) AS b FROM finest"
                                          " WHERE period > 600) WHERE level > b"),
                     0);
    assert_true(fixture_number(thin, "SELECT count(*) FROM finest") < 1200);
}

/* While a workload sleeps, its cycle timestamps stop and its period numbers continue. */
static void sleep_is_downsampled(void **state)
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
    expect_downsampled(path);
    assert_in_range(fixture_number(path, "SELECT count(*) FROM period"), 600, 632);
    for (int resolution = 0; resolution <= RPS_LEVELS; resolution++)
        assert_int_equal(sums_at(path, resolution).periods, 4000);
}

/* --- by size ---------------------------------------------------------------------------------- */

static void the_store_stays_small(void **state)
{
    const struct rps_writer_options options = {.max_bytes = RPS_MAX_BYTES_MIN};
    const char *path = fixture_path(state, "s");
    struct rps_writer_status status;
    struct source source = {0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &options, &run);
    uint64_t most = 0;

    for (uint64_t n = 0; n < 120000; n++) {
        struct rps_period period = next_period(&source, RPS_CPU_ALL);

        give(writer, &period);
        if (n % 4 == 0)
            fixture_code(writer, n);
        if (n % 256 == 0) {
            rps_writer_status(writer, &status);
            most = status.size_bytes > most ? status.size_bytes : most;
        }
    }
    rps_writer_status(writer, &status);
    assert_int_equal(status.dropped, 0);
    fixture_end(writer, &run);
    assert_in_range(most, RPS_MAX_BYTES_MIN * 3 / 5, RPS_MAX_BYTES_MIN);
    expect_downsampled(path);
    for (int resolution = 0; resolution <= RPS_LEVELS; resolution++) {
        struct sums sums = sums_at(path, resolution);

        assert_int_equal(sums.periods, 120000);
        assert_int_equal(sums.length_ns, 120000 * LENGTH_NS);
        assert_int_equal(sums.cycles, source.cycle);
    }
    assert_true(fixture_number(path, "SELECT count(*) FROM period") > 5000);
    assert_int_equal(fixture_number(path, "SELECT sum(samples) FROM stack_count"),
                     FIXTURE_SAMPLES * (120000 / 4 - 1));
    print_message("# 120,000 periods in %.2f MiB at most, %lld of them whole\n",
                  (double)most / (1 << 20),
                  (long long)fixture_number(path, "SELECT count(*) FROM period"));
}

static void keep_notice(void *context, const char *sentence)
{
    snprintf(context, 512, "%s", sentence);
}

static void a_store_full_of_other_runs(void **state)
{
    const struct rps_writer_options small = {.max_bytes = RPS_MAX_BYTES_MIN};
    const char *path = fixture_path(state, "s");
    struct rps_plan *plan = fixture_plan();
    struct rps_writer *writer = NULL;
    struct source source = {0};
    struct rps_error err;
    struct rps_run run;

    writer = fixture_writer(path, NULL, &run);
    for (uint64_t n = 0; n < 45000; n++) {
        struct rps_period period = next_period(&source, RPS_CPU_ALL);

        give(writer, &period);
    }
    fixture_end(writer, &run);
    fixture_run(&run);
    assert_int_equal(rps_writer_open(&writer, path, &small, &err), 0);
    assert_int_equal(rps_writer_begin(writer, &run, plan, &err), RPS_FAILED);
    fixture_says(&err, path, "MiB of other runs", "below 4.0 MiB", NULL);
    rps_writer_close(writer);
    rps_run_free(&run);
    rps_plan_free(plan);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), 1);
}

/* Rotations cut by a gap are in no block. The writer reports that it cannot downsample further, and
 * keeps them all. */
static void what_cannot_be_downsampled(void **state)
{
    char sentence[512] = "";
    const struct rps_writer_options options = {
        .max_bytes = RPS_MAX_BYTES_MIN, .notice = keep_notice, .notice_context = sentence};
    const char *path = fixture_path(state, "s");
    struct source source = {0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &options, &run);

    for (uint64_t n = 0; n < 70000; n++) {
        struct rps_period period = next_period(&source, RPS_CPU_ALL);

        source.start_ns += n > 100 ? 2000 : 0;
        give(writer, &period);
    }
    fixture_end(writer, &run);
    assert_non_null(strstr(sentence, "cannot be kept below 4.0 MiB"));
    assert_in_range(fixture_number(path, "SELECT count(*) FROM period"), 70000 - 110, 70000);
    assert_int_equal(sums_at(path, 0).periods, 70000);
}

/* --- transactions ----------------------------------------------------------------------------- */

static int64_t most_rows;
static int transactions;

static int count_commit(void *context)
{
    sqlite3 *db = context;
    static int64_t before;
    int64_t rows = sqlite3_total_changes64(db) - before;

    before += rows;
    most_rows = rows > most_rows ? rows : most_rows;
    transactions++;
    return 0;
}

/* A large amount is downsampled in many small transactions, and a failed transaction is tried
 * again. */
static void small_transactions(void **state)
{
    const struct rps_downsample_options options = {.run_id = 1, .keep_ns = MINUTE_NS};
    const char *plain = fixture_path(state, "plain"), *path = fixture_path(state, "s");
    struct rps_downsample *downsample = NULL;
    sqlite3 *db = NULL, *other;
    int left = 1;

    for (int i = 0; i < 2; i++) {
        struct source source = {0};
        struct rps_run run;
        struct rps_writer *writer = fixture_writer(i ? path : plain, NULL, &run);

        for (uint64_t n = 0; n < 9000; n++) {
            struct rps_period period = next_period(&source, RPS_CPU_ALL);

            give(writer, &period);
        }
        fixture_end(writer, &run);
    }
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(rps_downsample_open(db, &options, &downsample), SQLITE_OK);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(rps_database_exec(other, "BEGIN IMMEDIATE"), SQLITE_OK);
    assert_int_equal(rps_downsample_work(downsample, 9000, 9000 * LENGTH_NS, 1, &left),
                     SQLITE_BUSY);
    assert_int_equal(rps_database_exec(other, "COMMIT"), SQLITE_OK);
    sqlite3_close(other);
    sqlite3_commit_hook(db, count_commit, db);
    for (left = 1; left;) {
        assert_int_equal(rps_downsample_work(downsample, 9000, 9000 * LENGTH_NS, 1, &left),
                         SQLITE_OK);
        expect_same(plain, path); /* The sums are equal at each moment. */
    }
    rps_downsample_close(downsample);
    sqlite3_close(db);
    expect_downsampled(path);
    assert_true(transactions >= 4);
    assert_in_range(most_rows, 1, 2000 + 2 * 16 + 1);
}

/* Downsampling of a copied store continues where it stopped, and does not repeat finished work. */
static void it_goes_on_where_it_was(void **state)
{
    const struct rps_writer_options keep = {.keep_ns = MINUTE_NS / 4};
    const struct rps_downsample_options options = {.run_id = 1, .keep_ns = MINUTE_NS / 4};
    const char *path = fixture_path(state, "s");
    int64_t end_ns, rows[3] = {0};
    sqlite3 *db = NULL;

    record_with_gaps(path, &keep);
    end_ns = fixture_number(path, "SELECT max(start_ns + length_ns) FROM period");
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (int i = 0; i < 3; i++) {
        struct rps_downsample *downsample = NULL;
        int64_t before = sqlite3_total_changes64(db);

        /* The first pass covers rows that became a block at the end of the run. The last pass
         * covers rows that are old enough a minute later. */
        end_ns += i == 2 ? MINUTE_NS : 0;
        assert_int_equal(rps_downsample_open(db, &options, &downsample), SQLITE_OK);
        for (int left = 1; left;)
            assert_int_equal(rps_downsample_work(downsample, 16000, end_ns, 1, &left), SQLITE_OK);
        rps_downsample_close(downsample);
        rows[i] = sqlite3_total_changes64(db) - before;
        expect_downsampled(path);
    }
    sqlite3_close(db);
    assert_int_equal(rows[1], 0);
    assert_true(rows[2] > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(old_periods_are_downsampled), TEST(sleep_is_downsampled),
        TEST(the_store_stays_small),       TEST(a_store_full_of_other_runs),
        TEST(what_cannot_be_downsampled),  TEST(small_transactions),
        TEST(it_goes_on_where_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
