/*
 * Launching the workload.
 *
 * fork, not vfork or posix_spawn: the child has to wait between its creation, when counters are
 * opened on it, and its exec, when they begin to count. Two pipes lead to it: one it waits on, one
 * that brings back the time of exec and then closes, or brings errno. All of it is close-on-exec,
 * so nothing leaks.
 */
#include "rpistat/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "rpistat/clock.h"

/* Where execvp looks when PATH is not set. */
#define DEFAULT_PATH "/bin:/usr/bin"

static int exec_error(struct rps_error *err, const char *command, int number)
{
    switch (number) {
    case ENOENT:
        return rps_error_set(err, RPS_CANNOT_FIND,
                             strchr(command, '/')
                                 ? "%s: command not found: there is no such file"
                                 : "%s: command not found: no folder of PATH has it; write ./NAME "
                                   "for a program in this folder",
                             command);
    case ENOTDIR:
        return rps_error_set(err, RPS_CANNOT_FIND,
                             "%s: command not found: a part of its path is not a folder", command);
    case EACCES:
        return rps_error_set(err, RPS_CANNOT_EXEC,
                             "%s: permission denied: it is not an executable file", command);
    case EISDIR:
        return rps_error_set(err, RPS_CANNOT_EXEC, "%s: is a folder, not a command", command);
    default:
        return rps_error_set(err, RPS_CANNOT_EXEC, "%s: cannot be executed: %s", command,
                             strerror(number));
    }
}

/* 0 when path is a regular file that may be executed, else an errno. */
static int check_path(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
        return errno;
    return S_ISREG(st.st_mode) ? 0 : EACCES;
}

static int give_path(char *path, char **ret_path)
{
    if (ret_path)
        *ret_path = path;
    else
        free(path);
    return 0;
}

int rps_workload_check(const char *command, const char *search_path, char **ret_path,
                       struct rps_error *err)
{
    const char *folder, *end;
    int result = ENOENT;

    if (!*command)
        return rps_error_set(err, RPS_CANNOT_FIND,
                             "'': command not found: its name is empty; name a program");
    if (strchr(command, '/')) {
        char *copy;

        result = check_path(command);
        if (result)
            return exec_error(err, command, result);
        copy = strdup(command);
        return copy ? give_path(copy, ret_path) : rps_error_memory(err);
    }
    for (folder = search_path ? search_path : DEFAULT_PATH;; folder = end + 1) {
        char *full;
        int found;

        end = strchrnul(folder, ':');
        if (asprintf(&full, "%.*s%s%s", (int)(end - folder), folder, end > folder ? "/" : "",
                     command) < 0)
            return rps_error_memory(err);
        found = check_path(full);
        if (found == 0)
            return give_path(full, ret_path);
        free(full);
        if (found == EACCES)
            result = EACCES;
        if (!*end)
            break;
    }
    return exec_error(err, command, result);
}

/* Does Linux look at the file's bits and capabilities? Not of scripts, and not where rights that
 * come with files are switched off. */
static int may_give_rights(const char *path)
{
    struct statvfs fs;
    char head[2] = "";
    int fd;

    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) > 0 ||
        (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID)))
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        if (read(fd, head, sizeof(head)) < 0)
            head[0] = '\0';
        close(fd);
    }
    return head[0] != '#' || head[1] != '!';
}

int rps_workload_drops_counters(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return 0;
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0)
        return 1;
    if (!((st.st_mode & S_ISUID) && st.st_uid != geteuid()) &&
        !((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid()) &&
        (geteuid() == 0 || getxattr(path, "security.capability", NULL, 0) <= 0))
        return 0;
    return may_give_rights(path);
}

/* What the child says just before its exec. */
struct start {
    int64_t time_ns, user_ns, system_ns;
};

static int64_t nanoseconds(const struct timeval *time)
{
    return time->tv_sec * RPS_NS_PER_S + time->tv_usec * RPS_NS_PER_US;
}

/* The child's life until exec; never returns. */
static _Noreturn void child_main(int wait_fd, int report_fd, char *const argv[],
                                 const sigset_t *mask)
{
    struct start start;
    struct rusage used = {0};
    char byte;
    ssize_t got, put;
    int number;

    prctl(PR_SET_NAME, "rpistat command"); /* `status` takes none of that name for a recorder */
    do {
        got = read(wait_fd, &byte, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(127); /* the recorder gave up */
    getrusage(RUSAGE_SELF, &used);
    start = (struct start){rps_clock_monotonic_ns(), nanoseconds(&used.ru_utime),
                           nanoseconds(&used.ru_stime)};
    put = write(report_fd, &start, sizeof(start));
    (void)put;
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    number = errno;
    put = write(report_fd, &number, sizeof(number));
    (void)put;
    _exit(number == ENOENT || number == ENOTDIR ? 127 : 126);
}

int rps_workload_fork(struct rps_workload *ret, char *const argv[], const sigset_t *mask,
                      struct rps_error *err)
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
        child_main(release[0], status[1], argv, mask);
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

/* Bytes that came before the end of the pipe; -1 on error. */
static ssize_t read_fully(int fd, void *buffer, size_t size)
{
    ssize_t got;

    do {
        got = read(fd, buffer, size); /* so few bytes are written and read as one */
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
        start = (struct start){.time_ns = rps_clock_monotonic_ns()}; /* it was killed before */
    got = read_fully(workload->status_fd, &number, sizeof(number));
    *ret_start_ns = start.time_ns;
    workload->user_ns = start.user_ns;
    workload->system_ns = start.system_ns;
    if (got == 0)
        return 0;
    return exec_error(err, workload->command, got == (ssize_t)sizeof(number) ? number : EIO);
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
        .user_ns = nanoseconds(&used.ru_utime) - workload->user_ns,
        .system_ns = nanoseconds(&used.ru_stime) - workload->system_ns,
        .memory_bytes = (int64_t)used.ru_maxrss * 1024,
    };
    return 0;
}

int rps_workload_ignores(const struct rps_workload *workload, int signal)
{
    char path[64], line[256];
    unsigned long long ignored = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/status", (long)workload->pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "SigIgn:", 7) == 0)
            ignored = strtoull(line + 7, NULL, 16);
    fclose(file);
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
