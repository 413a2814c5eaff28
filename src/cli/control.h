/*
 * Control of a recording from outside: --control fifo:PATH.
 *
 * PATH and PATH.ack are named pipes. PATH receives commands, one per line. Each is answered by one
 * line in PATH.ack: `ack` when it is done, or `error: ...`. Commands: `enable`, `disable`, `mark
 * TEXT`, `stop`. Missing pipes are created, and removed at the end.
 */
#ifndef RPISTAT_CLI_CONTROL_H
#define RPISTAT_CLI_CONTROL_H

#include "rpistat/error.h"
#include "rpistat/loop.h"

struct rps_control;

/* Open the pipes. `text` is the argument of --control. `mark` is called for an annotation. */
int rps_control_open(struct rps_control **ret, const char *text,
                     void (*mark)(void *context, const char *text), void *context,
                     struct rps_error *err);

/* Return how the loop waits for commands; a NULL control gives one that watches nothing. */
struct rps_watch rps_control_watch(struct rps_control *control);

/* Close the pipes. NULL is harmless. */
void rps_control_close(struct rps_control *control);

#endif
