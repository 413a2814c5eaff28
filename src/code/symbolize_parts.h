/* Shared by the files of symbolization, which finds the locations of a module's frames. */
#pragma once

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "opener.h"
#include "rpistat/code_output.h"

#define RPS_SYMBOLIZE_TEXT_MAX  4096 /* Maximum bytes of a name or file; longer texts are cut. */
#define RPS_SYMBOLIZE_DEPTH_MAX 48   /* Maximum inlined functions per frame. */

/* The frames of one module, in order of address. */
struct rps_symbolize_group {
    const struct rps_module *module;
    struct rps_module_origin origin;
    const size_t *frame;     /* Indices of the frames in the code. */
    const uint64_t *address; /* Addresses of the frames. */
    size_t count;
};

/* Return the index of the first ascending address that is >= `address`; `count` if none. */
size_t rps_symbolize_lower_bound(const uint64_t *ascending, size_t count, uint64_t address);

#define RPS_SYMBOLIZE_RECENT 1024

/* The state of symbolization: the locations found so far. */
struct rps_symbolizer {
    struct rps_arena *arena; /* Owner of the locations and their texts. */
    const struct rps_code *code;
    const struct rps_symbolize_options *options;
    struct rps_symbolize_frame {
        const struct rps_location *location;
        size_t count;
    } * frame;                                /* Locations of each frame of the code. */
    const char *recent[RPS_SYMBOLIZE_RECENT]; /* Recent texts by hash, for reuse. */
    struct rps_opener opener;
    char binary[RPS_PROCESS_FILE_PATH_SIZE]; /* Path of the module's open file; "" if unknown. */
    pid_t binary_pid;                        /* Process that sees the path; 0: rpistat. */
    int is_refused; /* 1 if processes cannot give up their rights, so no file is read. */
};

/* Replace the locations of a frame with `location`, innermost first. Texts are copied. */
void rps_symbolize_put(struct rps_symbolizer *symbolizer, size_t frame,
                       const struct rps_location *location, size_t count);

/* Set the reason for a missing name in all frames of the group that still have no location. */
void rps_symbolize_put_reason(struct rps_symbolizer *symbolizer,
                              const struct rps_symbolize_group *group, const char *reason);

/* Name frames by the open file /proc/kallsyms. For frames without a symbol, the reason is set. */
void rps_symbolize_kallsyms(struct rps_symbolizer *symbolizer,
                            const struct rps_symbolize_group *group, FILE *file);

/* Name frames by the map of a just-in-time compiler. fd: the descriptor of the open map, which this
 * function closes, or a negative errno. */
void rps_symbolize_jit(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                       int fd);

/* Name frames in a child process without rights. The source is the memory file `image`, which
 * remains open. If `image` is -1, the source is the module's ELF file, or a just-in-time compiler's
 * map. RPS_FAILED: no process. */
int rps_symbolize_file(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                       int image, struct rps_error *err);

/* --- what processes of symbolization send to their parent ------------------------------------- */

/* Send a frame's locations to the parent, where they replace earlier locations. */
void rps_symbolize_send(FILE *out, size_t index, const struct rps_location *location, size_t count);

/* Maximum size of a message, bytes. */
#define RPS_SYMBOLIZE_MESSAGE_MAX                                                                  \
    (8 + RPS_SYMBOLIZE_DEPTH_MAX * (16 + 2 * ((size_t)RPS_SYMBOLIZE_TEXT_MAX + 1)))

/* A received frame, numbered as in the sending process, and its locations. */
struct rps_symbolize_message {
    size_t index;
    size_t count;
    struct rps_location location[RPS_SYMBOLIZE_DEPTH_MAX];
};

/* Received bytes that are not yet processed. Zero the struct before use, and release it with
 * rps_symbolize_received_free. */
struct rps_symbolize_received {
    char *message; /* Owned buffer of the message. */
    size_t size;   /* Bytes of the message received so far. */
};

/* SAFETY: the parent trusts nothing that it receives. Read once and pass on complete messages;
 * `take` must check their index. Returns the number of bytes read. 0: the end, an invalid message,
 * no memory, or `take` returned a negative code. -1: nothing to read now. */
ssize_t rps_symbolize_receive(struct rps_symbolize_received *heard, int fd,
                              int (*take)(void *context, const struct rps_symbolize_message *told),
                              void *context);
void rps_symbolize_received_free(struct rps_symbolize_received *heard);

/* The files of one module. SAFETY: a process without rights reads the files, which it receives as
 * open descriptors. This process sends no paths, only a build-id or a link's name. From these, the
 * parent makes paths next to the module's file and below /usr/lib/debug. */

enum rps_symbolize_wanted {
    RPS_SYMBOLIZE_BINARY, /* The module's own file, or its just-in-time compiler's map. */
    RPS_SYMBOLIZE_DEBUG,  /* Debug information, by build-id or link. */
};

struct rps_symbolize_request {
    uint32_t wanted;                         /* A value of enum rps_symbolize_wanted. */
    uint32_t candidate;                      /* First candidate to try, from 0. */
    char build_id[2 * RPS_BUILD_ID_MAX + 1]; /* Build-id of the debug information; "" if none. */
    char link[NAME_MAX + sizeof(RPS_DEBUG_DIRECTORY) + 1];
};

struct rps_symbolize_answer {
    int32_t status;     /* 0, or a negative errno without a descriptor. */
    uint32_t candidate; /* Next candidate if this file is not the right file. */
};

/* Request a file from the parent. Returns a descriptor or a negative errno; ENODATA: no more
 * candidates. A second call with this request continues after the opened candidate. */
int rps_symbolize_request_file(int requests, struct rps_symbolize_request *request);

/* Open in the parent the first candidate, from request->candidate on, that can be opened. If
 * `image` is not -1, the memory file `image` is the module. Returns a descriptor or a negative
 * errno; ENODATA: no more candidates. */
int rps_symbolize_open(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                       int image, const struct rps_symbolize_request *request,
                       uint32_t *ret_candidate);
