/* Puts the samples of one or several runs into a page. */
#pragma once

#include "bins.h"
#include "rpistat/code.h"
#include "rpistat/json.h"
#include "rpistat/shares.h"

/* The call tree, and how often each call was innermost in each bin. A place is a node of the tree
 * in the page: one call, or all rare callees of a call together ("others"). */
struct rps_page_code {
    struct rps_arena *arena; /* Borrowed, like `code`; holds all other members. */
    const struct rps_code *code;
    struct rps_calls calls;
    struct rps_share_name *name; /* Name of each item of the calls, with file and line. */
    size_t name_count;
    size_t *place;  /* Place of each call in the page. */
    size_t *call;   /* Call of each place; SIZE_MAX: "others" of `caller`. */
    size_t *caller; /* Place of the caller of each place; always a lower number. */
    size_t *others; /* For each place, the place of its rare callees; 0: none. */
    size_t place_count;
    struct rps_code_bins bins;  /* Cells belong to places. */
    struct rps_code_bins waits; /* Off-CPU time in us, by place; bin_count 0 if unknown. */
};

/* Fill the other members, and change the cells from stacks to places. The arena, the code, `bins`
 * and `waits` must be set before; the cells of `bins` and `waits` belong to stacks. Rare calls
 * become "others", and bins become wider, until the data fits into a page. */
void rps_page_make_code(struct rps_page_code *code);

/* Put functions, tree and counts into an object. */
void rps_page_put_calls(struct rps_json *json, const struct rps_page_code *code);
