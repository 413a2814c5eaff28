/* Declarations shared by the files of the tracker. */
#pragma once

#include "record_functions.h"

#include <stddef.h>
#include <stdint.h>

#include "intern.h"
#include "record_tracker.h"
#include "unwind_process.h"
#include "rpistat/sample.h"

/* Functions of a simulation, by address. */

struct rps_simulated_symbol {
    uint64_t start, end; /* The range includes start and excludes end. */
    char *name;          /* Owned; `file` is owned too, and "" if unknown. */
    char *file;
    int line;
};

struct rps_simulated {
    struct rps_simulated_symbol *symbol; /* Symbols in order of start. */
    size_t count;
};

void rps_simulated_free(struct rps_simulated *simulated);

/* Add a symbol. Returns a negative value if there is no memory. */
int rps_simulated_add(struct rps_simulated *simulated, const struct rps_sample *sample);

/* Return the last symbol that begins at or before the address and covers it; otherwise NULL. */
const struct rps_simulated_symbol *rps_simulated_find(const struct rps_simulated *simulated,
                                                      uint64_t address);

struct rps_tracker_module {
    struct rps_intern_key key; /* Hash of other members, and number of earlier modules with this
                                  hash. */
    enum rps_module_kind kind;
    char *path; /* Path, owned by the module. */
    char build_id[2 * RPS_BUILD_ID_MAX + 1];
    struct rps_module_origin origin; /* Process and map in which the module was last seen. */
    int is_c_library;
    int has_reason; /* 1 if a reason for missing names was given. */
    int is_hostile; /* 1 if the file crashed the process that unwinds: never read it again. */
};

/* The result of symbolization for a frame. */
enum rps_tracker_name {
    RPS_TRACKER_UNASKED,
    RPS_TRACKER_NAMELESS, /* The frame has no name. */
    RPS_TRACKER_NAMED,
    RPS_TRACKER_BEGINNING, /* The frame is named, and threads begin in its function. */
};

struct rps_tracker_frame {
    struct rps_intern_key key; /* Module and address. */
    uint64_t ends;             /* Samples with this outermost frame that do not surely reach the
                                  thread's start (is_whole). */
    uint64_t ends_in_library;  /* Part of `ends`: this frame is in the C library, and calls a
                                  function of another module, but not of the kernel. */
    enum rps_tracker_name name;
};

/* An address that was seen, and has no frame of its own yet. */
struct rps_tracker_address {
    struct rps_intern_key key; /* Module and address. */
    uint64_t function;         /* Start of the address's function; 0: unknown. */
    int64_t frame;             /* Number + 1 of the address's frame as a caller; 0: none. */
    int innermost;             /* Samples with this innermost address, up to
                                  RPS_TRACKER_OWN_SAMPLES. */
};

/* A name or path with its own number. Items with a text begin with this struct. */
struct rps_tracker_text {
    struct rps_intern_key key; /* Hash of the text, and number of earlier texts with this hash. */
    char *text;                /* Owned copy of the text. */
};

struct rps_tracker_program {
    struct rps_tracker_text name;
    struct rps_program told;
    int is_changed; /* 1 if changed since the last report. */
};

struct rps_tracker_cgroup {
    struct rps_tracker_text path;
    int is_reported; /* 1 once a task in this group was reported. */
};

struct rps_tracker {
    struct rps_tracker_sink sink;
    int64_t start_ns;
    struct rps_intern module, frame;   /* Tables of struct rps_tracker_module and struct
                                          rps_tracker_frame. */
    struct rps_intern address;         /* Table of struct rps_tracker_address. */
    struct rps_intern stack;           /* Items have only a key: parent, frame. */
    struct rps_intern process, thread; /* Tables of structs in record_tracker.c. */
    struct rps_intern program;         /* Table of struct rps_tracker_program. */
    struct rps_intern cgroup;          /* Table of struct rps_tracker_cgroup. */
    struct rps_intern folded;          /* Table of struct rps_tracker_text, for shared tasks. */
    const char *proc;                  /* /proc, if control groups are read, or NULL. */
    int64_t first_ended, last_ended;   /* Ended threads in order of end. */
    size_t ended_count;                /* Number of ended threads. */
    struct rps_simulated simulated;
    struct rps_kernel_functions kernel;
    pid_t pid;                             /* Process of the current sample. */
    int64_t only_module[RPS_MODULE_KINDS]; /* Module number for kinds with a single module; -1:
                                              none. */
    int64_t task_count;
    int64_t complete_ns; /* Time since which all switches are read; 0: since the thread's start. */
    int lacks_switches;  /* 1 while no switches are read. */
    int64_t before_cpu_ns, before_queue_ns; /* The workload's CPU and queue time before its exec. */
    const char *queues_proc;                /* Path of /proc; NULL: queues were never read. */
    int64_t queues_ns;                      /* CLOCK_MONOTONIC at the first reading of queues. */
    size_t next_check;                      /* Next thread to check. */
    int64_t unknown_ns;                     /* Unknown waits of ended threads. */
    struct rps_unwinder unwinder;
    size_t asked; /* Frames whose name was looked up. */
    uint64_t samples, complete, lost, unmapped;
    uint64_t ends_complete; /* Sum of rps_tracker_complete_ends of all frames. */
};

/* The frames of a sample, the innermost first. */
struct rps_tracker_chain {
    int64_t frame[RPS_SAMPLE_DEPTH_MAX];
    size_t count;
    int is_cut;   /* 1 if the sample has more frames. */
    int has_gap;  /* 1 if a caller is or may be missing. */
    int is_whole; /* 1 if the chain surely reaches the thread's start. */
};

struct rps_mapped;
struct rps_space;

/* Find a sample's chain in a process with the maps of `space`. Negative: no memory. */
int rps_tracker_find_chain(struct rps_tracker *tracker, const struct rps_sample *sample,
                           const struct rps_space *space, struct rps_tracker_chain *chain);

/* Return a copy of a module for use outside the tracker, which owns the path. */
struct rps_module rps_tracker_module(const struct rps_tracker *tracker, int64_t number);

/* Add the module of a mapped file with a build-id, if the module is new. The build-id is part of
 * the workload's environment, even if the module has no samples. */
void rps_tracker_see_mapped(struct rps_tracker *tracker, struct rps_mapped *mapped);

/* Return the number of the chain's stack. If the stack is new, add it. Negative: no memory. */
int64_t rps_tracker_add_stacks(struct rps_tracker *tracker, const struct rps_tracker_chain *chain);

/* Count how the chain ends, for rps_tracker_complete_ends. */
void rps_tracker_count_end(struct rps_tracker *tracker, const struct rps_tracker_chain *chain);

/* Return how many samples that end with the frame have a complete stack, which reaches to where the
 * thread began. The number follows from the frame's name. If the frame has no name, the number
 * follows from how the frame was called. */
uint64_t rps_tracker_complete_ends(const struct rps_tracker_frame *frame);
