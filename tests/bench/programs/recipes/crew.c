/* The same work by one thread, by three, by three that share a lock, and by three that wait for each other. */
#include <pthread.h>

#include "program.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static double end_s;
static int done;

WORK compute(void)
{
    volatile double sum = 0;

    for (int i = 1; i < 200000; i++)
        sum += 1.0 / i;
}

static void *alone(void *argument)
{
    while (now_s(CLOCK_MONOTONIC) < end_s)
        compute();
    return argument;
}

static void *locked(void *argument)
{
    while (now_s(CLOCK_MONOTONIC) < end_s) {
        pthread_mutex_lock(&lock);
        compute();
        pthread_mutex_unlock(&lock);
        usleep(100);
    }
    return argument;
}

static void *in_step(void *argument)
{
    for (;;) {
        compute();
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            done = now_s(CLOCK_MONOTONIC) >= end_s;
        pthread_barrier_wait(&barrier);
        if (done)
            return argument;
    }
}

static void phase(const char *label, double length_s, int threads, void *(*work)(void *))
{
    pthread_t thread[3];

    mark(label, NULL);
    end_s = now_s(CLOCK_MONOTONIC) + length_s;
    done = 0;
    for (int i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, 3);
    phase("serial", 7, 1, alone);
    phase("parallel", 8, 3, alone);
    phase("locked", 8, 3, locked);
    phase("serial", 6, 1, alone);
    phase("in-step", 8, 3, in_step);
    phase("parallel", 7, 3, alone);
    return 0;
}
