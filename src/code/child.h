/* Common code of processes that read possibly hostile files. */
#pragma once

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Limits of a process that reads hostile files. The process may use this much memory in addition to
 * its parent's memory, and this much CPU time for each task that it is given. */
#define RPS_CHILD_MEMORY_BYTES (UINT64_C(256) << 20)
#define RPS_CHILD_CPU_S        5

/* Begin the child, right after the fork. The child's name of up to 15 letters shows that the child
 * is not a recorder. The child ends when its parent ends, at its first fault, and when an arena has
 * no memory. The child writes no core file, and its memory is limited. If any of these steps fails,
 * the child ends. */
void rps_child_begin(const char *name);

/* Close all descriptors except `first` and `second`. Descriptors 0 to 2 are redirected to
 * /dev/null: they may be pipes, and a stuck process would keep these pipes open. Returns a negative
 * value if descriptors cannot be listed. */
int rps_child_keep_only(int first, int second);

/* Close all descriptors except `first` and `second`, and give up all rights (rps_rights_give_up).
 * SAFETY: the process ends if giving up rights fails. No file of another user is parsed with root's
 * rights. */
void rps_child_become_nobody(int first, int second);

#define RPS_CHILD_REFUSED_STATUS 77 /* Exit status if the child cannot give up its rights. */

enum rps_child_end {
    RPS_CHILD_ENDED,
    RPS_CHILD_REFUSED, /* The child could not give up its rights. */
    RPS_CHILD_STUCK,   /* The child still waits for a file system and cannot be killed. */
};

/* Kill the child and wait for its end. If a file system blocks the child, the parent waits only 100
 * ms. Returns the CPU time of the child and the child's own children in ns. */
int64_t rps_child_end(pid_t pid, enum rps_child_end *ret_how);

/* Set both limits of the resource, the soft and the hard limit, to the value. */
void rps_child_limit(int resource, rlim_t value);
