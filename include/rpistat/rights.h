/* Rights of the process beyond the rights of its user.
 *
 * SAFETY: a file capability or the set-user-ID bit on the program's file gives rights to anyone who
 * starts the program. rpistat keeps only CAP_PERFMON of these rights, to count events that the user
 * could not count, and only until the counters are open. Rights that the user has without the file
 * (as root, or as a service with ambient rights) are kept. */
#pragma once

#include <sys/stat.h>

#include "rpistat/error.h"

/* SAFETY: permanently become the user who started the program, and give up every gained capability
 * except CAP_PERFMON. Call this function while there is only one thread, and before any file,
 * environment variable or argument is read. Return RPS_FAILED if the kernel refuses; the program
 * must then do nothing. */
int rps_rights_begin(struct rps_error *err);

/* SAFETY: give up the rights to open counters (CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_PTRACE) in this
 * thread and the threads that it starts. Open counters continue to count. Root does not give up its
 * rights, because access to root's files may need them. Return RPS_FAILED if the kernel refuses. */
int rps_rights_end(struct rps_error *err);

/* SAFETY: permanently give up all rights of this process, which must have only one thread. Root
 * becomes nobody, without groups, and all capabilities are dropped. The process cannot gain
 * privileges, and other processes cannot dump or trace it. Each step is checked. Return RPS_FAILED
 * if a step fails; the process must then not use anything that belongs to another user. */
int rps_rights_give_up(void);

/* SAFETY: protection of root in directories of other users. At any moment, the owner of a directory
 * can replace a file in the directory by a file that only root may use. Therefore, root opens and
 * creates files in another user's directory with the owner's rights. The kernel then refuses
 * everything that the owner may not do. If the process is not root, or the directory is root's own,
 * nothing changes.
 *
 * The rights belong to the calling thread and affect only opening, creating and deleting files
 * (fsuid, fsgid, no other groups, no capabilities that override permissions). */
struct rps_rights {
    uid_t user; /* user whose rights are used; 0: this process's own rights */
    gid_t group;
    int may_search; /* 1 if root traverses directories of the path that are closed to the user */
};

/* The rights that a thread had before it took other rights. Pass the struct to rps_rights_return
 * even after an error. */
struct rps_rights_before {
    int is_changed, group_count;
    gid_t *group;
};

enum rps_rights_for {
    RPS_RIGHTS_FILE,     /* rights to use the file itself */
    RPS_RIGHTS_NEW_FILE, /* rights to create a new file, or the missing target of a link */
    RPS_RIGHTS_BESIDE,   /* rights to use other names in the file's directory */
};

/* SAFETY: take the rights with which the file at path may be used. The rights are those of the
 * first user other than root who owns a component of the path, beginning at the root directory.
 * Each directory and link is checked through a descriptor, and finally the file itself, unless the
 * file is new. Owners of later components are ignored, because the first owner can replace
 * everything below. If the thread has already taken rights, these rights are not changed. Return
 * RPS_FAILED and a sentence if the kernel refuses. */
int rps_rights_take_for(const char *path, enum rps_rights_for what, struct rps_rights_before *ret,
                        struct rps_error *err);

/* SAFETY: return 1 if the file at path belongs to another user, including root. Also return 1 if a
 * user other than root can replace the file, because the user owns a component of the path or
 * anyone may write to a component. Return 0 if this process is root, because root takes the other
 * user's rights. */
int rps_rights_is_others(const char *path);

/* Return the rights that this thread has taken. `user` is 0 if it has taken none. */
struct rps_rights rps_rights_taken(void);

/* Return the user whose rights this thread uses for files. */
uid_t rps_rights_user(void);

/* Restore the rights that the thread had before. */
void rps_rights_return(struct rps_rights_before *before);

/* SAFETY: functions for paths that another user may have prepared. Nothing is written through a
 * link of another user. Nothing is written into another user's file in a directory where anyone may
 * create files (/tmp). */

/* SAFETY: resolve the symbolic links of the existing part of the path, and return the path in *ret
 * for free(). The missing part and links of /proc, which are not paths, are not changed.
 * *ret_folder (unless ret_folder is NULL) is a descriptor of the last name's directory (O_PATH, to
 * be closed), or -errno if the directory is missing.
 *
 * Return RPS_FAILED for a link that belongs neither to this user nor to root. If a link is not the
 * last name of the path, the link may also belong to the owner of the link's directory. Return
 * RPS_FAILED for another user's file in a sticky directory that anyone may write, unless the
 * directory's owner owns the file. Linux has this rule as fs.protected_regular; rpistat applies the
 * rule even if Linux does not. An inaccessible path is not an error of this function, because
 * opening the path reports the reason. */
int rps_trust_path(const char *path, char **ret, int *ret_folder, struct rps_error *err);

/* SAFETY: return RPS_FAILED if the file's location would let other users control root. This is the
 * case if a directory of the path belongs to another user, or if other users may write to the
 * directory. For users other than root nothing is checked. */
int rps_trust_folders(const char *path, struct rps_error *err);

/* SAFETY: return RPS_FAILED if the opened file at path would let other users control root: it
 * belongs to another user, or other users may write it. For users other than root nothing is
 * checked. */
int rps_trust_own(const char *path, const struct stat *file, struct rps_error *err);
