/* The process that reads the call frame information of the workload's files, and the starts of
 * functions. The process starts when the first address needs it. SAFETY: the files may be hostile.
 * The process has the limits of child.h and no rights, and receives open files from an opener. The
 * process answers with a row (unwind.h), which is checked before use. Rows are kept and used again,
 * so most stacks need no request. The memory for rows is limited, because code is finite. */
#pragma once

#include <sys/types.h>

#include "opener.h"
#include "unwind.h"

/* Maximum time for which the measurement loop waits for one answer of the process. Over a longer
 * time, the sum of all waits is at most a tenth of the elapsed time. */
#define RPS_UNWINDER_WAIT_US 100000

/* Maximum number of rows that are kept: some 8 MB. */
#define RPS_UNWINDER_ROWS_MAX 16384

/* Maximum number of files that the process keeps. Files are found by their modules' numbers. */
#define RPS_UNWINDER_FILES 256

/* A row kept for reuse. Rows are ordered by module, and within a module by end. */
struct rps_unwinder_row {
    int64_t module;
    uint64_t end;
    struct rps_unwind_row *row; /* Owned; its size depends on the number of operations. */
};

/* State of the unwinding process. Before use, set wait_us and zero all other members. The process
 * starts later. */
struct rps_unwinder {
    suseconds_t wait_us; /* Maximum wait for one answer. Also limits waited_ns. */
    int64_t waited_ns;   /* Sum of recent waits, minus a tenth of the time since the waits. */
    int64_t asked_ns;    /* Time of the last wait. */
    int64_t sent_ns;     /* Time of the last request. */
    struct rps_opener opener;
    pid_t pid; /* Process number; 0: no process and no opener. */
    int fd;
    int64_t given[RPS_UNWINDER_FILES]; /* Numbers + 1 of the modules whose files the process has. */
    int is_refused;  /* 1 if the process cannot give up its rights; then nothing is unwound. */
    int is_late;     /* 1 while an answer is pending. The next request receives this answer and
                        keeps its row. */
    int64_t module;  /* Module of the last request; -1: none. */
    uint64_t offset; /* Offset in the file, as in the last request. */
    int has_died;    /* 1 if the file of the last request crashed the process, and the tracker
                        has not yet handled the crash. */
    int64_t cpu_ns;  /* CPU time of ended processes. */
    struct rps_unwinder_row *row;
    size_t row_count;
};

/* Return the row of an offset in the module's file. NULL: the row is not available now, since the
 * process is late, has died, or took too much time recently. The request is still sent, for later
 * stacks. The row is valid until the next request. */
const struct rps_unwind_row *rps_unwinder_find(struct rps_unwinder *unwinder,
                                               const struct rps_module *module,
                                               const struct rps_module_origin *origin,
                                               uint64_t offset);

/* Close the files in the process; otherwise their file systems could not be unmounted. Call this
 * function about once per second. */
void rps_unwinder_close_files(struct rps_unwinder *unwinder);

/* End the process, if there is one. The rows are kept. */
void rps_unwinder_end(struct rps_unwinder *unwinder);

void rps_unwinder_free(struct rps_unwinder *unwinder);
