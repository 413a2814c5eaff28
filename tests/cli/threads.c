/* threads: a program with known threads, to attach to.
 *
 * usage: threads stay COUNT           COUNT threads in addition to the first, all computing
 *        threads rest COUNT           COUNT threads in addition to the first, all sleeping
 *        threads churn COUNT MICROS   COUNT threads at a time: each computes for MICROS and ends,
 *                                     then others follow
 *        threads chain MICROS         successive threads: each starts the next, computes, and ends
 *        threads work COUNT SECONDS   COUNT threads take turns, as many at a time as there are
 *                                     CPUs; prints the number of turns per second, and per
 *                                     second of CPU time
 *
 * The program writes `ready` when all threads exist, and runs until it is killed. With `work` it
 * ends after SECONDS. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

static int64_t life_ns;
static sem_t room; /* room for further threads of `churn` */
static volatile int over;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void compute_ns(int64_t length_ns)
{
    int64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + length_ns;

    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
        for (volatile unsigned i = 0; i < 1000; i++)
            ;
}

static void start(void *(*function)(void *), void *argument)
{
    pthread_attr_t attr;
    pthread_t thread;
    int error;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN + 65536);
    while ((error = pthread_create(&thread, &attr, function, argument)) == EAGAIN)
        usleep(1000);
    pthread_attr_destroy(&attr);
    if (error) {
        fprintf(stderr, "threads: cannot start a thread: %s\n", strerror(error));
        exit(1);
    }
}

static void *stay(void *unused)
{
    for (;;)
        compute_ns(NS_PER_S);
    return unused;
}

static void *rest(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void *live_once(void *unused)
{
    compute_ns(life_ns);
    sem_post(&room);
    return unused;
}

static void *live_and_follow(void *unused)
{
    compute_ns(life_ns / 2);
    start(live_and_follow, unused);
    compute_ns(life_ns / 2);
    return unused;
}

static void *work(void *turns)
{
    while (!over) {
        while (sem_wait(&room) < 0)
            ;
        for (volatile unsigned i = 0; i < 40000000; i++)
            ;
        ++*(uint64_t *)turns;
        sem_post(&room);
    }
    return NULL;
}

static void ready(void)
{
    puts("ready");
    fflush(stdout);
}

static void run_churn(long count)
{
    sem_init(&room, 0, (unsigned)count);
    ready();
    for (;;) {
        while (sem_wait(&room) < 0)
            ;
        start(live_once, NULL);
    }
}

static void run_work(long count, long seconds)
{
    uint64_t *turns = calloc((size_t)count, sizeof(*turns)), total = 0;
    int64_t length_ns, cpu_ns;

    if (!turns)
        exit(1);
    sem_init(&room, 0, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    for (long i = 0; i < count; i++)
        start(work, &turns[i]);
    ready();
    length_ns = clock_ns(CLOCK_MONOTONIC);
    cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    sleep((unsigned)seconds);
    length_ns = clock_ns(CLOCK_MONOTONIC) - length_ns;
    cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    over = 1;
    for (long i = 0; i < count; i++)
        total += turns[i];
    printf("%.1f %.1f\n", (double)total * NS_PER_S / (double)length_ns,
           (double)total * NS_PER_S / (double)cpu_ns);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char *argv[])
{
    const char *mode = argc > 2 ? argv[1] : "";
    long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 0;

    if ((strcmp(mode, "stay") == 0 || strcmp(mode, "rest") == 0) && argc == 3) {
        for (long i = 0; i < first; i++)
            start(mode[0] == 's' ? stay : rest, NULL);
        ready();
    } else if (strcmp(mode, "churn") == 0 && argc == 4 && first > 0) {
        life_ns = second * 1000;
        run_churn(first);
    } else if (strcmp(mode, "chain") == 0 && argc == 3) {
        life_ns = first * 1000;
        start(live_and_follow, NULL);
        ready();
    } else if (strcmp(mode, "work") == 0 && argc == 4 && first > 0) {
        run_work(first, second);
    } else {
        fprintf(stderr, "usage: threads stay COUNT | rest COUNT | churn COUNT MICROS | chain MICROS | "
                        "work COUNT SECONDS\n");
        return 2;
    }
    rest(NULL);
}
