/* workload: a program that logs its own activity, to compare recordings with.
 *
 * usage: workload threads COUNT MICROSECONDS   COUNT threads, each spinning for this CPU time
 *        workload children COUNT MICROSECONDS  COUNT children one after another, each spinning
 *        workload touch PAGES                  first writes to PAGES new pages
 *        workload sleep MILLISECONDS           asleep
 *        workload ids                          prints its user ids
 *
 * The output has lines of a name and a number. The number cpu_ns is the CPU time of all its threads
 * and children; cpu_whole_ns also includes the ends of the children. The number faults is the page
 * faults of the task (touch), or of the task and its children (children). The times from_ns and
 * to_ns are the begin and end of the sleep on CLOCK_MONOTONIC. The number awake_ns is the CPU time
 * before and after the sleep.
 *
 * The CPU time of a thread is read from /proc/thread-self/schedstat at the end of the thread. Linux
 * updates that number only at clock ticks and switches, up to 10 ms late. Reading the CPU clock of
 * the thread updates it at once. Releasing the memory of a child takes a large part of a short
 * life, and happens after the last read by the child. Only wait4 reports this time. Until about
 * Linux 6.15, perf counted this time; later kernels do not count it. So perf's counts lie between
 * cpu_ns and cpu_whole_ns. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Pages that are mapped at the same time. */
#define BLOCK_PAGES 1024

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void spin(int64_t length_ns)
{
    const int64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + length_ns;

    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
        for (volatile int i = 0; i < 1000; i++)
            ;
}

/* Return the CPU time of the calling thread since its creation, or -1 if there is no schedstat. */
static int64_t own_cpu_ns(void)
{
    int64_t own_ns = -1;
    FILE *file;

    clock_ns(CLOCK_THREAD_CPUTIME_ID);
    file = fopen("/proc/thread-self/schedstat", "re");
    if (!file)
        return -1;
    if (fscanf(file, "%" SCNd64, &own_ns) != 1)
        own_ns = -1;
    fclose(file);
    return own_ns;
}

static int64_t time_ns(struct timeval time)
{
    return ((int64_t)time.tv_sec * 1000000 + time.tv_usec) * 1000;
}

static long faults(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* --- threads ---------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    int64_t length_ns, cpu_ns;
};

static void *run_worker(void *argument)
{
    struct worker *worker = argument;

    spin(worker->length_ns);
    worker->cpu_ns = own_cpu_ns();
    return NULL;
}

/* Run `count` threads; the calling thread is the first. Return the CPU time of the other threads,
 * or -1 on failure. */
static int64_t run_threads(long count, int64_t length_ns)
{
    struct worker *worker = calloc((size_t)count, sizeof(*worker));
    int64_t sum_ns = worker ? 0 : -1;
    long started = 1;

    for (; sum_ns == 0 && started < count; started++) {
        worker[started].length_ns = length_ns;
        if (pthread_create(&worker[started].thread, NULL, run_worker, &worker[started]) != 0)
            break;
    }
    spin(length_ns);
    for (long i = 1; worker && i < started; i++) {
        pthread_join(worker[i].thread, NULL);
        if (sum_ns >= 0)
            sum_ns = worker[i].cpu_ns < 0 ? -1 : sum_ns + worker[i].cpu_ns;
    }
    free(worker);
    return started == count ? sum_ns : -1;
}

/* --- children --------------------------------------------------------------------------------- */

struct children {
    int64_t cpu_ns;       /* as read by the children themselves */
    int64_t cpu_whole_ns; /* as reported by wait4 */
    long faults;
};

static int run_children(long count, int64_t length_ns, struct children *ret)
{
    int64_t *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return -1;
    for (long i = 0; i < count; i++) {
        struct rusage usage;
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            spin(length_ns);
            *shared = own_cpu_ns();
            _exit(*shared < 0);
        }
        if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
            return -1;
        ret->cpu_ns += *shared;
        ret->cpu_whole_ns += time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
        ret->faults += usage.ru_minflt;
    }
    munmap(shared, sizeof(*shared));
    return 0;
}

/* --- pages ------------------------------------------------------------------------------------ */

static int touch(long pages)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = BLOCK_PAGES * page;

    for (long done = 0; done < pages; done += BLOCK_PAGES) {
        char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (block == MAP_FAILED)
            return -1;
        madvise(block, size, MADV_NOHUGEPAGE);
        for (long i = 0; i < BLOCK_PAGES && done + i < pages; i++)
            block[(size_t)i * page] = 1;
        munmap(block, size);
    }
    return 0;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void print_number(const char *name, int64_t number)
{
    printf("%s %" PRId64 "\n", name, number);
}

/* Each task prints its results and returns the CPU time of its other threads, or -1 on failure. */

static int64_t do_children(long count, int64_t length_ns)
{
    struct children children = {0};

    if (run_children(count, length_ns, &children) < 0)
        return -1;
    print_number("faults", faults() + children.faults);
    print_number("cpu_whole_ns", own_cpu_ns() + children.cpu_whole_ns);
    return children.cpu_ns;
}

static int64_t do_touch(long pages, int64_t unused)
{
    const long before = faults();

    (void)unused;
    if (touch(pages) < 0)
        return -1;
    print_number("faults", faults() - before);
    return 0;
}

/* Sleep until a given time, which is printed. The thread surely sleeps until then, even if it wakes
 * up later. */
static int64_t do_sleep(long milliseconds, int64_t unused)
{
    const int64_t from_ns = clock_ns(CLOCK_MONOTONIC), to_ns = from_ns + milliseconds * 1000000;
    const int64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const struct timespec to = {to_ns / 1000000000, to_ns % 1000000000};

    (void)unused;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &to, NULL) == EINTR)
        ;
    print_number("awake_ns", clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
    print_number("from_ns", from_ns);
    print_number("to_ns", to_ns);
    return 0;
}

static int64_t do_call(long calls, int64_t unused)
{
    (void)unused;
    for (long i = 0; i < calls; i++)
        syscall(SYS_getppid);
    print_number("calls", calls);
    return 0;
}

static int64_t do_ids(long unused, int64_t unused_ns)
{
    (void)unused;
    (void)unused_ns;
    print_number("uid", (int64_t)getuid());
    print_number("euid", (int64_t)geteuid());
    return 0;
}

static const struct {
    const char *name;
    int argument_count;
    long number_max;
    int64_t (*run)(long number, int64_t length_ns);
} tasks[] = {
    {"threads", 2, 4096, run_threads}, {"children", 2, 1000000, do_children},
    {"touch", 1, 100000000, do_touch}, {"sleep", 1, 3600000, do_sleep},
    {"call", 1, 100000000, do_call},   {"ids", 0, 0, do_ids},
};

int main(int argc, char *argv[])
{
    const long number = argc > 2 ? atol(argv[2]) : 0;
    const int64_t length_ns = argc > 3 ? (int64_t)atol(argv[3]) * 1000 : 0;

    for (size_t i = 0; argc > 1 && i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        int64_t others_ns, own_ns;

        if (strcmp(argv[1], tasks[i].name) != 0 || argc != tasks[i].argument_count + 2 ||
            (argc > 2 && (number < 1 || number > tasks[i].number_max)))
            continue;
        others_ns = tasks[i].run(number, length_ns);
        own_ns = own_cpu_ns();
        if (others_ns < 0 || own_ns < 0) {
            fprintf(stderr, "workload: %s failed: %s\n", argv[1], strerror(errno));
            return 1;
        }
        print_number("cpu_ns", own_ns + others_ns);
        return 0;
    }
    fprintf(stderr, "usage: workload threads|children COUNT MICROSECONDS | touch PAGES | "
                    "sleep MILLISECONDS | call COUNT | ids\n");
    return 2;
}
