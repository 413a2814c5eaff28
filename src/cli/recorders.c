/*
 * Recorders are the processes called rpistat that have a store open for writing, in which a run is
 * recorded by that very process: by the number that it has in its own PID namespace, since that is
 * what it wrote. So readers (watch, push) are none, and neither is what others call so.
 *
 * A process is held by a pidfd before it is looked at, and is still there afterwards: what was read
 * of /proc in between was of no other process of that number.
 *
 * Linux shows nobody but root and its user what a process has open; of one that has a file
 * capability nobody but root. Its command line is for everybody, and names the store: it is
 * believed when the run is there. A store of another user is not opened, unless it was named: of
 * that recorder the command line, and the name of the log that it has open, are all that is told.
 */
#include "recorders.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli.h"
#include "names.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

#define LOOKING_MAX_NS (10 * RPS_NS_PER_S)
#define COMMAND_BYTES  4096
#define ARGUMENTS_MAX  64

const char *const rps_recorder_states[] = {"recording", "late", "starting", "unknown"};

/* A process that is looked at. */
struct look {
    struct rps_recorder *found;
    int proc_fd;              /* /proc/PID */
    int64_t own_pid;          /* in its own namespace */
    const struct stat *named; /* a store that is opened whosever it is; NULL: none */
    int may_open;             /* 0: stores have taken too long */
    int is_ended;             /* a store has a run of this process that has ended */
    int argc;
    char *argv[ARGUMENTS_MAX];
    char arguments[COMMAND_BYTES]; /* what they point into */
};

/* A file of /proc into ret, as a text; its length, or -1. */
static ssize_t read_text(int folder_fd, const char *name, char *ret, size_t size)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, ret, size - 1) : -1;

    if (fd >= 0)
        close(fd);
    ret[length > 0 ? length : 0] = '\0';
    return length;
}

/* The first number behind "NAME:" at the beginning of a line, or with is_last the last of that
 * line; -1 when there is none. */
static int64_t number_of(const char *text, const char *name, int base, int is_last)
{
    size_t length = strlen(name);
    int64_t found = -1;

    while (strncmp(text, name, length) != 0 || text[length] != ':') {
        text = strchr(text, '\n');
        if (!text)
            return -1;
        text++;
    }
    text += length + 1;
    for (;;) {
        char *end;

        text += strspn(text, " \t");
        if (!isdigit((unsigned char)*text) || (found >= 0 && !is_last))
            return found;
        found = strtoll(text, &end, base);
        text = end;
    }
}

static void name_user(struct rps_recorder *found)
{
    const struct passwd *user = getpwuid(found->uid);

    snprintf(found->user, sizeof(found->user), "%lu", (unsigned long)found->uid);
    if (user)
        rps_text_printable(found->user, sizeof(found->user), user->pw_name);
}

/* What everybody may know of a process. */
static int read_process(struct look *look)
{
    struct rps_recorder *found = look->found;
    char text[COMMAND_BYTES];
    ssize_t length;

    if (read_text(look->proc_fd, "status", text, sizeof(text)) <= 0)
        return 0;
    found->uid = (uid_t)number_of(text, "Uid", 10, 0);
    found->parent = (pid_t)number_of(text, "PPid", 10, 0);
    look->own_pid = number_of(text, "NSpid", 10, 1);
    if (look->own_pid < 0)
        look->own_pid = found->pid;
    name_user(found);
    if (read_text(look->proc_fd, "io", text, sizeof(text)) > 0)
        found->written_bytes = number_of(text, "wchar", 10, 0);
    length = read_text(look->proc_fd, "cmdline", look->arguments, sizeof(look->arguments));
    for (ssize_t at = 0; at < length && look->argc < ARGUMENTS_MAX;
         at += (ssize_t)strlen(look->arguments + at) + 1)
        look->argv[look->argc++] = look->arguments + at;
    rps_text_command(found->command, sizeof(found->command), look->argc, look->argv);
    return 1;
}

/* By its command line: `rpistat record`, or `rpistat COMMAND`. */
static int says_it_records(const struct look *look)
{
    const struct rps_command *command = look->argc > 1 ? rps_names_command(look->argv[1]) : NULL;

    return look->argc > 1 && (!command || command == &rps_command_record);
}

static void set_reason(struct look *look, const char *reason)
{
    snprintf(look->found->reason, sizeof(look->found->reason), "%s", reason);
}

static int is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Root, above all, is not led to open what others have prepared because it asks who records. */
static int is_to_be_opened(const struct look *look, const struct stat *store)
{
    return look->found->uid == geteuid() || store->st_uid == geteuid() ||
           (look->named && is_same_file(store, look->named));
}

static int read_run(struct rps_recorder *found, struct rps_reader *reader, int64_t run_id,
                    struct rps_error *err)
{
    uint64_t unused;

    if (rps_reader_run(reader, run_id, &found->run, err) < 0 ||
        rps_reader_summary(reader, run_id, &found->summary, err) < 0 ||
        rps_reader_space(reader, &found->store_bytes, &unused, err) < 0) {
        rps_run_free(&found->run);
        return RPS_FAILED;
    }
    found->state =
        found->run.state == RPS_RUN_RECORDING ? RPS_RECORDER_RECORDING : RPS_RECORDER_LATE;
    return 1;
}

/* Look for the run in the store that lies at path: 1 when it is there. */
static int look_into(struct look *look, const char *path)
{
    struct rps_reader *reader = NULL;
    struct rps_error err;
    int64_t run_id;
    int is_recording = 0, result;

    if (!look->may_open) {
        set_reason(look, "its store was not opened, since others took too long");
        return 0;
    }
    result = rps_reader_open(&reader, path, &err);
    if (result == 0)
        result = rps_reader_recorded_by(reader, look->own_pid, &run_id, &is_recording, &err);
    if (result > 0 && is_recording)
        result = read_run(look->found, reader, run_id, &err);
    look->is_ended |= result > 0 && !is_recording;
    rps_reader_close(reader);
    if (result < 0)
        set_reason(look, err.message);
    return result > 0 && is_recording;
}

/* Take the store at path when it is the file that is meant, or any where that is NULL: 1. */
static int take_store(struct look *look, const char *path, const struct stat *meant)
{
    struct stat file;
    char *copy;

    if (stat(path, &file) < 0 || !S_ISREG(file.st_mode) || (meant && !is_same_file(&file, meant)))
        return 0;
    copy = strdup(path);
    if (!copy)
        return 0;
    free(look->found->store);
    look->found->store = copy;
    look->found->device = file.st_dev;
    look->found->inode = file.st_ino;
    return 1;
}

/* --- what it has open ------------------------------------------------------------------------- */

/* 1 when a descriptor is of a database that it may write. Closing ours drops the locks that this
 * process has on the file: it has none, since no store is open now. */
static int is_database(const struct look *look, int folder_fd, const char *number,
                       const struct stat *file)
{
    static const char magic[16] = "SQLite format 3";
    char name[64], text[256], head[sizeof(magic)];
    struct stat opened;
    int fd, found;

    snprintf(name, sizeof(name), "fdinfo/%.20s", number);
    if (read_text(look->proc_fd, name, text, sizeof(text)) <= 0 ||
        (number_of(text, "flags", 8, 0) & O_ACCMODE) != O_RDWR)
        return 0;
    fd = openat(folder_fd, number, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES;
    found = fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_ino == file->st_ino &&
            read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
            memcmp(head, magic, sizeof(magic)) == 0;
    close(fd);
    return found;
}

/* Take the name of a store that is not opened from that of its log. */
static void take_name(struct look *look, char *log)
{
    size_t length = strlen(log);

    if (length < 5 || strcmp(log + length - 4, "-wal") != 0)
        return;
    log[length - 4] = '\0';
    free(look->found->store);
    look->found->store = strdup(log);
}

/* Look at the file that a descriptor has open: 1 when it is a store with the run. */
static int look_at_file(struct look *look, int folder_fd, const char *number)
{
    char path[4096];
    struct stat file;
    ssize_t length = readlinkat(folder_fd, number, path, sizeof(path) - 1);

    if (length <= 0 || path[0] != '/' || fstatat(folder_fd, number, &file, 0) < 0 ||
        !S_ISREG(file.st_mode))
        return 0;
    path[length] = '\0';
    if (!is_to_be_opened(look, &file)) {
        take_name(look, path);
        return 0;
    }
    if (!is_database(look, folder_fd, number, &file))
        return 0;
    if (take_store(look, path, &file))
        return look_into(look, path);
    free(look->found->store);
    look->found->store = strdup(path);
    set_reason(look,
               "its store was moved or deleted, or lies where no path leads to from here, as in a "
               "container");
    return 0;
}

/* 1 when a store with the run was found, 0 when not, -1 when its files may not be seen. */
static int look_at_files(struct look *look)
{
    int fd = openat(look->proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;

    if (!folder) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while (!found && (entry = readdir(folder)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) > STDERR_FILENO)
            found = look_at_file(look, dirfd(folder), entry->d_name);
    }
    closedir(folder);
    return found;
}

/* --- what its command line says --------------------------------------------------------------- */

/* The store of -o; the default where there is none. */
static const char *store_of(const struct look *look)
{
    for (int i = 1; i < look->argc && strcmp(look->argv[i], "--") != 0; i++) {
        const char *text = look->argv[i];
        int is_long = strncmp(text, "--output", 8) == 0;

        if ((strcmp(text, "-o") == 0 || strcmp(text, "--output") == 0) && i + 1 < look->argc)
            return look->argv[i + 1];
        if (is_long && text[8] == '=')
            return text + 9;
        if (strncmp(text, "-o", 2) == 0 && text[2] != '\0')
            return text + 2;
    }
    return RPS_STORE_DEFAULT_PATH;
}

/* As look_at_files. A relative path is tried from where we are. */
static int look_at_command(struct look *look)
{
    const char *path = store_of(look);
    struct stat file;
    int found;

    look->found->state = RPS_RECORDER_UNKNOWN;
    found = take_store(look, path, NULL) && stat(path, &file) == 0 &&
            is_to_be_opened(look, &file) && look_into(look, path);
    if (!found && path[0] != '/') { /* another one of that name, most likely */
        free(look->found->store);
        look->found->store = NULL;
    }
    if (!found && (!look->found->store || look->found->reason[0] == '\0'))
        set_reason(look, "Linux does not show this user what it has open, as it does root, and the "
                         "store that its command line names is not found from here, belongs to "
                         "another user, or lacks its run");
    look->found->inode = found ? look->found->inode : 0;
    return found;
}

/* --- a process -------------------------------------------------------------------------------- */

static void recorder_free(struct rps_recorder *recorder)
{
    rps_run_free(&recorder->run);
    free(recorder->store);
    if (recorder->pidfd >= 0)
        close(recorder->pidfd);
}

/* 1 and *ret when the process is a recorder; proc_fd is its folder. */
static int look_at(struct rps_recorder *ret, int proc_fd, int may_open, const struct stat *named)
{
    struct look look = {.found = ret, .proc_fd = proc_fd, .may_open = may_open, .named = named};
    struct pollfd ended = {.fd = ret->pidfd, .events = POLLIN};
    int found = read_process(&look) ? look_at_files(&look) : 0, is_recorder;

    if (found < 0 && !says_it_records(&look))
        return 0;
    if (found == 0 && ret->uid != geteuid() && says_it_records(&look) && ret->reason[0] == '\0')
        set_reason(&look, "the recorder is another user's, whose store is not opened unless it is "
                          "named, as in `rpistat runs -i STORE`");
    if (found < 0)
        found = look_at_command(&look);
    else if (found == 0)
        ret->state = ret->reason[0] != '\0' ? RPS_RECORDER_UNKNOWN : RPS_RECORDER_STARTING;
    is_recorder = found > 0 || (!look.is_ended && says_it_records(&look) &&
                                (ret->store || ret->state == RPS_RECORDER_UNKNOWN));
    return is_recorder && poll(&ended, 1, 0) == 0;
}

static int is_called_rpistat(int proc_fd)
{
    char name[32];

    return read_text(proc_fd, "comm", name, sizeof(name)) > 0 && strcmp(name, "rpistat\n") == 0;
}

/* Add the process of that number when it is a recorder. RPS_FAILED without memory or pidfds. */
static int add(struct rps_recorders *list, const char *number, int may_open,
               const struct stat *named, struct rps_error *err)
{
    char path[64];
    struct rps_recorder recorder = {.pid = (pid_t)atol(number), .written_bytes = -1}, *more;
    int proc_fd, found = 0;

    snprintf(path, sizeof(path), "/proc/%.20s", number);
    proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc_fd < 0)
        return 0;
    rps_run_init(&recorder.run);
    recorder.pidfd = -1;
    if (recorder.pid != getpid() && is_called_rpistat(proc_fd)) {
        recorder.pidfd = (int)syscall(SYS_pidfd_open, recorder.pid, 0);
        if (recorder.pidfd >= 0)
            found = look_at(&recorder, proc_fd, may_open, named);
        else if (errno != ESRCH) /* ESRCH: it has ended */
            found =
                rps_error_set(err, RPS_FAILED,
                              "cannot tell who records: pidfd_open of process %ld: %s; it takes "
                              "Linux 5.3, and a container that allows it",
                              (long)recorder.pid, strerror(errno));
    }
    close(proc_fd);
    more = found > 0 ? realloc(list->recorder, (list->count + 1) * sizeof(*more)) : NULL;
    if (!more) {
        recorder_free(&recorder);
        return found > 0 ? rps_error_memory(err) : found;
    }
    list->recorder = more;
    more[list->count++] = recorder;
    return 0;
}

/* Who has another as a child, and no run that is known, is that one's --repeat. */
static void drop_series(struct rps_recorders *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct rps_recorder *one = &list->recorder[i];
        int is_series = 0;

        for (size_t k = 0; k < list->count && one->state == RPS_RECORDER_UNKNOWN; k++)
            is_series |= list->recorder[k].parent == one->pid &&
                         strcmp(list->recorder[k].command, one->command) == 0;
        if (is_series)
            recorder_free(one);
        else
            list->recorder[kept++] = *one;
    }
    list->count = kept;
}

int rps_recorders_find(struct rps_recorders *ret, const struct stat *named, struct rps_error *err)
{
    struct rps_recorders list = {0};
    int64_t begun_ns = rps_clock_monotonic_ns();
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int result = 0;

    if (!proc)
        return rps_error_set(err, RPS_FAILED,
                             "cannot read /proc, where recorders are looked for: %s",
                             strerror(errno));
    while (result == 0 && (entry = readdir(proc)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0]))
            result = add(&list, entry->d_name, rps_clock_monotonic_ns() - begun_ns < LOOKING_MAX_NS,
                         named, err);
    }
    closedir(proc);
    drop_series(&list);
    if (result < 0)
        rps_recorders_free(&list);
    else
        *ret = list;
    return result;
}

void rps_recorders_free(struct rps_recorders *recorders)
{
    for (size_t i = 0; i < recorders->count; i++)
        recorder_free(&recorders->recorder[i]);
    free(recorders->recorder);
    *recorders = (struct rps_recorders){0};
}
