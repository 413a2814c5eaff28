/* The code that ran, as a document. */
#ifndef RPISTAT_CODE_OUTPUT_H
#define RPISTAT_CODE_OUTPUT_H

#include "rpistat/document.h"
#include "rpistat/off_cpu.h"
#include "rpistat/run.h"
#include "rpistat/run_code.h"
#include "rpistat/shares.h"

/* Time of all threads in the phases of a class. */
struct rps_off_cpu_label {
    uint64_t time_us, waited_us;
    struct rps_shares shares; /* of functions, by that time */
};

struct rps_code_output {
    const struct rps_run *run;
    const struct rps_code *code;
    const char *part; /* the part of the run: "phase B"; NULL: all of it */
    int is_tree;      /* calls, outermost first, instead of the table */
    enum rps_shares_by by;
    const struct rps_shares *shares;         /* of the table */
    const struct rps_calls *calls;           /* of the tree; NULL */
    size_t at_most;                          /* rows of the table; 0: all */
    const struct rps_shares *programs;       /* for the text; NULL */
    struct rps_part_time time;               /* of the part */
    int is_whole;                            /* the part is the whole run, on all CPUs */
    const struct rps_unsampled *unsampled;   /* of the run */
    const struct rps_part_shares *groups;    /* of each class; NULL: not shown */
    const struct rps_part_time *groups_time; /* of each class */
    const struct rps_off_cpu *off_cpu; /* NULL: samples; otherwise shares and calls are of its time,
                                          moved to functions, in the tree to reasons */
    const struct rps_off_cpu_share *waits; /* of each share, in that case */
    const struct rps_off_cpu_label *off_cpu_label;
    size_t off_cpu_labels; /* 0: not shown */
    int is_read;           /* 1: text, without the members for programs only, which are many */
    int width;             /* of the title, in characters */
};

/* "function", "line", "module", "process", "thread", "program", "cgroup"; then NULL. */
extern const char *const rps_code_by_names[];

/* Put everything into an empty document. */
void rps_code_blocks(struct rps_document *document, const struct rps_code_output *output);

#endif
