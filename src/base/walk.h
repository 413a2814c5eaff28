/* SAFETY: follow a path one name at a time. A descriptor holds each directory, so that no directory
 * can be replaced after its check. */
#pragma once

#include <limits.h>
#include <sys/stat.h>

struct rps_walk {
    char done[PATH_MAX]; /* walked part of the path, without links; "" is the working directory */
    char rest[PATH_MAX]; /* part of the path that was not walked yet */
    int folder;          /* descriptor of the directory of the next name (O_PATH), or -errno */
    int links;           /* number of links followed so far */
    int reads_proc;      /* 1 to follow links of /proc by their text; 0 to open their targets */
};

/* A function that is called for each name of the path (the end of walk->done). `found` is the
 * status of the object with this name, which may be a link. If the object is inaccessible, `found`
 * is NULL and errno has the reason. Return 0 to continue into the directory or to the link's
 * target. Any other return value ends the walk, and is then the result of rps_walk. */
typedef int (*rps_walk_look)(struct rps_walk *walk, const struct stat *found, int is_last,
                             void *context);

/* Walk the path; before the call, set only reads_proc. Return 0 at the path's end, 1 if the walk
 * ended earlier, or the result of `look`. The caller closes walk->folder unless it is -errno. */
int rps_walk(struct rps_walk *walk, const char *path, rps_walk_look look, void *context);

/* Return 1 for a directory of /proc whose links are descriptors or directories of processes. */
int rps_walk_in_proc(int folder);
