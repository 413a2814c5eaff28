/* Names of the enumerations in rpistat/code.h. */
#include "rpistat/code.h"

#include <fnmatch.h>
#include <stdio.h>
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

char *rps_code_build_id(char ret[2 * RPS_BUILD_ID_MAX + 1], const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;

    ret[0] = '\0';
    for (size_t i = 0; i < count && count <= RPS_BUILD_ID_MAX; i++)
        snprintf(ret + 2 * i, 3, "%02x", byte[i]);
    return ret;
}

int rps_code_is_c_library(const char *path)
{
    const char *name = rps_text_file_name(path);

    return fnmatch("libc.so*", name, 0) == 0 || fnmatch("libc-*.so*", name, 0) == 0 ||
           fnmatch("libpthread*.so*", name, 0) == 0 || fnmatch("ld-musl-*.so*", name, 0) == 0;
}
