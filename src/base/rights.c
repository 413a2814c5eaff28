/*
 * Keep as few rights as possible.
 *
 * The two system calls are made here, not through libcap, which saves a library in a program that
 * may run with a capability. They have no wrapper in glibc.
 *
 * SAFETY: CAP_PERFMON is not raised around each opening. Counters are opened only at the start of a
 * recording, so the capability can be given up for good, which a bug cannot undo.
 */
#include "rpistat/rights.h"

#include <errno.h>
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

#include "walk.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif

#define NOBODY 65534 /* user and group */

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

/* Drop all permitted and effective capabilities that are not in the mask. Without any such, capset
 * is not called: a service's sandbox may forbid it. */
static int keep_only(uint64_t mask, struct rps_error *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct sets sets;
    uint32_t others = 0;

    if (syscall(SYS_capget, &header, sets.word) < 0)
        return fail("capabilities", err);
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        /* an effective capability is also permitted */
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

    /* SAFETY: the group first, since that needs the other user's rights */
    if (group != getegid() && setresgid(group, group, group) < 0)
        return fail("the group of the program's file", err);
    if (user != geteuid() && setresuid(user, user, user) < 0)
        return fail("the owner's rights of the program's file", err);
    if (!getauxval(AT_SECURE) || user == 0)
        return 0;
    if (keep_only(bit(CAP_PERFMON), err) < 0)
        return RPS_FAILED;
    /* SAFETY: Linux protects such a program and the workload it forks from inspection, so it opens
     * no counters on the workload. The program gained nothing that it must hide from the user. */
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

/* SAFETY: per thread. The kernel knows these rights, but no single call returns them. */
static _Thread_local struct rps_rights taken;

struct rps_rights rps_rights_taken(void)
{
    return taken;
}

uid_t rps_rights_user(void)
{
    return taken.user != 0 ? taken.user : geteuid();
}

/* SAFETY: glibc's setgroups changes all threads, the system call only this one. */
static int set_groups(int count, const gid_t *group)
{
#ifdef SYS_setgroups32
    return (int)syscall(SYS_setgroups32, count, group);
#else
    return (int)syscall(SYS_setgroups, count, group);
#endif
}

static int has_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct sets sets;

    return syscall(SYS_capget, &header, sets.word) < 0 ||
           (sets.word[0].permitted | sets.word[1].permitted) != 0;
}

static int has_only_nobody(void)
{
    uid_t user[3];
    gid_t group[3];

    return getgroups(0, NULL) == 0 && getresuid(&user[0], &user[1], &user[2]) == 0 &&
           getresgid(&group[0], &group[1], &group[2]) == 0 && user[0] == NOBODY &&
           user[1] == NOBODY && user[2] == NOBODY && group[0] == NOBODY && group[1] == NOBODY &&
           group[2] == NOBODY;
}

int rps_rights_give_up(void)
{
    if ((getuid() == 0 || geteuid() == 0) &&
        (set_groups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
         setresuid(NOBODY, NOBODY, NOBODY) < 0 || !has_only_nobody()))
        return RPS_FAILED;
    if (keep_only(0, NULL) < 0 || has_capabilities() ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
        return RPS_FAILED;
    return 0;
}

/* SAFETY: setfsuid and setfsgid return the previous ID, and not whether they succeeded. */
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

/* SAFETY: changing the user removed this capability. It permits traversing directories and reading
 * files that the user may not, and no more writing. If root lacks it, opening reports the
 * denial. */
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
    /* SAFETY: the user first, since that restores the capabilities */
    if (set_user(geteuid()) < 0 || set_group(getegid()) < 0 ||
        (before->group_count > 0 && set_groups(before->group_count, before->group) < 0))
        abort(); /* rather than continue with the wrong rights */
    /* SAFETY: Linux assumes secrets in a process that has changed its rights, and opens no counters
     * on its children */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    free(before->group);
    *before = (struct rps_rights_before){0};
    taken = (struct rps_rights){0};
}

/* Drop all groups of this thread. */
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
    errno = 0; /* few of these calls set it */
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

/* Facts that were found on the way to a file. */
struct way {
    enum rps_rights_for what;
    int is_whole;      /* root or this user owns all of it */
    int is_others;     /* another user owns the last name found */
    int is_closed;     /* others may not traverse one of the directories */
    int is_open;       /* in one of them anyone may replace files of others */
    mode_t above;      /* mode of the directory of the last name found */
    struct stat found; /* last name found */
};

static int can_be(uid_t user)
{
    int can = set_user(user) == 0;

    set_user(geteuid());
    return can;
}

/* Stop at the first name that belongs to another user. */
static int look_whose(struct rps_walk *walk, const struct stat *found, int is_last, void *context)
{
    struct way *way = context;
    int is_new = is_last && way->what == RPS_RIGHTS_NEW_FILE;

    (void)walk;
    if ((is_last && way->what == RPS_RIGHTS_BESIDE) ||
        (is_new && found && !S_ISLNK(found->st_mode)))
        way->is_whole = 1;
    if (!found) /* it may appear in a moment */
        way->is_whole |= (errno == ENOENT || errno == ENOTDIR) &&
                         (is_new || !(way->above & (S_IWGRP | S_IWOTH)));
    if (!found || way->is_whole)
        return 1;
    way->found = *found;
    /* SAFETY: root in a user namespace has no power over files of users outside. These appear as
     * nobody's, whose rights it cannot take. */
    way->is_others = found->st_uid != 0 && found->st_uid != geteuid() &&
                     (can_be(found->st_uid) || !is_effective(CAP_SETUID));
    if (!way->is_others && S_ISDIR(found->st_mode)) {
        way->above = found->st_mode;
        way->is_closed |= !(found->st_mode & S_IXOTH);
        way->is_open |= (found->st_mode & S_IWOTH) && !(found->st_mode & S_ISVTX);
    }
    return way->is_others;
}

/* Find the owner of the way to path, from the root directory on. RPS_FAILED: no memory. */
static int find_owner(struct way *way, const char *path, struct rps_error *err)
{
    struct rps_walk *walk = calloc(1, sizeof(*walk));
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0), *whole = NULL;
    int result;

    if (walk && asprintf(&whole, "%s/%s", folder ? folder : "", path) < 0)
        whole = NULL;
    if (whole && (folder || path[0] == '/')) {
        walk->reads_proc = 1;
        way->is_whole |= rps_walk(walk, whole, look_whose, way) == 0;
        if (walk->folder >= 0)
            close(walk->folder);
    }
    result = whole ? 0 : rps_error_memory(err);
    free(whole);
    free(folder);
    free(walk);
    return result;
}

/*
 * SAFETY: choose the rights. Where others may create files, a missing name may soon be anyone's, so
 * it is opened with nobody's rights. Where anyone may, a file's group need not be its maker's.
 * Root's group does not count either: it remains after a chown of the user alone.
 */
static struct rps_rights whose(const struct way *way)
{
    struct rps_rights rights = {.user = NOBODY, .group = NOBODY, .may_search = way->is_closed};
    int is_handed_on = (way->above & S_ISGID) && (way->above & S_IWOTH);

    if (way->is_whole || (!way->is_others && !can_be(NOBODY)))
        return (struct rps_rights){0};
    if (way->is_others)
        rights.user = way->found.st_uid;
    if (way->is_others && way->found.st_gid != 0 && !is_handed_on)
        rights.group = way->found.st_gid;
    return rights;
}

int rps_rights_take_for(const char *path, enum rps_rights_for what, struct rps_rights_before *ret,
                        struct rps_error *err)
{
    struct way way = {.what = what};
    struct rps_rights rights;

    *ret = (struct rps_rights_before){0};
    if (geteuid() != 0 || taken.user != 0)
        return 0;
    if (find_owner(&way, path, err) < 0)
        return RPS_FAILED;
    rights = whose(&way);
    return take_rights(&rights, ret, err);
}

int rps_rights_is_others(const char *path)
{
    struct way way = {.what = RPS_RIGHTS_FILE, .found.st_uid = geteuid()};

    if (geteuid() == 0)
        return 0;
    return find_owner(&way, path, NULL) < 0 || !way.is_whole || way.is_open ||
           way.found.st_uid != geteuid();
}
