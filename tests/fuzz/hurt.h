/* Damage a valid store as the input bytes define. Rows are changed, tables are replaced by views
 * and triggers, and finally bytes of the file are changed. Equal bytes give equal stores. */
#ifndef RPISTAT_FUZZ_HURT_H
#define RPISTAT_FUZZ_HURT_H

#include "fuzz.h"

/* Make the valid store once: three runs with phases, marks and gaps. */
void hurt_prepare(void);

/* Write the damaged store to this file of fuzz_path(), and return its path. */
const char *hurt_store(const char *name, const uint8_t *data, size_t size);

#endif
