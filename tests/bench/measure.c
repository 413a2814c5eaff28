/* measure: runs a command and records its cost.
 *
 * usage: measure FILE [-w FROM TO] COMMAND [ARG...]
 *
 * FILE receives lines `name value` for the command with all children that it waited for. With -w,
 * FILE also receives the CPU time of the command's own threads, FROM and TO seconds after the
 * start, to the nanosecond. These times separate a recorder from its workload, and its steady work
 * from its start. The program is in C because a process inherits the peak memory of its parent.
 * Measured from Python, every command would seem to need at least as much memory as Python. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Resources used by the command's threads at a moment. A value of -1 is unknown. */
struct sample {
    int64_t at_ns, cpu_ns;
    long kib;
};

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

/* Return the CPU time of all living threads of a process, from the scheduler, or -1 if it is
 * unknown. */
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

/* Return the memory of a process at this moment in KiB, or -1 if it is unknown. */
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

static void sleep_until(int64_t time_ns)
{
    const struct timespec until = {.tv_sec = time_ns / INT64_C(1000000000),
                                   .tv_nsec = time_ns % INT64_C(1000000000)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static struct sample take_sample(pid_t pid, int64_t time_ns)
{
    struct sample sample;

    sleep_until(time_ns);
    sample.at_ns = monotonic_ns();
    sample.cpu_ns = process_cpu_ns(pid);
    sample.kib = process_kib(pid);
    return sample;
}

static pid_t start(char *argv[])
{
    pid_t pid = fork();

    if (pid == 0) {
        execvp(argv[0], argv);
        fprintf(stderr, "measure: cannot run %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    return pid;
}

int main(int argc, char *argv[])
{
    const int window = argc > 4 && strcmp(argv[2], "-w") == 0, first = window ? 5 : 2;
    const int64_t start_ns = monotonic_ns();
    struct sample from = {0}, to = {0};
    struct rusage command = {0};
    int64_t wall_ns;
    int status;
    FILE *file;
    pid_t pid;

    if (argc <= first) {
        fprintf(stderr, "usage: measure FILE [-w FROM TO] COMMAND [ARG...]\n");
        return 2;
    }
    pid = start(argv + first);
    if (pid > 0 && window) {
        from = take_sample(pid, start_ns + (int64_t)(atof(argv[3]) * 1e9));
        to = take_sample(pid, start_ns + (int64_t)(atof(argv[4]) * 1e9));
    }
    if (pid < 0 || wait4(pid, &status, 0, &command) != pid)
        status = -1;
    wall_ns = monotonic_ns() - start_ns;
    file = fopen(argv[1], "w");
    if (status == -1 || !file) {
        fprintf(stderr, "measure: %s: %s\n", file ? argv[first] : argv[1], strerror(errno));
        return EXIT_FAILURE;
    }
    fprintf(file, "wall_ns %" PRId64 "\n", wall_ns);
    fprintf(file, "cpu_us %" PRId64 "\n", cpu_us(&command));
    fprintf(file, "peak_kib %ld\n", command.ru_maxrss);
    if (window) {
        fprintf(file, "window_ns %" PRId64 "\n", to.at_ns - from.at_ns);
        fprintf(file, "from_cpu_ns %" PRId64 "\n", from.cpu_ns);
        fprintf(file, "to_cpu_ns %" PRId64 "\n", to.cpu_ns);
        fprintf(file, "from_kib %ld\n", from.kib);
        fprintf(file, "to_kib %ld\n", to.kib);
    }
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
