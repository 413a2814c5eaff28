/* Functions of a simulation, by address. */
#ifndef RPISTAT_CODE_SIMULATED_H
#define RPISTAT_CODE_SIMULATED_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/sample.h"

struct rps_simulated_symbol {
    uint64_t start, end; /* [start, end) */
    char *name;          /* owned, as is file, "" not known */
    char *file;
    int line;
};

struct rps_simulated {
    struct rps_simulated_symbol *symbol; /* in order of start */
    size_t count;
};

void rps_simulated_free(struct rps_simulated *simulated);

/* Add a symbol. Negative: no memory. */
int rps_simulated_add(struct rps_simulated *simulated, const struct rps_sample *sample);

/* Return the last symbol that begins at or before the address, if it covers it; or NULL. */
const struct rps_simulated_symbol *rps_simulated_find(const struct rps_simulated *simulated,
                                                      uint64_t address);

#endif
