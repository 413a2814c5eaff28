/* Declarations shared by the files of the tracker. */
#ifndef RPISTAT_CODE_TRACKER_PARTS_H
#define RPISTAT_CODE_TRACKER_PARTS_H

#include "functions.h"
#include "intern.h"
#include "tracker.h"
#include "simulated.h"
#include "unwinder.h"

struct rps_tracker_module {
    struct rps_intern_key key; /* hash of the rest, and how many others have the same */
    enum rps_module_kind kind;
    char *path; /* owned */
    char build_id[2 * RPS_BUILD_ID_MAX + 1];
    struct rps_module_origin origin; /* where it was seen last */
    int is_c_library;
    int has_reason; /* it was given why frames of it have no names */
    int is_hostile; /* the process that unwinds has died of its file, which is not read again */
};

/* The result of naming for a frame. */
enum rps_tracker_name {
    RPS_TRACKER_UNASKED,
    RPS_TRACKER_NAMELESS, /* without a name */
    RPS_TRACKER_NAMED,
    RPS_TRACKER_BEGINNING, /* named, and a function in which threads begin */
};

struct rps_tracker_frame {
    struct rps_intern_key key; /* module, address */
    uint64_t ends;             /* samples of which it is the outermost frame, and not known to be
                                   where the thread began */
    uint64_t ends_in_library;  /* of them: in the C library, called from another module */
    enum rps_tracker_name name;
};

/* An address that was seen, and has no frame of its own yet. */
struct rps_tracker_address {
    struct rps_intern_key key; /* module, address */
    uint64_t function;         /* where its function begins; 0: not known */
    int64_t frame;             /* its frame when it is not innermost, plus one; 0: none yet */
    int innermost;             /* times that it was innermost, up to RPS_TRACKER_OWN_SAMPLES */
};

/* A name or path that is kept apart from others. Such items begin with it. */
struct rps_tracker_text {
    struct rps_intern_key key; /* hash of the text, and how many others have the same */
    char *text;                /* owned */
};

struct rps_tracker_program {
    struct rps_tracker_text name;
    struct rps_program told;
    int is_changed; /* since it was reported */
};

struct rps_tracker_cgroup {
    struct rps_tracker_text path;
    int is_told; /* with the first task in it */
};

struct rps_tracker {
    struct rps_tracker_sink sink;
    int64_t start_ns;
    struct rps_intern module, frame;   /* struct rps_tracker_module, rps_tracker_frame */
    struct rps_intern address;         /* struct rps_tracker_address */
    struct rps_intern stack;           /* key alone: parent, frame */
    struct rps_intern process, thread; /* tracker.c has them */
    struct rps_intern program;         /* struct rps_tracker_program */
    struct rps_intern cgroup;          /* struct rps_tracker_cgroup */
    struct rps_intern folded;          /* struct rps_tracker_text: tasks that represent several */
    const char *proc;                  /* where processes' control groups are read; NULL: nowhere */
    int64_t first_ended, last_ended;   /* numbers of threads, in order of their ends */
    size_t ended_count;                /* their number */
    struct rps_simulated simulated;
    struct rps_kernel_functions kernel;
    pid_t pid;                             /* of the current sample */
    int64_t only_module[RPS_MODULE_KINDS]; /* of the kinds that have only one; -1: not yet */
    int64_t task_count;
    int64_t complete_ns; /* all switches are read since then; 0: since the threads began */
    int lacks_switches;  /* no switches are read at present */
    int64_t before_cpu_ns, before_queue_ns; /* of the workload, before its exec */
    const char *queues_proc;                /* as /proc; NULL: queues were never read */
    int64_t queues_ns;                      /* CLOCK_MONOTONIC, when they were read first */
    size_t next_check;                      /* the thread that is checked next */
    int64_t unknown_ns;                     /* unknown waits of threads that have ended */
    struct rps_unwinder unwinder;
    size_t asked; /* frames whose name was looked for */
    uint64_t samples, complete, lost, unmapped;
    uint64_t ends_complete; /* of all frames: rps_tracker_complete_ends */
};

/* The frames of a sample, the innermost first. */
struct rps_tracker_chain {
    int64_t frame[RPS_SAMPLE_DEPTH_MAX];
    size_t count;
    int is_cut;   /* there are more */
    int has_gap;  /* or may have: a caller is missing */
    int is_whole; /* it is known to reach to where the thread began */
};

struct rps_space;

/* Find the chain of a sample, in a process with these maps. Negative: no memory. */
int rps_tracker_find_chain(struct rps_tracker *tracker, const struct rps_sample *sample,
                           const struct rps_space *space, struct rps_tracker_chain *chain);

/* Return a module as others see it; the tracker owns its path. */
struct rps_module rps_tracker_module(const struct rps_tracker *tracker, int64_t number);

/* Return the number of the chain's stack, added if new; negative: no memory. */
int64_t rps_tracker_add_stacks(struct rps_tracker *tracker, const struct rps_tracker_chain *chain);

/* Count how the chain ends, for rps_tracker_complete_ends. */
void rps_tracker_count_end(struct rps_tracker *tracker, const struct rps_tracker_chain *chain);

/* Return how many samples that end with the frame have a stack that reaches to where the thread
 * began. The frame's name shows that; if it has none, how it was called does. */
uint64_t rps_tracker_complete_ends(const struct rps_tracker_frame *frame);

#endif
