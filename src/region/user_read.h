/* Instructions that read a counter and the time without a system call.
 *
 * The kernel chooses the counter and the time base. The kernel writes its choice to the page that
 * it maps for each event (linux/perf_event.h). The kernel sets the capability bits of the page only
 * if these instructions are permitted. If there are no such instructions for a processor,
 * RPS_USER_READ is 0, and these functions are not called. */
#pragma once

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)

#define RPS_USER_READ 1

static inline uint64_t rps_user_counter(uint32_t counter)
{
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
    return (uint64_t)high << 32 | low;
}

static inline uint64_t rps_user_time(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

#elif defined(__aarch64__)

#define RPS_USER_READ 1

/* Read a counter whose number is part of the instruction. The register that selects a counter by
 * number is not used, because the register's value could be lost at a switch to another thread. */
#define RPS_READ_REGISTER(name)                                                                    \
    {                                                                                              \
        uint64_t value;                                                                            \
        __asm__ volatile("mrs %0, " name : "=r"(value));                                           \
        return value;                                                                              \
    }
#define RPS_READ_EVENT(number)                                                                     \
    case number:                                                                                   \
        RPS_READ_REGISTER("pmevcntr" #number "_el0")

static inline uint64_t rps_user_counter(uint32_t counter)
{
    switch (counter) {
        RPS_READ_EVENT(0)
        RPS_READ_EVENT(1)
        RPS_READ_EVENT(2)
        RPS_READ_EVENT(3)
        RPS_READ_EVENT(4)
        RPS_READ_EVENT(5)
        RPS_READ_EVENT(6)
        RPS_READ_EVENT(7)
        RPS_READ_EVENT(8)
        RPS_READ_EVENT(9)
        RPS_READ_EVENT(10)
        RPS_READ_EVENT(11)
        RPS_READ_EVENT(12)
        RPS_READ_EVENT(13)
        RPS_READ_EVENT(14)
        RPS_READ_EVENT(15)
        RPS_READ_EVENT(16)
        RPS_READ_EVENT(17)
        RPS_READ_EVENT(18)
        RPS_READ_EVENT(19)
        RPS_READ_EVENT(20)
        RPS_READ_EVENT(21)
        RPS_READ_EVENT(22)
        RPS_READ_EVENT(23)
        RPS_READ_EVENT(24)
        RPS_READ_EVENT(25)
        RPS_READ_EVENT(26)
        RPS_READ_EVENT(27)
        RPS_READ_EVENT(28)
        RPS_READ_EVENT(29)
        RPS_READ_EVENT(30)
    default: /* The kernel's number of the cycle counter is 31. */
        RPS_READ_REGISTER("pmccntr_el0")
    }
}

static inline uint64_t rps_user_time(void)
{
    uint64_t value;

    __asm__ volatile("isb\n"
                     "mrs %0, cntvct_el0"
                     : "=r"(value));
    return value;
}

#undef RPS_READ_EVENT
#undef RPS_READ_REGISTER

#else

#define RPS_USER_READ 0

static inline uint64_t rps_user_counter(uint32_t counter)
{
    return counter;
}

static inline uint64_t rps_user_time(void)
{
    return 0;
}

#endif
