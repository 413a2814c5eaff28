/*
 * The parts of a page, and of its data.
 */
#ifndef RPISTAT_SHOW_PAGE_PARTS_H
#define RPISTAT_SHOW_PAGE_PARTS_H

#include "rpistat/code_bins.h"
#include "rpistat/picture_kinds.h"
#include "rpistat/json.h"
#include "rpistat/shares.h"

/* A template with everything in its places. */
struct rps_page {
    FILE *out;
    const char *output;            /* its name, for errors */
    const char *template, *folder; /* the template, and where it and its parts are */
    const char *title;
    enum rps_theme theme;
    int live; /* 1: a script of the page asks its server for the data */
    int (*put)(struct rps_json *json, const void *context, struct rps_error *err); /* the data */
    const void *context;
};

/* Write it. Errors: those of `put`, a part that cannot be read, the output that cannot be
 * written. */
int rps_page_fill(const struct rps_page *page, struct rps_error *err);

/* Points across: the fewer, the more lines there are. */
size_t rps_page_bins(size_t lines);

/* A number with enough digits for a screen: half as many bytes as all of them. */
void rps_page_put_number(struct rps_json *json, double value, int digits);

void rps_page_put_palette(struct rps_json *json, const char *name, enum rps_theme theme);

/* The points of a line, into an object: x, value, min, max, low, high. `first`: the series whose
 * places the line shares, if any. */
void rps_page_put_points(struct rps_json *json, const struct rps_series *series,
                         const struct rps_series *first);

/* The samples of a run, or of several: the tree of calls, and how often each was the innermost in
 * each bin. */
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

/* The same where `code`, and `bins` of at most 300 with cells of stacks, are there already. */
int rps_page_make_code(struct rps_page_code *code, struct rps_error *err);

/* "code" of the page's data, and "codePanel", the panel's shares; nothing where there are none.
 * RPS_FAILED without memory. */
int rps_page_put_code(struct rps_json *json, const struct rps_picture *picture,
                      const struct rps_page_code *code, struct rps_error *err);

/* Its functions, tree and counts, into an object. RPS_FAILED without memory. */
int rps_page_put_calls(struct rps_json *json, const struct rps_page_code *code);

/* All of the data of a run's page, into an object. */
int rps_page_put_data(struct rps_json *json, const struct rps_picture *picture,
                      const struct rps_profile *profile, const struct rps_page_code *code,
                      struct rps_error *err);

/* What the page of a run holds. */
struct rps_page_run {
    const struct rps_picture *picture; /* borrowed; with bins */
    struct rps_profile profile;
    struct rps_page_code code;
};

/* Bins of the page of an open picture. */
size_t rps_page_choose_bins(const struct rps_picture *picture);

/* Bin an open picture for the page, and read the rest. Free in any case. */
int rps_page_run_read(struct rps_page_run *run, struct rps_picture *picture,
                      struct rps_reader *reader, const struct rps_plot_options *options,
                      struct rps_error *err);
void rps_page_run_free(struct rps_page_run *run);

/* The points of an open picture alone, into an object: "from", "to", "panels", "duty". */
void rps_page_put_rows(struct rps_json *json, const struct rps_picture *picture);

#endif
