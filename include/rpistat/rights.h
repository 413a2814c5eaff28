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

#endif
