/*
 * A record of all that is written to a store's files, and what a disk may hold of it when the power
 * is cut: of what was not synced any part, in any order.
 *
 * The model. A sector (512 or 4,096 bytes) is written as a whole, with what the file held there at
 * some moment since the last sync; every sector has its own moment. The file's size is that of some
 * moment, too; sectors inside it that were never written hold zeros or garbage. A file that was
 * made or removed is there or not until its folder was synced, which SQLite's own VFS does at the
 * first sync of a log; a new store has its name, and is synced, before SQLite opens it. Shared
 * memory is lost.
 */
#ifndef RPISTAT_TEST_DISK_LOG_H
#define RPISTAT_TEST_DISK_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "fault_vfs.h"

struct disk_log;

/* Record the files of the store at path, until the process ends. The hook is its. */
struct disk_log *disk_log_new(const char *path);
void disk_log_free(struct disk_log *log);
int disk_log_hook(void *log, const struct fault_step *step);

/* A number to find at a cut: so much had been promised by then. */
void disk_log_promise(struct disk_log *log, uint64_t number);

/* Steps recorded so far. */
size_t disk_log_size(const struct disk_log *log);

/* How a cut treats what was not synced. */
enum disk_cut {
    DISK_CUT_LOST,    /* all of it is lost */
    DISK_CUT_ORDERED, /* all was written, and the last write is torn */
    DISK_CUT_MIXED,   /* any moment for every sector */
    DISK_CUT_KINDS
};

struct disk_promise {
    uint64_t made;   /* the last promise before the cut */
    uint64_t synced; /* the last one before the last sync of the log or the database */
};

/* Cuts are made in order: forward to the moment before step `at`, which is not before the last. */
void disk_log_play(struct disk_log *log, size_t at, struct disk_promise *ret);

/* Make the files at path what is on the disk after a cut there. */
void disk_log_cut(struct disk_log *log, const char *path, enum disk_cut kind, size_t sector,
                  uint64_t seed);

#endif
