/*
 * What the process may do beyond what its user may.
 *
 * A file capability or the set-user-ID bit on the program's file gives rights to whoever starts it.
 * Of these only CAP_PERFMON is kept, which is for counting what the user could not count, and it is
 * given up as soon as the counters are open. Rights that the user has anyway (root's, or ambient
 * ones of a service) are the user's.
 */
#ifndef RPISTAT_RIGHTS_H
#define RPISTAT_RIGHTS_H

#include <sys/types.h>

#include "rpistat/error.h"

/*
 * Become the user who started the program, for good, and give up every gained capability but
 * CAP_PERFMON. Called first of all: before a file, the environment or an argument is looked at, and
 * while there is one thread. RPS_FAILED when the kernel refuses: nothing may be done then.
 */
int rps_rights_begin(struct rps_error *err);

/*
 * Give up what opening counters takes (CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_PTRACE), in this thread
 * and those that it starts. Open counters go on. Does nothing when the user is root, whose files
 * may need root's rights. RPS_FAILED when the kernel refuses.
 */
int rps_rights_end(struct rps_error *err);

/*
 * Give up all rights of this process, which has one thread, for good: root becomes nobody, without
 * groups; all capabilities go; it gains no new privileges, and cannot be dumped or traced by others.
 * Each is checked. RPS_FAILED when one fails: then the process may touch nothing of another user.
 */
int rps_rights_give_up(void);

/*
 * Root in other users' folders. Whoever owns a folder can exchange what lies in it at any moment,
 * for what only root may touch. So root opens and makes files there with that user's rights: the
 * kernel then refuses what the user could not do himself, whenever he exchanges what. For users who
 * are not root, and in root's own folders, nothing changes.
 *
 * The rights are the calling thread's, of opening, making and deleting files alone (fsuid, fsgid, no
 * other groups, no capabilities that override permissions).
 */
struct rps_rights {
    uid_t user; /* 0: this process's own rights */
    gid_t group;
    int may_search; /* folders on the way may be closed to this user: root goes through them */
};

/* Of a thread before it took rights; to be given to rps_rights_return in any case. */
struct rps_rights_before {
    int is_changed, group_count;
    gid_t *group;
};

enum rps_rights_for {
    RPS_RIGHTS_FILE,     /* the file */
    RPS_RIGHTS_NEW_FILE, /* one that is to be made there, or where a link of that name leads */
    RPS_RIGHTS_BESIDE,   /* names of one's own choice in its folder */
};

/*
 * Take the rights with which the file at path may be touched: those of the first user but root who
 * owns something on the way to it, from the root folder on, each folder and link looked at through
 * a descriptor, and, but for a new one, the file itself last. Of no one below: the first can
 * exchange all that follows. A thread that has taken rights keeps those. RPS_FAILED and a sentence
 * where the kernel does not give the rights.
 */
int rps_rights_take_for(const char *path, enum rps_rights_for what, struct rps_rights_before *ret,
                        struct rps_error *err);

/*
 * 1 when the file at path is another user's, root's too, or another user than root can exchange it:
 * he owns something on the way to it, or everybody may exchange something there. Of root this is
 * not asked (0), who takes that user's rights.
 */
int rps_rights_is_others(const char *path);

/* What this thread has taken; user 0: nothing. */
struct rps_rights rps_rights_taken(void);

/* With whose rights this thread touches files. */
uid_t rps_rights_user(void);

/* Back to what the thread had before. */
void rps_rights_return(struct rps_rights_before *before);

#endif
