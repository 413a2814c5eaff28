/* A line of figures for a terminal: fields side by side, as many as fit. */
#ifndef RPISTAT_CLI_LINE_H
#define RPISTAT_CLI_LINE_H

#include <stddef.h>

#define RPS_LINE_SIZE 1024

struct rps_line {
    size_t columns; /* that it may take */
    char text[RPS_LINE_SIZE];
};

/* An empty line of at most so many columns. */
void rps_line_begin(struct rps_line *line, size_t columns);

/* Append a field (printf style), two blanks before all but the first; made printable. Returns 1, or
 * 0 when it does not fit and was left out. */
int rps_line_add(struct rps_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append "LABEL VALUE UNIT". As above. */
int rps_line_add_figure(struct rps_line *line, const char *label, double value, const char *unit);

#endif
