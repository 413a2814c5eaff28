/*
 * Reading one module's file, in the child process: which file it is, where in it the frames are,
 * and the order of what is told.
 *
 * A file that compilers did not make may name others, for its debug information: links are followed
 * beside the file and under /usr/lib/debug only, and once those are open the process has no
 * descriptors left to open anything with.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "naming_child.h"
#include "rpistat/text.h"

#define DEBUG_FOLDER "/usr/lib/debug"

/* Of files that are not right the reason stays that tells most. */
static const char not_there[] = "not there any more", not_readable[] = "its file may not be read",
                  not_elf[] = "its file is no ELF file", other_build[] = "another build now";

struct reading {
    const struct rps_naming_group *group;
    uint8_t build_id[RPS_BUILD_ID_MAX];
    size_t build_id_bytes; /* 0: not known */
    Dwfl *dwfl;
    Dwfl_Module *module; /* NULL: no file was right */
    const char *reason;  /* then */
};

/* 1 when a file of the name is where elfutils looks for it, beside the file or in the system's
 * folder; 0 when none is. -1: one is not to be opened, as elfutils would wait for a pipe's
 * writer. */
static int is_beside(const char *file, const char *name)
{
    static const struct {
        const char *root, *folder;
    } places[] = {{"", ""}, {"", ".debug/"}, {DEBUG_FOLDER, ""}};
    const char *slash = strrchr(file, '/');
    char path[PATH_MAX];
    struct stat status;
    int found = 0;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(path, sizeof(path), "%s%.*s%s%s", places[i].root,
                     slash ? (int)(slash - file) + 1 : 0, file, places[i].folder,
                     name) >= (int)sizeof(path))
            return -1;
        if (stat(path, &status) < 0)
            continue;
        if (!S_ISREG(status.st_mode))
            return -1;
        found = 1;
    }
    return found;
}

/* Whether debuginfod is set up. Where it is not, what is not on this machine is not asked for:
 * elfutils would load the library, and some thirty others, for nothing. */
static int has_servers(void)
{
    const char *servers = getenv("DEBUGINFOD_URLS");

    return servers && servers[0];
}

/* Links to debug files: names, which are looked for beside the file and in the system's folder, or
 * paths within that. Without a link the name is the file's own with .debug. */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word checksum, char **ret)
{
    char other[NAME_MAX + 1];
    int found;

    snprintf(other, sizeof(other), "%s.debug", file ? rps_text_file_name(file) : "");
    if (link && strchr(link, '/'))
        found = strncmp(link, DEBUG_FOLDER "/", sizeof(DEBUG_FOLDER)) == 0 && !strstr(link, "/..")
                    ? access(link, F_OK) == 0
                    : -1;
    else
        found = is_beside(file ? file : "", link ? link : other);
    if (found < 0 || (found == 0 && !has_servers()))
        return dwfl_build_id_find_debuginfo(module, data, name, base, file, NULL, 0, ret);
    return dwfl_standard_find_debuginfo(module, data, name, base, file, link, checksum, ret);
}

static char debug_folders[] = "+:.debug:" DEBUG_FOLDER;
static char *debug_folders_pointer = debug_folders;
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_folders_pointer,
};

/* Take the file that is open as the module's, when it is. `fd` is used up. */
static void take_open_file(struct reading *r, int fd, const char *path)
{
    const unsigned char *build_id = NULL;
    GElf_Addr unused;
    GElf_Ehdr header;
    Elf *elf;
    int bytes;

    r->dwfl = dwfl_begin(&callbacks);
    if (r->dwfl)
        r->module = dwfl_report_offline(r->dwfl, "", path, fd);
    if (!r->module) {
        close(fd);
    } else {
        dwfl_report_end(r->dwfl, NULL, NULL);
        elf = dwfl_module_getelf(r->module, &unused);
        bytes = dwfl_module_build_id(r->module, &build_id, &unused);
        if (!elf || !gelf_getehdr(elf, &header) ||
            (header.e_type != ET_EXEC && header.e_type != ET_DYN))
            r->module = NULL;
        else if (r->build_id_bytes == 0 || (bytes == (int)r->build_id_bytes &&
                                            memcmp(build_id, r->build_id, r->build_id_bytes) == 0))
            return;
        else
            r->reason = other_build;
    }
    if (!r->module && r->reason != other_build)
        r->reason = not_elf;
    dwfl_end(r->dwfl);
    r->dwfl = NULL;
    r->module = NULL;
}

/* Try the file at the path. Nothing but regular files is opened: opening others can wait, or do
 * something. */
static void try_path(struct reading *r, const char *path)
{
    struct stat status;
    int fd = -1;

    if (r->module)
        return;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    else
        errno = errno == EACCES ? EACCES : ENOENT;
    if (fd < 0 && errno == EACCES && r->reason == not_there)
        r->reason = not_readable;
    if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        take_open_file(r, fd, path);
}

/* Try a file or folder of the user's. In a folder a module lies at its path, or by its name; a path
 * does not lead out of it. */
static void try_binary(struct reading *r, const char *binary)
{
    const char *path = r->group->module->path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path, *own = strrchr(binary, '/');
    char joined[PATH_MAX];
    struct stat status;

    if (r->module || stat(binary, &status) < 0)
        return;
    if (!S_ISDIR(status.st_mode)) {
        if (r->build_id_bytes > 0 || strcmp(own ? own + 1 : binary, name) == 0)
            try_path(r, binary);
        return;
    }
    if (!name[0] || strcmp(name, "..") == 0)
        return;
    if (path[0] == '/' && !strstr(path, "/../") &&
        snprintf(joined, sizeof(joined), "%s%s", binary, path) < (int)sizeof(joined))
        try_path(r, joined);
    if (snprintf(joined, sizeof(joined), "%s/%s", binary, name) < (int)sizeof(joined))
        try_path(r, joined);
}

/* Look for the file by its build-id: in /usr/lib/debug/.build-id, and by debuginfod where
 * DEBUGINFOD_URLS is set. */
static void try_build_id(struct reading *r)
{
    const char *id = r->group->module->build_id;
    char here[sizeof(DEBUG_FOLDER "/.build-id/") + 2 * RPS_BUILD_ID_MAX + 2], *path = NULL;
    Dwfl_Module *module;
    Elf *elf = NULL;
    Dwfl *dwfl;
    int fd = -1;

    if (r->module || r->build_id_bytes == 0)
        return;
    snprintf(here, sizeof(here), DEBUG_FOLDER "/.build-id/%.2s/%s", id, id + 2);
    if (!has_servers() && access(here, F_OK) < 0)
        return;
    dwfl = dwfl_begin(&callbacks);
    module = dwfl ? dwfl_report_module(dwfl, "", 0x1000, 0x2000) : NULL;
    if (module && dwfl_module_report_build_id(module, r->build_id, r->build_id_bytes, 0) == 0 &&
        dwfl_report_end(dwfl, NULL, NULL) == 0)
        fd = dwfl_build_id_find_elf(module, NULL, "", 0, &path, &elf);
    if (fd >= 0)
        take_open_file(r, fd, path);
    free(path);
    dwfl_end(dwfl);
}

/* The build-id as the recorder wrote it; 0 for what is none. */
static size_t parse_build_id(const char *text, uint8_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = strlen(text);

    if (length == 0 || length % 2 || length > 2 * (size_t)RPS_BUILD_ID_MAX ||
        strspn(text, digits) != length)
        return 0;
    for (size_t i = 0; i < length; i += 2)
        ret[i / 2] = (uint8_t)((strchr(digits, text[i]) - digits) << 4 |
                               (strchr(digits, text[i + 1]) - digits));
    return length / 2;
}

static void open_module(struct reading *r, const struct rps_naming_options *options, int image)
{
    r->build_id_bytes = parse_build_id(r->group->module->build_id, r->build_id);
    r->reason = options->opens_paths ? not_there : "its file is not here";
    if (image >= 0) {
        take_open_file(r, dup(image), "");
        return;
    }
    if (options->opens_paths)
        try_path(r, r->group->module->path);
    for (size_t i = 0; i < options->binary_count; i++)
        try_binary(r, options->binary[i]);
    try_build_id(r);
}

/* The address at which the file's offset is, in the segment of code that has it. */
static int find_address(Elf *elf, uint64_t offset, uint64_t *ret)
{
    size_t count = 0;
    GElf_Phdr segment;

    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
            (segment.p_flags & PF_X) && offset >= segment.p_offset &&
            offset - segment.p_offset < segment.p_filesz) {
            *ret = offset - segment.p_offset + segment.p_vaddr;
            return 1;
        }
    }
    return 0;
}

static void tell_function(FILE *out, size_t index, const char *function, enum rps_location_how how)
{
    rps_naming_tell(out, index,
                    &(struct rps_location){.function = function, .file = "", .how = how}, 1);
}

/* Offsets to addresses, as dwfl has them. Returns how many are in code; of the rest it is told. */
static size_t find_addresses(const struct reading *r, uint64_t *address, size_t *frame, FILE *out)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(r->module, &bias);
    size_t count = 0;

    for (size_t i = 0; i < r->group->count; i++) {
        if (find_address(elf, r->group->address[i], &address[count])) {
            address[count] += bias;
            frame[count++] = i;
        } else {
            tell_function(out, i, "no code is there in its file", RPS_LOCATION_NONE);
        }
    }
    return count;
}

/* Name the module's frames. `address` and `frame` have room for all. */
static void name_frames(const struct reading *r, uint64_t *address, size_t *frame, FILE *out)
{
    const struct rlimit descriptors = {0, 0};
    size_t count = find_addresses(r, address, frame, out);
    const char *reason;
    struct rps_symbols *symbols = rps_symbols_read(r->module, address, count, &reason);
    Dwarf_Addr bias;

    for (size_t i = 0; symbols && i < count; i++) {
        char *name = rps_symbols_find(symbols, i);

        tell_function(out, frame[i], name ? name : reason,
                      name ? RPS_LOCATION_SYMBOL : RPS_LOCATION_NONE);
        free(name);
    }
    if (symbols && fflush(out) == 0 && dwfl_module_getdwarf(r->module, &bias) &&
        setrlimit(RLIMIT_NOFILE, &descriptors) == 0)
        rps_naming_read_debug(r->module, address, frame, count, symbols, out);
    rps_symbols_free(symbols);
}

void rps_naming_read_elf(const struct rps_naming_group *group,
                         const struct rps_naming_options *options, int image, FILE *out)
{
    struct reading reading = {.group = group};
    uint64_t *address = calloc(group->count + 1, sizeof(*address));
    size_t *frame = calloc(group->count + 1, sizeof(*frame));

    setenv("DEBUGINFOD_TIMEOUT", "5", 0); /* it is 90 s else */
    setenv("DEBUGINFOD_MAXTIME", "20", 0);
    open_module(&reading, options, image);
    for (size_t i = 0; !reading.module && i < group->count; i++)
        tell_function(out, i, reading.reason, RPS_LOCATION_NONE);
    if (reading.module && address && frame)
        name_frames(&reading, address, frame, out);
    dwfl_end(reading.dwfl);
    free(address);
    free(frame);
}
