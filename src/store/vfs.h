/*
 * The SQLite VFS through which stores are opened. It is the default VFS of that moment, with a look
 * at every companion file (companion.h) before that is opened or deleted:
 *
 * - what SQLite would open must pass rps_companion_check, and is made here first when it is
 * missing; - what SQLite would delete must be the file that this connection opened, since another
 * store may
 *   have come to the place of one that was moved;
 * - super-journals, which name files of any path to be opened and deleted, are refused: no store of
 *   rpistat has one.
 *
 * What is refused answers SQLITE_PERM, which SQLite itself hardly ever does.
 */
#ifndef RPISTAT_STORE_VFS_H
#define RPISTAT_STORE_VFS_H

/* The name of the VFS for sqlite3_open_v2, made when it is asked for first; NULL without memory. */
const char *rps_vfs_name(void);

/* The sentence for the last SQLITE_PERM in this thread; "" when SQLite did not get it from here. */
const char *rps_vfs_refusal(void);

#endif
