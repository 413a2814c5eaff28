/*
 * The periods of a run against each other: what follows from how they were recorded, and is asked
 * by both the check and the repair of a store.
 */
#ifndef RPISTAT_STORE_EXAMINE_H
#define RPISTAT_STORE_EXAMINE_H

#include <stdint.h>

#include <sqlite3.h>

#include "finest.h"
#include "write_run.h"

/* What the rows beside the periods say that these must be like. */
struct rps_run_shape {
    int64_t run_id;
    int set_count;      /* rows of event_set; 0 ... RPS_SHAPE_SETS_MAX */
    uint8_t *measured;  /* owned; by set: slots whose event is measured */
    int64_t elapsed_ns; /* -1: not known */
    int imported; /* 1: a rotation is one interval of a file: each set's time is the whole of it,
                     and values may be missing */
    int recording; /* 1: its row says so, whether or not its recorder is there */
    int complete; /* 1: the run ended as it should, and its last period ends at elapsed_ns */
};

/* More than any plan has, and few enough that an untrusted store cannot ask for much memory. */
#define RPS_SHAPE_SETS_MAX 1024

/* Read it; an SQLite code. For rps_run_shape_free. */
int rps_run_shape_load(sqlite3 *db, int64_t run_id, struct rps_run_shape *ret);
void rps_run_shape_free(struct rps_run_shape *shape);

enum rps_fault {
    RPS_FAULT_NUMBER,   /* a number that no recorder writes */
    RPS_FAULT_BLOCK,    /* a block whose rows do not belong together */
    RPS_FAULT_ORDER,    /* period numbers do not go up with the cycle timestamp */
    RPS_FAULT_ROTATION, /* a rotation that goes back, or has a set twice */
    RPS_FAULT_HOLE,     /* time without a period, and without a gap row that says why */
    RPS_FAULT_OVERLAP,  /* a period begins before the one before it has ended */
    RPS_FAULT_CYCLE,    /* the cycle timestamp is not the one before plus the cycles */
    RPS_FAULT_STRANGE,  /* a count of an event that was not measured */
    RPS_FAULT_IDLE,     /* a count, though the set was never on the counters */
    RPS_FAULT_SWITCH,   /* a switch that goes on beyond the next period */
    RPS_FAULT_MISSING,  /* no count, though the set was on the counters */
    RPS_FAULT_RACE,     /* on the counters for longer than the workload ran */
    RPS_FAULT_COUNT,
};

/* All faults of one kind in one track of a run. */
struct rps_fault_sum {
    uint64_t count;   /* how many; 0: none */
    uint64_t period;  /* number of the first */
    int64_t start_ns; /* its start */
    int64_t total_ns; /* HOLE: time that is missing in all; RACE, SWITCH: the most */
    const char *name; /* NUMBER: which of the first one's numbers, and */
    int64_t value;    /* what it is */
};

/* A hole, as it is met. */
struct rps_hole {
    int32_t cpu;
    int64_t start_ns, end_ns;
    uint64_t periods; /* numbers that are missing; 0: not known, it is the end of the run */
};

struct rps_examiner {
    void *context;
    /* Every hole; an SQLite code, which ends the walk. NULL: not asked for. */
    int (*hole)(void *context, const struct rps_hole *hole);
    /* Every piece that has no fault of its own, in order, before its rows are gone; an SQLite code,
     * which ends the walk. NULL: not asked for. */
    int (*piece)(void *context, const struct rps_piece *piece);
    /* The faults of a track, by kind, when it is over. NULL: not asked for. */
    void (*faults)(void *context, int32_t cpu, const struct rps_fault_sum fault[RPS_FAULT_COUNT]);
};

/* What is found out of a run's finest rows. */
struct rps_examined {
    uint64_t periods;     /* that they stand for, of all CPUs together */
    uint64_t most;        /* ... of the CPU that has most of them: the run's measurement periods */
    int64_t end_ns;       /* of the last one, -1 none */
    uint64_t last_period; /* the highest number */
    struct rps_set_sum *sum; /* owned; by set, free() */
};

/*
 * Go through the run's finest rows. Returns an SQLite code; with another one than SQLITE_OK *ret
 * holds what was seen until then, and must be freed as well.
 */
int rps_examine_run(sqlite3 *db, const struct rps_run_shape *shape,
                    const struct rps_examiner *examiner, struct rps_examined *ret);

#endif
