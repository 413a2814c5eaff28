/* A comparison written for people, for pull requests (Markdown) and for programs (JSON, CSV). */
#ifndef RPISTAT_COMPARISON_OUTPUT_H
#define RPISTAT_COMPARISON_OUTPUT_H

#include <locale.h>
#include <stdio.h>

#include "rpistat/comparison.h"
#include "rpistat/error.h"

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
    const char *a_name, *b_name; /* the sides as the user named them: "label:main", "1-5" */
    locale_t locale;             /* of the text; (locale_t)0: the C locale */
    int width;                   /* of the text, in characters; 0: 100 */
    int all; /* 1: every figure of every row; 0: of phases time and what changed */
    const struct rps_comparison_limit *limit; /* in JSON: "limits" */
    size_t limit_count;
};

/*
 * The answer in one sentence without its full stop, into ret, which is returned: how much longer or
 * shorter side B takes (or that no difference is shown, and how large it may be), which phase has
 * most of it, and what changed there: a figure, a function. One run against one: "these runs
 * differ", never that a change did it. Printable, whatever the names; numbers are in the thread's
 * locale.
 */
#define RPS_COMPARISON_ANSWER_SIZE 512
char *rps_comparison_answer(char ret[RPS_COMPARISON_ANSWER_SIZE],
                            const struct rps_comparison_output *output);

/* The answer, a table of the whole, one of the kinds of phases with what came and went, functions,
 * remarks. RPS_FAILED without memory or when a write failed, as below. */
int rps_comparison_output_text(FILE *out, const struct rps_comparison_output *output,
                               struct rps_error *err);
int rps_comparison_output_markdown(FILE *out, const struct rps_comparison_output *output,
                                   struct rps_error *err);

/* Everything there is to know, as one JSON object. */
int rps_comparison_output_json(FILE *out, const struct rps_comparison_output *output,
                               struct rps_error *err);

/* A line a row and figure. */
int rps_comparison_output_csv(FILE *out, const struct rps_comparison_output *output,
                              struct rps_error *err);

#endif
