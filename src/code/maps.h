/* Address spaces: which file each range of a process's memory is of. */
#ifndef RPISTAT_CODE_MAPS_H
#define RPISTAT_CODE_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/code.h"

/* What is mapped, shared by the maps of it. */
struct rps_mapped {
    size_t users;
    int64_t module; /* its number, when a sample was in it; else -1 */
    enum rps_module_kind kind;
    uint32_t major, minor; /* of the file's device; */
    uint64_t inode;        /* 0: neither is known */
    char build_id[2 * RPS_BUILD_ID_MAX + 1];
    char path[];
};

struct rps_map {
    uint64_t start, end; /* [start, end) */
    uint64_t file_offset;
    struct rps_mapped *mapped;
};

/* Maps that do not overlap, in order of address; zero it to begin with none. */
struct rps_space {
    struct rps_map *map; /* owned */
    size_t count;
};

/* What the sample, an RPS_SAMPLE_MAP, maps; NULL without memory. One user. */
struct rps_mapped *rps_mapped_new(const struct rps_sample *sample);
void rps_mapped_release(struct rps_mapped *mapped); /* NULL is harmless */

/* Release what it has: it is empty again. */
void rps_space_clear(struct rps_space *space);

/* Give an empty space the maps of another. Negative without memory: it stays empty. */
int rps_space_copy(struct rps_space *space, const struct rps_space *from);

/* Put mapped, which gets a user more, at [start, start + length) in the place of what was there.
 * Negative without memory, or when there are more maps than a process may have: it is as before. */
int rps_space_add(struct rps_space *space, uint64_t start, uint64_t length, uint64_t file_offset,
                  struct rps_mapped *mapped);

/* The map that has the address, or NULL. Valid until the space changes. */
const struct rps_map *rps_space_find(const struct rps_space *space, uint64_t address);

/* The address as frames of the map's module have it. */
uint64_t rps_map_address(const struct rps_map *map, uint64_t address);

#endif
