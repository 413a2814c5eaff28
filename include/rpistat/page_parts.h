/*
 * The parts of a page, and of its data.
 */
#ifndef RPISTAT_PAGE_PARTS_H
#define RPISTAT_PAGE_PARTS_H

#include "rpistat/picture_kinds.h"
#include "rpistat/profile.h"
#include "rpistat/json.h"
#include "rpistat/run_part.h"

/* A template and the parts to insert. */
struct rps_page {
    FILE *out;
    const char *output;            /* name of the output, for errors */
    const char *template, *folder; /* the template, and the directory of it and its parts */
    const char *title;
    enum rps_theme theme;
    int live; /* 1: a script of the page requests the data from its server */
    int (*put)(struct rps_json *json, const void *context, struct rps_error *err); /* the data */
    const void *context;
};

/* Write the page. Errors: those of `put`, an unreadable part, a failure to write the output. */
int rps_page_fill(const struct rps_page *page, struct rps_error *err);

/* Return the number of points across: fewer for more lines. */
size_t rps_page_bins(size_t lines);

/* Put a number with enough digits for a screen: half as many bytes as with all digits. */
void rps_page_put_number(struct rps_json *json, double value, int digits);

void rps_page_put_palette(struct rps_json *json, const char *name, enum rps_theme theme);

/* Put the points of a line into an object: x, value, min, max, low, high. `first`: the series with
 * the same places, if any. */
void rps_page_put_points(struct rps_json *json, const struct rps_series *series,
                         const struct rps_series *first);

/* Several runs on one page, for an extension: counts in bins, one group per row of a side. */
struct rps_page_joint {
    size_t count;
    const struct rps_page_joint_run {
        struct rps_reader *reader;
        const struct rps_run *run;
        const struct rps_run_part *part; /* one group per row */
        size_t first_bin;                /* of group 0 */
    } * run;
    size_t bin_count;
    const struct rps_run *named; /* the run whose program name stands for all programs of the
                                    commands */
};

/* Put all data of a run's page into an object. */
int rps_page_put_data(struct rps_json *json, const struct rps_picture *picture,
                      const struct rps_profile *profile, int has_code, struct rps_error *err);

/* The contents of a run's page. */
struct rps_page_run {
    const struct rps_picture *picture; /* borrowed; with bins */
    struct rps_profile profile;
    int has_code; /* 1: samples are shown */
};

/* Return the number of bins for the page of an open picture. */
size_t rps_page_choose_bins(const struct rps_picture *picture);

/* Bin an open picture for the page, and read the other data into the picture's arena. */
int rps_page_run_read(struct rps_page_run *run, struct rps_picture *picture,
                      struct rps_reader *reader, const struct rps_plot_options *options,
                      struct rps_error *err);

/* Put only the points of an open picture into an object: "from", "to", "panels", "duty". */
void rps_page_put_rows(struct rps_json *json, const struct rps_picture *picture);

#endif
