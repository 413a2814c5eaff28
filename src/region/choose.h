/* What a program counts of itself: one fitted event set, and why not more. */
#ifndef RPISTAT_REGION_CHOOSE_H
#define RPISTAT_REGION_CHOOSE_H

#include "rpistat/plan.h"

struct rps_region_choice {
    struct rps_plan *plan; /* owned; NULL: nothing can be counted */
    int set;               /* of the plan: the one that is counted */
    char problem[4096];    /* lines of text; "" when everything is counted */
};

/*
 * Load the document of that name (NULL: what rpistat records here), try its events, and join its
 * sets as far as they fit on the counters together; the first is chosen. Events of the other sets
 * get a state and a reason. Negative when nothing can be counted, with the reason in ret->problem.
 */
int rps_choice_make(struct rps_region_choice *ret, const char *sets);

/* Append a line, printf style; what does not fit is left out. */
void rps_choice_complain(struct rps_region_choice *choice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* NULL inside is harmless. */
void rps_choice_free(struct rps_region_choice *choice);

#endif
