/* Tests of stored phase detections: an added detection can be read back, also while a recorder
 * writes, and false data are refused. */
#include "rpistat/arena.h"
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/database.h"

static const struct rps_phase three_phases[] = {
    {.first = 0, .last = 9, .end_ns = 1000, .confidence = 1, .label_confidence = 0.75},
    {.first = 10,
     .last = 24,
     .earliest = 9,
     .latest = 12,
     .start_ns = 1000,
     .end_ns = 2500,
     .label = 1,
     .confidence = 0.875,
     .label_confidence = 0.5},
    {.first = 25,
     .last = 29,
     .earliest = 25,
     .latest = 25,
     .start_ns = 2500,
     .end_ns = 3000,
     .confidence = 1,
     .label_confidence = 1},
};

/* Phases of the finer level, with an additional boundary and its own labels. */
static const struct rps_phase four_phases[] = {
    {.first = 0,
     .last = 4,
     .end_ns = 500,
     .confidence = 1,
     .label_confidence = 1,
     .loop = 1,
     .turn = 1,
     .part = 1},
    {.first = 5,
     .last = 9,
     .earliest = 4,
     .latest = 6,
     .start_ns = 500,
     .end_ns = 1000,
     .label = 1,
     .confidence = 0.625,
     .label_confidence = 0.5,
     .loop = 1,
     .turn = 1,
     .part = 2},
    {.first = 10,
     .last = 24,
     .earliest = 9,
     .latest = 12,
     .start_ns = 1000,
     .end_ns = 2500,
     .label = 2,
     .confidence = 0.875,
     .label_confidence = 0.5,
     .loop = 1,
     .turn = 2},
    {.first = 25,
     .last = 29,
     .earliest = 25,
     .latest = 25,
     .start_ns = 2500,
     .end_ns = 3000,
     .label = 1,
     .confidence = 1,
     .label_confidence = 1},
};

static const struct {
    const struct rps_phase *phase;
    size_t count;
    int label_count;
} levels_put[] = {{three_phases, 3, 2}, {four_phases, 4, 3}};

#define LEVELS (sizeof(levels_put) / sizeof(levels_put[0]))

/* Return a detection of `levels` levels, of which the last is the shown level. */
static struct rps_detection detection_of(const char *parameters, size_t levels, const char *remark)
{
    static const uint64_t outliers[] = {3, 26};
    struct rps_detection detection = {.detection = -1, .method = "screened"};
    struct rps_phases *level = rps_arena_get(fixture_arena, levels, sizeof(*level));

    detection.parameters = rps_arena_text(fixture_arena, parameters);
    detection.remark = rps_arena_text(fixture_arena, remark);
    detection.levels = (struct rps_phase_levels){levels, level, levels - 1};
    for (size_t i = 0; i < levels; i++) {
        size_t size = levels_put[i].count * sizeof(*level[i].phase);

        level[i].count = levels_put[i].count;
        level[i].label_count = levels_put[i].label_count;
        level[i].phase = rps_arena_get(fixture_arena, 1, size);
        memcpy(level[i].phase, levels_put[i].phase, size);
    }
    level[levels - 1].outlier = rps_arena_get(fixture_arena, 1, sizeof(outliers));
    memcpy(level[levels - 1].outlier, outliers, sizeof(outliers));
    level[levels - 1].outlier_count = 2;
    level[levels - 1].wide = levels - 1;
    return detection;
}

/* Add a detection with these members, and return its number. */
static int64_t add_levels(const char *path, int64_t run_id, const char *parameters, size_t levels,
                          const char *remark)
{
    struct rps_detection detection = detection_of(parameters, levels, remark);
    struct rps_error err;

    if (rps_store_add_detection(path, run_id, &detection, &err) < 0)
        fail_msg("%s", err.message);
    return detection.detection;
}

static int64_t add(const char *path, int64_t run_id, const char *parameters)
{
    return add_levels(path, run_id, parameters, 1, NULL);
}

/* Return the result of rps_reader_detection. The caller frees *ret. */
static int newest(const char *path, int64_t run_id, struct rps_detection *ret,
                  struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    int result;

    memset(ret, 0, sizeof(*ret));
    if (rps_reader_open(&reader, path, err) < 0)
        fail_msg("%s", err->message);
    result = rps_reader_detection(fixture_arena, reader, run_id, ret, err);
    rps_reader_close(reader);
    return result;
}

static void check_level(const struct rps_phases *level, size_t i)
{
    assert_int_equal(level->count, levels_put[i].count);
    assert_int_equal(level->label_count, levels_put[i].label_count);
    for (size_t n = 0; n < level->count; n++) {
        const struct rps_phase *got = &level->phase[n], *put = &levels_put[i].phase[n];

        assert_memory_equal(got, put, offsetof(struct rps_phase, label) + sizeof(int));
        assert_true(got->confidence == put->confidence);
        assert_true(got->label_confidence == put->label_confidence);
        assert_int_equal(got->loop, put->loop);
        assert_int_equal(got->turn, put->turn);
        assert_int_equal(got->part, put->part);
    }
}

/* Expect that the read detection equals the written one: `levels` levels, and outliers in the level
 * that is shown. */
static void check_detection(const struct rps_detection *back, size_t levels, size_t shown)
{
    assert_string_equal(back->method, "screened");
    assert_int_equal(back->levels.count, levels);
    assert_int_equal(back->levels.shown, shown);
    for (size_t i = 0; i < levels; i++) {
        const struct rps_phases *level = &back->levels.level[i];

        check_level(level, i);
        assert_int_equal(level->outlier_count, i == shown ? 2 : 0);
        assert_int_equal(level->wide, i == shown ? levels - 1 : 0);
    }
    assert_int_equal(back->levels.level[shown].outlier[0], 3);
    assert_int_equal(back->levels.level[shown].outlier[1], 26);
}

static void check_newest(const char *path, int64_t run_id, int64_t number, const char *parameters)
{
    struct rps_detection back;
    struct rps_error err;

    assert_int_equal(newest(path, run_id, &back, &err), 1);
    assert_int_equal(back.detection, number);
    assert_string_equal(back.parameters, parameters);
    assert_null(back.remark);
    check_detection(&back, 1, 0);
}

static int64_t make_run(const char *path)
{
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    int64_t run_id = run.run_id;

    for (unsigned int n = 0; n < 30; n++) {
        struct rps_period period = fixture_period(n, 2);

        rps_writer_period(writer, &period);
    }
    fixture_end(writer, &run);
    return run_id;
}

static void a_detection_comes_back(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t run_id = make_run(path), other = make_run(path);
    struct rps_detection back;
    struct rps_error err;

    assert_int_equal(newest(path, run_id, &back, &err), 0);
    assert_int_equal(add(path, run_id, "{\"a\":1}"), 0);
    check_newest(path, run_id, 0, "{\"a\":1}");
    assert_int_equal(newest(path, other, &back, &err), 0);
    assert_int_equal(newest(path, 99, &back, &err), 0);
    assert_string_equal(fixture_text(path, "SELECT group_concat(label, '') FROM phase"), "ABA");
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

/* All levels can be read back, coarsest first, whichever level is shown, with or without a remark.
 */
static void levels_come_back(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t run_id = make_run(path);
    struct rps_detection back;
    struct rps_error err;

    assert_int_equal(add(path, run_id, "{}"), 0);
    assert_int_equal(add_levels(path, run_id, "{\"b\":1}", LEVELS, "A B, 2 times, every 8.1 s"), 1);
    assert_int_equal(newest(path, run_id, &back, &err), 1);
    assert_int_equal(back.detection, 1);
    assert_string_equal(back.remark, "A B, 2 times, every 8.1 s");
    check_detection(&back, LEVELS, 1);
    fixture_exec(path, "UPDATE detection SET shown_level = 0");
    assert_int_equal(newest(path, run_id, &back, &err), 1);
    check_detection(&back, LEVELS, 0);
    /* Adding the same detection with fewer levels leaves nothing of the other levels. */
    assert_int_equal(add(path, run_id, "{\"b\":1}"), 2);
    check_newest(path, run_id, 2, "{\"b\":1}");
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM phase"), 2 * 3);
}

/* The view shows the phases of the newest detection, at its shown level. */
static void the_view_shows_one_level(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t run_id = make_run(path), other = make_run(path);

    add_levels(path, run_id, "{}", LEVELS, NULL);
    add(path, other, "{}");
    assert_string_equal(
        fixture_text(path, "SELECT group_concat(label || first_period || '-' || last_period, ' ')"
                           " FROM shown_phase WHERE run_id = 1"),
        "A0-4 B5-9 C10-24 B25-29");
    assert_string_equal(fixture_text(path, "SELECT group_concat(run_id || label, ' ') FROM"
                                           " (SELECT * FROM shown_phase ORDER BY run_id, phase)"),
                        "1A 1B 1C 1B 2A 2B 2A");
    assert_string_equal(fixture_text(path, "SELECT DISTINCT level || detection || method FROM"
                                           " shown_phase WHERE run_id = 1"),
                        "10screened");
    add(path, run_id, "{\"newer\":1}");
    assert_string_equal(fixture_text(path, "SELECT group_concat(label, '') FROM shown_phase"
                                           " WHERE run_id = 1"),
                        "ABA");
}

/* While another program removes the newest detection and adds it again, the detection is read
 * completely. */
static void one_state_of_the_store_is_read(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t run_id = make_run(path);
    struct rps_reader *reader = NULL;
    struct rps_detection back;
    struct rps_error err;
    int status;
    pid_t child;

    add_levels(path, run_id, "{}", LEVELS, NULL);
    child = fixture_fork();
    if (child == 0) {
        for (int i = 0; i < 60; i++)
            add_levels(path, run_id, "{}", LEVELS, NULL);
        _exit(0);
    }
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (rps_reader_detection(fixture_arena, reader, run_id, &back, &err) != 1)
            fail_msg("%s", err.message);
        check_detection(&back, LEVELS, 1);
    }
    rps_reader_close(reader);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void the_same_again_takes_its_place(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t run_id = make_run(path);

    assert_int_equal(add(path, run_id, "{\"a\":1}"), 0);
    assert_int_equal(add(path, run_id, "{\"a\":2}"), 1);
    check_newest(path, run_id, 1, "{\"a\":2}");
    /* The newest detection again has the parameters of the first. */
    assert_int_equal(add(path, run_id, "{\"a\":1}"), 2);
    check_newest(path, run_id, 2, "{\"a\":1}");
    assert_string_equal(fixture_text(path, "SELECT group_concat(DISTINCT detection) FROM phase"),
                        "1,2");
    assert_string_equal(fixture_text(path, "SELECT group_concat(DISTINCT detection) FROM outlier"),
                        "1,2");
}

static void a_run_that_is_not_there(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_detection detection = detection_of("{}", 1, NULL);
    struct rps_error err;

    assert_int_equal(rps_store_add_detection(path, 1, &detection, &err), RPS_FAILED);
    fixture_says(&err, path, NULL);
    assert_int_not_equal(access(path, F_OK), 0);
    make_run(path);
    assert_int_equal(rps_store_add_detection(path, 7, &detection, &err), RPS_FAILED);
    fixture_says(&err, "run 7", "has run 1 only", NULL);
    assert_int_equal(detection.detection, -1);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM phase"), 0);
}

/* A detection can be added while the recorder of this run, or of another run, is writing. */
static void beside_a_recorder(void **state)
{
    const char *path = fixture_path(state, "s");
    const struct rps_writer_options options = {.commit_ns = 0};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &options, &run);

    for (unsigned int n = 0; n < 300; n++) {
        struct rps_period period = fixture_period(n, 2);
        char parameters[32];

        rps_writer_period(writer, &period);
        snprintf(parameters, sizeof(parameters), "{\"n\":%u}", n / 100);
        if (n % 20 == 0)
            add(path, run.run_id, parameters);
    }
    check_newest(path, run.run_id, 14, "{\"n\":2}");
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period"), 300);
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
}

/* Unknown values of a phase, written by another program, can be read. */
static void nulls_are_read(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t run_id = make_run(path);
    struct rps_detection back;
    struct rps_error err;

    add(path, run_id, "{}");
    fixture_exec(path, "UPDATE phase SET start_ns = NULL, end_ns = NULL, earliest = NULL,"
                       " latest = NULL, confidence = NULL, label_confidence = 9e999");
    assert_int_equal(newest(path, run_id, &back, &err), 1);
    assert_int_equal(back.levels.level[0].phase[1].earliest, 10);
    assert_int_equal(back.levels.level[0].phase[1].latest, 10);
    assert_int_equal(back.levels.level[0].phase[1].start_ns, 0);
    assert_true(back.levels.level[0].phase[1].confidence == 0);
    assert_true(back.levels.level[0].phase[1].label_confidence == 1);
    fixture_exec(path, "UPDATE phase SET earliest = -7, latest = 9000000000000000000");
    assert_int_equal(newest(path, run_id, &back, &err), 1);
    assert_int_equal(back.levels.level[0].phase[1].earliest, 10);
    assert_int_equal(back.levels.level[0].phase[1].latest, 24);
}

/* A change to a detection of two levels, and the expected error. */
static const struct {
    const char *sql, *says;
} impossible[] = {
    {"UPDATE phase SET first_period = -1 WHERE phase = 0", "do not follow one another"},
    {"UPDATE phase SET last_period = 8 WHERE phase = 1", "do not follow one another"},
    {"UPDATE phase SET first_period = 9 WHERE level = 1 AND phase = 2", "do not follow"},
    {"UPDATE phase SET label = 'ZZZZZZ' WHERE phase = 1", "a label is none"},
    {"UPDATE phase SET label = '1' WHERE level = 1 AND phase = 3", "a label is none"},
    {"UPDATE phase SET label = 'B' WHERE level = 0 AND phase = 0", "a label is none"},
    {"DELETE FROM phase WHERE level = 0", "a level is missing"},
    {"UPDATE phase SET level = 2 WHERE level = 1", "a level is missing"},
    {"UPDATE phase SET level = -1 WHERE level = 0", "a level is missing"},
    {"DELETE FROM phase WHERE level = 1", "the level to show is missing"},
    {"UPDATE detection SET shown_level = 2", "the level to show is missing"},
    {"UPDATE detection SET shown_level = -1", "the level to show is missing"},
    {"DELETE FROM phase", "the level to show is missing"},
    {"DELETE FROM phase WHERE level = 0 AND phase = 0", "a phase is missing"},
    {"DELETE FROM phase WHERE level = 1 AND phase = 2", "a phase is missing"},
    {"DELETE FROM phase WHERE level = 1 AND phase = 3", "end where the other levels do"},
    {"UPDATE phase SET last_period = 28 WHERE level = 0 AND phase = 2",
     "begin or end where the other levels do"},
    {"UPDATE phase SET first_period = 1 WHERE level = 0 AND phase = 0",
     "does not begin or end where"},
    {"UPDATE phase SET loop = 2 WHERE level = 1 AND phase = 0", "the iterations of a loop do not"},
    {"UPDATE phase SET loop = -1 WHERE level = 0 AND phase = 0", "the iterations of a loop do not"},
    {"UPDATE phase SET loop = 9e15 WHERE level = 0 AND phase = 0",
     "the iterations of a loop do not"},
    {"UPDATE phase SET loop = NULL WHERE level = 1 AND phase = 1",
     "the iterations of a loop do not"},
    {"UPDATE phase SET turn = 4 WHERE level = 1 AND phase = 2", "the iterations of a loop do not"},
    {"UPDATE phase SET part = 3 WHERE level = 1 AND phase = 1", "the iterations of a loop do not"},
    {"DELETE FROM detection", "they belong to no detection"},
};

/* Impossible phases are reported as damage. A detection that is added afterwards can be read. */
static void phases_that_cannot_be(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t run_id = make_run(path);
    struct rps_detection back;
    struct rps_error err;

    for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
        int64_t number = add_levels(path, run_id, "{}", LEVELS, NULL);

        assert_int_equal(newest(path, run_id, &back, &err), 1);
        assert_int_equal(back.detection, number);
        check_detection(&back, LEVELS, 1);
        fixture_exec(path, impossible[i].sql);
        assert_int_equal(newest(path, run_id, &back, &err), RPS_FAILED);
        fixture_says(&err, path, "damaged", "phases of run 1", impossible[i].says, NULL);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_detection_comes_back),         TEST(levels_come_back),
        TEST(the_view_shows_one_level),       TEST(the_same_again_takes_its_place),
        TEST(a_run_that_is_not_there),        TEST(beside_a_recorder),
        TEST(one_state_of_the_store_is_read), TEST(nulls_are_read),
        TEST(phases_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
