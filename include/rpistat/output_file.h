/*
 * The one rule for files that a command writes, named by the user or not: what is there is replaced
 * when the new content is complete, by a file of the same owner, group and mode; links are followed
 * that are the user's or root's (rpistat/trust.h).
 */
#ifndef RPISTAT_OUTPUT_FILE_H
#define RPISTAT_OUTPUT_FILE_H

#include <stdio.h>

#include "rpistat/error.h"

/* All zero: nothing is open. */
struct rps_output_file {
    int fd;           /* for reading and writing, but of a device or a pipe for writing only */
    char *path;       /* owned; without links */
    const char *name; /* in path: its last */
    int folder;       /* that the name stands in, or a negative number */
    int direct;       /* 1: fd is the device or pipe itself, or the file of a descriptor in /proc */
    int is_new;       /* 1: there was none of that name */
    int rename;       /* 1: the content becomes the file of that name, else it is copied into it */
};

/*
 * Open a file without a name for what shall become `path`. A new file gets 0666 less the umask; one
 * that is there is replaced, so that other hard links to it keep what they had. Where it cannot be
 * replaced by one of its owner and group, its own content is, unless it has other names. Devices
 * and pipes are written as they are, and refused with `regular`. RPS_FAILED when `path` could not
 * be written: no folder, no permission, a folder in its place, another user's link.
 */
int rps_output_file_open(struct rps_output_file *ret, const char *path, int regular,
                         struct rps_error *err);

/* Give what was written to fd its name, and close. RPS_FAILED when that is not possible; until the
 * content is copied (see above) what was there stays. */
int rps_output_file_finish(struct rps_output_file *file, struct rps_error *err);

/* Drop what was written. Harmless when nothing is open. */
void rps_output_file_abandon(struct rps_output_file *file);

#endif
