/*
 * Opens the files of other processes. SAFETY: another user chose their names, and the recorder may
 * be root: devices, named pipes and files of kernel file systems must not be opened.
 */
#ifndef RPISTAT_CODE_PROCESS_FILE_H
#define RPISTAT_CODE_PROCESS_FILE_H

#include "rpistat/code.h"

#define RPS_PROCESS_FILE_PATH_SIZE 4096

#define RPS_DEBUG_DIRECTORY "/usr/lib/debug"

enum rps_process_file_kind {
    RPS_PROCESS_FILE_NONE,       /* open nothing */
    RPS_PROCESS_FILE_MAPPED,     /* the file that origin describes, or one with the build-id */
    RPS_PROCESS_FILE_JIT_MAP,    /* the map of a just-in-time compiler, which must belong to
                                    origin.user and not be a link */
    RPS_PROCESS_FILE_DEBUG,      /* any regular file below the root of origin.pid (0: our own); the
                                    caller compares its build-id or checksum */
    RPS_PROCESS_FILE_DEBUGINFOD, /* debuginfod's file for the build-id: path is "executable" or
                                    "debuginfo" */
};

struct rps_process_file {
    enum rps_process_file_kind kind;
    struct rps_module_origin origin;
    char build_id[2 * RPS_BUILD_ID_MAX + 1]; /* "" unknown */
    char path[RPS_PROCESS_FILE_PATH_SIZE];   /* absolute, as the process sees it */
};

/*
 * Open the file for reading. Returns a descriptor, or a negative errno. ESTALE: another file has
 * the name now; EPERM: a map belongs to another user; EOPNOTSUPP: not a regular file of an ordinary
 * file system. May wait as long as a file system does not answer.
 *
 * SAFETY: a file is opened with O_PATH, which has no effect on it, and checked by that descriptor.
 * Only then it is opened for reading, through the same descriptor: nobody can exchange it.
 */
int rps_process_file_open(const struct rps_process_file *file);

/* Open a path below a directory in the same way; its links must not leave the directory. With
 * O_NOFOLLOW in `flags` the last component must not be a link. */
int rps_process_file_open_below(int directory, const char *path, int flags);

/* Check an O_PATH descriptor, which may be negative, and open its file for reading. Closes it. */
int rps_process_file_reopen(int fd);

/* Return 1 if debuginfod is set up. */
int rps_process_file_has_servers(void);

#endif
