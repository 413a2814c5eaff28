/*
 * The parts of a page, and of its data.
 */
#ifndef RPISTAT_PAGE_PARTS_H
#define RPISTAT_PAGE_PARTS_H

#include "rpistat/picture_kinds.h"
#include "rpistat/profile.h"
#include "rpistat/json.h"
#include "rpistat/run_part.h"

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

/* Several runs on one page, for what a wing has for it: counts in bins, one a row of a side. */
struct rps_page_joint {
    size_t count;
    const struct rps_page_joint_run {
        struct rps_reader *reader;
        const struct rps_run *run;
        const struct rps_run_part *part; /* a group each row */
        size_t first_bin;                /* of group 0 */
    } * run;
    size_t bin_count;
    const struct rps_run *named; /* whose program's name all programs of the commands go by */
};

/* All of the data of a run's page, into an object. */
int rps_page_put_data(struct rps_json *json, const struct rps_picture *picture,
                      const struct rps_profile *profile, int has_code, struct rps_error *err);

/* What the page of a run holds. */
struct rps_page_run {
    const struct rps_picture *picture; /* borrowed; with bins */
    struct rps_profile profile;
    int has_code; /* 1: samples are shown */
};

/* Bins of the page of an open picture. */
size_t rps_page_choose_bins(const struct rps_picture *picture);

/* Bin an open picture for the page, and read the rest, which is the picture's arena's. */
int rps_page_run_read(struct rps_page_run *run, struct rps_picture *picture,
                      struct rps_reader *reader, const struct rps_plot_options *options,
                      struct rps_error *err);

/* The points of an open picture alone, into an object: "from", "to", "panels", "duty". */
void rps_page_put_rows(struct rps_json *json, const struct rps_picture *picture);

#endif
