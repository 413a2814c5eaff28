/*
 * An SQLite VFS over the default one, with a hook before every step that touches the disk. What
 * goes wrong is the hook's: it fails the step, waits, writes half of it, ends the process or keeps
 * a record. The program under test knows nothing of it: installed, this VFS is the default one.
 */
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
    const char *path;   /* of the file */
    sqlite3_file *real; /* NULL for OPEN and DELETE */
    int64_t offset;     /* READ, WRITE; TRUNCATE: the new size */
    int size;           /* READ, WRITE */
    const void *data;   /* WRITE */
};

/* What a hook returns instead of an SQLite code: do it; leave it, and say that it was done. */
#define FAULT_GO   SQLITE_OK
#define FAULT_SKIP (-1)

/* Called on the thread that makes the step, one at a time or many at once. */
typedef int (*fault_hook)(void *context, const struct fault_step *step);

/* Install the VFS as the default one; once a process. */
void fault_vfs_install(void);

/* The hook from now on; NULL: none. Not while a database is in use. */
void fault_vfs_set_hook(fault_hook hook, void *context);

const char *fault_op_name(enum fault_op op);

/* 1 when the path ends so: "-wal", "-journal". */
int fault_path_is(const char *path, const char *end);

/* A hook for tests whose disk need not be real: no sync. */
int fault_skip_sync(void *context, const struct fault_step *step);

#endif
