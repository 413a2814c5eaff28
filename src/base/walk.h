/*
 * SAFETY: follow a path one name at a time. A descriptor holds each directory, so that none can be
 * replaced after it was checked.
 */
#ifndef RPISTAT_BASE_WALK_H
#define RPISTAT_BASE_WALK_H

#include <limits.h>
#include <sys/stat.h>

struct rps_walk {
    char done[PATH_MAX]; /* without links; "" is the working directory */
    char rest[PATH_MAX]; /* not walked yet */
    int folder;          /* that holds the next name (O_PATH), or -errno */
    int links;           /* number followed */
    int reads_proc;      /* 1: follow links of /proc as paths, not as the objects they are */
};

/*
 * Called for each name (the end of walk->done). `found` is the object of that name, which may be a
 * link; NULL: inaccessible, errno has the reason. Return 0 to continue, into the directory or to
 * the link's target. Any other value ends the walk and is its result.
 */
typedef int (*rps_walk_look)(struct rps_walk *walk, const struct stat *found, int is_last,
                             void *context);

/*
 * Walk the path; set only reads_proc before. Return 0 at its end, 1 if it ended before, or the
 * result of `look`. The caller closes walk->folder unless it is -errno.
 */
int rps_walk(struct rps_walk *walk, const char *path, rps_walk_look look, void *context);

/* Return 1 for a directory of /proc: its links are descriptors and directories of processes. */
int rps_walk_in_proc(int folder);

#endif
