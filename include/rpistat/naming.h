/*
 * Naming: functions, files and lines of frames, on the machine that has the files. ELF files are
 * read by elfutils in a process of its own with limits, one a module, since they may be hostile.
 */
#ifndef RPISTAT_NAMING_H
#define RPISTAT_NAMING_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/error.h"

struct rps_naming_options {
    /* 1: the paths of modules may be opened: they are the recorder's own, seen just now. 0: they
     * come from a store, and only what the system has by build-id (/usr/lib/debug, debuginfod where
     * it is set up) and the files and folders of `binary` are looked at. */
    int opens_paths;
    const char *const *binary; /* borrowed: files, or folders in which a module's path may lie */
    size_t binary_count;
};

/*
 * Name the frames of `code`: its locations are replaced by others of the arena; every frame gets at
 * least one, if need be one of RPS_LOCATION_NONE with the reason. Locations that are
 * RPS_LOCATION_MAP of a simulation are kept, and with opens_paths 0 those that had a name and get
 * none now; these stay as they were. RPS_FAILED without processes: the code is as it was. 1: root
 * cannot become another user here, so no file was read; rps_naming_refused says so to users.
 */
int rps_naming_name(struct rps_arena *arena, struct rps_code *code,
                    const struct rps_naming_options *options, struct rps_error *err);

/* The sentence for the result 1. */
extern const char rps_naming_refused[];

#endif
