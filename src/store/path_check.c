/*
 * Looking at the file, its companions and the folder of a store before SQLite touches them.
 *
 * SQLite answers nearly everything that can be wrong with a path with "unable to open database
 * file". The file system knows better, so it is asked first; what changes between this look and
 * SQLite's open still ends in an error, only in a less helpful one.
 */
#include "path_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "companion.h"
#include "rpistat/rights.h"
#include "rpistat/trust.h"

#define WHOSE_SIZE 200

static bool may(const char *path, int mode)
{
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

char *rps_path_check_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Why root is denied what it is used to; "" for others. */
static const char *whose_rights(char ret[WHOSE_SIZE])
{
    long user = (long)rps_rights_taken().user;

    ret[0] = '\0';
    if (user != 0)
        snprintf(ret, WHOSE_SIZE,
                 " (root goes on with the rights of user %ld, who owns a folder on the way: "
                 "`chown %ld` it, or use a folder of root's)",
                 user, user);
    return ret;
}

/* The parts of the check that reading and writing share. */
static int check_file(const char *path, struct rps_path_check *ret, struct rps_error *err)
{
    struct stat status;
    char whose[WHOSE_SIZE];

    *ret = (struct rps_path_check){.empty = true};
    if (path[0] == '\0')
        return rps_error_set(err, RPS_FAILED, "the name of the store is empty: give a file name");
    if (stat(path, &status) != 0) {
        if (errno == ENOENT)
            return 0;
        return rps_error_set(err, RPS_FAILED, "cannot open the store %s: %s%s", path,
                             strerror(errno), whose_rights(whose));
    }
    ret->exists = true;
    if (S_ISDIR(status.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "%s is a folder: give the name of a file in it, as %s/rpistat.data",
                             path, path);
    if (!S_ISREG(status.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "%s is not a regular file: a store must be one, choose another name",
                             path);
    if (!may(path, R_OK))
        return rps_error_set(err, RPS_FAILED,
                             "cannot read the store %s: %s; its owner can allow it with chmod%s",
                             path, strerror(errno), whose_rights(whose));
    ret->empty = status.st_size == 0;
    return 0;
}

int rps_path_check_read(const char *path, struct rps_path_check *ret, struct rps_error *err)
{
    char *name;
    int result = check_file(path, ret, err);

    if (result < 0)
        return result;
    if (!ret->exists)
        return rps_error_set(err, RPS_FAILED,
                             "there is no store %s: record one with `rpistat COMMAND`, or name "
                             "another with -i FILE",
                             path);
    if (ret->empty)
        return rps_error_set(err, RPS_FAILED,
                             "the store %s is empty: record something with `rpistat COMMAND`",
                             path);
    name = rps_path_check_sqlite_path(path);
    if (!name)
        return rps_error_memory(err);
    result = rps_companion_check_all(name, err);
    free(name);
    return result;
}

/* Can a file be made in the folder of path? SQLite keeps its journal beside the store. */
static int check_folder(const char *path, const struct rps_path_check *place, struct rps_error *err)
{
    char *folder = rps_path_check_folder(path), whose[WHOSE_SIZE];
    struct stat status;
    int result = 0;

    if (!folder)
        return rps_error_memory(err);
    if (stat(folder, &status) != 0)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot create the store %s: the folder %s: %s; make it first, or "
                               "choose another place",
                               path, folder, strerror(errno));
    else if (!S_ISDIR(status.st_mode))
        result = rps_error_set(err, RPS_FAILED,
                               "cannot create the store %s: %s is not a folder; choose another "
                               "place",
                               path, folder);
    else if (!may(folder, W_OK | X_OK))
        result = rps_error_set(err, RPS_FAILED,
                               "cannot %s the store %s: the folder %s is not writable (%s), and "
                               "the store's journal must lie beside it; choose another place%s",
                               place->exists ? "write" : "create", path, folder, strerror(errno),
                               whose_rights(whose));
    free(folder);
    return result;
}

/* The store, and what lies beside it, are not somebody else's. */
static int check_trust(const char *path, struct rps_error *err)
{
    char *store = NULL;
    int result = rps_trust_path(path, &store, NULL, err);

    if (result == 0)
        result = rps_companion_check_all(store, err);
    free(store);
    return result;
}

int rps_path_check_write(const char *path, struct rps_path_check *ret, struct rps_error *err)
{
    char whose[WHOSE_SIZE];
    int result = path[0] == '\0' ? 0 : check_trust(path, err);

    if (result == 0)
        result = check_file(path, ret, err);
    if (result < 0)
        return result;
    if (ret->exists && !may(path, W_OK))
        return rps_error_set(err, RPS_FAILED,
                             "the store %s is read-only (%s): make it writable, or choose another "
                             "name%s",
                             path, strerror(errno), whose_rights(whose));
    return check_folder(path, ret, err);
}

char *rps_path_check_sqlite_path(const char *path)
{
    char *ret = realpath(path, NULL);

    if (ret || errno == ENOMEM)
        return ret;
    if (path[0] == '/')
        return strdup(path);
    return asprintf(&ret, "./%s", path) < 0 ? NULL : ret;
}
