/* The registry: one file per recorder of this machine, which describes the recording. The name of
 * the file is the recorder's process number. The recorder keeps its file locked (fcntl) until the
 * recorder ends. SAFETY: Linux reports which process holds a lock, so the contents of a file alone
 * make no process a recorder.
 *
 * The directory is the first of the following that the recorder's user owns or can create:
 * $RUNTIME_DIRECTORY, /run/rpistat, /run/user/UID/rpistat, /tmp/rpistat-UID. If another user has
 * already created /tmp/rpistat-UID, the directory is /tmp/rpistat-UID-RANDOM. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/run.h"

struct rps_writer_beat;

/* The contents of a file of the registry. */
struct rps_registered {
    struct rps_run run; /* number, uuid, label, tags, command, target, start, period, elapsed time
                           so far. Number -1: the recording has ended; 0: the store is locked, and
                           the run has no number yet */
    char store[4096];   /* absolute path of the store, without links; "": unknown */
    int64_t periods, store_bytes; /* number of periods so far; size of the store including its
                                     log */
    int64_t late_ns;              /* time on CLOCK_MONOTONIC after which the recorder is late */
};

/* --- for the recorder ------------------------------------------------------------------------- */

#define RPS_REGISTRY_PATH_SIZE 1024

struct rps_registry {
    int fd; /* descriptor of this process's file; -1: there is no file */
    char path[RPS_REGISTRY_PATH_SIZE];
    int gave_up; /* 1: the recorder gave up at the last heartbeat, so its file is not removed */
};

/* Write the file, or create it. The writer calls this function as rps_writer_options.beat of a
 * struct rps_registry. If the file was removed, the file is created again, because the directory is
 * deleted at a user's last logout. A missing directory is not an error. */
void rps_registry_beat(void *registry, const struct rps_writer_beat *beat);

/* Record in the file that the recording has ended, but that the process still runs. */
void rps_registry_end(struct rps_registry *registry);

/* Remove the file, unless the recorder gave up. */
void rps_registry_close(struct rps_registry *registry);

/* The value that `rpistat stop` sends with its signal, so that the run can record what ended it. */
#define RPS_REGISTRY_STOP 0x72707374

/* --- for other processes ---------------------------------------------------------------------- */

/* SAFETY: read the file of the process with that number and user. Returns 1 only if three
 * conditions hold. This user may read the file, the user of the process owns the file, and,
 * according to Linux, this very process has locked the file. Otherwise returns 0, also for a
 * process that has another number in its own PID namespace. */
int rps_registry_read(struct rps_arena *arena, struct rps_registered *ret, pid_t pid, uid_t uid);

/* Return 1 if the recorder of this user's run with that uuid gave up or is dead. A recorder is dead
 * if its file exists, nobody holds the lock, and no process has its number. */
int rps_registry_is_dead(const char *uuid);

/* The recorders on this machine: their processes and their entries in the registry. For some
 * recorders only the data from Linux are known. Such a recorder has another version, is in another
 * PID namespace, or belongs to another user whose data cannot be read. */

enum rps_recorder_state {
    RPS_RECORDER_RECORDING,
    RPS_RECORDER_LATE,    /* the heartbeat of the recorder is late */
    RPS_RECORDER_UNKNOWN, /* the registry does not contain the recorder */
};

/* The names of the states in the output. */
extern const char *const rps_recorder_states[];

struct rps_recorder {
    pid_t pid;
    int pidfd;          /* pidfd of the process that the data belong to; owned */
    uid_t uid;          /* real user ID */
    char user[64];      /* name of the user, or the number */
    char command[1024]; /* the recorder's own command line, printable; "" if there is none */
    enum rps_recorder_state state;
    int64_t written_bytes;       /* bytes written by the recorder so far; -1: unknown */
    struct rps_registered entry; /* entry of the registry. Run -1: the recorder has no entry, or
                                    the entry is unknown; run 0: the run has no number yet; store
                                    "": unknown */
};

struct rps_recorders {
    size_t count;
    struct rps_recorder *recorder; /* array of recorders in the arena */
};

/* Find all recorders visible to this user, in /proc's order. RPS_FAILED without /proc or pidfds. */
int rps_recorders_find(struct rps_arena *arena, struct rps_recorders *ret, struct rps_error *err);
void rps_recorders_free(struct rps_recorders *recorders);
