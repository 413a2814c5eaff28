/*
 * The registry: a file of each recorder of this machine, which says what it records. It is named by
 * the recorder's process and locked by it (fcntl) as long as that lives: Linux tells who holds a
 * lock, so that nobody is taken for a recorder because a file says so.
 *
 * It lies in the first of these directories that is, or can be made, the recorder's user's own:
 * $RUNTIME_DIRECTORY, /run/rpistat, /run/user/UID/rpistat, /tmp/rpistat-UID, and, if another user
 * has taken that name, /tmp/rpistat-UID-RANDOM.
 */
#ifndef RPISTAT_CLI_REGISTRY_H
#define RPISTAT_CLI_REGISTRY_H

#include <stdint.h>
#include <sys/types.h>

#include "rpistat/run.h"

struct rps_writer_beat;

/* What a file says. */
struct rps_registered {
    struct rps_run run; /* number, uuid, label, tags, command, target, start, period, and the time
                           elapsed so far; number -1: nothing is recorded any more; 0:
                           the store is locked, and the run has no number yet */
    char store[4096];   /* from the root on, and without links; "": as above */
    int64_t periods, store_bytes; /* so far; with the store's log */
    int64_t late_ns;              /* CLOCK_MONOTONIC: the recorder is late then */
};

/* --- of the recorder -------------------------------------------------------------------------- */

#define RPS_REGISTRY_PATH_SIZE 1024

struct rps_registry {
    int fd; /* of this process' file; -1: there is none */
    char path[RPS_REGISTRY_PATH_SIZE];
    int gave_up; /* of the last heartbeat: the file stays, so that others learn of it */
};

/* rps_writer_options.beat of a struct rps_registry: write the file, or make it (again, when it is
 * gone: at a user's last logout the folder is removed). That there is no folder is no error. */
void rps_registry_beat(void *registry, const struct rps_writer_beat *beat);

/* The recording has ended, and the process has not. */
void rps_registry_end(struct rps_registry *registry);

/* Remove the file, unless the recorder gave up. */
void rps_registry_close(struct rps_registry *registry);

/* The value that the signal of `rpistat stop` carries, so that a run can say what ended it. */
#define RPS_REGISTRY_STOP 0x72707374

/* --- of others -------------------------------------------------------------------------------- */

/*
 * What the file of the process of that number and user says; the run is to be freed. 0 when there
 * is none that this user may read, that is that user's, and that Linux says this very process has
 * locked; so it is for one that has another number in its own PID namespace.
 */
int rps_registry_read(struct rps_registered *ret, pid_t pid, uid_t uid);

/* 1 when the recorder of the run with that uuid, of this user, gave up or is dead. It is dead if its
 * file is there, nobody holds the lock, and there is no process with its number. */
int rps_registry_is_dead(const char *uuid);

#endif
