/* What the child process of naming does, and how it tells: elfutils reads files there alone. */
#ifndef RPISTAT_NAMING_CHILD_H
#define RPISTAT_NAMING_CHILD_H

#include <elfutils/libdwfl.h>

#include "naming_parts.h"

/* Name the group's frames, by the symbols of the file first, then by debug information. Files are
 * requested from the parent. */
void rps_naming_read_elf(const struct rps_naming_group *group, int opens_paths, int requests,
                         FILE *out);

/* The functions of an ELF file that addresses are in; their names stay the file's. */
struct rps_symbols;

/* Of `count` addresses, as dwfl has them, ascending, which stay the caller's. NULL when there is no
 * memory. *ret_reason is why an address may have no function. */
struct rps_symbols *rps_symbols_read(Dwfl_Module *module, const uint64_t *address, size_t count,
                                     const char **ret_reason);

/* The name of the function at the address of that index, for free(); NULL when none is known. */
char *rps_symbols_find(const struct rps_symbols *symbols, size_t i);

void rps_symbols_free(struct rps_symbols *symbols);

/* The name of that length as its language writes it, of C++ and Rust; else the name itself. For
 * free(); NULL without memory. */
char *rps_naming_demangled(const char *name, size_t length);

/* Tell of the frames that debug information knows; `address` are as dwfl has them, ascending, and
 * frame[i] is the group's index of address[i]. */
void rps_naming_read_debug(Dwfl_Module *module, const uint64_t *address, const size_t *frame,
                           size_t count, const struct rps_symbols *symbols, FILE *out);

#endif
