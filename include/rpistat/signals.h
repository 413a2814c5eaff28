/* Signals that are taken from a descriptor. */
#ifndef RPISTAT_SIGNALS_H
#define RPISTAT_SIGNALS_H

#include <signal.h>
#include <stddef.h>

#include "rpistat/error.h"

/*
 * Block these signals, those that are ignored excepted: they stay so. *ret_fd can be read when one
 * has come, and *ret_before (may be NULL) is the mask of before. RPS_FAILED, with the mask as it
 * was, when there is no descriptor.
 */
int rps_signals_take(const int *number, size_t count, int *ret_fd, sigset_t *ret_before,
                     struct rps_error *err);

#endif
