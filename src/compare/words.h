/* Declarations shared by the document, the page and the answer of a comparison: metrics, changes
 * and the compared runs as text. Numbers use the current locale's decimal separator. */
#pragma once

#include "rpistat/comparison.h"

/* A change above the first or below the second limit (about +-100 %) is shown as a factor. */
#define RPS_COMPARISON_FACTOR_FROM  .995
#define RPS_COMPARISON_FACTOR_BELOW (-.995)

/* Format a value: "1.20 s", "12.3 M", "-". The text is in the arena. */
const char *rps_comparison_value_text(struct rps_arena *arena,
                                      const struct rps_comparison_figure *figure, double value);

struct rps_comparison_words {
    const char *a, *b;
    const char *change;   /* change with the digits that the interval supports: "-12.3 %", "3.1
                             x", "1/300 x", "from 0", "-" */
    const char *interval; /* interval of the change: "-13.1 to -11.5 %", "2.9 to 3.3 x"; "": none */
    const char *verdict;
};
struct rps_comparison_words rps_comparison_words(struct rps_arena *arena,
                                                 const struct rps_comparison_figure *figure,
                                                 const struct rps_change *change);

/* Return the lower end of a change's interval, or NaN if there is none. If both sides are amounts
 * of at least 0, the end is at least -100 %. */
double rps_comparison_low(const struct rps_change *change);

/* Return 1 if the verdict of the change is lower or higher. */
int rps_comparison_is_changed(const struct rps_change *change);

/* Return 1 if the change has no verdict only because there are too few runs. */
int rps_comparison_is_possible(const struct rps_change *change);

/* Return 1 if the change may be printed. A change may be printed in three cases: it has a verdict,
 * it would have a verdict with more runs, or it compares two single runs without a test. */
int rps_comparison_is_sayable(const struct rps_change *change);

/* Return 1 if a function of the row changed, or if single runs differ by a notable part of the
 * row's time in functions. */
int rps_comparison_is_notable(const struct rps_comparison_row *row,
                              const struct rps_change *seconds);

/* Minimum count of an event that is shown if each side has one run and there is no test. */
#define RPS_COMPARISON_COUNTED_MIN 1000

/* Return 1 if the text shows the metric for the whole. The text omits a metric that is 0 on both
 * sides, and a rate whose change equals the change of a total. */
int rps_comparison_is_listed(const struct rps_comparison *comparison, size_t figure);

/* Return the additional seconds of a row on side B, or NaN if unknown. If a side lacks the row, the
 * time of the row on that side is 0. */
double rps_comparison_longer(const struct rps_comparison *comparison, size_t row);

/* Return a row's share of the elapsed time's change, or NaN if the elapsed time hardly changed. */
double rps_comparison_share_of_change(const struct rps_comparison *comparison, size_t row);

/* Return the most informative changed metric of a row, or SIZE_MAX if there is none. Elapsed time
 * and the `count` metrics in `said` are never returned. Factors of elapsed time are preferred, then
 * CPU time. */
size_t rps_comparison_telling(const struct rps_comparison *comparison, size_t row,
                              const size_t *said, size_t count);

/* Return how much of the change of elapsed time (instructions x CPI / clock rate / CPU use) the
 * metric explains, as a logarithm. Return NaN for other metrics and for the clock rate. */
double rps_comparison_explains(const struct rps_comparison_figure *figure,
                               const struct rps_change *change);

/* Return the number of tests of metrics. The p values of all these tests are corrected together. */
size_t rps_comparison_tests(const struct rps_comparison *comparison);

/* Add the columns of a change to a table, for users and programs. The sides' names are headings. */
void rps_comparison_add_change(struct rps_block *block, const struct rps_comparison *comparison);

/* Put a change. If the metric has a value on only one side, put `alone` instead of the change. If
 * says_verdict is 0, the text omits the verdict. */
void rps_comparison_put_change(struct rps_block *block, const struct rps_comparison_figure *figure,
                               const struct rps_change *change, const char *alone,
                               int says_verdict);

/* Put the name of a metric. The unit distinguishes rates from totals with the same label. */
void rps_comparison_put_name(struct rps_block *block, const struct rps_comparison_figure *figure);

/* Put the table of limits. The output needs no runs. */
void rps_comparison_put_limits(struct rps_document *document,
                               const struct rps_comparison_output *output);

void rps_comparison_put_remarks(struct rps_document *document,
                                const struct rps_comparison *comparison);

/* These functions describe what was compared and how. Texts do not end with full stops. If a text
 * is "", there is nothing to show. The texts are in the comparison's arena. */
const char *rps_comparison_side_text(const struct rps_comparison *comparison,
                                     enum rps_comparison_side side);
const char *rps_comparison_command_text(const struct rps_comparison *comparison);
const char *rps_comparison_tested_text(const struct rps_comparison *comparison);
