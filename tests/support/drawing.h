/* Functions that draw runs in tests of pictures and examine the results. */
#ifndef RPISTAT_TEST_SHOW_DRAWING_H
#define RPISTAT_TEST_SHOW_DRAWING_H

#include "support/fixture.h"
#include "rpistat/plot.h"

/* Skip the test where gnuplot is not installed. */
void drawing_need_gnuplot(void);

/* Call rps_plot_draw with the scripts of this project. If no end is given, draw to the end of the
 * run. */
int drawing_draw(struct fixture *fixture, const char *output, struct rps_plot_options options,
                 struct rps_error *err);

/* Draw a run like drawing_draw. A failure to draw fails the test. */
void drawing_must(struct fixture *fixture, const char *output, struct rps_plot_options options);

/* Return the drawing in characters. The caller frees the text. */
char *drawing_characters(struct fixture *fixture, struct rps_plot_options options);

/* Return a file as a string of *ret_size bytes (ret_size may be NULL). The caller frees the string.
 */
char *drawing_text(const char *path, size_t *ret_size);

/* Return the number of occurrences of a part in a text. */
int drawing_count(const char *text, const char *part);

/* Return the number after a name, which the text must contain. */
double drawing_number(const char *text, const char *name);

/* drawing_panels returns the number of panels with a heading in a kept panels.gp. drawing_panel_end
 * returns the end of the y axis of panel n (from 1), among panels with both axes. */
int drawing_panels(const char *panels);
double drawing_panel_end(const char *panels, int number);

/* Compare the data files of a kept directory, in order, with tests/data/plot/NAME.txt. Expect each
 * of their texts and colours in the SVG at `path`, for any version of gnuplot.
 *
 * With RPISTAT_GOLDEN=write in the environment, write the golden file; then review its changes. In
 * the golden file, a checksum replaces the inner rows of a table. RPISTAT_GOLDEN=whole writes all
 * rows, to compare two commits. */
void drawing_golden(const char *name, const char *keep, const char *path);

/* Expect that two kept directories, and their SVGs, differ only in colours. */
void drawing_same_but_inks(const char *keep, const char *path, const char *other_keep,
                           const char *other_path);

/* Store phases of a written run: first, last and label of each. Boundaries without a confidence are
 * certain. */
void drawing_detected(struct fixture *fixture, const struct rps_phase *phase, size_t count);

/* Write and open a run of 240 periods with phases A B A C. The run has one coarser level, finer
 * levels, marks, and a gap with hostile texts. */
void drawing_story(struct fixture *fixture);

/* Write and open a run of 120 periods with phases A and B, and 100 samples per second. In A, 80 %
 * are in `work`. In B, 40 % are in `rest`, and 20 % in `sys`, which `rest` calls in the kernel.
 * Each phase has its own thread. */
void drawing_samples(struct fixture *fixture);

#endif
