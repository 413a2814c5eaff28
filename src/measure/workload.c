/* Launch the workload.
 *
 * The launch uses fork, not vfork or posix_spawn. The child has to wait between its creation, when
 * counters are opened on it, and its exec, when the counters begin to count. Two pipes lead to the
 * child, which waits on the first pipe. The second pipe returns the time of exec and then closes,
 * or returns errno. All descriptors are close-on-exec, so the workload inherits none. */
#include "rpistat/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/proc.h"

/* Upper limit of the child's memory use after its report, plus the error of Linux's counter. */
#define EXEC_BYTES (1024 * 1024)

/* The child's message just before its exec. */
struct start {
    int64_t time_ns, user_ns, system_ns, memory_bytes;
};

/* Return this process's resident memory, or -1 if unknown. stdio would allocate memory. */
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

static _Noreturn void child_main(int wait_fd, int report_fd, char *const argv[],
                                 const struct rps_signals_before *before)
{
    struct start start;
    struct rusage used = {0};
    char byte;
    ssize_t got, put;
    int number;

    prctl(PR_SET_NAME, "rpistat command"); /* `rpistat status` ignores processes of this name */
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
                  errno == ENOSYS ? "this kernel has no pidfd_open; use Linux 5.3 or later"
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

/* Read until the end of the pipe. Returns the number of bytes, or -1 on error. */
static ssize_t read_fully(int fd, void *buffer, size_t size)
{
    ssize_t got;

    do {
        got = read(fd, buffer, size); /* a few bytes written at once arrive complete */
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
            /* the child was killed */
            (struct start){.time_ns = rps_clock_monotonic_ns(), .memory_bytes = -1};
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
        ret->memory_bytes = -1; /* the value may be from before the exec */
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

/* Facts about the machine, read from uname, sysconf, /proc and /sys. */

/* Read the first line of a file without its newline. *ret is "" if the file cannot be read. */
static void read_first_line(const char *path, char *ret, size_t size)
{
    rps_proc_read(ret, size, "%s", path);
    ret[strcspn(ret, "\n")] = '\0';
}

static int read_int(const char *path, int unknown)
{
    char text[32], *end;
    long value;

    read_first_line(path, text, sizeof(text));
    value = strtol(text, &end, 10);
    return end == text ? unknown : (int)value;
}

/* Read the value of the first "NAME : value" of /proc/cpuinfo with one of the names. */
static void read_cpu_model(char *ret, size_t size)
{
    static const char *const names[] = {"model name", "Processor", "cpu model", "Model",
                                        "Hardware"};
    char line[512];

    ret[0] = '\0';
    for (size_t i = 0; i < RPS_COUNT(names) && !ret[0]; i++) {
        FILE *file = fopen("/proc/cpuinfo", "re");

        while (file && !ret[0] && fgets(line, sizeof(line), file)) {
            size_t length = strlen(names[i]);
            const char *colon = strchr(line, ':');

            if (strncmp(line, names[i], length) != 0 || !strchr("\t :", line[length]) || !colon)
                continue;
            line[strcspn(line, "\n")] = '\0';
            snprintf(ret, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        }
        if (file)
            fclose(file);
    }
    if (!ret[0]) /* a board that is described by a device tree */
        read_first_line("/sys/firmware/devicetree/base/model", ret, size);
}

void rps_host_describe(struct rps_run *run)
{
    struct utsname name;
    char *folder = getcwd(NULL, 0);

    if (uname(&name) == 0) {
        snprintf(run->host, sizeof(run->host), "%s", name.nodename);
        snprintf(run->kernel, sizeof(run->kernel), "%s %s", name.sysname, name.release);
        snprintf(run->architecture, sizeof(run->architecture), "%.63s", name.machine);
    }
    read_first_line("/proc/sys/kernel/random/boot_id", run->boot_id, sizeof(run->boot_id));
    read_cpu_model(run->cpu_model, sizeof(run->cpu_model));
    run->cpu_count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    run->recorder_pid = getpid();
    run->paranoid = read_int("/proc/sys/kernel/perf_event_paranoid", -100);
    run->nmi_watchdog = read_int("/proc/sys/kernel/nmi_watchdog", -1);
    read_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", run->governor,
                    sizeof(run->governor));
    run->folder = rps_arena_text(rps_run_arena(run), folder ? folder : "");
    free(folder);
}
