/* Random numbers. The generator splitmix64 (Steele, Lea and Flood 2014) gives equal sequences on
 * every machine. The kernel's generator gives numbers that cannot be predicted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* Return the next number of the sequence with seed *state; rps_random_unit returns it in [0, 1). */
uint64_t rps_random_next(uint64_t *state);
double rps_random_unit(uint64_t *state);

/* Return number n (from 0) of a seed's sequence, without computing the earlier numbers. */
uint64_t rps_random_at(uint64_t seed, uint64_t n);

/* Fill ret with at most 256 bytes from the kernel's generator. Return RPS_FAILED on failure. */
int rps_random_bytes(void *ret, size_t size, struct rps_error *err);
