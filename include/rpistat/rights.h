/*
 * Rights of the process beyond those of its user.
 *
 * SAFETY: a file capability or the set-user-ID bit on the program's file gives rights to anyone who
 * starts it. Only CAP_PERFMON is kept, to count events that the user could not count. It is given
 * up as soon as the counters are open. Rights that the user has anyway (root's, or ambient ones of
 * a service) are the user's.
 */
#ifndef RPISTAT_RIGHTS_H
#define RPISTAT_RIGHTS_H

#include <sys/types.h>

#include "rpistat/error.h"

/*
 * SAFETY: become the user who started the program, for good, and give up every gained capability
 * but CAP_PERFMON. Call it first: before a file, the environment or an argument is read, and while
 * there is one thread. Return RPS_FAILED if the kernel refuses: the program must do nothing then.
 */
int rps_rights_begin(struct rps_error *err);

/*
 * SAFETY: give up the rights to open counters (CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_PTRACE), in this
 * thread and those that it starts. Open counters continue. Does nothing if the user is root, whose
 * files may need root's rights. Return RPS_FAILED if the kernel refuses.
 */
int rps_rights_end(struct rps_error *err);

/*
 * SAFETY: give up all rights of this process, which has one thread, for good. Root becomes nobody,
 * without groups, and all capabilities go. The process gains no privileges, and others cannot dump
 * or trace it. Each step is checked. If one fails, RPS_FAILED: touch nothing of another user.
 */
int rps_rights_give_up(void);

/*
 * SAFETY: root in directories of other users. The owner of a directory can replace a file in it at
 * any moment by one that only root may touch. So root opens and creates files there with that
 * user's rights. The kernel then refuses everything that this user may not do, whenever he replaces
 * a file. For other users, and in root's own directories, nothing changes.
 *
 * The rights are the calling thread's, only for opening, creating and deleting files (fsuid, fsgid,
 * no other groups, no capabilities that override permissions).
 */
struct rps_rights {
    uid_t user; /* 0: this process's own rights */
    gid_t group;
    int may_search; /* directories on the way may be closed to this user: root traverses them */
};

/* The rights of a thread before it took others. Pass it to rps_rights_return in any case. */
struct rps_rights_before {
    int is_changed, group_count;
    gid_t *group;
};

enum rps_rights_for {
    RPS_RIGHTS_FILE,     /* the file */
    RPS_RIGHTS_NEW_FILE, /* a file to be created there, or at the target of a link of that name */
    RPS_RIGHTS_BESIDE,   /* names that the caller chooses in its directory */
};

/*
 * SAFETY: take the rights with which the file at path may be touched. They are those of the first
 * user but root who owns something on the way to it. The way begins at the root directory. Each
 * directory and link is checked through a descriptor, and last the file itself, unless it is new.
 * Later owners do not count, since the first can replace all that follows. A thread that has taken
 * rights keeps those. Return RPS_FAILED and a sentence if the kernel refuses.
 */
int rps_rights_take_for(const char *path, enum rps_rights_for what, struct rps_rights_before *ret,
                        struct rps_error *err);

/*
 * SAFETY: return 1 if the file at path is another user's, also root's. Return 1 also if another
 * user than root can replace it: he owns something on the way to it, or anyone may replace
 * something there. Return 0 for root, who takes that user's rights.
 */
int rps_rights_is_others(const char *path);

/* Return the rights that this thread has taken; user 0: none. */
struct rps_rights rps_rights_taken(void);

/* Return the user whose rights this thread uses for files. */
uid_t rps_rights_user(void);

/* Restore the rights that the thread had before. */
void rps_rights_return(struct rps_rights_before *before);

#endif
