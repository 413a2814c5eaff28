/*
 * A line on a terminal that tells how something goes on, until that is over.
 *
 * A thread of its own draws it twice a second, from the first half second on, so that a terminal
 * that does not keep up delays nothing. It is left out while rpistat is in the background, while a
 * program has the terminal in raw mode (an editor), and while what is typed is not shown (a
 * password).
 */
#ifndef RPISTAT_CLI_TERMINAL_LINE_H
#define RPISTAT_CLI_TERMINAL_LINE_H

#include <stddef.h>

#include "rpistat/error.h"

/* --- a line of figures for a terminal: fields side by side, as many as fit -------------------- */

#define RPS_STATUS_TEXT_SIZE 1024

struct rps_status_text {
    size_t columns; /* that it may take */
    char text[RPS_STATUS_TEXT_SIZE];
};

/* An empty line of at most so many columns. */
void rps_status_text_begin(struct rps_status_text *line, size_t columns);

/* Append a field (printf style), two blanks before all but the first; made printable. Returns 1, or
 * 0 when it does not fit and was left out. */
int rps_status_text_add(struct rps_status_text *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append "LABEL VALUE UNIT", as in "CPI 1.23" or "faults 8.42 k/s". As above. */
int rps_status_text_add_figure(struct rps_status_text *line, const char *label, double value,
                               const char *unit);

/* --- the line that a thread draws -------------------------------------------------------------- */

struct rps_terminal_line;

/* Add the fields of the line, which is empty; called from its thread. */
typedef void rps_terminal_line_compose(void *context, struct rps_status_text *line);

/* Begin to draw on the terminal fd, which is duplicated. RPS_FAILED without memory, descriptor or
 * thread. */
int rps_terminal_line_start(struct rps_terminal_line **ret, int fd,
                            rps_terminal_line_compose *compose, void *context,
                            struct rps_error *err);

/* Take the line off the terminal and end the thread. NULL is harmless. */
void rps_terminal_line_stop(struct rps_terminal_line *line);

#endif
