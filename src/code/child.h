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

/* It has no descriptors above 2 but this one, which is above 2: what its parent closes is closed. */
void rps_child_keep_only(int fd);

/* In the parent: end it, and wait for that. Returns the CPU time that it and its own took, ns. */
int64_t rps_child_end(pid_t pid);

/* Both limits of the resource become that, if they are higher. */
void rps_child_limit(int resource, rlim_t value);

#endif
