/* Named shares of a part of a run: the functions or programs that the samples of each group were
 * in. The extension that takes samples finds the shares (rpistat/code_hooks.h). The names of phases
 * in texts, legends, charts and comparisons come only from these shares. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/sample.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"
#include "rpistat/run.h"
#include "rpistat/run_part.h"

/* Minimum number of samples of a group for which shares are computed. */
#define RPS_SHARES_SAMPLES_MIN 20

/* Minimum share of a name that the text lists. A smaller share would be printed as 0.0 %. */
#define RPS_SHARES_SHOWN_MIN .0005

struct rps_share_name {
    const char *name;     /* Name of a function or a program */
    const char *module;   /* Path of the module ("" for programs) */
    const char *file;     /* Source file ("": unknown) */
    int line, is_unnamed; /* Line with most samples (0: unknown); 1 if `name` is an address */
    size_t processes;     /* Number of sampled processes in the group (0: a function) */
};

/* A function or program with at least this share of a group's samples names the group. */
#define RPS_SHARES_NAME_MIN .5

/* The top names of a group's samples: functions of the program, including the kernel's work for
 * these functions. If the run recorded the whole machine, the top names are programs. If several
 * processes ran, and unnamed code has more samples in the sum of all groups than any function, the
 * top names are also programs. Otherwise the top name would be that of a library, which says
 * little. */
#define RPS_SHARES_TOP   5
#define RPS_SHARES_WAITS 3

enum rps_apart_kind {
    RPS_APART_FUNCTION,
    RPS_APART_PROGRAM,
    RPS_APART_PROGRAM_2, /* Second program, if two programs have most samples together */
    RPS_APART_CGROUP,
    RPS_APART_CALLER, /* Caller of the top function, if other groups have the same top function */
    RPS_APART_PLACE,  /* Line in the top function, if no caller distinguishes such groups; or block
                         of 64 bytes, if lines are unknown or no line distinguishes the group */
    RPS_APART_TOTAL,  /* Function with the most distinctive share in itself and its callees, if no
                         function of the program has most samples; shares include callees */
    RPS_APART_KINDS
};

/* Name that distinguishes a group from the other groups (rpistat/apart.h). */
struct rps_share_apart {
    int is_tested; /* 1 if there are other groups and enough samples; 0: `is_found` means nothing */
    int is_found;  /* 1 if a name differs by more than chance, 0 if not */
    struct rps_share_name name;
    double share, rest; /* Share of the name in the group, and in all other groups, 0 ... 1 */
};

struct rps_share_group {
    uint64_t samples;
    uint64_t weight; /* Sum of the samples' weights: their number, or time in us by latency */
    int by_program;  /* 1 if the top names are programs */
    int count;       /* Number of top names */
    struct rps_share_top {
        struct rps_share_name name;
        double share;  /* Share of the group's samples, 0 ... 1 (NaN: too few samples) */
        uint64_t seen; /* Weight of its samples */
    } top[RPS_SHARES_TOP];
    struct rps_share_top program; /* Program with nearly all samples, if the top names are functions
                                     although most of the code has no symbols */
    double unnamed;     /* Share of samples in code without symbols (NaN: too few samples) */
    double top_rest;    /* Share of top[0]'s name in all other groups (NaN: too few samples) */
    const char *other;  /* As in struct rps_profile, if the group is a window; otherwise NULL */
    int function_count; /* Number of functions with names, if the top names are programs */
    struct rps_share_top function[RPS_SHARES_TOP];
    struct rps_share_apart apart[RPS_APART_KINDS];
    struct rps_share_apart
        unsure; /* If no name is found, one that differs, but perhaps by chance */
    struct rps_share_apart chance; /* If no name is found, a function whose share with its callees
                                      is larger, but perhaps by chance; is_tested 0: too few blocks
                                      for the test */
    int is_alike;     /* 1 if most samples of every group are in the same function or program */
    double waited_s;  /* Time off the CPU in functions, summed over threads, if recorded */
    double unknown_s; /* Time off the CPU in waits of unknown cause (0 if there are other groups) */
    int wait_count;
    struct rps_share_top wait[RPS_SHARES_WAITS]; /* Top waits; each share is relative to waited_s */
};

#define RPS_SHARE_UNKNOWN "[unknown]" /* First word of the names that code without a module gets */

/* CPU time of a run without any sample. */
struct rps_unsampled {
    double cpu_s;                /* CPU time in s (0: none, or possibly only chance) */
    uint64_t processes, threads; /* Numbers without samples; threads exclude each process's first */
    size_t count;
    struct rps_unsampled_program {
        const char *name;
        uint64_t processes, threads;
        double cpu_s;
    } * program; /* Programs without samples, largest CPU time first */
};

/* Programs or control groups (path in `module`) with most samples; `all` is the number of all. */
#define RPS_SHARES_OWNERS 10

struct rps_share_owners {
    size_t count, all;
    struct rps_share_owner {
        struct rps_share_name name;
        uint64_t samples;
    } owner[RPS_SHARES_OWNERS];
};

struct rps_part_shares {
    struct rps_sampling sampling;   /* Sampling of the run */
    struct rps_unsampled unsampled; /* CPU time of the run without samples */
    uint64_t sample_count, weight;  /* Samples of all groups, and the sum of their weights */
    size_t group_count, name_count;
    struct rps_share_group *group;
    struct rps_share_owners programs, cgroups; /* Programs and control groups with most samples,
                                                  if the whole machine was recorded */
    struct rps_share_owners waits;             /* Programs that waited for a CPU, by time in us */
    uint64_t wait_us;                          /* Wait of all programs in us (0: unknown) */
    struct rps_share_name *name;               /* Names of the functions of the run */
    uint64_t *samples;                         /* Weights: samples[group * name_count + name] */
};

/* Find the shares of each group of `count` parts, into ret[count], in the arena. Return 1, or 0
 * without a result if no samples were taken. One call for several parts takes less time than one
 * call per part. Errors come from the store. */
int rps_part_shares_find(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                         struct rps_part_shares *ret, struct rps_error *err);

/* Find the shares of the samples in the phases, with one group per label. */
int rps_part_shares_of_labels(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                              const struct rps_phases *phases, const struct rps_cpus *cpus,
                              struct rps_part_shares *ret, struct rps_error *err);

/* Copy a name and its texts into the arena. */
struct rps_share_name rps_share_name_keep(struct rps_arena *arena,
                                          const struct rps_share_name *name);

/* Return samples / all, or NaN if `all` is too small. */
double rps_shares_part(uint64_t samples, uint64_t all);

/* Explains a name in brackets, such as "[libm.so.6]", below a text that has one. */
#define RPS_SHARE_UNNAMED_NOTE "[...]: code without symbols of a module"

/* The name of JIT-compiled code without a name. */
#define RPS_SHARE_JIT "[JIT code]"

/* Return 1 if a text has a name that RPS_SHARE_UNNAMED_NOTE explains: at its beginning or after a
 * space. */
int rps_share_has_brackets(const char *text);

/* Return an explanation of this name for a line below a text: how to have names, unless the run has
 * names of other code in the same map. */
const char *rps_share_jit_note(const struct rps_run *run, const struct rps_part_shares *shares);

/* Format a share as "9 %". A share above 0 and below 1 % becomes "under 1 %". Returns ret. */
const char *rps_shares_percent_text(char *ret, size_t size, double share);

/* Format a name for a sentence: "solve (three.c:40)", "solve" if the line is unknown, or "cc1 (31
 * processes)". In a text longer than `size` (128 or more), only the name is cut. Return ret. */
char *rps_share_name_text(char *ret, size_t size, const struct rps_share_name *name);

/* Write which code a group runs, for a sentence. If most samples are in one function: "in solve
 * (three.c:40)". If a name has a larger share beyond chance: "9 % of samples in soffice.bin
 * (elsewhere 0 %)". If chance may explain it: "26 % of samples in scan (perhaps by chance;
 * elsewhere: 0 %)". Otherwise the text has the largest share: "34 % of samples in cc1 (elsewhere
 * 31 %)", or is "no program or function stands out". For fewer than 20 samples, the text is "12 of
 * 18 samples in solve" if these are most of at least 5, otherwise "". A window is described by
 * smaller shares, too, and is also named if chance could explain the difference: "in sort (98 % of
 * samples, rest of the run: 19 %)"; if its code does not differ, the text is "". A clause that does
 * not fit into `size` is left out. Return ret. */
#define RPS_SHARE_TEXT_SIZE 1024
char *rps_share_group_text(char *ret, size_t size, const struct rps_share_group *group);

/* Return 1 if a name has a larger share in the group than elsewhere, beyond chance. */
int rps_share_is_positive(const struct rps_share_group *group);

/* Return 1 if the names of the group were compared with those of other groups, and chance is
 * known. */
int rps_share_is_tested(const struct rps_share_group *group);

/* Return 1 if a text from rps_share_group_text says that no function stands out. */
int rps_share_is_none(const char *text);

/* Format up to `most` waits for a sentence, longest wait first: "waited 3.05 s in hold_the_lock
 * (lock.c:7), 1.00 s in wait_pipe", or "" if there are no known waits. Return ret. */
char *rps_share_waits_text(char *ret, size_t size, const struct rps_share_group *group, int most);

/* Format a name for a group: the function or the program that half of its samples were in. If one
 * program has nearly all samples, and one function has half of the samples, the name is "program:
 * function". If another group is in the same function, the name has the place in it, too, or is
 * "caller: function". If no function with a name has half of the samples, the name is the most
 * distinctive program or function with a fifth of them. If is_of_several is 1, the name is compared
 * with those of other runs: it has no place, and half of the samples. A group without a name gets
 * "". If the text is too long, the first name is shortened before the second. Return ret. */
char *rps_share_group_name(char *ret, size_t size, const struct rps_share_group *group,
                           int is_of_several);

/* Return the number of samples that should be taken in cpu_s of CPU time. If only user code may be
 * sampled ("cpu-clock:u"), the number is an upper limit. For a whole run, time in the kernel is
 * subtracted first, if Linux reported this time. Return NaN if the number is unknown because
 * samples are taken after a number of events, not by time. */
double rps_samples_expected(const struct rps_sampling *sampling, double cpu_s, int is_whole);

/* Format a number of samples: "7 of at most 53 samples" or "9 samples". Return ret. */
char *rps_samples_got_text(char *ret, size_t size, const struct rps_sampling *sampling,
                           uint64_t samples, double cpu_s, int is_whole);

/* Return 1 if the expected number of samples is an upper limit. */
int rps_samples_at_most(const struct rps_sampling *sampling, double cpu_s, int is_whole);

/* Return the CPU time of the whole run, in s, that was in the kernel, where sampling was not
 * permitted. Return 0 if the time is unknown. */
double rps_samples_kernel_s(const struct rps_sampling *sampling, double cpu_s);

/* Format the shares of the run's CPU time that were not sampled: "[not sampled: 1,800 short
 * processes: md5sum 30 %, tr 29 %]", "[in the kernel, not sampled here: 87 %]", or "" if all time
 * was sampled. The text is a separate line below the shares of the whole run. Return ret. */
char *rps_unsampled_text(char *ret, size_t size, const struct rps_unsampled *unsampled,
                         double cpu_s);
char *rps_samples_kernel_text(char *ret, size_t size, const struct rps_sampling *sampling,
                              double cpu_s);

/* Return 1 for clearly too few samples (fewer than .8 of `expected`), 0 if `expected` is small. */
int rps_samples_are_short(uint64_t samples, double expected);

/* If there are too few samples, format a sentence with the likely reason, or "". Return ret. */
char *rps_samples_short_text(char *ret, size_t size, const struct rps_sampling *sampling,
                             uint64_t samples, double cpu_s, int is_whole);

/* Return the segments of a part as phases whose labels are the groups. The gaps between the
 * segments, from period `first` to `last`, are phases with the label `rest`. Segments must be in
 * order; an overlap with an earlier segment is left out. The phases are in the arena. The caller
 * sets label_count and times. */
struct rps_phases rps_part_words_phases(struct rps_arena *arena, const struct rps_run_part *part,
                                        uint64_t first, uint64_t last, int rest);
