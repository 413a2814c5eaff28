/*
 * The one rule for files that a command writes: what is there is replaced when the new content is
 * complete, and keeps its rights; links are followed (rpistat/trust.h says which).
 */
#ifndef RPISTAT_OUTPUT_FILE_H
#define RPISTAT_OUTPUT_FILE_H

#include <stdio.h>

#include "rpistat/error.h"

/* All zero: nothing is open. */
struct rps_output_file {
    int fd;     /* for reading and writing, but of a device or a pipe for writing only */
    char *path; /* owned; without links */
    int direct; /* 1: fd is the device or pipe itself */
    int rename; /* 1: the content becomes the file of that name, else it is copied into it */
};

/*
 * Open a file without a name for what shall become `path`. A new file gets 0666 less the umask; one
 * that is there keeps mode, group, access lists and other attributes, and where they cannot be
 * copied, where it has another owner or several names, the file itself: its content is replaced
 * then. Devices and pipes are written as they are, and refused with `regular`. RPS_FAILED when
 * `path` could not be written: no folder, no permission, a folder in its place.
 */
int rps_output_file_open(struct rps_output_file *ret, const char *path, int regular,
                         struct rps_error *err);

/* Give what was written to fd its name, and close. RPS_FAILED when that is not possible; until the
 * content is copied (see above) what was there stays. */
int rps_output_file_finish(struct rps_output_file *file, struct rps_error *err);

/* Drop what was written. Harmless when nothing is open. */
void rps_output_file_abandon(struct rps_output_file *file);

/* 0 when all that was written to a stream has left it, else RPS_FAILED: "cannot write the phases:
 * see to the disk's free space", with `what` for "the phases". */
int rps_output_written(FILE *out, const char *what, struct rps_error *err);

#endif
