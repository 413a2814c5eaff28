/* A line on a terminal that shows the progress of an operation until its end.
 *
 * A thread draws the line, so that a slow terminal delays nothing else. The first drawing is after
 * half a second, and then there are two per second. The line is hidden in the background, in raw
 * mode (an editor), and while typed characters are not shown (a password). */
#pragma once

#include <stddef.h>

#include "rpistat/error.h"

/* --- a line of metrics for a terminal: as many fields as fit ---------------------------------- */

#define RPS_STATUS_TEXT_SIZE 1024

struct rps_status_text {
    size_t columns; /* maximum number of columns */
    char text[RPS_STATUS_TEXT_SIZE];
};

/* Begin an empty line of at most `columns` columns. */
void rps_status_text_begin(struct rps_status_text *line, size_t columns);

/* Append a printf-style field without control characters; two blanks precede every field except the
 * first. Returns 1, or 0 if the field does not fit and was omitted. */
int rps_status_text_add(struct rps_status_text *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append "LABEL VALUE UNIT", as in "CPI 1.23" or "faults 8.42 k/s". Returns 1, or 0 if the field
 * does not fit and was omitted. */
int rps_status_text_add_figure(struct rps_status_text *line, const char *label, double value,
                               const char *unit);

/* --- the line that a thread draws ------------------------------------------------------------- */

struct rps_terminal_line;

/* Add the fields to the line, which is empty. The thread of the line calls this function. */
typedef void rps_terminal_line_compose(void *context, struct rps_status_text *line);

/* Start to draw on the terminal fd. The function duplicates fd. Returns RPS_FAILED if memory, a
 * descriptor or a thread is not available. */
int rps_terminal_line_start(struct rps_terminal_line **ret, int fd,
                            rps_terminal_line_compose *compose, void *context,
                            struct rps_error *err);

/* Remove the line from the terminal and end the thread. NULL is harmless. */
void rps_terminal_line_stop(struct rps_terminal_line *line);
