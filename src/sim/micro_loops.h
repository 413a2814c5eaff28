/* The loops of the microbenchmarks, in assembly, with the number of instructions that each
 * iteration retires. On other architectures RPS_LOOPS_EXACT is 0, and these numbers are invalid. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Number of successive additions in one iteration of rps_loop_linear. */
#define RPS_LINEAR_LENGTH 1000

/* Bytes that rps_loop_load and rps_loop_store walk through, one line of 64 bytes per iteration. */
#define RPS_WALK_BYTES 16384

#define RPS_LOOP_INSTRUCTIONS   4
#define RPS_LINEAR_INSTRUCTIONS (RPS_LINEAR_LENGTH + 2)
#define RPS_WALK_INSTRUCTIONS   5
#define RPS_CHASE_INSTRUCTIONS  3
#define RPS_RANDOM_BRANCHES     3 /* branches per iteration, one of which is random */

/* Assembly macros for each processor: %0 is the number of iterations, %1 and %2 the operands. */
#if defined(__x86_64__)
#define RPS_RANDOM_INSTRUCTIONS 15
#define RPS_ITERATION           "dec %0\n jnz 1b\n"
#define RPS_ADD                 "add $1, %1\n"
#define RPS_LOAD                "mov (%3,%1), %2\n"
#define RPS_STORE               "mov %0, (%2,%1)\n"
#define RPS_NEXT_LINE           "add $64, %1\n and $0x3fc0, %1\n"
#define RPS_CHASE               "mov (%1), %1\n"
#define RPS_RANDOM                                                                                 \
    "mov %1, %2\n shl $13, %2\n xor %2, %1\n"                                                      \
    "mov %1, %2\n shr $7, %2\n xor %2, %1\n"                                                       \
    "mov %1, %2\n shl $17, %2\n xor %2, %1\n"                                                      \
    "test $1, %b1\n jz 2f\n nop\n jmp 3f\n 2: nop\n jmp 3f\n 3: "

#elif defined(__aarch64__)
#define RPS_RANDOM_INSTRUCTIONS 8
#define RPS_ITERATION           "subs %0, %0, #1\n b.ne 1b\n"
#define RPS_RANDOM                                                                                 \
    "eor %1, %1, %1, lsl #13\n eor %1, %1, %1, lsr #7\n eor %1, %1, %1, lsl #17\n"                 \
    "tbz %1, #0, 2f\n nop\n b 3f\n 2: nop\n b 3f\n 3: "

#elif defined(__arm__)
#define RPS_RANDOM_INSTRUCTIONS 9
#define RPS_ITERATION           "subs %0, %0, #1\n bne 1b\n"
#define RPS_RANDOM                                                                                 \
    "eor %1, %1, %1, lsl #13\n eor %1, %1, %1, lsr #17\n eor %1, %1, %1, lsl #5\n"                 \
    "tst %1, #1\n beq 2f\n nop\n b 3f\n 2: nop\n b 3f\n 3: "
#endif

#if defined(__aarch64__) || defined(__arm__)
#define RPS_ADD       "add %1, %1, #1\n"
#define RPS_LOAD      "ldr %2, [%3, %1]\n"
#define RPS_STORE     "str %0, [%2, %1]\n"
#define RPS_NEXT_LINE "add %1, %1, #64\n and %1, %1, #0x3fc0\n"
#define RPS_CHASE     "ldr %1, [%1]\n"
#endif

#ifdef RPS_ITERATION

#define RPS_LOOPS_EXACT 1

/* A register. On 32-bit processors, all numbers of iterations are below 2^32. */
typedef uintptr_t rps_loop_register;

static inline void rps_loop_plain(void *memory, size_t bytes, uint64_t turns)
{
    rps_loop_register left = (rps_loop_register)turns;

    (void)memory;
    (void)bytes;
    __asm__ volatile("1: nop\n nop\n" RPS_ITERATION : "+r"(left) : : "cc");
}

static inline void rps_loop_linear(void *memory, size_t bytes, uint64_t turns)
{
    rps_loop_register left = (rps_loop_register)turns, sum = 0;

    (void)memory;
    (void)bytes;
    __asm__ volatile("1: .rept 1000\n" RPS_ADD ".endr\n" RPS_ITERATION
                     : "+r"(left), "+r"(sum)
                     :
                     : "cc");
}

static inline void rps_loop_load(void *memory, size_t bytes, uint64_t turns)
{
    rps_loop_register left = (rps_loop_register)turns, place = 0, value;

    (void)bytes;
    __asm__ volatile("1: " RPS_LOAD RPS_NEXT_LINE RPS_ITERATION
                     : "+r"(left), "+r"(place), "=&r"(value)
                     : "r"(memory)
                     : "cc", "memory");
}

static inline void rps_loop_store(void *memory, size_t bytes, uint64_t turns)
{
    rps_loop_register left = (rps_loop_register)turns, place = 0;

    (void)bytes;
    __asm__ volatile("1: " RPS_STORE RPS_NEXT_LINE RPS_ITERATION
                     : "+r"(left), "+r"(place)
                     : "r"(memory)
                     : "cc", "memory");
}

static inline void rps_loop_chase(void *memory, size_t bytes, uint64_t turns)
{
    rps_loop_register left = (rps_loop_register)turns;

    (void)bytes;
    __asm__ volatile("1: " RPS_CHASE RPS_ITERATION : "+r"(left), "+r"(memory) : : "cc", "memory");
}

/* Marsaglia's xorshift. Both paths of the branch retire the same number of instructions. */
static inline void rps_loop_random(void *memory, size_t bytes, uint64_t turns)
{
    rps_loop_register left = (rps_loop_register)turns, work;
    rps_loop_register random =
        (rps_loop_register)(UINT64_C(0x9e3779b97f4a7c15) >> (64 - 8 * sizeof(random)));

    (void)memory;
    (void)bytes;
    __asm__ volatile("1: " RPS_RANDOM RPS_ITERATION
                     : "+r"(left), "+r"(random), "=&r"(work)
                     :
                     : "cc");
}

#else

#define RPS_LOOPS_EXACT         0
#define RPS_RANDOM_INSTRUCTIONS 0

/* Prevent the compiler from unrolling, merging or removing iterations. */
#define RPS_KEEP(value)         __asm__ volatile("" : "+r"(value) : : "memory")

static inline void rps_loop_plain(void *memory, size_t bytes, uint64_t turns)
{
    (void)memory;
    (void)bytes;
    do
        RPS_KEEP(turns);
    while (--turns > 0);
}

#define rps_loop_linear rps_loop_plain

static inline void rps_loop_load(void *memory, size_t bytes, uint64_t turns)
{
    const volatile char *line = memory;
    size_t place = 0;

    (void)bytes;
    do {
        RPS_KEEP(turns);
        (void)line[place];
        place = (place + 64) % RPS_WALK_BYTES;
    } while (--turns > 0);
}

static inline void rps_loop_store(void *memory, size_t bytes, uint64_t turns)
{
    volatile char *line = memory;
    size_t place = 0;

    (void)bytes;
    do {
        RPS_KEEP(turns);
        line[place] = 1;
        place = (place + 64) % RPS_WALK_BYTES;
    } while (--turns > 0);
}

static inline void rps_loop_chase(void *memory, size_t bytes, uint64_t turns)
{
    void *const volatile *item = memory;

    (void)bytes;
    do {
        RPS_KEEP(turns);
        item = *item;
    } while (--turns > 0);
}

/* The compiler may turn the condition into code without a branch, so nothing is predicted. */
#define rps_loop_random rps_loop_plain

#endif
