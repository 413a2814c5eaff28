/*
 * The one rule for all files that a command writes: complete new content replaces the existing
 * file, with the same owner, group and mode. It does not matter who named the file. SAFETY: only
 * links of the user or of root are followed (rpistat/trust.h).
 */
#ifndef RPISTAT_OUTPUT_FILE_H
#define RPISTAT_OUTPUT_FILE_H

#include <stdio.h>

#include "rpistat/error.h"

/* All zero: nothing is open. */
struct rps_output_file {
    int fd;           /* for reading and writing; of a device or a pipe only for writing */
    char *path;       /* owned; without links */
    const char *name; /* last name in path */
    int folder;       /* directory of the name, or a negative number */
    int direct;       /* 1: fd is the device or pipe itself, or the file of a descriptor in /proc */
    int is_new;       /* 1: no file had that name */
    int rename;       /* 1: the content becomes the file of that name; 0: it is copied into it */
};

/*
 * Open a file without a name that will become `path`. A new file gets 0666 less the umask. An
 * existing file is replaced, so that other hard links to it keep their content. If the new file
 * cannot get its owner and group, only the content is replaced, unless the file has other names.
 * Devices and pipes are written directly, and refused with `regular`. Return RPS_FAILED if `path`
 * cannot be written: no directory, no permission, `path` is a directory, another user's link.
 */
int rps_output_file_open(struct rps_output_file *ret, const char *path, int regular,
                         struct rps_error *err);

/* Give the content of fd its name, and close. Return RPS_FAILED if that is not possible. Until the
 * content is copied (see above) the existing file is unchanged. */
int rps_output_file_finish(struct rps_output_file *file, struct rps_error *err);

/* Drop the content. Harmless if nothing is open. */
void rps_output_file_abandon(struct rps_output_file *file);

#endif
