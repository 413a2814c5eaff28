/* Options of the commands that draw. */
#include "picture_options.h"

#include <string.h>

#include "rpistat/parse.h"

const struct rps_picture_size rps_picture_pixels = {"pixels", 320, 240, 16384, 16384, "1200x900"};

int rps_picture_size(const char *text, const struct rps_picture_size *limits, int *ret_width,
                     int *ret_height, struct rps_error *err)
{
    const char *x = text ? strchr(text, 'x') : NULL;
    uint64_t width = 0, height = 0;
    char first[16];

    if (!text)
        return 0;
    if (x && (size_t)(x - text) < sizeof(first)) {
        snprintf(first, sizeof(first), "%.*s", (int)(x - text), text);
        if (rps_parse_uint64("--size", first, limits->width_min, limits->width_max, &width, NULL) ==
                0 &&
            rps_parse_uint64("--size", x + 1, limits->height_min, limits->height_max, &height,
                             NULL) == 0) {
            *ret_width = (int)width;
            *ret_height = (int)height;
            return 0;
        }
    }
    return rps_error_set(err, RPS_USAGE,
                         "--size: '%s' is no size in %s from %ux%u to %ux%u, as in %s", text,
                         limits->unit, limits->width_min, limits->height_min, limits->width_max,
                         limits->height_max, limits->example);
}
