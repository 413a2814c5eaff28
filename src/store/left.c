/*
 * What recorders leave in shared memory.
 *
 * Whether the recorder is done is asked of a lock, not of its process: a process id means nothing
 * to a container that shares the memory, and a recorder that could not write its store waits for
 * its workload with nothing more to do.
 *
 * What is read here another program may have written: no size is believed that the file does not
 * bear out.
 */
#include "left.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "queue_head.h"

/* A queue left by someone else is not believed to be larger. */
#define LEFT_MAX_BYTES ((off_t)1 << 32)

/* Where the C library keeps shared memory, and what names begin with there. */
#define FOLDER "/dev/shm"
#define PREFIX "rpistat-"

/* How long what belongs to no store is kept. */
#define MISSED_KEEP_S (24 * 3600)

/* --- one queue ----------------------------------------------------------------------------------
 */

static int head_is_ours(const struct rps_queue_head *head, const struct stat *status)
{
    uint64_t first = head->state >> 32, count = head->state & UINT32_MAX;

    return memcmp(head->magic, RPS_QUEUE_MAGIC, sizeof(RPS_QUEUE_MAGIC)) == 0 &&
           head->period_bytes == sizeof(struct rps_period) && head->capacity > 0 &&
           (off_t)rps_queue_mapped_bytes(head->capacity) <= status->st_size &&
           first < head->capacity && count <= head->capacity &&
           head->shared_bytes <= (uint64_t)status->st_blocks * 512 &&
           head->note_bytes <= RPS_QUEUE_NOTES_MAX;
}

/* Open a queue that no recorder has, whoever left it, with its head in *ret; -1: there is none. The
 * lock is asked before the head, which a recorder writes under its lock. A pipe of that name must
 * not be waited for. */
static int open_any(const char *uuid, int flags, struct rps_queue_head *ret, struct stat *status)
{
    char name[NAME_MAX];
    int fd =
        rps_queue_name(uuid, name, sizeof(name)) < 0 ? -1 : shm_open(name, flags | O_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_size <= LEFT_MAX_BYTES &&
        flock(fd, LOCK_SH | LOCK_NB) == 0 &&
        pread(fd, ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret) && head_is_ours(ret, status)) {
        ret->store[sizeof(ret->store) - 1] = '\0';
        ret->end.reason[sizeof(ret->end.reason) - 1] = '\0';
        return fd;
    }
    close(fd);
    return -1;
}

/* Only of this user or the user `owner`, who alone could write it. */
static int open_left(const char *uuid, uid_t owner, int flags, struct rps_queue_head *ret)
{
    struct stat status;
    int fd = open_any(uuid, flags, ret, &status);

    if (fd >= 0 &&
        ((status.st_mode & 022) || (status.st_uid != owner && status.st_uid != geteuid()))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int rps_left_is_there(const char *uuid)
{
    struct rps_queue_head head;
    struct stat status;
    int fd = open_any(uuid, O_RDONLY, &head, &status);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static size_t copy_periods(int fd, const struct rps_queue_head *head, struct rps_period *ret)
{
    uint64_t first = head->state >> 32, count = head->state & UINT32_MAX;
    size_t copied = 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t place = (first + i) % head->capacity;
        uint64_t at = RPS_QUEUE_HEAD_BYTES + place * sizeof(*ret);

        if (at + sizeof(*ret) <= head->shared_bytes &&
            pread(fd, &ret[copied], sizeof(*ret), (off_t)at) == (ssize_t)sizeof(*ret))
            copied++;
    }
    return copied;
}

static int copy_all(int fd, const struct rps_queue_head *head, struct rps_left *ret,
                    struct rps_error *err)
{
    size_t count = head->state & UINT32_MAX;

    if (count > head->shared_bytes / sizeof(*ret->period))
        count = head->shared_bytes / sizeof(*ret->period);
    if (count > 0) {
        ret->period = calloc(count, sizeof(*ret->period));
        if (!ret->period)
            return rps_error_memory(err);
        ret->count = copy_periods(fd, head, ret->period);
    }
    if (head->ended != 1)
        return 0;
    ret->ended = true;
    ret->end = head->end;
    if (head->note_bytes > 0) {
        ret->notes = malloc(head->note_bytes);
        if (!ret->notes)
            return rps_error_memory(err);
        if (pread(fd, ret->notes, head->note_bytes, offsetof(struct rps_queue_head, notes)) ==
            (ssize_t)head->note_bytes)
            ret->note_bytes = head->note_bytes;
    }
    return 0;
}

int rps_left_salvage(const char *uuid, uid_t owner, struct rps_left *ret, struct rps_error *err)
{
    struct rps_queue_head head;
    int fd = open_left(uuid, owner, O_RDONLY, &head);
    int result = 0;

    *ret = (struct rps_left){0};
    if (fd >= 0) {
        result = copy_all(fd, &head, ret, err);
        close(fd);
    }
    if (result < 0)
        rps_left_free(ret);
    return result;
}

void rps_left_free(struct rps_left *left)
{
    free(left->period);
    free(left->notes);
    *left = (struct rps_left){0};
}

const struct rps_left_note *rps_left_next_note(const struct rps_left *left, size_t *at)
{
    const struct rps_left_note *note;
    size_t rest = left->note_bytes - *at;

    if (rest == 0)
        return NULL;
    note = (const void *)(left->notes + *at);
    if (rest < sizeof(*note) || note->text_bytes < 1 || note->text_bytes > rest - sizeof(*note) ||
        note->text[note->text_bytes - 1] != '\0')
        return NULL;
    *at += rps_left_note_bytes(note->text_bytes);
    if (*at > left->note_bytes)
        *at = left->note_bytes;
    return note;
}

int rps_left_end_text(const char *uuid, uid_t owner, char *ret, size_t size)
{
    struct rps_queue_head head;
    int fd = open_left(uuid, owner, O_RDONLY, &head);

    if (fd < 0)
        return 0;
    close(fd);
    if (head.ended != 1)
        return 0;
    snprintf(ret, size, "the store could not be written to the end of the recording: %s",
             head.end.reason);
    return 1;
}

void rps_left_forget(const char *uuid)
{
    char name[NAME_MAX];

    if (rps_queue_name(uuid, name, sizeof(name)) == 0)
        shm_unlink(name);
}

/* --- all of them --------------------------------------------------------------------------------
 */

struct sweep {
    struct stat here; /* the store that was opened */
    int (*wanted)(void *context, const char *uuid);
    void *wanted_context;
    void (*notice)(void *context, const char *sentence);
    void *notice_context;
};

/* Is the store at its place? Yes when that cannot be seen. */
static bool store_is_there(const struct rps_queue_head *head)
{
    struct stat status;

    if (stat(head->store, &status) != 0)
        return errno != ENOENT && errno != ENOTDIR;
    return status.st_dev == head->device && status.st_ino == head->inode;
}

/* Since when the store is known to be missing: at least a day? Notes the time when it is news. */
static bool is_missed_for_long(int fd, const struct rps_queue_head *head)
{
    const uint32_t missed = 1;
    struct stat status;

    if (head->missed == 1)
        return fstat(fd, &status) == 0 && time(NULL) - status.st_mtime > MISSED_KEEP_S;
    if (pwrite(fd, &missed, sizeof(missed), offsetof(struct rps_queue_head, missed)) ==
        (ssize_t)sizeof(missed))
        futimens(fd, NULL);
    return false;
}

static void tell_of_removal(const struct sweep *sweep, const struct rps_queue_head *head)
{
    uint64_t count = head->state & UINT32_MAX;
    char sentence[sizeof(head->store) + 200];

    if (!sweep->notice)
        return;
    snprintf(sentence, sizeof(sentence),
             "removed from memory what a recorder that was killed had left there: %llu period%s of "
             "%s, which has been missing for a day",
             (unsigned long long)count, count == 1 ? "" : "s", head->store);
    sweep->notice(sweep->notice_context, sentence);
}

static void look_at(const struct sweep *sweep, const char *uuid)
{
    struct rps_queue_head head;
    int fd = open_left(uuid, geteuid(), O_RDWR, &head);

    if (fd < 0)
        return;
    if (head.device == sweep->here.st_dev && head.inode == sweep->here.st_ino) {
        if (!sweep->wanted(sweep->wanted_context, uuid))
            rps_left_forget(uuid);
    } else if (head.store[0] && !store_is_there(&head) && is_missed_for_long(fd, &head)) {
        rps_left_forget(uuid);
        tell_of_removal(sweep, &head);
    }
    close(fd);
}

void rps_left_sweep(const char *path, int (*wanted)(void *context, const char *uuid),
                    void *wanted_context, void (*notice)(void *context, const char *sentence),
                    void *notice_context)
{
    struct sweep sweep = {.wanted = wanted,
                          .wanted_context = wanted_context,
                          .notice = notice,
                          .notice_context = notice_context};
    DIR *folder = opendir(FOLDER);
    struct dirent *entry;

    if (!folder)
        return;
    if (stat(path, &sweep.here) == 0)
        while ((entry = readdir(folder)))
            if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
                look_at(&sweep, entry->d_name + strlen(PREFIX));
    closedir(folder);
}
