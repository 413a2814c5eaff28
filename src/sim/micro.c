/*
 * The microbenchmarks and their predictions.
 *
 * They are not with the examples, because rpistat verifies itself with them. A counter that opens
 * and reads 0, or counts other events than its name says, is found only with a known answer.
 * Tolerances allow for correct processors: through speculation some count more accesses and
 * branches than retire, through prefetchers fewer misses than a program causes.
 *
 * Predicted misses come from a random chase, one line after the other. No prefetcher follows it,
 * but some fetch the neighbour of each line, and second-level events may count that too. Walking
 * through a large array in order was tried; it counts the misses left by the prefetcher. Context
 * switches come from a sleeping loop: one that yields switches only if another program happens to
 * wait for the processor.
 */
#include "rpistat/micro.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "micro_loops.h"

#define LINE_BYTES 64

/* --- predictions ------------------------------------------------------------------------------ */

struct list {
    struct rps_micro_prediction *prediction;
    int count;
};

static void expect(struct list *list, const char *what, double count, double tolerance)
{
    list->prediction[list->count++] =
        (struct rps_micro_prediction){what, count, count, tolerance, tolerance};
}

/* Expect a count up to twice this one. */
static void expect_up_to_twice(struct list *list, const char *what, double count, double tolerance)
{
    list->prediction[list->count++] =
        (struct rps_micro_prediction){what, count, count, tolerance, 1 + tolerance};
}

/* Expect none, of so many chances. */
static void expect_none(struct list *list, const char *what, double chances, double tolerance)
{
    list->prediction[list->count++] =
        (struct rps_micro_prediction){what, 0, chances, tolerance, tolerance};
}

static void expect_instructions(struct list *list, uint64_t turns, double of_a_turn)
{
    if (RPS_LOOPS_EXACT)
        expect(list, "instructions", (double)turns * of_a_turn, 0.001);
}

/* --- instructions and branches ---------------------------------------------------------------- */

static void run_loop(void *memory, size_t bytes, uint64_t turns)
{
    (void)memory;
    (void)bytes;
    rps_loop_plain(turns);
}

static int predict_loop(uint64_t turns, const struct rps_micro_result *result,
                        struct rps_micro_prediction *ret)
{
    struct list list = {ret, 0};

    expect_instructions(&list, turns, RPS_LOOP_INSTRUCTIONS);
    expect(&list, "branches", (double)turns, 0.01);
    expect_none(&list, "branch_misses", (double)turns, 0.01);
    expect(&list, "task_clock", (double)result->cpu_ns, 0.03);
    return list.count;
}

static void run_linear(void *memory, size_t bytes, uint64_t turns)
{
    (void)memory;
    (void)bytes;
    rps_loop_linear(turns);
}

static int predict_linear(uint64_t turns, const struct rps_micro_result *result,
                          struct rps_micro_prediction *ret)
{
    struct list list = {ret, 0};

    (void)result;
    expect_instructions(&list, turns, RPS_LINEAR_INSTRUCTIONS);
    if (RPS_LOOPS_EXACT) {
        expect(&list, "branches", (double)turns, 0.05);
        expect_none(&list, "l1d_miss", (double)turns * RPS_LINEAR_LENGTH, 0.001);
    }
    return list.count;
}

static void run_random(void *memory, size_t bytes, uint64_t turns)
{
    (void)memory;
    (void)bytes;
    rps_loop_random(turns);
}

static int predict_random(uint64_t turns, const struct rps_micro_result *result,
                          struct rps_micro_prediction *ret)
{
    struct list list = {ret, 0};

    (void)result;
    expect_instructions(&list, turns, RPS_RANDOM_INSTRUCTIONS);
    if (RPS_LOOPS_EXACT) {
        expect(&list, "branches", (double)turns * RPS_RANDOM_BRANCHES, 0.05);
        expect(&list, "branch_misses", (double)turns / 2, 0.1);
    }
    return list.count;
}

/* --- memory ----------------------------------------------------------------------------------- */

static int prepare_walk(void *memory, size_t bytes)
{
    memset(memory, 1, bytes);
    return 0;
}

static void run_load(void *memory, size_t bytes, uint64_t turns)
{
    (void)bytes;
    rps_loop_load(memory, turns);
}

static void run_store(void *memory, size_t bytes, uint64_t turns)
{
    (void)bytes;
    rps_loop_store(memory, turns);
}

/* The common part of loads and stores that stay in the first-level cache. */
static int predict_walk(uint64_t turns, const char *accesses, struct rps_micro_prediction *ret)
{
    struct list list = {ret, 0};

    expect_instructions(&list, turns, RPS_WALK_INSTRUCTIONS);
    expect(&list, "branches", (double)turns, 0.01);
    expect(&list, accesses, (double)turns, 0.05);
    expect_none(&list, "l1d_miss", (double)turns, 0.01);
    expect_none(&list, "dtlb_l1_miss", (double)turns, 0.01);
    expect_none(&list, "dtlb_miss", (double)turns, 0.01);
    return list.count;
}

static int predict_load(uint64_t turns, const struct rps_micro_result *result,
                        struct rps_micro_prediction *ret)
{
    (void)result;
    return predict_walk(turns, "l1d_access", ret);
}

/* Whether the event of l1d_access counts stores differs: only an event of stores is predicted. */
static int predict_store(uint64_t turns, const struct rps_micro_result *result,
                         struct rps_micro_prediction *ret)
{
    (void)result;
    return predict_walk(turns, "L1-dcache-stores", ret);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Build one circle through all lines in random order (Sattolo), in the lines themselves. */
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
        size_t other = (size_t)(next_random(&random) % i), a, b;

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

static void run_chase(void *memory, size_t bytes, uint64_t turns)
{
    (void)bytes;
    rps_loop_chase(memory, turns);
}

static int predict_chase(uint64_t turns, const struct rps_micro_result *result,
                         struct rps_micro_prediction *ret)
{
    struct list list = {ret, 0};

    (void)result;
    expect_instructions(&list, turns, RPS_CHASE_INSTRUCTIONS);
    expect(&list, "branches", (double)turns, 0.01);
    expect(&list, "l1d_access", (double)turns, 0.1);
    expect(&list, "l1d_miss", (double)turns, 0.1);
    expect_up_to_twice(&list, "l2_miss", (double)turns, 0.2);
    expect(&list, "dtlb_l1_miss", (double)turns, 0.1);
    expect(&list, "dtlb_miss", (double)turns, 0.25);
    return list.count;
}

/* --- the kernel's events ---------------------------------------------------------------------- */

static void run_touch(void *memory, size_t bytes, uint64_t turns)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *base = memory;

    for (uint64_t i = 0; i < turns && i * page < bytes; i++)
        base[i * page] = 1;
}

static int predict_touch(uint64_t turns, const struct rps_micro_result *result,
                         struct rps_micro_prediction *ret)
{
    struct list list = {ret, 0};

    (void)result;
    expect(&list, "minor_faults", (double)turns, 0.01);
    return list.count;
}

static void run_sleep(void *memory, size_t bytes, uint64_t turns)
{
    struct timespec moment = {.tv_nsec = 50000};

    (void)memory;
    (void)bytes;
    for (uint64_t i = 0; i < turns; i++)
        nanosleep(&moment, NULL);
}

static int predict_sleep(uint64_t turns, const struct rps_micro_result *result,
                         struct rps_micro_prediction *ret)
{
    struct list list = {ret, 0};

    (void)result;
    expect(&list, "context_switches", (double)turns, 0.02);
    return list.count;
}

/* Find the first two processors that this process may use; returns their number. */
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

/* The memory keeps the two processors: otherwise the first run would change the allowed ones. */
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

static int predict_migrate(uint64_t turns, const struct rps_micro_result *result,
                           struct rps_micro_prediction *ret)
{
    struct list list = {ret, 0};

    (void)result;
    expect(&list, "cpu_migrations", (double)turns, 0.02);
    return list.count;
}

static void run_call(void *memory, size_t bytes, uint64_t turns)
{
    (void)memory;
    (void)bytes;
    for (uint64_t i = 0; i < turns; i++)
        syscall(SYS_getppid);
}

static int predict_call(uint64_t turns, const struct rps_micro_result *result,
                        struct rps_micro_prediction *ret)
{
    struct list list = {ret, 0};

    (void)result;
    expect(&list, "syscalls", (double)turns, 0.001);
    return list.count;
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct rps_micro micros[] = {
    {"linear", "1,000 additions in a row", 20000, 0, NULL, run_linear, predict_linear},
    {"loop", "a loop of four instructions", 20000000, 0, NULL, run_loop, predict_loop},
    {"random", "a branch of even chance", 5000000, 0, NULL, run_random, predict_random},
    {"load", "reading an array of 16 KiB", 10000000, RPS_WALK_BYTES, prepare_walk, run_load,
     predict_load},
    {"store", "writing an array of 16 KiB", 10000000, RPS_WALK_BYTES, prepare_walk, run_store,
     predict_store},
    {"chase", "a random chase through memory", 1000000, (size_t)64 << 20, prepare_chase, run_chase,
     predict_chase},
    {"touch", "first writes to new pages", 4096, (size_t)4096 << 16, NULL, run_touch,
     predict_touch},
    {"sleep", "short sleeps", 500, 0, NULL, run_sleep, predict_sleep},
    {"migrate", "moving to another processor and back", 200, 4096, prepare_migrate, run_migrate,
     predict_migrate},
    {"call", "a system call", 100000, 0, NULL, run_call, predict_call},
};

const struct rps_micro *const rps_micros[] = {
    &micros[0], &micros[1], &micros[2], &micros[3], &micros[4], &micros[5],
    &micros[6], &micros[7], &micros[8], &micros[9], NULL,
};

const struct rps_micro *rps_micro_find(const char *name)
{
    for (int i = 0; rps_micros[i]; i++)
        if (strcmp(rps_micros[i]->name, name) == 0)
            return rps_micros[i];
    return NULL;
}
