/*
 * Who records on this machine: the processes that are recorders, with what the registry says of
 * them. Of another user's that this user may not read, of one in another PID namespace, and of
 * another version is known what Linux says of a process.
 */
#ifndef RPISTAT_CLI_RECORDERS_H
#define RPISTAT_CLI_RECORDERS_H

#include <sys/types.h>

#include "registry.h"
#include "rpistat/arena.h"
#include "rpistat/error.h"

enum rps_recorder_state {
    RPS_RECORDER_RECORDING,
    RPS_RECORDER_LATE,    /* its heartbeat is */
    RPS_RECORDER_UNKNOWN, /* the registry says nothing of it */
};

/* Their names in what is shown. */
extern const char *const rps_recorder_states[];

struct rps_recorder {
    pid_t pid;
    int pidfd;          /* owned; of the very process that all this was found of */
    uid_t uid;          /* real */
    char user[64];      /* its name, or number */
    char command[1024]; /* the recorder's own command line, printable; "" when it has none */
    enum rps_recorder_state state;
    int64_t written_bytes;       /* by the recorder so far; -1: not known */
    struct rps_registered entry; /* run -1: there is none, or it is not known; store "" likewise;
                                    run 0: it has no number yet */
};

struct rps_recorders {
    size_t count;
    struct rps_recorder *recorder; /* the array is the arena's */
};

/* All recorders that this user may see, by process. RPS_FAILED without /proc or pidfds. */
int rps_recorders_find(struct rps_arena *arena, struct rps_recorders *ret, struct rps_error *err);
void rps_recorders_free(struct rps_recorders *recorders);

#endif
