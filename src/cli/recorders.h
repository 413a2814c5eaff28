/*
 * Who records on this machine. There is no registry: recorders are found among the processes, and
 * their runs in the stores that they have open. Stores of other users are not opened: of those
 * recorders is known what Linux says of a process.
 */
#ifndef RPISTAT_CLI_RECORDERS_H
#define RPISTAT_CLI_RECORDERS_H

#include <sys/stat.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/run.h"
#include "rpistat/store.h"

enum rps_recorder_state {
    RPS_RECORDER_RECORDING,
    RPS_RECORDER_LATE,     /* its heartbeat is */
    RPS_RECORDER_STARTING, /* it has no run yet */
    RPS_RECORDER_UNKNOWN,  /* its store cannot be read, or is not opened: `reason` */
};

/* Their names in what is shown. */
extern const char *const rps_recorder_states[];

struct rps_recorder {
    pid_t pid, parent;
    int pidfd;          /* owned; of the very process that all this was found of */
    uid_t uid;          /* real */
    char user[64];      /* its name, or number */
    char command[1024]; /* the recorder's own command line, printable; "" when it has none */
    enum rps_recorder_state state;
    char *store;  /* owned; a path that leads to it here, else where it was; NULL: not known */
    dev_t device; /* of the store */
    ino_t inode;  /* 0: not known */
    char reason[sizeof(((struct rps_error *)0)->message)]; /* why the store cannot be read, or "" */
    int64_t written_bytes; /* by the recorder so far; -1: not known */
    uint64_t store_bytes;  /* this and what follows: of a run that was found */
    struct rps_run run;    /* run_id -1: none was */
    struct rps_run_summary summary;
};

struct rps_recorders {
    size_t count;
    struct rps_recorder *recorder; /* owned */
};

/*
 * All recorders that this user may see, by process. `named` is a store that the user has named: it
 * is opened, whosever it is; NULL: none. A store that is damaged, locked, or not this
 * user's to read makes a recorder of state UNKNOWN, and no error; when stores have taken 10 s the
 * rest is not opened. RPS_FAILED without memory, /proc, or pidfds.
 */
int rps_recorders_find(struct rps_recorders *ret, const struct stat *named, struct rps_error *err);
void rps_recorders_free(struct rps_recorders *recorders);

#endif
