/*
 * measure: run a command and write down what it cost, and what its parent cost meanwhile.
 *
 * usage: measure FILE COMMAND [ARG...]
 *
 * FILE gets lines `name value`. Beside the command (its tree, once waited for) it looks at the
 * process that started measure: a recorder that runs `measure FILE workload` as its workload is
 * seen from inside, to the nanosecond, at the very moments when the workload begins and ends. It is
 * C because a process inherits the peak memory of the one that forked it: measured from Python no
 * command would seem to need less than Python does.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP_S 5

static int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t cpu_us(const struct rusage *usage)
{
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * INT64_C(1000000) +
           usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

/* CPU time of all living threads of a process, from the scheduler; -1 when it does not tell. */
static int64_t process_cpu_ns(pid_t pid)
{
    char path[320];
    int64_t total_ns = -1;
    DIR *folder;
    struct dirent *entry;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        int64_t thread_ns;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, entry->d_name);
        file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file && fscanf(file, "%" SCNd64, &thread_ns) == 1)
            total_ns = (total_ns < 0 ? 0 : total_ns) + thread_ns;
        if (file)
            fclose(file);
    }
    if (folder)
        closedir(folder);
    return total_ns;
}

/* Memory that a process holds at this moment, KiB; -1 when it cannot be told. */
static long process_kib(pid_t pid)
{
    char path[64];
    long pages = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        pages = -1;
    if (file)
        fclose(file);
    return pages < 0 ? -1 : pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Wait for the command; what the parent holds after WARM_UP_S, when its caches are full. */
static int wait_for(pid_t pid, struct rusage *ret_usage, long *ret_parent_kib)
{
    const struct timespec warm_up = {.tv_sec = WARM_UP_S};
    sigset_t ended;
    int status;

    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    *ret_parent_kib = -1;
    if (sigtimedwait(&ended, NULL, &warm_up) < 0)
        *ret_parent_kib = process_kib(getppid());
    return wait4(pid, &status, 0, ret_usage) == pid ? status : -1;
}

/* Run the command and wait for it. Returns its wait status, or -1. */
static int run(char *argv[], struct rusage *ret_usage, long *ret_parent_kib)
{
    sigset_t ended, before;
    pid_t pid;

    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, &before);
    pid = fork();

    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[0], argv);
        fprintf(stderr, "measure: cannot run %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    return pid < 0 ? -1 : wait_for(pid, ret_usage, ret_parent_kib);
}

int main(int argc, char *argv[])
{
    struct rusage command = {0}, self;
    const int64_t parent_start_ns = process_cpu_ns(getppid());
    const int64_t start_ns = monotonic_ns();
    int64_t wall_ns, parent_end_ns;
    long parent_start_kib = -1;
    int status;
    FILE *file;

    if (argc < 3) {
        fprintf(stderr, "usage: measure FILE COMMAND [ARG...]\n");
        return 2;
    }
    status = run(argv + 2, &command, &parent_start_kib);
    wall_ns = monotonic_ns() - start_ns;
    parent_end_ns = process_cpu_ns(getppid());
    file = fopen(argv[1], "w");
    if (status == -1 || !file) {
        fprintf(stderr, "measure: %s: %s\n", file ? argv[2] : argv[1], strerror(errno));
        return EXIT_FAILURE;
    }
    getrusage(RUSAGE_SELF, &self);
    fprintf(file, "wall_ns %" PRId64 "\n", wall_ns);
    fprintf(file, "cpu_us %" PRId64 "\n", cpu_us(&command));
    fprintf(file, "own_cpu_us %" PRId64 "\n", cpu_us(&self));
    fprintf(file, "peak_kib %ld\n", command.ru_maxrss);
    fprintf(file, "parent_start_ns %" PRId64 "\n", parent_start_ns);
    fprintf(file, "parent_end_ns %" PRId64 "\n", parent_end_ns);
    fprintf(file, "parent_start_kib %ld\n", parent_start_kib);
    fprintf(file, "parent_end_kib %ld\n", process_kib(getppid()));
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
