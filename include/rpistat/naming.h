/*
 * Naming: functions, files and lines of frames, on the machine that has the files. SAFETY: ELF
 * files may be hostile. elfutils reads them in a separate process with limits, one per module.
 */
#ifndef RPISTAT_NAMING_H
#define RPISTAT_NAMING_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/error.h"

struct rps_naming_options {
    /* 1: the paths of modules may be opened, since the recorder itself saw them just now. 0: they
     * come from a store. Then only files by build-id (/usr/lib/debug, debuginfod if set up) and the
     * files and directories of `binary` are used. */
    int opens_paths;
    const char *const *binary; /* borrowed: files, or directories with modules below them */
    size_t binary_count;
};

/*
 * Name the frames of `code`: replace its locations by others in the arena. Every frame gets at
 * least one, if necessary one of RPS_LOCATION_NONE with the reason. A simulation's locations of
 * RPS_LOCATION_MAP are kept. With opens_paths 0, so are names that would get none now. RPS_FAILED:
 * no processes; the code is unchanged. 1: root cannot become another user here, so no file was
 * read; rps_naming_refused explains that to users.
 */
int rps_naming_name(struct rps_arena *arena, struct rps_code *code,
                    const struct rps_naming_options *options, struct rps_error *err);

/* The sentence for result 1. */
extern const char rps_naming_refused[];

#endif
