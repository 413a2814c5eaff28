#include "format.h"

#include <string.h>

int rps_format_parse(const char *name, const char *others, enum rps_format *ret,
                     struct rps_error *err)
{
    static const char *const names[] = {
        [RPS_FORMAT_TEXT] = "text",
        [RPS_FORMAT_JSON] = "json",
        [RPS_FORMAT_CSV] = "csv",
    };

    for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
        if (strcmp(names[i], name) == 0) {
            *ret = (enum rps_format)i;
            return 0;
        }
    }
    return rps_error_set(err, RPS_USAGE, "--format: '%s' is none of text, json, csv%s", name,
                         others);
}
