/* regions: a program that measures itself, on a machine whose counts are exact.
 *
 * usage: regions SETS TURNS
 *
 * SETS is the document of event sets. Standard output has lines "NAME INSTRUCTIONS". "added" is the
 * reported cost of an entry. All other NAMEs are regions that were entered once. "first", "second",
 * "third" and "inner" are empty, "around" contains "inner", and "loop" is a loop of TURNS
 * iterations. The last lines are "jumped ENTERED LEFT OPEN" of a region that is left by longjmp at
 * every other of five entries, and the report. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "rpistat/micro.h"
#include "rpistat/region.h"

static jmp_buf back;

static void enter(const char *name)
{
    rps_region_begin(name);
    rps_region_end(name);
}

static void enter_and_leave(int leave)
{
    rps_region_begin("jumped");
    if (leave)
        longjmp(back, 1);
    rps_region_end("jumped");
}

static void print_instructions(const char *label, const char *name)
{
    printf("%s %.0f\n", label, rps_region_value(name, "instructions"));
}

int main(int argc, char *argv[])
{
    static const char *const names[] = {"first", "second", "third", "inner", "around", "loop"};
    const struct rps_micro *loop = rps_micro_find("loop");
    uint64_t turns = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    struct rps_region_times times;

    if (turns == 0 || rps_region_open(argv[1]) < 0) {
        fprintf(stderr, "usage: regions SETS TURNS\n%s\n", rps_region_problem());
        return 2;
    }
    for (int i = 0; i < 3; i++)
        enter(names[i]);
    rps_region_begin("around");
    enter("inner");
    rps_region_end("around");
    rps_region_begin("loop");
    loop->run(NULL, 0, turns);
    rps_region_end("loop");
    for (volatile int i = 0; i < 5; i++)
        if (setjmp(back) == 0)
            enter_and_leave(i % 2 == 0);
    print_instructions("added", NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        print_instructions(names[i], names[i]);
    rps_region_get("jumped", &times);
    printf("jumped %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", times.entered, times.left, times.open);
    rps_region_report(stdout);
    return EXIT_SUCCESS;
}
