/*
 * Where functions begin: in files by the sorted table that unwinders use (.eh_frame_hdr), in the
 * kernel by its symbols.
 *
 * It is asked while recording, for each new address once. The files are the workload's, and may be
 * hostile: they are read in pieces of at most some kilobytes, at offsets that are checked by the
 * kernel alone, into what has room for them, and nothing of them is kept but where their parts are.
 * So there is nothing to map or to follow, and no process of its own that would have to be waited
 * for.
 */
#ifndef RPISTAT_CODE_FUNCTIONS_H
#define RPISTAT_CODE_FUNCTIONS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RPS_FUNCTION_FILES    32
#define RPS_FUNCTION_SEGMENTS 64

/* Files that were asked for last, which stay open meanwhile: new addresses come many at a time, when
 * a program starts. Zero it to begin. */
struct rps_function_files {
    struct rps_function_file {
        int64_t module; /* plus one; 0: none */
        int fd;         /* -1: it has nothing to tell */
        size_t count;   /* of segments */
        Elf64_Phdr segment[RPS_FUNCTION_SEGMENTS];
        const Elf64_Phdr *table; /* of the segments */
        uint64_t entries;        /* that it has */
    } file[RPS_FUNCTION_FILES];  /* by module */
};

/* Close them. */
void rps_function_files_close(struct rps_function_files *files);

/* The offset at which the function begins that has the one given; 0 when that is not known: the
 * path has no regular ELF file of 64 bits with that build-id ("": any) and such a table, or no
 * function is there. `module` is a number of the file's. */
uint64_t rps_function_in_file(struct rps_function_files *files, int64_t module, const char *path,
                              const char *build_id, uint64_t offset);

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
