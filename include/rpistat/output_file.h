/* One rule for all files that a command writes: complete new content replaces the existing file,
 * with the same owner, group and mode. The rule applies regardless of who named the file. SAFETY: a
 * link is followed only if the user or root owns the link (rpistat/rights.h). */
#pragma once

#include <stdio.h>

#include "rpistat/error.h"

/* An output file. All zero: no file is open. */
struct rps_output_file {
    int fd;           /* Descriptor for reading and writing; for a device or pipe, writing only */
    char *path;       /* Path without links (owned) */
    const char *name; /* Last component of the path */
    int folder;       /* Descriptor of the directory that contains the name; negative: none */
    int direct;       /* 1: fd is a device, a pipe, or the file of a descriptor's link in /proc */
    int is_new;       /* 1: when the output was opened, no file had this name */
    int rename;       /* 1: the new file gets the name; 0: its content is copied to the old file */
};

/* Open a new file without a name, which gets the name `path` when it is finished. A new file gets
 * 0666 less the umask. An existing file is replaced, so that its other hard links keep their
 * content. If the new file cannot get the existing file's owner and group, the new content is
 * copied into the existing file. This is refused if the existing file has other names. With
 * `regular`, devices and pipes are refused; otherwise they are written directly. Return RPS_FAILED
 * if `path` cannot be written: there is no directory or no permission, or `path` is a directory or
 * another user's link. */
int rps_output_file_open(struct rps_output_file *ret, const char *path, int regular,
                         struct rps_error *err);

/* Give the new content its final name, and close the file. Return RPS_FAILED if that fails. If the
 * failure is before the content is copied, the existing file is unchanged. */
int rps_output_file_finish(struct rps_output_file *file, struct rps_error *err);

/* Discard the new content, and close the file. The call has no effect if no file is open. */
void rps_output_file_abandon(struct rps_output_file *file);
