/*
 * regions: a program that measures itself, to be recorded.
 *
 * usage: regions             enters "slow" twice, "in a child" once in a forked child, and "quick"
 *                            a thousand times; its report goes to standard output
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpistat/region.h"

static void in_child(void)
{
    rps_region_begin("in a child");
    rps_region_end("in a child");
    exit(EXIT_SUCCESS);
}

int main(void)
{
    pid_t pid;

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
