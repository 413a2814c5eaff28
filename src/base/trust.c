/*
 * SAFETY: anyone who may write a directory can put a link there and redirect another user's output.
 * Linux refuses such links only if they are opened, in sticky directories, with
 * fs.protected_symlinks. realpath, and likewise SQLite, read links and open the target.
 */
#include "rpistat/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "walk.h"

/* SAFETY: allow links of the directory's owner on the way, who could replace directories anyway. */
static int check_link(const struct rps_walk *walk, const struct stat *link, int is_last,
                      struct rps_error *err)
{
    struct stat folder;

    if (link->st_uid == geteuid() || link->st_uid == 0 ||
        (!is_last && fstat(walk->folder, &folder) == 0 && link->st_uid == folder.st_uid))
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s is a link that belongs to another user (%ld), who can lead it "
                         "anywhere; it is not followed: remove it, or choose another name",
                         walk->done, (long)link->st_uid);
}

/* SAFETY: check that the file at the end of the path may be written. */
static int check_file(const struct rps_walk *walk, const struct stat *file, struct rps_error *err)
{
    struct stat folder;

    if (file->st_uid == geteuid() || fstat(walk->folder, &folder) < 0 ||
        !(folder.st_mode & S_ISVTX) || !(folder.st_mode & S_IWOTH) || file->st_uid == folder.st_uid)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s belongs to another user (%ld), in a folder where everybody may make "
                         "files; it is not written: choose another name",
                         walk->done, (long)file->st_uid);
}

static int look_at(struct rps_walk *walk, const struct stat *found, int is_last, void *context)
{
    struct rps_error *err = context;

    if (found && S_ISLNK(found->st_mode))
        return rps_walk_in_proc(walk->folder) ? 0 : check_link(walk, found, is_last, err);
    return found && is_last && !S_ISDIR(found->st_mode) ? check_file(walk, found, err) : 0;
}

/* Join the checked and the unchecked part of the path. */
static char *join(const struct rps_walk *walk)
{
    size_t used = strlen(walk->done);
    int slash = walk->rest[0] && walk->rest[0] != '/' && used && walk->done[used - 1] != '/';
    char *path = NULL;

    return asprintf(&path, "%s%s%s", walk->done, slash ? "/" : "", walk->rest) < 0 ? NULL : path;
}

int rps_trust_path(const char *path, char **ret, int *ret_folder, struct rps_error *err)
{
    struct rps_walk *walk = calloc(1, sizeof(*walk));
    char *resolved = NULL;
    int result;

    if (!walk)
        return rps_error_memory(err);
    result = rps_walk(walk, path, look_at, err);
    if (result > 0)
        result = 0; /* the path is resolved as far as it exists */
    if (result == 0) {
        resolved = strlen(path) >= sizeof(walk->rest) ? strdup(path) : join(walk);
        if (!resolved)
            result = rps_error_memory(err);
    }
    if (result == 0) {
        *ret = resolved;
        if (ret_folder)
            *ret_folder = walk->folder;
    }
    if (walk->folder >= 0 && (result < 0 || !ret_folder))
        close(walk->folder);
    free(walk);
    return result;
}

/* SAFETY: each directory is checked below the previous one, as the kernel walks. In a sticky one
 * others cannot move root's files. */
static int check_folder(struct rps_walk *walk, const struct stat *found, int is_last, void *context)
{
    struct rps_error *err = context;
    struct stat folder;

    (void)is_last;
    if (!found || fstat(walk->folder, &folder) < 0 ||
        (folder.st_uid == 0 &&
         (!(folder.st_mode & (S_IWGRP | S_IWOTH)) || (folder.st_mode & S_ISVTX))))
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s stands in a directory that others than root can write (user %ld), and "
                         "would tell root what to do; choose another one with XDG_CONFIG_HOME",
                         walk->done, (long)folder.st_uid);
}

int rps_trust_folders(const char *path, struct rps_error *err)
{
    struct rps_walk *walk = geteuid() == 0 ? calloc(1, sizeof(*walk)) : NULL;
    int result = walk ? rps_walk(walk, path, check_folder, err) : 0;

    if (!walk)
        return geteuid() == 0 ? rps_error_memory(err) : 0;
    if (walk->folder >= 0)
        close(walk->folder);
    free(walk);
    return result < 0 ? result : 0;
}

int rps_trust_own(const char *path, const struct stat *file, struct rps_error *err)
{
    if (geteuid() != 0 || (file->st_uid == 0 && !(file->st_mode & (S_IWGRP | S_IWOTH))))
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s can be written by others than root, and would tell root what to do; "
                         "give it to root alone (chown root, chmod go-w), or choose another folder "
                         "with XDG_CONFIG_HOME",
                         path);
}
