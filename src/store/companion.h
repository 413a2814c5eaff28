/* What lies beside a store's file: its log, its journal. Looked at without SQLite. */
#ifndef RPISTAT_STORE_COMPANION_H
#define RPISTAT_STORE_COMPANION_H

#include <sys/types.h>

/* 1 when a write-ahead log or a rollback journal that holds something lies beside the file, or it
 * cannot be told without memory. */
int rps_companion_has_log(const char *path);

/*
 * Before SQLite opens a file that is empty, or not there, which it is made here: remove the log and
 * the shared memory that lie beside it. They are those of a store that was deleted, whose recorder
 * may live: SQLite would delete its log and share its memory, to the harm of both. Cannot fail:
 * where nothing can be done SQLite says why.
 */
void rps_companion_begin(const char *path);

/* The inode of the write-ahead log beside the file; 0: there is none. */
ino_t rps_companion_log_inode(const char *path);

/*
 * The file that was at path has lost its name: remove its log, of that inode, and the shared memory
 * beside it. Another file would be read with it, and spoilt. Whoever has them open keeps them.
 */
void rps_companion_remove_log(const char *path, ino_t inode);

/*
 * 1 when a transaction that was not finished in the file at path may be undone by us: the file says
 * in its header that it is a store, or its journal in its own that there was no table before.
 * SQLite is not asked what it is: it would have to undo it first.
 */
int rps_companion_is_unfinished(const char *path);

#endif
