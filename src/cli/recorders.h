/*
 * The recorders on this machine: their processes and their entries in the registry. Only Linux's
 * data are known of a recorder of another version, of one in another PID namespace, and of another
 * user's that cannot be read.
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
    RPS_RECORDER_UNKNOWN, /* the registry does not contain it */
};

/* Their names in the output. */
extern const char *const rps_recorder_states[];

struct rps_recorder {
    pid_t pid;
    int pidfd;          /* owned; of the very process that the data belong to */
    uid_t uid;          /* real */
    char user[64];      /* its name, or number */
    char command[1024]; /* the recorder's own command line, printable; "" if it has none */
    enum rps_recorder_state state;
    int64_t written_bytes;       /* by the recorder so far; -1: unknown */
    struct rps_registered entry; /* run -1: none, or unknown; store "" likewise; run 0: it has no
                                    number yet */
};

struct rps_recorders {
    size_t count;
    struct rps_recorder *recorder; /* the array is the arena's */
};

/* Find all recorders that this user may see, by process. RPS_FAILED without /proc or pidfds. */
int rps_recorders_find(struct rps_arena *arena, struct rps_recorders *ret, struct rps_error *err);
void rps_recorders_free(struct rps_recorders *recorders);

#endif
