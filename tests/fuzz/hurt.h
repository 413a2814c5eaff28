/*
 * A good store, and bytes that say how it is hurt: rows changed, tables dropped, views and triggers
 * put in their place, and at last the bytes of the file itself. The same bytes give the same store.
 */
#ifndef RPISTAT_FUZZ_HURT_H
#define RPISTAT_FUZZ_HURT_H

#include "fuzz.h"

/* Make the good store, once: three runs with phases, marks and gaps. */
void hurt_prepare(void);

/* Write the hurt store as that file of fuzz_path(); returns its path. */
const char *hurt_store(const char *name, const uint8_t *data, size_t size);

#endif
