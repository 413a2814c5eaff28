/* Detections of phases: what is added is read back, beside a recorder too; stores of format 1.0;
 * and what a store may claim of phases. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static struct rps_detection detection_of(const char *parameters)
{
    static const uint64_t outliers[] = {3, 26};
    struct rps_detection detection = {.detection = -1, .method = "screened"};

    detection.parameters = strdup(parameters);
    detection.phases.phase = malloc(sizeof(three_phases));
    detection.phases.outlier = malloc(sizeof(outliers));
    assert_non_null(detection.parameters);
    assert_non_null(detection.phases.phase);
    assert_non_null(detection.phases.outlier);
    memcpy(detection.phases.phase, three_phases, sizeof(three_phases));
    memcpy(detection.phases.outlier, outliers, sizeof(outliers));
    detection.phases.count = 3;
    detection.phases.outlier_count = 2;
    detection.phases.label_count = 2;
    return detection;
}

/* Add one with these parameters; its number. */
static int64_t add(const char *path, int64_t run_id, const char *parameters)
{
    struct rps_detection detection = detection_of(parameters);
    struct rps_error err;
    int64_t number;

    if (rps_store_add_detection(path, run_id, &detection, &err) < 0)
        fail_msg("%s", err.message);
    number = detection.detection;
    rps_detection_free(&detection);
    return number;
}

/* What rps_reader_detection answers; *ret is to be freed. */
static int newest(const char *path, int64_t run_id, struct rps_detection *ret,
                  struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    int result;

    memset(ret, 0, sizeof(*ret));
    if (rps_reader_open(&reader, path, err) < 0)
        fail_msg("%s", err->message);
    result = rps_reader_detection(reader, run_id, ret, err);
    rps_reader_close(reader);
    return result;
}

static void check_newest(const char *path, int64_t run_id, int64_t number, const char *parameters)
{
    struct rps_detection back;
    struct rps_error err;

    assert_int_equal(newest(path, run_id, &back, &err), 1);
    assert_int_equal(back.detection, number);
    assert_string_equal(back.method, "screened");
    assert_string_equal(back.parameters, parameters);
    assert_int_equal(back.phases.count, 3);
    assert_int_equal(back.phases.label_count, 2);
    for (size_t i = 0; i < 3; i++) {
        const struct rps_phase *got = &back.phases.phase[i], *put = &three_phases[i];

        assert_memory_equal(got, put, offsetof(struct rps_phase, label) + sizeof(int));
        assert_true(got->confidence == put->confidence);
        assert_true(got->label_confidence == put->label_confidence);
    }
    assert_int_equal(back.phases.outlier_count, 2);
    assert_int_equal(back.phases.outlier[0], 3);
    assert_int_equal(back.phases.outlier[1], 26);
    rps_detection_free(&back);
    rps_detection_free(&back);
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

static void the_same_again_takes_its_place(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t run_id = make_run(path);

    assert_int_equal(add(path, run_id, "{\"a\":1}"), 0);
    assert_int_equal(add(path, run_id, "{\"a\":2}"), 1);
    check_newest(path, run_id, 1, "{\"a\":2}");
    /* the newest again, with what was first */
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
    struct rps_detection detection = detection_of("{}");
    struct rps_error err;

    assert_int_equal(rps_store_add_detection(path, 1, &detection, &err), RPS_FAILED);
    fixture_says(&err, path, NULL);
    assert_int_not_equal(access(path, F_OK), 0);
    make_run(path);
    assert_int_equal(rps_store_add_detection(path, 7, &detection, &err), RPS_FAILED);
    fixture_says(&err, "run 7", "holds run 1 only", NULL);
    assert_int_equal(detection.detection, -1);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM phase"), 0);
    rps_detection_free(&detection);
}

/* While the recorder of the run, and of another, writes and goes on writing. */
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

/* What is not known of a phase that something else wrote. */
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
    assert_int_equal(back.phases.phase[1].earliest, 10);
    assert_int_equal(back.phases.phase[1].latest, 10);
    assert_int_equal(back.phases.phase[1].start_ns, 0);
    assert_true(back.phases.phase[1].confidence == 0);
    assert_true(back.phases.phase[1].label_confidence == 1);
    rps_detection_free(&back);
    fixture_exec(path, "UPDATE phase SET earliest = -7, latest = 9000000000000000000");
    assert_int_equal(newest(path, run_id, &back, &err), 1);
    assert_int_equal(back.phases.phase[1].earliest, 10);
    assert_int_equal(back.phases.phase[1].latest, 24);
    rps_detection_free(&back);
}

static void phases_that_cannot_be(void **state)
{
    static const char *const sql[] = {
        "UPDATE phase SET first_period = -1 WHERE phase = 0",
        "UPDATE phase SET last_period = 8 WHERE phase = 1",
        "UPDATE phase SET first_period = 9 WHERE phase = 1",
        "UPDATE phase SET label = 'ZZZZZZ' WHERE phase = 1",
        "UPDATE phase SET label = '1' WHERE phase = 1",
        "UPDATE phase SET label = 'B' WHERE phase = 0",
    };
    const char *path = fixture_path(state, "s");
    int64_t run_id = make_run(path);
    struct rps_detection back;
    struct rps_error err;

    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
        add(path, run_id, "{}");
        fixture_exec(path, sql[i]);
        assert_int_equal(newest(path, run_id, &back, &err), RPS_FAILED);
        fixture_says(&err, path, "damaged", "phases of run 1", NULL);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_detection_comes_back),  TEST(the_same_again_takes_its_place),
        TEST(a_run_that_is_not_there), TEST(beside_a_recorder),
        TEST(nulls_are_read),          TEST(phases_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
