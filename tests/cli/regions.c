/* regions: a program that measures itself, to be recorded.
 *
 * usage: regions             enters "slow" twice, "in a child" once in a forked child, and "quick"
 *                            a thousand times; prints its report on standard output
 *        regions busy        counts all events that this machine supports in region "busy", for
 *                            0.2 s of CPU time
 *        regions unasked     enters "slow" once without a request to measure */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/region.h"

static void in_child(void)
{
    rps_region_begin("in a child");
    rps_region_end("in a child");
    exit(EXIT_SUCCESS);
}

static int keep_busy(void)
{
    rps_region_open(NULL);
    rps_region_begin("busy");
    while (clock() < CLOCKS_PER_SEC / 5)
        ;
    rps_region_end("busy");
    rps_region_report(stdout);
    return EXIT_SUCCESS;
}

static int enter_unasked(void)
{
    rps_region_begin("slow");
    rps_region_end("slow");
    rps_region_report(stdout);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    pid_t pid;

    if (argc > 1 && strcmp(argv[1], "busy") == 0)
        return keep_busy();
    if (argc > 1 && strcmp(argv[1], "unasked") == 0)
        return enter_unasked();
    rps_region_open("software");
    rps_region_begin("slow");
    for (int i = 0; i < 1000; i++) {
        rps_region_begin("quick");
        rps_region_end("quick");
    }
    rps_region_end("slow");
    rps_region_begin("slow");
    rps_region_end("slow");
    pid = fork();
    if (pid == 0)
        in_child();
    waitpid(pid, NULL, 0);
    rps_region_report(stdout);
    return EXIT_SUCCESS;
}
