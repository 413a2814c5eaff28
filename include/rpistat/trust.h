/*
 * SAFETY: paths that another user may have prepared. Nothing is written through a link of another
 * user, nor into that user's file in a directory where anyone may create files (/tmp).
 */
#ifndef RPISTAT_TRUST_H
#define RPISTAT_TRUST_H

#include <sys/stat.h>

#include "rpistat/error.h"

/*
 * SAFETY: return the path without its symbolic links, as far as it exists, in *ret for free(). The
 * rest is kept as it is. Links of /proc, which are not paths, stay. *ret_folder (unless ret_folder
 * is NULL) is the directory of its last name (O_PATH, to be closed), or -errno if there is none.
 *
 * Return RPS_FAILED for a link that belongs neither to this user nor to root. On the way to the
 * last name, the owner of the link's directory is allowed, too. Return RPS_FAILED also if the path
 * leads to a file in a sticky directory that anyone may write. This user or the directory's owner
 * must own such a file. This is the rule of Linux's fs.protected_regular, applied even if that is
 * off. An inaccessible path is not an error: opening it reports the reason.
 */
int rps_trust_path(const char *path, char **ret, int *ret_folder, struct rps_error *err);

/* SAFETY: return RPS_FAILED if the file's place would let others control root. A directory of its
 * path belongs to another user, or others may write it, so that another file can take its place.
 * For users other than root nothing is checked. */
int rps_trust_folders(const char *path, struct rps_error *err);

/* SAFETY: return RPS_FAILED if the file that was opened at path would let others control root. It
 * belongs to another user, or others may write it. For users other than root nothing is checked. */
int rps_trust_own(const char *path, const struct stat *file, struct rps_error *err);

#endif
