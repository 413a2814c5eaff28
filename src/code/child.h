/* Common code of processes that read possibly hostile files. */
#ifndef RPISTAT_CODE_CHILD_H
#define RPISTAT_CODE_CHILD_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Limits of such a process: memory beyond its parent's, and CPU time per task. */
#define RPS_CHILD_MEMORY_BYTES (UINT64_C(256) << 20)
#define RPS_CHILD_CPU_S        5

/* Begin the child, right after the fork. Its name of up to 15 letters shows that it is not a
 * recorder. It ends with its parent and at its first fault, without a core file, and its memory is
 * limited. If any of this fails, it ends. */
void rps_child_begin(const char *name);

/* Close all descriptors but these two. 0 to 2 become /dev/null, since a stuck process would hold a
 * pipe open. Negative if descriptors cannot be listed. */
int rps_child_keep_only(int first, int second);

/* Do the same, and give up all rights (rps_rights_give_up). SAFETY: the process ends if this fails;
 * no file of another user is parsed with root's rights. */
void rps_child_become_nobody(int first, int second);

#define RPS_CHILD_REFUSED_STATUS 77 /* exit status in that case */

enum rps_child_end {
    RPS_CHILD_ENDED,
    RPS_CHILD_REFUSED, /* it could not give up its rights */
    RPS_CHILD_STUCK,   /* it still waits for a file system, and cannot be killed */
};

/* Kill the child, in the parent, and wait for its end, or 100 ms if a file system holds it. Returns
 * the CPU time of the child and its children, ns. */
int64_t rps_child_end(pid_t pid, enum rps_child_end *ret_how);

/* Lower both limits of the resource to the value. */
void rps_child_limit(int resource, rlim_t value);

#endif
