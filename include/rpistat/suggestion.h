/* Names similar to a typed one. */
#ifndef RPISTAT_SUGGESTION_H
#define RPISTAT_SUGGESTION_H

#include <stddef.h>

#define RPS_SUGGESTIONS_MAX 3
#define RPS_SUGGESTION_SIZE 64 /* of a name; longer ones are not considered */

/* The names nearest to a typed one. Zero it, and set `typed`. */
struct rps_suggestion {
    const char *typed;
    int distance; /* of the names below */
    int count;
    char name[RPS_SUGGESTIONS_MAX][RPS_SUGGESTION_SIZE];
};

/* Consider a name. It is kept if few letters are missing, surplus, wrong or swapped, and no earlier
 * name is nearer. */
void rps_suggestion_consider(struct rps_suggestion *suggestion, const char *name);

/* Format "did you mean a, b or c? ", or "" if there is no name. Return ret. */
char *rps_suggestion_question(const struct rps_suggestion *suggestion, char *ret, size_t size);

#endif
