/*
 * Where functions begin: in files by the sorted table that unwinders use (.eh_frame_hdr), in the
 * kernel by its symbols.
 *
 * The process that unwinds reads the files (unwinder.h), for each new address once, since they may
 * be hostile. They are read in pieces of at most some kilobytes, at offsets that the kernel checks.
 */
#ifndef RPISTAT_CODE_FUNCTIONS_H
#define RPISTAT_CODE_FUNCTIONS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RPS_FUNCTION_SEGMENTS 64

/* A file that is open; zeroed: none. */
struct rps_function_file {
    int fd;
    size_t count; /* of segments */
    Elf64_Phdr segment[RPS_FUNCTION_SEGMENTS];
    const Elf64_Phdr *table; /* of the segments; NULL: no file, or one without a table */
    uint64_t entries;        /* of the table */
};

/* Take a descriptor, in place of that of another file. It is closed at once when the file is no ELF
 * file of 64 bits with such a table. */
void rps_function_file_open(struct rps_function_file *ret, int fd);
void rps_function_file_close(struct rps_function_file *file);

/* The offset at which the function begins that has the one given; 0: not known. */
uint64_t rps_function_in_file(const struct rps_function_file *file, uint64_t offset);

/* The kernel's symbols; all else zero to begin with. */
struct rps_kernel_functions {
    const char *path; /* that of /proc/kallsyms */
    FILE *file;       /* that is being read */
    uint64_t *start;  /* owned: of each symbol, ascending once all are read */
    size_t count;
    int is_read; /* all that there is */
};

/* The same of an address of the kernel's. The table is long: each call reads some of it, and until
 * it is read nothing is known. */
uint64_t rps_function_in_kernel(struct rps_kernel_functions *kernel, uint64_t address);
void rps_kernel_functions_free(struct rps_kernel_functions *kernel);

#endif
