/* Declarations shared by the document, page and answer of a comparison: metrics, changes, and what
 * was compared, as text. Numbers have the current locale's decimal sign. */
#ifndef RPISTAT_COMPARE_WORDS_H
#define RPISTAT_COMPARE_WORDS_H

#include "rpistat/comparison.h"

/* Changes that are shown as a factor: from +100 % on, or down from -100 %. */
#define RPS_COMPARISON_FACTOR_FROM  .995
#define RPS_COMPARISON_FACTOR_BELOW (-.995)

/* Format a value: "1.20 s", "12.3 M", "-". All texts are in the arena. */
const char *rps_comparison_value_text(struct rps_arena *arena,
                                      const struct rps_comparison_figure *figure, double value);

struct rps_comparison_words {
    const char *a, *b;
    const char *change;   /* "-12.3 %" with the digits that the interval supports, "3.1 x", "1/300
                             x", "from 0", "-" */
    const char *interval; /* "-13.1 to -11.5 %", "2.9 to 3.3 x"; "": none */
    const char *verdict;
};
struct rps_comparison_words rps_comparison_words(struct rps_arena *arena,
                                                 const struct rps_comparison_figure *figure,
                                                 const struct rps_change *change);

/* Return the lower end of a change's interval. An amount on both sides cannot fall below zero. NaN:
 * none. */
double rps_comparison_low(const struct rps_change *change);

/* Return 1 if the verdict is lower or higher. */
int rps_comparison_is_changed(const struct rps_change *change);

/* Return 1 if only the number of runs is too small for a verdict. */
int rps_comparison_is_possible(const struct rps_change *change);

/* Return 1 if the change may be printed. It has a verdict, lacks only runs for one, or is a fact of
 * one run per side, which has no test. */
int rps_comparison_is_sayable(const struct rps_change *change);

/* The minimum count of an event in one run per side that is shown without a test. */
#define RPS_COMPARISON_COUNTED_LEAST 1000

/* Return 1 if the text has the metric of the whole: not 0 on both sides, and not shown by a
 * total. */
int rps_comparison_is_listed(const struct rps_comparison *comparison, size_t figure);

/* Return the seconds that a row takes longer on side B, all if one side lacks it; NaN: unknown. */
double rps_comparison_longer(const struct rps_comparison *comparison, size_t row);

/* Return a row's share of the change of the elapsed time; NaN: the whole hardly changed. */
double rps_comparison_share_of_change(const struct rps_comparison *comparison, size_t row);

/*
 * Return the most informative changed metric of a row, other than elapsed time and the `count` in
 * `said`; SIZE_MAX: none. Factors of elapsed time come first, then CPU time.
 */
size_t rps_comparison_telling(const struct rps_comparison *comparison, size_t row,
                              const size_t *said, size_t count);

/* Return how much of a change of elapsed time (instructions x CPI / clock rate / CPU use) the
 * metric explains, as a logarithm. NaN: it is neither instructions nor CPI nor CPU use. */
double rps_comparison_explains(const struct rps_comparison_figure *figure,
                               const struct rps_change *change);

/* Return for how many tests of metrics p was corrected together. */
size_t rps_comparison_tests(const struct rps_comparison *comparison);

/* Format what was compared and how, without full stops; "": not shown. Texts are in the
 * comparison's arena. */
const char *rps_comparison_side_text(const struct rps_comparison *comparison,
                                     enum rps_comparison_side side);
const char *rps_comparison_command_text(const struct rps_comparison *comparison);
const char *rps_comparison_tested_text(const struct rps_comparison *comparison);

#endif
