/*
 * Launch the workload.
 *
 * It uses fork, not vfork or posix_spawn: the child has to wait between its creation, when counters
 * are opened on it, and its exec, when they begin to count. Two pipes lead to it: it waits on one.
 * The other returns the time of exec and then closes, or returns errno. All are close-on-exec, so
 * nothing leaks.
 */
#include "rpistat/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/proc.h"

/* Memory that the child may still use after it has reported its own, plus the error of Linux's
 * counter. */
#define EXEC_BYTES (1024 * 1024)

/* The child's message just before its exec. */
struct start {
    int64_t time_ns, user_ns, system_ns, memory_bytes;
};

/* Resident memory of this process; -1: unknown. Without stdio, which allocates. */
static int64_t resident_bytes(void)
{
    char text[128], *at = text;
    int64_t pages = 0;

    rps_proc_read(text, sizeof(text), "/proc/self/statm");
    while (*at && *at != ' ')
        at++;
    while (*at == ' ')
        at++;
    for (; *at >= '0' && *at <= '9'; at++)
        pages = pages * 10 + (*at - '0');
    return pages > 0 ? pages * sysconf(_SC_PAGESIZE) : -1;
}

/* Run the child until exec; never returns. */
static _Noreturn void child_main(int wait_fd, int report_fd, char *const argv[],
                                 const struct rps_signals_before *before)
{
    struct start start;
    struct rusage used = {0};
    char byte;
    ssize_t got, put;
    int number;

    prctl(PR_SET_NAME, "rpistat command"); /* `status` never takes this name for a recorder */
    do {
        got = read(wait_fd, &byte, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(127); /* the recorder failed */
    getrusage(RUSAGE_SELF, &used);
    start = (struct start){rps_clock_monotonic_ns(), rps_clock_timeval_ns(&used.ru_utime),
                           rps_clock_timeval_ns(&used.ru_stime), resident_bytes()};
    put = write(report_fd, &start, sizeof(start));
    (void)put;
    rps_signals_restore(before);
    execvp(argv[0], argv);
    number = errno;
    put = write(report_fd, &number, sizeof(number));
    (void)put;
    _exit(number == ENOENT || number == ENOTDIR ? 127 : 126);
}

int rps_workload_fork(struct rps_workload *ret, char *const argv[],
                      const struct rps_signals_before *before, struct rps_error *err)
{
    int release[2] = {-1, -1}, status[2] = {-1, -1};
    pid_t pid = -1;
    int pidfd;

    if (pipe2(release, O_CLOEXEC) < 0 || pipe2(status, O_CLOEXEC) < 0)
        goto fail;
    pid = fork();
    if (pid < 0)
        goto fail;
    if (pid == 0) {
        close(release[1]);
        child_main(release[0], status[1], argv, before);
    }
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        goto fail;
    close(release[0]);
    close(status[1]);
    fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    *ret = (struct rps_workload){.pid = pid,
                                 .pidfd = pidfd,
                                 .release_fd = release[1],
                                 .status_fd = status[0],
                                 .command = argv[0]};
    return 0;
fail:
    rps_error_set(err, RPS_FAILED, "cannot create the workload's process: %s",
                  errno == ENOSYS ? "this kernel has no pidfd_open; Linux 5.3 or later is needed"
                                  : strerror(errno));
    for (int i = 0; i < 2; i++) {
        if (release[i] >= 0)
            close(release[i]);
        if (status[i] >= 0)
            close(status[i]);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return RPS_FAILED;
}

/* Return the bytes read before the end of the pipe; -1: error. */
static ssize_t read_fully(int fd, void *buffer, size_t size)
{
    ssize_t got;

    do {
        got = read(fd, buffer, size); /* so few bytes are written and read at once */
    } while (got < 0 && errno == EINTR);
    return got;
}

int rps_workload_release(struct rps_workload *workload, int64_t *ret_start_ns,
                         struct rps_error *err)
{
    char byte = 1;
    int number = 0;
    struct start start;
    ssize_t got;

    do {
        got = write(workload->release_fd, &byte, 1);
    } while (got < 0 && errno == EINTR);
    close(workload->release_fd);
    workload->release_fd = -1;
    if (read_fully(workload->status_fd, &start, sizeof(start)) != sizeof(start))
        start =
            (struct start){.time_ns = rps_clock_monotonic_ns(), .memory_bytes = -1}; /* killed */
    got = read_fully(workload->status_fd, &number, sizeof(number));
    *ret_start_ns = start.time_ns;
    workload->user_ns = start.user_ns;
    workload->system_ns = start.system_ns;
    workload->memory_bytes = start.memory_bytes;
    if (got == 0)
        return 0;
    return rps_workload_exec_error(workload->command, workload->search_path,
                                   got == (ssize_t)sizeof(number) ? number : EIO, err);
}

int rps_workload_wait(struct rps_workload *workload, struct rps_workload_end *ret,
                      struct rps_error *err)
{
    struct rusage used;
    int status;
    pid_t pid;

    do {
        pid = wait4(workload->pid, &status, 0, &used);
    } while (pid < 0 && errno == EINTR);
    if (pid < 0)
        return rps_error_set(err, RPS_FAILED, "cannot wait for the workload: %s", strerror(errno));
    *ret = (struct rps_workload_end){
        .status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .user_ns = rps_clock_timeval_ns(&used.ru_utime) - workload->user_ns,
        .system_ns = rps_clock_timeval_ns(&used.ru_stime) - workload->system_ns,
        .memory_bytes = (int64_t)used.ru_maxrss * 1024,
    };
    if (workload->memory_bytes < 0 || ret->memory_bytes <= workload->memory_bytes + EXEC_BYTES)
        ret->memory_bytes = -1; /* it may be from before the exec */
    return 0;
}

int rps_workload_ignores(const struct rps_workload *workload, int signal)
{
    static const char label[] = "\nSigIgn:";
    char text[8192];
    const char *at;
    unsigned long long ignored;

    rps_proc_read(text, sizeof(text), "/proc/%ld/status", (long)workload->pid);
    at = rps_proc_is_own() ? strstr(text, label) : NULL;
    ignored = at ? strtoull(at + strlen(label), NULL, 16) : 0;
    return signal >= 1 && signal <= 64 && (ignored >> (signal - 1) & 1);
}

void rps_workload_close(struct rps_workload *workload)
{
    if (workload->release_fd >= 0) {
        close(workload->release_fd);
        waitpid(workload->pid, NULL, 0);
    }
    if (workload->status_fd >= 0)
        close(workload->status_fd);
    if (workload->pidfd >= 0)
        close(workload->pidfd);
    workload->release_fd = workload->status_fd = workload->pidfd = -1;
}
