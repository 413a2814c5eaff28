/* Signals: settings that the process changes for itself and restores for its commands, and signals
 * that are read from a descriptor. */
#ifndef RPISTAT_SIGNALS_H
#define RPISTAT_SIGNALS_H

#include <signal.h>
#include <stddef.h>

#include "rpistat/error.h"

/* Signals as the process found them at its start. */
struct rps_signals_before {
    sigset_t mask;
    int ignores_children; /* SIGCHLD was ignored */
};

/*
 * Set up the process's own signals; called first of all. SIGCHLD gets its default, since Linux
 * keeps no status of a child whose parent ignores it. SIGXFSZ is blocked, so that a write beyond
 * the limit of a file's size (ulimit -f) fails like one to a full disk.
 */
void rps_signals_begin(struct rps_signals_before *ret);

/* In a child, before it executes a command of the user: give the command the signals that it would
 * have had without rpistat. */
void rps_signals_restore(const struct rps_signals_before *before);

/*
 * Block these signals, except ignored ones, which stay ignored. *ret_fd becomes readable when one
 * has arrived, and *ret_before (may be NULL) is the previous mask. RPS_FAILED, with an unchanged
 * mask, if no descriptor is available.
 */
int rps_signals_take(const int *number, size_t count, int *ret_fd, sigset_t *ret_before,
                     struct rps_error *err);

#endif
