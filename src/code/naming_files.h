/*
 * The files of one module: which paths its names may come from. A process without rights reads the
 * files, and receives them open. It names no path: it sends a build-id or the name of a link, and
 * its parent makes paths of these, beside the module's file and below /usr/lib/debug.
 */
#ifndef RPISTAT_CODE_NAMING_FILES_H
#define RPISTAT_CODE_NAMING_FILES_H

#include <limits.h>

#include "naming_parts.h"

enum rps_naming_wanted {
    RPS_NAMING_BINARY, /* the module's own file, or the map of its just-in-time compiler */
    RPS_NAMING_DEBUG,  /* debug information, by build-id or link */
};

struct rps_naming_request {
    uint32_t wanted;                         /* enum rps_naming_wanted */
    uint32_t candidate;                      /* the first to try; from 0 */
    char build_id[2 * RPS_BUILD_ID_MAX + 1]; /* of debug information, as link; "" none */
    char link[NAME_MAX + sizeof(RPS_DEBUG_DIRECTORY) + 1];
};

struct rps_naming_answer {
    int32_t status;     /* 0; a negative errno: there is no descriptor */
    uint32_t candidate; /* to go on with, if this file is not the right one */
};

/* In the process: request a file. Returns a descriptor or a negative errno; ENODATA: no more
 * candidates. The request goes on behind the one that was opened. */
int rps_naming_request_file(int requests, struct rps_naming_request *request);

/* In its parent: open the first candidate from there on that can be opened. `image`: the module is this memory
 * file, unless it is -1. Returns a descriptor or a negative errno; ENODATA: no more candidates. */
int rps_naming_open(struct rps_naming *naming, const struct rps_naming_group *group, int image,
                    const struct rps_naming_request *request, uint32_t *ret_candidate);

#endif
