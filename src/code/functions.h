/*
 * Finds where functions begin: in files by the sorted table of unwinders (.eh_frame_hdr), in the
 * kernel by its symbols.
 *
 * SAFETY: files may be hostile. The process that unwinds (unwinder.h) reads them, once for each new
 * address, in pieces of some kilobytes at most, at offsets that the kernel checks.
 */
#ifndef RPISTAT_CODE_FUNCTIONS_H
#define RPISTAT_CODE_FUNCTIONS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RPS_FUNCTION_SEGMENTS 64

/* An open file; zeroed: none. */
struct rps_function_file {
    int fd;
    size_t count; /* of segments */
    Elf64_Phdr segment[RPS_FUNCTION_SEGMENTS];
    const Elf64_Phdr *table; /* of the segments; NULL: no file, or one without a table */
    uint64_t entries;        /* of the table */
};

/* Open the file of a descriptor, in place of another file. The descriptor is closed at once if this
 * is not a 64-bit ELF file with such a table. */
void rps_function_file_open(struct rps_function_file *ret, int fd);
void rps_function_file_close(struct rps_function_file *file);

/* Return the offset at which the function around the given one begins; 0: not known. */
uint64_t rps_function_in_file(const struct rps_function_file *file, uint64_t offset);

/* The kernel's symbols. Zero all other members to begin. */
struct rps_kernel_functions {
    const char *path; /* that of /proc/kallsyms */
    FILE *file;       /* open while it is being read */
    uint64_t *start;  /* owned: of each symbol, ascending once all are read */
    size_t count;
    int is_read; /* completely */
};

/* Do the same for an address in the kernel. The table is long: each call reads some of it, and
 * nothing is known before its end. */
uint64_t rps_function_in_kernel(struct rps_kernel_functions *kernel, uint64_t address);
void rps_kernel_functions_free(struct rps_kernel_functions *kernel);

#endif
