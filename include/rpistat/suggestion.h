/* Names much like one that was typed. */
#ifndef RPISTAT_SUGGESTION_H
#define RPISTAT_SUGGESTION_H

#include <stddef.h>

#define RPS_SUGGESTIONS_MAX 3
#define RPS_SUGGESTION_SIZE 64 /* of a name; longer ones are not considered */

/* Names that are nearest to one that was typed. Zero it, and set `typed`. */
struct rps_suggestion {
    const char *typed;
    int distance; /* of the names below */
    int count;
    char name[RPS_SUGGESTIONS_MAX][RPS_SUGGESTION_SIZE];
};

/* Consider a name: it is kept when few letters are missing, too many, wrong or swapped, and none
 * seen before is nearer. */
void rps_suggestion_consider(struct rps_suggestion *suggestion, const char *name);

/* "did you mean a, b or c? ", or "" when there is none. Returns ret. */
char *rps_suggestion_question(const struct rps_suggestion *suggestion, char *ret, size_t size);

#endif
