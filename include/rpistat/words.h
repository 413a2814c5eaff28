/* Words and numbers inside sentences, for all that say something of figures. */
#ifndef RPISTAT_WORDS_H
#define RPISTAT_WORDS_H

#include <stddef.h>

#include "rpistat/period.h"

struct rps_plan;
struct rps_run;

/* A figure's label inside a sentence: a common noun is lower case, what names itself (a column, a
 * user's metric) stays as it is. Returns ret. */
char *rps_words_name(char ret[RPS_NAME_SIZE], const char *label, const char *name);

/* What the clock event of a run is called: "Cycles", "TSC cycles". */
const char *rps_words_clock_label(const struct rps_run *run, const struct rps_plan *plan);

/* A ratio in two digits: "3.1", "31", "310". Returns ret. */
char *rps_words_times(char *ret, size_t size, double ratio);

/* Text made printable and cut to so many characters, the last three of which are then points.
 * Returns ret. */
char *rps_words_cut(char *ret, size_t size, const char *text, int width);

#endif
