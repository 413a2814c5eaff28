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
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif

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
