/* Address spaces: the files that a process has mapped, by range of memory. */
#ifndef RPISTAT_CODE_MAPS_H
#define RPISTAT_CODE_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/code.h"

/* A mapped file or memory, shared by its maps. */
struct rps_mapped {
    size_t users;
    int64_t module; /* its number once a sample was in it; -1: none */
    enum rps_module_kind kind;
    uint32_t major, minor; /* of the file's device; */
    uint64_t inode;        /* 0: device and inode are not known */
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

/* Create the mapping of a sample of kind RPS_SAMPLE_MAP, with one user; NULL: no memory. */
struct rps_mapped *rps_mapped_new(const struct rps_sample *sample);
void rps_mapped_release(struct rps_mapped *mapped); /* NULL is harmless */

/* Release all maps; the space is empty again. */
void rps_space_clear(struct rps_space *space);

/* Copy the maps of another space into an empty one. Negative: no memory, and it stays empty. */
int rps_space_copy(struct rps_space *space, const struct rps_space *from);

/* Map [start, start + length) to `mapped`, which gets one more user, in place of earlier maps.
 * Negative: no memory, or more maps than a process may have; the space is unchanged. */
int rps_space_add(struct rps_space *space, uint64_t start, uint64_t length, uint64_t file_offset,
                  struct rps_mapped *mapped);

/* Return the map that contains the address, or NULL. Valid until the space changes. */
const struct rps_map *rps_space_find(const struct rps_space *space, uint64_t address);

/* Convert an address to one in the map's module, as frames have it. */
uint64_t rps_map_address(const struct rps_map *map, uint64_t address);

#endif
