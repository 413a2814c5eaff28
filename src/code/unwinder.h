/*
 * The process that reads the call frame information of the workload's files, since they may be
 * hostile. It is started when the first stack comes, has the limits of child.h, and gets nothing
 * but the name of a file and an offset in it; what it answers is a row (unwind.h), which is looked
 * at before it is used. Rows are kept: code is finite, and most stacks take no question.
 */
#ifndef RPISTAT_CODE_UNWINDER_H
#define RPISTAT_CODE_UNWINDER_H

#include <sys/types.h>

#include "maps.h"
#include "unwind.h"

/* So long it is waited for, on the measurement loop, and for a tenth of the time on the whole. */
#define RPS_UNWINDER_WAIT_US 100000

/* Rows that are kept at most: some 8 MB. */
#define RPS_UNWINDER_ROWS_MAX 16384

/* A row that is kept; in order of modules, then of where they end. */
struct rps_unwinder_row {
    int64_t module;
    uint64_t end;
    struct rps_unwind_row *row; /* owned; as long as its operations */
};

/* All else zero: there is no process, and none has been. */
struct rps_unwinder {
    suseconds_t wait_us; /* for an answer, and for several that follow one another */
    int64_t waited_ns;   /* of late: what was waited, less a tenth of the time that went by since */
    int64_t asked_ns;    /* when it was asked last */
    pid_t pid;           /* 0: none */
    int fd;
    int is_late;     /* an answer is still to come; who asks next takes it, and keeps it */
    int64_t module;  /* that it was asked for last, -1: none, */
    uint64_t offset; /* and where in its file */
    int has_died;    /* of that, until the caller has taken note */
    int64_t cpu_ns;  /* of the processes that have ended */
    struct rps_unwinder_row *row;
    size_t row_count;
};

/* The row of the address, which is in the map; NULL when it cannot be had now: the process is late,
 * or has died, or was waited for too long of late. It is asked all the same, so that the row is
 * there for stacks to come. Valid until the next question. */
const struct rps_unwind_row *rps_unwinder_find(struct rps_unwinder *unwinder,
                                               const struct rps_map *map, uint64_t address);

/* End the process, if there is one; what is known stays. */
void rps_unwinder_end(struct rps_unwinder *unwinder);

void rps_unwinder_free(struct rps_unwinder *unwinder);

#endif
