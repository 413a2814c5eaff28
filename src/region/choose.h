/* The choice of events in self-measurement: one fitted event set, and why not more. */
#ifndef RPISTAT_REGION_CHOOSE_H
#define RPISTAT_REGION_CHOOSE_H

#include "rpistat/plan.h"

struct rps_region_choice {
    struct rps_plan *plan; /* owned; NULL: nothing can be counted */
    int set;               /* of the plan: the one being counted */
    char problem[4096];    /* lines of text; "" when everything is counted */
};

/*
 * Load the document of that name (NULL: the one that rpistat records here) and try its events. Join
 * its sets as far as they fit on the counters together, and choose the first. Other sets' events
 * get a state and a reason. Negative if nothing can be counted; ret->problem is the reason.
 */
int rps_choice_make(struct rps_region_choice *ret, const char *sets);

/* Append a line, printf style; text that does not fit is left out. */
void rps_choice_complain(struct rps_region_choice *choice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Free the choice. NULL inside is harmless. */
void rps_choice_free(struct rps_region_choice *choice);

#endif
