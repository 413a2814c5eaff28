/* competitor: another program that holds the processor's counters, as the NMI watchdog does.
 *
 * usage: competitor TURN_MS COMMAND [ARGUMENT...]
 *
 * While the command runs, all counters of all processors are held for TURN_MS, then released for
 * TURN_MS, and so on. With 0 they are held all the time. The exit status is that of the command.
 * The counters are pinned to the processors, and so take precedence over counters of programs.
 * Needs root. */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* More counters than all processors have. */
#define COUNTER_MAX 64

static int counter[COUNTER_MAX], counters;

/* Hold one more counter of the processor. Return 1 if it is held, 0 if there is none left, negative
 * on failure. */
static int take(long cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .pinned = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    uint64_t count;

    if (fd < 0)
        return -1;
    /* A pinned event without a counter cannot be read. */
    if (read(fd, &count, sizeof(count)) != sizeof(count)) {
        close(fd);
        return 0;
    }
    counter[counters++] = fd;
    return 1;
}

static int take_all(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    for (long cpu = 0; cpu < cpus; cpu++) {
        int before = counters, rc = 1;

        while (rc > 0 && counters < COUNTER_MAX)
            rc = take(cpu);
        if (rc != 0 || counters == before)
            return -1;
    }
    return 0;
}

static int switch_all(unsigned long request)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < counters; i++)
        rc = ioctl(counter[i], request, 0);
    return rc;
}

/* Wait for the end of the child. Until then, hold and release the counters alternately. */
static int take_turns(int64_t turn_ns, const sigset_t *end)
{
    const struct timespec turn = {turn_ns / 1000000000, turn_ns % 1000000000};
    int held = 1;

    if (turn_ns == 0)
        return sigwaitinfo(end, NULL) < 0 ? -1 : 0;
    while (sigtimedwait(end, NULL, &turn) < 0) {
        if (errno != EAGAIN ||
            switch_all(held ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE) < 0)
            return -1;
        held = !held;
    }
    return 0;
}

static int run(int64_t turn_ns, char *argv[])
{
    sigset_t end;
    pid_t child;
    int status, rc;

    sigemptyset(&end);
    sigaddset(&end, SIGCHLD);
    sigprocmask(SIG_BLOCK, &end, NULL);
    child = fork();
    if (child == 0) {
        sigprocmask(SIG_UNBLOCK, &end, NULL);
        execvp(argv[0], argv);
        _exit(127);
    }
    rc = child < 0 ? -1 : take_turns(turn_ns, &end);
    if (child < 0 || waitpid(child, &status, 0) != child || rc < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char *argv[])
{
    char *stop = NULL;
    long turn_ms = argc < 3 ? -1 : strtol(argv[1], &stop, 10);
    int status;

    if (turn_ms < 0 || stop == argv[1] || *stop) {
        fprintf(stderr, "usage: competitor TURN_MS COMMAND [ARGUMENT...]\n");
        return 2;
    }
    status = take_all() < 0 ? -1 : run(INT64_C(1000000) * turn_ms, argv + 2);
    if (status < 0)
        perror("competitor");
    return status < 0 ? 125 : status;
}
