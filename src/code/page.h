/* The samples for a page: of one run, or of several. */
#ifndef RPISTAT_CODE_PAGE_H
#define RPISTAT_CODE_PAGE_H

#include "bins.h"
#include "rpistat/code.h"
#include "rpistat/json.h"
#include "rpistat/shares.h"

/* The call tree, and how often each call was innermost in each bin. */
struct rps_page_code {
    struct rps_arena *arena; /* borrowed, as is `code`; holds all other members */
    const struct rps_code *code;
    struct rps_calls calls;
    struct rps_share_name *name; /* of each item of the calls, for its line */
    size_t name_count;
    size_t *place;  /* of each call its place in the page: rare calls share one with others of the
                       same caller */
    size_t *call;   /* of each place its call; SIZE_MAX: others, called by */
    size_t *caller; /* of each place: a lower one */
    size_t *others; /* of each place the one for its other callees; 0: none */
    size_t place_count;
    struct rps_code_bins bins;  /* cells belong to places */
    struct rps_code_bins waits; /* likewise for us off the CPU; bin_count 0: not known */
};

/* Fill the other members from the arena, the code, and `bins` and `waits` with cells of stacks.
 * Rare calls become others, and bins wider, until the data fits into a page. */
void rps_page_make_code(struct rps_page_code *code);

/* Put functions, tree and counts into an object. */
void rps_page_put_calls(struct rps_json *json, const struct rps_page_code *code);

#endif
