/* lost: measures how much CPU time busy processes lose to other tasks.
 *
 * usage: lost FILE SECONDS PROCESSES
 *
 * Each process spins, on its own CPU if there are enough CPUs, and adds up all times in which it
 * did not run. A query of the clock takes about 30 ns. Any query over 1 us was interrupted by
 * another task. FILE receives `lost_ns` and `spent_ns`, summed over the processes. The usual
 * measure is the elapsed time of a fixed amount of work. The elapsed time varies by more than the
 * effect to be measured. */
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GAP_NS 1000

static int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Move to the n-th allowed CPU, counted cyclically. */
static void go_to_cpu(int n)
{
    cpu_set_t allowed, one;
    int left;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
        return;
    left = n % CPU_COUNT(&allowed);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && left-- == 0)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static int64_t spin(int64_t length_ns)
{
    int64_t start_ns = monotonic_ns(), before_ns = start_ns, lost_ns = 0, time_ns;

    do {
        time_ns = monotonic_ns();
        if (time_ns - before_ns > GAP_NS)
            lost_ns += time_ns - before_ns;
        before_ns = time_ns;
    } while (time_ns - start_ns < length_ns);
    return lost_ns;
}

int main(int argc, char **argv)
{
    int64_t length_ns = argc > 2 ? (int64_t)(atof(argv[2]) * 1e9) : 0, lost_ns = 0, one_ns;
    int count = argc > 3 ? atoi(argv[3]) : 0, pipe_fd[2];
    FILE *file;

    if (argc != 4 || length_ns <= 0 || count < 1 || pipe(pipe_fd) < 0) {
        fprintf(stderr, "usage: lost FILE SECONDS PROCESSES\n");
        return 2;
    }
    for (int n = 0; n < count; n++) {
        if (fork() == 0) {
            go_to_cpu(n);
            one_ns = spin(length_ns);
            _exit(write(pipe_fd[1], &one_ns, sizeof(one_ns)) != (ssize_t)sizeof(one_ns));
        }
    }
    for (int n = 0; n < count; n++) {
        if (read(pipe_fd[0], &one_ns, sizeof(one_ns)) != (ssize_t)sizeof(one_ns))
            return 1;
        lost_ns += one_ns;
        wait(NULL);
    }
    file = fopen(argv[1], "w");
    if (!file ||
        fprintf(file, "lost_ns %" PRId64 "\nspent_ns %" PRId64 "\n", lost_ns, count * length_ns) <
            0 ||
        fclose(file) != 0)
        return 1;
    return 0;
}
