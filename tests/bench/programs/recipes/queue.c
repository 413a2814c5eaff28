/* A queue between two threads: the writer is slow, then the reader, then neither, then the writer again. */
#include <pthread.h>

#include "program.h"

#define ROOM 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queued, making, taking, is_over;

WORK make_item(void)
{
    volatile double sum = 0;

    for (int i = 1; i < 20000; i++)
        sum += 1.0 / i;
}

WORK use_item(void)
{
    volatile unsigned sum = 1;

    for (int i = 0; i < 25000; i++)
        sum = (sum ^ (unsigned)i) * 16777619;
}

static void *take(void *argument)
{
    for (;;) {
        int times;

        pthread_mutex_lock(&lock);
        while (queued == 0 && !is_over)
            pthread_cond_wait(&changed, &lock);
        if (is_over)
            break;
        queued--;
        times = taking;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < times; i++)
            use_item();
    }
    pthread_mutex_unlock(&lock);
    return argument;
}

static void make(void)
{
    for (int i = 0; i < making; i++)
        make_item();
    pthread_mutex_lock(&lock);
    while (queued == ROOM)
        pthread_cond_wait(&changed, &lock);
    queued++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void phase(const char *label, double length_s, int to_make, int to_take)
{
    mark(label, NULL);
    pthread_mutex_lock(&lock);
    making = to_make;
    taking = to_take;
    pthread_mutex_unlock(&lock);
    during(length_s, make);
}

int main(void)
{
    pthread_t taker;

    pthread_create(&taker, NULL, take, NULL);
    phase("slow-maker", 10, 12, 1);
    phase("slow-taker", 11, 1, 12);
    phase("balanced", 10, 5, 5);
    phase("slow-maker", 9, 12, 1);
    phase("slow-taker", 9, 1, 12);
    pthread_mutex_lock(&lock);
    is_over = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(taker, NULL);
    return 0;
}
