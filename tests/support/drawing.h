/* Drawing runs in the tests of pictures, and looking at what came out. */
#ifndef RPISTAT_TEST_SHOW_DRAWING_H
#define RPISTAT_TEST_SHOW_DRAWING_H

#include "support/fixture.h"
#include "rpistat/plot.h"

/* Skip the test where gnuplot is not installed. */
void drawing_need_gnuplot(void);

/* rps_plot_draw with this project's scripts, and without an end where none is given. */
int drawing_draw(struct fixture *fixture, const char *output, struct rps_plot_options options,
                 struct rps_error *err);

/* The same, which must work. */
void drawing_must(struct fixture *fixture, const char *output, struct rps_plot_options options);

/* The drawing in characters; free it. */
char *drawing_characters(struct fixture *fixture, struct rps_plot_options options);

/* A file as a string with *ret_size bytes (may be NULL); free it. */
char *drawing_text(const char *path, size_t *ret_size);

/* How often a part occurs in a text. */
int drawing_count(const char *text, const char *part);

/* The number behind a name that must be in the text. */
double drawing_number(const char *text, const char *name);

/* Of a kept panels.gp: panels with a heading; where the y axis ends of number n, from 1, of those
 * with both axes. */
int drawing_panels(const char *panels);
double drawing_panel_end(const char *panels, int number);

/*
 * Compare the data files of a kept folder, one after another, with tests/data/plot/NAME.txt. Expect
 * each of their texts and colours in the SVG at `path`, whichever gnuplot drew it. With
 * RPISTAT_GOLDEN=write in the environment, write that file: then look at what changed.
 */
void drawing_golden(const char *name, const char *keep, const char *path);

/* Expect that two kept folders, and their SVGs, differ in colours alone. */
void drawing_same_but_inks(const char *keep, const char *path, const char *other_keep,
                           const char *other_path);

/* Store phases of a run that was written: first, last and label of each; boundaries are certain
 * where none is given. */
void drawing_detected(struct fixture *fixture, const struct rps_phase *phase, size_t count);

/* Write a run of 240 periods with phases A B A C, a level
 * coarser and one finer ones, marks and a gap with hostile texts, and open
 * it. */
void drawing_story(struct fixture *fixture);

/* Write a run of 120 periods with phases A and B, and 100 samples a second: of `work` in A, at
 * 80 %, of `rest` and of `sys`, which it calls in the kernel, in B, at 40 % and 20 %; of a thread
 * each phase; and open it. */
void drawing_samples(struct fixture *fixture);

#endif
