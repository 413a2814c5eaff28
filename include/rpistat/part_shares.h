/*
 * Named shares of a part of a run: the functions, or programs, that the samples of each of its
 * groups were in. The module that takes samples finds them (rpistat/wing.h). Text, legends, charts
 * and comparisons name phases only through these.
 */
#ifndef RPISTAT_PART_SHARES_H
#define RPISTAT_PART_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/sample.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"
#include "rpistat/run_part.h"

struct rps_reader;

/* Fewer samples give no shares. */
#define RPS_SHARES_SAMPLES_MIN 20

struct rps_share_name {
    const char *name;     /* a function, or a program */
    const char *module;   /* path; "" for programs */
    const char *file;     /* of the source; "": unknown */
    int line, is_unnamed; /* of most samples, 0: unknown; 1: `name` is an address */
    size_t processes;     /* of a program that had samples there; 0: a function */
};

/* A group is named by the function or program that has at least this share of its samples. */
#define RPS_SHARES_NAME_MIN .5

/* The top names of a group's samples: functions of the program, including the kernel's work for
 * them. They are programs for a run of a machine. They are also programs if several processes ran,
 * and code without names has more of all groups than any function: a library's name means
 * little. */
#define RPS_SHARES_TOP   5
#define RPS_SHARES_WAITS 3

enum rps_apart_kind {
    RPS_APART_FUNCTION,
    RPS_APART_PROGRAM,
    RPS_APART_PROGRAM_2, /* found if two programs are most of the group */
    RPS_APART_CGROUP,
    RPS_APART_CALLER, /* of the top function, if other groups have most samples in it too */
    RPS_APART_KINDS
};

/* The name that sets a group apart from the other groups (rpistat/apart.h). */
struct rps_share_apart {
    int is_tested; /* 0: unknown; there were too few samples, or no other groups */
    int is_found;  /* 0: no name differs beyond chance */
    struct rps_share_name name;
    double share, rest; /* of the group's samples, and of those of all other groups, 0 ... 1 */
};

struct rps_share_group {
    uint64_t samples;
    int by_program; /* 1: top has programs */
    int count;      /* of top */
    struct rps_share_top {
        struct rps_share_name name;
        double share; /* of the group's samples, 0 ... 1; NaN: too few samples */
    } top[RPS_SHARES_TOP];
    int function_count; /* if top has programs: functions that have names */
    struct rps_share_top function[RPS_SHARES_TOP];
    struct rps_share_apart apart[RPS_APART_KINDS];
    int is_alike;    /* 1: all groups have most samples in the same name */
    double waited_s; /* time of all threads off the CPU, in functions, if the run has these */
    double
        unknown_s; /* off the CPU in unknown waits, of the whole run; 0 if there are other groups */
    int wait_count;
    struct rps_share_top wait[RPS_SHARES_WAITS]; /* share: of waited_s */
};

#define RPS_SHARE_UNKNOWN "[unknown]" /* begins the names of code without a module */

/* CPU time of a run that no sample represents. */
struct rps_unsampled {
    double cpu_s;                /* s; 0: none, or so little that it may be chance */
    uint64_t processes, threads; /* that ended without a sample; threads: except the first ones */
    size_t count;
    struct rps_unsampled_program {
        const char *name;
        uint64_t processes, threads;
        double cpu_s;
    } * program; /* most first */
};

/* Programs or control groups, whose paths are `module`: those with most samples, out of `all`. */
#define RPS_SHARES_OWNERS 10

struct rps_share_owners {
    size_t count, all;
    struct rps_share_owner {
        struct rps_share_name name;
        uint64_t samples;
    } owner[RPS_SHARES_OWNERS];
};

struct rps_part_shares {
    struct rps_sampling sampling;   /* of the run */
    struct rps_unsampled unsampled; /* of the run */
    uint64_t sample_count;          /* of all groups */
    size_t group_count, name_count;
    struct rps_share_group *group;
    struct rps_share_owners programs, cgroups; /* of all groups, if the run is of a machine */
    struct rps_share_owners waits;             /* programs that waited for a CPU in the run; us */
    uint64_t wait_us;                          /* of all programs; 0: unknown */
    struct rps_share_name *name;               /* the functions of the run */
    uint64_t *samples;                         /* samples[group * name_count + name] */
};

/* Find the shares of each group of these parts, into ret[count], in the arena. Return 1, or 0 and
 * nothing if no samples were taken. Several parts are read together in less time. Errors: the
 * store's. */
int rps_part_shares_find(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                         struct rps_part_shares *ret, struct rps_error *err);

/* Find the shares of phases, with one group per label. */
int rps_part_shares_of_labels(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                              const struct rps_phases *phases, const struct rps_cpus *cpus,
                              struct rps_part_shares *ret, struct rps_error *err);

/* Copy a name with its texts into the arena. */
struct rps_share_name rps_share_name_keep(struct rps_arena *arena,
                                          const struct rps_share_name *name);

/* Return the share, 0 ... 1, of so many samples in all; NaN if these are too few. */
double rps_shares_part(uint64_t samples, uint64_t all);

/* Format a share as "9 %". A share above 0 is at least "under 1 %". Returns ret. */
const char *rps_shares_percent_text(char *ret, size_t size, double share);

/* Format "solve (three.c:40)", without the line if unknown, or "cc1 (31 processes)", for a
 * sentence. A name that does not fit `size`, 128 or more, is cut, but not the line; returns ret. */
char *rps_share_name_text(char *ret, size_t size, const struct rps_share_name *name);

/*
 * Write which code sets a group apart, for a sentence: "in solve (three.c:40)" if most samples are
 * in it. If a name differs beyond chance: "9 % of samples in soffice.bin (elsewhere 0 %)". If none
 * does: "no program or function stands out". A group that could not be tested has its largest
 * share: "34 % of samples in cc1 (31 processes)". "" for too few samples. A clause that does not
 * fit into size is left out; returns ret.
 */
#define RPS_SHARE_TEXT_SIZE 1024
char *rps_share_group_text(char *ret, size_t size, const struct rps_share_group *group);

/* Format "waited 3.05 s in hold_the_lock (lock.c:7)", ", 1.00 s in wait_pipe", longest first, up to
 * so many; "": unknown. For a sentence; returns ret. */
char *rps_share_waits_text(char *ret, size_t size, const struct rps_share_group *group, int most);

/* Format a name for a group: the function, or the program, that half of its samples were in. It is
 * "program: function" if one program has nearly all, and the function half of them. The text is ""
 * if there is none. Cut to size; returns ret. */
char *rps_share_group_name(char *ret, size_t size, const struct rps_share_group *group);

/* Return the number of samples that so much CPU time should have. If only user code may be sampled
 * ("cpu-clock:u"), the number is an upper limit. For a whole run it leaves out the kernel's part,
 * as far as Linux reported it. NaN: unknown, for samples of other events, by a threshold. */
double rps_samples_expected(const struct rps_sampling *sampling, double cpu_s, int is_whole);

/* Format "7 of at most 53 samples", "9 samples"; returns ret. */
char *rps_samples_got_text(char *ret, size_t size, const struct rps_sampling *sampling,
                           uint64_t samples, double cpu_s, int is_whole);

/* Return 1 if the expected number is an upper limit. */
int rps_samples_at_most(const struct rps_sampling *sampling, double cpu_s, int is_whole);

/* Return the part of the whole run's CPU time that was in the kernel and may not be sampled, s; 0:
 * none, or unknown. */
double rps_samples_kernel_s(const struct rps_sampling *sampling, double cpu_s);

/* Format parts of the run's CPU time, "[not sampled: 1,800 short processes: md5sum 30 %, tr 29 %]"
 * and "[in the kernel, not sampled here: 87 %]", or "" if there is none. For a line of its own
 * below shares of the whole run; return ret. */
char *rps_unsampled_text(char *ret, size_t size, const struct rps_unsampled *unsampled,
                         double cpu_s);
char *rps_samples_kernel_text(char *ret, size_t size, const struct rps_sampling *sampling,
                              double cpu_s);

/* Return 1 if samples are clearly too few, below .8; 0 if few are expected: that is chance. */
int rps_samples_are_short(uint64_t samples, double expected);

/* Format a sentence with the likely reason if they are too few, otherwise "". Return ret. */
char *rps_samples_short_text(char *ret, size_t size, const struct rps_sampling *sampling,
                             uint64_t samples, double cpu_s, int is_whole);

#endif
