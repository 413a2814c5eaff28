/* The search for recorders, in one pass over /proc. A recorder is a process named rpistat that has
 * locked its file in the registry, or whose command line is that of a recording. No store is
 * opened. The children of a recorder, and the parent process of a --repeat series, have other
 * process names.
 *
 * SAFETY: a pidfd for a process is opened before the process is read, and the process still exists
 * after the reading. The data read from /proc and the registry in between therefore belong to no
 * other process with the same number. */
#include "registry.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli.h"
#include "rpistat/clock.h"
#include "rpistat/proc.h"
#include "rpistat/text.h"

#define COMMAND_BYTES 4096
#define ARGUMENTS_MAX 64
#define IN_FOLDER     "/proc/self/fd/%d/" /* path of an open directory */

const char *const rps_recorder_states[] = {"recording", "late", "unknown"};

/* Return 1 for the command line of a recording: `rpistat record`, or `rpistat` with a workload. */
static int says_it_records(int argc, char *const argv[])
{
    const struct rps_command *command = argc > 1 ? rps_names_command(argv[1]) : NULL;

    return argc > 1 && (!command || command == &rps_command_record);
}

/* Return 1 if the process with the directory proc_fd is a recorder. */
static int read_process(struct rps_arena *arena, struct rps_recorder *found, int proc_fd)
{
    char text[COMMAND_BYTES], *argv[ARGUMENTS_MAX];
    struct pollfd ended = {.fd = found->pidfd, .events = POLLIN};
    unsigned long real = 0, effective = 1;
    const struct passwd *user;
    const char *line;
    int argc = 0, is_recorder;
    size_t length;

    if (rps_proc_read(text, sizeof(text), IN_FOLDER "status", proc_fd) > 0 &&
        (line = strstr(text, "\nUid:")) != NULL)
        sscanf(line, "\nUid: %lu %lu", &real, &effective);
    found->uid = (uid_t)real;
    snprintf(found->user, sizeof(found->user), "%lu", real);
    if ((user = getpwuid(found->uid)) != NULL)
        rps_text_printable(found->user, sizeof(found->user), user->pw_name);
    if (rps_proc_read(text, sizeof(text), IN_FOLDER "io", proc_fd) > 0 &&
        (line = strstr(text, "\nwchar:")) != NULL)
        sscanf(line, "\nwchar: %" SCNd64, &found->written_bytes);
    length = rps_proc_read(text, sizeof(text), IN_FOLDER "cmdline", proc_fd);
    for (size_t at = 0; at < length && argc < ARGUMENTS_MAX; at += strlen(text + at) + 1)
        argv[argc++] = text + at;
    rps_text_command(found->command, sizeof(found->command), argc, argv);
    is_recorder = says_it_records(argc, argv);
    /* SAFETY: a set-user-ID process could be made to lock a file of its real user */
    if (real == effective && rps_registry_read(arena, &found->entry, found->pid, found->uid)) {
        is_recorder = found->entry.run.run_id >= 0;
        found->state = rps_clock_monotonic_ns() > found->entry.late_ns ? RPS_RECORDER_LATE
                                                                       : RPS_RECORDER_RECORDING;
    }
    return is_recorder && poll(&ended, 1, 0) == 0;
}

/* Add the process to the list if it is a recorder. Returns RPS_FAILED if Linux has no pidfds. */
static int add(struct rps_arena *arena, struct rps_recorders *list, const char *number,
               struct rps_error *err)
{
    char path[64];
    struct rps_recorder recorder = {.pid = (pid_t)atol(number),
                                    .pidfd = -1,
                                    .state = RPS_RECORDER_UNKNOWN,
                                    .written_bytes = -1};
    int proc_fd, found = 0;

    snprintf(path, sizeof(path), "/proc/%.20s", number);
    proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc_fd < 0)
        return 0;
    rps_run_init(&recorder.entry.run);
    if (recorder.pid != getpid() &&
        rps_proc_read(path, sizeof(path), IN_FOLDER "comm", proc_fd) > 0 &&
        strcmp(path, "rpistat\n") == 0) {
        recorder.pidfd = (int)syscall(SYS_pidfd_open, recorder.pid, 0);
        if (recorder.pidfd >= 0)
            found = read_process(arena, &recorder, proc_fd);
        else if (errno != ESRCH) /* ESRCH: the process has ended */
            found =
                rps_error_set(err, RPS_FAILED,
                              "cannot identify recorders: pidfd_open of process %ld failed (%s); "
                              "use Linux 5.3 or later, and a container that allows the call",
                              (long)recorder.pid, strerror(errno));
    }
    close(proc_fd);
    if (found <= 0) {
        if (recorder.pidfd >= 0)
            close(recorder.pidfd);
        return found;
    }
    list->recorder = rps_arena_grow(arena, list->recorder, list->count, sizeof(recorder));
    list->recorder[list->count++] = recorder;
    return 0;
}

int rps_recorders_find(struct rps_arena *arena, struct rps_recorders *ret, struct rps_error *err)
{
    struct rps_recorders list = {0};
    struct dirent *entry;
    int result = 0;
    DIR *proc;

    if (!rps_proc_is_own()) /* SAFETY: with another /proc a signal would reach the wrong process */
        return rps_error_set(err, RPS_FAILED, "cannot find recorders: " RPS_PROC_FOREIGN);
    proc = opendir("/proc");
    if (!proc)
        return rps_error_set(err, RPS_FAILED, "cannot find recorders: /proc cannot be read (%s)",
                             strerror(errno));
    while (result == 0 && (entry = readdir(proc)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0]))
            result = add(arena, &list, entry->d_name, err);
    }
    closedir(proc);
    if (result < 0)
        rps_recorders_free(&list);
    else
        *ret = list;
    return result;
}

void rps_recorders_free(struct rps_recorders *recorders)
{
    for (size_t i = 0; i < recorders->count; i++)
        close(recorders->recorder[i].pidfd);
    *recorders = (struct rps_recorders){0};
}
