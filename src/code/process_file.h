/* Opens files of other processes. SAFETY: another user chose the file names, and the recorder may
 * be root. So devices, named pipes and files of kernel file systems must not be opened. */
#pragma once

#include "rpistat/code.h"

#define RPS_PROCESS_FILE_PATH_SIZE 4096

#define RPS_DEBUG_DIRECTORY "/usr/lib/debug"

enum rps_process_file_kind {
    RPS_PROCESS_FILE_NONE,       /* Do not open a file. */
    RPS_PROCESS_FILE_MAPPED,     /* The file that `origin` describes, or another file with the
                                    same build-id. */
    RPS_PROCESS_FILE_JIT_MAP,    /* The map file of a just-in-time compiler: not a link, owned by
                                    origin.user. */
    RPS_PROCESS_FILE_DEBUG,      /* Any regular file below the root of origin.pid (0: of
                                    rpistat). The caller compares build-id or checksum. */
    RPS_PROCESS_FILE_DEBUGINFOD, /* debuginfod's file; `path` is "executable" or "debuginfo". */
};

struct rps_process_file {
    enum rps_process_file_kind kind;
    struct rps_module_origin origin;
    char build_id[2 * RPS_BUILD_ID_MAX + 1]; /* "" if the build-id is unknown. */
    char path[RPS_PROCESS_FILE_PATH_SIZE];   /* Absolute path as seen by the process. */
};

/* Open the file for reading. Returns a descriptor, or a negative errno. ESTALE: another file now
 * has this name. EPERM: a map belongs to another user. EOPNOTSUPP: not a regular file of an
 * ordinary file system. The call waits until the file system answers, which may take any time.
 *
 * SAFETY: a file is first opened with O_PATH, which has no effect on the file, and checked through
 * that descriptor. Only then is the file opened for reading, through the same descriptor, so nobody
 * can exchange the file. */
int rps_process_file_open(const struct rps_process_file *file);

/* Open a path below a directory in the same way as rps_process_file_open. Links must not lead out
 * of the directory. With O_NOFOLLOW in `flags`, the last component must not be a link. */
int rps_process_file_open_below(int directory, const char *path, int flags);

/* Check and close an O_PATH descriptor, which may be negative, and open its file for reading. */
int rps_process_file_reopen(int fd);

/* Return 1 if debuginfod is set up. */
int rps_process_file_has_servers(void);
