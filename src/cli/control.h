/*
 * Steering a recording from outside: --control fifo:PATH.
 *
 * Two named pipes: commands are read from PATH, a line each, and each is answered by a line in
 * PATH.ack: `ack` when it is done, or `error: ...`. Commands: `enable`, `disable`, `mark TEXT`,
 * `stop`. Pipes that are not there are made, and removed at the end.
 */
#ifndef RPISTAT_CLI_CONTROL_H
#define RPISTAT_CLI_CONTROL_H

#include "rpistat/error.h"
#include "rpistat/loop.h"

struct rps_control;

/* `text` is what stands behind --control. `mark` is called for an annotation. */
int rps_control_open(struct rps_control **ret, const char *text,
                     void (*mark)(void *context, const char *text), void *context,
                     struct rps_error *err);

/* How the loop waits for commands; a NULL control gives one that watches nothing. */
struct rps_watch rps_control_watch(struct rps_control *control);

/* NULL is harmless. */
void rps_control_close(struct rps_control *control);

#endif
