/*
 * Random numbers: splitmix64 (Steele, Lea and Flood 2014), which is the same everywhere, and the
 * kernel's generator for numbers that nobody can predict or repeat.
 */
#ifndef RPISTAT_RANDOM_H
#define RPISTAT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* Return the next number of the sequence that began with *state as its seed; unit: in [0, 1). */
uint64_t rps_random_next(uint64_t *state);
double rps_random_unit(uint64_t *state);

/* Return number n, from 0, of the sequence of a seed, without computing those before it. */
uint64_t rps_random_at(uint64_t seed, uint64_t n);

/* Fill ret from the kernel's generator, at most 256 bytes. Return RPS_FAILED if it gives none. */
int rps_random_bytes(void *ret, size_t size, struct rps_error *err);

#endif
