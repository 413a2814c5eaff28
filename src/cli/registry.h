/*
 * The registry: one file per recorder of this machine, which describes the recording. Its name is
 * the process number, and the process locks it (fcntl) while it lives. SAFETY: Linux reports who
 * holds a lock, so the contents of a file alone make no process a recorder.
 *
 * Its directory is the first of the following that the recorder's user owns or can create. They are
 * $RUNTIME_DIRECTORY, /run/rpistat, /run/user/UID/rpistat, /tmp/rpistat-UID, and, if another user
 * has taken that name, /tmp/rpistat-UID-RANDOM.
 */
#ifndef RPISTAT_CLI_REGISTRY_H
#define RPISTAT_CLI_REGISTRY_H

#include <stdint.h>
#include <sys/types.h>

#include "rpistat/run.h"

struct rps_writer_beat;

/* The contents of a file. */
struct rps_registered {
    struct rps_run run; /* number, uuid, label, tags, command, target, start, period, elapsed time
                           so far. Number -1: the recording has ended; 0: the store is locked, and
                           the run has no number yet */
    char store[4096];   /* absolute, without links; "": as above */
    int64_t periods, store_bytes; /* so far; with the store's log */
    int64_t late_ns;              /* CLOCK_MONOTONIC: from then on the recorder is late */
};

/* --- for the recorder ------------------------------------------------------------------------- */

#define RPS_REGISTRY_PATH_SIZE 1024

struct rps_registry {
    int fd; /* of this process's file; -1: there is none */
    char path[RPS_REGISTRY_PATH_SIZE];
    int gave_up; /* at the last heartbeat: the file stays, so that others see it */
};

/* rps_writer_options.beat of a struct rps_registry: write the file, or create it (also if it was
 * removed: at a user's last logout the directory is deleted). No directory is not an error. */
void rps_registry_beat(void *registry, const struct rps_writer_beat *beat);

/* Note that the recording has ended, but not the process. */
void rps_registry_end(struct rps_registry *registry);

/* Remove the file, unless the recorder gave up. */
void rps_registry_close(struct rps_registry *registry);

/* The value that the signal of `rpistat stop` carries, so that a run can record what ended it. */
#define RPS_REGISTRY_STOP 0x72707374

/* --- for other processes ---------------------------------------------------------------------- */

/*
 * SAFETY: read the file of the process with that number and user; the caller frees the run. Returns
 * 0 without a file that this user may read, that is that user's, and that, according to Linux, this
 * very process has locked. Also 0 for a process with another number in its PID namespace.
 */
int rps_registry_read(struct rps_registered *ret, pid_t pid, uid_t uid);

/* Return 1 if the recorder of this user's run with that uuid gave up or is dead. It is dead if its
 * file exists, nobody holds the lock, and no process has its number. */
int rps_registry_is_dead(const char *uuid);

#endif
