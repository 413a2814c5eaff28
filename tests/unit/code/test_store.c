/* Tests of code in the store: written code is read back, counts add up even if their periods are
 * downsampled, and hostile stores are not trusted. */
#include "recorder.h"
#include "sound.h"

#include <stdlib.h>
#include <string.h>

#include "code/record_counts.h"
#include "rpistat/clock.h"
#include "rpistat/code_store.h"

/* Result of a query of counts. */
struct seen {
    uint64_t samples, rows;
    uint64_t of[FIXTURE_STACKS + 2];
};

static int see(void *context, const struct rps_code_count *count, struct rps_error *err)
{
    struct seen *seen = context;

    (void)err;
    seen->samples += count->samples;
    seen->rows++;
    if (count->id < FIXTURE_STACKS + 2)
        seen->of[count->id] += count->samples;
    return 0;
}

static struct seen counts_of(struct rps_reader *reader, int tasks, uint64_t first, uint64_t last)
{
    struct seen seen = {0};
    const struct rps_code_count_query query = {.what = tasks ? RPS_COUNT_TASKS : RPS_COUNT_STACKS,
                                               .cpu = RPS_CPU_ALL,
                                               .first = first,
                                               .last = last,
                                               .count = see,
                                               .context = &seen};
    struct rps_error err;

    if (rps_reader_code_counts(reader, 1, &query, &err) < 0)
        fail_msg("%s", err.message);
    return seen;
}

static struct rps_arena *arena; /* memory of all code that is read */

/* Return the code of a store. The store must have code. */
static struct rps_code code_of(const char *path)
{
    struct rps_reader *reader = fixture_reader(path);
    struct rps_code code;
    struct rps_error err;

    if (rps_reader_code(arena, reader, 1, &code, &err) <= 0)
        fail_msg("%s", err.message);
    rps_reader_close(reader);
    return code;
}

static void what_is_handed_over(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_code code;
    struct rps_reader *reader;
    struct seen seen;

    sound_store(path, 1, 100, 0);
    code = code_of(path);
    assert_string_equal(code.sampling.event, "cpu-clock");
    assert_int_equal(code.sampling.samples, 100 * FIXTURE_SAMPLES);
    assert_int_equal(code.sampling.complete, 100);
    assert_int_equal(code.module_count, 2);
    assert_string_equal(code.module[1].path, "/usr/bin/b");
    assert_string_equal(code.module[0].build_id, "00ff");
    assert_int_equal(code.frame_count, FIXTURE_STACKS);
    assert_int_equal(code.frame[39].address, 0x1000 + 16 * 39);
    assert_int_equal(code.frame[39].module, 1);
    assert_int_equal(code.stack[8].parent, -1);
    assert_int_equal(code.stack[9].parent, 8);
    assert_int_equal(code.task_count, 2);
    assert_string_equal(code.task[1].name, "worker");
    assert_int_equal(code.task[1].start_ns, 2000000000);
    assert_int_equal(code.task[1].end_ns, -1);
    assert_int_equal(code.task[1].cgroup, -1);
    assert_string_equal(code.task[1].file, "");
    assert_int_equal(code.task[0].cgroup, 0);
    assert_int_equal(code.cgroup_count, 1);
    assert_string_equal(code.cgroup[0].path, "/system.slice/work.service");
    reader = fixture_reader(path);
    seen = counts_of(reader, 0, 0, UINT64_MAX);
    assert_int_equal(seen.samples, 100 * FIXTURE_SAMPLES);
    assert_int_equal(seen.of[0], 100 + 3 * 2);
    assert_int_equal(seen.of[39], 2 * 2);
    assert_int_equal(counts_of(reader, 1, 10, 29).of[0], 10 * FIXTURE_SAMPLES);
    assert_int_equal(counts_of(reader, 0, 100, UINT64_MAX).rows, 0);
    rps_reader_close(reader);
    assert_int_equal(fixture_number(path, "SELECT sum(samples) FROM stack_count"), 300);
    assert_string_equal(fixture_text(path, "SELECT group_concat(function || ' ' || samples) FROM"
                                           " function_count WHERE period = 5"),
                        "/usr/bin/a+0x1000 1,/usr/bin/b+0x1050 2");
}

/* A count that is written twice or late is added. A task that is written again gets a new name, end
 * and CPU time. A program that is written again gets new sums. A frame that is written again does
 * not end the recording. */
static void what_comes_again(void **state)
{
    const char *path = fixture_path(state, "s");
    const struct rps_task task = {
        0, 100, 100, "renamed", INT64_C(4000000000), INT64_C(7000000000), -1, 1, "src/read.c"};
    const struct rps_cgroup cgroup = {1, "/b"};
    const struct rps_code_count count = {.cpu = RPS_CPU_ALL, .period = 3, .id = 0, .samples = 5};
    const struct rps_frame frame = {2, 1, 7, 0};
    struct rps_program program = {0, "md5sum", 6000, 5, 4000, 3, 2, -1};
    struct rps_reader *reader;
    struct rps_code code;
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    recorder_write(writer, 0, 8);
    for (uint64_t n = 0; n < 8; n++)
        fixture_code(writer, n);
    rps_writer_code_count(writer, RPS_COUNT_STACKS, &count);
    rps_writer_code_count(writer, RPS_COUNT_STACKS, &count);
    rps_writer_cgroup(writer, &cgroup);
    rps_writer_task(writer, &task);
    rps_writer_process_time(writer, 0, INT64_C(8000000000));
    rps_writer_program(writer, &program);
    program.cpu_ns++;
    rps_writer_program(writer, &program);
    program = (struct rps_program){1, "xz", 0, 0, 0, 0, 0, INT64_C(9000000000)};
    rps_writer_program(writer, &program);
    rps_writer_frame(writer, &frame);
    fixture_end(writer, &run);
    reader = fixture_reader(path);
    assert_int_equal(counts_of(reader, 0, 3, 3).of[0], 1 + 2 * 5);
    rps_reader_close(reader);
    code = code_of(path);
    assert_string_equal(code.task[0].name, "renamed");
    assert_int_equal(code.task[0].start_ns, INT64_C(4000000000));
    assert_int_equal(code.task[0].end_ns, INT64_C(7000000000));
    assert_string_equal(code.task[0].file, "src/read.c");
    assert_int_equal(code.task[0].process_ns, INT64_C(8000000000));
    assert_int_equal(code.task[0].cgroup, 1);
    assert_string_equal(code.cgroup[1].path, "/b");
    assert_int_equal(code.program_count, 2);
    assert_int_equal(code.program[0].wait_ns, -1);
    assert_int_equal(code.program[1].wait_ns, INT64_C(9000000000));
    assert_string_equal(code.program[0].name, "md5sum");
    assert_int_equal(code.program[0].cpu_ns, 6001);
    assert_int_equal(code.program[0].samples, 5);
    assert_int_equal(code.program[0].unsampled_ns, 4000);
    assert_int_equal(code.program[0].unsampled_processes, 3);
    assert_int_equal(code.program[0].unsampled_threads, 2);
    assert_int_equal(code.frame[2].address, 0x1000 + 16 * 2);
}

static uint64_t blocked_us(struct rps_reader *reader, uint64_t first, uint64_t last, int64_t stack)
{
    struct seen seen = {0};
    const struct rps_code_count_query query = {.what = RPS_COUNT_BLOCKED,
                                               .cpu = RPS_CPU_ALL,
                                               .first = first,
                                               .last = last,
                                               .count = see,
                                               .context = &seen};
    struct rps_error err;

    assert_int_equal(rps_reader_code_counts(reader, 1, &query, &err), 0);
    return seen.of[stack];
}

/* Downsampling keeps the sums. A block counts at its first period. A count that arrives while its
 * period is downsampled keeps its period number. */
static void downsampled_counts(void **state)
{
    const char *path = fixture_path(state, "s");
    const struct rps_code_count late = {.cpu = RPS_CPU_ALL, .period = 5, .id = 7, .samples = 1000};
    const struct rps_writer_options keep = {.keep_ns = 60 * SOUND_LENGTH_NS};
    const uint64_t long_us = 90000000000; /* one day of one thread, in each period */
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &keep, &run);
    struct rps_reader *reader;
    struct findings findings;
    struct seen seen;

    for (uint64_t n = 0; n < 4000; n++) {
        const struct rps_code_count blocked = {
            .cpu = RPS_CPU_ALL, .period = n, .id = 3, .samples = n < 1000 ? long_us : n};
        struct rps_period period = sound_period(n % 500);

        period.period = n;
        period.rotation = n / 2;
        period.set_no = n % 2;
        period.cycle = (n + 1) * 70000000;
        period.cycles = 70000000;
        period.start_ns = (int64_t)n * SOUND_LENGTH_NS;
        rps_writer_period(writer, &period);
        fixture_code(writer, n);
        rps_writer_code_count(writer, RPS_COUNT_BLOCKED, &blocked);
        if (n % 500 == 0)
            fixture_wait_committed(writer, n);
        if (n == 1000) /* period 5 is already downsampled, and will be again */
            rps_writer_code_count(writer, RPS_COUNT_STACKS, &late);
    }
    fixture_code(writer, 4000);
    fixture_wait_committed(writer, 4000);
    rps_writer_code_count(writer, RPS_COUNT_STACKS, &late);
    fixture_end(writer, &run);
    fixture_exec(path,
                 "UPDATE sampling SET samples = 14000, lost = 2000, blocked_us = 90000007498500");
    reader = fixture_reader(path);
    seen = counts_of(reader, 0, 0, UINT64_MAX);
    assert_int_equal(seen.samples, 4000 * FIXTURE_SAMPLES + 2000);
    assert_int_equal(seen.of[0], 4000 + 100 * 2);
    assert_int_equal(seen.of[39], 100 * 2);
    assert_int_equal(counts_of(reader, 1, 0, UINT64_MAX).samples, 4000 * FIXTURE_SAMPLES);
    assert_int_equal(counts_of(reader, 0, 1, 4).rows, 0); /* counted in the block that begins at
                                                             0 */
    assert_int_equal(counts_of(reader, 0, 5, 5).of[7], 1000);
    assert_int_equal(blocked_us(reader, 0, UINT64_MAX, 3), 1000 * long_us + 7498500);
    assert_int_equal(blocked_us(reader, 3999, 3999, 3), 3999);
    assert_int_equal(counts_of(reader, 0, 3999, 3999).of[39], 2);
    rps_reader_close(reader);
    assert_in_range(fixture_number(path, "SELECT count(*) FROM code_count"), 60, 200);
    assert_int_equal(fixture_number(path, "SELECT max(level) FROM code_count"), 2);
    assert_int_equal(fixture_number(path, "SELECT sum(us) FROM blocked_time"), 90000007498500);
    sound_check(&findings, path);
    assert_string_equal(findings.text, "");
    fixture_exec(path, "UPDATE sampling SET blocked_us = 90000007498507, lost = 0, samples = 0");
    sound_check(&findings, path);
    assert_non_null(strstr(findings.text, "microseconds off the CPU by which"));
}

static void periods_of_a_part(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader;
    uint64_t first = 0, last = 0;
    struct rps_error err;

    sound_store(path, 1, 500, 100 * SOUND_LENGTH_NS); /* a downsampled store */
    reader = fixture_reader(path);
    assert_int_equal(rps_reader_periods(reader, 1, 0, INT64_MAX, &first, &last, &err), 1);
    assert_int_equal(first, 0);
    assert_int_equal(last, 499);
    assert_int_equal(rps_reader_periods(reader, 1, 450 * SOUND_LENGTH_NS, 460 * SOUND_LENGTH_NS,
                                        &first, &last, &err),
                     1);
    assert_int_equal(first, 450);
    assert_int_equal(last, 459);
    assert_int_equal(
        rps_reader_periods(reader, 1, 500 * SOUND_LENGTH_NS, INT64_MAX, &first, &last, &err), 0);
    rps_reader_close(reader);
}

/* Rows of formats up to 1.3 are read together with rows of today's format. */
static void older_rows(void **state)
{
    static const char sql[] = "SELECT group_concat(stack || ' ' || samples) FROM (SELECT * FROM"
                              " stack_count WHERE period < 2 ORDER BY period, stack)";
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader;
    struct seen seen;

    sound_store(path, 1, 2, 0);
    fixture_exec(path, "DELETE FROM code_count WHERE part > (SELECT min(part) FROM code_count AS of"
                       " WHERE of.period = code_count.period)"); /* one row per period */
    fixture_exec(path, "UPDATE code_count SET stacks = '{\"1\":[3,4,39],\"20\":[0]}', tasks ="
                       " '{\"23\":[1]}' WHERE period = 0");
    fixture_exec(path, "UPDATE code_count SET stacks = 'Q`TP\"g', tasks = 'Sc'"
                       " WHERE period = 1");
    assert_string_equal(fixture_text(path, sql), "0 20,3 1,4 1,39 1,0 20,3 1,4 1,39 1");
    assert_int_equal(fixture_number(path, "SELECT sum(samples * (task = 1)) FROM task_count"), 46);
    reader = fixture_reader(path);
    seen = counts_of(reader, 0, 0, UINT64_MAX);
    assert_int_equal(seen.samples, 46);
    assert_int_equal(seen.of[0], 40);
    assert_int_equal(seen.of[39], 2);
    assert_int_equal(counts_of(reader, 1, 0, 0).of[1], 23);
    assert_int_equal(counts_of(reader, 1, 1, 1).of[1], 23);
    rps_reader_close(reader);
}

/* Rows of new stacks with consecutive numbers are short. The views return small and large numbers
 * as they were written. */
static void rows_are_short(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_code_count count = {.cpu = RPS_CPU_ALL, .period = 3, .samples = 1};
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    recorder_write(writer, 0, 8);
    for (count.id = 123456; count.id < 123456 + 100; count.id++)
        rps_writer_code_count(writer, RPS_COUNT_STACKS, &count);
    fixture_end(writer, &run);
    assert_string_equal(fixture_text(path, "SELECT group_concat(stack) FROM (SELECT stack FROM"
                                           " stack_count ORDER BY stack LIMIT 3)"),
                        "123456,123457,123458");
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM stack_count WHERE samples = 1 AND"
                                          " stack BETWEEN 123456 AND 123555"),
                     100);
    /* four characters for the first number of a row, one for each further number */
    assert_int_equal(fixture_number(path, "SELECT sum(length(stacks) - 3) FROM code_count"), 100);
}

/* --- hostile stores --------------------------------------------------------------------------- */

/* The new stacks of a transaction are written as one row. A lost stack begins another row. */
static void paths(void **state)
{
    static const struct rps_stack first[] = {{0, -1, 7}, {1, 0, 7}, {2, 1, 3}, {3, 2, 90}},
                                  second[] = {{4, 3, 3},  {5, 1, 5}, {6, 5, 4},
                                              {8, 6, 95}, {9, 8, 0}, {10, -1, 9}};
    const char *path = fixture_path(state, "s");
    struct rps_code code;
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    recorder_write(writer, 0, 1);
    for (int64_t n = 0; n < 100; n++) {
        const struct rps_frame frame = {n, -1, (uint64_t)n, 0};

        rps_writer_frame(writer, &frame);
    }
    fixture_code(writer, FIXTURE_STACKS); /* describes how the code was sampled */
    recorder_commit_each(writer, 3600 * RPS_NS_PER_S);
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        rps_writer_stack(writer, &first[i]);
    recorder_write(writer, 1, 10);
    recorder_commit_each(writer, 0);
    fixture_wait_committed(writer, 10);
    recorder_commit_each(writer, 3600 * RPS_NS_PER_S);
    for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++)
        rps_writer_stack(writer, &second[i]);
    fixture_end(writer, &run);
    assert_string_equal(fixture_text(path, "SELECT group_concat(stack || ' ' || ifnull(parent, '-')"
                                           " || ' ' || frame || ' ' || ifnull(calls, '-'), ', ')"
                                           " FROM stack"),
                        "0 - 7 NU$u, 4 3 3 {RRO, 8 6 95 %W{N`");
    assert_string_equal(
        fixture_text(path, "SELECT group_concat(stack || ' ' || ifnull(parent, '-') || ' ' ||"
                           " frame, ', ') FROM (SELECT * FROM stack_frame ORDER BY stack)"),
        "0 - 7, 1 0 7, 2 1 3, 3 2 90, 4 3 3, 5 1 5, 6 5 4, 8 6 95, 9 8 0, 10 - 9");
    code = code_of(path);
    assert_int_equal(code.stack_count, 11);
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        assert_memory_equal(&code.stack[first[i].stack], &first[i], sizeof(first[i]));
    for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++)
        assert_memory_equal(&code.stack[second[i].stack], &second[i], sizeof(second[i]));
    assert_int_equal(code.stack[7].frame, -1); /* stack 7 was lost */
}

static void malformed_texts(void **state)
{
    static const struct {
        const char *text;
        int numbers; /* numbers before the malformed part; + 100: none malformed */
    } cases[] = {
        {"", 100},
        {"P", 101},
        {"ZPQm", 103},
        {"LI.v", 101}, /* number 1999999 */
        {"LI.x", 0},   /* number 2000000 */
        {"LI.vP", 1},  /* 1999999 and a number above the limit */
        {"PN", 1},     /* the same number twice */
        {"N", 0},      /* number -1 */
        {"P{", 1},
        {"PQ", 1}, /* a repetition without a count */
        {"PQ!", 1},
        {"P!", 1},
        {"P P", 1},
        {"P\xc3\xa4", 1},
        {"!!!!!!!!P", 101}, /* a number of the maximum length */
        {"!!!!!!!!!P", 0},
        {"QMMMMMMMMMz", 0},
        {"QMMMMMMMMz", 101},
        {"{}", 100},
        {"{\"1\":[0]}", 101},
        {"{\"1\":[5,6],\"33\":[7]}", 103},
        {"{", 0},
        {"{}x", 0},
        {"{\"1\":[]}", 0},
        {"{\"1\":[1", 1},
        {"{\"1\":[1,", 1},
        {"{\"1\":[1]", 1},
        {"{\"1\":[1],}", 1},
        {"{\"1\":[-1]}", 0},
        {"{\"1\":[1999999]}", 101},
        {"{\"1\":[2000000]}", 0},
        {"{\"1\":[99999999999]}", 0},
        {"{\"99999999999\":[1]}", 0},
        {"{\"x\":[1]}", 0},
        {"[1]", 101},
        {" {}", 0},
        {"{\"1\":[1.5]}", 1},
        {"{\"1\":7}", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rps_code_counts_text text = {.at = cases[i].text};
        int numbers = 0;
        int64_t number;

        while (rps_code_counts_next(&text, &number))
            numbers++;
        if (numbers + (text.is_malformed ? 0 : 100) != cases[i].numbers)
            fail_msg("%s: %d numbers", cases[i].text, numbers);
    }
}

/* All numbers that are read from a hostile row are valid indexes, or -1. */
static void hostile_rows(void **state)
{
    static const char *const sql[] = {
        "UPDATE stack SET parent = stack",
        "UPDATE stack SET parent = 9223372036854775807",
        "UPDATE stack SET stack = 9223372036854775807 WHERE stack = (SELECT max(stack) FROM stack)",
        "UPDATE stack SET stack = stack - 50",
        "UPDATE stack SET frame = -9223372036854775808",
        "UPDATE stack SET frame = 9223372036854775807",
        "UPDATE stack SET frame = 7, calls = printf('%.*c', 10000, 'O')",
        "UPDATE stack SET frame = 7, calls = printf('%.*c', 10000, 'N')",
        "UPDATE stack SET calls = printf('%.*c', 10000, 'M')",
        "UPDATE stack SET calls = 'MMMMMMz' || calls",
        "UPDATE stack SET stack = 1999998 WHERE stack = (SELECT max(stack) FROM stack)",
        "UPDATE frame SET module = 77; UPDATE frame SET frame = 999999 WHERE frame = 39",
        "UPDATE module SET kind = 'x', path = printf('%.*c', 100000, 'p') || char(7)",
        "DELETE FROM module; DELETE FROM frame WHERE frame % 2",
        "UPDATE task SET pid = -5, tid = 1 << 60, start_ns = -1, end_ns = -1, task = task + 7",
        "UPDATE cgroup SET cgroup = 99999, path = char(7)",
        "UPDATE task SET cgroup = -1 << 62; UPDATE cgroup SET cgroup = -1 << 62",
        "UPDATE task SET cgroup = 1 << 62 WHERE task = 1; DELETE FROM cgroup",
        "INSERT INTO location VALUES (1, 3, 1, 'f', '', -1, 'how', -1), (1, 77, 0, 'f', '', 1, "
        "'debug', 77)",
        "UPDATE code_count SET stacks = '!', tasks = '{\"1\":[1999999]}'",
        "UPDATE code_count SET stacks = 'MMMMMMz', tasks = 'LI.v'",
        "UPDATE code_count SET cpu = cpu * (1 << 40), period = -period, level = 7",
        "UPDATE code_count SET part = part + 9223372036854770000; INSERT INTO code_count SELECT "
        "run_id,"
        " 3, cpu, period, -part, stacks, tasks, '~' FROM code_count",
        "UPDATE sampling SET samples = -1, lost = -1, frequency = -1 << 62",
    };
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    unsigned char *data;
    size_t size;

    sound_store(path, 1, 50, 0);
    data = sound_read(path, &size);
    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
        struct findings findings;
        struct rps_reader *reader;
        struct rps_code code;

        sound_write(path, data, size);
        fixture_exec(path, sql[i]);
        code = code_of(path);
        assert_in_range(code.stack_count, 0, RPS_CODE_NUMBER_MAX);
        for (size_t n = 0; n < code.stack_count; n++) {
            assert_true(code.stack[n].stack == (int64_t)n);
            assert_true(code.stack[n].parent < (int64_t)n && code.stack[n].parent >= -1);
            assert_true(code.stack[n].frame < (int64_t)code.frame_count);
        }
        for (size_t n = 0; n < code.frame_count; n++)
            assert_true(code.frame[n].module < (int64_t)code.module_count);
        for (size_t n = 0; n < code.task_count; n++)
            assert_true(code.task[n].cgroup >= -1 &&
                        code.task[n].cgroup < (int64_t)code.cgroup_count);
        reader = fixture_reader(path);
        counts_of(reader, 0, 0, UINT64_MAX);
        counts_of(reader, 1, 0, UINT64_MAX);
        rps_reader_close(reader);
        sound_repair(&findings, path, saved);
        if (i + 1 < sizeof(sql) / sizeof(sql[0])) /* the last statement changes only the totals */
            continue;
        assert_int_equal(fixture_number(saved, "SELECT samples FROM sampling"),
                         50 * FIXTURE_SAMPLES);
    }
    free(data);
}

/* Hostile stacks are cut to the largest depth of samples, and locations to 64 per frame. */
static void hostile_depths(void **state)
{
    const char *path = fixture_path(state, "s");
    size_t frames[1000] = {0}, most = 0;
    struct rps_code code;

    sound_store(path, 1, 50, 0);
    fixture_exec(
        path,
        "WITH RECURSIVE n (i) AS (SELECT 40 UNION ALL SELECT i + 1 FROM n WHERE i <"
        " 999) INSERT INTO stack SELECT 1, i, i - 1, 0, NULL FROM n;"
        "INSERT INTO location SELECT 1, 0, stack, 'f', '', 1, 'debug', NULL FROM stack_frame");
    code = code_of(path);
    assert_int_equal(code.stack_count, 1000);
    for (size_t n = 0; n < 1000; n++) {
        frames[n] = 1 + (code.stack[n].parent >= 0 ? frames[code.stack[n].parent] : 0);
        most = frames[n] > most ? frames[n] : most;
    }
    assert_int_equal(most, RPS_SAMPLE_DEPTH_MAX);
    assert_int_equal(code.location_count, 64);
}

/* --- names ------------------------------------------------------------------------------------ */

static void names_beside_a_recorder(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_location location[] = {{3, 0, "inlined", "a.h", 7, RPS_LOCATION_DEBUG},
                                      {3, 1, "main", "a.c", 70, RPS_LOCATION_DEBUG},
                                      {4, 0, "stripped", "", 0, RPS_LOCATION_NONE}};
    struct rps_code code = {.location_count = 3, .location = location};
    struct rps_error err;
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    recorder_write(writer, 0, 10);
    for (uint64_t n = 0; n <= 10; n++)
        fixture_code(writer, n);
    fixture_wait_committed(writer, 10);
    assert_int_equal(rps_store_set_locations(path, 1, &code, &err), 0);
    assert_int_equal(rps_store_set_locations(path, 7, &code, &err), RPS_FAILED);
    fixture_says(&err, "run 7", NULL);
    location[1] = (struct rps_location){3, 0, "outer", "a.h", 8, RPS_LOCATION_DEBUG};
    code = (struct rps_code){.location_count = 1, .location = &location[1]};
    /* only the location of frame 3 */
    assert_int_equal(rps_store_set_locations(path, 1, &code, &err), 0);
    recorder_write(writer, 10, 20);
    location[0] = (struct rps_location){5, 0, "found meanwhile", "b.c", 9, RPS_LOCATION_SYMBOL};
    rps_writer_location(writer, &location[0], -1);
    fixture_end(writer, &run);
    code = code_of(path);
    assert_int_equal(code.location_count, 3);
    assert_string_equal(code.location[0].function, "outer");
    assert_int_equal(code.location[0].line, 8);
    assert_string_equal(code.location[1].function, "stripped");
    assert_int_equal(code.location[2].frame, 5);
    assert_string_equal(code.location[2].function, "found meanwhile");
    assert_string_equal(code.location[2].file, "b.c");
    assert_int_equal(code.location[2].line, 9);
    assert_int_equal(code.location[2].how, RPS_LOCATION_SYMBOL);
    assert_int_equal(fixture_number(path, "SELECT samples FROM function_count WHERE period = 3"
                                          " AND function = 'outer'"),
                     2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

static int make_arena(void **state)
{
    (void)state;
    arena = rps_arena_new();
    return 0;
}

static int free_arena(void **state)
{
    (void)state;
    rps_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_handed_over),
        TEST(what_comes_again),
        TEST(downsampled_counts),
        TEST(periods_of_a_part),
        TEST(older_rows),
        TEST(rows_are_short),
        TEST(paths),
        TEST(malformed_texts),
        TEST(hostile_rows),
        TEST(hostile_depths),
        TEST(names_beside_a_recorder),
    };

    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
