/* The user's configuration file: long options, one a line. */
#ifndef RPISTAT_CLI_CONFIG_FILE_H
#define RPISTAT_CLI_CONFIG_FILE_H

#include "rpistat/arena.h"
#include "rpistat/error.h"

/* "name = value", or "name" alone. */
struct rps_config_line {
    int number;          /* in the file, from 1 */
    const char *section; /* "record" below [record]; NULL above the first */
    const char *name;
    const char *value; /* NULL: the name stands alone */
};

/* All zero: there is none. */
struct rps_config {
    char *path, *text; /* names and values are in text */
    int count;
    struct rps_config_line *line;
};

/*
 * Read, into the arena, rpistat/config in $XDG_CONFIG_HOME, or ~/.config where that is not set or no absolute path.
 * No such file, or none that this user may open, is none. RPS_FAILED for one that root does not
 * trust (rps_trust_own) and for what is no text file; RPS_USAGE, with file and line, for a line
 * that is neither empty, a comment (#), a [section] nor an option.
 */
int rps_config_read(struct rps_arena *arena, struct rps_config *ret, struct rps_error *err);

/* RPS_USAGE, with "FILE, line N" before the printf-style sentence. */
#define rps_config_error(config, at, err, ...)                                                     \
    (rps_error_set(err, RPS_USAGE, __VA_ARGS__),                                                   \
     rps_error_prefix(err, RPS_USAGE, "%s, line %d", (config)->path, (at)->number))

#endif
