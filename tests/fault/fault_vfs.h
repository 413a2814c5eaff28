/* An SQLite VFS over the default VFS, with a hook before every step that touches the disk. The hook
 * decides the fault: it fails the step, waits, writes half of the data, ends the process or keeps a
 * record. The tested program does not notice it, because the installed VFS is the default one. */
#ifndef RPISTAT_TEST_FAULT_VFS_H
#define RPISTAT_TEST_FAULT_VFS_H

#include <stdint.h>

#include <sqlite3.h>

enum fault_op {
    FAULT_OPEN,
    FAULT_READ,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_TRUNCATE,
    FAULT_DELETE,
    FAULT_SHM_MAP,
    FAULT_OP_COUNT
};

struct fault_step {
    enum fault_op op;
    const char *path;   /* path of the file */
    sqlite3_file *real; /* underlying file; NULL for OPEN and DELETE */
    int64_t offset;     /* READ, WRITE: offset in the file. TRUNCATE: new size of the file. */
    int size;           /* READ, WRITE: number of bytes to transfer */
    const void *data;   /* WRITE: bytes to write */
};

/* A hook returns an SQLite error code, or FAULT_GO to make the step, or FAULT_SKIP to report
 * success without making it. */
#define FAULT_GO   SQLITE_OK
#define FAULT_SKIP (-1)

/* Called on the thread that makes the step. Several threads may call it at once. */
typedef int (*fault_hook)(void *context, const struct fault_step *step);

/* Install the VFS as the default VFS, once per process. */
void fault_vfs_install(void);

/* Set the hook of the VFS (NULL: none). Do not call while a database is in use. */
void fault_vfs_set_hook(fault_hook hook, void *context);

const char *fault_op_name(enum fault_op op);

/* Return 1 if the path ends with `end`, such as "-wal" or "-journal". */
int fault_path_is(const char *path, const char *end);

/* Hook that skips syncs, for tests that need no real disk. */
int fault_skip_sync(void *context, const struct fault_step *step);

#endif
