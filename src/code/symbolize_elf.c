/* Reads one module's file in the child process. Finds out whether a file is the right file and
 * where the frames are in the file, and sends the messages in order.
 *
 * SAFETY: the child opens nothing; its parent opens files, for a build-id or the name of a link.
 * After the last file is opened, the child's limit of descriptors is 0, so it cannot open anything.
 * Split debug information (.dwo) is not read, because the file itself contains the paths of .dwo
 * files. */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "symbolize_child.h"
#include "rpistat/text.h"

/* Reasons for missing names. If no file is the right file, the most informative reason is kept. */
static const char not_there[] = "not there any more", not_readable[] = "its file may not be read",
                  not_elf[] = "its file is not an ELF file", other_build[] = "another build now",
                  too_slow[] = "its file system does not answer";

struct reading {
    const struct rps_symbolize_group *group;
    int requests; /* Socket for requests to the parent. */
    Dwfl *dwfl;
    Dwfl_Module *module; /* NULL: no file was right */
    const char *reason;  /* Reason if no file was right. */
};

static int has_id(Elf *elf, const char *id)
{
    char hex[2 * RPS_BUILD_ID_MAX + 1];
    const void *bytes;
    ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);

    return size > 0 && strcmp(rps_code_build_id(hex, bytes, (size_t)size), id) == 0;
}

/* --- debug information ------------------------------------------------------------------------ */

/* Return the CRC-32 checksum of a file, as used in links to debug information. */
static uint32_t sum_file(int fd)
{
    static unsigned char bytes[65536];
    uint32_t sum = UINT32_MAX, table[256];
    off_t at = 0;
    ssize_t got;

    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
    for (; (got = pread(fd, bytes, sizeof(bytes), at)) > 0; at += got) {
        for (ssize_t i = 0; i < got; i++)
            sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 255];
    }
    return ~sum;
}

/* Request debug information with the build-id or the checksum. Return -1 if there is none. */
static int open_debug(const struct reading *r, const void *id, size_t id_bytes, const char *link,
                      uint32_t checksum)
{
    struct rps_symbolize_request request = {.wanted = RPS_SYMBOLIZE_DEBUG};
    int fd, is_right;

    rps_code_build_id(request.build_id, id, id_bytes);
    if (strlen(link) < sizeof(request.link))
        strcpy(request.link, link);
    while ((fd = rps_symbolize_request_file(r->requests, &request)) != -ENODATA) {
        Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;

        is_right =
            elf && (has_id(elf, request.build_id) || (checksum != 0 && sum_file(fd) == checksum));
        elf_end(elf);
        if (is_right)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* Find debug information for libdw. If the file does not name its debug file in a link, the debug
 * file's name is the file's own name with .debug. The file of dwz has another link, which
 * attach_alternate handles. */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word checksum, char **ret)
{
    const struct reading *r = *data;
    char own[NAME_MAX + 1];
    const unsigned char *id = NULL;
    const char *own_link;
    GElf_Addr unused;
    GElf_Word sum;
    int bytes;

    (void)name;
    (void)base;
    (void)file;
    (void)ret;
    own_link = dwelf_elf_gnu_debuglink(dwfl_module_getelf(module, &unused), &sum);
    if (link && (!own_link || strcmp(link, own_link) != 0))
        return -1;
    bytes = dwfl_module_build_id(module, &id, &unused);
    snprintf(own, sizeof(own), "%s.debug", rps_text_file_name(r->group->module->path));
    return open_debug(r, id, bytes > 0 ? (size_t)bytes : 0, link ? link : own, link ? checksum : 0);
}

/* Attach the file into which dwz moved debug information that several programs share. The file
 * stays open until the process ends. */
static void attach_alternate(const struct reading *r, Dwarf *dwarf)
{
    const char *link;
    const void *id;
    ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &link, &id);
    int fd = bytes > 0 ? open_debug(r, id, (size_t)bytes, link, 0) : -1;
    Dwarf *alternate = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;

    if (alternate)
        dwarf_setalt(dwarf, alternate);
}

/* --- the file --------------------------------------------------------------------------------- */

static int find_no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                       char **ret_path, Elf **ret)
{
    (void)module;
    (void)data;
    (void)name;
    (void)base;
    (void)ret_path;
    (void)ret;
    return -1;
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = find_no_elf,
    .find_debuginfo = find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* Use an open file as the module's file, if it is the right file. Consumes `fd`. */
static void take_file(struct reading *r, int fd)
{
    const char *id = r->group->module->build_id;
    GElf_Addr unused;
    GElf_Ehdr header;
    void **data;
    Elf *elf;

    r->dwfl = dwfl_begin(&callbacks);
    if (r->dwfl)
        r->module = dwfl_report_offline(r->dwfl, "", "", fd);
    if (!r->module) {
        close(fd);
    } else {
        dwfl_report_end(r->dwfl, NULL, NULL);
        elf = dwfl_module_getelf(r->module, &unused);
        dwfl_module_info(r->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
        *data = r;
        if (!elf || !gelf_getehdr(elf, &header) ||
            (header.e_type != ET_EXEC && header.e_type != ET_DYN))
            r->module = NULL;
        else if (id[0] == '\0' || has_id(elf, id))
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

static void open_module(struct reading *r, int opens_paths)
{
    struct rps_symbolize_request request = {.wanted = RPS_SYMBOLIZE_BINARY};
    int fd;

    r->reason = opens_paths ? not_there : "its file is not here";
    while (!r->module && (fd = rps_symbolize_request_file(r->requests, &request)) != -ENODATA) {
        if (fd >= 0)
            take_file(r, fd);
        else if (fd == -ESTALE)
            r->reason = other_build;
        else if (r->reason == not_there && (fd == -EACCES || fd == -ETIMEDOUT))
            r->reason = fd == -EACCES ? not_readable : too_slow;
    }
}

/* --- its frames ------------------------------------------------------------------------------- */

/* Convert an offset in the file to an address in the code segment that contains the offset. */
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

static void send_function(FILE *out, size_t index, const char *function, enum rps_location_how how)
{
    rps_symbolize_send(out, index,
                       &(struct rps_location){.function = function, .file = "", .how = how}, 1);
}

/* Convert offsets to addresses in dwfl's address space. Return the number of offsets that are in
 * code, and report all other offsets. */
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
            send_function(out, i, "no code is there in its file", RPS_LOCATION_NONE);
        }
    }
    return count;
}

/* `address` and `frame` are buffers with space for one element per frame. */
static void name_frames(const struct reading *r, uint64_t *address, size_t *frame, FILE *out)
{
    const struct rlimit descriptors = {0, 0};
    size_t count = find_addresses(r, address, frame, out);
    const char *reason;
    struct rps_symbols *symbols = rps_symbols_read(r->module, address, count, &reason);
    Dwarf_Addr bias;
    Dwarf *dwarf;

    for (size_t i = 0; symbols && i < count; i++) {
        char *name = rps_symbols_find(symbols, i);

        send_function(out, frame[i], name ? name : reason,
                      name ? RPS_LOCATION_SYMBOL : RPS_LOCATION_NONE);
        free(name);
    }
    if (symbols && fflush(out) == 0 && (dwarf = dwfl_module_getdwarf(r->module, &bias))) {
        attach_alternate(r, dwarf);
        if (setrlimit(RLIMIT_NOFILE, &descriptors) == 0)
            rps_symbolize_read_debug(r->module, address, frame, count, symbols, out);
    }
    rps_symbols_free(symbols);
}

void rps_symbolize_read_elf(const struct rps_symbolize_group *group, int opens_paths, int requests,
                            FILE *out)
{
    struct reading reading = {.group = group, .requests = requests};
    uint64_t *address = calloc(group->count + 1, sizeof(*address));
    size_t *frame = calloc(group->count + 1, sizeof(*frame));

    open_module(&reading, opens_paths);
    for (size_t i = 0; !reading.module && i < group->count; i++)
        send_function(out, i, reading.reason, RPS_LOCATION_NONE);
    if (reading.module && address && frame)
        name_frames(&reading, address, frame, out);
    dwfl_end(reading.dwfl);
    free(address);
    free(frame);
}
