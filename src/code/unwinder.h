/*
 * The process that reads the call frame information of the workload's files, and the beginnings of
 * functions. It starts at the first address. SAFETY: the files may be hostile. The process has the
 * limits of child.h and no rights, and receives open files from an opener. Its answer is a row
 * (unwind.h), which is checked before use. Rows are kept: code is finite, and most stacks need no
 * request.
 */
#ifndef RPISTAT_CODE_UNWINDER_H
#define RPISTAT_CODE_UNWINDER_H

#include <sys/types.h>

#include "opener.h"
#include "unwind.h"

/* Maximum wait for it on the measurement loop; overall at most a tenth of the time. */
#define RPS_UNWINDER_WAIT_US 100000

/* Maximum number of rows that are kept: some 8 MB. */
#define RPS_UNWINDER_ROWS_MAX 16384

/* Maximum number of files that are known at a time, by module. */
#define RPS_UNWINDER_FILES 256

/* A row that is kept, ordered by module and then by its end. */
struct rps_unwinder_row {
    int64_t module;
    uint64_t end;
    struct rps_unwind_row *row; /* owned; as long as its operations */
};

/* Zero all other members at first: no process was started yet. */
struct rps_unwinder {
    suseconds_t wait_us; /* for one answer, and for several in succession */
    int64_t waited_ns;   /* recent waits, less a tenth of the time since */
    int64_t asked_ns;    /* time of the last wait */
    int64_t sent_ns;     /* when the last request was sent */
    struct rps_opener opener;
    pid_t pid; /* 0: none, and no opener */
    int fd;
    int64_t given[RPS_UNWINDER_FILES]; /* modules whose files it has, plus one */
    int is_refused;  /* it cannot give up its rights here; then nothing is unwound */
    int is_late;     /* an answer is pending; the next request receives and keeps it */
    int64_t module;  /* of the last request, -1: none, */
    uint64_t offset; /* and its offset in the file */
    int has_died;    /* of that file, until the caller has noted it */
    int64_t cpu_ns;  /* of the processes that have ended */
    struct rps_unwinder_row *row;
    size_t row_count;
};

/* Return the row of an offset in the module's file. NULL: not available now, since the process is
 * late, has died, or took too much time recently. The request is sent anyway, for later stacks.
 * Valid until the next request. */
const struct rps_unwind_row *rps_unwinder_find(struct rps_unwinder *unwinder,
                                               const struct rps_module *module,
                                               const struct rps_module_origin *origin,
                                               uint64_t offset);

/* Close the files: their file systems could not be unmounted otherwise. Once per second or so. */
void rps_unwinder_close_files(struct rps_unwinder *unwinder);

/* End the process, if there is one; rows are kept. */
void rps_unwinder_end(struct rps_unwinder *unwinder);

void rps_unwinder_free(struct rps_unwinder *unwinder);

#endif
