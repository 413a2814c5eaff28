/*
 * What is drawn of a run: each kind fills the folder for a script of its own.
 */
#ifndef RPISTAT_SHOW_PICTURE_KINDS_H
#define RPISTAT_SHOW_PICTURE_KINDS_H

#include "rpistat/picture.h"
#include "rpistat/profile.h"

/* Write figure.gp, text.gp and data of an open picture into the folder. RPS_FAILED where the run
 * has not what the picture is about: phases, two metrics, ... */
typedef int rps_picture_write_kind(struct rps_picture *picture, struct rps_reader *reader,
                                   const struct rps_plot_options *options, int folder_fd,
                                   struct rps_error *err);

rps_picture_write_kind rps_picture_write_time;
rps_picture_write_kind rps_picture_write_profile;
rps_picture_write_kind rps_picture_write_scatter;
rps_picture_write_kind rps_picture_write_heat;
rps_picture_write_kind rps_picture_write_pca;

/* The profile of the picture's phases; of one phase, A, for all of a run that has none. */
int rps_picture_profile(const struct rps_picture *picture, struct rps_reader *reader,
                        const struct rps_plot_options *options, struct rps_profile *ret,
                        struct rps_error *err);

/* Choose labels and words of a picture whose width is known, before its height. */
void rps_picture_choose_words(struct rps_picture *picture, const struct rps_profile *profile,
                              const struct rps_plot_options *options);

/* Write the numbers of words.gp, and its texts. */
void rps_picture_write_words(const struct rps_picture *picture, FILE *file);
void rps_picture_write_words_texts(const struct rps_picture *picture, FILE *file);

#endif
