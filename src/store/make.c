#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "database.h"
#include "embed.h"
#include "identity.h"
#include "rpistat/random.h"
#include "rpistat/rights.h"

/* An empty store, built from schema/schema.sql by SQLite at build time (empty.py). */
extern const struct rps_embedded rps_embedded_empty[];

static int cannot_make(const char *path, struct rps_error *err)
{
    if (errno == ENOSPC || errno == EDQUOT)
        return rps_database_error(NULL, SQLITE_FULL, path, err);
    return rps_error_set(err, RPS_FAILED, "cannot create the store %s: %s; choose another name",
                         path, strerror(errno));
}

/* Make an empty file with a unique name next to path; returns its descriptor or RPS_FAILED. */
static int make_temporary(const char *path, mode_t mode, char **ret, struct rps_error *err)
{
    uint32_t number;
    int fd = -1;

    for (int i = 0; i < 8 && fd < 0; i++) {
        free(*ret);
        *ret = NULL;
        if (rps_random_bytes(&number, sizeof(number), err) < 0)
            return RPS_FAILED;
        if (asprintf(ret, "%s.new-%08" PRIx32, path, number) < 0) {
            *ret = NULL;
            return rps_error_memory(err);
        }
        fd = open(*ret, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd < 0 ? cannot_make(path, err) : fd;
}

/* Sync the directory too, because the store's name must be on the disk before the store's log. */
static void sync_folder(const char *path)
{
    char *folder = rps_path_check_folder(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd); /* an error is ignored: not every file system supports this */
        close(fd);
    }
    free(folder);
}

static int give_name(const char *temporary, const char *path, struct rps_error *err)
{
    int failed = link(temporary, path) < 0;

    if (failed && errno != EEXIST) /* the file system has no hard links */
        failed = syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) < 0;
    if (failed)
        return errno == EEXIST ? 1 : cannot_make(path, err);
    sync_folder(path);
    return 0;
}

int rps_database_fill_store(void *path, const char *name, struct rps_error *err)
{
    FILE *file = fopen(name, "r+e");
    int failed =
        !file || fwrite(rps_embedded_empty[0].text, rps_embedded_empty[0].size, 1, file) != 1;

    if (file && fclose(file) != 0)
        failed = 1;
    return failed ? cannot_make(path, err) : 0;
}

int rps_database_make(const char *path, mode_t mode, rps_database_fill fill, void *context,
                      struct rps_error *err)
{
    char *temporary = NULL, *name = NULL;
    int fd = make_temporary(path, mode, &temporary, err), result = RPS_FAILED;

    if (fd >= 0) {
        name = rps_path_check_sqlite_path(temporary);
        result = name ? fill(context, name, err) : rps_error_memory(err);
        if (result == 0 && fsync(fd) < 0)
            result = cannot_make(path, err);
        close(fd); /* closing loses no locks, because SQLite has already closed the file */
        if (result == 0)
            result = give_name(temporary, path, err);
        unlink(temporary);
    }
    free(name);
    free(temporary);
    return result;
}

int rps_database_make_missing(const char *path, rps_database_fill fill, struct rps_error *err)
{
    struct rps_path_check look;
    struct rps_rights_before before;
    char *place = NULL;
    int result = rps_rights_take_for(path, RPS_RIGHTS_NEW_FILE, &before, err), is_made = 0;

    if (result == 0)
        result = rps_path_check_write(path, &look, err);
    if (result == 0 && !look.exists)
        result = rps_trust_path(path, &place, NULL, err);
    if (result == 0 && place) {
        result = rps_database_make(place, 0644, fill, place, err);
        is_made = result == 0;
    }
    free(place);
    rps_rights_return(&before);
    return result < 0 ? result : is_made; /* if another program made the file, the caller opens
                                             it */
}
