/* Files that are embedded in the program by embed.py at build time. */
#pragma once

#include <stddef.h>

struct rps_embedded {
    const char *name; /* name of the file without its directory; NULL ends the table */
    const char *text; /* content of the file, terminated by an uncounted 0 */
    size_t size;
};
