/* waits: a program that repeatedly waits in three functions: for a timer, for a lock, and for a
 * pipe written by another thread. The lengths of the waits have the ratio 1 : 2 : 3.
 *
 * At its end, the program prints a line per function, in ns: the total time of its calls, for how much
 * of this time their thread slept, and how long all threads have waited for a CPU since their start.
 * On a loaded machine, calls take longer, and the recorder may subtract any queue from any wait.
 *
 * usage: waits TIMES MILLISECONDS */
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NEVER_INLINED __attribute__((noinline, noclone))

static int word, pipes[2];
static int64_t queued_ns; /* of all threads that have ended */
static struct spent { int64_t ns, asleep_ns; } timed, locked, piped; /* a thread at a time is in each */

/* Return how long this thread has waited for a CPU, also before the exec. */
static int64_t read_schedstat(int64_t *ret_on_cpu_ns)
{
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    int64_t queue_ns = 0;

    *ret_on_cpu_ns = 0;
    if (file && (fscanf(file, "%" SCNd64 " %" SCNd64, ret_on_cpu_ns, &queue_ns) != 2 || fclose(file) != 0))
        abort();
    return queue_ns;
}

static void add(struct spent *spent, int sign)
{
    struct timespec now;
    int64_t ns, on_cpu_ns, queue_ns = read_schedstat(&on_cpu_ns);

    clock_gettime(CLOCK_MONOTONIC, &now);
    ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    spent->ns += sign * ns;
    spent->asleep_ns += sign * (ns - on_cpu_ns - queue_ns);
}

static void print(const char *function, const struct spent *spent)
{
    printf("%s %" PRId64 " %" PRId64 " %" PRId64 "\n", function, spent->ns, spent->asleep_ns, queued_ns);
}

static struct timespec time_of(long ms)
{
    return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}

NEVER_INLINED static void wait_for_time(long ms)
{
    struct timespec time = time_of(ms);

    add(&timed, -1);
    nanosleep(&time, NULL);
    add(&timed, 1);
}

NEVER_INLINED static void wait_for_lock(long ms)
{
    struct timespec time = time_of(ms);

    add(&locked, -1);
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0);
    add(&locked, 1);
}

static void *write_later(void *context)
{
    int64_t on_cpu_ns;

    wait_for_time(*(long *)context);
    if (write(pipes[1], "", 1) != 1)
        abort();
    queued_ns += read_schedstat(&on_cpu_ns);
    return NULL;
}

NEVER_INLINED static void wait_for_pipe(long ms)
{
    pthread_t thread;
    char byte;

    add(&piped, -1);
    if (pthread_create(&thread, NULL, write_later, &ms) != 0 || read(pipes[0], &byte, 1) != 1)
        abort();
    pthread_join(thread, NULL);
    add(&piped, 1);
}

int main(int argc, char **argv)
{
    long times = argc > 2 ? atol(argv[1]) : 1, ms = argc > 2 ? atol(argv[2]) : 100;
    int64_t on_cpu_ns;

    if (pipe(pipes) < 0)
        return 1;
    for (long i = 0; i < times; i++) {
        wait_for_time(ms);
        wait_for_lock(2 * ms);
        wait_for_pipe(3 * ms);
    }
    queued_ns += read_schedstat(&on_cpu_ns);
    print("wait_for_time", &timed);
    print("wait_for_lock", &locked);
    print("wait_for_pipe", &piped);
    return 0;
}
