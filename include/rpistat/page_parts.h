/* The parts of an HTML page, and of the page's data. */
#pragma once

#include "rpistat/picture.h"
#include "rpistat/profile.h"
#include "rpistat/json.h"
#include "rpistat/run_part.h"

/* A page: a template and the parts to insert. */
struct rps_page {
    FILE *out;
    const char *output;            /* Name of the output for error messages */
    const char *template, *folder; /* Template, and directory of the template and parts */
    const char *title;
    enum rps_theme theme;
    int live; /* 1: a script of the page requests the data from the page's server */
    int (*put)(struct rps_json *json, const void *context, struct rps_error *err); /* Put data. */
    const void *context;
};

/* Write the page. Errors come from `put`, from an unreadable part, or from writing the output. */
int rps_page_fill(const struct rps_page *page, struct rps_error *err);

/* Return the number of points of each line across the page. More lines have fewer points each. */
size_t rps_page_bins(size_t lines);

/* Put a number with only the digits that a screen can show: half as many bytes as all digits. */
void rps_page_put_number(struct rps_json *json, double value, int digits);

void rps_page_put_palette(struct rps_json *json, const char *name, enum rps_theme theme);

/* Put the points of a line into an object: x, value, min, max, low, high. `first` is the series
 * with the same x values, if any. */
void rps_page_put_points(struct rps_json *json, const struct rps_series *series,
                         const struct rps_series *first);

/* Several runs on one page, for an extension. Counts in bins have one group per row and side. */
struct rps_page_joint {
    size_t count;
    const struct rps_page_joint_run {
        struct rps_reader *reader;
        const struct rps_run *run;
        struct rps_run_part *part; /* Part of the run, with one group per row; the weights of
                                      --latency are read into it */
        size_t first_bin;          /* Number of the first bin of group 0 */
    } * run;
    size_t bin_count;
    const struct rps_run *named; /* Run whose command name is shown for all runs */
};

/* Put all data of a run's page into an object. */
int rps_page_put_data(struct rps_json *json, const struct rps_picture *picture,
                      const struct rps_profile *profile, int has_code, struct rps_error *err);

/* Contents of a run's page. */
struct rps_page_run {
    const struct rps_picture *picture; /* Picture with bins (borrowed) */
    struct rps_profile profile;
    int has_code; /* 1: the page shows samples */
};

/* Return the number of bins for the page of an open picture. */
size_t rps_page_choose_bins(const struct rps_picture *picture);

/* Bin an open picture for the page, and read the page's other data into the picture's arena. */
int rps_page_run_read(struct rps_page_run *run, struct rps_picture *picture,
                      struct rps_reader *reader, const struct rps_plot_options *options,
                      struct rps_error *err);

/* Put only the data of an open picture's panels into an object: "from", "to", "panels", "duty". */
void rps_page_put_rows(struct rps_json *json, const struct rps_picture *picture);
