/* How much address space the process may use. */
#ifndef RPISTAT_MEMORY_LIMIT_H
#define RPISTAT_MEMORY_LIMIT_H

#include <stddef.h>

/* Return the bytes that the process may map (ulimit -v, ulimit -d); SIZE_MAX without a limit.
 * Rings and queues take a quarter of it at most, so that there is room for the rest. */
size_t rps_memory_limit(void);

#endif
