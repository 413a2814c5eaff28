/* The files of the registry. A file contains entries NAME=VALUE, each with a terminating 0, like
 * /proc/PID/environ, so that no value needs escapes. SAFETY: a file is written before it is locked,
 * and is invalid without a lock. If a recorder was killed, the next recorder with the same process
 * number replaces the file.
 *
 * A lock ends when its process closes any descriptor of the file, so the recorder opens its file
 * only once. */
#include "registry.h"
#include "rpistat/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_SIZE     16384 /* a longer file is truncated */
#define ARGUMENTS_MAX 64
#define PLAIN_FOLDER  3 /* number of /tmp/rpistat-UID, a name that another user may have taken */
#define FOLDER_SIZE   (RPS_REGISTRY_PATH_SIZE - 24)

#define AT(member)   offsetof(struct rps_registered, member)
#define SIZE(member) sizeof(((struct rps_registered *)0)->member)

static const struct field {
    const char *name;
    size_t offset, size; /* offset and size of the member; size 0: the member is a number */
} fields[] = {
    {"run", AT(run.run_id), 0},
    {"uuid", AT(run.uuid), SIZE(run.uuid)},
    {"label", AT(run.label), SIZE(run.label)},
    {"target", AT(run.target), SIZE(run.target)},
    {"start_ns", AT(run.start_realtime_ns), 0},
    {"period_ns", AT(run.period_ns), 0},
    {"elapsed_ns", AT(run.elapsed_ns), 0},
    {"periods", AT(periods), 0},
    {"store", AT(store), SIZE(store)},
    {"store_bytes", AT(store_bytes), 0},
    {"late_ns", AT(late_ns), 0},
};

#define FIELDS RPS_COUNT(fields)

/* Open a directory; -1 if that user does not own the directory, or if others may write it. */
static int open_folder(const char *path, uid_t uid)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat folder;

    if (fd < 0 || (fstat(fd, &folder) == 0 && folder.st_uid == uid && (folder.st_mode & 022) == 0))
        return fd;
    close(fd);
    return -1;
}

/* Find the directory with this number, from 0, among those with unpredictable names, which the user
 * created after another user had taken the plain name in /tmp. Returns 0 if there are no more. */
static int find_own(char ret[FOLDER_SIZE], int number, uid_t uid)
{
    DIR *folder = opendir("/tmp");
    struct dirent *entry;
    char start[40];
    int found = 0;

    snprintf(start, sizeof(start), "rpistat-%lu-", (unsigned long)uid);
    while (folder && !found && (entry = readdir(folder)) != NULL) {
        int fd;

        if (strncmp(entry->d_name, start, strlen(start)) != 0)
            continue;
        snprintf(ret, FOLDER_SIZE, "/tmp/%s", entry->d_name);
        fd = open_folder(ret, uid);
        found = fd >= 0 && number-- == 0;
        if (fd >= 0)
            close(fd);
    }
    if (folder)
        closedir(folder);
    return found;
}

/* Set the directory with that number, from 0, for files of that user; "": none. A user's files are
 * in the first directory that the user owns or can create. Returns 0 if there are no more. */
static int set_folder(char ret[FOLDER_SIZE], int number, uid_t uid)
{
    const char *given = getenv("RUNTIME_DIRECTORY");
    unsigned long user = uid;
    struct stat there;

    ret[0] = '\0';
    if (number == 0 && given && stat(given, &there) == 0 && there.st_uid == uid)
        snprintf(ret, FOLDER_SIZE, "%s", given);
    else if (number == 1)
        snprintf(ret, FOLDER_SIZE, "/run/rpistat");
    else if (number == 2)
        snprintf(ret, FOLDER_SIZE, "/run/user/%lu/rpistat", user);
    else if (number == PLAIN_FOLDER)
        snprintf(ret, FOLDER_SIZE, "/tmp/rpistat-%lu", user);
    else if (number > PLAIN_FOLDER)
        return find_own(ret, number - PLAIN_FOLDER - 1, uid);
    return 1;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int write_entries(int fd, const struct rps_registered *entry)
{
    const struct rps_run *run = &entry->run;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int is_written = 0;

    if (!out)
        return 0;
    for (size_t i = 0; i < FIELDS; i++) {
        const void *value = (const char *)entry + fields[i].offset;

        if (fields[i].size > 0)
            fprintf(out, "%s=%s%c", fields[i].name, (const char *)value, 0);
        else
            fprintf(out, "%s=%" PRId64 "%c", fields[i].name, *(const int64_t *)value, 0);
    }
    for (int t = 0; t < run->tag_count; t++)
        fprintf(out, "tag=%s=%s%c", run->tag[t].key, run->tag[t].value, 0);
    for (int a = 0; a < run->argc && a < ARGUMENTS_MAX; a++)
        fprintf(out, "argument=%.*s%c", TEXT_SIZE, run->argv[a], 0);
    if (fclose(out) == 0)
        is_written = pwrite(fd, text, size, 0) == (ssize_t)size && ftruncate(fd, (off_t)size) == 0;
    free(text);
    return is_written;
}

/* Create our file in the directory, in place of a killed process's file with our process number. */
static void make_file(struct rps_registry *registry, const char *folder,
                      const struct rps_registered *entry)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int folder_fd = open_folder(folder, geteuid());
    const char *name;

    if (folder_fd < 0)
        return;
    snprintf(registry->path, sizeof(registry->path), "%s/%ld", folder, (long)getpid());
    name = strrchr(registry->path, '/') + 1;
    unlinkat(folder_fd, name, 0);
    registry->fd = openat(folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (registry->fd >= 0 &&
        (!write_entries(registry->fd, entry) || fcntl(registry->fd, F_SETLK, &lock) < 0))
        rps_registry_close(registry);
    close(folder_fd);
}

/* Return 1 if the file at our path still is our file. */
static int is_in_place(const struct rps_registry *registry)
{
    struct stat named, own;

    return registry->fd >= 0 && lstat(registry->path, &named) == 0 &&
           fstat(registry->fd, &own) == 0 && named.st_dev == own.st_dev &&
           named.st_ino == own.st_ino && own.st_uid == geteuid();
}

void rps_registry_beat(void *context, const struct rps_writer_beat *beat)
{
    struct rps_registered entry = {
        .run = *beat->run, /* a shallow copy, which is only read */
        .periods = (int64_t)beat->periods,
        .store_bytes = (int64_t)beat->size_bytes,
        .late_ns = beat->late_ns,
    };
    struct rps_registry *registry = context;
    char *store = realpath(beat->file, NULL), folder[FOLDER_SIZE];

    registry->gave_up = beat->gave_up;
    entry.run.run_id = beat->gave_up ? -1 : beat->run_id;
    entry.run.elapsed_ns = beat->end_ns;
    snprintf(entry.store, sizeof(entry.store), "%s", store ? store : beat->file);
    free(store);
    if (is_in_place(registry)) {
        write_entries(registry->fd, &entry);
        return;
    }
    rps_registry_close(registry);
    for (int number = 0; registry->fd < 0 && set_folder(folder, number, geteuid()); number++) {
        if (number <= PLAIN_FOLDER)
            mkdir(folder, number == 1 ? 0755 : 0700);
        make_file(registry, folder, &entry);
    }
    snprintf(folder, sizeof(folder), "/tmp/rpistat-%lu-XXXXXX", (unsigned long)geteuid());
    if (registry->fd < 0 && mkdtemp(folder))
        make_file(registry, folder, &entry);
}

void rps_registry_end(struct rps_registry *registry)
{
    if (registry->fd >= 0 && !registry->gave_up && ftruncate(registry->fd, 0) < 0)
        rps_registry_close(registry);
}

void rps_registry_close(struct rps_registry *registry)
{
    if (!registry->gave_up && is_in_place(registry))
        unlink(registry->path);
    if (registry->fd >= 0)
        close(registry->fd);
    registry->fd = -1;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Read entries from a text that ends with 0. */
static void read_entries(struct rps_arena *arena, struct rps_registered *ret, char *text,
                         size_t length)
{
    char *argv[ARGUMENTS_MAX];
    int argc = 0;

    *ret = (struct rps_registered){.late_ns = INT64_MAX};
    rps_run_init(&ret->run);
    ret->run.arena = arena;
    for (char *name = text, *next; name < text + length; name = next) {
        char *value = name + strcspn(name, "="), *rest;

        next = name + strlen(name) + 1;
        if (*value != '\0')
            *value++ = '\0';
        rest = strchr(value, '=');
        if (strcmp(name, "argument") == 0 && argc < ARGUMENTS_MAX) {
            argv[argc++] = value;
        } else if (strcmp(name, "tag") == 0 && rest) {
            *rest = '\0';
            rps_run_add_tag(&ret->run, value, rest + 1);
        } else {
            for (size_t i = 0; i < FIELDS; i++) {
                void *member = (char *)ret + fields[i].offset;

                if (strcmp(name, fields[i].name) == 0 && fields[i].size > 0)
                    snprintf(member, fields[i].size, "%s", value);
                else if (strcmp(name, fields[i].name) == 0)
                    *(int64_t *)member = strtoll(value, NULL, 10);
            }
        }
    }
    rps_run_set_command(&ret->run, argc, argv);
}

/* Return 1 if that user owns the open file and that process has locked the file, otherwise 0. */
static int is_file_of(int fd, pid_t pid, uid_t uid)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat file;

    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == uid &&
           fcntl(fd, F_GETLK, &lock) == 0 &&
           (pid > 0 ? lock.l_type == F_WRLCK && lock.l_pid == pid : lock.l_type == F_UNLCK);
}

/* Read the file with that name, if it belongs to that user and that process has locked it. */
static int read_file(struct rps_arena *arena, struct rps_registered *ret, int folder_fd,
                     const char *name, pid_t pid, uid_t uid)
{
    char text[TEXT_SIZE + 1];
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t length = fd >= 0 && is_file_of(fd, pid, uid) ? read(fd, text, TEXT_SIZE) : -1;

    if (fd >= 0)
        close(fd);
    if (length < 0)
        return 0;
    text[length] = '\0';
    read_entries(arena, ret, text, (size_t)length);
    return 1;
}

int rps_registry_read(struct rps_arena *arena, struct rps_registered *ret, pid_t pid, uid_t uid)
{
    char folder[FOLDER_SIZE], name[24];
    int found = 0;

    snprintf(name, sizeof(name), "%ld", (long)pid);
    for (int number = 0; !found && set_folder(folder, number, uid); number++) {
        int folder_fd = open_folder(folder, uid);

        if (folder_fd < 0)
            continue;
        found = read_file(arena, ret, folder_fd, name, pid, uid);
        close(folder_fd);
    }
    return found;
}

/* Return 1 if a file in the directory shows that the run's recorder gave up or has died. */
static int has_dead(struct rps_arena *arena, DIR *folder, const char *uuid)
{
    struct dirent *entry;
    int found = 0;

    while (!found && (entry = readdir(folder)) != NULL) {
        pid_t pid = (pid_t)atol(entry->d_name);
        bool is_gone = pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
        struct rps_registered registered;

        if (pid <= 0 || pid == getpid() || /* because closing our own file would release its lock */
            !read_file(arena, &registered, dirfd(folder), entry->d_name, is_gone ? 0 : pid,
                       geteuid()))
            continue;
        found = strcmp(registered.run.uuid, uuid) == 0 && (is_gone || registered.run.run_id < 0);
    }
    return found;
}

int rps_registry_is_dead(const char *uuid)
{
    struct rps_arena *arena = rps_arena_new();
    char path[FOLDER_SIZE];
    int found = 0;

    for (int number = 0; !found && uuid[0] && set_folder(path, number, geteuid()); number++) {
        DIR *folder = opendir(path);

        found = folder && has_dead(arena, folder, uuid);
        if (folder)
            closedir(folder);
    }
    rps_arena_free(arena);
    return found;
}
