/*
 * A VFS over the default one, as https://sqlite.org/vfs.html has it. Only database files are
 * wrapped, for their shared memory; the others are the VFS's below, once they have been looked at.
 *
 * SQLite passes an error's code and no text, so that the sentence of a refusal stays with the
 * thread, as errno does.
 *
 * SQLite opens and deletes files by name long after the database was opened, and in any thread. So
 * the rights that root has taken for opening it (rpistat/rights.h) are kept with the database, and
 * taken again around whatever is done with a name.
 */
#include "vfs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "companion.h"
#include "rpistat/rights.h"

/* How often a companion is opened that is another one by then. */
#define OPEN_TRIES 100

struct database_file;

struct store_vfs {
    sqlite3_vfs base;
    sqlite3_vfs *real;
    struct database_file *open; /* under the lock */
    char name[64];
};

/* A database file; the file of the VFS below follows it in memory. */
struct database_file {
    sqlite3_file base;
    sqlite3_file *real;
    struct store_vfs *vfs;
    struct database_file *next;
    const char *name; /* SQLite's, which outlives the file */
    struct stat status;
    struct rps_rights rights;             /* with which it was opened */
    struct rps_file_id wal, journal, shm; /* as they were opened */
    char *shm_name;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the lists of open files */
static _Thread_local struct rps_error refusal;

const char *rps_vfs_refusal(void)
{
    return refusal.message;
}

/* SQLite aligns a file for every type, which compilers for 32-bit ARM cannot know. */
static struct database_file *database_file_of(sqlite3_file *file)
{
    return (void *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return database_file_of(file)->real;
}

/* An SQLite code. */
static int take_rights(const struct rps_rights *rights, struct rps_rights_before *ret)
{
    if (rps_rights_take(rights, ret, &refusal) == 0)
        return SQLITE_OK;
    return rps_error_is_memory(&refusal) ? SQLITE_NOMEM : SQLITE_PERM;
}

/* --- opening companions ----------------------------------------------------------------------- */

/* Look at a companion that is opened next, and make it. An SQLite code, and what it is in *ret. */
static int prepare(const struct database_file *file, const char *name, int create,
                   struct rps_file_id *ret)
{
    if (create && rps_companion_make(name, &file->status) < 0)
        return SQLITE_READONLY_DIRECTORY;
    if (rps_companion_check(name, &file->status, &refusal) < 0)
        return SQLITE_PERM;
    *ret = rps_companion_id(name);
    return SQLITE_OK;
}

/* Whether name is what was looked at still. */
static int is_still(const char *name, const struct rps_file_id *before)
{
    struct rps_file_id now = rps_companion_id(name);

    return rps_file_id_equal(before, &now);
}

static int refuse_replaced(const char *name)
{
    rps_error_set(&refusal, RPS_FAILED,
                  "%s is replaced again and again while it is opened: see who does that, or choose "
                  "another store",
                  name);
    return SQLITE_PERM;
}

static int refuse_left(const char *name)
{
    rps_error_set(&refusal, RPS_FAILED,
                  "%s is left of a store that was moved or deleted, and may hold the end of a "
                  "recording: put it beside that store, remove it, or choose another name",
                  name);
    return SQLITE_PERM;
}

/* Would SQLite begin its journal over that of a store that was moved? It deletes such a one before,
 * but does not heed that this failed (vfs_delete). */
static int is_left(const struct database_file *file, const char *name, int flags)
{
    sqlite3_int64 size = 1;

    return (flags & SQLITE_OPEN_MAIN_JOURNAL) && (flags & SQLITE_OPEN_CREATE) &&
           file->real->pMethods->xFileSize(file->real, &size) == SQLITE_OK && size == 0 &&
           rps_companion_pages_before(name) > 0;
}

/* One try; 1 in *ret_replaced when another file came to the name meanwhile. */
static int try_open(struct database_file *file, const char *name, sqlite3_file *ret, int flags,
                    int *ret_flags, int *ret_replaced)
{
    sqlite3_vfs *real = file->vfs->real;
    struct rps_file_id id;
    int code = prepare(file, name, flags & SQLITE_OPEN_CREATE, &id);

    *ret_replaced = 0;
    if (code == SQLITE_OK && is_left(file, name, flags))
        code = refuse_left(name);
    if (code == SQLITE_OK)
        code = real->xOpen(real, name, ret, flags, ret_flags);
    if (code == SQLITE_OK && !is_still(name, &id)) {
        ret->pMethods->xClose(ret);
        ret->pMethods = NULL;
        *ret_replaced = 1;
    } else if (code == SQLITE_OK) {
        pthread_mutex_lock(&lock);
        *(flags & SQLITE_OPEN_WAL ? &file->wal : &file->journal) = id;
        pthread_mutex_unlock(&lock);
    }
    return code;
}

/* A journal comes and goes with the transactions of others: it is tried again then. */
static int open_companion(const char *name, sqlite3_file *ret, int flags, int *ret_flags)
{
    struct database_file *file = database_file_of(sqlite3_database_file_object(name));
    struct rps_rights_before before;
    int code = take_rights(&file->rights, &before), replaced = code == SQLITE_OK;

    for (int i = 0; i < OPEN_TRIES && replaced; i++)
        code = try_open(file, name, ret, flags, ret_flags, &replaced);
    rps_rights_return(&before);
    return replaced ? refuse_replaced(name) : code;
}

static int shm_open(struct database_file *file, int page, int size, int extend, void volatile **ret)
{
    struct rps_file_id id;
    int code = prepare(file, file->shm_name, 1, &id);

    if (code == SQLITE_OK)
        code = file->real->pMethods->xShmMap(file->real, page, size, extend, ret);
    if (code == SQLITE_OK && !is_still(file->shm_name, &id))
        code = refuse_replaced(file->shm_name);
    if (code == SQLITE_OK)
        file->shm = id;
    return code;
}

/* SQLite opens shared memory when its first region is asked for. */
static int file_shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **ret)
{
    struct database_file *file = database_file_of(base);
    struct rps_rights_before before;
    int code;

    *ret = NULL;
    if (file->shm.inode != 0)
        return file->real->pMethods->xShmMap(file->real, page, size, extend, ret);
    code = take_rights(&file->rights, &before);
    if (code == SQLITE_OK)
        code = shm_open(file, page, size, extend, ret);
    rps_rights_return(&before);
    return code;
}

/* The VFS below removes the file of that name. */
static int file_shm_unmap(sqlite3_file *base, int remove)
{
    struct database_file *file = database_file_of(base);
    struct rps_file_id now = rps_companion_id(file->shm_name);
    struct rps_rights_before before;
    int code = take_rights(&file->rights, &before);

    remove = remove && code == SQLITE_OK && rps_file_id_equal(&file->shm, &now);
    file->shm = (struct rps_file_id){0};
    code = file->real->pMethods->xShmUnmap(file->real, remove);
    rps_rights_return(&before);
    return code;
}

/* --- a database file, passed on --------------------------------------------------------------- */

static int file_close(sqlite3_file *base)
{
    struct database_file *file = database_file_of(base), **at = &file->vfs->open;

    pthread_mutex_lock(&lock);
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    pthread_mutex_unlock(&lock);
    free(file->shm_name);
    return file->real->pMethods->xClose(file->real);
}

static int file_read(sqlite3_file *file, void *data, int size, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xRead(real_of(file), data, size, offset);
}

static int file_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xWrite(real_of(file), data, size, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), ret);
}

static int file_lock(sqlite3_file *file, int kind)
{
    return real_of(file)->pMethods->xLock(real_of(file), kind);
}

static int file_unlock(sqlite3_file *file, int kind)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), kind);
}

static int file_check_lock(sqlite3_file *file, int *ret)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret);
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, argument);
}

static int file_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

#define BASIC_METHODS                                                                              \
    .xClose = file_close, .xRead = file_read, .xWrite = file_write, .xTruncate = file_truncate,    \
    .xSync = file_sync, .xFileSize = file_size, .xLock = file_lock, .xUnlock = file_unlock,        \
    .xCheckReservedLock = file_check_lock, .xFileControl = file_control,                           \
    .xSectorSize = file_sector_size, .xDeviceCharacteristics = file_characteristics

/* Where there is no shared memory. */
static const sqlite3_io_methods methods_1 = {.iVersion = 1, BASIC_METHODS};

/* With shared memory; without mapping the database (version 3), which stores are not. */
static const sqlite3_io_methods methods_2 = {
    .iVersion = 2,
    BASIC_METHODS,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

/* --- the VFS ---------------------------------------------------------------------------------- */

static int open_database(struct store_vfs *vfs, const char *name, struct database_file *file,
                         int flags, int *ret_flags)
{
    int code;

    *file = (struct database_file){.vfs = vfs, .name = name, .rights = rps_rights_taken()};
    file->real = (sqlite3_file *)(void *)(file + 1);
    file->real->pMethods = NULL;
    if (asprintf(&file->shm_name, "%s-shm", name) < 0)
        return SQLITE_NOMEM;
    code = vfs->real->xOpen(vfs->real, name, file->real, flags, ret_flags);
    if (code == SQLITE_OK && stat(name, &file->status) != 0)
        code = SQLITE_CANTOPEN; /* gone already */
    if (code != SQLITE_OK) {
        if (file->real->pMethods)
            file->real->pMethods->xClose(file->real);
        free(file->shm_name);
        return code;
    }
    file->base.pMethods = file->real->pMethods->iVersion >= 2 ? &methods_2 : &methods_1;
    pthread_mutex_lock(&lock);
    file->next = vfs->open;
    vfs->open = file;
    pthread_mutex_unlock(&lock);
    return SQLITE_OK;
}

static int refuse_super_journal(const char *name)
{
    rps_error_set(
        &refusal, RPS_FAILED,
        "its journal is none of rpistat's: it wants %s to be deleted, which is left as it "
        "is; remove the journal, or choose another store",
        name);
    return SQLITE_PERM;
}

static int vfs_open(sqlite3_vfs *base, const char *name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
    struct store_vfs *vfs = (struct store_vfs *)base;

    file->pMethods = NULL;
    if (flags & SQLITE_OPEN_MAIN_DB)
        return open_database(vfs, name, database_file_of(file), flags, ret_flags);
    if (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL))
        return open_companion(name, file, flags, ret_flags);
    if (flags & SQLITE_OPEN_SUPER_JOURNAL)
        return refuse_super_journal(name);
    return vfs->real->xOpen(vfs->real, name, file, flags, ret_flags);
}

enum companion {
    NO_COMPANION, /* the name is that of none of our stores */
    LOG,
    JOURNAL,
    OPENED, /* by a connection of ours, and still called so */
};

/* What name is to the stores that are open, and with whose rights that store was opened. */
static enum companion companion_of(const struct store_vfs *vfs, const char *name,
                                   struct rps_rights *ret)
{
    struct rps_file_id now = rps_companion_id(name);
    enum companion found = NO_COMPANION;

    pthread_mutex_lock(&lock);
    for (const struct database_file *file = vfs->open; file && found != OPENED; file = file->next) {
        int is_wal = strcmp(name, sqlite3_filename_wal(file->name)) == 0;
        const struct rps_file_id *opened = is_wal ? &file->wal : &file->journal;

        if (is_wal || strcmp(name, sqlite3_filename_journal(file->name)) == 0) {
            found = rps_file_id_equal(opened, &now) ? OPENED : is_wal ? LOG : JOURNAL;
            *ret = file->rights;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/*
 * SQLite deletes a log or a journal that it did not open beside an empty database. A journal that
 * says that there was nothing before is that of a recorder that was killed in its first
 * transaction.
 */
static int vfs_delete(sqlite3_vfs *base, const char *name, int sync_folder)
{
    struct store_vfs *vfs = (struct store_vfs *)base;
    struct rps_rights rights = {0};
    struct rps_rights_before before;
    enum companion found = companion_of(vfs, name, &rights);
    int code = take_rights(&rights, &before);

    if (code != SQLITE_OK)
        return code;
    if (found == NO_COMPANION)
        code = refuse_super_journal(name);
    else if (found != OPENED && rps_companion_id(name).inode != 0 &&
             !(found == JOURNAL && rps_companion_pages_before(name) == 0))
        code = refuse_left(name);
    else
        code = vfs->real->xDelete(vfs->real, name, sync_folder);
    rps_rights_return(&before);
    return code;
}

static int vfs_access(sqlite3_vfs *base, const char *name, int flags, int *ret)
{
    struct store_vfs *vfs = (struct store_vfs *)base;
    struct rps_rights unused;

    if (companion_of(vfs, name, &unused) == NO_COMPANION)
        return refuse_super_journal(name);
    return vfs->real->xAccess(vfs->real, name, flags, ret);
}

static struct store_vfs *make_vfs(sqlite3_vfs *real, const char *name)
{
    struct store_vfs *vfs = calloc(1, sizeof(*vfs));

    if (!vfs)
        return NULL;
    snprintf(vfs->name, sizeof(vfs->name), "%s", name);
    vfs->real = real;
    vfs->base = *real; /* what is not replaced: paths, time, randomness */
    vfs->base.pNext = NULL;
    vfs->base.zName = vfs->name;
    vfs->base.szOsFile += (int)sizeof(struct database_file);
    vfs->base.xOpen = vfs_open;
    vfs->base.xDelete = vfs_delete;
    vfs->base.xAccess = vfs_access;
    if (sqlite3_vfs_register(&vfs->base, 0) == SQLITE_OK)
        return vfs; /* SQLite's list keeps it */
    free(vfs);
    return NULL;
}

const char *rps_vfs_name(void)
{
    sqlite3_vfs *real = sqlite3_vfs_find(NULL), *found;
    struct store_vfs *vfs;
    char name[64];

    if (!real)
        return NULL;
    snprintf(name, sizeof(name), "rpistat-%s", real->zName);
    pthread_mutex_lock(&lock);
    found = sqlite3_vfs_find(name);
    vfs = found ? (struct store_vfs *)found : make_vfs(real, name);
    pthread_mutex_unlock(&lock);
    return vfs ? vfs->name : NULL;
}
