/*
 * Which code ran, for people (tables, trees of calls) and for programs (JSON, CSV).
 */
#ifndef RPISTAT_CODE_OUTPUT_H
#define RPISTAT_CODE_OUTPUT_H

#include <locale.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/rows.h"
#include "rpistat/run.h"
#include "rpistat/run_code.h"
#include "rpistat/shares.h"

enum rps_code_view {
    RPS_CODE_TABLE,
    RPS_CODE_TREE,   /* calls, from the outermost on */
    RPS_CODE_STACKS, /* those that were seen most */
};

struct rps_code_output {
    const struct rps_run *run;
    const struct rps_code *code;
    const char *part; /* what part of the run: "phase B", NULL: all of it */
    enum rps_code_view view;
    enum rps_shares_by by;
    const struct rps_shares *shares;         /* of the table */
    const struct rps_calls *calls;           /* of the other views; NULL */
    size_t at_most;                          /* rows of tables and stacks; 0: all */
    const struct rps_shares *programs;       /* of the text; NULL */
    struct rps_part_time time;               /* of the part */
    const struct rps_part_shares *groups;    /* of each label; NULL: none are to be told of */
    const struct rps_part_time *groups_time; /* of each label */
    locale_t locale;                         /* of the text; (locale_t)0: the C locale */
    int width;                               /* of the text, in characters; 0: 100 */
};

/* "function", "line", "module", "process", "thread", "program"; NULL behind the last. */
extern const char *const rps_code_by_names[];

/* RPS_FAILED without memory or when a write failed, as below. */
int rps_code_output_text(FILE *out, const struct rps_code_output *output, struct rps_error *err);

/* Everything there is to know as one JSON object, or the view's rows as CSV. */
int rps_code_output_rows(FILE *out, const struct rps_code_output *output, enum rps_format format,
                         struct rps_error *err);

/* "main;solve;copy": a node and the way to it, made printable and cut at its beginning to what
 * `size` holds; returns ret. */
char *rps_code_way_text(char *ret, size_t size, const struct rps_calls *calls, size_t node);

/* Numbers of the nodes that have samples of their own, most first, in a new array (free()); NULL
 * without memory. */
size_t *rps_code_stacks_order(const struct rps_calls *calls, size_t *ret_count);

/* Samples of a table of functions or lines in code that has no name; 0 of other tables. */
uint64_t rps_code_unnamed(const struct rps_code_output *output);

#endif
