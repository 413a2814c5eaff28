/* The configuration file. rpistat parses the file without the library inih. Builds of inih differ
 * in the characters that begin a comment inside a line; "separator = ;" is a valid option here. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rpistat/rights.h"

#define FILE_MAX_BYTES 65536

/* Return the path of the file; NULL if the environment names no directory. */
static char *find_path(struct rps_arena *arena)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (folder != NULL && folder[0] == '/')
        return rps_arena_print(arena, "%s/rpistat/config", folder);
    if (home != NULL && home[0] == '/')
        return rps_arena_print(arena, "%s/.config/rpistat/config", home);
    return NULL;
}

static int read_config_text(struct rps_arena *arena, struct rps_config *config, int fd,
                            struct rps_error *err)
{
    struct stat status;
    ssize_t size;

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > FILE_MAX_BYTES)
        return rps_error_set(
            err, RPS_FAILED,
            "cannot read %s: it is not a text file of at most %d bytes; write one option per line",
            config->path, FILE_MAX_BYTES);
    if (rps_trust_own(config->path, &status, err) < 0 || rps_trust_folders(config->path, err) < 0)
        return RPS_FAILED;
    config->text = rps_arena_get(arena, FILE_MAX_BYTES + 1, 1);
    size = read(fd, config->text, FILE_MAX_BYTES); /* on a disk, one read returns the whole file */
    if (size < 0)
        return rps_error_set(err, RPS_FAILED, "cannot read %s: %s; check its permissions",
                             config->path, strerror(errno));
    return 0;
}

static char *trim(char *text)
{
    static const char blanks[] = " \t\r\f\v";
    size_t length;

    text += strspn(text, blanks);
    length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

/* Parse a trimmed line that is neither empty nor a comment. */
static int parse_config_line(struct rps_arena *arena, struct rps_config *config, int number,
                             char *text, const char **section, struct rps_error *err)
{
    struct rps_config_line line = {.number = number};
    char *equals = strchr(text, '=');

    if (text[0] == '[') {
        size_t length = strlen(text);

        if (text[length - 1] != ']')
            return rps_config_error(config, &line, err, "'%s' has no ] at its end", text);
        text[length - 1] = '\0';
        *section = trim(text + 1);
        return 0;
    }
    if (equals != NULL) {
        *equals = '\0';
        line.value = trim(equals + 1);
    }
    line.section = *section;
    line.name = trim(text);
    config->line = rps_arena_grow(arena, config->line, (size_t)config->count, sizeof(line));
    config->line[config->count++] = line;
    return 0;
}

static int parse(struct rps_arena *arena, struct rps_config *config, struct rps_error *err)
{
    const char *section = NULL;
    char *next = config->text;
    int result = 0;

    for (int number = 1; next != NULL && result == 0; number++) {
        char *line = trim(strsep(&next, "\n"));

        if (line[0] != '\0' && line[0] != '#')
            result = parse_config_line(arena, config, number, line, &section, err);
    }
    return result;
}

int rps_config_read(struct rps_arena *arena, struct rps_config *ret, struct rps_error *err)
{
    struct rps_config config = {.path = find_path(arena)};
    int fd = config.path == NULL ? -1 : open(config.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int result = 0;

    if (fd >= 0) {
        result = read_config_text(arena, &config, fd, err);
        close(fd);
    }
    if (fd >= 0 && result == 0)
        result = parse(arena, &config, err);
    if (result == 0)
        *ret = config;
    return result;
}
