/* Declarations shared by the files of naming: frames of a module go in, locations come out. */
#ifndef RPISTAT_NAMING_PARTS_H
#define RPISTAT_NAMING_PARTS_H

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "opener.h"
#include "rpistat/naming.h"

#define RPS_NAMING_TEXT_MAX  4096 /* bytes of a name or file; longer ones are cut */
#define RPS_NAMING_DEPTH_MAX 48   /* inlined functions of one frame */

/* The frames of one module, in order of address. */
struct rps_naming_group {
    const struct rps_module *module;
    struct rps_module_origin origin;
    const size_t *frame;     /* indices into the code's frames */
    const uint64_t *address; /* theirs */
    size_t count;
};

/* Return the index of the first of `count` ascending addresses that is >= `address`; or `count`. */
size_t rps_naming_lower_bound(const uint64_t *ascending, size_t count, uint64_t address);

#define RPS_NAMING_RECENT 1024

/* The locations found so far. */
struct rps_naming {
    struct rps_arena *arena; /* of the locations and their texts */
    const struct rps_code *code;
    const struct rps_naming_options *options;
    struct rps_naming_frame {
        const struct rps_location *location;
        size_t count;
    } * frame;                             /* the locations of each of the code's frames */
    const char *recent[RPS_NAMING_RECENT]; /* by hash: texts that are there already */
    struct rps_opener opener;
    char binary[RPS_PROCESS_FILE_PATH_SIZE]; /* path of the module's open file; "" unknown */
    pid_t binary_pid;                        /* the process that sees it there; 0: this one */
    int is_refused; /* processes cannot give up their rights here, so no file is read */
};

/* Replace the locations of a frame with these, innermost first. Texts are copied. */
void rps_naming_put(struct rps_naming *naming, size_t frame, const struct rps_location *location,
                    size_t count);

/* Give all frames of the group that still have no location this reason. */
void rps_naming_put_reason(struct rps_naming *naming, const struct rps_naming_group *group,
                           const char *reason);

/* Name frames by /proc/kallsyms, opened. Frames without a symbol get the reason. */
void rps_naming_kallsyms(struct rps_naming *naming, const struct rps_naming_group *group,
                         FILE *file);

/* Name frames by the open map of a just-in-time compiler, which is closed; or a negative errno. */
void rps_naming_jit(struct rps_naming *naming, const struct rps_naming_group *group, int fd);

/* Name frames in a child process without rights. The source is the module's ELF file, the memory
 * file `image` unless -1 (it stays open), or a just-in-time compiler's map. RPS_FAILED: no
 * process. */
int rps_naming_file(struct rps_naming *naming, const struct rps_naming_group *group, int image,
                    struct rps_error *err);

/* --- what processes of naming send to their parent -------------------------------------------- */

/* Send the locations of a frame to the parent. They replace those sent before. */
void rps_naming_tell(FILE *out, size_t index, const struct rps_location *location, size_t count);

/* Maximum size of a message, bytes. */
#define RPS_NAMING_MESSAGE_MAX                                                                     \
    (8 + RPS_NAMING_DEPTH_MAX * (16 + 2 * ((size_t)RPS_NAMING_TEXT_MAX + 1)))

/* A frame by its number in the process, and its locations. */
struct rps_naming_told {
    size_t index;
    size_t count;
    struct rps_location location[RPS_NAMING_DEPTH_MAX];
};

/* Received bytes that were not taken yet. Zero it before use; rps_naming_unhear releases it. */
struct rps_naming_heard {
    char *message; /* owned */
    size_t size;   /* of the message, so far */
};

/*
 * SAFETY: the parent trusts nothing that it receives. Read once and pass on complete messages,
 * whose index `take` must check. Returns the bytes read. 0: the end, an invalid message, no memory,
 * or `take` returned a negative code. -1: nothing to read now.
 */
ssize_t rps_naming_hear(struct rps_naming_heard *heard, int fd,
                        int (*take)(void *context, const struct rps_naming_told *told),
                        void *context);
void rps_naming_unhear(struct rps_naming_heard *heard);

/*
 * The files of one module. SAFETY: a process without rights reads the files, which it receives
 * open. It sends no paths, only a build-id or a link's name. Its parent makes paths of these, next
 * to the module's file and below /usr/lib/debug.
 */

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
    int32_t status;     /* 0; a negative errno: no descriptor */
    uint32_t candidate; /* to continue with, if this file is not the right one */
};

/* Request a file, in the process. Returns a descriptor or a negative errno; ENODATA: no more
 * candidates. A second call with the request continues after the opened candidate. */
int rps_naming_request_file(int requests, struct rps_naming_request *request);

/* Open, in the parent, the first candidate from request->candidate on that can be opened. If
 * `image` is not -1, the module is this memory file. Returns a descriptor or a negative errno;
 * ENODATA: no more candidates. */
int rps_naming_open(struct rps_naming *naming, const struct rps_naming_group *group, int image,
                    const struct rps_naming_request *request, uint32_t *ret_candidate);

#endif
