/*
 * What is drawn of a run: each kind makes a chart of its own.
 */
#ifndef RPISTAT_PICTURE_KINDS_H
#define RPISTAT_PICTURE_KINDS_H

#include "rpistat/picture.h"

struct rps_profile;

/* Make the figure of an open picture, all of the picture's arena. RPS_FAILED where the run has not
 * what the picture is about: phases, two metrics, ... */
typedef int rps_picture_fill(struct rps_picture *picture, struct rps_reader *reader,
                             const struct rps_plot_options *options, struct rps_chart **ret,
                             struct rps_error *err);

#define RPS_PICTURE_FILL(kind, name, help) rps_picture_fill rps_picture_fill_##name;
RPS_PLOT_KINDS(RPS_PICTURE_FILL)
#undef RPS_PICTURE_FILL

/* The panels of a picture that was binned and fitted; `remark` begins its second line. */
struct rps_chart *rps_picture_draw_panels(struct rps_picture *picture, const char *remark);

/* The profile of the picture's phases; of one phase, A, for all of a run that has none. */
int rps_picture_profile(const struct rps_picture *picture, struct rps_reader *reader,
                        const struct rps_plot_options *options, struct rps_profile *ret,
                        struct rps_error *err);

/* Choose labels and words of a picture whose width is known, before its height. */
void rps_picture_choose_words(struct rps_picture *picture, const struct rps_profile *profile,
                              const struct rps_plot_options *options);

/* Draw them from `top` on, in pixels at scale 1; returns their height. */
double rps_picture_add_words(struct rps_chart *chart, const struct rps_picture *picture,
                             double top);

#endif
