/* Is the recorder of a run still at work? */
#ifndef RPISTAT_STORE_ALIVE_H
#define RPISTAT_STORE_ALIVE_H

#include <stdint.h>

/*
 * 1 when the recorder is known to be gone: it ran on this host, in an earlier boot or as a process
 * that no longer exists. 0 when it is alive, or when that cannot be known from here (another host,
 * no process id). start_ticks <= 0: not known, any process with that id counts as the recorder.
 */
int rps_recorder_is_dead(const char *host, const char *boot_id, int64_t pid, int64_t start_ticks);

#endif
