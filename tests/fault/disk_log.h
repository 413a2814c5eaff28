/* A record of all writes to the files of a store, and a model of a disk after a power cut. Of the
 * data that were not synced, the disk may hold any part, in any order.
 *
 * The model: A sector (512 or 4,096 bytes) is written as a whole. After a cut, a sector holds the
 * content of some moment since the last sync. Each sector has its own moment. The size of a file is
 * also that of some moment. Sectors inside this size that were never written hold zeros or garbage.
 * A created or removed file may exist or not, until its directory is synced. SQLite's VFS does this
 * at the first sync of a log. A new store is named and synced before SQLite opens it. Shared memory
 * is lost. */
#ifndef RPISTAT_TEST_DISK_LOG_H
#define RPISTAT_TEST_DISK_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "fault_vfs.h"

struct disk_log;

/* Record the files of the store at path until the process ends. The log uses the hook of the VFS.
 */
struct disk_log *disk_log_new(const char *path);
void disk_log_free(struct disk_log *log);
int disk_log_hook(void *log, const struct fault_step *step);

/* Record a promise: the number to be found after a later cut. */
void disk_log_promise(struct disk_log *log, uint64_t number);

/* Return the number of recorded steps. */
size_t disk_log_size(const struct disk_log *log);

/* Treatment of unsynced data at a cut. */
enum disk_cut {
    DISK_CUT_LOST,    /* All unsynced data are lost. */
    DISK_CUT_ORDERED, /* All data were written, but the last write is torn. */
    DISK_CUT_MIXED,   /* Each sector has a random moment. */
    DISK_CUT_KINDS
};

struct disk_promise {
    uint64_t made;   /* the last promise before the cut */
    uint64_t synced; /* last promise before the last sync of the log or the database */
};

/* Play the record forward to the moment before step `at`. Cuts are made in order, so `at` must not
 * decrease. */
void disk_log_play(struct disk_log *log, size_t at, struct disk_promise *ret);

/* Write the disk contents after a cut at the current position to the files at path. */
void disk_log_cut(struct disk_log *log, const char *path, enum disk_cut kind, size_t sector,
                  uint64_t seed);

#endif
