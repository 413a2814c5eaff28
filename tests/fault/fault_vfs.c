/* A VFS with a hook. The hooks of the tests implement the faults. A first draft had a switch for
 * each fault (fail the n-th write, be full, be slow). The draft was as long as this file and the
 * tests together, and each test needed one more switch. */
#include "fault_vfs.h"

#include <stdlib.h>
#include <string.h>

struct fault_file {
    sqlite3_file base;
    const char *path; /* owned by SQLite; lives longer than the file */
    sqlite3_file *real;
};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    fault_hook hook;
    void *context;
} fault;

const char *fault_op_name(enum fault_op op)
{
    static const char *const name[] = {"open",     "read",   "write",  "sync",
                                       "truncate", "delete", "shm-map"};

    return name[op];
}

int fault_path_is(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);

    return length >= end_length && strcmp(path + length - end_length, end) == 0;
}

int fault_skip_sync(void *context, const struct fault_step *step)
{
    (void)context;
    return step->op == FAULT_SYNC ? FAULT_SKIP : FAULT_GO;
}

static int ask(struct fault_step step)
{
    return fault.hook && step.path ? fault.hook(fault.context, &step) : FAULT_GO;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct fault_file *)file)->real;
}

static const char *path_of(sqlite3_file *file)
{
    return ((struct fault_file *)file)->path;
}

/* --- steps with a hook ------------------------------------------------------------------------ */

static int file_read(sqlite3_file *file, void *data, int size, sqlite3_int64 offset)
{
    sqlite3_file *real = real_of(file);
    int code = ask((struct fault_step){FAULT_READ, path_of(file), real, offset, size, NULL});

    if (code == SQLITE_IOERR_SHORT_READ)
        memset(data, 0, (size_t)size); /* required by the contract of xRead */
    return code == FAULT_GO ? real->pMethods->xRead(real, data, size, offset) : code;
}

static int file_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    sqlite3_file *real = real_of(file);
    int code = ask((struct fault_step){FAULT_WRITE, path_of(file), real, offset, size, data});

    if (code == FAULT_SKIP)
        return SQLITE_OK;
    return code == FAULT_GO ? real->pMethods->xWrite(real, data, size, offset) : code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real = real_of(file);
    int code = ask((struct fault_step){FAULT_TRUNCATE, path_of(file), real, size, 0, NULL});

    return code == FAULT_GO ? real->pMethods->xTruncate(real, size) : code;
}

static int file_sync(sqlite3_file *file, int flags)
{
    sqlite3_file *real = real_of(file);
    int code = ask((struct fault_step){FAULT_SYNC, path_of(file), real, 0, 0, NULL});

    if (code == FAULT_SKIP)
        return SQLITE_OK;
    return code == FAULT_GO ? real->pMethods->xSync(real, flags) : code;
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    sqlite3_file *real = real_of(file);
    int code = ask((struct fault_step){FAULT_SHM_MAP, path_of(file), real, page, size, NULL});

    if (code == FAULT_GO)
        return real->pMethods->xShmMap(real, page, size, extend, ret);
    *ret = NULL;
    return code;
}

/* --- steps without ---------------------------------------------------------------------------- */

static int file_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
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
    /* The tests do not rely on properties that only some file systems promise. */
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file)) &
           SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

/* Version 2: with shared memory, but without mapping the database. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

/* --- the VFS ---------------------------------------------------------------------------------- */

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                    int *ret_flags)
{
    struct fault_file *self = (struct fault_file *)file;
    int code = ask((struct fault_step){.op = FAULT_OPEN, .path = path});

    (void)vfs;
    self->base.pMethods = NULL;
    self->path = path;
    self->real = (sqlite3_file *)(void *)(self + 1);
    if (code != FAULT_GO)
        return code;
    code = fault.real->xOpen(fault.real, path, self->real, flags, ret_flags);
    if (self->real->pMethods)
        self->base.pMethods = &methods;
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    int code = ask((struct fault_step){.op = FAULT_DELETE, .path = path, .size = sync_folder});

    (void)vfs;
    return code == FAULT_GO ? fault.real->xDelete(fault.real, path, sync_folder) : code;
}

void fault_vfs_install(void)
{
    fault.real = sqlite3_vfs_find(NULL);
    if (!fault.real)
        abort();
    fault.vfs = *fault.real;
    fault.vfs.zName = "fault";
    fault.vfs.szOsFile += (int)sizeof(struct fault_file);
    fault.vfs.xOpen = vfs_open;
    fault.vfs.xDelete = vfs_delete;
    if (sqlite3_vfs_register(&fault.vfs, 1) != SQLITE_OK)
        abort();
}

void fault_vfs_set_hook(fault_hook hook, void *context)
{
    fault.hook = hook;
    fault.context = context;
}
