/* Keep as few rights as possible in this process.
 *
 * The two system calls for capabilities are made without libcap, so that the program, which may
 * have a capability, needs one library less. glibc has no wrapper for these calls.
 *
 * SAFETY: CAP_PERFMON is not raised and dropped for each counter that is opened. Counters are
 * opened only at the start of a recording, so that the capability can then be given up permanently,
 * and no bug can regain it. */
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
#include <sys/syscall.h>
#include <unistd.h>

#include "walk.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* since Linux 5.8 */
#endif

#define NOBODY 65534 /* ID of the user and group "nobody" */

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

/* Drop all permitted and effective capabilities that are not in the mask. If there is no capability
 * to drop, capset is not called, because the sandbox of a service may forbid this call. */
static int keep_only(uint64_t mask, struct rps_error *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct sets sets;
    uint32_t others = 0;

    if (syscall(SYS_capget, &header, sets.word) < 0)
        return fail("capabilities", err);
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        /* no need to check `effective`: an effective capability is also permitted */
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

    /* SAFETY: change the group before the user, because changing the group needs the rights that
     * are lost with the user. */
    if (group != getegid() && setresgid(group, group, group) < 0)
        return fail("the group of the program's file", err);
    if (user != geteuid() && setresuid(user, user, user) < 0)
        return fail("the owner's rights of the program's file", err);
    if (!getauxval(AT_SECURE) || user == 0)
        return 0;
    if (keep_only(bit(CAP_PERFMON), err) < 0)
        return RPS_FAILED;
    /* SAFETY: Linux protects a program with changed rights, and its children, from inspection, and
     * therefore does not permit counters on them. This protection is removed. It is not needed,
     * because the program has no data that its user must not see. */
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

/* SAFETY: the rights that this thread has taken. No single system call returns them. */
static _Thread_local struct rps_rights taken;

struct rps_rights rps_rights_taken(void)
{
    return taken;
}

uid_t rps_rights_user(void)
{
    return taken.user != 0 ? taken.user : geteuid();
}

/* SAFETY: glibc's setgroups would change all threads; the system call changes only this thread. */
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

/* SAFETY: setfsuid and setfsgid return only the previous ID; a second call checks the change. */
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

/* SAFETY: raise the capability that was lost when the user was changed. With the capability, root
 * can traverse directories and read files that are closed to the user, but cannot write them. If
 * root does not have the capability, opening the file later returns the error. */
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
    /* SAFETY: restore the user before the group, because this also restores the capabilities. */
    if (set_user(geteuid()) < 0 || set_group(getegid()) < 0 ||
        (before->group_count > 0 && set_groups(before->group_count, before->group) < 0))
        abort(); /* the process must not continue with the wrong rights */
    /* SAFETY: after a change of rights, Linux assumes that the process has secret data, and does
     * not permit counters on its children. This setting removes the restriction. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    free(before->group);
    *before = (struct rps_rights_before){0};
    taken = (struct rps_rights){0};
}

/* Drop all supplementary groups of this thread. */
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
    errno = 0; /* clear errno, because few of the checked calls set it */
    if (drop_groups(&before) < 0 || set_group(rights->group) < 0 || set_user(rights->user) < 0) {
        int is_memory = errno == ENOMEM;

        rps_rights_return(&before);
        if (is_memory)
            return rps_error_memory(err);
        return rps_error_set(err, RPS_FAILED,
                             "the directory belongs to user %ld, and root may not use that user's "
                             "rights here (CAP_SETUID and CAP_SETGID are missing); start rpistat "
                             "as that user, or choose a directory of root",
                             (long)rights->user);
    }
    if (rights->may_search)
        may_search();
    taken = *rights;
    *ret = before;
    return 0;
}

/* --- whose ------------------------------------------------------------------------------------ */

/* Facts about the path of a file. */
struct way {
    enum rps_rights_for what;
    int is_whole;      /* 1 if root or this user owns the whole path */
    int is_others;     /* 1 if another user owns the object of the last existing name */
    int is_closed;     /* 1 if other users may not traverse a directory of the path */
    int is_open;       /* 1 if a directory of the path lets anyone replace files of other users */
    mode_t above;      /* mode of the directory that contains the last existing name of the path */
    struct stat found; /* status of the object that the last existing name of the path refers to */
};

static int can_be(uid_t user)
{
    int can = set_user(user) == 0;

    set_user(geteuid());
    return can;
}

/* Stop the walk at the first name of the path that belongs to another user. */
static int look_whose(struct rps_walk *walk, const struct stat *found, int is_last, void *context)
{
    struct way *way = context;
    int is_new = is_last && way->what == RPS_RIGHTS_NEW_FILE;

    (void)walk;
    if ((is_last && way->what == RPS_RIGHTS_BESIDE) ||
        (is_new && found && !S_ISLNK(found->st_mode)))
        way->is_whole = 1;
    if (!found) /* another process may create the file at any moment */
        way->is_whole |= (errno == ENOENT || errno == ENOTDIR) &&
                         (is_new || !(way->above & (S_IWGRP | S_IWOTH)));
    if (!found || way->is_whole)
        return 1;
    way->found = *found;
    /* SAFETY: in a user namespace, root has no special rights for files of users outside the
     * namespace. Files of such users seem to belong to the user nobody, but root cannot take the
     * rights of nobody in the namespace. */
    way->is_others = found->st_uid != 0 && found->st_uid != geteuid() &&
                     (can_be(found->st_uid) || !is_effective(CAP_SETUID));
    if (!way->is_others && S_ISDIR(found->st_mode)) {
        way->above = found->st_mode;
        way->is_closed |= !(found->st_mode & S_IXOTH);
        way->is_open |= (found->st_mode & S_IWOTH) && !(found->st_mode & S_ISVTX);
    }
    return way->is_others;
}

/* Find the first other user who owns a component of the path. RPS_FAILED: memory ran out. */
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

/* SAFETY: choose the rights for a path. In a directory where other users may create files, any user
 * may soon create a file with the missing name. Therefore, such a name is opened with the rights of
 * the user nobody. In a directory where anyone may create files, the group of a file need not be a
 * group of the file's creator. If a file's group is root's group, the group is ignored, because
 * chown may have changed only the user. */
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

/* SAFETY: anyone who may write a directory can put a link there and redirect another user's output.
 * Linux refuses another user's links only in sticky directories, with fs.protected_symlinks, and
 * only if the link itself is opened. realpath and SQLite instead read the link and then open the
 * link's target. */

/* SAFETY: allow links of the directory's owner, because the owner could replace directories too. */
static int check_link(const struct rps_walk *walk, const struct stat *link, int is_last,
                      struct rps_error *err)
{
    struct stat folder;

    if (link->st_uid == geteuid() || link->st_uid == 0 ||
        (!is_last && fstat(walk->folder, &folder) == 0 && link->st_uid == folder.st_uid))
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "refusing to follow the link %s: it belongs to another user (%ld), who "
                         "can point it anywhere; remove it, or choose another name",
                         walk->done, (long)link->st_uid);
}

/* SAFETY: check that the file at the end of the path may be written. */
static int check_file(const struct rps_walk *walk, const struct stat *file, struct rps_error *err)
{
    struct stat folder;

    if (file->st_uid == geteuid() || fstat(walk->folder, &folder) < 0 ||
        !(folder.st_mode & S_ISVTX) || !(folder.st_mode & S_IWOTH) || file->st_uid == folder.st_uid)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "refusing to write %s: it belongs to another user (%ld), in a directory "
                         "where everyone can create files; choose another name",
                         walk->done, (long)file->st_uid);
}

static int look_at(struct rps_walk *walk, const struct stat *found, int is_last, void *context)
{
    struct rps_error *err = context;

    if (found && S_ISLNK(found->st_mode))
        return rps_walk_in_proc(walk->folder) ? 0 : check_link(walk, found, is_last, err);
    return found && is_last && !S_ISDIR(found->st_mode) ? check_file(walk, found, err) : 0;
}

/* Return the checked part and the unchecked part of the path, joined. */
static char *join(const struct rps_walk *walk)
{
    size_t used = strlen(walk->done);
    int slash = walk->rest[0] && walk->rest[0] != '/' && used && walk->done[used - 1] != '/';
    char *path = NULL;

    return asprintf(&path, "%s%s%s", walk->done, slash ? "/" : "", walk->rest) < 0 ? NULL : path;
}

int rps_trust_path(const char *path, char **ret, int *ret_folder, struct rps_error *err)
{
    struct rps_walk *walk = calloc(1, sizeof(*walk));
    char *resolved = NULL;
    int result;

    if (!walk)
        return rps_error_memory(err);
    result = rps_walk(walk, path, look_at, err);
    if (result > 0)
        result = 0; /* the walk ended early, and the part that could be walked is resolved */
    if (result == 0) {
        resolved = strlen(path) >= sizeof(walk->rest) ? strdup(path) : join(walk);
        if (!resolved)
            result = rps_error_memory(err);
    }
    if (result == 0) {
        *ret = resolved;
        if (ret_folder)
            *ret_folder = walk->folder;
    }
    if (walk->folder >= 0 && (result < 0 || !ret_folder))
        close(walk->folder);
    free(walk);
    return result;
}

/* SAFETY: check each directory relative to the previous directory, as the kernel resolves a path.
 * Sticky directories are allowed, because other users cannot move root's files there. */
static int check_folder(struct rps_walk *walk, const struct stat *found, int is_last, void *context)
{
    struct rps_error *err = context;
    struct stat folder;

    (void)is_last;
    if (!found || fstat(walk->folder, &folder) < 0 ||
        (folder.st_uid == 0 &&
         (!(folder.st_mode & (S_IWGRP | S_IWOTH)) || (folder.st_mode & S_ISVTX))))
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "refusing to read %s as root: another user (%ld) can write its directory; "
                         "choose another directory with XDG_CONFIG_HOME",
                         walk->done, (long)folder.st_uid);
}

int rps_trust_folders(const char *path, struct rps_error *err)
{
    struct rps_walk *walk = geteuid() == 0 ? calloc(1, sizeof(*walk)) : NULL;
    int result = walk ? rps_walk(walk, path, check_folder, err) : 0;

    if (!walk)
        return geteuid() == 0 ? rps_error_memory(err) : 0;
    if (walk->folder >= 0)
        close(walk->folder);
    free(walk);
    return result < 0 ? result : 0;
}

int rps_trust_own(const char *path, const struct stat *file, struct rps_error *err)
{
    if (geteuid() != 0 || (file->st_uid == 0 && !(file->st_mode & (S_IWGRP | S_IWOTH))))
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "refusing to read %s as root: other users can write it; run chown root "
                         "and chmod go-w on it, or choose another directory with XDG_CONFIG_HOME",
                         path);
}
