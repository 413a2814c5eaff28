/* Tests of symbolization while recording. Every minute, a process names the new frames. The writer
 * stores the answers during the run. The remaining frames are named at the end. The test passes the
 * time with each period. */
#include "recorder.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "code/symbolize_job.h"
#include "rpistat/clock.h"
#include "rpistat/code_recorder.h"

#define PID 7

/* --- functions that are there ----------------------------------------------------------------- */

static volatile int work;

__attribute__((noinline)) static void first_function(void)
{
    work += 2;
}

__attribute__((noinline)) static void second_function(void)
{
    work *= 3;
}

/* Return the mapping of this program as a sample. */
static struct rps_sample own_map(char path[4096])
{
    uint64_t wanted = (uint64_t)(uintptr_t)first_function, start = 0, end = 0, offset = 0,
             inode = 0;
    unsigned major = 0, minor = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4400];

    assert_non_null(maps);
    while (!(start <= wanted && wanted < end)) {
        assert_non_null(fgets(line, sizeof(line), maps));
        assert_int_equal(sscanf(line, "%lx-%lx %*s %lx %x:%x %lu %4095s", &start, &end, &offset,
                                &major, &minor, &inode, path),
                         strpbrk(line, "/[") ? 7 : 6);
    }
    fclose(maps);
    return (struct rps_sample){.kind = RPS_SAMPLE_MAP,
                               .pid = PID,
                               .tid = PID,
                               .map_address = start,
                               .map_length = end - start,
                               .file_offset = offset,
                               .major = major,
                               .minor = minor,
                               .inode = inode,
                               .path = path};
}

/* --- a recording ------------------------------------------------------------------------------ */

static void no_status(void *self, struct rps_sampling *ret)
{
    (void)self;
    snprintf(ret->event, sizeof(ret->event), "cpu-clock");
    ret->has_waits = 1;
}

static int no_samples(void *self, const struct rps_sampling_options *options,
                      const struct rps_target *target, struct rps_sampler *ret,
                      struct rps_error *err)
{
    (void)self;
    (void)options;
    (void)target;
    (void)err;
    *ret = (struct rps_sampler){.status = no_status};
    return 0;
}

struct recording {
    struct rps_code_recorder samples;
    struct rps_writer *writer;
    struct rps_run run;
    uint64_t period;
    const char *path;
};

static void begin(struct recording *r, const char *path)
{
    const struct rps_pmu pmu = {.name = "test", .open_sampler = no_samples};
    const struct rps_target target = {.kind = RPS_TARGET_LAUNCH};
    const struct rps_sampling_options options = {0};
    char own[4096];
    struct rps_sample map = own_map(own);
    struct rps_error err;

    r->path = path;
    r->writer = fixture_writer(path, NULL, &r->run);
    assert_int_equal(rps_code_recorder_open(&r->samples, &options, &pmu, NULL, &target, &err), 0);
    r->samples.begin(r->samples.self, r->writer, 0);
    r->samples.sink.sample(r->samples.sink.context, &map);
}

/* Add a sample in the function, and a period that ends at end_ns. */
static void go_on(struct recording *r, void (*function)(void), int64_t end_ns)
{
    uint64_t address = (uint64_t)(uintptr_t)function;
    const struct rps_sample sample = {.kind = RPS_SAMPLE_STACK,
                                      .time_ns = end_ns - 1,
                                      .pid = PID,
                                      .tid = PID,
                                      .address = &address,
                                      .address_count = 1};
    struct rps_period period = fixture_period(r->period, 2);

    if (function)
        r->samples.sink.sample(r->samples.sink.context, &sample);
    period.cpu = RPS_CPU_ALL;
    period.period = r->period++;
    period.start_ns = end_ns - RPS_NS_PER_S;
    period.length_ns = RPS_NS_PER_S;
    rps_writer_period(r->writer, &period);
    r->samples.period(r->samples.self, &period);
}

static int is_child_that_names(const char *pid)
{
    char path[300], name[32] = "";
    int parent = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*d (%31[^)]) %*c %d", name, &parent) != 2)
        parent = 0;
    fclose(file);
    return parent == getpid() && strcmp(name, "rpistat opens") != 0 &&
           strcmp(name, "rpistat unwinds") != 0;
}

/* Return 1 if a symbolization process exists. Unwinding processes are not counted: they have other
 * names. */
static int is_symbolizing(void)
{
    DIR *processes = opendir("/proc");
    int is_any = 0;

    assert_non_null(processes);
    for (struct dirent *entry; (entry = readdir(processes)) != NULL;)
        is_any |= entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                  is_child_that_names(entry->d_name);
    closedir(processes);
    return is_any;
}

/* Add periods at nearly the same time until the process has named all frames and the store has
 * `rows` locations. */
static void go_on_until_named(struct recording *r, int64_t time_ns, int64_t rows)
{
    const struct timespec pause = {.tv_nsec = RPS_NS_PER_MS};

    while (is_symbolizing() || fixture_number(r->path, "SELECT count(*) FROM location") < rows) {
        go_on(r, NULL, time_ns++);
        nanosleep(&pause, NULL);
    }
}

#define NAMES                                                                                      \
    "SELECT group_concat(function) FROM (SELECT function FROM location ORDER BY frame, depth)"

static void names_while_recording(void **state)
{
    const char *path = fixture_path(state, "s");
    struct recording r = {.period = 0};
    struct rps_error err = {""};

    begin(&r, path);
    for (int64_t second = 1; second < 20; second++)
        go_on(&r, first_function, second * RPS_NS_PER_S);
    assert_false(is_symbolizing()); /* no process before second 20 */
    go_on(&r, NULL, 20 * RPS_NS_PER_S);
    assert_true(is_symbolizing());
    go_on_until_named(&r, 20 * RPS_NS_PER_S + 1, 1);
    assert_string_equal(fixture_text(path, NAMES), "first_function");
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "recording");

    go_on(&r, second_function, 79 * RPS_NS_PER_S);
    assert_false(is_symbolizing()); /* no process before a minute has passed */
    go_on(&r, NULL, 80 * RPS_NS_PER_S);
    assert_true(is_symbolizing());
    go_on_until_named(&r, 80 * RPS_NS_PER_S + 1, 2);
    assert_string_equal(fixture_text(path, NAMES), "first_function,second_function");

    for (int64_t second = 81; second < 1000; second += 7) {
        go_on(&r, first_function, second * RPS_NS_PER_S);
        assert_false(is_symbolizing()); /* named frames are not requested again */
    }
    fixture_exec(path, "UPDATE location SET function = 'kept' WHERE frame = 0");
    go_on(&r, (void (*)(void))(uintptr_t)own_map, 1000 * RPS_NS_PER_S);
    assert_true(is_symbolizing()); /* this process ends before its first answer */
    r.samples.end(r.samples.self);
    assert_false(is_symbolizing());
    r.run.state = RPS_RUN_COMPLETE;
    assert_int_equal(rps_writer_end(r.writer, &r.run, &err), 0);
    assert_int_equal(r.samples.name(r.samples.self, 1, &err), 0);
    rps_writer_close(r.writer);
    rps_run_free(&r.run);
    assert_string_equal(fixture_text(path, NAMES), "kept,second_function,own_map");
    r.samples.close(r.samples.self);
}

/* Frames that could not be named are not requested again. */
static void no_name_is_an_answer(void **state)
{
    const char *path = fixture_path(state, "s");
    struct recording r = {.period = 0};
    struct rps_sample map = {.kind = RPS_SAMPLE_MAP,
                             .pid = PID,
                             .tid = PID,
                             .map_address = 0x1000,
                             .map_length = 0x1000,
                             .path = "/not/there"};

    begin(&r, path);
    r.samples.sink.sample(r.samples.sink.context, &map);
    go_on(&r, (void (*)(void))(uintptr_t)0x1100, RPS_NS_PER_S);
    go_on(&r, NULL, 20 * RPS_NS_PER_S);
    assert_true(is_symbolizing());
    go_on_until_named(&r, 20 * RPS_NS_PER_S + 1, 1);
    assert_string_equal(fixture_text(path, "SELECT how || ' ' || function FROM location"),
                        "none not there any more");
    for (int64_t second = 40; second < 500; second += 20) {
        go_on(&r, NULL, second * RPS_NS_PER_S);
        assert_false(is_symbolizing());
    }
    r.samples.end(r.samples.self);
    fixture_end(r.writer, &r.run);
    r.samples.close(r.samples.self);
}

/* A wait whose end is found late lies in periods that are no longer known. The time of the wait is
 * counted, or it is unknown. A wait that ends with its thread is counted. */
static void late_waits(void **state)
{
    const char *path = fixture_path(state, "s");
    struct recording r = {.period = 0};
    struct rps_sample sample = {.kind = RPS_SAMPLE_ASLEEP, .time_ns = RPS_NS_PER_S};

    begin(&r, path);
    r.samples.sink.sample(r.samples.sink.context, &sample); /* all switches are read from here on */
    for (int64_t second = 1; second <= 10; second++)
        go_on(&r, NULL, second * RPS_NS_PER_S);
    sample.kind = RPS_SAMPLE_AWAKE;
    sample.time_ns = 10 * RPS_NS_PER_S - RPS_NS_PER_S / 4;
    sample.pid = sample.tid = PID + 1; /* its first record */
    r.samples.sink.sample(r.samples.sink.context, &sample);
    sample.kind = RPS_SAMPLE_ASLEEP;
    r.samples.sink.sample(r.samples.sink.context, &sample);
    sample.kind = RPS_SAMPLE_EXIT;
    sample.time_ns = 10 * RPS_NS_PER_S;
    r.samples.sink.sample(r.samples.sink.context, &sample);
    r.samples.end(r.samples.self);
    fixture_end(r.writer, &r.run);
    r.samples.close(r.samples.self);
    assert_int_equal(fixture_number(path, "SELECT blocked_off_us > 0 FROM sampling"), 1);
    assert_int_equal(fixture_number(path, "SELECT blocked_us > 2000000 FROM sampling"), 1);
    assert_int_equal(fixture_number(path, "SELECT blocked_us + blocked_off_us FROM sampling"),
                     9000000);
}

/* --- the process ------------------------------------------------------------------------------ */

static void see_nothing(void *context, const struct rps_module *module)
{
    (void)context;
    (void)module;
}

static void see_frame(void *context, const struct rps_frame *frame)
{
    (void)context;
    (void)frame;
}

static void see_stack(void *context, const struct rps_stack *stack)
{
    (void)context;
    (void)stack;
}

static void see_task(void *context, const struct rps_task *task)
{
    (void)context;
    (void)task;
}

static void see_count(void *context, int64_t time_ns, int32_t cpu, int64_t stack, int64_t task)
{
    (void)context;
    (void)time_ns;
    (void)cpu;
    (void)stack;
    (void)task;
}

static int count_told(void *context, const struct rps_symbolize_message *told)
{
    size_t *count = context;

    assert_int_equal(told->index, *count);
    assert_string_equal(told->location[0].function, "no file is mapped there");
    (*count)++;
    return 0;
}

/* The process has more answers than a pipe holds, so that it waits. The parent reads one part at a
 * time. */
static void a_part_at_a_time(void **state)
{
    const struct rps_tracker_sink sink = {.module = see_nothing,
                                          .frame = see_frame,
                                          .stack = see_stack,
                                          .task = see_task,
                                          .count = see_count};
    struct rps_symbolize_job job = {0};
    struct rps_tracker *tracker;
    struct pollfd ready = {.events = POLLIN};
    cpu_set_t near, found;
    int cpu = 0;
    size_t told = 0, parts = 0;
    struct rps_error err;

    (void)state;
    assert_int_equal(rps_tracker_new(&tracker, 0, &sink, &err), 0);
    for (uint64_t address = 0; address < 6000; address++) {
        const struct rps_sample sample = {.kind = RPS_SAMPLE_STACK,
                                          .pid = PID,
                                          .tid = PID,
                                          .address = &address,
                                          .address_count = 1};

        rps_tracker_add(tracker, &sample);
    }
    assert_int_equal(sched_getaffinity(0, sizeof(job.home), &job.home), 0);
    while (!CPU_ISSET(cpu, &job.home))
        cpu++;
    CPU_ZERO(&near);
    CPU_SET(cpu, &near);
    assert_int_equal(sched_setaffinity(0, sizeof(near), &near), 0);
    rps_symbolize_job_start(&job, tracker);
    assert_int_equal(sched_setaffinity(0, sizeof(job.home), &job.home), 0);
    assert_true(job.pid > 0);
    for (; job.pid > 0; parts++) {
        ready.fd = job.fd;
        assert_int_equal(poll(&ready, 1, -1), 1);
        if (parts == 0) {
            assert_int_equal(getpriority(PRIO_PROCESS, (id_t)job.pid), 19);
            assert_int_equal(sched_getaffinity(job.pid, sizeof(found), &found), 0);
            assert_true(CPU_EQUAL(&found, &job.home)); /* runs on another CPU than the parent */
        }
        rps_symbolize_job_receive(&job, count_told, &told);
    }
    assert_int_equal(told, 6000);
    assert_true(parts > 3);
    assert_true(job.cpu_ns > 0);

    rps_symbolize_job_start(&job, tracker);
    rps_symbolize_job_end(&job); /* the job may be ended at any time */
    rps_symbolize_job_end(&job);
    assert_false(is_symbolizing());
    rps_symbolize_job_receive(&job, count_told, &told);
    assert_int_equal(told, 6000);
    rps_tracker_free(tracker);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_while_recording),
        TEST(no_name_is_an_answer),
        TEST(late_waits),
        cmocka_unit_test(a_part_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
