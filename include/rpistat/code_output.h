/* Output of a run's code as a document. */
#pragma once

#include <stddef.h>

#include "rpistat/code.h"
#include "rpistat/document.h"
#include "rpistat/error.h"
#include "rpistat/export.h"
#include "rpistat/latency.h"
#include "rpistat/off_cpu.h"
#include "rpistat/run.h"
#include "rpistat/shares.h"
#include "rpistat/code_hooks.h"

struct rps_code_output {
    const struct rps_run *run;
    const struct rps_code *code;
    const char *part; /* Part of the run, such as "phase B" (NULL: the whole run) */
    int is_tree;      /* 1: tree of calls, outermost first; 0: table */
    enum rps_shares_by by;
    const struct rps_shares *shares;         /* Shares that are the rows of the table */
    const struct rps_calls *calls;           /* Calls of the tree, or NULL */
    size_t at_most;                          /* Maximum number of rows of the table (0: all) */
    const struct rps_shares *programs;       /* Shares of programs, only for users' text, or NULL */
    struct rps_part_time time;               /* Time of the part of the run */
    int is_whole;                            /* 1 if the part is the whole run on all CPUs */
    const struct rps_unsampled *unsampled;   /* CPU time of the run that no sample represents */
    const struct rps_part_shares *groups;    /* Shares of each phase class (NULL: not shown) */
    const struct rps_part_time *groups_time; /* Time of each phase class */
    const struct rps_off_cpu *off_cpu;       /* Time off the CPU that shares and calls show
                                                instead of samples (NULL: samples are shown). The
                                                time is attributed to functions in the table, and
                                                to reasons in the tree. */
    const struct rps_off_cpu_share *waits;   /* Time off the CPU of each share, if off_cpu is set */
    const struct rps_latency *latency;       /* Weights of the samples, in us (NULL: none) */
    int is_time;              /* 1: weights of shares and calls are us; 0: numbers of samples */
    uint64_t samples, weight; /* Number of samples of the part, and their weight */
    const uint64_t *cpu;      /* Samples of each share, if latency is set */
    int is_read;              /* 1: output is text for users, without members only for programs */
    int width;                /* Maximum characters of the title */
};

/* Values of --by: "function", "line", "module", "process", "thread", "program", "cgroup"; NULL. */
extern const char *const rps_code_by_names[];

/* Put all output into an empty document. */
void rps_code_blocks(struct rps_document *document, const struct rps_code_output *output);

/* The extension for code, for use by cli: functions for the core, and parts of the extension's
 * command. */

extern const struct rps_code_hooks rps_code_hooks;

/* Export formats of the extension, including the formats of `rpistat code`. */
RPS_EXPORT_SAMPLE_FORMATS(RPS_EXPORT_DECLARE)

/* Symbolization finds functions, files and lines of frames, on the machine that has the files.
 * SAFETY: ELF files may be hostile. elfutils reads them in processes with limits, one per module.
 */

struct rps_symbolize_options {
    /* 1: module paths may be opened, because the recorder itself has just seen the files. 0: module
     * paths come from a store, and are not opened. Only files found by build-id (/usr/lib/debug,
     * debuginfod if set up), and files and directories of `binary`, are used. */
    int opens_paths;
    const char *const *binary; /* Files, or directories that contain modules (borrowed) */
    size_t binary_count;
};

/* Name the frames of `code`: replace its locations by new locations in the arena. Every frame gets
 * at least one location. If no name is found, the location is RPS_LOCATION_NONE with the reason.
 * Locations of a simulation (RPS_LOCATION_MAP) are kept. With opens_paths 0, a frame also keeps its
 * old name if no new name is found. Return RPS_FAILED if no process can be started; the code is
 * then unchanged. Return 1 if no file was read because root cannot become another user here. The
 * text rps_symbolize_refused explains result 1 to users. */
int rps_symbolize(struct rps_arena *arena, struct rps_code *code,
                  const struct rps_symbolize_options *options, struct rps_error *err);

/* Sentence for users about result 1 of rps_symbolize. */
extern const char rps_symbolize_refused[];
