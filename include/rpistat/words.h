/* Words and numbers inside sentences, for all sentences about metrics. */
#ifndef RPISTAT_WORDS_H
#define RPISTAT_WORDS_H

#include <stddef.h>

#include "rpistat/period.h"

struct rps_plan;
struct rps_run;

/* Format a metric's label inside a sentence: a common noun is lower case; a proper name (a column,
 * a user's metric) stays. Returns ret. */
char *rps_words_name(char ret[RPS_NAME_SIZE], const char *label, const char *name);

/* Return the name of a run's clock event: "Cycles", "TSC cycles". */
const char *rps_words_clock_label(const struct rps_run *run, const struct rps_plan *plan);

/* Format a ratio with two digits: "3.1", "31", "310". Returns ret. */
char *rps_words_times(char *ret, size_t size, double ratio);

/* Make text printable and cut it to so many characters, the last three of which are then points.
 * Returns ret. */
char *rps_words_cut(char *ret, size_t size, const char *text, int width);

#endif
