/* What the files of the tracker share. */
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
    int has_reason; /* why frames of it have no names: told of one */
    int is_hostile; /* the process that unwinds has died of its file: it is not read again */
};

/* What naming has told of a frame. */
enum rps_tracker_name {
    RPS_TRACKER_UNASKED,
    RPS_TRACKER_NAMELESS, /* there is no name */
    RPS_TRACKER_NAMED,
    RPS_TRACKER_BEGINNING, /* named, and a function in which threads begin */
};

struct rps_tracker_frame {
    struct rps_intern_key key; /* module, address */
    uint64_t ends;             /* samples of which it is the outermost frame, and not known to be
                                   where the thread began */
    uint64_t ends_in_library;  /* of them: it is the C library's, and called another module */
    enum rps_tracker_name name;
};

/* An address that was seen, and is no frame of its own yet. */
struct rps_tracker_address {
    struct rps_intern_key key; /* module, address */
    uint64_t function;         /* where its function begins; 0: not known */
    int64_t frame; /* that it is counted as but when it is innermost, plus one; 0: none yet */
    int innermost; /* so often it was, up to RPS_TRACKER_OWN_SAMPLES */
};

/* A name, or path, that is told apart from others: what such items begin with. */
struct rps_tracker_text {
    struct rps_intern_key key; /* hash of the text, and how many others have the same */
    char *text;                /* owned */
};

struct rps_tracker_program {
    struct rps_tracker_text name;
    struct rps_program told;
    int is_changed; /* since it was told */
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
    struct rps_intern folded;          /* struct rps_tracker_text: tasks that stand for several */
    const char *proc;                  /* where processes' control groups are read; NULL: nowhere */
    int64_t first_ended, last_ended;   /* numbers of threads, in order of their ends, */
    size_t ended_count;                /* of so many */
    struct rps_simulated simulated;
    struct rps_kernel_functions kernel;
    pid_t pid;                             /* of the sample that is being taken */
    int64_t only_module[RPS_MODULE_KINDS]; /* of the kinds that have but one; -1: not yet */
    int64_t task_count;
    int64_t complete_ns; /* all switches are read since then; 0: since the threads began */
    int lacks_switches;  /* none are read at present */
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

/* The chain of a sample, of a process with these maps. Negative without memory. */
int rps_tracker_find_chain(struct rps_tracker *tracker, const struct rps_sample *sample,
                           const struct rps_space *space, struct rps_tracker_chain *chain);

/* A module as others see it; its path stays the tracker's. */
struct rps_module rps_tracker_module(const struct rps_tracker *tracker, int64_t number);

/* Its stack's number; negative without memory. */
int64_t rps_tracker_add_stacks(struct rps_tracker *tracker, const struct rps_tracker_chain *chain);

/* Count how it ends, for rps_tracker_complete_ends. */
void rps_tracker_count_end(struct rps_tracker *tracker, const struct rps_tracker_chain *chain);

/* Of the samples that end with the frame, those whose stack reaches to where the thread began: by
 * its name, and where none is known by how it was called. */
uint64_t rps_tracker_complete_ends(const struct rps_tracker_frame *frame);

#endif
