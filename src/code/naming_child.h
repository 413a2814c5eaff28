/* What the child process of naming does, and how it tells: elfutils reads files there alone. */
#ifndef RPISTAT_NAMING_CHILD_H
#define RPISTAT_NAMING_CHILD_H

#include <elfutils/libdwfl.h>

#include "naming_parts.h"

/* Tell the parent the locations of the group's frame `index`; what was told before is replaced. In
 * the child. */
void rps_naming_tell(FILE *out, size_t index, const struct rps_location *location, size_t count);

#define RPS_NAMING_NONSENSE (-2)

/* Bytes; no message is longer. */
#define RPS_NAMING_MESSAGE_MAX (8 + RPS_NAMING_DEPTH_MAX * (16 + 2 * (size_t)RPS_NAMING_TEXT_MAX))

/* In the parent, which believes nothing: take the message at data. Returns its length; 0 when it is
 * not whole yet; RPS_NAMING_NONSENSE when it is none; RPS_FAILED without memory. `texts` has room
 * for RPS_NAMING_MESSAGE_MAX bytes. */
ssize_t rps_naming_take(struct rps_naming *naming, const struct rps_naming_group *group,
                        const char *data, size_t size, char *texts, struct rps_error *err);

/* Name the group's frames: find and open the file, by its symbols first, then by debug
 * information. */
void rps_naming_read_elf(const struct rps_naming_group *group,
                         const struct rps_naming_options *options, int image, FILE *out);

/* The functions of an ELF file, in order of address; their names stay the file's. */
struct rps_symbols;

/* NULL when there is no memory. *ret_reason is why an address may have no function. */
struct rps_symbols *rps_symbols_read(Dwfl_Module *module, const char **ret_reason);

/* The name of the function at the address, as dwfl has it, for free(); NULL when none is known. */
char *rps_symbols_find(const struct rps_symbols *symbols, uint64_t address);

void rps_symbols_free(struct rps_symbols *symbols);

/* The name of that length as its language writes it, of C++ and Rust; else the name itself. For
 * free(); NULL without memory. */
char *rps_naming_demangled(const char *name, size_t length);

/* Tell of the frames that debug information knows; `address` are as dwfl has them, ascending, and
 * frame[i] is the group's index of address[i]. */
void rps_naming_read_debug(Dwfl_Module *module, const uint64_t *address, const size_t *frame,
                           size_t count, const struct rps_symbols *symbols, FILE *out);

#endif
