/* What the document of a comparison, its page and its answer share: figures, changes, and what was
 * compared, in words. Numbers have the decimal sign of the locale in force. */
#ifndef RPISTAT_COMPARE_WORDS_H
#define RPISTAT_COMPARE_WORDS_H

#include "rpistat/comparison.h"

/* Changes that are said as a factor: those of +100 % and more, or of -100 % and less. */
#define RPS_COMPARISON_FACTOR_FROM  .995
#define RPS_COMPARISON_FACTOR_BELOW (-.995)

/* A value: "1.20 s", "12.3 M", "-". All texts lie in the arena. */
const char *rps_comparison_value_text(struct rps_arena *arena,
                                      const struct rps_comparison_figure *figure, double value);

struct rps_comparison_words {
    const char *a, *b;
    const char *change;   /* "-12.3 %" with as many digits as the interval deserves, "3.1 x",
                             "1/300 x", "from 0", "-" */
    const char *interval; /* "-13.1 to -11.5 %", "2.9 to 3.3 x"; "": there is none */
    const char *verdict;
};
struct rps_comparison_words rps_comparison_words(struct rps_arena *arena,
                                                 const struct rps_comparison_figure *figure,
                                                 const struct rps_change *change);

/* The lower end of the interval of a change; what is an amount on both sides does not become less
 * than nothing. NaN: there is none. */
double rps_comparison_low(const struct rps_change *change);

/* 1: the verdict is that there is less or more. */
int rps_comparison_is_changed(const struct rps_change *change);

/* Return 1 if only the number of runs is too small for a verdict. */
int rps_comparison_is_possible(const struct rps_change *change);

/* Return 1 if the change may be printed: a verdict, one that lacks only runs, or a fact of one run a
 * side, which has no test. */
int rps_comparison_is_sayable(const struct rps_change *change);

/* An event in one run a side, to be said without a test. */
#define RPS_COMPARISON_COUNTED_LEAST 1000

/* 1: people read the figure of the whole: it is not nothing on both sides, and stands once. */
int rps_comparison_is_listed(const struct rps_comparison *comparison, size_t figure);

/* Seconds that a row takes longer at side B, of which a side alone has all; NaN: not known. */
double rps_comparison_longer(const struct rps_comparison *comparison, size_t row);

/* The share that a row has of the change of the elapsed time; NaN where the whole hardly changed. */
double rps_comparison_share_of_change(const struct rps_comparison *comparison, size_t row);

/*
 * The figure of a row to say next, beside the elapsed time and the `count` in `said`: of those that
 * changed the one that says most, or SIZE_MAX. What explains elapsed time comes first, then CPU
 * time.
 */
size_t rps_comparison_telling(const struct rps_comparison *comparison, size_t row,
                              const size_t *said, size_t count);

/* How much of a change of elapsed time, which is instructions x CPI / clock rate / CPU use, the
 * figure explains, as a logarithm. NaN: it is neither instructions nor CPI nor CPU use. */
double rps_comparison_explains(const struct rps_comparison_figure *figure,
                               const struct rps_change *change);

/* How many tests of figures p was corrected for together. */
size_t rps_comparison_tests(const struct rps_comparison *comparison);

/* What was compared and how, without full stops; "": not to be said. They lie in the comparison's
 * arena. */
const char *rps_comparison_side_text(const struct rps_comparison *comparison,
                                     enum rps_comparison_side side);
const char *rps_comparison_command_text(const struct rps_comparison *comparison);
const char *rps_comparison_tested_text(const struct rps_comparison *comparison);

#endif
