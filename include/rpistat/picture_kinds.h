/*
 * The kinds of pictures of a run: each makes a chart of its own.
 */
#ifndef RPISTAT_PICTURE_KINDS_H
#define RPISTAT_PICTURE_KINDS_H

#include "rpistat/picture.h"

struct rps_profile;

/* Make the chart of an open picture, all in the picture's arena. RPS_FAILED if the run lacks the
 * picture's subject: phases, two metrics, ... */
typedef int rps_picture_fill(struct rps_picture *picture, struct rps_reader *reader,
                             const struct rps_plot_options *options, struct rps_chart **ret,
                             struct rps_error *err);

#define RPS_PICTURE_FILL(kind, name, help) rps_picture_fill rps_picture_fill_##name;
RPS_PLOT_KINDS(RPS_PICTURE_FILL)
#undef RPS_PICTURE_FILL

/* Draw the panels of a binned and fitted picture; `remark` begins its second line. */
struct rps_chart *rps_picture_draw_panels(struct rps_picture *picture, const char *remark);

/* Read the profile of the picture's phases. A run without phases gets one phase, A. */
int rps_picture_profile(const struct rps_picture *picture, struct rps_reader *reader,
                        const struct rps_plot_options *options, struct rps_profile *ret,
                        struct rps_error *err);

/* Choose labels and words of a picture with known width, before its height is chosen. */
void rps_picture_choose_words(struct rps_picture *picture, const struct rps_profile *profile,
                              const struct rps_plot_options *options);

/* Draw the words from `top` on, in pixels at scale 1; return their height. */
double rps_picture_add_words(struct rps_chart *chart, const struct rps_picture *picture,
                             double top);

#endif
