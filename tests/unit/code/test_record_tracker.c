/* Tests of the tracker: samples become modules, frames, stacks and tasks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpistat/clock.h"
#include "seen.h"

#define START 1000

static struct seen seen;
static struct rps_tracker *tracker;
static int64_t now;

/* Number of allocations until one fails (negative: none fails). */
static long left = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void *__real_reallocarray(void *pointer, size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void *__wrap_reallocarray(void *pointer, size_t count, size_t size);
char *__wrap_strdup(const char *text);

static int fails(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *pointer, size_t size)
{
    return fails() ? NULL : __real_realloc(pointer, size);
}

void *__wrap_reallocarray(void *pointer, size_t count, size_t size)
{
    return fails() ? NULL : __real_reallocarray(pointer, count, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void add_map(pid_t pid, uint64_t start, uint64_t length, uint64_t offset, const char *path)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_MAP,
                                .time_ns = ++now,
                                .pid = pid,
                                .tid = pid,
                                .map_address = start,
                                .map_length = length,
                                .file_offset = offset,
                                .path = path};

    rps_tracker_add_known(tracker, &sample);
}

static void add_fork(pid_t parent, pid_t pid, pid_t tid)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_FORK,
                                .time_ns = ++now,
                                .pid = pid,
                                .tid = tid,
                                .parent_pid = parent,
                                .parent_tid = parent};

    rps_tracker_add_known(tracker, &sample);
}

static void add_name(pid_t pid, pid_t tid, int is_exec, const char *name)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_NAME,
                                .time_ns = ++now,
                                .pid = pid,
                                .tid = tid,
                                .is_exec = is_exec,
                                .path = name};

    rps_tracker_add_known(tracker, &sample);
}

static void add_exit(pid_t pid, pid_t tid)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_EXIT, .time_ns = ++now, .pid = pid, .tid = tid};

    rps_tracker_add_known(tracker, &sample);
}

static void add_time(pid_t pid, pid_t tid, int64_t cpu_time_ns)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_TIME,
                                .time_ns = ++now,
                                .pid = pid,
                                .tid = tid,
                                .cpu_time_ns = cpu_time_ns};

    rps_tracker_add(tracker, &sample);
}

static void add_symbol(uint64_t address, uint64_t length, const char *name, const char *file,
                       int line)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_SYMBOL,
                                .map_address = address,
                                .map_length = length,
                                .path = name,
                                .source_file = file,
                                .source_line = line};

    rps_tracker_add(tracker, &sample);
}

static void add_stack(pid_t pid, pid_t tid, const uint64_t *address, size_t count, size_t kernel)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_STACK,
                                .time_ns = ++now,
                                .cpu = 3,
                                .pid = pid,
                                .tid = tid,
                                .address = address,
                                .address_count = count,
                                .kernel_count = kernel};

    rps_tracker_add_known(tracker, &sample);
}

static void add_address(pid_t pid, uint64_t address)
{
    add_stack(pid, pid, &address, 1, 0);
}

/* --- what is expected ------------------------------------------------------------------------- */

static void expect_frame(int depth, enum rps_module_kind kind, const char *path, uint64_t address)
{
    const struct rps_frame *frame = seen_frame(&seen, depth);

    assert_non_null(frame);
    assert_int_equal(seen_module(&seen, depth)->kind, kind);
    assert_string_equal(seen_module(&seen, depth)->path, path);
    assert_int_equal(frame->address, address);
}

/* Check the only frame of the last sample. */
static void expect_only(enum rps_module_kind kind, const char *path, uint64_t address)
{
    expect_frame(0, kind, path, address);
    assert_null(seen_frame(&seen, 1));
}

static struct rps_sampling status(void)
{
    struct rps_sampling ret = {.lost = 0};

    rps_tracker_status(tracker, &ret);
    return ret;
}

static int open_tracker(void **state)
{
    (void)state;
    left = -1;
    now = START;
    tracker = seen_tracker(&seen, START);
    return tracker ? 0 : -1;
}

static int close_tracker(void **state)
{
    (void)state;
    rps_tracker_free(tracker);
    tracker = NULL;
    return 0;
}

/* --- maps ------------------------------------------------------------------------------------- */

static void test_file(void **state)
{
    struct rps_sample map = {.kind = RPS_SAMPLE_MAP,
                             .pid = 7,
                             .tid = 7,
                             .map_address = 0x400000,
                             .map_length = 0x1000,
                             .file_offset = 0x2000,
                             .build_id = {0xab, 0x01},
                             .build_id_bytes = 2,
                             .path = "/bin/a"};

    (void)state;
    rps_tracker_add(tracker, &map);
    add_address(7, 0x400123);
    expect_only(RPS_MODULE_FILE, "/bin/a", 0x2123);
    assert_string_equal(seen.module[0].build_id, "ab01");
    assert_int_equal(seen.cpu, 3);
    assert_int_equal(seen.time_ns, now);
    assert_int_equal(status().samples, 1);
    assert_int_equal(status().unmapped, 0);

    map.build_id[1] = 2; /* another build at the same path is another module */
    map.pid = map.tid = 8;
    rps_tracker_add(tracker, &map);
    add_address(8, 0x400123);
    assert_int_equal(seen.module_count, 2);
    assert_string_equal(seen_module(&seen, 0)->build_id, "ab02");
}

static void test_maps_replace(void **state)
{
    (void)state;
    add_map(7, 0x10000, 0x8000, 0, "/lib/old");
    add_map(7, 0x12000, 0x2000, 0x5000, "/lib/new"); /* maps into the middle of /lib/old */
    add_address(7, 0x11fff);
    expect_only(RPS_MODULE_FILE, "/lib/old", 0x1fff);
    add_address(7, 0x12000);
    expect_only(RPS_MODULE_FILE, "/lib/new", 0x5000);
    add_address(7, 0x13fff);
    expect_only(RPS_MODULE_FILE, "/lib/new", 0x6fff);
    add_address(7, 0x14000);
    expect_only(RPS_MODULE_FILE, "/lib/old", 0x4000);

    add_map(7, 0x11000, 0x4000, 0, "/lib/over"); /* replaces the ends of two mappings and all of
                                                    a third */
    add_address(7, 0x10fff);
    expect_only(RPS_MODULE_FILE, "/lib/old", 0xfff);
    add_address(7, 0x13000);
    expect_only(RPS_MODULE_FILE, "/lib/over", 0x2000);
    add_address(7, 0x15000);
    expect_only(RPS_MODULE_FILE, "/lib/old", 0x5000);
    add_address(7, 0x18000); /* address after the end of the mapping */
    expect_only(RPS_MODULE_MEMORY, "", 0x18000);
    add_address(7, 0xffff);
    expect_only(RPS_MODULE_MEMORY, "", 0xffff);
    assert_int_equal(status().unmapped, 2);
}

/* No mapping wraps around the end of the address space. A mapping of length 0 is ignored. */
static void test_odd_lengths(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0, 0, "/none");
    add_address(7, 0x1000);
    expect_only(RPS_MODULE_MEMORY, "", 0x1000);
    add_map(7, UINT64_MAX - 0xfff, UINT64_MAX, 0, "/top");
    add_address(7, UINT64_MAX - 1);
    expect_only(RPS_MODULE_FILE, "/top", 0xffe);
    add_address(7, 0x10);
    expect_only(RPS_MODULE_MEMORY, "", 0x10);
}

static void test_kinds(void **state)
{
    static const char *const jit[] = {
        "", "//anon", "[heap]", "[stack]", "[anon:x]", "/memfd:x (deleted)", "/dev/zero"};

    (void)state;
    add_map(7, 0x7000, 0x1000, 0x9000, "[vdso]");
    add_address(7, 0x7010);
    expect_only(RPS_MODULE_VDSO, "[vdso]", 0x10);
    for (size_t i = 0; i < sizeof(jit) / sizeof(jit[0]); i++) {
        uint64_t start = 0x100000 * (i + 1);

        add_map(7, start, 0x1000, start, jit[i]);
        add_address(7, start + 5);
        expect_only(RPS_MODULE_JIT, "/tmp/perf-7.map", start + 5);
    }
    add_map(7, 0xf000, 0x1000, 0, "/lib/x.so (deleted)");
    add_address(7, 0xf001);
    expect_only(RPS_MODULE_FILE, "/lib/x.so (deleted)", 1);
    assert_int_equal(seen.module_count, 3);
}

static void test_mapped_without_samples(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/lib/unused");
    assert_int_equal(seen.module_count, 0);
}

/* --- processes -------------------------------------------------------------------------------- */

static void test_fork(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/sh");
    add_fork(7, 8, 8);
    add_address(8, 0x1001);
    expect_only(RPS_MODULE_FILE, "/bin/sh", 1);
    add_map(8, 0x1000, 0x1000, 0, "/lib/of-child"); /* the child has a mapping of its own */
    add_address(7, 0x1002);
    expect_only(RPS_MODULE_FILE, "/bin/sh", 2);
    add_address(8, 0x1002);
    expect_only(RPS_MODULE_FILE, "/lib/of-child", 2);
    add_exit(7, 7);
    add_address(8, 0x1003);
    expect_only(RPS_MODULE_FILE, "/lib/of-child", 3);
}

static void test_fork_outlives_parent(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/sh");
    add_fork(7, 8, 8);
    add_exit(7, 7);
    add_address(8, 0x1001);
    expect_only(RPS_MODULE_FILE, "/bin/sh", 1);
}

static void test_exec(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/sh");
    add_fork(7, 8, 8);
    add_name(8, 8, 1, "cc1");
    add_address(8, 0x1001);
    expect_only(RPS_MODULE_MEMORY, "", 0x1001);
    add_address(7, 0x1001);
    expect_only(RPS_MODULE_FILE, "/bin/sh", 1);
    add_name(7, 7, 0, "renamed"); /* without an exec, the memory stays the same */
    add_address(7, 0x1001);
    expect_only(RPS_MODULE_FILE, "/bin/sh", 1);
}

static void test_exit(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_fork(7, 7, 70); /* 70 is a thread of process 7 */
    add_exit(7, 7);     /* the first thread may end before other threads */
    add_stack(7, 70, (uint64_t[]){0x1001}, 1, 0);
    expect_only(RPS_MODULE_FILE, "/bin/a", 1);
    add_exit(7, 70);
    add_address(7, 0x1001); /* the process has ended, so the number is free */
    expect_only(RPS_MODULE_MEMORY, "", 0x1001);
}

static void test_threads_share(void **state)
{
    (void)state;
    add_fork(7, 7, 70);
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_stack(7, 70, (uint64_t[]){0x1001}, 1, 0);
    expect_only(RPS_MODULE_FILE, "/bin/a", 1);
}

static void test_running_process(void **state)
{
    uint64_t address = (uint64_t)(uintptr_t)test_running_process;
    char path[256] = "", name[16] = "";

    (void)state;
    assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
    rps_tracker_add_process(tracker, getpid());
    add_address(getpid(), address);
    assert_int_equal(seen_module(&seen, 0)->kind, RPS_MODULE_FILE);
    assert_string_equal(seen_module(&seen, 0)->path, path);
    add_address(getpid(), (uint64_t)(uintptr_t)path); /* an address that is not executable */
    assert_int_equal(seen_module(&seen, 0)->kind, RPS_MODULE_MEMORY);
    assert_int_equal(seen.task[0].task.pid, getpid());
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_string_equal(seen.task[0].name, name);
    rps_tracker_add_process(tracker, -5); /* this process does not exist */
    assert_int_equal(status().lost, 0);
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void test_tasks(void **state)
{
    (void)state;
    add_name(7, 7, 1, "make");
    add_fork(7, 8, 8);
    assert_int_equal(seen.task_count, 0); /* no samples of these processes yet */
    add_address(8, 0x1000);
    assert_string_equal(seen.task[0].name, "make");
    assert_int_equal(seen.task[0].task.pid, 8);
    assert_int_equal(seen.task[0].task.start_ns, now - START);
    assert_int_equal(seen.task[0].task.end_ns, -1);
    add_address(8, 0x1000);
    assert_int_equal(seen.task_count, 1);

    add_name(8, 8, 1, "cc"); /* an exec begins another task */
    assert_int_equal(seen.task[0].task.end_ns, now - START);
    assert_string_equal(seen.task[0].name, "make");
    add_address(8, 0x1000);
    assert_int_equal(seen.last_task, 1);
    assert_string_equal(seen.task[1].name, "cc");
    add_exit(8, 8);
    assert_int_equal(seen.task[1].task.end_ns, now - START);
    assert_int_equal(seen.task_count, 2);
}

/* Beyond half a million tasks, tasks of one name become one task, which is reported once. */
static void test_tasks_fold(void **state)
{
    (void)state;
    add_name(7, 7, 1, "init");
    for (pid_t pid = 1000; pid < 1000 + 500000; pid++) {
        add_fork(7, pid, pid);
        add_address(pid, 0x1000);
        add_exit(pid, pid);
    }
    assert_int_equal(seen.task_count, 500000);
    for (int i = 0; i < 3; i++) {
        add_fork(7, 8, 8);
        add_name(8, 8, 1, "cc");
        add_address(8, 0x1000);
        assert_int_equal(seen.last_task, 500000);
        add_name(8, 8, 0, "cc1");
        add_address(8, 0x1000);
        assert_int_equal(seen.last_task, 500001);
        add_exit(8, 8);
        add_fork(7, 9, 9);
        add_address(9, 0x1000);
        assert_int_equal(seen.last_task, 500002); /* the task of init */
        add_time(9, 9, 5);
        add_exit(9, 9);
    }
    assert_int_equal(seen.task_count, 500003);
}

static void test_thread_is_renamed(void **state)
{
    (void)state;
    add_name(7, 7, 1, "serve");
    add_fork(7, 7, 70);
    add_stack(7, 70, (uint64_t[]){1}, 1, 0);
    assert_string_equal(seen.task[0].name, "serve");
    add_name(7, 70, 0, "worker");
    add_stack(7, 70, (uint64_t[]){1}, 1, 0);
    assert_int_equal(seen.task_count, 1);
    assert_string_equal(seen.task[0].name, "worker");
    assert_int_equal(seen.task[0].task.tid, 70);
    assert_int_equal(seen.task[0].task.end_ns, -1);
}

/* A new process has the number of a first thread whose end was not reported. */
static void test_number_again(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_address(7, 0x1000);
    add_stack(9, 7, (uint64_t[]){0x1000}, 1, 0);
    expect_only(RPS_MODULE_MEMORY, "", 0x1000);
    assert_int_equal(seen.last_task, 1);
    assert_int_equal(seen.task[0].task.end_ns, now - START);
    add_address(7, 0x1000); /* the old process had no other thread */
    expect_only(RPS_MODULE_MEMORY, "", 0x1000);
}

/* --- control groups --------------------------------------------------------------------------- */

static char proc[] = "/tmp/rpistat-proc-XXXXXX";

/* Write a file of a process to the simulated /proc. */
static void write_proc(pid_t pid, const char *name, const char *bytes, size_t size)
{
    char path[80];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%d", proc, pid);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
    assert_non_null(file = fopen(path, "we"));
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_cgroups(pid_t pid, const char *text)
{
    write_proc(pid, "cgroup", text, strlen(text));
}

static void expect_cgroup(pid_t pid, const char *path)
{
    int64_t cgroup;

    add_address(pid, 1);
    cgroup = seen.task[seen.last_task].task.cgroup;
    if (path)
        assert_string_equal(seen.cgroup[cgroup], path);
    else
        assert_int_equal(cgroup, -1);
}

static int open_proc(void **state)
{
    assert_non_null(mkdtemp(proc));
    return open_tracker(state);
}

static int close_proc(void **state)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -r %s", proc);
    assert_int_equal(system(command), 0);
    strcpy(proc + strlen(proc) - 6, "XXXXXX");
    return close_tracker(state);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_hierarchies(void **state)
{
    static const struct {
        const char *text, *path;
    } known[] = {
        {"0::/system.slice/cron.service\n", "/system.slice/cron.service"},
        {"0::/\n", "/"},
        {"3:cpu,cpuacct:/docker/0a\n2:memory:/docker/0a\n1:name=systemd:/docker/0a\n",
         "/docker/0a"},
        /* the process is in groups of both versions */
        {"9:name=systemd:/\n4:memory:/api/5\n1:cpu:/\n0::/\n", "/api/5"},
        {"4:memory:/long/er\n0::/b\n", "/b"},
        {"4:memory:/docker/" ID "\n0::/system.slice/containerd.service\n", "/docker/" ID},
        {"4:memory:/\n0::/user.slice/a:b\n", "/user.slice/a:b"},
        {"0::/a/gone.scope (deleted)\n", "/a/gone.scope"},
        {"", NULL},
        {"0::\nnonsense\n:\n::\n", NULL},
    };

    (void)state;
    rps_tracker_read_cgroups(tracker, proc);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        write_cgroups((pid_t)i + 20, known[i].text);
        expect_cgroup((pid_t)i + 20, known[i].path);
    }
    assert_int_equal(seen.cgroup_count, 8);
}

/* A control group is read once after an exec. A process that has ended has its parent's control
 * group. Control groups without samples are not reported. */
static void test_cgroups(void **state)
{
    (void)state;
    write_cgroups(7, "0::/init.scope\n");
    rps_tracker_read_cgroups(tracker, proc);
    add_name(7, 7, 0, "systemd");
    assert_int_equal(rps_tracker_add_cgroup(tracker, 7), 0);
    assert_int_equal(rps_tracker_add_cgroup(tracker, 99), -1);
    add_fork(7, 8, 8);
    write_cgroups(8, "0::/a.service\n");
    add_name(8, 8, 1, "daemon");
    add_fork(8, 9, 9);
    add_fork(9, 10, 10);
    assert_int_equal(seen.cgroup_count, 0);
    expect_cgroup(10, "/a.service"); /* 9 and 10 have ended: the control group of 8 counts */
    expect_cgroup(9, "/init.scope"); /* a failed reading is not repeated: 9 has an older group */
    write_cgroups(8, "0::/moved\n");
    expect_cgroup(8, "/a.service");
    add_name(8, 8, 1, "daemon");
    expect_cgroup(8, "/moved");
    add_fork(8, 8, 80); /* 80 is a thread of process 8 */
    add_stack(8, 80, (uint64_t[]){1}, 1, 0);
    assert_int_equal(seen.task[seen.last_task].task.cgroup, 2);
    add_fork(7, 11, 11);
    expect_cgroup(11, "/init.scope");
    expect_cgroup(12, NULL); /* process 12 is unknown */
    write_cgroups(13, "0::/moved\n");
    add_fork(13, 14, 14); /* a fork by an unknown process */
    expect_cgroup(14, "/moved");
    assert_int_equal(seen.cgroup_count, 3);
}

/* Write the files of a process with one thread. */
static void write_process(pid_t pid, const char *name, const char *maps)
{
    char path[32], folder[80];

    write_proc(pid, "maps", maps, strlen(maps));
    snprintf(folder, sizeof(folder), "%s/%d/task", proc, pid);
    assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
    snprintf(folder + strlen(folder), 16, "/%d", pid);
    assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof(path), "task/%d/comm", pid);
    write_proc(pid, path, name, strlen(name));
}

/* A process may move to a control group after its exec. The control group is read once: at the
 * first sample, or at a fork. */
static void test_newcomers(void **state)
{
    (void)state;
    write_process(30, "moved\n", "1000-2000 r-xp 00000000 00:01 5 /bin/moved\n");
    write_process(40, "parent\n", "1000-2000 r-xp 00000000 00:01 6 /bin/parent\n");
    rps_tracker_read_cgroups(tracker, proc);
    add_address(30, 0x1800);
    assert_string_equal(seen.task[seen.last_task].name, "moved");
    assert_string_equal(seen_module(&seen, 0)->path, "/bin/moved");
    write_process(30, "later\n", "1000-2000 r-xp 00000000 00:01 7 /bin/later\n");
    add_address(30, 0x1900);
    assert_string_equal(seen.task[seen.last_task].name, "moved");
    add_fork(40, 41, 41);
    add_address(41, 0x1800);
    assert_string_equal(seen.task[seen.last_task].name, "parent");
    assert_string_equal(seen_module(&seen, 0)->path, "/bin/parent");
    add_address(50, 0x1800); /* process 50 has ended */
    assert_string_equal(seen.task[seen.last_task].name, "");
}

/* By default, control groups are not read. A simulation reports them. */
static void test_cgroups_unasked(void **state)
{
    struct rps_sample sample = {
        .kind = RPS_SAMPLE_CGROUP, .pid = 20, .tid = 20, .path = "/simulated"};

    (void)state;
    write_cgroups(7, "0::/a\n");
    expect_cgroup(7, NULL);
    rps_tracker_add(tracker, &sample);
    expect_cgroup(20, "/simulated");
    add_fork(20, 21, 21);
    add_name(21, 21, 1, "child");
    expect_cgroup(21, "/simulated");
}

/* --- files that processes work on ------------------------------------------------------------- */

/* Check the file that the tracker finds in a process's arguments. Each argument ends with a space;
 * '~' is a space within an argument. */
static void expect_file(const char *arguments, const char *want)
{
    char *text = strdup(arguments), file[RPS_TASK_FILE_SIZE];
    size_t size = strlen(arguments);

    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = arguments[i] == ' ' ? '\0' : arguments[i] == '~' ? ' ' : arguments[i];
    write_proc(20, "cmdline", text, size);
    free(text);
    rps_task_file_read(file, proc, 20);
    assert_string_equal(file, want);
}

static void test_files(void **state)
{
    char name[5000] = "cc1 ", *end = name + strlen(name);
    static const struct {
        const char *arguments, *want;
    } known[] = {
        {"cc1 -quiet -I ../inc ../src/code/read.c -dumpbase code_read.c.c -o /tmp/ccA.s ",
         "code/read.c"},
        {"clang -cc1 -main-file-name read.c -o read.o -x c /root/read.c ", "root/read.c"},
        {"cc1plus a.cpp ", "a.cpp"},
        {"rustc --crate-name x --edition=2021 src/lib.rs --out-dir /tmp ", "src/lib.rs"},
        {"bison -o parser.c parser.y ", "parser.y"},
        {"cc1 /main.c ", "/main.c"},
        {"cc1 a\033[31m/b\n.c ", "a\033[31m/b\n.c"}, /* escaped only when printed */
        {"python3 serve.py --password hunter2 ", "serve.py"},
        {"curl https://me:secret@host/x.js --data=a.c host:b.c me@c.c ", ""},
        {"sh -c mysql~-phunter2~<~dump.sql ", ""},
        {"sh -c cd;psql<../dump.sql ", ""},
        {"run.sh 5 ", ""}, /* the argument is the program itself */
        {"tar cf x.tar.gz ", ""},
        {"a . .. x. .c/y c ", ""},
        {"perl last.pl", "last.pl"}, /* no final 0 byte, as in titles that a process sets */
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        expect_file(known[i].arguments, known[i].want);
    memset(end, 'd', 4096);
    strcpy(end + 4096, "/long.c ");
    expect_file(name, "long.c");
    strcpy(end + 4096, ".c ");
    expect_file(name, "");
    strcpy(end + 4096, ".c short.c ");
    expect_file(name, "");
    memset(name, 'd', sizeof(name) - 1);
    rps_task_file_read(name, proc, 21); /* process 21 has ended */
    assert_string_equal(name, "");
}

/* --- times ------------------------------------------------------------------------------------ */

static const struct rps_program *program_of(const char *name)
{
    rps_tracker_report_programs(tracker);
    for (size_t i = 0; i < seen.program_count; i++)
        if (strcmp(seen.program[i].name, name) == 0)
            return &seen.program[i].program;
    return NULL;
}

static void expect_program(const char *name, int64_t cpu_ns, uint64_t samples_of,
                           int64_t unsampled_ns, uint64_t processes, uint64_t threads)
{
    const struct rps_program *program = program_of(name);

    assert_non_null(program);
    assert_int_equal(program->cpu_ns, cpu_ns);
    assert_int_equal(program->samples, samples_of);
    assert_int_equal(program->unsampled_ns, unsampled_ns);
    assert_int_equal(program->unsampled_processes, processes);
    assert_int_equal(program->unsampled_threads, threads);
}

/* Processes that end between samples are counted by their last name. The times of processes arrive
 * after their ends, one per CPU. Short processes have no task row in the output. */
static void test_short_processes(void **state)
{
    (void)state;
    add_name(7, 7, 1, "sh");
    for (pid_t pid = 100; pid < 300; pid++) {
        add_fork(7, pid, pid);
        add_name(pid, pid, 1, pid % 2 ? "md5sum" : "tr");
        add_exit(pid, pid);
        add_time(pid, pid, 1000);
        add_time(pid, pid, pid);
    }
    add_time(999, 999, 1000); /* process 999 is unknown */
    assert_null(program_of("md5sum"));
    now += RPS_NS_PER_S;
    add_fork(7, 300, 300);
    add_exit(300, 300);
    expect_program("md5sum", 100 * 1000 + 20000, 0, 100 * 1000 + 20000, 100, 0);
    expect_program("tr", 100 * 1000 + 19900, 0, 100 * 1000 + 19900, 100, 0);
    rps_tracker_end(tracker);
    rps_tracker_report_programs(tracker);
    assert_int_equal(seen.program_count, 2); /* the time of 300 never arrived */
    assert_int_equal(seen.task_count, 0);
}

/* Samples before an exec count for the program after the exec. Threads count for the program of
 * their process. For a process with samples, the time of all threads is reported. */
static void test_process_times(void **state)
{
    (void)state;
    add_name(7, 7, 1, "sh");
    add_fork(7, 8, 8);
    add_address(8, 0x1000);
    add_name(8, 8, 1, "cc");
    add_address(8, 0x1000);
    add_address(8, 0x1000);
    for (pid_t tid = 80; tid < 83; tid++) {
        add_fork(8, 8, tid);
        add_name(8, tid, 0, "worker");
    }
    add_stack(8, 80, (uint64_t[]){1}, 1, 0);
    add_exit(8, 80);
    add_time(8, 80, 30);
    add_exit(8, 8); /* the other threads outlive thread 8 */
    add_time(8, 8, 500);
    now += RPS_NS_PER_S;
    add_exit(8, 81);
    add_time(8, 81, 7);
    assert_int_equal(seen.task[1].task.process_ns, -1);
    add_exit(8, 82);
    add_time(8, 82, 0);
    rps_tracker_end(tracker);
    assert_int_equal(seen.task_count, 3);
    assert_int_equal(seen.task[0].task.process_ns, -1);
    assert_int_equal(seen.task[1].task.process_ns, -1);
    assert_int_equal(seen.task[2].task.process_ns, 537); /* last task with samples */
    expect_program("cc", 537, 4, 7, 0, 2);
    assert_null(program_of("worker"));
    assert_null(program_of("sh"));
}

/* A time may arrive long after the end, when another thread ends, or not at all. */
static void test_late_times(void **state)
{
    (void)state;
    add_name(7, 7, 1, "sh");
    for (pid_t pid = 100; pid < 1300; pid++) {
        add_fork(7, pid, pid);
        add_exit(pid, pid);
        now += RPS_NS_PER_S;
    }
    add_time(1200, 1200, 5);
    add_time(1299, 1299, 7);
    add_time(1250, 1250, 9);
    add_time(1298, 1298, 11);
    add_time(110, 110, 1000); /* the time of 110 arrives too late */
    add_fork(7, 1260, 1260);  /* another process with the same number */
    add_time(1260, 1260, 40);
    add_exit(1260, 1260);
    rps_tracker_end(tracker);
    expect_program("sh", 72, 0, 72, 5, 0);
}

/* The time of a process is unknown if the time of one of its threads is unknown. A first thread
 * from before the recording has no known time. The number of a process may be reused at once. */
static void test_unknown_times(void **state)
{
    (void)state;
    add_name(7, 7, 1, "serve");
    add_address(7, 0x1000);
    add_fork(7, 7, 70);
    add_exit(7, 70);
    add_time(7, 70, 9);
    add_exit(7, 7);
    add_fork(1, 7, 7); /* process 7 is another process now */
    add_address(7, 0x1000);
    add_exit(7, 7);
    add_time(7, 7, 40);
    rps_tracker_end(tracker);
    assert_int_equal(seen.task_count, 2);
    assert_int_equal(seen.task[0].task.process_ns, -1);
    assert_int_equal(seen.task[1].task.process_ns, 40);
    expect_program("serve", 9, 0, 9, 0, 1);
    expect_program("", 40, 1, 0, 0, 0);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static void test_return_addresses(void **state)
{
    const uint64_t address[] = {0xffff0010, 0xffff0020, 0x1030, 0x1040, 0x1050};

    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_stack(7, 7, address, 5, 2);
    expect_frame(0, RPS_MODULE_KERNEL, "[kernel]", 0xffff0010);
    expect_frame(1, RPS_MODULE_KERNEL, "[kernel]", 0xffff001f);
    expect_frame(2, RPS_MODULE_FILE, "/bin/a", 0x30);
    expect_frame(3, RPS_MODULE_FILE, "/bin/a", 0x3f);
    expect_frame(4, RPS_MODULE_FILE, "/bin/a", 0x4f);
    assert_null(seen_frame(&seen, 5));
}

/* A return address just after the end of a file's code belongs to the file. */
static void test_return_address_at_the_end(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_stack(7, 7, (uint64_t[]){0x1000, 0x2000}, 2, 0);
    expect_frame(1, RPS_MODULE_FILE, "/bin/a", 0xfff);
}

static void test_stacks_are_interned(void **state)
{
    const uint64_t address[] = {0x1010, 0x1020, 0x1030};
    int64_t first;

    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_map(8, 0x2000, 0x1000, 0x1000, "/bin/b");
    add_stack(7, 7, address, 3, 0);
    first = seen.last_stack;
    add_stack(7, 7, address, 3, 0);
    assert_int_equal(seen.last_stack, first);
    /* return addresses of the same callers */
    add_stack(7, 7, (uint64_t[]){0x1011, 0x1020, 0x1030}, 3, 0);
    assert_int_equal(seen.stack_count, 4);
    assert_int_equal(seen.frame_count, 4);
    add_map(8, 0x5000, 0x1000, 0, "/bin/a"); /* the same file at another address in process 8 */
    add_stack(8, 8, (uint64_t[]){0x5010, 0x5020, 0x5030}, 3, 0);
    assert_int_equal(seen.last_stack, first);
    assert_int_equal(seen.module_count, 1);
}

static void test_unmapped_caller_ends(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_stack(7, 7, (uint64_t[]){0x1010, 0x1020, 0x7fff0000, 0x1030}, 4, 0);
    expect_frame(1, RPS_MODULE_FILE, "/bin/a", 0x1f);
    assert_null(seen_frame(&seen, 2));
    assert_int_equal(status().unmapped, 1);
}

static void test_no_address(void **state)
{
    (void)state;
    add_stack(7, 7, NULL, 0, 0);
    expect_only(RPS_MODULE_MEMORY, "", 0);
    assert_int_equal(status().samples, 1);
}

static void test_depth(void **state)
{
    uint64_t address[RPS_SAMPLE_DEPTH_MAX + 2];

    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/lib/libc.so.6");
    for (size_t i = 0; i < RPS_SAMPLE_DEPTH_MAX + 2; i++)
        address[i] = 0x1010 + i;
    add_stack(7, 7, address, RPS_SAMPLE_DEPTH_MAX + 2, 0);
    assert_non_null(seen_frame(&seen, RPS_SAMPLE_DEPTH_MAX - 1));
    assert_null(seen_frame(&seen, RPS_SAMPLE_DEPTH_MAX));
    expect_frame(0, RPS_MODULE_FILE, "/lib/libc.so.6", 0x10);
    assert_int_equal(seen.frame_count,
                     RPS_SAMPLE_DEPTH_MAX - 1); /* the return address minus 1 is the address of
                                                   the first frame */
    add_stack(7, 7, address, 1, 5);             /* the sample claims more kernel frames than it
                                                   has frames */
    expect_only(RPS_MODULE_KERNEL, "[kernel]", 0x1010);
}

/* --- what is too much ------------------------------------------------------------------------- */

/* The code is generated, so that no child process searches for its functions. */
static void test_frames_fold(void **state)
{
    (void)state;
    add_map(7, 0, UINT64_C(1) << 40, 0, "//anon");
    for (uint64_t i = 0; i < RPS_TRACKER_FRAMES_MAX; i++)
        add_address(7, 16 * i);
    assert_int_equal(seen.frame_count, RPS_TRACKER_FRAMES_MAX);
    add_address(7, 16 * 5); /* a known frame stays exact */
    assert_int_equal(seen_frame(&seen, 0)->address, 16 * 5);
    add_address(7, 0x20000123);
    assert_int_equal(seen.frame_count, RPS_TRACKER_FRAMES_MAX + 1);
    add_address(7, 0x20000fff);
    add_address(7, 0x20000000);
    assert_int_equal(seen.frame_count, RPS_TRACKER_FRAMES_MAX + 1);
    for (uint64_t i = 0; i < RPS_TRACKER_FRAMES_MAX + 1000; i++)
        add_address(7, UINT64_C(0x40000000) + 4096 * i);
    /* further addresses become 0, a known frame */
    assert_int_equal(seen.frame_count, 2 * RPS_TRACKER_FRAMES_MAX);
}

static void test_stacks_fold(void **state)
{
    uint64_t address[RPS_SAMPLE_DEPTH_MAX];
    size_t all;

    (void)state;
    add_map(7, 0x1000, 0x10000, 0, "/bin/a");
    for (uint64_t i = 0; i < 1000000 / (RPS_SAMPLE_DEPTH_MAX - 1) + 1; i++) {
        for (size_t depth = 0; depth < RPS_SAMPLE_DEPTH_MAX; depth++)
            address[depth] =
                0x1002 + (depth < RPS_SAMPLE_DEPTH_MAX - 2 ? 0 : i >> 7 * (depth % 2) & 127);
        add_stack(7, 7, address, RPS_SAMPLE_DEPTH_MAX, 0);
    }
    all = seen.stack_count;
    assert_in_range(all, 1000000, 1000000 + 200);
    address[0] = 0x5000;
    add_stack(7, 7, address, RPS_SAMPLE_DEPTH_MAX, 0); /* the callers are known, the innermost
                                                          frame is new */
    assert_int_equal(seen.stack_count, all + 1);
    assert_int_equal(seen.last_stack, all);
    address[1] = 0x5000;
    add_stack(7, 7, address, RPS_SAMPLE_DEPTH_MAX, 0);
    assert_int_equal(seen.last_stack, all); /* the stack is cut to its innermost frame */
}

static void walk_through(void)
{
    const uint64_t address[] = {0xffff0010, 0x1010, 0x1020, 0x2030};

    add_symbol(0x900000, 0x10, "solve", "a.c", 3);
    add_name(7, 7, 1, "sh");
    add_map(7, 0x1000, 0x1000, 0, "/bin/sh");
    add_map(7, 0x2000, 0x1000, 0, "//anon");
    add_stack(7, 7, address, 4, 1);
    add_fork(7, 8, 8);
    add_fork(8, 8, 80);
    add_map(8, 0x1800, 0x1000, 0, "/lib/b");
    add_stack(8, 80, address, 4, 1);
    add_address(8, 0x900004);
    add_address(8, 0x1900);
    for (pid_t tid = 100; tid < 140; tid++)
        add_fork(7, tid, tid);
    add_exit(8, 80);
    add_time(8, 80, 1000);
    add_exit(8, 8);
    add_time(8, 8, 1000);
    now += RPS_NS_PER_S;
    add_exit(100, 100);
    add_address(7, 0x1010);
}

/* The tracker continues after any failed allocation, and counts what it lost. Sanitizers find other
 * errors. */
static void test_without_memory(void **state)
{
    size_t samples;

    walk_through();
    samples = seen.count_count;
    assert_int_equal(samples, 5);
    for (long fail = 0;; fail++) {
        close_tracker(state);
        open_tracker(state);
        left = fail;
        walk_through();
        if (left >= 0) { /* all allocations have succeeded */
            left = -1;
            assert_true(fail > 20);
            break;
        }
        /* A sample is lost only if a row could not be stored or the start of a function not found.
         */
        assert_true(status().lost > 0 || seen.count_count == samples);
        assert_int_equal(status().samples, seen.count_count);
        assert_true(samples - seen.count_count <= status().lost);
    }
    assert_int_equal(status().lost, 0);
}

/* --- for naming ------------------------------------------------------------------------------- */

static void test_simulation(void **state)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_code code;

    (void)state;
    add_symbol(0x2000, 0x100, "main", NULL, 0);
    add_symbol(0x1000, 0x100, "solve", "three.c", 12);
    add_stack(7, 7, (uint64_t[]){0x1004, 0x2011}, 2, 0);
    expect_frame(0, RPS_MODULE_SIMULATED, "simulated", 0x1004);
    expect_frame(1, RPS_MODULE_SIMULATED, "simulated", 0x2010);
    add_address(7, 0x1100);
    expect_only(RPS_MODULE_MEMORY, "", 0x1100);
    assert_int_equal(status().complete, 1);

    assert_true(rps_tracker_is_named(tracker));
    code = rps_tracker_code(arena, tracker, 0);
    assert_int_equal(code.module_count, 2);
    assert_int_equal(code.frame_count, 3);
    assert_int_equal(code.frame[2].address, 0x1100);
    assert_string_equal(code.module[code.frame[0].module].path, "simulated");
    assert_int_equal(code.location_count, 2);
    for (int i = 0; i < 2; i++) {
        const struct rps_location *location = &code.location[i];
        int is_solve = code.frame[location->frame].address == 0x1004;

        assert_int_equal(location->how, RPS_LOCATION_MAP);
        assert_string_equal(location->function, is_solve ? "solve" : "main");
        assert_string_equal(location->file, is_solve ? "three.c" : "");
        assert_int_equal(location->line, is_solve ? 12 : 0);
    }
    rps_arena_free(arena);
}

static int name(int64_t frame, const char *function, enum rps_location_how how)
{
    const struct rps_location location = {.frame = frame, .function = function, .how = how};

    return rps_tracker_name(tracker, &location);
}

static void test_complete(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_map(7, 0x2000, 0x1000, 0, "/usr/lib/x86_64-linux-gnu/libc.so.6");
    add_address(7, 0x1100); /* becomes frame 0 */
    add_address(7, 0x1200); /* becomes frame 1 */
    add_address(7, 0x1300); /* becomes frame 2 */
    add_stack(7, 7, (uint64_t[]){0x1300, 0x1101}, 2, 0);
    assert_int_equal(status().complete, 0);
    name(0, "_start", RPS_LOCATION_SYMBOL);
    name(1, "main", RPS_LOCATION_DEBUG);
    name(2, "main", RPS_LOCATION_NONE); /* text of a reason, not a name */
    assert_int_equal(status().complete, 3);
    add_address(7, 0x1100); /* a sample after frame 0 was named */
    assert_int_equal(status().complete, 4);
    name(0, "solve", RPS_LOCATION_SYMBOL);
    assert_int_equal(status().complete, 1);
    add_address(7, 0x1100);
    assert_int_equal(status().complete, 1);

    add_stack(7, 7, (uint64_t[]){0x1300, 0x2301}, 2, 0); /* frame 3: a stripped library as caller */
    add_stack(7, 7, (uint64_t[]){0x2100, 0x2301}, 2, 0); /* the library calls itself */
    add_address(7, 0x2300);
    /* the kernel is called by the library */
    add_stack(7, 7, (uint64_t[]){0xffff0010, 0x2300}, 2, 1);
    assert_int_equal(status().complete, 2);
    name(3, "stripped", RPS_LOCATION_NONE);
    assert_int_equal(status().complete, 2);
    name(3, "qsort", RPS_LOCATION_SYMBOL);
    assert_int_equal(status().complete, 1);
    name(3, "__libc_start_main", RPS_LOCATION_SYMBOL);
    assert_int_equal(status().complete, 5);
}

static void test_one_reason(void **state)
{
    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_map(7, 0x9000, 0x1000, 0, "/bin/b");
    for (uint64_t at = 0; at < 0x30; at += 0x10) {
        add_address(7, 0x1000 + at); /* become frames 0, 2, 4 */
        add_address(7, 0x9000 + at); /* become frames 1, 3, 5 */
    }
    assert_true(name(0, "stripped", RPS_LOCATION_NONE));
    assert_true(name(1, "stripped", RPS_LOCATION_NONE));
    assert_false(name(2, "stripped", RPS_LOCATION_NONE));
    assert_true(name(3, "solve", RPS_LOCATION_SYMBOL));
    assert_false(name(5, "stripped", RPS_LOCATION_NONE));
    assert_true(name(0, "main", RPS_LOCATION_SYMBOL));
    assert_true(name(4, "stripped", RPS_LOCATION_NONE)); /* frame 4 takes the place of frame 0 */
    assert_false(name(99, "nobody", RPS_LOCATION_SYMBOL));
}

/* Return the numbers of the frames that remain to be named, as digits of one decimal number. */
static int left_to_name(int is_end)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_code code = rps_tracker_code(arena, tracker, is_end);
    int numbers = 0;

    for (size_t i = 0; i < code.frame_count; i++)
        numbers = 10 * numbers + (int)code.frame[i].frame;
    rps_arena_free(arena);
    return numbers;
}

static void test_left_to_name(void **state)
{
    (void)state;
    assert_true(rps_tracker_is_named(tracker));
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_map(7, 0x9000, 0x1000, 0, "//anon");
    add_address(7, 0x1000);
    for (uint64_t at = 0x1010; at < 0x1030; at += 0x10)
        add_address(7, at);
    add_address(7, 0x9010);
    expect_only(RPS_MODULE_JIT, "/tmp/perf-7.map", 0x9010);
    assert_int_equal(left_to_name(0), 123); /* frames 0, 1, 2 and 3 have no names */
    assert_false(rps_tracker_is_named(tracker));
    name(2, "solve", RPS_LOCATION_SYMBOL);
    assert_int_equal(left_to_name(0), 13);
    for (int64_t frame = 0; frame < 4; frame++)
        name(frame, "stripped", RPS_LOCATION_NONE);
    name(9, "nobody", RPS_LOCATION_SYMBOL);
    name(-1, "nobody", RPS_LOCATION_SYMBOL);
    assert_true(rps_tracker_is_named(tracker));
    assert_int_equal(left_to_name(0), 0);
    assert_int_equal(left_to_name(1), 3); /* the map of the JIT compiler may have grown */
    add_address(7, 0x1040);
    assert_false(rps_tracker_is_named(tracker));
    assert_int_equal(left_to_name(0), 4);
}

static void test_cut_is_not_complete(void **state)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_STACK,
                                .pid = 7,
                                .tid = 7,
                                .address = (uint64_t[]){0x1000, 0x2001},
                                .address_count = 2};

    (void)state;
    add_map(7, 0x1000, 0x1000, 0, "/bin/a");
    add_map(7, 0x2000, 0x1000, 0, "/lib/libc.so.6");
    rps_tracker_add(tracker, &sample);
    assert_int_equal(status().complete, 1);
    sample.is_cut = 1;
    rps_tracker_add(tracker, &sample);
    assert_int_equal(status().complete, 1);
    assert_int_equal(status().samples, 2);
}

#define CASE(name)         cmocka_unit_test_setup_teardown(name, open_tracker, close_tracker)
#define CHECKED_CASE(name) cmocka_unit_test_setup_teardown(name, open_checked, close_checked)
#define PROC_CASE(name)    cmocka_unit_test_setup_teardown(name, open_proc, close_proc)

/* --- waiting ---------------------------------------------------------------------------------- */

#define MS RPS_NS_PER_MS

/* Add a wait: a thread leaves CPU 2 at an address and place. `is_partial` means a sample without
 * callers. */
static void add_wait_at(pid_t tid, int64_t time_ns, uint64_t address, uint64_t place,
                        int is_partial)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_WAIT,
                                .time_ns = time_ns,
                                .cpu = 2,
                                .pid = 7,
                                .tid = tid,
                                .address = &address,
                                .address_count = 1,
                                .place = place != 0 ? place + (uint64_t)tid : 0,
                                .place_alike = place,
                                .is_partial = is_partial};

    rps_tracker_add(tracker, &sample);
}

static void add_wait(pid_t tid, int64_t time_ns, uint64_t address)
{
    add_wait_at(tid, time_ns, address, 0, 0);
}

/* Add a sleeping thread (tid 0: switches are recorded completely since this time). */
static void add_asleep(pid_t tid, int64_t time_ns)
{
    struct rps_sample sample = {
        .kind = RPS_SAMPLE_ASLEEP, .time_ns = time_ns, .cpu = 2, .pid = 7, .tid = tid};

    rps_tracker_add(tracker, &sample);
}

static void add_awake(pid_t tid, int64_t time_ns)
{
    struct rps_sample sample = {
        .kind = RPS_SAMPLE_AWAKE, .time_ns = time_ns, .cpu = 2, .pid = 7, .tid = tid};

    rps_tracker_add(tracker, &sample);
}

static void add_preempted(pid_t tid, int64_t time_ns)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_AWAKE,
                                .time_ns = time_ns,
                                .cpu = 2,
                                .pid = 7,
                                .tid = tid,
                                .is_preempted = 1};

    rps_tracker_add(tracker, &sample);
}

/* Add a gap in the records of a CPU (-1: of all CPUs), from since_ns to time_ns. */
static void add_lost(int32_t cpu, int64_t since_ns, int64_t time_ns)
{
    struct rps_sample sample = {
        .kind = RPS_SAMPLE_AWAKE, .time_ns = time_ns, .since_ns = since_ns, .cpu = cpu};

    rps_tracker_add(tracker, &sample);
}

static void expect_blocked(size_t count, int64_t from_ns, int64_t to_ns, int64_t stack)
{
    size_t i = (seen.blocked_count - 1) % 16;

    assert_int_equal(seen.blocked_count, count);
    assert_int_equal(seen.blocked[i].from_ns, from_ns);
    assert_int_equal(seen.blocked[i].to_ns, to_ns);
    assert_int_equal(seen.blocked[i].stack, stack);
    assert_int_equal(seen.cpu, 2);
}

/* A wait ends when the thread runs on a CPU or ends. Long waits are reported in parts. A wait is
 * not counted as a sample. */
static void test_waits(void **state)
{
    (void)state;
    add_wait(7, 2000, 0x10);
    add_asleep(7, 2001);
    add_wait(8, 2100, 0x20);
    rps_tracker_report_waits(tracker, 1900);
    assert_int_equal(seen.blocked_count, 0);
    add_awake(7, 2500);
    expect_blocked(1, 2000, 2500, 0);
    add_awake(7, 2600); /* thread 7 does not wait now */
    add_wait(7, 2700, 0x10);
    add_preempted(7, 2710);
    assert_int_equal(seen.blocked_count, 1);
    rps_tracker_report_waits(tracker, 3000);
    expect_blocked(2, 2100, 3000, 1);
    now = 3199;
    add_exit(7, 8);
    expect_blocked(3, 3000, 3200, 1);
    add_wait(8, 3201, 0x20); /* the last switch comes after the end */
    add_asleep(8, 3202);
    rps_tracker_report_waits(tracker, 9 * MS);
    assert_int_equal(seen.blocked_count, 3);
    assert_int_equal(seen.count_count, 0);
    assert_int_equal(seen.task_count, 0);
    assert_int_equal(status().samples, 0);
}

/* A thread that leaves a CPU twice in a row has an unknown start of its wait. */
static void test_unseen_waits(void **state)
{
    (void)state;
    add_wait(7, 2 * MS, 0x10);
    add_wait(7, 5 * MS, 0x20);
    assert_int_equal(rps_tracker_unknown_waits(tracker), 3 * MS);
    add_awake(7, 6 * MS);
    expect_blocked(1, 5 * MS, 6 * MS, 1);
    add_wait(7, 7 * MS, 0x10);
    add_wait(8, 7 * MS, 0x10);
    add_lost(-1, 0, 8 * MS); /* gap of all CPUs: waits are known until here */
    assert_int_equal(seen.blocked_count, 3);
    rps_tracker_report_waits(tracker, 9 * MS);
    add_awake(7, 9 * MS);
    assert_int_equal(seen.blocked_count, 3);
}

/* A wait without a stack has a length, but no place. */
static void test_wait_without_stack(void **state)
{
    (void)state;
    add_wait(7, 1 * MS, 0x10);
    add_awake(7, 2 * MS);
    expect_blocked(1, 1 * MS, 2 * MS, 0);
    add_asleep(7, 3 * MS);
    add_awake(7, 5 * MS);
    expect_blocked(2, 3 * MS, 5 * MS, 1);
    assert_int_equal(seen.frame[seen.stack[1].frame].address, 0);
    assert_int_equal(seen.stack[1].parent, -1);
}

/* A stack is reused for later waits at the same place, of the same thread and of other threads. */
static void test_places(void **state)
{
    (void)state;
    add_wait_at(7, 1 * MS, 0x10, 77, 0);
    add_awake(7, 2 * MS);
    add_wait_at(7, 3 * MS, 0x20, 77, 1);
    add_awake(7, 5 * MS);
    expect_blocked(2, 3 * MS, 5 * MS, 0);
    add_wait_at(7, 6 * MS, 0x30, 78, 1); /* the innermost frame of this wait is known */
    add_awake(7, 7 * MS);
    expect_blocked(3, 6 * MS, 7 * MS, 1);
    assert_int_equal(seen.frame[seen.stack[1].frame].address, 0x30);
    add_wait_at(8, 8 * MS, 0x40, 77, 1);
    add_awake(8, 9 * MS);
    expect_blocked(4, 8 * MS, 9 * MS, 0);
    add_wait_at(8, 9 * MS, 0x40, 78, 1);
    add_awake(8, 9 * MS + 5);
    expect_blocked(5, 9 * MS, 9 * MS + 5, 2);
    add_wait_at(7, 10 * MS, 0x50, 77 + 64, 0); /* place 77 + 64 replaces place 77 */
    add_awake(7, 11 * MS);
    add_wait_at(7, 12 * MS, 0x20, 77, 1);
    add_awake(7, 13 * MS);
    expect_blocked(7, 12 * MS, 13 * MS, 4);
}

/* If records of a CPU were lost, waits of threads on this CPU end at the gap. Other waits continue.
 */
static void test_lost_switches(void **state)
{
    (void)state;
    add_wait(7, 1 * MS, 0x10);
    add_wait(8, 1 * MS, 0x20);
    add_lost(3, 2 * MS, 4 * MS);
    rps_tracker_report_waits(tracker, 4 * MS); /* threads may have run on CPU 3 in the gap */
    assert_int_equal(seen.blocked_count, 2);
    expect_blocked(2, 1 * MS, 2 * MS, 1);
    add_awake(8, 4 * MS + 5); /* thread 8 did not run in the gap */
    expect_blocked(3, 4 * MS, 4 * MS + 5, 1);
    add_lost(2, 5 * MS, 6 * MS);
    assert_int_equal(seen.blocked_count, 4);
    expect_blocked(4, 4 * MS, 5 * MS, 0);
    add_awake(7, 8 * MS);
    assert_int_equal(seen.blocked_count, 4);
}

/* A thread without a switch since recording began has slept since then. A new thread has not slept.
 */
static void test_slept_before(void **state)
{
    (void)state;
    add_asleep(0, 1 * MS);
    add_awake(8, 4 * MS);
    expect_blocked(1, 1 * MS, 4 * MS, 0);
    now = 5 * MS;
    add_fork(7, 7, 9);
    add_awake(9, 6 * MS + 1);
    assert_int_equal(seen.blocked_count, 1);
    add_asleep(9, 7 * MS); /* a thread that ran before */
    add_awake(9, 8 * MS);
    expect_blocked(2, 7 * MS, 8 * MS, 0);
    add_lost(-1, 0, 9 * MS);
    add_asleep(0, 20 * MS);
    add_awake(9, 21 * MS);
    expect_blocked(3, 20 * MS, 21 * MS, 0);
}

/* --- waits and schedstat ---------------------------------------------------------------------- */

static char schedstat_root[64];

static void write_task_file(pid_t tid, const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%d", schedstat_root, (int)tid);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%d/%s", schedstat_root, (int)tid, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void write_schedstat(pid_t tid, int64_t cpu_ns, int64_t queue_ns)
{
    char text[64];

    snprintf(text, sizeof(text), "%lld %lld 5\n", (long long)cpu_ns, (long long)queue_ns);
    write_task_file(tid, "schedstat", text);
}

static void check_at(pid_t tid, int64_t time_ns, int64_t cpu_ns, int64_t queue_ns)
{
    write_schedstat(tid, cpu_ns, queue_ns);
    rps_tracker_check_waits(tracker, schedstat_root, time_ns);
}

static int open_checked(void **state)
{
    snprintf(schedstat_root, sizeof(schedstat_root), "/tmp/rpistat-tracker-XXXXXX");
    return mkdtemp(schedstat_root) ? open_tracker(state) : -1;
}

static void add_queue(pid_t tid, const char *name, int64_t queue_ns)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_QUEUE,
                                .time_ns = 1000 * MS,
                                .tid = tid,
                                .path = name,
                                .queue_ns = queue_ns};

    rps_tracker_add(tracker, &sample);
}

/* Time in run queues counts from the start, for the program of the process. Threads that ended
 * before their fork was read count under their own name, and processes under the latest name. */
static void test_queues(void **state)
{
    (void)state;
    add_name(7, 7, 1, "serve");
    add_fork(7, 7, 70);
    add_name(7, 70, 0, "worker");
    add_fork(7, 8, 8);
    add_name(8, 8, 1, "make");
    add_fork(7, 9, 9);
    add_name(9, 9, 1, "cat");
    write_schedstat(7, 1, 100 * MS);
    write_schedstat(8, 1, 40 * MS);
    rps_tracker_begin_queues(tracker, schedstat_root, 100 * MS);
    assert_null(program_of("serve"));
    add_queue(70, "worker", 5 * MS);
    add_queue(8, "cc1", 60 * MS); /* the exec of 8 was not read yet */
    add_queue(800, "short", 3 * MS);
    add_exit(8, 8);
    add_queue(9, "cat", 0);
    add_exit(9, 9);
    assert_null(program_of("make"));
    write_schedstat(7, 1, 350 * MS);
    write_schedstat(8, 1, 90 * MS); /* another process has number 8 */
    add_queue(0, NULL, 0);
    assert_int_equal(program_of("serve")->wait_ns, 255 * MS);
    assert_int_equal(program_of("cc1")->wait_ns, 20 * MS);
    assert_int_equal(program_of("short")->wait_ns, 3 * MS);
    assert_int_equal(program_of("cat")->wait_ns, 0);
    assert_int_equal(program_of("cc1")->cpu_ns, 0);
    assert_null(program_of("worker"));
}

/* The queue time of a thread is between 0 and the elapsed time. */
static void test_queue_limits(void **state)
{
    (void)state;
    add_name(7, 7, 1, "serve");
    write_schedstat(7, 1, 100 * MS);
    rps_tracker_begin_queues(tracker, schedstat_root, 100 * MS);
    add_queue(800, "sleeper", 5000 * MS);
    add_queue(801, "sleeper", 5000 * MS);
    write_schedstat(7, 1, 99 * MS);
    add_queue(0, NULL, 0);
    assert_int_equal(program_of("sleeper")->wait_ns, 2 * 900 * MS);
    assert_int_equal(program_of("serve")->wait_ns, 0);
    add_name(9, 9, 1, "other");
    add_time(9, 9, 5);
    add_exit(9, 9);
    rps_tracker_end(tracker);
    assert_int_equal(program_of("other")->wait_ns, -1);
}

static int close_checked(void **state)
{
    char path[96];

    for (int tid = 7; tid < 10; tid++) {
        snprintf(path, sizeof(path), "%s/%d/syscall", schedstat_root, tid);
        remove(path);
        snprintf(path, sizeof(path), "%s/%d/schedstat", schedstat_root, tid);
        remove(path);
        *strrchr(path, '/') = '\0';
        remove(path);
    }
    return remove(schedstat_root) | close_tracker(state);
}

/* Time in the run queue after a wake-up is no wait. The queue time comes from schedstat. */
static void test_queue(void **state)
{
    (void)state;
    add_wait(7, 100 * MS, 0x10);
    check_at(7, 110 * MS, 5 * MS, 0); /* the comparison of times starts here */
    add_awake(7, 200 * MS);
    expect_blocked(1, 100 * MS, 200 * MS, 0);
    add_wait(7, 210 * MS, 0x10);
    check_at(7, 220 * MS, 15 * MS, 30 * MS); /* 30 of 90 ms were in a run queue */
    add_awake(7, 310 * MS);
    expect_blocked(2, 210 * MS, 280 * MS, 0);
    assert_int_equal(rps_tracker_unknown_waits(tracker) / 1000, 0);
    rps_tracker_report_waits(tracker, 400 * MS);
    assert_int_equal(seen.blocked_count, 2);
}

/* Time on a CPU and in a run queue before the workload's exec does not shorten the waits. */
static void test_workload(void **state)
{
    (void)state;
    write_schedstat(7, 20 * MS, 30 * MS);
    rps_tracker_add_workload(tracker, schedstat_root, 7);
    now = 100 * MS - 1;
    add_name(7, 7, 1, "begins");
    add_wait(7, 110 * MS, 0x10);
    add_awake(7, 200 * MS);
    check_at(7, 210 * MS, 40 * MS, 30 * MS);
    add_wait(7, 220 * MS, 0x10);
    add_awake(7, 320 * MS);
    expect_blocked(2, 220 * MS, 320 * MS, 0);
    assert_int_equal(rps_tracker_unknown_waits(tracker) / 1000, 0);
}

/* Queue time that exceeds a wait is subtracted from the next waits too. */
static void test_long_queue(void **state)
{
    (void)state;
    add_wait(7, 100 * MS, 0x10);
    check_at(7, 100 * MS + 1, 0, 0);
    add_awake(7, 200 * MS);
    check_at(7, 200 * MS + 1, 0, 90 * MS);
    add_wait(7, 201 * MS, 0x10);
    add_awake(7, 241 * MS); /* shortened by 40 of the 90 ms */
    assert_int_equal(seen.blocked_count, 1);
    add_wait(7, 242 * MS, 0x10);
    add_awake(7, 342 * MS);
    assert_in_range(seen.blocked[1].to_ns, 292 * MS - 2, 292 * MS + 2);
}

/* Sleep without records is unknown time if it exceeds .5 %. Waits that are found later are not
 * unknown. */
static void test_unknown(void **state)
{
    (void)state;
    add_wait(7, 100 * MS, 0x10);
    check_at(7, 101 * MS, 0, 0);
    add_awake(7, 200 * MS);
    check_at(7, 200 * MS + 400000, 0, 0); /* .4 of 100 ms of sleep is missing */
    add_awake(7, 200 * MS + 400000);
    assert_int_equal(rps_tracker_unknown_waits(tracker) / 1000, 0);
    check_at(7, 201 * MS, 0, 0); /* 1 ms of sleep is missing */
    add_wait(7, 202 * MS, 0x10);
    assert_int_equal(rps_tracker_unknown_waits(tracker) / 1000, 1000);
    add_lost(-1, 0, 203 * MS);
    check_at(7, 302 * MS, 0, 0);
    rps_tracker_report_waits(tracker, 303 * MS);
    assert_int_equal(rps_tracker_unknown_waits(tracker) / 1000, 101000);
    add_lost(-1, 0, 304 * MS);
    now = 400 * MS;
    add_exit(7, 7);
    assert_int_equal(rps_tracker_unknown_waits(tracker) / 1000,
                     101000); /* time of ended threads counts too */
}

/* A pause is no unknown time, and neither is another thread's time before it called exec. */
static void test_compared_anew(void **state)
{
    struct rps_sample pause = {
        .kind = RPS_SAMPLE_AWAKE, .time_ns = 200 * MS, .cpu = -1, .is_preempted = 1};

    (void)state;
    add_wait(7, 100 * MS, 0x10);
    check_at(7, 101 * MS, 0, 0);
    rps_tracker_add(tracker, &pause);
    expect_blocked(1, 100 * MS, 200 * MS, 0);
    add_asleep(0, 900 * MS);
    add_wait(7, 901 * MS, 0x10);
    check_at(7, 902 * MS, 0, 0);
    add_awake(7, 1000 * MS);
    assert_int_equal(rps_tracker_unknown_waits(tracker) / 1000, 0);
    now = 1001 * MS;
    add_fork(7, 7, 8);
    add_exit(7, 7);
    add_wait(8, 1002 * MS, 0x10);
    add_awake(8, 1003 * MS);
    add_name(7, 7, 1, "new"); /* thread 8 now has the first thread's number */
    add_wait(7, 1010 * MS, 0x20);
    check_at(7, 1011 * MS, 1, 1);
    add_awake(7, 1020 * MS);
    assert_int_equal(seen.blocked[(seen.blocked_count - 1) % 16].from_ns, 1010 * MS);
    assert_int_equal(rps_tracker_unknown_waits(tracker) / 1000, 0);
    rps_tracker_report_waits(tracker, 2000 * MS);
    assert_int_equal(seen.blocked[(seen.blocked_count - 1) % 16].to_ns, 1020 * MS);
}

/* A thread that sleeps throughout has waited since switches are recorded. A thread that runs
 * throughout has not waited. */
static void test_never_seen(void **state)
{
    (void)state;
    add_name(7, 7, 0, "sleeps");
    add_name(8, 8, 0, "runs");
    add_asleep(0, 100 * MS);
    write_schedstat(8, 50 * MS, 0);
    check_at(7, 110 * MS, 50 * MS, 0);
    rps_tracker_report_waits(tracker, 120 * MS);
    assert_int_equal(seen.blocked_count, 0);
    write_schedstat(8, 150 * MS, 0);
    check_at(7, 210 * MS, 50 * MS, 0);
    rps_tracker_report_waits(tracker, 220 * MS);
    rps_tracker_report_waits(tracker, 230 * MS);
    assert_int_equal(seen.blocked[0].from_ns, 100 * MS);
    assert_int_equal(seen.blocked[(seen.blocked_count - 1) % 16].to_ns, 230 * MS);
    assert_int_equal(seen.blocked_count, 2 - (seen.blocked[0].to_ns == 230 * MS));
}

/* Write the files of a thread that sleeps in a system call at this instruction. */
static void write_asleep_at(pid_t tid, unsigned instruction)
{
    char text[64];

    snprintf(text, sizeof(text), "7 0x0 0x1 0x0 0x0 0x0 0x0 0x7f00 0x%x\n", instruction);
    write_task_file(tid, "syscall", text);
}

static void expect_place(size_t wait, uint64_t address)
{
    assert_int_equal(seen.frame[seen.stack[seen.blocked[wait].stack].frame].address, address);
}

/* A thread that was already asleep gets the place that /proc shows, from the first look on. */
static void test_seen_asleep(void **state)
{
    int64_t slept_ns = 0;

    (void)state;
    add_name(7, 7, 0, "sleeps");
    add_asleep(0, 100 * MS);
    write_asleep_at(7, 0x30);
    check_at(7, 110 * MS, 0, 0);
    check_at(7, 210 * MS, 0, 0);
    rps_tracker_report_waits(tracker, 220 * MS);
    rps_tracker_report_waits(tracker, 230 * MS);
    add_awake(7, 240 * MS);
    for (size_t i = 0; i < seen.blocked_count; i++) {
        expect_place(i, 0x30);
        slept_ns += seen.blocked[i].to_ns - seen.blocked[i].from_ns;
    }
    assert_int_equal(slept_ns, 140 * MS); /* the total includes sleep before the first look */
    add_lost(-1, 0, 300 * MS);
    add_asleep(0, 320 * MS);
    write_task_file(7, "syscall", "running\n");
    check_at(7, 330 * MS, 0, 0);
    add_awake(7, 340 * MS);
    expect_place(seen.blocked_count - 1, 0);
    assert_int_equal(seen.blocked[seen.blocked_count - 1].from_ns, 320 * MS);
}

static void look_at(int64_t time_ns, int64_t cpu_ns, int64_t queue_ns)
{
    check_at(7, time_ns, cpu_ns, queue_ns);
    rps_tracker_report_waits(tracker, time_ns);
}

/* Without records of switches, schedstat gives the length of sleep, and /proc its place. */
static void test_sampled(void **state)
{
    (void)state;
    add_name(7, 7, 0, "switches");
    add_awake(7, 90 * MS);
    add_lost(-1, 0, 100 * MS);
    write_asleep_at(7, 0x30);
    look_at(110 * MS, 0, 0);
    assert_int_equal(seen.blocked_count, 0);
    look_at(160 * MS, 10 * MS, 5 * MS);
    assert_int_equal(seen.blocked_count, 1);
    assert_int_equal(seen.blocked[0].from_ns, 125 * MS);
    assert_int_equal(seen.blocked[0].to_ns, 160 * MS);
    expect_place(0, 0x30);
    write_task_file(7, "syscall", "running\n");
    look_at(210 * MS, 20 * MS, 10 * MS);
    assert_int_equal(seen.blocked_count, 1);
    write_asleep_at(7, 0x40);
    look_at(260 * MS, 30 * MS, 15 * MS);
    assert_int_equal(seen.blocked_count, 2);
    assert_int_equal(seen.blocked[1].from_ns, 190 * MS);
    expect_place(1, 0x40);
    assert_int_equal(rps_tracker_unknown_waits(tracker), 0);
    look_at(1270 * MS, 30 * MS, 15 * MS); /* the last look was too long ago */
    assert_int_equal(seen.blocked_count, 2);
    assert_int_equal(rps_tracker_unknown_waits(tracker), 1010 * MS);
    add_asleep(0, 1280 * MS);
    write_task_file(7, "syscall", "running\n");
    look_at(1290 * MS, 40 * MS, 15 * MS);
    assert_int_equal(seen.blocked_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_file),
        CASE(test_maps_replace),
        CASE(test_odd_lengths),
        CASE(test_kinds),
        CASE(test_mapped_without_samples),
        CASE(test_fork),
        CASE(test_fork_outlives_parent),
        CASE(test_exec),
        CASE(test_exit),
        CASE(test_threads_share),
        CASE(test_running_process),
        CASE(test_tasks),
        CASE(test_tasks_fold),
        CASE(test_thread_is_renamed),
        CASE(test_number_again),
        PROC_CASE(test_hierarchies),
        PROC_CASE(test_cgroups),
        PROC_CASE(test_newcomers),
        PROC_CASE(test_cgroups_unasked),
        PROC_CASE(test_files),
        CASE(test_short_processes),
        CASE(test_process_times),
        CASE(test_late_times),
        CASE(test_unknown_times),
        CASE(test_return_addresses),
        CASE(test_return_address_at_the_end),
        CASE(test_stacks_are_interned),
        CASE(test_unmapped_caller_ends),
        CASE(test_no_address),
        CASE(test_depth),
        CASE(test_frames_fold),
        CASE(test_stacks_fold),
        CASE(test_without_memory),
        CASE(test_simulation),
        CASE(test_complete),
        CASE(test_one_reason),
        CASE(test_left_to_name),
        CASE(test_cut_is_not_complete),
        CASE(test_waits),
        CASE(test_unseen_waits),
        CASE(test_wait_without_stack),
        CASE(test_places),
        CASE(test_lost_switches),
        CASE(test_slept_before),
        CHECKED_CASE(test_queue),
        CHECKED_CASE(test_workload),
        CHECKED_CASE(test_long_queue),
        CHECKED_CASE(test_unknown),
        CHECKED_CASE(test_compared_anew),
        CHECKED_CASE(test_never_seen),
        CHECKED_CASE(test_seen_asleep),
        CHECKED_CASE(test_sampled),
        CHECKED_CASE(test_queues),
        CHECKED_CASE(test_queue_limits),
    };

    return cmocka_run_group_tests_name("tracker", tests, NULL, NULL);
}
