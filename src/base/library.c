/* Libraries that are opened when they are needed. */
#include "rpistat/library.h"

#include <dlfcn.h>
#include <string.h>

int rps_library_open(const char *file, const struct rps_library_function *function)
{
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);

    for (; library && function->name; function++) {
        void *symbol = dlsym(library, function->name);

        if (!symbol)
            return 0;
        memcpy(function->pointer, &symbol, sizeof(symbol));
    }
    return library != NULL;
}
