/*
 * Rights, as few as possible.
 *
 * The system calls are made here and not through libcap: two of them, and one library less in a
 * program that may run with a capability. glibc has no wrapper for them.
 *
 * Raising CAP_PERFMON only around each opening was thought of. Counters are opened at the start of
 * a recording and never again, so it can be given up for good, which a bug cannot undo.
 */
#include "rpistat/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif

#define NOBODY    65534 /* user and group */
#define LINKS_MAX 40    /* Linux's own limit */

struct sets {
    struct __user_cap_data_struct word[_LINUX_CAPABILITY_U32S_3];
};

static uint64_t bit(int capability)
{
    return UINT64_C(1) << capability;
}

static int fail(const char *what, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "cannot give up %s: %s; start rpistat without file capabilities and "
                         "without the set-user-ID bit",
                         what, strerror(errno));
}

/* Keep of the permitted and effective capabilities only those of the mask. Where there are no
 * others capset is not called: a service's sandbox may forbid it. */
static int keep_only(uint64_t mask, struct rps_error *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct sets sets;
    uint32_t others = 0;

    if (syscall(SYS_capget, &header, sets.word) < 0)
        return fail("capabilities", err);
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        /* what is effective is permitted */
        others |= sets.word[i].permitted & ~(uint32_t)(mask >> 32 * i);
        sets.word[i].permitted &= (uint32_t)(mask >> 32 * i);
        sets.word[i].effective &= (uint32_t)(mask >> 32 * i);
    }
    if (others != 0 && syscall(SYS_capset, &header, sets.word) < 0)
        return fail("capabilities", err);
    return 0;
}

int rps_rights_begin(struct rps_error *err)
{
    uid_t user = getuid();
    gid_t group = getgid();
    int changed = user != geteuid() || group != getegid();

    /* the group first: it takes the other user's rights */
    if (group != getegid() && setresgid(group, group, group) < 0)
        return fail("the group of the program's file", err);
    if (user != geteuid() && setresuid(user, user, user) < 0)
        return fail("the owner's rights of the program's file", err);
    if (!getauxval(AT_SECURE) || user == 0)
        return 0;
    if (keep_only(bit(CAP_PERFMON), err) < 0)
        return RPS_FAILED;
    /* Linux lets no process look at such a program, nor at the workload it forks, and so opens no
     * counters on that either. Nothing was gained that would have to be kept from the user. */
    if (changed)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return 0;
}

int rps_rights_end(struct rps_error *err)
{
    if (getuid() == 0)
        return 0;
    return keep_only(~(bit(CAP_PERFMON) | bit(CAP_SYS_ADMIN) | bit(CAP_SYS_PTRACE)), err);
}

/* --- another user's --------------------------------------------------------------------------- */

/* What the kernel knows of a thread, but does not tell in one call. */
static _Thread_local struct rps_rights taken;

struct rps_rights rps_rights_taken(void)
{
    return taken;
}

uid_t rps_rights_user(void)
{
    return taken.user != 0 ? taken.user : geteuid();
}

/* glibc's setgroups changes all threads. */
static int set_groups(int count, const gid_t *group)
{
#ifdef SYS_setgroups32
    return (int)syscall(SYS_setgroups32, count, group);
#else
    return (int)syscall(SYS_setgroups, count, group);
#endif
}

/* setfsuid and setfsgid say what was before, and not whether they did it. */
static int set_user(uid_t user)
{
    setfsuid(user);
    return (uid_t)setfsuid((uid_t)-1) == user ? 0 : -1;
}

static int set_group(gid_t group)
{
    setfsgid(group);
    return (gid_t)setfsgid((gid_t)-1) == group ? 0 : -1;
}

static int is_effective(int capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct sets sets;

    return syscall(SYS_capget, &header, sets.word) == 0 &&
           (sets.word[capability / 32].effective & 1u << capability % 32) != 0;
}

/* Changing the user has taken this capability away. With it folders are gone through, and files
 * read, that the user may not; nothing more is written. Where root does not have it, opening says
 * what is denied. */
static void may_search(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct sets sets;

    if (syscall(SYS_capget, &header, sets.word) < 0)
        return;
    sets.word[0].effective |= sets.word[0].permitted & 1u << CAP_DAC_READ_SEARCH;
    syscall(SYS_capset, &header, sets.word);
}

void rps_rights_return(struct rps_rights_before *before)
{
    if (!before->is_changed)
        return;
    /* the user first: with him the capabilities come back */
    if (set_user(geteuid()) < 0 || set_group(getegid()) < 0 ||
        (before->group_count > 0 && set_groups(before->group_count, before->group) < 0))
        abort(); /* rather than go on with the wrong rights */
    /* Linux takes a process that has changed its rights for one with secrets, and opens no counters
     * on what that starts */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    free(before->group);
    *before = (struct rps_rights_before){0};
    taken = (struct rps_rights){0};
}

/* No groups from now on. */
static int drop_groups(struct rps_rights_before *ret)
{
    int count = getgroups(0, NULL);

    if (count <= 0)
        return count;
    ret->group = malloc((size_t)count * sizeof(*ret->group));
    if (!ret->group || getgroups(count, ret->group) != count || set_groups(0, NULL) < 0)
        return -1;
    ret->group_count = count;
    return 0;
}

static int take_rights(const struct rps_rights *rights, struct rps_rights_before *ret,
                       struct rps_error *err)
{
    struct rps_rights_before before = {.is_changed = 1};

    *ret = (struct rps_rights_before){0};
    if (rights->user == 0)
        return 0;
    errno = 0; /* set by few of these */
    if (drop_groups(&before) < 0 || set_group(rights->group) < 0 || set_user(rights->user) < 0) {
        int is_memory = errno == ENOMEM;

        rps_rights_return(&before);
        if (is_memory)
            return rps_error_memory(err);
        return rps_error_set(err, RPS_FAILED,
                             "root touches what lies in a folder of user %ld with that user's "
                             "rights, which it may not take here (CAP_SETUID, CAP_SETGID): start "
                             "rpistat as that user, or use a folder of root's",
                             (long)rights->user);
    }
    if (rights->may_search)
        may_search();
    taken = *rights;
    *ret = before;
    return 0;
}

/* --- whose ------------------------------------------------------------------------------------ */

/* A path as far as it has been looked at. */
struct way {
    int fd;        /* O_PATH: of a folder of root's; -1: the way has ended */
    int is_whole;  /* all of it is root's */
    int is_closed; /* one of the folders is */
    int is_open;   /* in one of them everybody may exchange what is others' */
    int links;     /* followed */
    mode_t above;
    char rest[2 * PATH_MAX];
};

static int can_be(uid_t user)
{
    int can = set_user(user) == 0;

    set_user(geteuid());
    return can;
}

static void go_to(struct way *way, int fd)
{
    if (way->fd >= 0)
        close(way->fd);
    way->fd = fd;
}

/* Put a link's target in front of the rest. */
static void follow(struct way *way, int link)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(link, "", target, sizeof(target));
    size_t rest = strlen(way->rest);

    if (length <= 0 || ++way->links > LINKS_MAX || (size_t)length + rest >= sizeof(way->rest)) {
        go_to(way, -1);
        return;
    }
    memmove(way->rest + length, way->rest, rest + 1); /* begins with a slash */
    memcpy(way->rest, target, (size_t)length);
    if (target[0] == '/')
        go_to(way, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Go on to fd, which is a folder or the file. */
static void enter(struct way *way, int fd, mode_t mode)
{
    go_to(way, fd);
    way->above = mode;
    if (!S_ISDIR(mode))
        return;
    way->is_closed |= !(mode & S_IXOTH);
    way->is_open |= (mode & S_IWOTH) && !(mode & S_ISVTX);
}

/* Look at the next name of the rest: 1 when it is another user's. */
static int step(struct way *way, enum rps_rights_for what, struct stat *ret)
{
    char name[NAME_MAX + 1];
    size_t slashes = strspn(way->rest, "/"), length = strcspn(way->rest + slashes, "/");
    int is_last = !way->rest[slashes + length], fd;

    way->is_whole = length == 0 || (what == RPS_RIGHTS_BESIDE && is_last);
    if (way->is_whole || length > NAME_MAX) {
        go_to(way, -1);
        return 0;
    }
    snprintf(name, sizeof(name), "%.*s", (int)length, way->rest + slashes);
    memmove(way->rest, way->rest + slashes + length, strlen(way->rest + slashes + length) + 1);
    fd = openat(way->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, ret) < 0) { /* what is missing may be there in a moment */
        way->is_whole =
            fd < 0 && (errno == ENOENT || errno == ENOTDIR) &&
            ((what == RPS_RIGHTS_NEW_FILE && is_last) || !(way->above & (S_IWGRP | S_IWOTH)));
        go_to(way, fd);
        go_to(way, -1);
        return 0;
    }
    if (is_last && what == RPS_RIGHTS_NEW_FILE && !S_ISLNK(ret->st_mode)) {
        way->is_whole = 1;
        go_to(way, fd);
        go_to(way, -1);
        return 0;
    }
    /* root in a user namespace has no power over what belongs to users outside: those are nobody,
     * whose rights it cannot take */
    if (ret->st_uid != 0 && ret->st_uid != geteuid() &&
        (can_be(ret->st_uid) || !is_effective(CAP_SETUID))) {
        close(fd);
        return 1;
    }
    if (S_ISLNK(ret->st_mode)) {
        follow(way, fd);
        close(fd);
        return 0;
    }
    enter(way, fd, ret->st_mode);
    return 0;
}

/*
 * Whose rights. Where others may make files, what is missing may be there in a moment, and be
 * anybody's: it is looked for with nobody's rights. The group of what everybody may make in such a
 * folder says nothing of its maker; neither does root's, which a chown of the user alone leaves.
 */
static struct rps_rights whose(struct way *way, enum rps_rights_for what)
{
    struct rps_rights rights = {.user = NOBODY, .group = NOBODY};
    struct stat found;
    int is_others = 0, is_handed_on;

    while (way->fd >= 0 && !is_others)
        is_others = step(way, what, &found);
    go_to(way, -1);
    is_handed_on = (way->above & S_ISGID) && (way->above & S_IWOTH);
    if (way->is_whole || (!is_others && !can_be(NOBODY)))
        return (struct rps_rights){0};
    if (is_others)
        rights.user = found.st_uid;
    if (is_others && found.st_gid != 0 && !is_handed_on)
        rights.group = found.st_gid;
    rights.may_search = way->is_closed;
    return rights;
}

/* Where the way to path begins; NULL without memory, to be freed. */
static struct way *way_to(const char *path)
{
    struct way *way = calloc(1, sizeof(*way));
    size_t used;

    if (!way)
        return NULL;
    way->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (path[0] != '/' && !getcwd(way->rest, PATH_MAX))
        go_to(way, -1);
    used = strlen(way->rest);
    if ((size_t)snprintf(way->rest + used, sizeof(way->rest) - used, "/%s", path) >=
        sizeof(way->rest) - used)
        go_to(way, -1);
    return way;
}

int rps_rights_take_for(const char *path, enum rps_rights_for what, struct rps_rights_before *ret,
                        struct rps_error *err)
{
    struct way *way;
    struct rps_rights rights;

    *ret = (struct rps_rights_before){0};
    if (geteuid() != 0 || taken.user != 0)
        return 0;
    way = way_to(path);
    if (!way)
        return rps_error_memory(err);
    rights = whose(way, what);
    free(way);
    return take_rights(&rights, ret, err);
}

int rps_rights_is_others(const char *path)
{
    struct way *way;
    struct stat found = {.st_uid = geteuid()};
    int is_others = 0;

    if (geteuid() == 0)
        return 0;
    way = way_to(path);
    if (!way)
        return 1;
    while (way->fd >= 0 && !is_others)
        is_others = step(way, RPS_RIGHTS_FILE, &found);
    is_others |= way->is_open || found.st_uid != geteuid();
    go_to(way, -1);
    free(way);
    return is_others;
}
