/* The samples of a page: of a run, or of several. */
#ifndef RPISTAT_CODE_PAGE_H
#define RPISTAT_CODE_PAGE_H

#include "bins.h"
#include "rpistat/code.h"
#include "rpistat/json.h"
#include "rpistat/shares.h"

/* The tree of calls, and how often each was the innermost in each bin. */
struct rps_page_code {
    struct rps_arena *arena; /* borrowed: of all below but `code`, which is borrowed itself */
    const struct rps_code *code;
    struct rps_calls calls;
    struct rps_share_name *name; /* of each item of the calls, for its line */
    size_t name_count;
    size_t *place;  /* of each call its place in the page: what is too rare shares one with others
                       that the same function called */
    size_t *call;   /* of each place its call; SIZE_MAX: others, that were called by */
    size_t *caller; /* of each place: a lower one */
    size_t *others; /* of each place where others stand that it called; 0: there are none */
    size_t place_count;
    struct rps_code_bins bins;  /* cells are of places */
    struct rps_code_bins waits; /* the same of us off the CPU; bin_count 0: not known */
};

/* Make the rest of the arena, the code, and `bins` and `waits` with cells of stacks: rare calls become others,
 * and bins wider, until they are few enough for a page. */
void rps_page_make_code(struct rps_page_code *code);

/* Its functions, tree and counts, into an object. */
void rps_page_put_calls(struct rps_json *json, const struct rps_page_code *code);

#endif
