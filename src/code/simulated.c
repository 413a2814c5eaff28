/* Functions of a simulation. There are few, and they are reported once. */
#include "simulated.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/array.h"

void rps_simulated_free(struct rps_simulated *simulated)
{
    for (size_t i = 0; i < simulated->count; i++) {
        free(simulated->symbol[i].name);
        free(simulated->symbol[i].file);
    }
    free(simulated->symbol);
    *simulated = (struct rps_simulated){0};
}

static int begins_by(const void *symbol, const void *address)
{
    return ((const struct rps_simulated_symbol *)symbol)->start <= *(const uint64_t *)address;
}

/* Return how many symbols begin at or before the address. */
static size_t count_before(const struct rps_simulated *simulated, uint64_t address)
{
    return rps_array_find(simulated->symbol, simulated->count, sizeof(*simulated->symbol),
                          begins_by, &address);
}

static int grow_symbols(struct rps_simulated *simulated)
{
    struct rps_simulated_symbol *symbol =
        rps_array_grow(simulated->symbol, simulated->count, sizeof(*symbol));

    if (!symbol)
        return -1;
    simulated->symbol = symbol;
    return 0;
}

int rps_simulated_add(struct rps_simulated *simulated, const struct rps_sample *sample)
{
    uint64_t start = sample->map_address, length = sample->map_length;
    struct rps_simulated_symbol symbol = {
        .start = start,
        .end = length > UINT64_MAX - start ? UINT64_MAX : start + length,
        .name = strdup(sample->path ? sample->path : ""),
        .file = strdup(sample->source_file ? sample->source_file : ""),
        .line = sample->source_line,
    };
    size_t at = count_before(simulated, start);

    if (!symbol.name || !symbol.file || grow_symbols(simulated) < 0) {
        free(symbol.name);
        free(symbol.file);
        return -1;
    }
    memmove(simulated->symbol + at + 1, simulated->symbol + at,
            (simulated->count - at) * sizeof(symbol));
    simulated->symbol[at] = symbol;
    simulated->count++;
    return 0;
}

const struct rps_simulated_symbol *rps_simulated_find(const struct rps_simulated *simulated,
                                                      uint64_t address)
{
    size_t before = simulated->count > 0 ? count_before(simulated, address) : 0;

    return before > 0 && simulated->symbol[before - 1].end > address
               ? &simulated->symbol[before - 1]
               : NULL;
}
