/* The user's configuration file: long options, one per line. */
#ifndef RPISTAT_CLI_CONFIG_FILE_H
#define RPISTAT_CLI_CONFIG_FILE_H

#include "rpistat/arena.h"
#include "rpistat/error.h"

/* "name = value", or "name" alone. */
struct rps_config_line {
    int number;          /* in the file, from 1 */
    const char *section; /* "record" below [record]; NULL above the first */
    const char *name;
    const char *value; /* NULL: the name alone */
};

/* All zero: the file does not exist. */
struct rps_config {
    char *path, *text; /* names and values are in text */
    int count;
    struct rps_config_line *line;
};

/*
 * Read rpistat/config in $XDG_CONFIG_HOME (~/.config if that is not set or not absolute) into the
 * arena. A file that is missing or that this user may not open counts as none. RPS_FAILED: root
 * does not trust the file (rps_trust_own), or it is not a text file. RPS_USAGE, with file and line:
 * the line is neither empty, a comment (#), a [section] nor an option.
 */
int rps_config_read(struct rps_arena *arena, struct rps_config *ret, struct rps_error *err);

/* Set RPS_USAGE, with "FILE, line N" before the printf-style sentence. */
#define rps_config_error(config, at, err, ...)                                                     \
    (rps_error_set(err, RPS_USAGE, __VA_ARGS__),                                                   \
     rps_error_prefix(err, RPS_USAGE, "%s, line %d", (config)->path, (at)->number))

#endif
