/*
 * The process that reads the call frame information of the workload's files, and where functions
 * begin. It is started when the first address comes, since the files may be hostile. It has the
 * limits of child.h and no rights, and receives open files from an opener. Its answer is a row
 * (unwind.h), which is checked before it is used. Rows are kept: code is finite, and most stacks
 * take no request.
 */
#ifndef RPISTAT_CODE_UNWINDER_H
#define RPISTAT_CODE_UNWINDER_H

#include <sys/types.h>

#include "opener.h"
#include "unwind.h"

/* So long it is waited for, on the measurement loop, and for a tenth of the time on the whole. */
#define RPS_UNWINDER_WAIT_US 100000

/* Rows that are kept at most: some 8 MB. */
#define RPS_UNWINDER_ROWS_MAX 16384

/* Files that are known at a time, by module. */
#define RPS_UNWINDER_FILES 256

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
    int64_t sent_ns;     /* when the last request was sent */
    struct rps_opener opener;
    pid_t pid; /* 0: none, and no opener */
    int fd;
    int64_t given[RPS_UNWINDER_FILES]; /* modules whose files it has, plus one */
    int is_refused;  /* it cannot give up its rights here: there is no unwinding */
    int is_late;     /* an answer is still to come; who asks next takes it, and keeps it */
    int64_t module;  /* that it was asked for last, -1: none, */
    uint64_t offset; /* and where in its file */
    int has_died;    /* of that, until the caller has taken note */
    int64_t cpu_ns;  /* of the processes that have ended */
    struct rps_unwinder_row *row;
    size_t row_count;
};

/* The row of an offset in the module's file; NULL when it cannot be had now: the process is late, or
 * has died, or was waited for too long of late. It is asked all the same, so that the row is there
 * for stacks to come. Valid until the next request. */
const struct rps_unwind_row *rps_unwinder_find(struct rps_unwinder *unwinder,
                                               const struct rps_module *module,
                                               const struct rps_module_origin *origin,
                                               uint64_t offset);

/* Close the files, whose file systems could not be unmounted otherwise. Once a second or so. */
void rps_unwinder_close_files(struct rps_unwinder *unwinder);

/* End the process, if there is one; what is known stays. */
void rps_unwinder_end(struct rps_unwinder *unwinder);

void rps_unwinder_free(struct rps_unwinder *unwinder);

#endif
