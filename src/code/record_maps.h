/* Address spaces: the files that a process has mapped, by range of memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/code.h"

/* A mapped file, or memory without a file. Several maps may share this struct. */
struct rps_mapped {
    size_t users;
    int64_t module; /* Module number; -1 before the first sample in this mapping. */
    enum rps_module_kind kind;
    uint32_t major, minor; /* Device of the file. */
    uint64_t inode;        /* 0 if device and inode are unknown. */
    char build_id[2 * RPS_BUILD_ID_MAX + 1];
    char path[];
};

struct rps_map {
    uint64_t start, end; /* The range includes start and excludes end. */
    uint64_t file_offset;
    struct rps_mapped *mapped;
};

/* An address space: maps that do not overlap, in order of address. A zeroed struct has no maps. */
struct rps_space {
    struct rps_map *map; /* Owned array of maps. */
    size_t count;
};

/* Create the mapping of a sample of kind RPS_SAMPLE_MAP. The mapping's number of users begins at 1.
 * Returns NULL if there is no memory. */
struct rps_mapped *rps_mapped_new(const struct rps_sample *sample);
void rps_mapped_release(struct rps_mapped *mapped); /* `mapped` may be NULL. */

/* Release all maps; the space is empty again. */
void rps_space_clear(struct rps_space *space);

/* Copy the maps of another address space into an empty one. Returns a negative value if there is no
 * memory; in this case the address space remains empty. */
int rps_space_copy(struct rps_space *space, const struct rps_space *from);

/* Map [start, start + length) to `mapped`, replacing earlier maps in this range. The number of
 * users of `mapped` is raised by one. If there is no memory, or the process has too many maps,
 * returns a negative value and does not change the space. */
int rps_space_add(struct rps_space *space, uint64_t start, uint64_t length, uint64_t file_offset,
                  struct rps_mapped *mapped);

/* Return the map that contains the address, or NULL. The map is valid until the space changes. */
const struct rps_map *rps_space_find(const struct rps_space *space, uint64_t address);

/* Convert an address in memory to an address in the map's module, as used in frames. */
uint64_t rps_map_address(const struct rps_map *map, uint64_t address);
