/* Written data can be read back: runs, plans, periods, marks, gaps. Runs can be found. */
#include "fixture.h"
#include "rpistat/arena.h"
#include "rpistat/interval.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void a_run_comes_back(void **state)
{
    struct rps_run run, back;
    struct rps_writer *writer = fixture_writer(fixture_path(state, "s"), NULL, &run);
    struct rps_reader *reader;
    struct rps_error err;

    run.state = RPS_RUN_COMPLETE;
    run.elapsed_ns = 12345;
    run.exit_signal = 11;
    run.recorder_cpu_ns = 777;
    snprintf(run.end_reason, sizeof(run.end_reason), "asked to");
    memset(run.fitting, 0, sizeof(run.fitting)); /* The array is compared as memory below. */
    snprintf(run.fitting, sizeof(run.fitting), "a last word");
    assert_int_equal(rps_writer_end(writer, &run, &err), 0);
    rps_writer_close(writer);

    reader = fixture_reader(fixture_path(state, "s"));
    assert_int_equal(rps_reader_run(fixture_arena, reader, run.run_id, &back, &err), 0);
    assert_int_equal(strlen(back.uuid), 36);
    assert_int_equal(back.uuid[14], '4');
    assert_int_equal(back.argc, run.argc);
    for (int i = 0; i < run.argc; i++)
        assert_string_equal(back.argv[i], run.argv[i]);
    assert_null(back.argv[run.argc]);
    assert_int_equal(back.tag_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(back.tag[i].key, run.tag[i].key);
        assert_string_equal(back.tag[i].value, run.tag[i].value);
    }
    assert_string_equal(back.folder, run.folder);
    /* Compare the remaining members at once. The members in arenas were compared above. */
    back.arena = run.arena;
    back.tag_count = run.tag_count, back.tag = run.tag;
    back.argc = run.argc, back.argv = run.argv, back.folder = run.folder;
    assert_memory_equal(&back, &run, sizeof(run));
    rps_run_free(&run);
    rps_reader_close(reader);
}

static void what_is_not_known_is_null(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_plan *plan = fixture_plan();
    struct rps_writer *writer = NULL;
    struct rps_reader *reader;
    struct rps_run run, back;
    struct rps_error err;

    rps_run_init(&run);
    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    assert_int_equal(rps_writer_begin(writer, &run, plan, &err), 0);
    assert_int_equal(rps_writer_end(writer, &run, &err), 0);
    rps_writer_close(writer);
    assert_string_equal(
        fixture_text(path, "SELECT count(*) FROM run WHERE cpu_count IS NULL AND recorder_pid IS"
                           " NULL AND counter_count IS NULL AND"
                           " paranoid IS NULL AND nmi_watchdog IS NULL AND period_ns IS NULL AND"
                           " start_realtime_ns IS NULL AND start_monotonic_ns IS NULL AND"
                           " elapsed_ns IS NULL AND exit_status IS NULL AND exit_signal = 0 AND"
                           " recorder_cpu_ns IS NULL AND tags = '{}' AND command = '[]'"),
        "1");
    reader = fixture_reader(path);
    assert_int_equal(rps_reader_run(fixture_arena, reader, 1, &back, &err), 0);
    assert_int_equal(back.paranoid, -100);
    assert_int_equal(back.nmi_watchdog, -1);
    assert_int_equal(back.elapsed_ns, -1);
    assert_int_equal(back.argc, 0);
    rps_reader_close(reader);
    rps_plan_free(plan);
}

static void text_that_is_not_utf8_is_repaired(void **state)
{
    const char *path = fixture_path(state, "s");
    char *argv[] = {(char *)"caf\xe9", (char *)"\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf", NULL};
    struct rps_writer *writer;
    struct rps_reader *reader;
    struct rps_run run, back;
    struct rps_error err;

    writer = fixture_writer(path, NULL, &run);
    fixture_end(writer, &run);
    fixture_run(&run);
    rps_run_set_command(&run, 2, argv);
    rps_run_add_tag(&run, "k\xff", "v\xfe");
    snprintf(run.label, sizeof(run.label), "l\x80");
    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    struct rps_plan *plan = fixture_plan();
    assert_int_equal(rps_writer_begin(writer, &run, plan, &err), 0);
    rps_plan_free(plan);
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run WHERE json_valid(tags) AND"
                                          " json_valid(command)"),
                     2);
    reader = fixture_reader(path);
    assert_int_equal(rps_reader_run(fixture_arena, reader, 2, &back, &err), 0);
    assert_string_equal(back.label, "l\xef\xbf\xbd");
    assert_string_equal(back.argv[0], "caf\xef\xbf\xbd");
    assert_int_equal(strlen(back.argv[1]), 9 * 3);
    assert_string_equal(back.tag[2].key, "k\xef\xbf\xbd");
    assert_string_equal(back.tag[2].value, "v\xef\xbf\xbd");
    rps_reader_close(reader);
}

/* Expect that two events are equal. If an event was never counted, its estimates are unknown. */
static void same_event(const struct rps_event *one, const struct rps_event *other)
{
    struct rps_event expected;

    memcpy(&expected, other, sizeof(expected));
    expected.whole.value = expected.whole.low = expected.whole.high = expected.whole.share = NAN;
    assert_memory_equal(one, &expected, sizeof(*one));
}

static void a_plan_comes_back(void **state)
{
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(fixture_path(state, "s"), NULL, &run);
    struct rps_plan *plan = fixture_plan(), *back = NULL;
    struct rps_reader *reader;
    struct rps_error err;

    fixture_end(writer, &run);
    reader = fixture_reader(fixture_path(state, "s"));
    assert_int_equal(rps_reader_plan(fixture_arena, reader, 1, &back, &err), 0);
    assert_string_equal(back->name, plan->name);
    assert_string_equal(back->title, plan->title);
    assert_string_equal(back->explain, plan->explain);
    same_event(&back->clock, &plan->clock);
    assert_int_equal(back->set_count, plan->set_count);
    for (int n = 0; n < plan->set_count; n++) {
        assert_string_equal(back->set[n].name, plan->set[n].name);
        assert_string_equal(back->set[n].explain, plan->set[n].explain);
        assert_int_equal(back->set[n].event_count, plan->set[n].event_count);
        for (int slot = 0; slot < plan->set[n].event_count; slot++)
            same_event(&back->set[n].event[slot], &plan->set[n].event[slot]);
    }
    assert_int_equal(back->metric_count, plan->metric_count);
    for (int i = 0; i < plan->metric_count; i++) {
        assert_string_equal(back->metric[i].name, plan->metric[i].name);
        assert_string_equal(back->metric[i].label, plan->metric[i].label);
        assert_string_equal(back->metric[i].unit, plan->metric[i].unit);
        assert_string_equal(back->metric[i].family, plan->metric[i].family);
        assert_string_equal(back->metric[i].panel, plan->metric[i].panel);
        assert_string_equal(back->metric[i].formula_text, plan->metric[i].formula_text);
        assert_string_equal(back->metric[i].explain, plan->metric[i].explain);
        assert_int_equal(back->metric[i].formula.step_count, plan->metric[i].formula.step_count);
        assert_int_equal(back->metric[i].whole.certainty, RPS_CERTAINTY_NONE);
        assert_true(isnan(back->metric[i].whole.value));
    }
    rps_plan_free(plan);
    rps_reader_close(reader);
}

static void expect_period(struct rps_cursor *cursor, const struct rps_period *expected)
{
    struct rps_period period;
    struct rps_error err;

    assert_int_equal(rps_cursor_next(cursor, &period, &err), 1);
    assert_memory_equal(&period, expected, sizeof(period));
}

static void periods_come_back(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_period written[7];
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct rps_reader *reader;
    struct rps_cursor *cursor;
    struct rps_error err;
    struct rps_period period;

    for (unsigned int n = 0; n < 7; n++) {
        written[n] = fixture_period(n, 2);
        written[n].missed = n == 4 ? UINT32_MAX : 0;
        if (n >= 2 && n <= 4) /* The workload slept, and its clock stopped. */
            written[n].cycle = written[1].cycle;
        if (n == 5)
            written[n].counted = 2, written[n].count[0] = 0;
        if (written[n].set_no == 1) /* Event d is never measured, whatever the period contains. */
            written[n].counted |= 2;
        rps_writer_period(writer, &written[n]);
        if (written[n].set_no == 1)
            written[n].counted &= 1u, written[n].count[1] = 0;
    }
    fixture_end(writer, &run);
    assert_string_equal(fixture_text(path, "SELECT typeof(c0) || typeof(c1) || typeof(c2) ||"
                                           " typeof(c7) FROM period WHERE period = 5"),
                        "nullnullnullnull");
    reader = fixture_reader(path);
    assert_int_equal(rps_cursor_open(&cursor, reader, 1, 0, INT64_MAX, 0, &err), 0);
    for (int n = 0; n < 7; n++)
        expect_period(cursor, &written[n]);
    assert_int_equal(rps_cursor_next(cursor, &period, &err), 0);
    rps_cursor_close(cursor);

    /* A period is in the range if its middle is. The range includes the first period but not the
     * last. */
    assert_int_equal(rps_cursor_open(&cursor, reader, 1,
                                     written[2].start_ns + written[2].length_ns / 2,
                                     written[4].start_ns + written[4].length_ns / 2, 0, &err),
                     0);
    expect_period(cursor, &written[2]);
    expect_period(cursor, &written[3]);
    assert_int_equal(rps_cursor_next(cursor, &period, &err), 0);
    rps_cursor_close(cursor);
    rps_reader_close(reader);
}

static void all_eight_slots_come_back(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_plan *plan = rps_plan_new();
    struct rps_event_set *set = rps_plan_add_set(plan);
    struct rps_period written = fixture_period(0, 1);
    struct rps_writer *writer = NULL;
    struct rps_reader *reader;
    struct rps_cursor *cursor;
    struct rps_run run;
    struct rps_error err;

    for (set->event_count = 0; set->event_count < RPS_SLOT_MAX; set->event_count++)
        snprintf(set->event[set->event_count].name, RPS_NAME_SIZE, "e%d", set->event_count);
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        written.count[slot] = UINT64_C(1) << (7 * slot);
    written.counted = 0xff;
    fixture_run(&run);
    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    assert_int_equal(rps_writer_begin(writer, &run, plan, &err), 0);
    rps_writer_period(writer, &written);
    fixture_end(writer, &run);
    reader = fixture_reader(path);
    assert_int_equal(rps_cursor_open(&cursor, reader, 1, 0, INT64_MAX, 0, &err), 0);
    expect_period(cursor, &written);
    rps_cursor_close(cursor);
    rps_reader_close(reader);
    rps_plan_free(plan);
}

static void sums_are_stored_at_the_end(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct rps_reader *reader;
    struct rps_run_summary summary;
    struct rps_error err;

    for (unsigned int n = 0; n < 301; n++) {
        struct rps_period period = fixture_period(n, 2);

        rps_writer_period(writer, &period);
    }
    rps_writer_gap(writer, RPS_CPU_ALL, 5, 6, "slept");
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM event_set AS s WHERE"
                                          " (s.periods, s.enabled_ns, s.running_ns) ="
                                          " (SELECT count(*), sum(p.enabled_ns), sum(p.running_ns)"
                                          "  FROM period AS p WHERE p.set_no = s.set_no)"),
                     2);
    assert_int_equal(fixture_number(path, "SELECT sum(count) = (SELECT sum(c0) + sum(c1) FROM"
                                          " period) FROM event WHERE set_no >= 0"),
                     1);
    assert_int_equal(fixture_number(path, "SELECT count = (SELECT sum(cycles) FROM period)"
                                          " FROM event WHERE set_no = -1"),
                     1);
    assert_string_equal(fixture_text(path, "SELECT count FROM event WHERE set_no = 1 AND slot = 1"),
                        "(null)");
    reader = fixture_reader(path);
    assert_int_equal(rps_reader_summary(reader, 1, &summary, &err), 0);
    assert_int_equal(summary.periods, 301);
    assert_int_equal(summary.gap_count, 1);
    assert_string_equal(summary.plan, "test");
    rps_reader_close(reader);
}

/* CPUs counted in parallel do not add to the number of periods of the run. One CPU was away for a
 * while. */
static void periods_are_those_of_one_cpu(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct rps_run_summary summary;
    struct rps_reader *reader;
    struct rps_error err;

    for (unsigned int n = 0; n < 3 * 301; n++) {
        struct rps_period period = fixture_period(n / 3, 2);

        period.cpu = (int32_t)(n % 3);
        if (period.cpu != 0 || period.period < 100)
            rps_writer_period(writer, &period);
    }
    fixture_end(writer, &run);
    for (int ended = 1; ended >= 0; ended--) {
        if (!ended)
            fixture_exec(path, "UPDATE event_set SET periods = NULL");
        reader = fixture_reader(path);
        assert_int_equal(rps_reader_summary(reader, 1, &summary, &err), 0);
        assert_int_equal(summary.periods, 301);
        assert_int_equal(summary.rows, 702);
        assert_int_equal(fixture_number(path, "SELECT periods FROM run_summary"), 301);
        rps_reader_close(reader);
    }
}

static void notes_come_back_in_order_of_time(void **state)
{
    char *long_text = malloc(5000);
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(fixture_path(state, "s"), NULL, &run);
    struct rps_reader *reader;
    struct rps_arena *arena = rps_arena_new();
    struct rps_notes notes;
    struct rps_error err;

    memset(long_text, 'x', 5000);
    memcpy(long_text + 1023, "\xc3\xa9", 2); /* A cut here would split the character. */
    long_text[4999] = '\0';
    rps_writer_mark(writer, 300, "third");
    rps_writer_mark(writer, 100, "first \xff");
    rps_writer_mark(writer, 200, long_text);
    rps_writer_mark(writer, 300, "fourth");
    rps_writer_gap(writer, 3, 50, 7, "the machine slept");
    rps_writer_gap(writer, RPS_CPU_ALL, 50, 8, "again");
    fixture_end(writer, &run);
    free(long_text);
    reader = fixture_reader(fixture_path(state, "s"));
    assert_int_equal(rps_reader_marks(arena, reader, 1, &notes, &err), 0);
    assert_int_equal(notes.count, 4);
    assert_string_equal(notes.note[0].text, "first \xef\xbf\xbd");
    assert_int_equal(strlen(notes.note[1].text), 1023);
    assert_string_equal(notes.note[2].text, "third");
    assert_string_equal(notes.note[3].text, "fourth");
    assert_int_equal(notes.note[3].start_ns, 300);
    assert_int_equal(rps_reader_gaps(arena, reader, 1, &notes, &err), 0);
    assert_int_equal(notes.count, 2);
    assert_string_equal(notes.note[0].text, "the machine slept");
    assert_int_equal(notes.note[1].length_ns, 8);
    assert_int_equal(rps_reader_gaps(arena, reader, 99, &notes, &err), 0);
    assert_int_equal(notes.count, 0);
    rps_reader_close(reader);
    rps_arena_free(arena);
}

static void finds(struct rps_reader *reader, const char *text, int64_t expected)
{
    struct rps_error err;
    int64_t run_id = -1;

    if (rps_reader_find(reader, text, &run_id, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(run_id, expected);
}

static void finds_not(struct rps_reader *reader, const char *text, const char *says)
{
    struct rps_error err;
    int64_t run_id = -7;

    assert_int_equal(rps_reader_find(reader, text, &run_id, &err), RPS_FAILED);
    assert_int_equal(run_id, -7);
    fixture_says(&err, text, says, NULL);
}

static void runs_are_found(void **state)
{
    static const char *const labels[] = {"before", "after", "before", "2", "77"};
    const char *path = fixture_path(state, "s");
    struct rps_writer *writer = NULL;
    struct rps_plan *plan = fixture_plan();
    struct rps_arena *arena = rps_arena_new();
    struct rps_reader *reader;
    struct rps_error err;
    int64_t *run_id = NULL;
    size_t count = 0;

    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    reader = fixture_reader(path);
    finds_not(reader, "last", "has no runs; record one");
    assert_int_equal(rps_reader_runs(arena, reader, &run_id, &count, &err), 0);
    assert_int_equal(count, 0);
    for (int i = 0; i < 5; i++) {
        struct rps_run run;

        rps_run_init(&run);
        snprintf(run.label, sizeof(run.label), "%s", labels[i]);
        assert_int_equal(rps_writer_begin(writer, &run, plan, &err), 0);
        assert_int_equal(run.run_id, i + 1);
        assert_int_equal(rps_writer_end(writer, &run, &err), 0);
        if (i == 0)
            finds_not(reader, "9", "has run 1 only");
    }
    finds(reader, NULL, 5);
    finds(reader, "last", 5);
    finds(reader, "last-0", 5);
    finds(reader, "last-4", 1);
    finds(reader, "before", 3);
    finds(reader, "after", 2);
    finds(reader, "2", 2);  /* A run number takes precedence over a label. */
    finds(reader, "77", 5); /* There is no run 77, so the label is used. */
    finds_not(reader, "7", "has runs 1 to 5");
    finds_not(reader, "last-5", "runs 1 to 5");
    finds_not(reader, "last-x", "runs 1 to 5");
    finds_not(reader, "", "runs 1 to 5");
    finds_not(reader, "99999999999999999999999", "runs 1 to 5");
    fixture_exec(path, "DELETE FROM run WHERE run_id = 4");
    finds_not(reader, "7", "4 runs from 1 to 5");
    assert_int_equal(rps_reader_runs(arena, reader, &run_id, &count, &err), 0);
    assert_int_equal(count, 4);
    assert_int_equal(run_id[3], 5);
    rps_arena_free(arena);
    rps_reader_close(reader);
    rps_writer_close(writer);
    rps_plan_free(plan);
}

static void a_run_that_is_not_there(void **state)
{
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(fixture_path(state, "s"), NULL, &run);
    struct rps_reader *reader;
    struct rps_run_summary summary;
    struct rps_plan *plan = NULL;
    struct rps_error err;

    fixture_end(writer, &run);
    reader = fixture_reader(fixture_path(state, "s"));
    assert_int_equal(rps_reader_run(fixture_arena, reader, 7, &run, &err), RPS_FAILED);
    fixture_says(&err, "run 7", "has run 1 only", NULL);
    assert_int_equal(rps_reader_summary(reader, 7, &summary, &err), RPS_FAILED);
    fixture_says(&err, "run 7", NULL);
    assert_int_equal(rps_reader_plan(fixture_arena, reader, 7, &plan, &err), RPS_FAILED);
    fixture_says(&err, "run 7", NULL);
    rps_reader_close(reader);
}

static void count_call(void *left)
{
    ++*(int *)left;
}

static void what_is_left_is_freed_once(void **state)
{
    struct rps_reader *reader;
    struct rps_run run;
    int first = 0, second = 0;

    fixture_end(fixture_writer(fixture_path(state, "s"), NULL, &run), &run);
    reader = fixture_reader(fixture_path(state, "s"));
    assert_null(rps_reader_leave(reader, &first, count_call));
    assert_ptr_equal(rps_reader_leave(reader, NULL, NULL), &first);
    assert_null(rps_reader_leave(reader, &second, count_call));
    rps_reader_close(reader);
    assert_int_equal(first, 0);
    assert_int_equal(second, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_comes_back),
        TEST(what_is_left_is_freed_once),
        TEST(what_is_not_known_is_null),
        TEST(text_that_is_not_utf8_is_repaired),
        TEST(a_plan_comes_back),
        TEST(periods_come_back),
        TEST(all_eight_slots_come_back),
        TEST(sums_are_stored_at_the_end),
        TEST(periods_are_those_of_one_cpu),
        TEST(notes_come_back_in_order_of_time),
        TEST(runs_are_found),
        TEST(a_run_that_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
