/* Finds where functions begin. In files, the sorted table for unwinders (.eh_frame_hdr) has the
 * beginnings of functions. In the kernel, symbols show where functions begin.
 *
 * SAFETY: files may be hostile. Only the process that unwinds (unwind_process.h) reads the files,
 * in pieces of a few kilobytes, once for each new address, at offsets that the kernel checks. */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <stdio.h>

#define RPS_FUNCTION_SEGMENTS 64

/* An open file. A zeroed struct has no file. */
struct rps_function_file {
    int fd;
    size_t count; /* Number of segments. */
    Elf64_Phdr segment[RPS_FUNCTION_SEGMENTS];
    const Elf64_Phdr *table; /* The segment with the table; NULL: no file or no table. */
    uint64_t entries;        /* Number of table entries. */
};

/* Open the file of a descriptor, replacing the file in *ret. The descriptor is closed at once if
 * the file is not a 64-bit ELF file with a table of functions. */
void rps_function_file_open(struct rps_function_file *ret, int fd);
void rps_function_file_close(struct rps_function_file *file);

/* Return the offset at which the function that contains `offset` begins; 0: unknown. */
uint64_t rps_function_in_file(const struct rps_function_file *file, uint64_t offset);

/* The kernel's symbols. Set `path` and zero all other members to begin. */
struct rps_kernel_functions {
    const char *path; /* Path of /proc/kallsyms. */
    FILE *file;       /* Open while symbols are being read. */
    uint64_t *start;  /* Owned: start of each symbol; ascending once all are read. */
    size_t count;
    int is_read; /* 1 once all symbols are read. */
};

/* Return the start of the function that contains an address in the kernel; 0: unknown. The table is
 * long, so each call reads only a part. Every function is unknown until the whole table is read. */
uint64_t rps_function_in_kernel(struct rps_kernel_functions *kernel, uint64_t address);
void rps_kernel_functions_free(struct rps_kernel_functions *kernel);
