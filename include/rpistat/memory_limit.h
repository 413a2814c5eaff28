/* The limit of the process's address space. */
#ifndef RPISTAT_MEMORY_LIMIT_H
#define RPISTAT_MEMORY_LIMIT_H

#include <stddef.h>

/* Return the bytes that the process may map (ulimit -v, ulimit -d); SIZE_MAX without a limit. Rings
 * and queues take at most a quarter of it, so that the rest fits. */
size_t rps_memory_limit(void);

#endif
