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

#include "rpistat/error.h"
#include "status_text.h"

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
