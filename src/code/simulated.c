/* Functions of a simulation: few, and told once. */
#include "simulated.h"

#include <stdlib.h>
#include <string.h>

void rps_simulated_free(struct rps_simulated *simulated)
{
    for (size_t i = 0; i < simulated->count; i++) {
        free(simulated->symbol[i].name);
        free(simulated->symbol[i].file);
    }
    free(simulated->symbol);
    *simulated = (struct rps_simulated){0};
}

/* How many symbols begin at or before the address. */
static size_t count_before(const struct rps_simulated *simulated, uint64_t address)
{
    size_t low = 0, high = simulated->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (simulated->symbol[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int grow_symbols(struct rps_simulated *simulated)
{
    size_t room = 2 * simulated->room + 16;
    struct rps_simulated_symbol *symbol = reallocarray(simulated->symbol, room, sizeof(*symbol));

    if (!symbol)
        return -1;
    simulated->symbol = symbol;
    simulated->room = room;
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

    if (!symbol.name || !symbol.file ||
        (simulated->count == simulated->room && grow_symbols(simulated) < 0)) {
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
