/* Produce kernel events repeatedly, and measure their CPU time, for tests/bench/events.
 *
 *     occur call                  system calls, the shortest
 *     occur touch                 first writes to pages of memory
 *     occur read FILE             first reads of pages of a file that is on disk only
 *     occur switch IN OUT PID     context switches: bytes to and from the process PID, on one CPU
 *     occur move                  migrations from one CPU to another
 *     occur echo IN OUT           the other side of switch: sends every byte back
 *
 * Prints the number of events, and the CPU time per event in ns, from the fastest tenth of many
 * blocks. CPU time excludes the time of other programs, but not their effects on caches and on the
 * other half of a core. For `switch` it is the time of both processes. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS_MAX 100

struct occur {
    int in, out, file;
    clockid_t other; /* CPU-time clock of the other process */
    int has_other;
    int cpu[2];
};

static void fail(const char *what)
{
    fprintf(stderr, "occur: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time;

    if (clock_gettime(clock, &time) < 0)
        fail("CPU time");
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int64_t cpu_ns(const struct occur *occur)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + (occur->has_other ? clock_ns(occur->other) : 0);
}

static void go_to(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        fail("sched_setaffinity");
}

/* The first two CPUs that this process may use. */
static void find_cpus(struct occur *occur)
{
    cpu_set_t allowed;
    int found = 0;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
        fail("sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            occur->cpu[found++] = cpu;
    if (found < 2)
        occur->cpu[1] = occur->cpu[0];
}

/* --- what occurs: each returns the CPU time of `count` times, ns ------------------------------ */

static int64_t call(const struct occur *occur, int count)
{
    int64_t start_ns = cpu_ns(occur);

    for (int i = 0; i < count; i++)
        syscall(SYS_getppid);
    return cpu_ns(occur) - start_ns;
}

static int64_t touch_pages(const struct occur *occur, int file, int count)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)count * page;
    const int private = MAP_PRIVATE | MAP_ANONYMOUS;
    volatile char *memory = mmap(NULL, size, file < 0 ? PROT_READ | PROT_WRITE : PROT_READ,
                                 file < 0 ? private : MAP_SHARED, file, 0);
    int64_t time_ns;

    if (memory == MAP_FAILED)
        fail("mmap");
    madvise((void *)(uintptr_t)memory, size, file < 0 ? MADV_NOHUGEPAGE : MADV_RANDOM);
    time_ns = cpu_ns(occur);
    for (size_t at = 0; at < size; at += page) {
        if (file < 0)
            memory[at] = 1;
        else
            (void)memory[at];
    }
    time_ns = cpu_ns(occur) - time_ns;
    munmap((void *)(uintptr_t)memory, size);
    return time_ns;
}

static int64_t touch(const struct occur *occur, int count)
{
    return touch_pages(occur, -1, count);
}

static int64_t read_file(const struct occur *occur, int count)
{
    posix_fadvise(occur->file, 0, 0, POSIX_FADV_DONTNEED);
    return touch_pages(occur, occur->file, count);
}

static int64_t switch_over(const struct occur *occur, int count)
{
    int64_t start_ns = cpu_ns(occur);
    char byte = 0;

    for (int i = 0; i < count; i++)
        if (write(occur->out, &byte, 1) != 1 || read(occur->in, &byte, 1) != 1)
            fail("pipe");
    return cpu_ns(occur) - start_ns;
}

static int64_t move(const struct occur *occur, int count)
{
    int64_t start_ns = cpu_ns(occur);

    for (int i = 0; i < count; i++)
        go_to(occur->cpu[(i + 1) % 2]);
    return cpu_ns(occur) - start_ns;
}

/* --- the program ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int arguments;
    int count, blocks;
    int64_t (*run)(const struct occur *occur, int count);
} kinds[] = {
    {"call", 0, 2000, 100, call},         {"touch", 0, 2000, 50, touch},
    {"read", 1, 500, 10, read_file},      {"move", 0, 200, 50, move},
    {"switch", 3, 1000, 50, switch_over},
};

static int open_or_fail(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0)
        fail(path);
    return fd;
}

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

    return (a > b) - (a < b);
}

/* Send back every byte until the input ends. */
static int echo(const struct occur *occur)
{
    char byte;

    while (read(occur->in, &byte, 1) == 1)
        if (write(occur->out, &byte, 1) != 1)
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

static void prepare(struct occur *occur, const char *name, char **argument)
{
    find_cpus(occur);
    go_to(occur->cpu[0]);
    if (strcmp(name, "read") == 0) {
        occur->file = open_or_fail(argument[0], O_RDONLY);
    } else if (strcmp(name, "echo") == 0) {
        occur->in = open_or_fail(argument[0], O_RDONLY);
        occur->out = open_or_fail(argument[1], O_WRONLY);
    } else if (strcmp(name, "switch") == 0) {
        occur->out = open_or_fail(argument[1], O_WRONLY);
        occur->in = open_or_fail(argument[0], O_RDONLY);
        occur->has_other = clock_getcpuclockid(atoi(argument[2]), &occur->other) == 0;
    }
}

int main(int argc, char *argv[])
{
    struct occur occur = {-1, -1, -1, 0, 0, {0, 0}};
    int64_t time_ns[BLOCKS_MAX], quick_ns;

    if (argc == 4 && strcmp(argv[1], "echo") == 0) {
        prepare(&occur, argv[1], argv + 2);
        return echo(&occur);
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (argc < 2 || strcmp(argv[1], kinds[i].name) != 0 || argc != 2 + kinds[i].arguments)
            continue;
        prepare(&occur, argv[1], argv + 2);
        for (int block = 0; block < kinds[i].blocks; block++)
            time_ns[block] = kinds[i].run(&occur, kinds[i].count);
        qsort(time_ns, (size_t)kinds[i].blocks, sizeof(time_ns[0]), compare);
        quick_ns = time_ns[kinds[i].blocks / 10];
        printf("%d %.1f\n", kinds[i].count * kinds[i].blocks, (double)quick_ns / kinds[i].count);
        return EXIT_SUCCESS;
    }
    fprintf(stderr,
            "usage: occur call | touch | read FILE | switch IN OUT PID | move | echo IN OUT\n");
    return 2;
}
