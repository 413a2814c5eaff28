/* The work of naming's child process, and its messages. Only this process uses elfutils. */
#ifndef RPISTAT_NAMING_CHILD_H
#define RPISTAT_NAMING_CHILD_H

#include <elfutils/libdwfl.h>

#include "naming_parts.h"

/* Name the group's frames by the symbols of the file, then by debug information. Files are
 * requested from the parent. */
void rps_naming_read_elf(const struct rps_naming_group *group, int opens_paths, int requests,
                         FILE *out);

/* The functions of an ELF file at given addresses. The file owns their names. */
struct rps_symbols;

/* Read the functions of `count` ascending addresses, as dwfl has them, which the caller owns. NULL:
 * no memory. *ret_reason: why an address may have no function. */
struct rps_symbols *rps_symbols_read(Dwfl_Module *module, const uint64_t *address, size_t count,
                                     const char **ret_reason);

/* Return the name of the function at the address of that index, for free(); NULL: not known. */
char *rps_symbols_find(const struct rps_symbols *symbols, size_t i);

void rps_symbols_free(struct rps_symbols *symbols);

/* Return a name of that length as C++ or Rust writes it; for other languages, the name itself. For
 * free(); NULL: no memory. */
char *rps_naming_demangled(const char *name, size_t length);

/* Send the frames that debug information knows. The addresses are as dwfl has them, ascending;
 * frame[i] is the group's index of address[i]. */
void rps_naming_read_debug(Dwfl_Module *module, const uint64_t *address, const size_t *frame,
                           size_t count, const struct rps_symbols *symbols, FILE *out);

#endif
