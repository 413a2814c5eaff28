/* Check the file, companion files and directory of a store before SQLite opens them.
 *
 * SQLite reports nearly every problem with a path as "unable to open database file". The file
 * system gives the cause, so rpistat queries it first. A change between this check and SQLite's
 * open still ends in an error, but in a less helpful one. */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/rights.h"

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

/* --- companion files of a store --------------------------------------------------------------- */

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFLNK:
        return "a symbolic link";
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a named pipe";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

/* Read the status of the directory that holds name. Returns -1 on failure. */
static int stat_folder(const char *name, struct stat *ret)
{
    char *folder = rps_path_check_folder(name);
    int result = folder ? stat(folder, ret) : -1;

    free(folder);
    return result;
}

/* Return 1 if a group shares the directory and the file, so that members may replace the files. */
static int is_shared(const char *name, const struct stat *status)
{
    struct stat folder;

    return stat_folder(name, &folder) == 0 && (folder.st_mode & S_IWGRP) &&
           !(folder.st_mode & S_ISVTX) && status->st_gid == folder.st_gid;
}

/* SAFETY: SQLite may use the companion file `name` only if it is a regular file without further
 * hard links. The companion file must belong to the store's owner, to root, to this user, or to the
 * group that shares the directory. */
static int check_companion(const char *name, const struct stat *store, struct rps_error *err)
{
    struct stat status;

    if (lstat(name, &status) != 0)
        return 0; /* the file is missing, or SQLite will report why it cannot be opened */
    if (status.st_uid != store->st_uid && status.st_uid != rps_rights_user() &&
        status.st_uid != 0 && !is_shared(name, &status))
        return rps_error_set(err, RPS_FAILED,
                             "%s belongs to another user (%ld) and cannot be part of the store; "
                             "have it removed, or choose another store",
                             name, (long)status.st_uid);
    if (!S_ISREG(status.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "%s is %s, but the store needs this name for its own file; remove it, "
                             "or choose another store",
                             name, kind_of(status.st_mode));
    if (status.st_nlink > 1) /* a link count of 0 means that the file is being deleted */
        return rps_error_set(err, RPS_FAILED,
                             "%s has %ld hard links, so it may be the file of another program; "
                             "remove this link, or choose another store",
                             name, (long)status.st_nlink);
    return 0;
}

/* Return true if a file with that name has content. */
static bool has_content(const char *name)
{
    struct stat status;

    return stat(name, &status) == 0 && status.st_size > 0;
}

/* SAFETY: refuse a store with a journal. SQLite would apply the journal, and delete the files that
 * it names, before any other check. */
static int refuse_journal(const char *path, const char *name, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "%s is a journal of another program that changes or changed the store %s; "
                         "let that program finish, or move the journal away",
                         name, path);
}

static int refuse_left(const char *name, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "%s may hold the end of a recording of a store that was moved or deleted; "
                         "put it next to that store, remove it, or choose another name",
                         name);
}

/* SAFETY: check the store's companion files, because SQLite opens any file with the right name.
 * SQLite would read another user's log as the store's own, and a pipe would block SQLite until a
 * writer appears. */
static int check_companions(const char *path, struct rps_error *err)
{
    static const char *const ends[] = {"-wal", "-journal", "-shm"};
    struct stat store = {.st_uid = rps_rights_user()};
    int result = 0;

    stat(path, &store); /* a new store will belong to this user */
    for (size_t i = 0; result == 0 && i < RPS_COUNT(ends); i++) {
        char *name = NULL;

        if (asprintf(&name, "%s%s", path, ends[i]) < 0)
            return rps_error_memory(err);
        result = check_companion(name, &store, err);
        if (result == 0 && i == 0 && has_content(name) && !has_content(path))
            result = refuse_left(name, err);
        if (result == 0 && i == 1 && access(name, F_OK) == 0)
            result = refuse_journal(path, name, err);
        free(name);
    }
    return result;
}

bool rps_path_check_has_log(const char *path)
{
    char *name = NULL;
    bool found = asprintf(&name, "%s-wal", path) < 0 || has_content(name);

    free(name);
    return found;
}

/* --- the store -------------------------------------------------------------------------------- */

/* Return a text that explains why root lacks its usual rights here, or "" for other users. */
static const char *whose_rights(char ret[WHOSE_SIZE])
{
    long user = (long)rps_rights_taken().user;

    ret[0] = '\0';
    if (user != 0)
        snprintf(ret, WHOSE_SIZE,
                 " (root uses the rights of user %ld, who owns a directory of the path; use a "
                 "directory of root, or run `chown %ld` on the store)",
                 user, user);
    return ret;
}

/* Do the checks that are the same for reading and for writing. */
static int check_file(const char *path, struct rps_path_check *ret, struct rps_error *err)
{
    struct stat status;
    char whose[WHOSE_SIZE];

    *ret = (struct rps_path_check){.empty = true};
    if (path[0] == '\0')
        return rps_error_set(err, RPS_FAILED, "the name of the store is empty; name a file");
    if (stat(path, &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return 0;
        return rps_error_set(err, RPS_FAILED,
                             "cannot open the store %s: %s; check its name and permissions%s", path,
                             strerror(errno), whose_rights(whose));
    }
    ret->exists = true;
    if (S_ISDIR(status.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "%s is a directory; name a file in it, such as %s/rpistat.data", path,
                             path);
    if (!S_ISREG(status.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "%s is not a regular file and cannot be a store; choose another name",
                             path);
    if (!may(path, R_OK))
        return rps_error_set(
            err, RPS_FAILED,
            "cannot read the store %s: %s; ask its owner to permit it with chmod%s", path,
            strerror(errno), whose_rights(whose));
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
        return rps_error_set(
            err, RPS_FAILED,
            "there is no store %s; record one with `rpistat COMMAND`, or name another with -i FILE",
            path);
    if (ret->empty)
        return rps_error_set(err, RPS_FAILED,
                             "the store %s is empty; record into it with `rpistat COMMAND`", path);
    name = rps_path_check_sqlite_path(path);
    if (!name)
        return rps_error_memory(err);
    result = check_companions(name, err);
    free(name);
    return result;
}

/* Check that a file can be made in path's directory, where SQLite keeps the store's log. */
static int check_folder(const char *path, const struct rps_path_check *place, struct rps_error *err)
{
    char *folder = rps_path_check_folder(path), whose[WHOSE_SIZE];
    struct stat status;
    int result = 0;

    if (!folder)
        return rps_error_memory(err);
    if (stat(folder, &status) != 0 && errno == ENOENT)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot create the store %s: the directory %s does not exist; "
                               "create it, or choose another store",
                               path, folder);
    else if (stat(folder, &status) != 0)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot create the store %s: the directory %s cannot be used (%s); "
                               "choose another store",
                               path, folder, strerror(errno));
    else if (!S_ISDIR(status.st_mode))
        result =
            rps_error_set(err, RPS_FAILED,
                          "cannot create the store %s: %s is not a directory; choose another store",
                          path, folder);
    else if (!may(folder, W_OK | X_OK))
        result = rps_error_set(err, RPS_FAILED,
                               "cannot %s the store %s: the directory %s is not writable (%s), and "
                               "the log of the store must be there; choose another store%s",
                               place->exists ? "write" : "create", path, folder, strerror(errno),
                               whose_rights(whose));
    free(folder);
    return result;
}

/* SAFETY: check that no other user controls the store and its companion files. */
static int check_trust(const char *path, struct rps_error *err)
{
    char *store = NULL;
    int result = rps_trust_path(path, &store, NULL, err);

    if (result == 0)
        result = check_companions(store, err);
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
        return rps_error_set(
            err, RPS_FAILED,
            "the store %s is read-only (%s); make it writable, or choose another store%s", path,
            strerror(errno), whose_rights(whose));
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

static int64_t mtime_ns(const struct stat *status)
{
    return status->st_mtim.tv_sec * RPS_NS_PER_S + status->st_mtim.tv_nsec;
}

void rps_unchanging_query(const char *name, char ret[RPS_UNCHANGING_QUERY_SIZE])
{
    struct stat status = {0};

    stat(name, &status);
    snprintf(ret, RPS_UNCHANGING_QUERY_SIZE, "?immutable=1&size=%jd&mtime=%jd",
             (intmax_t)status.st_size, (intmax_t)mtime_ns(&status));
}

int rps_unchanging_has_changed(sqlite3 *db)
{
    const char *name = sqlite3_db_filename(db, "main");
    struct stat status;

    if (!name || !sqlite3_uri_boolean(name, "immutable", 0))
        return 0;
    return stat(name, &status) != 0 || status.st_size != sqlite3_uri_int64(name, "size", -1) ||
           mtime_ns(&status) != sqlite3_uri_int64(name, "mtime", -1) ||
           rps_path_check_has_log(name);
}
