/* loop: a loop of known length, to compare counters with (Korn, Teller and Castillo 2001).
 *
 * usage: loop TURNS          every iteration retires exactly 4 instructions, one of them a branch
 *
 * The loop is in assembly, so that no compiler changes it. Starting and ending the program takes
 * some tens of thousands of further instructions. On processors without a loop written for them,
 * the exit status is 77, as in test harnesses. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__aarch64__)
#define HAVE_LOOP 1
static void run_loop(uint64_t turns)
{
    __asm__ volatile("1: nop\n"
                     "   nop\n"
                     "   subs %0, %0, #1\n"
                     "   b.ne 1b\n"
                     : "+r"(turns)
                     :
                     : "cc");
}
#elif defined(__x86_64__)
#define HAVE_LOOP 1
static void run_loop(uint64_t turns)
{
    __asm__ volatile("1: nop\n"
                     "   nop\n"
                     "   dec %0\n"
                     "   jnz 1b\n"
                     : "+r"(turns)
                     :
                     : "cc");
}
#elif defined(__arm__)
#define HAVE_LOOP 1
/* Run the loop in parts whose counts fit in 32 bits. */
static void run_loop(uint64_t turns)
{
    while (turns > 0) {
        uint32_t part = turns > UINT32_MAX ? UINT32_MAX : (uint32_t)turns;

        turns -= part;
        __asm__ volatile("1: nop\n"
                         "   nop\n"
                         "   subs %0, %0, #1\n"
                         "   bne 1b\n"
                         : "+r"(part)
                         :
                         : "cc");
    }
}
#else
#define HAVE_LOOP 0
static void run_loop(uint64_t turns)
{
    (void)turns;
}
#endif

int main(int argc, char *argv[])
{
    char *end = NULL;
    unsigned long long turns = 0;

    errno = 0;
    if (argc == 2)
        turns = strtoull(argv[1], &end, 10);
    if (argc != 2 || end == argv[1] || *end || errno || turns == 0) {
        fprintf(stderr, "usage: loop TURNS\n");
        return 2;
    }
    if (!HAVE_LOOP)
        return 77;
    run_loop(turns);
    return 0;
}
