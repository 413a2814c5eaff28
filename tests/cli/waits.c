/*
 * Waits in three functions: for a timer, for a lock of its own, and for a pipe that another thread
 * writes to, 1, 2 and 3 times so long; again and again.
 *
 * usage: waits TIMES MILLISECONDS
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NEVER_INLINED __attribute__((noinline, noclone))

static int word, pipes[2];

static struct timespec time_of(long ms)
{
    return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}

NEVER_INLINED static void wait_for_time(long ms)
{
    struct timespec time = time_of(ms);

    nanosleep(&time, NULL);
    __asm__ volatile(""); /* the call is not the last thing, which would be a jump */
}

NEVER_INLINED static void wait_for_lock(long ms)
{
    struct timespec time = time_of(ms);

    syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0);
    __asm__ volatile("");
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

    if (pthread_create(&thread, NULL, write_later, &ms) != 0 || read(pipes[0], &byte, 1) != 1)
        abort();
    pthread_join(thread, NULL);
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
    return 0;
}
