/* Symbolization. Sorts the frames by module, names each module's frames by the method for this kind
 * of module, and puts the results into the code. */
#include "rpistat/code_output.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize_parts.h"

#define KALLSYMS "/proc/kallsyms"

const char rps_symbolize_refused[] = "functions have no names: root reads programs as user 65534 "
                                     "(nobody), which is not possible here "
                                     "(CAP_SETUID, CAP_SETGID, a user namespace without that user)";

static void name_kernel(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group)
{
    FILE *file = fopen(KALLSYMS, "re");

    if (!file) {
        rps_symbolize_put_reason(symbolizer, group, KALLSYMS " cannot be read");
        return;
    }
    rps_symbolize_kallsyms(symbolizer, group, file);
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

static int name_vdso(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                     struct rps_error *err)
{
    int image = copy_vdso(), rc = 0;

    if (image < 0)
        rps_symbolize_put_reason(symbolizer, group, "this process has no vdso");
    else
        rc = rps_symbolize_file(symbolizer, group, image, err);
    if (image >= 0)
        close(image);
    return rc;
}
#else
static int name_vdso(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                     struct rps_error *err)
{
    return rps_symbolize_file(symbolizer, group, -1, err);
}
#endif

static int name_group(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                      struct rps_error *err)
{
    const char *reason = "the simulation has no function there";
    enum rps_module_kind kind = group->module ? group->module->kind : RPS_MODULE_KINDS;

    if (kind == RPS_MODULE_FILE)
        return rps_symbolize_file(symbolizer, group, -1, err);
    if (kind == RPS_MODULE_MEMORY)
        reason = "no file is mapped there";
    else if (kind == RPS_MODULE_KINDS)
        reason = "its module is not known";
    else if (kind != RPS_MODULE_SIMULATED && !symbolizer->options->opens_paths)
        reason = "only the recorder itself could name it";
    else if (kind == RPS_MODULE_VDSO)
        return name_vdso(symbolizer, group, err);
    else if (kind == RPS_MODULE_KERNEL)
        name_kernel(symbolizer, group); /* name_kernel gives each frame a location, so the reason
                                           set below changes nothing. */
    else if (kind == RPS_MODULE_JIT)
        return rps_symbolize_file(symbolizer, group, -1, err);
    rps_symbolize_put_reason(symbolizer, group, reason);
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

/* Name the frames module by module: only the kernel's frames, or all other frames. */
static int name_modules(struct rps_symbolizer *symbolizer, const size_t *order,
                        const uint64_t *address, int is_kernel, struct rps_error *err)
{
    const struct rps_code *code = symbolizer->code;

    for (size_t first = 0, next; first < code->frame_count; first = next) {
        int64_t module = code->frame[order[first]].module;
        struct rps_symbolize_group group = {.frame = order + first, .address = address + first};

        for (next = first; next < code->frame_count && code->frame[order[next]].module == module;
             next++)
            ;
        group.count = next - first;
        if (module >= 0 && (uint64_t)module < code->module_count)
            group.module = &code->module[module];
        if (group.module && code->origin)
            group.origin = code->origin[module];
        if ((group.module && group.module->kind == RPS_MODULE_KERNEL) == is_kernel &&
            name_group(symbolizer, &group, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

/* Name all frames. The kernel's frames come first, before a process without rights is started. */
static int name_groups(struct rps_symbolizer *symbolizer, struct rps_arena *scratch,
                       struct rps_error *err)
{
    const struct rps_code *code = symbolizer->code;
    size_t count = code->frame_count;
    size_t *order = rps_arena_get(scratch, count, sizeof(*order));
    uint64_t *address = rps_arena_get(scratch, count, sizeof(*address));

    for (size_t i = 0; i < count; i++)
        order[i] = i;
    if (count > 0)
        qsort_r(order, count, sizeof(*order), compare_frames, code->frame);
    for (size_t i = 0; i < count; i++)
        address[i] = code->frame[order[i]].address;
    return name_modules(symbolizer, order, address, 1, err) < 0
               ? RPS_FAILED
               : name_modules(symbolizer, order, address, 0, err);
}

/* Return 1 if a frame keeps its earlier locations, because symbolization found no name, but only a
 * reason for a missing name. */
static int is_kept(const struct rps_symbolizer *symbolizer, const struct rps_location *old)
{
    const struct rps_code *code = symbolizer->code;
    int64_t frame = old->frame, module;

    if (frame < 0 || (uint64_t)frame >= code->frame_count || old->how == RPS_LOCATION_NONE)
        return 0;
    module = code->frame[frame].module;
    if (module >= 0 && (uint64_t)module < code->module_count &&
        code->module[module].kind == RPS_MODULE_SIMULATED)
        return old->how == RPS_LOCATION_MAP;
    return !symbolizer->options->opens_paths &&
           symbolizer->frame[frame].location->how == RPS_LOCATION_NONE;
}

static void keep_old(struct rps_symbolizer *symbolizer)
{
    const struct rps_code *code = symbolizer->code;

    for (size_t first = 0, next; first < code->location_count; first = next) {
        const struct rps_location *old = &code->location[first];

        for (next = first + 1; next < code->location_count; next++) {
            if (code->location[next].frame != old->frame)
                break;
        }
        if (is_kept(symbolizer, old))
            symbolizer->frame[old->frame] = (struct rps_symbolize_frame){old, next - first};
    }
}

static void put_locations(const struct rps_symbolizer *symbolizer, struct rps_code *code)
{
    struct rps_location *location;
    size_t count = 0;

    for (size_t i = 0; i < code->frame_count; i++)
        count += symbolizer->frame[i].count;
    location = rps_arena_get(symbolizer->arena, count, sizeof(*location));
    code->location = location;
    code->location_count = count;
    for (size_t i = 0; i < code->frame_count; i++) {
        for (size_t j = 0; j < symbolizer->frame[i].count; j++)
            *location++ = symbolizer->frame[i].location[j];
    }
}

int rps_symbolize(struct rps_arena *arena, struct rps_code *code,
                  const struct rps_symbolize_options *options, struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_symbolizer symbolizer = {.arena = arena, .code = code, .options = options};
    int rc;

    symbolizer.frame = rps_arena_get(scratch, code->frame_count, sizeof(*symbolizer.frame));
    rc = name_groups(&symbolizer, scratch, err);
    rps_opener_end(&symbolizer.opener);
    if (rc == 0) {
        keep_old(&symbolizer);
        put_locations(&symbolizer, code);
    }
    rps_arena_free(scratch);
    return rc == 0 && symbolizer.is_refused ? 1 : rc;
}
