/*
 * Following a path one name at a time. Each folder is held by a descriptor, so that none can be
 * exchanged after it was looked at.
 */
#ifndef RPISTAT_BASE_WALK_H
#define RPISTAT_BASE_WALK_H

#include <limits.h>
#include <sys/stat.h>

struct rps_walk {
    char done[PATH_MAX]; /* without links; "" is the working folder */
    char rest[PATH_MAX]; /* still to be looked at */
    int folder;          /* in which the next name stands (O_PATH), or -errno */
    int links;           /* followed */
    int reads_proc;      /* links of /proc are followed as paths, and not as what they are */
};

/*
 * Called for each name (the end of walk->done). found: what has it, a link too; NULL when it cannot
 * be looked at, errno says why. 0: go on, into the folder or to where the link leads; else the walk
 * is over and this its result.
 */
typedef int (*rps_walk_look)(struct rps_walk *walk, const struct stat *found, int is_last,
                             void *context);

/*
 * 0 at the end of the path, 1 when it ended before, or what `look` returned. walk->folder is to be
 * closed when it is none of -errno. Before, set reads_proc alone.
 */
int rps_walk(struct rps_walk *walk, const char *path, rps_walk_look look, void *context);

/* 1 for a folder of /proc, whose links are the descriptors and folders of processes. */
int rps_walk_in_proc(int folder);

#endif
