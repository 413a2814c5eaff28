/* What the files of naming share: the frames of a module go in, locations come out. */
#ifndef RPISTAT_NAMING_PARTS_H
#define RPISTAT_NAMING_PARTS_H

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "opener.h"
#include "rpistat/naming.h"

#define RPS_NAMING_TEXT_MAX  4096 /* bytes of a name or file; what is longer is cut */
#define RPS_NAMING_DEPTH_MAX 48   /* inlined functions of one frame */

/* The frames of one module, in order of address. */
struct rps_naming_group {
    const struct rps_module *module;
    struct rps_module_origin origin;
    const size_t *frame;     /* indices into the code's frames */
    const uint64_t *address; /* theirs */
    size_t count;
};

/* The first of `count` ascending addresses that is at least `address`; `count` when none is. */
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
    int is_refused; /* processes cannot give up their rights here: none reads a file */
};

/* Give a frame these locations, innermost first, in place of what it has. Texts are copied. */
void rps_naming_put(struct rps_naming *naming, size_t frame, const struct rps_location *location,
                    size_t count);

/* Say of all frames of the group that still have no location why. */
void rps_naming_put_reason(struct rps_naming *naming, const struct rps_naming_group *group,
                           const char *reason);

/* By /proc/kallsyms, opened; those that no symbol covers get the reason. */
void rps_naming_kallsyms(struct rps_naming *naming, const struct rps_naming_group *group,
                         FILE *file);

/* By the map of a just-in-time compiler, which is open (and is closed); a negative errno: it is not. */
void rps_naming_jit(struct rps_naming *naming, const struct rps_naming_group *group, int fd);

/* By the module's ELF file, by the image in the memory file `image`, which is not closed, unless that
 * is -1, or by the map of a just-in-time compiler; in a child process without rights. RPS_FAILED when
 * there is no process. */
int rps_naming_file(struct rps_naming *naming, const struct rps_naming_group *group, int image,
                    struct rps_error *err);

/* --- what processes of naming tell their parent ----------------------------------------------- */

/* Tell the parent the locations of a frame; what was told of it before is replaced. */
void rps_naming_tell(FILE *out, size_t index, const struct rps_location *location, size_t count);

/* Bytes; no message is longer. */
#define RPS_NAMING_MESSAGE_MAX                                                                     \
    (8 + RPS_NAMING_DEPTH_MAX * (16 + 2 * ((size_t)RPS_NAMING_TEXT_MAX + 1)))

/* A frame by the number that the process was given for it, and its locations. */
struct rps_naming_told {
    size_t index;
    size_t count;
    struct rps_location location[RPS_NAMING_DEPTH_MAX];
};

/* What the parent has heard and not taken yet; zeroed at first. Released by rps_naming_unhear. */
struct rps_naming_heard {
    char *message; /* owned */
    size_t size;   /* of the message, so far */
};

/*
 * In the parent, which believes nothing: read once, and take the messages that are whole, whose index
 * is still to be looked at. Returns the bytes read; 0 at the end, at nonsense, without memory, and
 * when `take` returns a negative code; -1 when there is nothing to read now.
 */
ssize_t rps_naming_hear(struct rps_naming_heard *heard, int fd,
                        int (*take)(void *context, const struct rps_naming_told *told),
                        void *context);
void rps_naming_unhear(struct rps_naming_heard *heard);

/*
 * The files of one module: which paths its names may come from. A process without rights reads the
 * files, and receives them open. It names no path: it sends a build-id or the name of a link, and
 * its parent makes paths of these, beside the module's file and below /usr/lib/debug.
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
    int32_t status;     /* 0; a negative errno: there is no descriptor */
    uint32_t candidate; /* to go on with, if this file is not the right one */
};

/* In the process: request a file. Returns a descriptor or a negative errno; ENODATA: no more
 * candidates. A second call with the request continues after the opened candidate. */
int rps_naming_request_file(int requests, struct rps_naming_request *request);

/* In its parent: open the first candidate from request->candidate on that can be opened. If `image`
 * is not -1, the module is this memory file. Returns a descriptor or a negative errno; ENODATA: no
 * more candidates. */
int rps_naming_open(struct rps_naming *naming, const struct rps_naming_group *group, int image,
                    const struct rps_naming_request *request, uint32_t *ret_candidate);

#endif
