/* Every kind of damage in a store is reported, and nothing else. A repair removes the damage. */
#include "sound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERIODS 12

/* Of each table of damages, every `step`th entry from number `first` on is tested. */
static size_t first, step = 1;

static void expect_text(const struct findings *findings, const char *text)
{
    if (!strstr(findings->text, text))
        fail_msg("\"%s\" is not in:\n%s", text, findings->text);
}

static void a_sound_store(void **state)
{
    const char *path = fixture_path(state, "s");
    struct findings findings;

    sound_store(path, 2, PERIODS, 0);
    sound_check(&findings, path);
    assert_string_equal(findings.text, "");
    assert_int_equal(findings.check.wrong, 0);
    assert_int_equal(findings.check.runs, 2);
    assert_int_equal(findings.check.periods, 2 * PERIODS);
}

/* Time without periods is valid if gap rows cover it completely. A gap row is for one CPU or for
 * all CPUs. */
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
    assert_int_equal(findings.check.periods, PERIODS - 4); /* periods of CPU 0, which has the
                                                              most */
    fixture_exec(path, "DELETE FROM gap WHERE reason = 'three'");
    sound_check(&findings, path);
    expect_text(&findings,
                "wrong: run 1, CPU 1: 1 time range is missing, and no row of gap says why "
                "(first: before period 7, at 0.500 s; 0.200 s in all)\n");
    assert_int_equal(findings.check.wrong, 1);
    fixture_exec(path, "DELETE FROM gap WHERE reason = 'offline'");
    sound_check(&findings, path);
    expect_text(&findings, "2 time ranges are missing");
}

/* SQL for a detection of run 1 and its phases: run_id, detection, level, phase, periods, label. */
#define DETECTION(shown) "INSERT INTO detection VALUES (1, 0, 'm', '{}', " #shown ", NULL);"
#define PHASES                                                                                     \
    "INSERT INTO phase (run_id, detection, level, phase, first_period, last_period, label) "       \
    "VALUES "

/* SQL that rewrites the stacks of the run as rows of one stack each, or as long paths. */
#define ROWS                                                                                       \
    "CREATE TEMP TABLE s AS SELECT * FROM stack_frame; DELETE FROM stack;"                         \
    "INSERT INTO stack SELECT *, NULL FROM s;"
#define PATHS                                                                                      \
    "DELETE FROM stack; INSERT INTO stack VALUES (1, 0, NULL, 0, 'PPPPPPP'),"                      \
    " (1, 8, NULL, 8, 'PPP');"

/* A change to the store, and the expected report. */
struct damage {
    const char *sql, *says;
};

static const struct damage damages[] = {
    {"DELETE FROM period WHERE period BETWEEN 3 AND 5",
     "wrong: run 1: 1 time range is missing, and no row of gap says why (first: before period 6, "
     "at "
     "0.300 s; 0.300 s in all)\n"},
    {"DELETE FROM period WHERE period IN (0, 4, 11)", "run 1: 3 time ranges are missing"},
    {"DELETE FROM period",
     "run 1: 1 time range is missing, and no row of gap says why (first: before "
     "period 0, at 0.000 s; 1.200 s in all)\n"},
    {"UPDATE period SET cycle = cycle + 5 WHERE period = 4",
     "run 1: 2 periods with a cycle timestamp that is not the sum"},
    {"UPDATE period SET cycles = 3 WHERE period = 4",
     "run 1: 1 period with a cycle timestamp that is not the sum of all cycles so far (first: in "
     "period 4, at 0.400 s)"},
    {"UPDATE period SET cycle = 1 WHERE period = 7", "out of order"},
    {"UPDATE period SET period = 17 WHERE period = 4", "out of order"},
    {"UPDATE period SET start_ns = start_ns - 50000000 WHERE period = 4",
     "run 1: 1 period beginning before the previous period has ended (first: in period 4, at 0.350 "
     "s)"},
    {"UPDATE period SET length_ns = 900000000 WHERE period = 4",
     "before the previous period has ended"},
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
    {"DELETE FROM event WHERE set_no = 1", "the events of run 1 are invalid"},
    {"DELETE FROM run", "table period has rows of 1 run that is not in the store, run 1 the first"},
    {"UPDATE gap SET run_id = 1; INSERT INTO gap VALUES (1, -5, 0, -1, 5, 'x')",
     "run 1: gap rows with times that make no sense: 1\n"},
#ifdef RPS_HAS_CODE
    {ROWS "DELETE FROM stack WHERE stack = 11",
     "run 1: counts of stacks and tasks that do not exist: 1\n"},
    {"DELETE FROM task", "run 1: rows of code_count that cannot be read, or count stacks or tasks "
                         "that do not exist: 12\n"},
    {"DELETE FROM task WHERE task = 0; INSERT INTO task VALUES (1, 99, 1, 1, '', 0, NULL, NULL, "
     "NULL, NULL)",
     "run 1: counts of stacks and tasks that do not exist: "},
    {ROWS "DELETE FROM stack WHERE stack = 10",
     "run 1: stacks whose caller is not a previous stack: 1\n"},
    {ROWS "UPDATE stack SET parent = stack WHERE stack = 2", "caller is not a previous stack: 1\n"},
    {PATHS "UPDATE stack SET calls = 'PPP ' WHERE stack = 8",
     "run 1: rows of stack that cannot be read, or overlap: 1\n"},
    {PATHS "UPDATE stack SET calls = calls || 'N' WHERE stack = 0",
     "run 1: rows of stack that cannot be read, or overlap: 1\n"},
    {PATHS "UPDATE stack SET calls = 'PP\"N' WHERE stack = 8",
     "run 1: stacks of frames that do not exist: 1\n"},
    {"DELETE FROM frame WHERE frame = 2", "run 1: stacks of frames that do not exist: 1\n"},
    {"DELETE FROM module WHERE module = 0", "run 1: frames of modules that do not exist: 7\n"},
    {"UPDATE module SET module = -7 WHERE module = 0",
     "run 1: modules, frames, stacks, tasks, programs and control groups with numbers that no "
     "recorder writes: 1\n"},
    {"DELETE FROM cgroup", "run 1: tasks in control groups that do not exist: 1\n"},
    {"UPDATE cgroup SET cgroup = 2000000",
     "control groups with numbers that no recorder writes: 1\n"},
    {"INSERT INTO location VALUES (1, 99, 0, 'f', '', 0, 'debug', NULL)",
     "run 1: names of frames that do not exist: 1\n"},
    {"INSERT INTO location VALUES (1, 3, 0, '', '', 0, 'debug', 2)",
     "run 1: names of frames that do not exist: 1\n"},
    {"UPDATE code_count SET period = 99 WHERE period = 3",
     "run 1: counts of samples that are not inside the run: 1\n"},
    {"UPDATE code_count SET level = 1 WHERE period = 3",
     "run 1: counts of samples in blocks that do not exist: 1\n"},
    {"UPDATE code_count SET stacks = '!' WHERE period = 3",
     "run 1: rows of code_count that cannot be read, or count stacks or tasks that do not exist: "
     "1\n"},
    {"DELETE FROM code_count WHERE period = 3",
     "run 1: samples by which its counts of stacks or tasks differ from their total number: 3\n"},
#endif
    {DETECTION(0) PHASES "(1, 0, 0, 0, 0, 99, 'A')",
     "run 1: phases that are not inside the run: 1\n"},
    {DETECTION(0) PHASES "(1, 0, 0, 0, 0, 5, 'A'), (1, 0, 0, 1, 5, 7, 'B')",
     "run 1 are invalid (phases do not follow one another); find them again with `rpistat phases`"},
    {DETECTION(0) PHASES "(1, 0, 0, 0, 0, 5, 'A'), (1, 0, 0, 2, 6, 7, 'B')",
     "run 1 are invalid (a phase is missing)"},
    {DETECTION(0) PHASES "(1, 0, 0, 0, 0, 5, 'B')", "run 1 are invalid (a label is none)"},
    {DETECTION(0) PHASES "(1, 0, 1, 0, 0, 5, 'A')", "run 1 are invalid (a level is missing)"},
    {DETECTION(0) PHASES "(1, 0, 0, 0, 0, 5, 'A'), (1, 0, 2, 0, 0, 5, 'A')",
     "run 1 are invalid (a level is missing)"},
    {DETECTION(1) PHASES "(1, 0, 0, 0, 0, 5, 'A')",
     "run 1 are invalid (the level to show is missing)"},
    {DETECTION(-1) PHASES "(1, 0, 0, 0, 0, 5, 'A')",
     "run 1 are invalid (the level to show is missing)"},
    {DETECTION(0), "run 1 are invalid (the level to show is missing)"},
    {DETECTION(0) PHASES "(1, 0, 0, 0, 0, 5, 'A'), (1, 0, 1, 0, 0, 4, 'A')",
     "run 1 are invalid (a level does not begin or end where the other levels do)"},
    {DETECTION(0) PHASES "(1, 0, 0, 0, 0, 5, 'A'), (1, 0, 1, 0, 1, 5, 'A')",
     "run 1 are invalid (a level does not begin or end where the other levels do)"},
    {PHASES "(1, 0, 0, 0, 0, 5, 'A')",
     "run 1: phases and outliers that belong to no detection: 1\n"},
    {"INSERT INTO outlier (run_id, detection, period) VALUES (1, 0, 5)",
     "run 1: phases and outliers that belong to no detection: 1\n"},
    {"INSERT INTO outlier (run_id, detection, period) VALUES (1, 0, 99)",
     "run 1: outliers that are not inside the run: 1\n"},
    {"INSERT INTO detection VALUES (7, 0, 'm', '{}', 0, NULL)",
     "table detection has rows of 1 run that is not in the store, run 7 the first"},
    {"UPDATE period SET rotation = 0 WHERE period = 4",
     "run 1: 2 periods with a lower rotation number than the period before, or with a set twice in "
     "one rotation (first: "
     "in period 4,"},
    {"UPDATE period SET set_no = 1, c1 = NULL WHERE period = 4",
     "a set twice in one rotation (first: in period 5,"},
    {"UPDATE period SET rotation = rotation + 100 WHERE period >= 4",
     "run 1: 1 period with a lower rotation number"},
    {"UPDATE period SET switch_ns = 300000000 WHERE period = 4",
     "run 1: 1 period with a switch of event sets that ends after the next period (first: in "
     "period 4, at 0.400 s; by up to 100.000 ms)"},
    {"UPDATE period SET switch_ns = 3000000000 WHERE period = 11", "by up to 1900.000 ms"},
    {"UPDATE period SET idle_ns = enabled_ns + 1 WHERE period = 4",
     "run 1: 1 period with a number that no recorder writes (first: in period 4, at 0.400 s, with "
     "idle_ns 99999501)"},
    {"UPDATE period SET idle_ns = -1 WHERE period = 4", "with idle_ns -1)"},
    {"UPDATE event SET count = 7 WHERE set_no = -1",
     "run 1: the total count of the clock event is 7, but the periods come to 840000031"},
    {"DELETE FROM rollup WHERE level = 1 AND set_no = 1",
     "run 1: blocks with rows that do not belong together: 1\n"},
    {"UPDATE rollup SET merged = 5 WHERE level = 1", "blocks with rows that do not belong"},
    {"UPDATE rollup SET set_no = 0 WHERE level = 2", "blocks with rows that do not belong"},
    {"UPDATE rollup SET rotation = 12 WHERE level = 1", /* rotations 12 to 17 belong to two cells */
     "blocks with rows that do not belong"},
    {"UPDATE rollup SET last_period = last_period + 4 WHERE level = 3", "blocks with rows that"},
    {"UPDATE rollup SET cycles = 9223372036854775807 WHERE level = 1", "not the sum of the finer"},
    {"UPDATE event_set SET periods = 9223372036854775807", "event set 1 is 9223372036854775807"},
    {"UPDATE rollup SET missed = -3 WHERE level = 4", "blocks with rows that do not belong"},
    {"INSERT INTO rollup (run_id, level, cpu, period, last_period, rotation, merged, set_no,"
     " start_ns, end_ns, length_ns, cycle, cycles, clock_running_ns, idle_ns, enabled_ns,"
     " running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7)"
     " SELECT run_id, level, cpu, period + 2, last_period, rotation + 1, 5,"
     " set_no, start_ns, end_ns, length_ns, cycle, cycles, clock_running_ns, idle_ns, enabled_ns,"
     " running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7 FROM rollup WHERE level = 1",
     "run 1: blocks of level 1 do not match the finer rows: 2 additional rows\n"},
    {"UPDATE rollup SET c0 = NULL WHERE level = 4 AND set_no = 0",
     "(first: at period 0, by its c0)"},
    {"INSERT INTO thinned VALUES (1, -1, 0, 5)",
     "rows of blocks with the end of table thinned inside"},
    {"INSERT INTO thinned VALUES (1, -1, 0, 12)", "run 1: 1 period out of order"},
    {"INSERT INTO thinned VALUES (1, -1, 1, 12)",
     "run 1: rows of thinned that delete more than the rows of the finer levels do: 1\n"},
    {"INSERT INTO thinned VALUES (1, -1, 7, 0)", "rows of thinned that delete more"},
    {"INSERT INTO thinned VALUES (7, -1, 0, 0)", "table thinned has rows of 1 run that is not in"},
    {"INSERT INTO rollup (run_id, level, cpu, period, last_period, rotation, merged, set_no,"
     " start_ns, end_ns, length_ns, cycle, cycles, clock_running_ns, idle_ns, enabled_ns,"
     " running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7)"
     " SELECT 7, level, cpu, period, last_period, rotation, merged, set_no,"
     " start_ns, end_ns, length_ns, cycle, cycles, clock_running_ns, idle_ns, enabled_ns,"
     " running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7 FROM rollup;"
     "UPDATE event SET run_id = 7 WHERE name = 'd'",
     "table rollup has rows of 1 run that is not in"},
    {"INSERT INTO gap VALUES (7, 5, 0, -1, 0, 'x')", "table gap has rows of 1 run that is not"},
    {"UPDATE metric_step SET number = 99 WHERE metric = 'nested' AND op = 'number'",
     "run 1: the steps of metric nested are not those of its formula"},
    {"UPDATE metric_step SET op = '*' WHERE op = '/'", "the steps of metric a_per_clock are not"},
    {"UPDATE metric_step SET slot = 1 WHERE metric = 'c_share' AND operand = 'c'",
     "metric c_share"},
    {"UPDATE metric_step SET operand = 'clock' WHERE operand = 'seconds'", "metric b_rate"},
    {"DELETE FROM metric_step WHERE metric = 'by_zero' AND step = 4", "metric by_zero"},
    {"INSERT INTO metric_step VALUES (1, 'by_zero', 5, '+', NULL, NULL, NULL, NULL)",
     "metric by_zero"},
    {"UPDATE metric SET step_count = 2 WHERE name = 'b_rate'", "metric b_rate"},
    {"PRAGMA ignore_check_constraints = ON; UPDATE event SET slot = 9 WHERE name = 'd'",
     "table event has 1 row that is not as it must be: CHECK (slot BETWEEN 0 AND 7)"},
    {"PRAGMA ignore_check_constraints = ON; UPDATE event SET state = 'sometimes'",
     "table event has 5 rows that are not as it must be: CHECK (state IN ('measured',"},
    {"PRAGMA ignore_check_constraints = ON; UPDATE run SET state = 'asleep'",
     "table run has 1 row that is not as it must be: CHECK (state IN ("},
    {"PRAGMA ignore_check_constraints = ON; UPDATE run SET set_count = 0", "CHECK (set_count > 0)"},
    {"PRAGMA ignore_check_constraints = ON; UPDATE metric_step SET op = '^' WHERE op = '/'",
     "table metric_step has 5 rows that are not as it must be: CHECK (op IN"},
    {"PRAGMA ignore_check_constraints = ON; UPDATE rollup SET level = 5 WHERE level = 4",
     "table rollup has 2 rows that are not as it must be: CHECK (level BETWEEN 1 AND 4)"},
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

    sound_store(path, 1, PERIODS, 0);
    sound = sound_read(path, &sound_size);
    for (size_t i = first; i < sizeof(damages) / sizeof(damages[0]); i += step) {
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

/* Each number of a block is compared with the sum of its rows. */
static void blocks_are_sums(void **state)
{
    static const char *const column[] = {
        "start_ns", "end_ns",     "length_ns",  "cycle",     "cycles", "clock_running_ns",
        "idle_ns",  "enabled_ns", "running_ns", "switch_ns", "missed", "c0",
    };
    const char *path = fixture_path(state, "s");
    struct findings findings;
    char sql[128], says[128];
    unsigned char *sound;
    size_t size;

    sound_store(path, 1, PERIODS, 0);
    sound = sound_read(path, &size);
    for (int level = 1; level <= RPS_LEVELS; level++) {
        for (size_t i = first; i < sizeof(column) / sizeof(column[0]); i += step) {
            sound_write(path, sound, size);
            snprintf(sql, sizeof(sql),
                     "UPDATE rollup SET %s = %s + 1 WHERE level = %d AND set_no = 0", column[i],
                     column[i], level);
            fixture_exec(path, sql);
            sound_check(&findings, path);
            snprintf(says, sizeof(says),
                     "are not the sum of the finer rows: 1 (first: at period 0,"
                     " by its %s)",
                     column[i]);
            expect_text(&findings, says);
        }
    }
    free(sound);
}

/* Damages of a downsampled store, whose blocks are the finest rows left. */
static const struct damage downsampled_damages[] = {
    {"DELETE FROM thinned", "run 1: 1 time range is missing"},
    {"DELETE FROM thinned WHERE level = 0", "rows of thinned that delete more"},
    {"UPDATE thinned SET before_period = before_period - 32 WHERE level = 0", "is missing"},
    {"UPDATE thinned SET before_period = before_period + 2 WHERE level = 0",
     "rows of blocks with the end of table thinned inside: 2\n"},
    {"DELETE FROM rollup WHERE level = 1 AND rotation = (SELECT min(rotation) FROM rollup"
     " WHERE level = 1)",
     "run 1: 1 time range is missing"},
    {"DELETE FROM rollup WHERE set_no = 1 AND level = 1 AND rotation = (SELECT min(rotation)"
     " FROM rollup WHERE level = 1)",
     "run 1: blocks with rows that do not belong together: 1\n"},
    {"UPDATE rollup SET merged = 1 << 62, cycles = 1 << 62, switch_ns = 1 << 62 WHERE level = 1"
     /* The sums exceed 64 bits. */
     " AND rotation = (SELECT min(rotation) FROM rollup WHERE level = 1)",
     "run 1: blocks with rows that do not belong together: 1\n"},
    {"UPDATE rollup SET cycles = cycles + 1 WHERE level = 2 AND rotation = 0",
     "with a cycle timestamp that is not the sum"},
    {"UPDATE rollup SET c0 = c0 + 1 WHERE level = 2 AND rotation = 0 AND set_no = 0",
     "run 1: the total count of event 0 of set 0 is"},
    {"INSERT INTO rollup (run_id, level, cpu, period, last_period, rotation, merged, set_no,"
     " start_ns, end_ns, length_ns, cycle, cycles, clock_running_ns, idle_ns, enabled_ns,"
     " running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7)"
     " SELECT run_id, 1, cpu, period, last_period, rotation, merged, set_no,"
     " start_ns, end_ns, length_ns, cycle, cycles, clock_running_ns, idle_ns, enabled_ns,"
     " running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7 FROM rollup WHERE level = 2"
     " AND rotation = 0",
     "run 1: rows of rollup that exist, although thinned says that they were deleted: 2\n"},
};

static void downsampled_stores(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "new");
    struct findings findings;
    unsigned char *sound;
    size_t size;

    sound_store(path, 1, 2000, 60 * SOUND_LENGTH_NS);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM thinned"), 2);
    sound = sound_read(path, &size);
    sound_check(&findings, path);
    assert_string_equal(findings.text, "");
    assert_int_equal(findings.check.periods, 2000);
    for (size_t i = first; i < sizeof(downsampled_damages) / sizeof(downsampled_damages[0]);
         i += step) {
        sound_write(path, sound, size);
        fixture_exec(path, downsampled_damages[i].sql);
        sound_check(&findings, path);
        expect_text(&findings, downsampled_damages[i].says);
        sound_repair(&findings, path, saved);
    }
    free(sound);
}

/* Damages that are only warnings. */
#define SUM(column)                                                                                \
    "UPDATE rollup SET " #column " = (SELECT sum(" #column ") FROM period AS p"                    \
    " WHERE p.set_no = rollup.set_no), c0_steps = NULL, c1_steps = NULL;"
static const struct damage oddities[] = {
    {"DELETE FROM rollup", "odd: run 1: rows of blocks of level 1 are missing, and finer rows are "
                           "read instead: 2 (first: at period 0)"},
    {"DELETE FROM rollup WHERE level = 2", "odd: run 1: rows of blocks of level 2 are missing"},
    {"INSERT INTO heartbeat VALUES (1, 0, '', 1)",
     "odd: run 1: it has ended, but still has a heartbeat"},
    {"UPDATE period SET clock_running_ns = 3 * enabled_ns WHERE period = 2;" SUM(clock_running_ns),
     "odd: run 1: 1 period with more time on the counters than the workload ran (first: in period "
     "2, at 0.200 s; by up to 199.999 ms)"},
    {"UPDATE period SET running_ns = 3 * enabled_ns WHERE period = 2;" SUM(
         running_ns) "UPDATE event_set SET running_ns = (SELECT sum(running_ns) FROM period AS p"
                     " WHERE p.set_no = event_set.set_no)",
     "odd: run 1: 1 period with more time on the counters than the workload ran (first: in period "
     "2, at 0.200 s; by up to 199.999 ms)"},
    /* The missing count ends a block. */
    {"UPDATE period SET c0 = NULL WHERE period = 2; DELETE FROM rollup;"
     "UPDATE event SET count = (SELECT sum(c0) FROM period WHERE set_no = 0) WHERE name = 'a'",
     "odd: run 1: 1 period without a count of an event that was on the counters, as recorded: the "
     "recorder could not read it (first: in period 2, at 0.200 s)"},
    {"UPDATE run SET state = 'recording', elapsed_ns = NULL;"
     "UPDATE event_set SET periods = NULL; UPDATE event SET count = NULL",
     "odd: run 1: its recorder was killed, or its disk was full"},
    {"INSERT INTO mark VALUES (1, 9000000000, 0, 'late')",
     "odd: run 1: marks outside the run: 1\n"},
    {"CREATE TABLE mine (x)", "odd: table mine was added by another program"},
    {"PRAGMA user_version = 1999", "odd: the store has format 1.999"},
};

static void oddities_are_no_damage(void **state)
{
    const char *path = fixture_path(state, "s");
    unsigned char *sound;
    struct findings findings;
    size_t size;

    sound_store(path, 1, PERIODS, 0);
    sound = sound_read(path, &size);
    for (size_t i = first; i < sizeof(oddities) / sizeof(oddities[0]); i += step) {
        sound_write(path, sound, size);
        fixture_exec(path, oddities[i].sql);
        sound_check(&findings, path);
        expect_text(&findings, oddities[i].says);
        if (findings.check.wrong != 0 || findings.check.odd < 1)
            fail_msg("%s: %s", oddities[i].sql, findings.text);
    }
    free(sound);
}

/* For a store from elsewhere, the list of findings is limited to a readable length. */
static void the_list_is_cut(void **state)
{
    const char *path = fixture_path(state, "s");
    struct findings findings;
    int lines = 0;

    sound_store(path, 1, PERIODS, 0);
    fixture_exec(path, "WITH RECURSIVE n (x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE"
                       " x < 999) INSERT INTO period SELECT 1, x, 5, 1, 0, 0, 0, 1, 9, 0, 0, 0, 0,"
                       " 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM n");
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
    fixture_says(&err, "there is no store", path, NULL);
    sound_write(path, text, sizeof(text));
    assert_int_equal(rps_store_check(path, &sink, &result, &err), RPS_FAILED);
    fixture_says(&err, "is not an rpistat store", NULL);
    assert_int_equal(rps_store_repair(path, saved, &sink, &repaired, &err), RPS_FAILED);
    fixture_says(&err, "nothing in", path, "store", NULL);
    assert_int_equal(access(saved, F_OK), -1);
    sound_store(saved, 1, 2, 0);
    assert_int_equal(rps_store_repair(path, saved, &sink, &repaired, &err), RPS_FAILED);
    fixture_says(&err, saved, "name a new file for", NULL);
    assert_int_equal(fixture_number(saved, "SELECT count(*) FROM period"), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)
/* The SHARED tests have lists of damages. Two programs test one half each. */
#define SHARED                                                                                     \
    TEST(everything_wrong_is_said_and_mended), TEST(oddities_are_no_damage),                       \
        TEST(blocks_are_sums), TEST(downsampled_stores)

/* test_check [FIRST STEP] */
int main(int argc, char **argv)
{
    const struct CMUnitTest shared[] = {SHARED}, tests[] = {
                                                     TEST(a_sound_store),
                                                     TEST(holes_with_gap_rows),
                                                     TEST(the_list_is_cut),
                                                     TEST(what_is_no_store),
                                                     SHARED,
                                                 };

    return sound_part(argc, argv, &first, &step) ? cmocka_run_group_tests(shared, NULL, NULL)
                                                 : cmocka_run_group_tests(tests, NULL, NULL);
}
