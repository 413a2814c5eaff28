/* Tests of sampling real workloads with the kernel's software events. The workload is this program
 * with a task as argument. A task writes "ready" to its standard output when it waits for a line.
 * The tests are skipped with the reason if perf is unavailable. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/pmu.h"
#include "rpistat/sampler.h"
#include "rpistat/workload.h"

#define TURNS   60000000 /* iterations of a loop of about 0.1 s */
#define THREADS 50
#define PAGES   5000
#define FAULTS  40000
#define MAPS    20000
#define NAPS    20
#define STEPS   10

static char *self_path;

/* Largest ring in bytes that the test's mmap allows, like the kernel's limit. */
static size_t may_lock_bytes = SIZE_MAX;

#ifdef __GLIBC__ /* mmap has another name with 64-bit offsets */
#define real_mmap    __real_mmap64
#define wrapped_mmap __wrap_mmap64
#else
#define real_mmap    __real_mmap
#define wrapped_mmap __wrap_mmap
#endif

void *real_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
void *wrapped_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);

void *wrapped_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && length > may_lock_bytes) {
        errno = EPERM;
        return MAP_FAILED;
    }
    return real_mmap(at, length, protection, flags, fd, offset);
}

/* --- workloads -------------------------------------------------------------------------------- */

/* Spin in a separate section per function. The linker knows the start and end of each section. */
__attribute__((noinline, section("inner_code"))) static long spin_inner(long turns)
{
    volatile long sum = 0;

    for (long i = 0; i < turns; i++)
        sum += i;
    return sum;
}

__attribute__((noinline, section("outer_code"))) static long spin_outer(long turns)
{
    return spin_inner(turns) + 1;
}

extern const char __start_inner_code[], __stop_inner_code[];
extern const char __start_outer_code[], __stop_outer_code[];

static int stay_on(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof(one), &one);
}

/* Spin in two processes at the same time, each on its CPU. Each begins a step when both have ended
 * the step before, so that neither is much ahead if the other one gets no CPU. */
static int spin_on_two(int first, int second)
{
    atomic_int *ready =
        mmap(NULL, sizeof(*ready), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 1;
    pid_t pid = fork();

    stay_on(pid == 0 ? second : first);
    for (int step = 1; step <= STEPS; step++) {
        atomic_fetch_add(ready, 1);
        while (atomic_load(ready) < 2 * step)
            ;
        spin_outer(2 * TURNS / STEPS);
    }
    if (pid == 0)
        _exit(0);
    waitpid(pid, &status, 0);
    return status;
}

/* Report that this point was reached, and wait for permission to continue. */
static void meet(void)
{
    char byte;

    if (write(STDOUT_FILENO, "x", 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1)
        _exit(1);
}

static void *wait_in_thread(void *argument)
{
    (void)argument;
    for (;;)
        pause();
    return NULL;
}

static void *spin_in_thread(void *argument)
{
    prctl(PR_SET_NAME, "late");
    spin_outer(TURNS);
    return argument;
}

static int threads(void)
{
    pthread_t thread;

    for (int i = 0; i < THREADS - 1; i++)
        if (pthread_create(&thread, NULL, wait_in_thread, NULL) != 0)
            return 1;
    meet(); /* the sampler is attached, and sampling has not begun */
    spin_outer(TURNS / 4);
    if (pthread_create(&thread, NULL, wait_in_thread, NULL) != 0)
        return 1;
    meet(); /* sampling has begun */
    if (pthread_create(&thread, NULL, spin_in_thread, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    meet();
    return 0;
}

static void touch(long count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (long i = 0; i < count; i++) {
        if (i % PAGES == 0)
            madvise(memory, bytes, MADV_DONTNEED);
        ((volatile char *)memory)[(size_t)(i % PAGES) * page] = 1;
    }
}

/* Touch memory on one CPU, so that one ring gets all records. */
static int touch_much(void)
{
    stay_on(sched_getcpu());
    meet();
    touch(FAULTS);
    meet();
    touch(100);
    meet();
    return 0;
}

static void *spin_and_end(void *argument)
{
    (void)argument;
    spin_outer(2 * TURNS);
    exit(0);
}

/* End the first thread while another thread continues. */
static int leave(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, spin_and_end, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}

/* Spin for `ns` of CPU time, whatever else the machine does. */
static void spin_for(int64_t ns)
{
    const clock_t until = clock() + (clock_t)(ns / (RPS_NS_PER_S / CLOCKS_PER_SEC));

    while (clock() < until)
        spin_inner(1000);
}

/* Run children and this process alternately, 2 ms each. */
static int brief(void)
{
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            spin_for(2 * RPS_NS_PER_MS);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        spin_for(2 * RPS_NS_PER_MS);
    }
    return 0;
}

static void *spin_briefly(void *argument)
{
    spin_outer(TURNS / 2);
    return argument;
}

/* Run two threads and a child. The child becomes another program. */
static int family(void)
{
    pthread_t thread[2];
    int status = 1;
    pid_t pid = fork();

    if (pid == 0) {
        execl("/proc/self/exe", "child", "spin", (char *)NULL);
        _exit(126);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, spin_briefly, NULL);
    spin_outer(TURNS / 2);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    waitpid(pid, &status, 0);
    return status;
}

/* Fill the ring of thread events. Meanwhile, end a process and start another. */
static int overflow(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    pid_t gone, stays;

    stay_on(sched_getcpu());
    meet(); /* the sampler is attached */
    gone = fork();
    if (gone == 0)
        for (;;)
            pause();
    meet(); /* the fork has been recorded */
    for (int i = 0; i < MAPS; i++)
        munmap(mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), page);
    kill(gone, SIGKILL);
    waitpid(gone, NULL, 0);
    stays = fork();
    if (stays == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            spin_inner(1000);
    }
    meet();
    kill(stays, SIGKILL);
    waitpid(stays, NULL, 0);
    return 0;
}

static int task(char **argv)
{
    if (strcmp(argv[1], "spin") == 0)
        return spin_outer(3 * TURNS) == 0;
    if (strcmp(argv[1], "two") == 0)
        return spin_on_two(atoi(argv[2]), atoi(argv[3]));
    if (strcmp(argv[1], "threads") == 0)
        return threads();
    if (strcmp(argv[1], "touch") == 0)
        touch(atol(argv[2]));
    if (strcmp(argv[1], "much") == 0)
        return touch_much();
    if (strcmp(argv[1], "leave") == 0)
        return leave();
    if (strcmp(argv[1], "brief") == 0)
        return brief();
    if (strcmp(argv[1], "family") == 0)
        return family();
    if (strcmp(argv[1], "overflow") == 0)
        return overflow();
    for (int i = 0; strcmp(argv[1], "nap") == 0 && i < NAPS; i++)
        usleep(1000);
    return 0;
}

/* --- sampling them ---------------------------------------------------------------------------- */

struct kept {
    enum rps_sample_kind kind;
    int64_t time_ns;
    int32_t cpu;
    pid_t pid, tid, parent_pid;
    uint64_t address[3]; /* innermost addresses of user code */
    size_t user_count;
    uint64_t map_address, map_length, file_offset;
    size_t build_id_bytes, stack_bytes;
    int64_t cpu_time_ns;
    int is_exec, is_partial;
    char path[128];
};

struct recording {
    const struct rps_pmu *pmu;
    void *pmu_self;
    struct rps_plan *plan;
    struct rps_sampler sampler;
    struct rps_sampling status;
    int descriptors; /* number of descriptors open before the sampler */
    struct kept *kept;
    size_t count;
};

static void keep_sample(void *context, const struct rps_sample *sample)
{
    struct recording *r = context;
    struct kept *kept;

    if ((r->count & (r->count - 1)) == 0) { /* if the array is full, double its size */
        r->kept = realloc(r->kept, (2 * r->count + 1) * sizeof(*r->kept));
        assert_non_null(r->kept);
    }
    kept = &r->kept[r->count++];
    memset(kept, 0, sizeof(*kept));
    kept->kind = sample->kind;
    kept->time_ns = sample->time_ns;
    kept->cpu = sample->cpu;
    kept->pid = sample->pid;
    kept->tid = sample->tid;
    kept->parent_pid = sample->parent_pid;
    for (size_t i = sample->kernel_count; i < sample->address_count; i++)
        if (kept->user_count < 3)
            kept->address[kept->user_count++] = sample->address[i];
    kept->map_address = sample->map_address;
    kept->map_length = sample->map_length;
    kept->file_offset = sample->file_offset;
    kept->build_id_bytes = sample->build_id_bytes;
    kept->stack_bytes = sample->registers.mask ? sample->registers.stack_bytes : 0;
    kept->cpu_time_ns = sample->cpu_time_ns;
    kept->is_exec = sample->is_exec;
    kept->is_partial = sample->is_partial;
    if (sample->path)
        snprintf(kept->path, sizeof(kept->path), "%s", sample->path);
}

static void drain_until(struct recording *r, int64_t until_ns)
{
    const struct rps_sample_sink sink = {r, keep_sample};
    struct rps_error err = {""};

    if (r->sampler.drain(r->sampler.self, until_ns, &sink, &err) < 0)
        fail_msg("%s", err.message);
}

static void drain(struct recording *r)
{
    drain_until(r, INT64_MAX);
}

/* Return the number of open descriptors. */
static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = -1; /* leaves out the directory's own descriptor */

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Return true if an anonymous mapping of `bytes` bytes and all rings are left out of core dumps. */
static bool is_undumped(unsigned long bytes)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    unsigned long start, end, inode, size = 0;
    bool found = false, is_ring = false;
    int rings = 0, dumped = 0;
    char line[512];

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &start, &end, &inode) == 3) {
            size = inode == 0 ? end - start : 0;
            is_ring = strstr(line, "[perf_event]") != NULL;
            rings += is_ring;
        } else if (strncmp(line, "VmFlags:", 8) == 0) {
            dumped += is_ring && !strstr(line, " dd");
            found |= size == bytes && strstr(line, " dd");
        }
    }
    fclose(file);
    return found && rings > 0 && dumped == 0;
}

/* Open the backend, and a sampler on the target. The test is skipped if sampling is unavailable. */
static void open_on(struct recording *r, const struct rps_target *target,
                    const struct rps_sampling_options *options)
{
    struct rps_fitting fitting;
    struct rps_error err = {""};
    char note[256];

    memset(r, 0, sizeof(*r));
    if (rps_pmu_open("software", NULL, &r->pmu, &r->pmu_self, note, sizeof(note), &err) < 0) {
        print_message("skipped: %s\n", err.message);
        skip();
    }
    if (rps_plan_load(r->pmu->default_plan, &r->plan, &err) < 0 ||
        rps_pmu_prepare(r->pmu, r->pmu_self, r->plan, 1, &fitting, &err) < 0 ||
        r->pmu->attach(r->pmu_self, r->plan, target, &err) < 0)
        fail_msg("%s", err.message);
    r->descriptors = count_descriptors();
    if (r->pmu->open_sampler(r->pmu_self, options, target, &r->sampler, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(is_undumped(65536)); /* a ring, and the buffer of a record, may hold other users' data */
}

static void end(struct recording *r)
{
    drain(r);
    r->sampler.status(r->sampler.self, &r->status);
    r->sampler.close(r->sampler.self);
    r->pmu->close(r->pmu_self);
    rps_plan_free(r->plan);
}

/* Drain the rings like the recorder's loop, until the process has ended. */
static void drain_while_it_runs(struct recording *r, pid_t pid)
{
    int64_t drained_ns = 0, until_ns = 0;
    siginfo_t info = {0};

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
        until_ns = drained_ns;
        drained_ns = rps_clock_monotonic_ns();
        drain_until(r, until_ns);
        usleep(10000);
    }
}

/* Sample a command from its exec to its end. With waits, all records are read after the stop. */
static void sample_command(struct recording *r, const struct rps_sampling_options *options,
                           const char *program, const char *a, const char *b, const char *c)
{
    char *argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)a, (char *)(uintptr_t)b,
                    (char *)(uintptr_t)c, NULL};
    struct rps_target target = {.kind = RPS_TARGET_LAUNCH, .pid_count = 1, .start_at_exec = 1};
    struct rps_workload workload;
    struct rps_error err = {""};
    int64_t start_ns;
    struct rps_workload_end ended;
    struct rps_signals_before before = {0};

    sigprocmask(SIG_SETMASK, NULL, &before.mask);
    assert_int_equal(rps_workload_fork(&workload, argv, &before, &err), 0);
    target.pid = &workload.pid;
    open_on(r, &target, options);
    if (rps_workload_release(&workload, &start_ns, &err) < 0 ||
        r->sampler.start(r->sampler.self, &err) < 0)
        fail_msg("%s", err.message);
    if (!options->waits)
        drain_while_it_runs(r, workload.pid);
    if (rps_workload_wait(&workload, &ended, &err) < 0 ||
        (options->waits && r->sampler.stop(r->sampler.self, &err) < 0))
        fail_msg("%s", err.message);
    rps_workload_close(&workload);
    end(r);
    for (size_t i = 1; i < r->count; i++)
        assert_true(r->kept[i].time_ns >= r->kept[i - 1].time_ns);
}

static size_t count_kind(const struct recording *r, enum rps_sample_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < r->count; i++)
        count += r->kept[i].kind == kind;
    return count;
}

/* Return the file offset of code at an address of this program. */
static uint64_t own_offset(const char *address)
{
    FILE *file = fopen("/proc/self/maps", "re");
    unsigned long from, to, offset, found = 0;
    char line[512];

    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 &&
            (uintptr_t)address - from < to - from)
            found = (uintptr_t)address - from + offset;
    fclose(file);
    assert_true(found > 0);
    return found;
}

/* Return the offset of a sample's address in this program's file, by the recorded mappings (0: not
 * in the file). */
static uint64_t offset_of(const struct recording *r, uint64_t address)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct kept *map = &r->kept[i];

        if (map->kind == RPS_SAMPLE_MAP && strcmp(map->path, self_path) == 0 &&
            address - map->map_address < map->map_length)
            return address - map->map_address + map->file_offset;
    }
    return 0;
}

static int is_between(uint64_t offset, const char *start, const char *stop)
{
    return offset - own_offset(start) < (uint64_t)(stop - start);
}

static const enum rps_sample_on both[] = {RPS_SAMPLE_ON_BEST, RPS_SAMPLE_ON_TASKS};

/* Samples are in the computing function, and its caller is recorded. */
static void check_busy(enum rps_sample_on on)
{
    const struct rps_sampling_options options = {
        .frequency = 997, .on = on, .stacks = RPS_STACKS_FP};
    size_t user = 0, inner = 0, called = 0;
    struct recording r;

    sample_command(&r, &options, self_path, "spin", NULL, NULL);
    for (size_t i = 0; i < r.count; i++) {
        const struct kept *s = &r.kept[i];

        if (s->kind != RPS_SAMPLE_STACK || s->user_count == 0)
            continue;
        user++;
        if (!is_between(offset_of(&r, s->address[0]), __start_inner_code, __stop_inner_code))
            continue;
        inner++;
        called += s->user_count > 1 &&
                  is_between(offset_of(&r, s->address[1]), __start_outer_code, __stop_outer_code);
    }
    /* the rest is the loader, which gets some samples on a slow machine */
    if (user < 30 || inner * 100 < user * 80 || called * 100 < inner * 90)
        fail_msg("%zu samples, %zu in the function, %zu called", user, inner, called);
    assert_true(strncmp(r.status.event, "cpu-clock", 9) == 0);
    assert_int_equal(r.status.frequency, 997);
    assert_int_equal(r.status.threshold, 0);
    assert_string_equal(r.status.stacks, "fp");
    assert_int_equal(r.status.lost, 0);
    assert_int_equal(r.status.is_fixed, !r.status.is_wide);
    assert_false(on == RPS_SAMPLE_ON_TASKS && r.status.is_wide);
    free(r.kept);
}

static void test_busy(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        check_busy(both[i]);
}

/* Check that stacks are recorded as requested, and that samples have copies of the stack. */
static void check_copies(const struct rps_sampling_options *options, const char *stacks)
{
    size_t samples = 0, copied = 0;
    struct recording r;

    sample_command(&r, options, self_path, "spin", NULL, NULL);
    assert_string_equal(r.status.stacks, stacks);
    for (size_t i = 0; i < r.count; i++) {
        samples += r.kept[i].kind == RPS_SAMPLE_STACK && r.kept[i].user_count > 0;
        copied += r.kept[i].stack_bytes > 100;
    }
    if (samples < 30 || copied * 100 < samples * 95)
        fail_msg("%zu samples, %zu with a stack", samples, copied);
    free(r.kept);
}

/* The other modes record only the address, or the top of the stack for unwinding. */
static void test_stacks(void **state)
{
    static const struct rps_sampling_options none = {.frequency = 997, .stacks = RPS_STACKS_NONE};
    static const struct rps_sampling_options dwarf = {.frequency = 997, .stacks = RPS_STACKS_DWARF};
    static const struct rps_sampling_options automatic = {.frequency = 997};
    struct recording r;

    (void)state;
    sample_command(&r, &none, self_path, "spin", NULL, NULL);
    for (size_t i = 0; i < r.count; i++)
        assert_true(r.kept[i].user_count <= 1);
    assert_true(count_kind(&r, RPS_SAMPLE_STACK) > 30);
    free(r.kept);
    check_copies(&dwarf, "dwarf");
    if (sizeof(long) == 8)
        check_copies(&automatic, "auto");
}

/* If little memory may be locked, samples have no stack copies, and the status reports it. A user
 * with several recordings meets this limit. Requested copies are kept. */
static void test_little_memory(void **state)
{
    static const struct rps_sampling_options automatic = {.frequency = 997};
    static const struct rps_sampling_options dwarf = {.frequency = 997, .stacks = RPS_STACKS_DWARF};
    const struct rps_sampling_options *const asked[] = {&automatic, &automatic, &dwarf};
    const char *const got[] = {"auto", "fp", "dwarf"};
    pid_t pid = getpid();
    const struct rps_target target = {.kind = RPS_TARGET_ATTACH, .pid = &pid, .pid_count = 1};

    (void)state;
    if (sizeof(long) != 8) {
        print_message("only tested on 64 bits\n");
        skip();
    }
    for (int i = 0; i < 3; i++) {
        struct recording r;

        may_lock_bytes = i == 0 ? SIZE_MAX : 64 * 1024;
        open_on(&r, &target, asked[i]);
        may_lock_bytes = SIZE_MAX;
        r.sampler.status(r.sampler.self, &r.status);
        assert_string_equal(r.status.stacks, got[i]);
        end(&r);
        free(r.kept);
    }
}

/* The rings of two CPUs form one stream. While both are busy, their samples alternate, and no time
 * is delayed to keep the order. */
static void test_two_cpus(void **state)
{
    static const struct rps_sampling_options options = {.frequency = 997};
    size_t samples = 0, changes = 0, equal = 0;
    int cpus[2], found = 0;
    char first[16], second[16];
    const struct kept *last = NULL;
    struct recording r;
    cpu_set_t home;

    (void)state;
    sched_getaffinity(0, sizeof(home), &home);
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &home))
            cpus[found++] = cpu;
    if (found < 2) {
        print_message("skipped: there is one CPU\n");
        skip();
    }
    snprintf(first, sizeof(first), "%d", cpus[0]);
    snprintf(second, sizeof(second), "%d", cpus[1]);
    sample_command(&r, &options, self_path, "two", first, second);
    for (size_t i = 0; i < r.count; i++) {
        const struct kept *s = &r.kept[i];

        if (s->kind != RPS_SAMPLE_STACK)
            continue;
        samples++;
        changes += last && s->cpu != last->cpu;
        equal += last && s->time_ns == last->time_ns;
        last = s;
    }
    if (samples < 30 || changes < 5 || equal * 20 > samples)
        fail_msg("%zu samples, %zu changes of CPU, %zu at the same time", samples, changes, equal);
    free(r.kept);
}

/* All events of a shell are recorded: exec, forks, ends of processes, and mapped files. */
static void test_shell(void **state)
{
    static const struct rps_sampling_options options = {0};
    int mapped = 0, named = 0, forked = 0, ended = 0;
    struct recording r;
    pid_t shell = -1;

    (void)state;
    sample_command(&r, &options, "/bin/sh", "-c", "/bin/true; /bin/true; exit 0", NULL);
    for (size_t i = 0; i < r.count; i++) {
        const struct kept *s = &r.kept[i];

        if (s->kind == RPS_SAMPLE_NAME && s->is_exec && strcmp(s->path, "sh") == 0)
            shell = s->pid;
        named += s->kind == RPS_SAMPLE_NAME && s->is_exec && strcmp(s->path, "true") == 0;
        forked += s->kind == RPS_SAMPLE_FORK && s->parent_pid == shell && s->pid != shell;
        ended += s->kind == RPS_SAMPLE_EXIT;
        mapped += s->kind == RPS_SAMPLE_MAP && strstr(s->path, "/true") && s->map_length > 0;
    }
    assert_true(shell > 0);
    assert_int_equal(forked, 2);
    assert_int_equal(named, 2);
    assert_int_equal(ended, 3);
    assert_true(mapped >= 2);
    free(r.kept);
}

/* Skip the test if whole CPUs cannot be sampled. */
static void need_cpus(const struct recording *r)
{
    if (r->status.is_wide)
        return;
    print_message("skipped: CPUs may not be sampled here, or are many\n");
    skip();
}

/* Processes that live for less than a sampling interval get their share of samples. */
static void test_brief(void **state)
{
    static const struct rps_sampling_options options = {.frequency = 199};
    size_t samples = 0, children = 0;
    pid_t parent = -1;
    long apart;
    struct recording r;

    (void)state;
    sample_command(&r, &options, self_path, "brief", NULL, NULL);
    need_cpus(&r);
    for (size_t i = 0; i < r.count; i++) {
        const struct kept *s = &r.kept[i];

        if (s->kind == RPS_SAMPLE_NAME && s->is_exec)
            parent = s->pid;
        samples += s->kind == RPS_SAMPLE_STACK;
        children += s->kind == RPS_SAMPLE_STACK && s->pid != parent;
    }
    /* The expectation is a half; a difference of 5 standard deviations is 5 * sqrt(samples) here. */
    apart = 2 * (long)children - (long)samples;
    if (samples < 40 || apart * apart > 25 * (long)samples)
        fail_msg("%zu samples, %zu of children", samples, children);
    free(r.kept);
}

/* Thread events are recorded even without samples. */
static void test_hears_only(void **state)
{
    static const struct rps_sampling_options options = {.hears_only = 1};
    size_t execs = 0, before = 0;
    struct recording r;

    (void)state;
    sample_command(&r, &options, self_path, "brief", NULL, NULL);
    for (size_t i = 0; i < r.count; i++) {
        const struct kept *s = &r.kept[i];

        execs += s->kind == RPS_SAMPLE_NAME && s->is_exec;
        /* the child may report its own name late, just before its exec */
        before += s->kind == RPS_SAMPLE_NAME && !s->is_exec && execs == 0;
    }
    assert_int_equal(count_kind(&r, RPS_SAMPLE_FORK), 100);
    assert_int_equal(count_kind(&r, RPS_SAMPLE_EXIT), 101);
    assert_int_equal(execs, 1);
    assert_in_range(before, 0, 1);
    assert_int_equal(r.count, 202 + before);
    assert_int_equal(r.status.lost, 0);
    free(r.kept);
}

/* Switches before the stop are passed on, also if they are read after it. From the exec on, each
 * wait has its whole stack. */
static void test_waits(void **state)
{
    static const struct rps_sampling_options options = {.frequency = 99, .waits = 1};
    size_t asleep = 0, awake = 0;
    struct recording r;

    (void)state;
    sample_command(&r, &options, self_path, "nap", NULL, NULL);
    for (size_t i = 0; i < r.count; i++) {
        asleep += r.kept[i].kind == RPS_SAMPLE_ASLEEP && r.kept[i].tid > 0;
        awake += r.kept[i].kind == RPS_SAMPLE_AWAKE && r.kept[i].tid > 0;
        assert_false(r.kept[i].is_partial);
    }
    assert_true(asleep >= NAPS && awake >= NAPS);
    assert_true(count_kind(&r, RPS_SAMPLE_WAIT) >= NAPS);
    assert_int_equal(r.status.lost, 0);
    free(r.kept);
}

/* Sampling continues after the first thread of a process has ended. */
static void test_leader(void **state)
{
    (void)state;
    for (size_t m = 0; m < 2; m++) {
        const struct rps_sampling_options options = {.frequency = 997, .on = both[m]};
        size_t others = 0;
        struct recording r;

        sample_command(&r, &options, self_path, "leave", NULL, NULL);
        for (size_t i = 0; i < r.count; i++)
            others += r.kept[i].kind == RPS_SAMPLE_STACK && r.kept[i].pid != r.kept[i].tid;
        if (others <= 15)
            fail_msg("%zu of %zu", others, count_kind(&r, RPS_SAMPLE_STACK));
        assert_int_equal(count_kind(&r, RPS_SAMPLE_EXIT), 2);
        free(r.kept);
    }
}

/* Other programs on the machine are never reported. */
static void test_others(void **state)
{
    static const struct rps_sampling_options options = {.frequency = 997};
    struct recording r;
    pid_t other = fork();

    (void)state;
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            if (fork() == 0)
                execl(self_path, "other", "none", (char *)NULL);
            waitpid(-1, NULL, 0);
            spin_inner(TURNS / 100);
        }
    }
    sample_command(&r, &options, self_path, "family", NULL, NULL);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    for (size_t i = 1; i < r.count; i++) {
        const struct kept *s = &r.kept[i];
        int is_known = s->pid == r.kept[0].pid;

        for (size_t k = 0; k < i && !is_known; k++)
            is_known = r.kept[k].kind == RPS_SAMPLE_FORK && r.kept[k].pid == s->pid;
        if (!is_known && !(s->kind == RPS_SAMPLE_FORK && s->parent_pid == r.kept[0].pid))
            fail_msg("process %d, kind %d", (int)s->pid, (int)s->kind);
        assert_null(strstr(s->path, "other"));
    }
    free(r.kept);
}

static int64_t children_cpu_ns(void)
{
    struct rusage used;

    getrusage(RUSAGE_CHILDREN, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * RPS_NS_PER_S +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * RPS_NS_PER_US;
}

/* The CPU times of all threads add up to the kernel's total. */
static void test_times(void **state)
{
    (void)state;
    for (size_t m = 0; m < 2; m++) {
        const struct rps_sampling_options options = {.frequency = 99, .on = both[m]};
        int64_t truth_ns = -children_cpu_ns(), sum_ns = 0, child_ns = 0;
        pid_t child = -1;
        struct recording r;

        sample_command(&r, &options, self_path, "family", NULL, NULL);
        truth_ns += children_cpu_ns();
        for (size_t i = 0; i < r.count; i++) {
            const struct kept *s = &r.kept[i];

            if (s->kind == RPS_SAMPLE_FORK && s->pid != s->parent_pid)
                child = s->pid;
            sum_ns += s->cpu_time_ns;
            child_ns += s->pid == child ? s->cpu_time_ns : 0;
            assert_true(s->cpu_time_ns == 0 || s->kind == RPS_SAMPLE_TIME);
        }
        /* The kernel's total leaves out time that other virtual machines took, if known. The total
         * includes starts and ends of processes, which take longer on a busy machine. */
        if (sum_ns > truth_ns * 125 / 100 || sum_ns < truth_ns * 65 / 100 ||
            child_ns < sum_ns * 25 / 100 || child_ns > sum_ns * 90 / 100)
            fail_msg("%lld us of %lld, %lld of them the child's", (long long)sum_ns / 1000,
                     (long long)truth_ns / 1000, (long long)child_ns / 1000);
        free(r.kept);
    }
}

/* There is one sample per `threshold` events. The start of a program has no effect on the
 * difference. */
static void test_threshold(void **state)
{
    static const struct rps_sampling_options options = {.event = "page-faults", .threshold = 10};
    static const char *const pages[] = {"5000", "15000"};
    size_t samples[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct recording r;

        sample_command(&r, &options, self_path, "touch", pages[i], NULL);
        samples[i] = count_kind(&r, RPS_SAMPLE_STACK);
        assert_true(strncmp(r.status.event, "page-faults", 11) == 0);
        assert_int_equal(r.status.frequency, 0);
        assert_int_equal(r.status.threshold, 10);
        assert_int_equal(r.status.lost, 0);
        free(r.kept);
    }
    assert_in_range(samples[1] - samples[0], 990, 1010);
}

/* --- running processes ------------------------------------------------------------------------ */

struct partner {
    pid_t pid;
    int to, from;
};

/* Start this program with a task that calls meet(). */
static void start_partner(struct partner *partner, const char *name)
{
    int to[2], from[2];

    assert_int_equal(pipe(to) | pipe(from), 0);
    partner->pid = fork();
    if (partner->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        execl(self_path, self_path, name, (char *)NULL);
        _exit(126);
    }
    close(to[0]);
    close(from[1]);
    partner->to = to[1];
    partner->from = from[0];
}

static void await(const struct partner *partner)
{
    char byte;

    assert_int_equal(read(partner->from, &byte, 1), 1);
}

static void let_go_on(const struct partner *partner)
{
    assert_int_equal(write(partner->to, "x", 1), 1);
}

static void end_partner(const struct partner *partner)
{
    int status = -1;

    let_go_on(partner);
    assert_int_equal(waitpid(partner->pid, &status, 0), partner->pid);
    assert_int_equal(status, 0);
    close(partner->to);
    close(partner->from);
}

/* Return the number of mapped rings. */
static int count_rings(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[512];
    int count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, "[perf_event]") != NULL;
    fclose(file);
    return count;
}

/* Attach to fifty sleeping threads. A process that starts later is recorded, and then sampled. */
static void check_attach(enum rps_sample_on on)
{
    const struct rps_sampling_options options = {.frequency = 997, .on = on};
    const int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), before = count_descriptors();
    struct partner partner;
    struct recording r;
    struct rps_target target = {.kind = RPS_TARGET_ATTACH, .pid = &partner.pid, .pid_count = 1};
    struct rps_error err = {""};
    size_t late = 0;
    pid_t tid = -1;
    int opened;

    start_partner(&partner, "threads");
    await(&partner);
    open_on(&r, &target, &options);
    opened = count_descriptors() - r.descriptors;
    r.sampler.status(r.sampler.self, &r.status);
    assert_int_equal(count_rings(), 3 * cpus);
    assert_int_equal(
        opened, 3 * cpus + (r.status.is_wide ? cpus + 2 * THREADS * cpus : 3 * THREADS * cpus));
    let_go_on(&partner);
    await(&partner);
    drain(&r);
    assert_int_equal(count_kind(&r, RPS_SAMPLE_STACK), 0);
    assert_int_equal(count_kind(&r, RPS_SAMPLE_FORK), 1);
    if (r.sampler.start(r.sampler.self, &err) < 0)
        fail_msg("%s", err.message);
    let_go_on(&partner);
    await(&partner);
    if (r.sampler.stop(r.sampler.self, &err) < 0)
        fail_msg("%s", err.message);
    end(&r);
    for (size_t i = 0; i < r.count; i++) {
        if (r.kept[i].kind == RPS_SAMPLE_NAME && strcmp(r.kept[i].path, "late") == 0)
            tid = r.kept[i].tid;
        late += r.kept[i].kind == RPS_SAMPLE_STACK && r.kept[i].tid == tid;
    }
    assert_true(tid > 0);
    assert_true(late >= 10);
    assert_int_equal(count_rings(), 0);
    end_partner(&partner);
    assert_int_equal(count_descriptors(), before);
    free(r.kept);
}

static void test_attach(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        check_attach(both[i]);
}

static size_t count_stacks_beside(const struct recording *r, pid_t pid)
{
    size_t count = 0;

    for (size_t i = 0; i < r->count; i++)
        count += r->kept[i].kind == RPS_SAMPLE_STACK && r->kept[i].pid != pid;
    return count;
}

/* If forks and ends were lost, running processes are looked up. */
static void test_forks_lost(void **state)
{
    static const struct rps_sampling_options options = {.frequency = 997};
    struct partner partner;
    struct recording r;
    struct rps_target target = {.kind = RPS_TARGET_ATTACH, .pid = &partner.pid, .pid_count = 1};
    struct rps_error err = {""};

    (void)state;
    start_partner(&partner, "overflow");
    await(&partner);
    open_on(&r, &target, &options);
    r.sampler.status(r.sampler.self, &r.status);
    if (!r.status.is_wide) {
        kill(partner.pid, SIGKILL);
        end(&r);
        need_cpus(&r);
    }
    assert_int_equal(r.sampler.start(r.sampler.self, &err), 0);
    let_go_on(&partner);
    await(&partner);
    drain_until(&r, rps_clock_monotonic_ns());
    r.sampler.status(r.sampler.self, &r.status);
    assert_int_equal(r.status.lookups, 0);
    assert_int_equal(count_kind(&r, RPS_SAMPLE_FORK), 1);
    let_go_on(&partner);
    await(&partner);
    /* a loaded machine may give the child little CPU time */
    for (int64_t drained_ns = 0; count_stacks_beside(&r, partner.pid) < 50; usleep(10000)) {
        drain_until(&r, drained_ns);
        drained_ns = rps_clock_monotonic_ns();
    }
    end(&r);
    assert_true(r.status.lookups > 0); /* the look-up precedes the record of lost events */
    assert_int_equal(count_kind(&r, RPS_SAMPLE_FORK), 1);
    end_partner(&partner);
    free(r.kept);
}

/* A ring that is not drained fills up, and records without space are counted as lost. */
static void test_lost(void **state)
{
    static const struct rps_sampling_options options = {
        .event = "page-faults", .threshold = 1, .stacks = RPS_STACKS_NONE};
    struct partner partner;
    struct recording r;
    struct rps_target target = {.kind = RPS_TARGET_ATTACH, .pid = &partner.pid, .pid_count = 1};
    struct rps_error err = {""};
    size_t samples;

    (void)state;
    start_partner(&partner, "much");
    await(&partner);
    open_on(&r, &target, &options);
    assert_int_equal(r.sampler.start(r.sampler.self, &err), 0);
    let_go_on(&partner);
    await(&partner);
    drain(&r);
    r.sampler.status(r.sampler.self, &r.status);
    samples = count_kind(&r, RPS_SAMPLE_STACK);
    assert_true(samples > 1000 && samples < FAULTS);
    let_go_on(&partner); /* the next record contains the number of lost records */
    await(&partner);
    end(&r);
    samples = count_kind(&r, RPS_SAMPLE_STACK);
    assert_true(r.status.lost > 0);
    assert_in_range(samples + r.status.lost, FAULTS, FAULTS + 1000);
    end_partner(&partner);
    free(r.kept);
}

/* Impossible requests give an error message. */
static void test_refusals(void **state)
{
    static const struct rps_sampling_options lbr = {.stacks = RPS_STACKS_LBR};
    static const struct rps_sampling_options fast = {.frequency = RPS_SAMPLE_FREQUENCY_MAX + 1};
    static const struct rps_sampling_options unknown = {.event = "no-such-event"};
    const int before = count_descriptors();
    pid_t pid = getpid();
    const struct rps_target target = {.kind = RPS_TARGET_ATTACH, .pid = &pid, .pid_count = 1};
    struct rps_sampler sampler = {0};
    struct rps_error err = {""};
    struct recording r;

    (void)state;
    open_on(&r, &target, &(struct rps_sampling_options){0});
    r.sampler.status(r.sampler.self, &r.status);
    assert_in_range(r.status.frequency, 1, RPS_SAMPLE_FREQUENCY_DEFAULT);
    assert_true(r.status.frequency == 1 ||
                (long)r.status.frequency * sysconf(_SC_NPROCESSORS_ONLN) <= RPS_SAMPLE_BUDGET);
    assert_in_range(r.sampler.drain_within_ns(r.sampler.self), RPS_NS_PER_S / 100, RPS_NS_PER_S);
    assert_int_equal(r.pmu->open_sampler(r.pmu_self, &lbr, &target, &sampler, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, "use --stacks fp"));
    assert_int_equal(r.pmu->open_sampler(r.pmu_self, &fast, &target, &sampler, &err), RPS_USAGE);
    assert_int_equal(r.pmu->open_sampler(r.pmu_self, &unknown, &target, &sampler, &err), RPS_USAGE);
    assert_null(sampler.self);
    end(&r);
    assert_int_equal(count_descriptors(), before);
    free(r.kept);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy),          cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_little_memory), cmocka_unit_test(test_two_cpus),
        cmocka_unit_test(test_shell),         cmocka_unit_test(test_brief),
        cmocka_unit_test(test_hears_only),    cmocka_unit_test(test_leader),
        cmocka_unit_test(test_times),         cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_attach),        cmocka_unit_test(test_forks_lost),
        cmocka_unit_test(test_others),        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_waits),
    };

    if (argc > 1)
        return task(argv);
    self_path = realpath("/proc/self/exe", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
