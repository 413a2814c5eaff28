/* Finds the control group of a process, and a readable name for the control group. */
#include <string.h>

#include "rpistat/code.h"
#include "rpistat/error.h"
#include "rpistat/proc.h"

#define CONTAINER_DIGITS 64 /* Hexadecimal digits of a container's identifier. */
#define CONTAINER_SHOWN  12

/* Return where a container's identifier begins in the component; NULL: there is none. */
static const char *find_container(const char *component, size_t length)
{
    for (size_t at = 0, digits; at < length; at += digits + 1) {
        digits = strspn(component + at, "0123456789abcdef");
        if (digits == CONTAINER_DIGITS)
            return component + at;
    }
    return NULL;
}

/* Return the path in "N:CONTROLLERS:/PATH"; the line is modified. *ret_says: how specific the path
 * is, from 0 to 2. */
static char *read_hierarchy(char *line, int *ret_says)
{
    char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

    if (!path || *++path != '/')
        return NULL;
    *ret_says = find_container(path, strlen(path)) ? 2 : list + 2 == path && path[1];
    return path;
}

static char *find_cgroup(char *text)
{
    static const char gone[] = " (deleted)";
    char *save = NULL, *found = NULL;
    int most = -1, says;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *path = read_hierarchy(line, &says);

        if (path && (says > most || (says == most && strlen(path) > strlen(found)))) {
            found = path;
            most = says;
        }
    }
    if (found && strlen(found) >= sizeof(gone) &&
        strcmp(found + strlen(found) - strlen(gone), gone) == 0)
        found[strlen(found) - strlen(gone)] = '\0';
    return found;
}

static int is_unit(const char *component, size_t length)
{
    static const char *const kinds[] = {".service", ".scope",  ".slice",
                                        ".mount",   ".socket", ".swap"};

    for (size_t i = 0; i < RPS_COUNT(kinds); i++) {
        size_t kind = strlen(kinds[i]);

        if (length > kind && strncmp(component + length - kind, kinds[i], kind) == 0)
            return 1;
    }
    return 0;
}

char *rps_cgroup_read(const char *proc, pid_t pid, char text[RPS_CGROUP_TEXT_SIZE])
{
    rps_proc_read(text, RPS_CGROUP_TEXT_SIZE, "%s/%ld/cgroup", proc, (long)pid);
    return find_cgroup(text);
}

const char *rps_cgroup_name(const char *path, size_t *ret_length, size_t *ret_end)
{
    const char *name = path, *found;
    int in_container = 0;

    *ret_length = *ret_end = strlen(path);
    for (const char *at = path; *at; at += *at == '/') {
        size_t length = strcspn(at, "/");

        found = find_container(at, length);
        if (found || (!in_container && is_unit(at, length))) {
            name = found ? found : at;
            *ret_length = found ? CONTAINER_SHOWN : length;
            *ret_end = (size_t)(at - path) + length;
            in_container |= found != NULL;
        }
        at += length;
    }
    return name;
}
