/* The samples of a page: of a run, or of several. */
#ifndef RPISTAT_CODE_PAGE_H
#define RPISTAT_CODE_PAGE_H

#include "bins.h"
#include "rpistat/code.h"
#include "rpistat/json.h"
#include "rpistat/shares.h"

/* The tree of calls, and how often each was the innermost in each bin. */
struct rps_page_code {
    struct rps_code code; /* all zero: no samples */
    struct rps_calls calls;
    struct rps_shares shares; /* of functions, for their lines: in order of module and name */
    size_t *place;  /* owned; of each call its place in the page: what is too rare shares one with
                      others that the same function called */
    size_t *call;   /* owned; of each place its call; SIZE_MAX: others, that were called by */
    size_t *caller; /* owned; of each place: a lower one */
    size_t *others; /* owned; of each place where others stand that it called; 0: there are none */
    size_t place_count;
    struct rps_code_bins bins; /* cells are of places */
};

/* Make the rest of `code`, and of `bins` with cells of stacks: rare calls become others, and bins
 * wider, until they are few enough for a page. RPS_FAILED without memory. Free in any case. */
int rps_page_make_code(struct rps_page_code *code, struct rps_error *err);
void rps_page_code_free(struct rps_page_code *code);

/* Its functions, tree and counts, into an object. RPS_FAILED without memory. */
int rps_page_put_calls(struct rps_json *json, const struct rps_page_code *code,
                       struct rps_error *err);

#endif
