/* Limits of processes that read files which may be hostile. */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpistat/clock.h"

void rps_child_limit(int resource, rlim_t value)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        _exit(1);
    limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
    limit.rlim_max = limit.rlim_cur;
    if (setrlimit(resource, &limit) < 0)
        _exit(1);
}

/* Memory that the child has of its parent, and shares with it. */
static rlim_t inherited_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file || fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        _exit(1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

void rps_child_begin(const char *name)
{
    static const int deadly[] = {SIGXCPU, SIGSEGV, SIGBUS,  SIGABRT,
                                 SIGFPE,  SIGILL,  SIGPIPE, SIGPROF};
    /* a terminal's, or of who stops a service: the parent decides what they mean */
    static const int parents[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    prctl(PR_SET_NAME, name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++)
        signal(parents[i], SIG_IGN);
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], SIG_DFL);
    rps_child_limit(RLIMIT_CORE, 0);
    rps_child_limit(RLIMIT_DATA, inherited_bytes() + RPS_CHILD_MEMORY_BYTES);
}

void rps_child_keep_only(int fd)
{
#ifdef SYS_close_range
    if (fd > 3)
        syscall(SYS_close_range, 3U, (unsigned)fd - 1, 0U);
    syscall(SYS_close_range, (unsigned)fd + 1, ~0U, 0U);
#else
    (void)fd;
#endif
}

int64_t rps_child_end(pid_t pid)
{
    struct rusage usage = {.ru_utime = {0}};

    kill(pid, SIGKILL);
    while (wait4(pid, NULL, 0, &usage) < 0 && errno == EINTR)
        ;
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * RPS_NS_PER_S +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * RPS_NS_PER_US;
}
