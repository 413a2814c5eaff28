/* The nouns of code: their kinds by name, what control groups are called, and their end. */
#include "rpistat/code.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/text.h"

static const char *const module_kinds[RPS_MODULE_KINDS] = {
    [RPS_MODULE_FILE] = "file",     [RPS_MODULE_KERNEL] = "kernel",
    [RPS_MODULE_VDSO] = "vdso",     [RPS_MODULE_JIT] = "jit",
    [RPS_MODULE_MEMORY] = "memory", [RPS_MODULE_SIMULATED] = "simulated",
};

static const char *const location_hows[RPS_LOCATION_HOWS] = {
    [RPS_LOCATION_DEBUG] = "debug",
    [RPS_LOCATION_SYMBOL] = "symbol",
    [RPS_LOCATION_MAP] = "map",
    [RPS_LOCATION_NONE] = "none",
};

static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

const char *rps_module_kind_name(enum rps_module_kind kind)
{
    return module_kinds[kind];
}

int rps_module_kind_find(const char *name)
{
    return find_name(module_kinds, RPS_MODULE_KINDS, name);
}

const char *rps_location_how_name(enum rps_location_how how)
{
    return location_hows[how];
}

int rps_location_how_find(const char *name)
{
    return find_name(location_hows, RPS_LOCATION_HOWS, name);
}

int rps_code_is_c_library(const char *path)
{
    const char *name = rps_text_file_name(path);

    return fnmatch("libc.so*", name, 0) == 0 || fnmatch("libc-*.so*", name, 0) == 0 ||
           fnmatch("libpthread*.so*", name, 0) == 0 || fnmatch("ld-musl-*.so*", name, 0) == 0;
}

/* --- control groups --------------------------------------------------------------------------- */

#define CONTAINER_DIGITS 64 /* of its number, in hexadecimal */
#define CONTAINER_SHOWN  12

/* Where a container's number begins in the component; NULL: there is none. */
static const char *find_container(const char *component, size_t length)
{
    for (size_t at = 0, digits; at < length; at += digits + 1) {
        digits = strspn(component + at, "0123456789abcdef");
        if (digits == CONTAINER_DIGITS)
            return component + at;
    }
    return NULL;
}

/* Of a line "N:CONTROLLERS:/PATH", which is cut up: its path, and how much it says of who that is. */
static char *read_hierarchy(char *line, int *ret_says)
{
    char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

    if (!path || *++path != '/')
        return NULL;
    *ret_says = find_container(path, strlen(path)) ? 2 : list + 2 == path && path[1];
    return path;
}

char *rps_cgroup_find(char *text)
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

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t kind = strlen(kinds[i]);

        if (length > kind && strncmp(component + length - kind, kinds[i], kind) == 0)
            return 1;
    }
    return 0;
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

/* --- the end ---------------------------------------------------------------------------------- */

void rps_code_free(struct rps_code *code)
{
    free(code->module);
    free(code->frame);
    free(code->location);
    free(code->stack);
    free(code->task);
    free(code->program);
    free(code->cgroup);
    free(code->texts);
    *code = (struct rps_code){0};
}
