#include "record_functions.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/arena.h"

#define ENTRIES_AT_ONCE 512
#define SYMBOLS_A_CALL  2000 /* Symbols that one call reads; this takes some milliseconds. */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DATA_HERE ELFDATA2LSB
#else
#define DATA_HERE ELFDATA2MSB
#endif

/* --- files ------------------------------------------------------------------------------------ */

/* Read bytes of the file. Return 1, or 0 if the file does not have these bytes. */
static int read_at(const struct rps_function_file *file, uint64_t offset, void *ret, size_t size)
{
    return offset <= INT64_MAX && pread(file->fd, ret, size, (off_t)offset) == (ssize_t)size;
}

static int read_segments(struct rps_function_file *file)
{
    Elf64_Ehdr header;

    if (!read_at(file, 0, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != DATA_HERE || header.e_phentsize != sizeof(*file->segment) ||
        header.e_phnum > RPS_FUNCTION_SEGMENTS)
        return 0;
    file->count = header.e_phnum;
    return read_at(file, header.e_phoff, file->segment, file->count * sizeof(*file->segment));
}

/* Return the segment that contains an offset or an address; NULL: there is none. */
static const Elf64_Phdr *find_segment(const struct rps_function_file *file, int by_address,
                                      uint64_t byte)
{
    for (size_t i = 0; i < file->count; i++) {
        const Elf64_Phdr *at = &file->segment[i];
        uint64_t start = by_address ? at->p_vaddr : at->p_offset;

        if (at->p_type == PT_LOAD && byte >= start && byte - start < at->p_filesz)
            return at;
    }
    return NULL;
}

/* --- the table -------------------------------------------------------------------------------- */

/* Encodings of numbers by the Linux Standard Base (DWARF exception headers). */
enum { VERSION = 1, SIZE_OF_4 = 3, UNSIGNED_4 = 0x03, SIGNED_4_RELATIVE = 0x3b };

struct table_header {
    uint8_t version, of_frames, of_count, of_table;
    uint32_t frames, count;
};

/* Both offsets are relative to the table's address. */
struct table_entry {
    int32_t start, description;
};

/* The beginning of a function's description, in the only format that compilers write. `start` is
 * relative to the address of `start` itself. */
struct description {
    uint32_t length, common;
    int32_t start;
    uint32_t size;
};

static int read_entries(const struct rps_function_file *file, const Elf64_Phdr *table,
                        uint64_t first, struct table_entry *ret, size_t count)
{
    return read_at(file, table->p_offset + sizeof(struct table_header) + first * sizeof(*ret), ret,
                   count * sizeof(*ret));
}

static uint64_t start_of(const Elf64_Phdr *table, const struct table_entry *entry)
{
    return table->p_vaddr + (uint64_t)(int64_t)entry->start;
}

/* Find the table of functions. Return 0 if there is no table, or a table in an unknown format. */
static int find_table(struct rps_function_file *file)
{
    struct table_header header;

    for (size_t i = 0; i < file->count && !file->table; i++)
        file->table = file->segment[i].p_type == PT_GNU_EH_FRAME ? &file->segment[i] : NULL;
    if (!file->table || file->table->p_filesz < sizeof(header) ||
        !read_at(file, file->table->p_offset, &header, sizeof(header)) ||
        header.version != VERSION || (header.of_frames & 7) != SIZE_OF_4 ||
        header.of_count != UNSIGNED_4 || header.of_table != SIGNED_4_RELATIVE)
        return 0;
    file->entries = (file->table->p_filesz - sizeof(header)) / sizeof(struct table_entry);
    if (header.count < file->entries)
        file->entries = header.count;
    return 1;
}

/* Find the last table entry that begins at or before the address. Return 0 if there is none. */
static int find_entry(const struct rps_function_file *file, uint64_t address,
                      struct table_entry *ret)
{
    const Elf64_Phdr *table = file->table;
    struct table_entry entry[ENTRIES_AT_ONCE];
    uint64_t low = 0, high = file->entries;

    while (high - low > ENTRIES_AT_ONCE) {
        uint64_t middle = low + (high - low) / 2;

        if (!read_entries(file, table, middle, entry, 1))
            return 0;
        if (start_of(table, entry) <= address)
            low = middle;
        else
            high = middle;
    }
    if (!read_entries(file, table, low, entry, (size_t)(high - low)))
        return 0;
    while (high > low && start_of(table, &entry[high - low - 1]) > address)
        high--;
    if (high > low)
        *ret = entry[high - low - 1];
    return high > low;
}

/* Return the start of the function that contains the address; 0: none. The table has no function
 * lengths, but the descriptions contain the lengths. */
static uint64_t find_function(const struct rps_function_file *file, uint64_t address)
{
    const Elf64_Phdr *table = file->table, *segment;
    struct description described;
    struct table_entry entry = {0};
    uint64_t start, at;

    if (!find_entry(file, address, &entry))
        return 0;
    start = start_of(table, &entry);
    at = table->p_vaddr + (uint64_t)(int64_t)entry.description;
    segment = find_segment(file, 1, at);
    if (!segment ||
        !read_at(file, at - segment->p_vaddr + segment->p_offset, &described, sizeof(described)) ||
        at + offsetof(struct description, start) + (uint64_t)(int64_t)described.start != start ||
        address - start >= described.size)
        return 0;
    return start;
}

/* --- files ------------------------------------------------------------------------------------ */

void rps_function_file_close(struct rps_function_file *file)
{
    if (file->table)
        close(file->fd);
    file->table = NULL;
}

void rps_function_file_open(struct rps_function_file *ret, int fd)
{
    rps_function_file_close(ret);
    *ret = (struct rps_function_file){.fd = fd};
    if (!read_segments(ret) || !find_table(ret)) {
        close(fd);
        ret->table = NULL;
    }
}

uint64_t rps_function_in_file(const struct rps_function_file *file, uint64_t offset)
{
    const Elf64_Phdr *code = file->table ? find_segment(file, 0, offset) : NULL;
    uint64_t start = code ? find_function(file, offset - code->p_offset + code->p_vaddr) : 0;

    start = code && start >= code->p_vaddr ? start - code->p_vaddr + code->p_offset : 0;
    return start <= offset ? start : 0;
}

/* --- the kernel ------------------------------------------------------------------------------- */

RPS_ARRAY_ORDER(compare_starts, uint64_t, )

static int add_symbol(struct rps_kernel_functions *kernel, uint64_t start)
{
    if (!rps_array_add(&kernel->start, kernel->count, sizeof(*kernel->start)))
        return 0;
    kernel->start[kernel->count++] = start;
    return 1;
}

/* Read symbols, including data, since a function ends where data begins. Users who may not see
 * addresses read zeros. If memory runs out, the remaining symbols are unknown. */
static void read_symbols(struct rps_kernel_functions *kernel)
{
    char line[512];

    if (!kernel->file)
        kernel->file = fopen(kernel->path ? kernel->path : "/proc/kallsyms", "re");
    for (int i = 0; kernel->file && i < SYMBOLS_A_CALL; i++) {
        uint64_t start = 0;
        int is_line = fgets(line, sizeof(line), kernel->file) != NULL;

        if (is_line)
            start = strtoull(line, NULL, 16);
        if (!is_line || (start > 0 && !add_symbol(kernel, start))) {
            fclose(kernel->file);
            kernel->file = NULL;
        }
    }
    if (kernel->file)
        return;
    kernel->is_read = 1;
    if (kernel->count > 0)
        qsort(kernel->start, kernel->count, sizeof(*kernel->start), compare_starts);
}

RPS_ARRAY_BEFORE(begins_by, uint64_t, , <=, uint64_t)

uint64_t rps_function_in_kernel(struct rps_kernel_functions *kernel, uint64_t address)
{
    size_t at;

    if (!kernel->is_read)
        read_symbols(kernel);
    if (!kernel->is_read)
        return 0;
    at = rps_array_find(kernel->start, kernel->count, sizeof(*kernel->start), begins_by, &address);
    return at > 0 ? kernel->start[at - 1] : 0;
}

void rps_kernel_functions_free(struct rps_kernel_functions *kernel)
{
    if (kernel->file)
        fclose(kernel->file);
    free(kernel->start);
    *kernel = (struct rps_kernel_functions){.path = kernel->path};
}
