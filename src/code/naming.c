/*
 * Naming: sort the frames by module, have each module's frames named by its kind, and put the
 * results into the code.
 */
#include "rpistat/naming.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "naming_parts.h"

#define KALLSYMS "/proc/kallsyms"

const char rps_naming_refused[] = "functions have no names: root reads programs as user 65534 "
                                  "(nobody), which is not possible here "
                                  "(CAP_SETUID, CAP_SETGID, a user namespace without that user)";

static void name_kernel(struct rps_naming *naming, const struct rps_naming_group *group)
{
    FILE *file = fopen(KALLSYMS, "re");

    if (!file) {
        rps_naming_put_reason(naming, group, KALLSYMS " cannot be read");
        return;
    }
    rps_naming_kallsyms(naming, group, file);
    fclose(file);
}

#ifdef RPS_HAS_ELFUTILS
/* Copy this process's vdso into a memory file; return -1 if there is none. */
static int copy_vdso(void)
{
    uintptr_t wanted = getauxval(AT_SYSINFO_EHDR);
    FILE *maps = wanted ? fopen("/proc/self/maps", "re") : NULL;
    char line[512];
    int fd = -1;

    while (maps && fd < 0 && fgets(line, sizeof(line), maps)) {
        char *end;
        uintptr_t start = strtoull(line, &end, 16);
        size_t bytes = start == wanted && *end == '-' ? strtoull(end + 1, NULL, 16) - start : 0;

        if (bytes == 0)
            continue;
        fd = memfd_create("vdso", MFD_CLOEXEC);
        if (fd >= 0 && write(fd, (const void *)start, bytes) != (ssize_t)bytes) {
            close(fd);
            fd = -1;
            break;
        }
    }
    if (maps)
        fclose(maps);
    return fd;
}

static int name_vdso(struct rps_naming *naming, const struct rps_naming_group *group,
                     struct rps_error *err)
{
    int image = copy_vdso(), rc = 0;

    if (image < 0)
        rps_naming_put_reason(naming, group, "this process has no vdso");
    else
        rc = rps_naming_file(naming, group, image, err);
    if (image >= 0)
        close(image);
    return rc;
}
#else
static int name_vdso(struct rps_naming *naming, const struct rps_naming_group *group,
                     struct rps_error *err)
{
    return rps_naming_file(naming, group, -1, err);
}
#endif

static int name_group(struct rps_naming *naming, const struct rps_naming_group *group,
                      struct rps_error *err)
{
    const char *reason = "the simulation has no function there";
    enum rps_module_kind kind = group->module ? group->module->kind : RPS_MODULE_KINDS;

    if (kind == RPS_MODULE_FILE)
        return rps_naming_file(naming, group, -1, err);
    if (kind == RPS_MODULE_MEMORY)
        reason = "no file is mapped there";
    else if (kind == RPS_MODULE_KINDS)
        reason = "its module is not known";
    else if (kind != RPS_MODULE_SIMULATED && !naming->options->opens_paths)
        reason = "only the recorder itself could name it";
    else if (kind == RPS_MODULE_VDSO)
        return name_vdso(naming, group, err);
    else if (kind == RPS_MODULE_KERNEL)
        name_kernel(naming, group); /* no frame is left without a location */
    else if (kind == RPS_MODULE_JIT)
        return rps_naming_file(naming, group, -1, err);
    rps_naming_put_reason(naming, group, reason);
    return 0;
}

static int compare_frames(const void *left, const void *right, void *context)
{
    const struct rps_frame *frame = context;
    const struct rps_frame *a = &frame[*(const size_t *)left], *b = &frame[*(const size_t *)right];

    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

/* Name the frames of one module after the other, either those of the kernel or all others. */
static int name_modules(struct rps_naming *naming, const size_t *order, const uint64_t *address,
                        int is_kernel, struct rps_error *err)
{
    const struct rps_code *code = naming->code;

    for (size_t first = 0, next; first < code->frame_count; first = next) {
        int64_t module = code->frame[order[first]].module;
        struct rps_naming_group group = {.frame = order + first, .address = address + first};

        for (next = first; next < code->frame_count && code->frame[order[next]].module == module;
             next++)
            ;
        group.count = next - first;
        if (module >= 0 && (uint64_t)module < code->module_count)
            group.module = &code->module[module];
        if (group.module && code->origin)
            group.origin = code->origin[module];
        if ((group.module && group.module->kind == RPS_MODULE_KERNEL) == is_kernel &&
            name_group(naming, &group, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

/* Name the kernel's frames first, before there is a process without rights. */
static int name_groups(struct rps_naming *naming, struct rps_arena *scratch, struct rps_error *err)
{
    const struct rps_code *code = naming->code;
    size_t count = code->frame_count;
    size_t *order = rps_arena_get(scratch, count, sizeof(*order));
    uint64_t *address = rps_arena_get(scratch, count, sizeof(*address));

    for (size_t i = 0; i < count; i++)
        order[i] = i;
    if (count > 0)
        qsort_r(order, count, sizeof(*order), compare_frames, code->frame);
    for (size_t i = 0; i < count; i++)
        address[i] = code->frame[order[i]].address;
    return name_modules(naming, order, address, 1, err) < 0
               ? RPS_FAILED
               : name_modules(naming, order, address, 0, err);
}

/* Return 1 if a frame keeps its earlier locations: naming found only a reason for having none. */
static int is_kept(const struct rps_naming *naming, const struct rps_location *old)
{
    const struct rps_code *code = naming->code;
    int64_t frame = old->frame, module;

    if (frame < 0 || (uint64_t)frame >= code->frame_count || old->how == RPS_LOCATION_NONE)
        return 0;
    module = code->frame[frame].module;
    if (module >= 0 && (uint64_t)module < code->module_count &&
        code->module[module].kind == RPS_MODULE_SIMULATED)
        return old->how == RPS_LOCATION_MAP;
    return !naming->options->opens_paths && naming->frame[frame].location->how == RPS_LOCATION_NONE;
}

static void keep_old(struct rps_naming *naming)
{
    const struct rps_code *code = naming->code;

    for (size_t first = 0, next; first < code->location_count; first = next) {
        const struct rps_location *old = &code->location[first];

        for (next = first + 1; next < code->location_count; next++) {
            if (code->location[next].frame != old->frame)
                break;
        }
        if (is_kept(naming, old))
            naming->frame[old->frame] = (struct rps_naming_frame){old, next - first};
    }
}

static void put_locations(const struct rps_naming *naming, struct rps_code *code)
{
    struct rps_location *location;
    size_t count = 0;

    for (size_t i = 0; i < code->frame_count; i++)
        count += naming->frame[i].count;
    location = rps_arena_get(naming->arena, count, sizeof(*location));
    code->location = location;
    code->location_count = count;
    for (size_t i = 0; i < code->frame_count; i++) {
        for (size_t j = 0; j < naming->frame[i].count; j++)
            *location++ = naming->frame[i].location[j];
    }
}

int rps_naming_name(struct rps_arena *arena, struct rps_code *code,
                    const struct rps_naming_options *options, struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_naming naming = {.arena = arena, .code = code, .options = options};
    int rc;

    naming.frame = rps_arena_get(scratch, code->frame_count, sizeof(*naming.frame));
    rc = name_groups(&naming, scratch, err);
    rps_opener_end(&naming.opener);
    if (rc == 0) {
        keep_old(&naming);
        put_locations(&naming, code);
    }
    rps_arena_free(scratch);
    return rc == 0 && naming.is_refused ? 1 : rc;
}
