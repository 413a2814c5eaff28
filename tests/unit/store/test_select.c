/* Tests of the run names that a user types: groups, suggestions for similar names, and live runs.
 */
#include "fixture.h"
#include "rpistat/arena.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"

#include <stdio.h>
#include <stdlib.h>

/* Make runs 1 to 6 without periods. The last two share a label with a comma. */
static struct rps_reader *make_runs(const char *path)
{
    static const char *const labels[] = {"main", "topic", "main", "", "a,b", "a,b"};
    struct rps_plan *plan = fixture_plan();
    struct rps_reader *reader = NULL;
    struct rps_writer *writer = NULL;
    struct rps_error err;

    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    for (int i = 0; i < 6; i++) {
        struct rps_run run;

        rps_run_init(&run);
        snprintf(run.label, sizeof(run.label), "%s", labels[i]);
        assert_int_equal(rps_writer_begin(writer, &run, plan, &err), 0);
        assert_int_equal(rps_writer_end(writer, &run, &err), 0);
    }
    rps_writer_close(writer);
    rps_plan_free(plan);
    fixture_exec(path,
                 "UPDATE run SET tags = '{\"build\":\"42\",\"host\":\"a\"}' WHERE run_id < 3");
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    return reader;
}

/* Expect the numbers of the runs found, or a part of the error message. */
static void finds_group(struct rps_reader *reader, const char *text, int code, const char *expected)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_error err;
    int64_t *run_id = NULL;
    size_t count = 0;
    char got[32] = "";

    assert_int_equal(rps_reader_find_group(arena, reader, text, &run_id, &count, &err), code);
    for (size_t i = 0; i < count; i++)
        snprintf(got + i, sizeof(got) - i, "%d", (int)run_id[i]);
    rps_arena_free(arena);
    if (code < 0)
        fixture_says(&err, expected, NULL);
    else
        assert_string_equal(got, expected);
}

static void groups(void **state)
{
    struct rps_reader *reader = make_runs(fixture_path(state, "s"));

    finds_group(reader, "2", 0, "2");
    finds_group(reader, "main", 0, "13");
    finds_group(reader, "label:main", 0, "13");
    finds_group(reader, "build=42", 0, "12");
    finds_group(reader, "2-4", 0, "234");
    finds_group(reader, "5-99", 0, "56");
    finds_group(reader, "last", 0, "6");
    finds_group(reader, "last-1", 0, "5");
    finds_group(reader, "last,3,main,1-2", 0, "1236"); /* The runs are ascending, without
                                                          repeats. */
    finds_group(reader, "a,b", 0, "56");               /* The text is a label with a comma. */
    finds_group(reader, "", RPS_USAGE, "empty");
    finds_group(reader, "1,,2", RPS_USAGE, "empty");
    finds_group(reader, "4-2", RPS_USAGE, "write 2-4");
    finds_group(reader, "7-9", RPS_FAILED, "run 7-9 is not in ");
    finds_group(reader, "2-", RPS_FAILED, "has runs 1 to 6");
    finds_group(reader, "1,nothing", RPS_FAILED, "run nothing is not in ");
    finds_group(reader, "label:", RPS_FAILED, "has this label; ");
    finds_group(reader, "label:topik", RPS_FAILED, "did you mean topic? ");
    rps_reader_close(reader);
}

static void one(void **state)
{
    struct rps_reader *reader = make_runs(fixture_path(state, "s"));
    struct rps_error err;
    int64_t run_id = -1;

    assert_int_equal(rps_reader_find(reader, "build=42", &run_id, &err), 0);
    assert_int_equal(run_id, 2);
    assert_int_equal(rps_reader_find(reader, "topik", &run_id, &err), RPS_FAILED);
    fixture_says(&err, "topik: no run of ", "has this label or tag", "did you mean topic? ", NULL);
    assert_int_equal(rps_reader_find(reader, "host=b", &run_id, &err), RPS_FAILED);
    fixture_says(&err, "did you mean host=a? ", NULL);
    /* one run is needed, not a group */
    assert_int_equal(rps_reader_find(reader, "1-2", &run_id, &err), RPS_FAILED);
    assert_int_equal(rps_reader_find(reader, "label:main", &run_id, &err), RPS_FAILED);
    /* Invalid tags do not prevent suggestions. */
    fixture_exec(fixture_path(state, "s"), "PRAGMA ignore_check_constraints = 1;"
                                           "UPDATE run SET tags = 'x' WHERE run_id = 1");
    assert_int_equal(rps_reader_find(reader, "topik", &run_id, &err), RPS_FAILED);
    fixture_says(&err, "did you mean topic? ", NULL);
    rps_reader_close(reader);
}

static void live(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader = make_runs(path);
    struct rps_writer *writer;
    struct rps_run run;
    struct rps_error err;
    int64_t run_id = -1;

    assert_int_equal(rps_reader_find_live(reader, NULL, &run_id, &err), 0);
    assert_int_equal(run_id, 6); /* No run is live, so the newest is found. */
    writer = fixture_writer(path, NULL, &run);
    assert_int_equal(rps_reader_find_live(reader, NULL, &run_id, &err), 0);
    assert_int_equal(run_id, 7);
    /* The run is newer, and has already ended. */
    fixture_exec(path, "UPDATE run SET run_id = 9 WHERE run_id = 6");
    assert_int_equal(rps_reader_find(reader, NULL, &run_id, &err), 0);
    assert_int_equal(run_id, 9);
    assert_int_equal(rps_reader_find_live(reader, NULL, &run_id, &err), 0);
    assert_int_equal(run_id, 7);
    assert_int_equal(rps_reader_find_live(reader, "main", &run_id, &err), 0);
    assert_int_equal(run_id, 3);
    fixture_end(writer, &run);
    rps_reader_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(groups), TEST(one), TEST(live)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
