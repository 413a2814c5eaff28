/*
 * Naming: sorts frames by module, has each module's frames named by its kind, and puts what came of
 * it into the code.
 */
#include "rpistat/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "naming_parts.h"
#include "rpistat/array.h"
#include "rpistat/text.h"

#define KALLSYMS "/proc/kallsyms"

static int name_kernel(struct rps_naming *naming, const struct rps_naming_group *group,
                       struct rps_error *err)
{
    FILE *file = fopen(KALLSYMS, "re");
    int rc;

    if (!file)
        return rps_naming_put_reason(naming, group, KALLSYMS " cannot be read", err);
    rc = rps_naming_kallsyms(naming, group, file, err);
    fclose(file);
    return rc;
}

#ifdef RPS_HAS_ELFUTILS
/* The vdso of this process, as a memory file; -1 when there is none. */
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
    int image = copy_vdso(), rc;

    if (image < 0)
        return rps_naming_put_reason(naming, group, "this process has no vdso", err);
    rc = rps_naming_elf(naming, group, image, err);
    close(image);
    return rc;
}
#else
int rps_naming_elf(struct rps_naming *naming, const struct rps_naming_group *group, int image,
                   struct rps_error *err)
{
    (void)image;
    return rps_naming_put_reason(naming, group, "rpistat was built without elfutils", err);
}

static int name_vdso(struct rps_naming *naming, const struct rps_naming_group *group,
                     struct rps_error *err)
{
    return rps_naming_elf(naming, group, -1, err);
}
#endif

static int name_group(struct rps_naming *naming, const struct rps_naming_group *group,
                      struct rps_error *err)
{
    const char *reason = "the simulation has no function there";
    enum rps_module_kind kind = group->module ? group->module->kind : RPS_MODULE_KINDS;

    if (kind == RPS_MODULE_FILE)
        return rps_naming_elf(naming, group, -1, err);
    if (kind == RPS_MODULE_MEMORY)
        reason = "no file is mapped there";
    else if (kind == RPS_MODULE_KINDS)
        reason = "its module is not known";
    else if (kind != RPS_MODULE_SIMULATED && !naming->options->opens_paths)
        reason = "only the recorder itself could name it";
    else if (kind == RPS_MODULE_KERNEL)
        return name_kernel(naming, group, err);
    else if (kind == RPS_MODULE_VDSO)
        return name_vdso(naming, group, err);
    else if (kind == RPS_MODULE_JIT)
        return rps_naming_jit(naming, group, err);
    return rps_naming_put_reason(naming, group, reason, err);
}

static int compare_frames(const void *left, const void *right, void *context)
{
    const struct rps_frame *frame = context;
    const struct rps_frame *a = &frame[*(const size_t *)left], *b = &frame[*(const size_t *)right];

    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

/* Name all frames, module by module; `order` and `address` have room for all. */
static int name_groups(struct rps_naming *naming, size_t *order, uint64_t *address,
                       struct rps_error *err)
{
    const struct rps_code *code = naming->code;
    size_t count = code->frame_count;

    for (size_t i = 0; i < count; i++)
        order[i] = i;
    if (count > 0)
        qsort_r(order, count, sizeof(*order), compare_frames, code->frame);
    for (size_t i = 0; i < count; i++)
        address[i] = code->frame[order[i]].address;
    for (size_t first = 0, next; first < count; first = next) {
        int64_t module = code->frame[order[first]].module;
        struct rps_naming_group group = {NULL, order + first, address + first, 0};

        for (next = first; next < count && code->frame[order[next]].module == module; next++)
            ;
        group.count = next - first;
        if (module >= 0 && (uint64_t)module < code->module_count)
            group.module = &code->module[module];
        if (name_group(naming, &group, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

/* The locations that a frame had stay, in place of the reason that it has none now. */
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
    return !naming->options->opens_paths &&
           naming->location[naming->frame[frame].first].how == RPS_LOCATION_NONE;
}

static int keep_old(struct rps_naming *naming, struct rps_error *err)
{
    const struct rps_code *code = naming->code;

    for (size_t first = 0, next; first < code->location_count; first = next) {
        const struct rps_location *old = &code->location[first];

        for (next = first + 1; next < code->location_count; next++) {
            if (code->location[next].frame != old->frame)
                break;
        }
        if (is_kept(naming, old) &&
            rps_naming_put(naming, (size_t)old->frame, old, next - first, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

static const char *move_text(struct rps_naming *naming, const char *text)
{
    char *moved = naming->texts + naming->texts_bytes;

    strcpy(moved, text ? text : "");
    naming->texts_bytes += strlen(moved) + 1;
    return moved;
}

/* Put the locations into the code, with the texts of all else beside theirs. */
static int put_locations(struct rps_naming *naming, struct rps_code *code, struct rps_error *err)
{
    size_t bytes = 1, count = 0, at = 0;
    struct rps_location *location;

    for (size_t i = 0; i < code->module_count; i++)
        bytes += (code->module[i].path ? strlen(code->module[i].path) : 0) + 1;
    for (size_t i = 0; i < code->task_count; i++)
        bytes += (code->task[i].name ? strlen(code->task[i].name) : 0) + 1;
    for (size_t i = 0; i < code->frame_count; i++)
        count += naming->frame[i].count;
    location = calloc(count + 1, sizeof(*location));
    if (!location || rps_naming_reserve(naming, bytes, err) < 0) {
        free(location);
        return rps_error_memory(err);
    }
    for (size_t i = 0; i < code->frame_count; i++) {
        for (size_t j = 0; j < naming->frame[i].count; j++) {
            const struct rps_naming_location *from = &naming->location[naming->frame[i].first + j];

            location[at++] = (struct rps_location){
                .frame = (int64_t)i,
                .depth = (int)j,
                .function = naming->texts + from->function,
                .file = naming->texts + from->file,
                .line = from->line,
                .how = from->how,
            };
        }
    }
    for (size_t i = 0; i < code->module_count; i++)
        code->module[i].path = move_text(naming, code->module[i].path);
    for (size_t i = 0; i < code->task_count; i++)
        code->task[i].name = move_text(naming, code->task[i].name);
    free(code->location);
    free(code->texts);
    code->location = location;
    code->location_count = count;
    code->texts = naming->texts;
    naming->texts = NULL;
    return 0;
}

int rps_naming_name(struct rps_code *code, const struct rps_naming_options *options,
                    struct rps_error *err)
{
    struct rps_naming *naming = calloc(1, sizeof(*naming));
    size_t *order = calloc(code->frame_count + 1, sizeof(*order));
    uint64_t *address = calloc(code->frame_count + 1, sizeof(*address));
    int rc = RPS_FAILED;

    if (naming) {
        naming->code = code;
        naming->options = options;
        naming->frame = calloc(code->frame_count + 1, sizeof(*naming->frame));
    }
    if (!naming || !order || !address || !naming->frame)
        rps_error_memory(err);
    else if (name_groups(naming, order, address, err) == 0 && keep_old(naming, err) == 0)
        rc = put_locations(naming, code, err);
    if (naming) {
        free(naming->frame);
        free(naming->location);
        free(naming->texts);
    }
    free(naming);
    free(order);
    free(address);
    return rc;
}
