/* A line of figures for a terminal: fields side by side, as many as fit. */
#ifndef RPISTAT_CLI_STATUS_TEXT_H
#define RPISTAT_CLI_STATUS_TEXT_H

#include <stddef.h>

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

#endif
