/* What processes have in common that read files which may be hostile. */
#ifndef RPISTAT_CODE_CHILD_H
#define RPISTAT_CODE_CHILD_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Memory of such a process, beyond what it has of its parent, and CPU time for one task. */
#define RPS_CHILD_MEMORY_BYTES (UINT64_C(256) << 20)
#define RPS_CHILD_CPU_S        5

/* In the child, right after the fork: it is called that, of 15 letters at most, so that nobody takes
 * it for a recorder, ends with its parent and by what it does wrong, leaves no core, and has no more
 * memory than that. What fails ends it. */
void rps_child_begin(const char *name);

/* Close all descriptors but these two; 0 to 2 become /dev/null, since a process that is stuck would
 * hold a pipe open. Negative if descriptors cannot be listed. */
int rps_child_keep_only(int first, int second);

/* The same, and give up all rights (rps_rights_give_up).
 * SAFETY: the process ends if this fails: nothing of another user is parsed with root's rights. */
void rps_child_become_nobody(int first, int second);

#define RPS_CHILD_REFUSED_STATUS 77 /* the exit status then */

enum rps_child_end {
    RPS_CHILD_ENDED,
    RPS_CHILD_REFUSED, /* it could not give up its rights */
    RPS_CHILD_STUCK,   /* it still waits for a file system, and cannot be killed */
};

/* In the parent: kill it, and wait for its end; 100 ms for one that a file system holds. Returns the
 * CPU time that it and its own took, ns. */
int64_t rps_child_end(pid_t pid, enum rps_child_end *ret_how);

/* Both limits of the resource become that, if they are higher. */
void rps_child_limit(int resource, rlim_t value);

#endif
