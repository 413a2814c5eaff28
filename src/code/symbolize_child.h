/* The work and messages of the child process of symbolization, which alone uses elfutils. */
#pragma once

#include <elfutils/libdwfl.h>

#include "symbolize_parts.h"

/* Name the group's frames by the symbols of the file, then by debug information. Files are
 * requested from the parent. */
void rps_symbolize_read_elf(const struct rps_symbolize_group *group, int opens_paths, int requests,
                            FILE *out);

/* The functions of an ELF file at given addresses. The ELF file owns the names of the functions. */
struct rps_symbols;

/* Read the functions at `count` ascending addresses in dwfl's address space. The caller owns the
 * array of addresses. NULL: no memory. *ret_reason: why an address may have no function. */
struct rps_symbols *rps_symbols_read(Dwfl_Module *module, const uint64_t *address, size_t count,
                                     const char **ret_reason);

/* Return the name of the function at address[i]; the caller frees it. NULL: unknown. */
char *rps_symbols_find(const struct rps_symbols *symbols, size_t i);

void rps_symbols_free(struct rps_symbols *symbols);

/* Return a name of `length` bytes, demangled for C++ or Rust, or unchanged for other languages. The
 * caller frees the result. NULL: no memory. */
char *rps_symbolize_demangled(const char *name, size_t length);

/* Find frames in debug information, and send the locations of these frames. The addresses are in
 * dwfl's address space, ascending; frame[i] is the index of address[i] in the group. */
void rps_symbolize_read_debug(Dwfl_Module *module, const uint64_t *address, const size_t *frame,
                              size_t count, const struct rps_symbols *symbols, FILE *out);
