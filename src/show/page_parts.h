/*
 * The parts of the page's data.
 */
#ifndef RPISTAT_SHOW_PAGE_PARTS_H
#define RPISTAT_SHOW_PAGE_PARTS_H

#include "code_bins.h"
#include "picture_kinds.h"
#include "rpistat/json.h"
#include "rpistat/shares.h"

/* A number with enough digits for a screen: half as many bytes as all of them. */
void rps_page_put_number(struct rps_json *json, double value, int digits);

/* The samples of a run: its tree of calls, and how often each was the innermost in each bin. */
struct rps_page_code {
    struct rps_code code; /* all zero: the run has no samples */
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

/* Read them for a picture with bins; rare calls become others, and bins wider, until they are few
 * enough for a page. Free in any case. */
int rps_page_read_code(const struct rps_picture *picture, struct rps_page_code *ret,
                       struct rps_error *err);
void rps_page_code_free(struct rps_page_code *code);

/* "code" of the page's data, and "codePanel", the panel's shares; nothing where there are none.
 * RPS_FAILED without memory. */
int rps_page_put_code(struct rps_json *json, const struct rps_picture *picture,
                      const struct rps_page_code *code, struct rps_error *err);

/* All of the page's data. */
int rps_page_put_data(struct rps_json *json, const struct rps_picture *picture,
                      const struct rps_profile *profile, const struct rps_page_code *code,
                      struct rps_error *err);

#endif
