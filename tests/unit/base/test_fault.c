/* Tests of faults in the shared memory of stores, with many mappings and in several threads. */
#include "rpistat/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rpistat/error.h"

#define THREADS    4
#define FAULTS     100
#define PAGE       4096
#define MAPPINGS   24000 /* the lines of the mappings exceed 1 MiB */
#define PAGES_EACH 2

/* Map a file *-shm and empty the file. */
static volatile char *map_emptied(void)
{
    char path[] = "/tmp/rpistat-fault-XXXXXX-shm";
    int fd = mkstemps(path, 4);
    volatile char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    assert_true(fd >= 0 && at != MAP_FAILED);
    close(fd);
    unlink(path);
    return at;
}

static void touch(void *at)
{
    *(volatile char *)at = 1;
}

static void do_nothing(void *unused)
{
    (void)unused;
}

static void *fault_often(void *unused)
{
    size_t left = 0;

    (void)unused;
    for (int i = 0; i < FAULTS; i++) {
        volatile char *at = map_emptied();

        left += rps_fault_guard(touch, (void *)(uintptr_t)at) == RPS_FAILED;
        munmap((void *)(uintptr_t)at, PAGE);
    }
    return (void *)left; /* NOLINT */
}

static void test_threads(void **state)
{
    pthread_t thread[THREADS];
    void *left;

    (void)state;
    rps_fault_begin(); /* cmocka has signal handlers until this call */
    assert_int_equal(rps_fault_guard(do_nothing, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, fault_often, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &left);
        assert_int_equal((size_t)left, FAULTS);
    }
}

/* The mapped file is found after more than 1 MiB of other lines of /proc/self/maps. */
static void test_many_mappings(void **state)
{
    size_t size = (size_t)MAPPINGS * PAGES_EACH * PAGE;
    char *room = mmap(NULL, size + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile char *at = map_emptied();

    (void)state;
    rps_fault_begin();
    assert_true(room != MAP_FAILED);
    for (size_t i = 0; i < MAPPINGS; i++)
        assert_int_equal(mprotect(room + i * PAGES_EACH * PAGE, PAGE, PROT_READ), 0);
    assert_true(mremap((void *)(uintptr_t)at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
                       room + size) == room + size); /* moved to the end of all mappings */
    assert_int_equal(rps_fault_guard(touch, room + size), RPS_FAILED);
    munmap(room, size + PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_many_mappings)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
