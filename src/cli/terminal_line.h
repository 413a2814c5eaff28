/*
 * A line on a terminal that shows the progress of an operation until its end.
 *
 * A thread of its own draws it twice per second, after the first half second, so that a slow
 * terminal delays nothing. The line is hidden in the background, in raw mode (an editor), and while
 * typed characters are not shown (a password).
 */
#ifndef RPISTAT_CLI_TERMINAL_LINE_H
#define RPISTAT_CLI_TERMINAL_LINE_H

#include <stddef.h>

#include "rpistat/error.h"

/* --- a line of metrics for a terminal: as many fields as fit ---------------------------------- */

#define RPS_STATUS_TEXT_SIZE 1024

struct rps_status_text {
    size_t columns; /* maximum width */
    char text[RPS_STATUS_TEXT_SIZE];
};

/* Begin an empty line of at most so many columns. */
void rps_status_text_begin(struct rps_status_text *line, size_t columns);

/* Append a field (printf style), after two blanks except for the first; made printable. Returns 1,
 * or 0 if it does not fit and was omitted. */
int rps_status_text_add(struct rps_status_text *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append "LABEL VALUE UNIT", as in "CPI 1.23" or "faults 8.42 k/s". As above. */
int rps_status_text_add_figure(struct rps_status_text *line, const char *label, double value,
                               const char *unit);

/* --- the line that a thread draws ------------------------------------------------------------- */

struct rps_terminal_line;

/* Add the fields of the line, which is empty; called from its thread. */
typedef void rps_terminal_line_compose(void *context, struct rps_status_text *line);

/* Start to draw on the terminal fd, which is duplicated. RPS_FAILED without memory, descriptor or
 * thread. */
int rps_terminal_line_start(struct rps_terminal_line **ret, int fd,
                            rps_terminal_line_compose *compose, void *context,
                            struct rps_error *err);

/* Take the line off the terminal and end the thread. NULL is harmless. */
void rps_terminal_line_stop(struct rps_terminal_line *line);

#endif
