/*
 * Waits in three functions: for a timer, for a lock of its own, and for a pipe that another thread
 * writes to, 1, 2 and 3 times so long; again and again.
 *
 * At the end it prints what the calls of each took, in ns: a loaded machine lets them wait longer.
 *
 * usage: waits TIMES MILLISECONDS
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NEVER_INLINED __attribute__((noinline, noclone))

static int word, pipes[2];
static int64_t time_ns, lock_ns, pipe_ns; /* one thread at a time is in a function */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static struct timespec time_of(long ms)
{
    return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}

NEVER_INLINED static void wait_for_time(long ms)
{
    struct timespec time = time_of(ms);

    time_ns -= now_ns();
    nanosleep(&time, NULL);
    time_ns += now_ns();
}

NEVER_INLINED static void wait_for_lock(long ms)
{
    struct timespec time = time_of(ms);

    lock_ns -= now_ns();
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0);
    lock_ns += now_ns();
}

static void *write_later(void *context)
{
    wait_for_time(*(long *)context);
    if (write(pipes[1], "", 1) != 1)
        abort();
    return NULL;
}

NEVER_INLINED static void wait_for_pipe(long ms)
{
    pthread_t thread;
    char byte;

    pipe_ns -= now_ns();
    if (pthread_create(&thread, NULL, write_later, &ms) != 0 || read(pipes[0], &byte, 1) != 1)
        abort();
    pthread_join(thread, NULL);
    pipe_ns += now_ns();
}

int main(int argc, char **argv)
{
    long times = argc > 2 ? atol(argv[1]) : 1, ms = argc > 2 ? atol(argv[2]) : 100;

    if (pipe(pipes) < 0)
        return 1;
    for (long i = 0; i < times; i++) {
        wait_for_time(ms);
        wait_for_lock(2 * ms);
        wait_for_pipe(3 * ms);
    }
    printf("wait_for_time %lld\nwait_for_lock %lld\nwait_for_pipe %lld\n", (long long)time_ns,
           (long long)lock_ns, (long long)pipe_ns);
    return 0;
}
