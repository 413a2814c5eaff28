/* The microbenchmarks and their predictions. Microbenchmarks are not among the examples, because
 * rpistat verifies its own counters with them. Some counters can be opened but read 0, or count
 * other events than their name suggests, which is found only if the correct count is known.
 * Tolerances allow for correct processors that count differently. Because of speculation, some
 * processors count more accesses and branches than retire. Because of prefetchers, some processors
 * count fewer misses than a program causes.
 *
 * Predicted misses are caused by following pointers through all lines in random order. No
 * prefetcher can predict this order, but some fetch the neighbour of each line, and second-level
 * events may include these fetches. Walking through a large array in order was tried, but then only
 * the misses that the prefetcher does not prevent are counted. Context switches are caused by a
 * loop that sleeps. A loop that yields would switch only if another program happens to wait for the
 * processor. */
#include "rpistat/micro.h"
#include "rpistat/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "micro_loops.h"

#define LINE_BYTES 64

/* --- memory ----------------------------------------------------------------------------------- */

static int prepare_walk(void *memory, size_t bytes)
{
    memset(memory, 1, bytes);
    return 0;
}

/* Build a circle of pointers through all lines in random order (Sattolo), one pointer per line. */
static int prepare_chase(void *memory, size_t bytes)
{
    uint64_t random = UINT64_C(0x2545f4914f6cdd1d);
    size_t lines = bytes / LINE_BYTES;
    char *base = memory;

    for (size_t i = 0; i < lines; i++) {
        size_t own = i;

        memcpy(base + i * LINE_BYTES + LINE_BYTES / 2, &own, sizeof(own));
    }
    for (size_t i = lines - 1; i > 0; i--) {
        size_t other, a, b;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        other = (size_t)(random % i);
        memcpy(&a, base + i * LINE_BYTES + LINE_BYTES / 2, sizeof(a));
        memcpy(&b, base + other * LINE_BYTES + LINE_BYTES / 2, sizeof(b));
        memcpy(base + i * LINE_BYTES + LINE_BYTES / 2, &b, sizeof(b));
        memcpy(base + other * LINE_BYTES + LINE_BYTES / 2, &a, sizeof(a));
    }
    for (size_t i = 0; i < lines; i++) {
        const void *next;
        size_t line;

        memcpy(&line, base + i * LINE_BYTES + LINE_BYTES / 2, sizeof(line));
        next = base + line * LINE_BYTES;
        memcpy(base + i * LINE_BYTES, &next, sizeof(next));
    }
    return 0;
}

/* --- the kernel's events ---------------------------------------------------------------------- */

static void run_touch(void *memory, size_t bytes, uint64_t turns)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *base = memory;

    for (uint64_t i = 0; i < turns && i * page < bytes; i++)
        base[i * page] = 1;
}

static void run_sleep(void *memory, size_t bytes, uint64_t turns)
{
    struct timespec moment = {.tv_nsec = 50000};

    (void)memory;
    (void)bytes;
    for (uint64_t i = 0; i < turns; i++)
        nanosleep(&moment, NULL);
}

/* Find the first two processors that this process may use. Returns how many were found. */
static int find_processors(int processor[2])
{
    cpu_set_t allowed;
    int found = 0;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
        if (CPU_ISSET(i, &allowed))
            processor[found++] = i;
    return found;
}

static int move_to(int processor)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    return sched_setaffinity(0, sizeof(one), &one);
}

/* Choose two processors and store them in the memory. The processors are chosen before the first
 * run, because that run changes the processors that the process may use. */
static int prepare_migrate(void *memory, size_t bytes)
{
    int *processor = memory;

    (void)bytes;
    return find_processors(processor) == 2 && move_to(processor[0]) == 0 ? 0 : -1;
}

static void run_migrate(void *memory, size_t bytes, uint64_t turns)
{
    const int *processor = memory;

    (void)bytes;
    for (uint64_t i = 0; i < turns; i++)
        move_to(processor[(i + 1) % 2]);
}

static void run_call(void *memory, size_t bytes, uint64_t turns)
{
    (void)memory;
    (void)bytes;
    for (uint64_t i = 0; i < turns; i++)
        syscall(SYS_getppid);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Columns of a prediction: event, count per iteration, base of the error, permitted error, the same
 * above the count, and whether it is valid only for a loop in assembly. */
#define WALKED(access)                                                                             \
    {                                                                                              \
        {"instructions", RPS_WALK_INSTRUCTIONS, RPS_WALK_INSTRUCTIONS, 0.001, 0.001, 1},           \
            {"branches", 1, 1, 0.01, 0.01, 0}, {access, 1, 1, 0.05, 0.05, 0},                      \
            {"l1d_miss", 0, 1, 0.01, 0.01, 0}, {"dtlb_l1_miss", 0, 1, 0.01, 0.01, 0},              \
        {                                                                                          \
            "dtlb_miss", 0, 1, 0.01, 0.01, 0                                                       \
        }                                                                                          \
    }
/* clang-format off */ /* one row per microbenchmark */
const struct rps_micro rps_micros[] = {
    /* 1,000 additions in a row */
    {"linear", 20000, 0, NULL, rps_loop_linear,
     {{"instructions", RPS_LINEAR_INSTRUCTIONS, RPS_LINEAR_INSTRUCTIONS, 0.001, 0.001, 1},
      {"branches", 1, 1, 0.05, 0.05, 1},
      {"l1d_miss", 0, RPS_LINEAR_LENGTH, 0.001, 0.001, 1}}},
    /* a loop of four instructions; task-clock: per ns of CPU time */
    {"loop", 20000000, 0, NULL, rps_loop_plain,
     {{"instructions", RPS_LOOP_INSTRUCTIONS, RPS_LOOP_INSTRUCTIONS, 0.001, 0.001, 1},
      {"branches", 1, 1, 0.01, 0.01, 0},
      {"branch_misses", 0, 1, 0.01, 0.01, 0},
      {"task_clock", 1, 1, 0.03, 0.03, 0}}},
    /* a branch of even chance */
    {"random", 5000000, 0, NULL, rps_loop_random,
     {{"instructions", RPS_RANDOM_INSTRUCTIONS, RPS_RANDOM_INSTRUCTIONS, 0.001, 0.001, 1},
      {"branches", RPS_RANDOM_BRANCHES, RPS_RANDOM_BRANCHES, 0.05, 0.05, 1},
      {"branch_misses", 0.5, 0.5, 0.1, 0.1, 1}}},
    /* reading and writing an array; processors differ in whether l1d_access counts stores */
    {"load", 10000000, RPS_WALK_BYTES, prepare_walk, rps_loop_load, WALKED("l1d_access")},
    {"store", 10000000, RPS_WALK_BYTES, prepare_walk, rps_loop_store, WALKED("L1-dcache-stores")},
    /* a random chase through memory; l2_miss may be up to twice the count */
    {"chase", 1000000, (size_t)64 << 20, prepare_chase, rps_loop_chase,
     {{"instructions", RPS_CHASE_INSTRUCTIONS, RPS_CHASE_INSTRUCTIONS, 0.001, 0.001, 1},
      {"branches", 1, 1, 0.01, 0.01, 0},
      {"l1d_access", 1, 1, 0.1, 0.1, 0},
      {"l1d_miss", 1, 1, 0.1, 0.1, 0},
      {"l2_miss", 1, 1, 0.2, 1.2, 0},
      {"dtlb_l1_miss", 1, 1, 0.1, 0.1, 0},
      {"dtlb_miss", 1, 1, 0.25, 0.25, 0}}},
    /* first writes to new pages */
    {"touch", 4096, (size_t)4096 << 16, NULL, run_touch, {{"minor_faults", 1, 1, 0.01, 0.01, 0}}},
    {"sleep", 500, 0, NULL, run_sleep, {{"context_switches", 1, 1, 0.02, 0.02, 0}}},
    /* moving to another processor and back */
    {"migrate", 200, 4096, prepare_migrate, run_migrate, {{"cpu_migrations", 1, 1, 0.02, 0.02, 0}}},
    {"call", 100000, 0, NULL, run_call, {{"syscalls", 1, 1, 0.001, 0.001, 0}}},
    {.name = NULL},
};
/* clang-format on */

const struct rps_micro *rps_micro_find(const char *name)
{
    for (const struct rps_micro *micro = rps_micros; micro->name; micro++)
        if (strcmp(micro->name, name) == 0)
            return micro;
    return NULL;
}

int rps_micro_predict(const struct rps_micro *micro, uint64_t turns,
                      const struct rps_micro_result *result, struct rps_micro_prediction *ret)
{
    int count = 0;

    for (const struct rps_micro_prediction *one = micro->predicted; one->what; one++) {
        double times =
            strcmp(one->what, "task_clock") == 0 ? (double)result->cpu_ns : (double)turns;

        if (one->is_exact && !RPS_LOOPS_EXACT)
            continue;
        ret[count] = *one;
        ret[count].count *= times;
        ret[count++].of *= times;
    }
    return count;
}

/* A child process that runs one microbenchmark. The child is forked and executes no other program,
 * so that no such program has to be found and installed. Without an exec, the loop starts
 * immediately after counting starts. An exec would add thousands of other instructions. */

/* The share of the machine's memory for a microbenchmark is at most 1 / MEMORY_SHARE. */
#define MEMORY_SHARE 16

static ssize_t read_fully(int fd, void *buffer, size_t size)
{
    ssize_t got;

    do {
        got = read(fd, buffer, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* Map memory in small pages. Returns NULL if there is no memory. */
static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

/* Return the memory size for a microbenchmark: the requested size, halved until below the limit.
 * Memory that is not written before the run has no limit, because it needs no real memory. */
static size_t affordable(const struct rps_micro *micro)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t bytes = micro->memory_bytes;

    while (micro->prepare && pages > 0 && page > 0 && bytes > (size_t)1 << 20 &&
           bytes / (size_t)page > (size_t)pages / MEMORY_SHARE)
        bytes /= 2;
    return bytes;
}

static _Noreturn void run_in_child(int go_fd, int result_fd, const struct rps_micro *micro,
                                   uint64_t turns)
{
    struct rps_micro_result result = {0};
    size_t bytes = affordable(micro);
    void *memory = bytes > 0 ? map_memory(bytes) : NULL;
    char byte = 1;

    if ((bytes > 0 && !memory) || (micro->prepare && micro->prepare(memory, bytes) < 0))
        _exit(1);
    if (write(result_fd, &byte, 1) != 1 || read_fully(go_fd, &byte, 1) != 1)
        _exit(1);
    result.cpu_ns = -rps_clock_process_cpu_ns();
    micro->run(memory, bytes, turns);
    result.cpu_ns += rps_clock_process_cpu_ns();
    _exit(write(result_fd, &result, sizeof(result)) == (ssize_t)sizeof(result) ? 0 : 1);
}

static void close_child(struct rps_micro_child *child)
{
    if (child->pidfd >= 0)
        close(child->pidfd);
    if (child->go_fd >= 0)
        close(child->go_fd);
    close(child->result_fd);
}

int rps_micro_launch(struct rps_micro_child *ret, const struct rps_micro *micro, uint64_t turns,
                     struct rps_error *err)
{
    int go[2] = {-1, -1}, result[2] = {-1, -1};
    struct rps_micro_child child = {.pid = -1, .pidfd = -1};
    char byte;

    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(result, O_CLOEXEC) < 0 || (child.pid = fork()) < 0) {
        rps_error_set(err, RPS_FAILED, "cannot start the microbenchmark %s: %s", micro->name,
                      strerror(errno));
        goto fail;
    }
    if (child.pid == 0) {
        close(go[1]);
        close(result[0]);
        run_in_child(go[0], result[1], micro, turns);
    }
    close(go[0]);
    close(result[1]);
    child.go_fd = go[1];
    child.result_fd = result[0];
    child.pidfd = (int)syscall(SYS_pidfd_open, child.pid, 0);
    if (child.pidfd >= 0 && read_fully(child.result_fd, &byte, 1) == 1) {
        *ret = child;
        return 0;
    }
    close_child(&child);
    waitpid(child.pid, NULL, 0);
    return 1;
fail:
    for (int i = 0; i < 2; i++) {
        if (go[i] >= 0)
            close(go[i]);
        if (result[i] >= 0)
            close(result[i]);
    }
    return RPS_FAILED;
}

int rps_micro_release(struct rps_micro_child *child, struct rps_error *err)
{
    char byte = 1;

    if (write(child->go_fd, &byte, 1) == 1)
        return 0;
    return rps_error_set(err, RPS_FAILED, "the microbenchmark cannot be reached: %s",
                         strerror(errno));
}

int rps_micro_finish(struct rps_micro_child *child, struct rps_micro_result *ret,
                     struct rps_error *err)
{
    struct rps_micro_result result;
    ssize_t got;

    close(child->go_fd);
    child->go_fd = -1;
    got = read_fully(child->result_fd, &result, sizeof(result));
    close_child(child);
    waitpid(child->pid, NULL, 0);
    if (got != (ssize_t)sizeof(result))
        return rps_error_set(err, RPS_FAILED, "the microbenchmark ended too early");
    *ret = result;
    return 0;
}
