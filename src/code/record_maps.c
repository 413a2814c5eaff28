#include "record_maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"

#define MAPS_MAX 65536 /* The default of vm.max_map_count, rounded up. */

/* Return 1 for names that the kernel gives to memory without a file. */
static int is_anonymous(const char *path)
{
    static const char *const start[] = {
        "[", "//anon", "/anon_hugepage", "/memfd:", "memfd:", "/dev/zero", "/SYSV"};

    for (size_t i = 0; i < RPS_COUNT(start); i++) {
        if (strncmp(path, start[i], strlen(start[i])) == 0)
            return 1;
    }
    return path[0] == '\0';
}

struct rps_mapped *rps_mapped_new(const struct rps_sample *sample)
{
    const char *path = sample->path ? sample->path : "";
    enum rps_module_kind kind = RPS_MODULE_FILE;
    struct rps_mapped *mapped;
    char jit_path[64];

    if (strcmp(path, "[vdso]") == 0) {
        kind = RPS_MODULE_VDSO;
    } else if (is_anonymous(path)) {
        kind = RPS_MODULE_JIT;
        snprintf(jit_path, sizeof(jit_path), "/tmp/perf-%ld.map", (long)sample->pid);
        path = jit_path;
    }
    mapped = calloc(1, sizeof(*mapped) + strlen(path) + 1);
    if (!mapped)
        return NULL;
    mapped->users = 1;
    mapped->module = -1;
    mapped->kind = kind;
    mapped->major = sample->major;
    mapped->minor = sample->minor;
    mapped->inode = sample->inode;
    strcpy(mapped->path, path);
    if (kind != RPS_MODULE_JIT)
        rps_code_build_id(mapped->build_id, sample->build_id, sample->build_id_bytes);
    return mapped;
}

void rps_mapped_release(struct rps_mapped *mapped)
{
    if (mapped && --mapped->users == 0)
        free(mapped);
}

void rps_space_clear(struct rps_space *space)
{
    for (size_t i = 0; i < space->count; i++)
        rps_mapped_release(space->map[i].mapped);
    free(space->map);
    *space = (struct rps_space){0};
}

int rps_space_copy(struct rps_space *space, const struct rps_space *from)
{
    struct rps_map *map = rps_array_grow_by(NULL, 0, from->count, sizeof(*map));

    if (!map)
        return from->count > 0 ? -1 : 0;
    memcpy(map, from->map, from->count * sizeof(*map));
    for (size_t i = 0; i < from->count; i++)
        map[i].mapped->users++;
    *space = (struct rps_space){map, from->count};
    return 0;
}

RPS_ARRAY_BEFORE(ends_by, struct rps_map, .end, <=, uint64_t)

/* Return the first map that ends after the address; `count` if there is none. */
static size_t find_behind(const struct rps_space *space, uint64_t address)
{
    return rps_array_find(space->map, space->count, sizeof(*space->map), ends_by, &address);
}

static void insert(struct rps_space *space, const struct rps_map *new)
{
    size_t first = find_behind(space, new->start), last = first, count = 0;
    struct rps_map put[3];

    /* Keep the part of an old map that is before the new map. */
    if (first < space->count && space->map[first].start < new->start) {
        put[count] = space->map[first];
        put[count++].end = new->start;
    }
    put[count++] = *new;
    while (last < space->count && space->map[last].start < new->end)
        last++;
    /* Keep the part of an old map that is after the new map. */
    if (last > first && space->map[last - 1].end > new->end) {
        put[count] = space->map[last - 1];
        put[count].file_offset += new->end - put[count].start;
        put[count++].start = new->end;
    }
    for (size_t i = 0; i < count; i++)
        put[i].mapped->users++;
    /* Release the maps from `first` to `last` - 1, and put `count` new maps in their place. */
    for (size_t i = first; i < last; i++)
        rps_mapped_release(space->map[i].mapped);
    memmove(space->map + first + count, space->map + last,
            (space->count - last) * sizeof(space->map[0]));
    memcpy(space->map + first, put, count * sizeof(*put));
    space->count = space->count - (last - first) + count;
}

int rps_space_add(struct rps_space *space, uint64_t start, uint64_t length, uint64_t file_offset,
                  struct rps_mapped *mapped)
{
    struct rps_map new = {start, length > UINT64_MAX - start ? UINT64_MAX : start + length,
                          mapped->kind == RPS_MODULE_FILE ? file_offset : 0, mapped};
    struct rps_map *grown;

    if (length == 0)
        return 0;
    if (space->count >= MAPS_MAX)
        return -1;
    /* If the new range is inside an old range, the old range is split: there are two more maps. */
    grown = rps_array_grow_by(space->map, space->count, 2, sizeof(*grown));
    if (!grown)
        return -1;
    space->map = grown;
    insert(space, &new);
    return 0;
}

const struct rps_map *rps_space_find(const struct rps_space *space, uint64_t address)
{
    size_t at = find_behind(space, address);

    return at < space->count && space->map[at].start <= address ? &space->map[at] : NULL;
}

uint64_t rps_map_address(const struct rps_map *map, uint64_t address)
{
    return map->mapped->kind == RPS_MODULE_JIT ? address : address - map->start + map->file_offset;
}
