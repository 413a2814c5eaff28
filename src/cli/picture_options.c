/* Options of the commands that draw. */
#include "picture_options.h"

#include <string.h>

#include "rpistat/parse.h"

const struct rps_picture_size rps_picture_pixels = {"pixels", 320, 240, 16384, 16384, "1200x900"};

int rps_picture_metrics(struct rps_picture_metrics *metrics, const char *text,
                        struct rps_error *err)
{
    char *copy = metrics->text + metrics->used, *rest = NULL;
    size_t before = metrics->count;

    if (strlen(text) >= sizeof(metrics->text) - metrics->used)
        return rps_error_set(err, RPS_USAGE, "--metric: too many names");
    strcpy(copy, text);
    metrics->used += strlen(text) + 1;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (metrics->count == RPS_PICTURE_METRIC_MAX)
            return rps_error_set(err, RPS_USAGE, "--metric: more than %d names",
                                 RPS_PICTURE_METRIC_MAX);
        metrics->name[metrics->count++] = name;
    }
    if (metrics->count == before)
        return rps_error_set(err, RPS_USAGE, "--metric: no name in '%s'", text);
    return 0;
}

int rps_picture_theme(const char *text, enum rps_theme *ret, struct rps_error *err)
{
    if (strcmp(text, "light") != 0 && strcmp(text, "dark") != 0)
        return rps_error_set(err, RPS_USAGE, "--theme: '%s' is neither light nor dark", text);
    *ret = strcmp(text, "dark") == 0 ? RPS_THEME_DARK : RPS_THEME_LIGHT;
    return 0;
}

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

int rps_picture_keep(const char *text, const char **ret, struct rps_error *err)
{
    if (text[0] == '\0')
        return rps_error_set(err, RPS_USAGE, "--keep: the folder's name is empty");
    *ret = text;
    return 0;
}
