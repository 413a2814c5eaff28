/* Limits for processes that read possibly hostile files. */
#include "child.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/rights.h"
#include "rpistat/proc.h"

/* Times to wait for the end of a killed process: up to WAIT_NS on a busy machine, but only STUCK_NS
 * if a file system blocks the process. */
#define NAP_MIN_NS (20 * RPS_NS_PER_US)
#define NAP_MAX_NS (10 * RPS_NS_PER_MS)
#define STUCK_NS   (100 * RPS_NS_PER_MS)
#define WAIT_NS    (10 * RPS_NS_PER_S)

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

/* Return the size of the memory that the child inherits from its parent and shares with it. */
static rlim_t inherited_bytes(void)
{
    unsigned long pages = 0;
    char text[128];

    rps_proc_read(text, sizeof(text), "/proc/self/statm");
    if (sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        _exit(1);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void end_early(const struct rps_error *unused)
{
    (void)unused;
    _exit(1);
}

void rps_child_begin(const char *name)
{
    static const int deadly[] = {SIGXCPU, SIGSEGV, SIGBUS,  SIGABRT,
                                 SIGFPE,  SIGILL,  SIGPIPE, SIGPROF};
    /* The child ignores signals of a terminal or service manager; the parent handles them. */
    static const int parents[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    prctl(PR_SET_NAME, name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    rps_arena_on_exhaustion(end_early);
    for (size_t i = 0; i < RPS_COUNT(parents); i++)
        signal(parents[i], SIG_IGN);
    for (size_t i = 0; i < RPS_COUNT(deadly); i++)
        signal(deadly[i], SIG_DFL);
    rps_child_limit(RLIMIT_CORE, 0);
    rps_child_limit(RLIMIT_DATA, inherited_bytes() + RPS_CHILD_MEMORY_BYTES);
}

int rps_child_keep_only(int first, int second)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    DIR *descriptors = opendir("/proc/self/fd");

    for (int fd = 0; fd <= 2; fd++) {
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
    }
    if (!descriptors)
        return -1;
    for (struct dirent *entry; (entry = readdir(descriptors)) != NULL;) {
        int fd = (int)strtol(entry->d_name, NULL, 10);

        if (fd > 2 && fd != first && fd != second && fd != dirfd(descriptors))
            close(fd);
    }
    return closedir(descriptors);
}

void rps_child_become_nobody(int first, int second)
{
    if (rps_child_keep_only(first, second) < 0 || rps_rights_give_up() < 0)
        _exit(RPS_CHILD_REFUSED_STATUS);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* Giving up rights has cleared this signal; set it again. */
}

/* Return 1 if the process waits for a file system or a disk, where no signal reaches it. */
static int is_uninterruptible(pid_t pid)
{
    char text[256];

    rps_proc_read(text, sizeof(text), "/proc/%ld/stat", (long)pid);
    return *rps_proc_stat_field(text, 3) == 'D';
}

int64_t rps_child_end(pid_t pid, enum rps_child_end *ret_how)
{
    int64_t waited_ns = 0, nap_ns = NAP_MIN_NS;
    struct rusage usage = {.ru_utime = {0}};
    pid_t ended;
    int status = 0;

    kill(pid, SIGKILL);
    while ((ended = wait4(pid, &status, WNOHANG, &usage)) != pid && waited_ns < WAIT_NS &&
           !(waited_ns > STUCK_NS && is_uninterruptible(pid))) {
        nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
        waited_ns += nap_ns;
        nap_ns = 2 * nap_ns < NAP_MAX_NS ? 2 * nap_ns : NAP_MAX_NS;
    }
    *ret_how = ended != pid ? RPS_CHILD_STUCK
               : WIFEXITED(status) && WEXITSTATUS(status) == RPS_CHILD_REFUSED_STATUS
                   ? RPS_CHILD_REFUSED
                   : RPS_CHILD_ENDED;
    return rps_clock_timeval_ns(&usage.ru_utime) + rps_clock_timeval_ns(&usage.ru_stime);
}
