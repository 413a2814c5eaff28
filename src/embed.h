/* Files that are part of the program: made by embed.py at build time. */
#ifndef RPISTAT_EMBED_H
#define RPISTAT_EMBED_H

#include <stddef.h>

struct rps_embedded {
    const char *name; /* file name without folder; NULL ends the table */
    const char *text; /* terminated by a 0 that is not counted */
    size_t size;
};

#endif
