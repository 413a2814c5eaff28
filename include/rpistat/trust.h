/*
 * Paths that somebody else may have laid out: a link of another user is not to be written through,
 * nor that user's file in a folder where everybody may make files (/tmp).
 */
#ifndef RPISTAT_TRUST_H
#define RPISTAT_TRUST_H

#include <sys/stat.h>

#include "rpistat/error.h"

/*
 * The path without its symbolic links, as far as it exists, in *ret for free(); the rest is kept as
 * it is. Links of /proc, which are no paths, stay. *ret_folder, unless ret_folder is NULL: the
 * folder of its last name (O_PATH, to be closed), or -errno when there is none.
 *
 * RPS_FAILED when a link belongs neither to this user nor to root, nor, on the way to the last
 * name, to the owner of the folder that it stands in; or when what the path leads to stands in a
 * sticky folder that everybody may write, and belongs neither to this user nor to the folder's
 * owner (the rule of Linux's fs.protected_regular, applied whether or not it is switched on). A
 * path that cannot be looked at is no error: opening it says why.
 */
int rps_trust_path(const char *path, char **ret, int *ret_folder, struct rps_error *err);

/* RPS_FAILED when root would be led by the place of the file: a directory of its path belongs to
 * another user, or others may write it, so that another file can take its place. Of other users
 * nothing is asked. */
int rps_trust_folders(const char *path, struct rps_error *err);

/* RPS_FAILED when root would be led by the file that was opened at path: it belongs to another
 * user, or others may write it. Of other users nothing is asked. */
int rps_trust_own(const char *path, const struct stat *file, struct rps_error *err);

#endif
