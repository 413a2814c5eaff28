/* What a comparison says: to people, in pull requests (Markdown) and to programs (JSON, CSV). */
#ifndef RPISTAT_COMPARISON_OUTPUT_H
#define RPISTAT_COMPARISON_OUTPUT_H

#include "rpistat/comparison.h"
#include "rpistat/document.h"

/* A limit that the user set to a change, and whether it is kept. */
struct rps_comparison_limit {
    const char *text;             /* as it was written: "C:cpi>+3%" */
    char name[2 * RPS_NAME_SIZE]; /* of the figure, with its phase: "C:cpi" */
    int is_above;                 /* 1: fails above `change`; 0: below it */
    double change;                /* .03 is 3 % more */
    size_t row, figure;
    int is_failed;
};

struct rps_comparison_output {
    const struct rps_comparison *comparison;
    int all; /* 1: people read every figure of every row; 0: of phases time and what changed */
    const struct rps_comparison_limit *limit; /* in JSON: "limits" */
    size_t limit_count;
};

/*
 * The answer in one sentence without its full stop: how much longer or shorter side B takes (or that
 * no difference is shown, and how large it may be), which phase has most of it, and what changed
 * there: a figure, a function. One run against one: "these runs differ", never that a change did
 * it. Printable, whatever the names; numbers are in the thread's locale. It lies in the comparison's
 * arena.
 */
const char *rps_comparison_answer(const struct rps_comparison *comparison);

/*
 * Put all there is to say: the answer, what was compared, how long the phases are with what came and
 * went, the figures, functions, remarks; to programs every figure of every row (the table of the
 * CSV). Numbers in texts are in the thread's locale.
 */
void rps_comparison_put(struct rps_document *document, const struct rps_comparison_output *output);

#endif
