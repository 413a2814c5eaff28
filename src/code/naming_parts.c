/* The locations that naming has found so far. */
#include "naming_parts.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/array.h"
#include "rpistat/text.h"

static int is_below(const void *value, const void *address)
{
    return *(const uint64_t *)value < *(const uint64_t *)address;
}

size_t rps_naming_lower_bound(const uint64_t *ascending, size_t count, uint64_t address)
{
    return rps_array_find(ascending, count, sizeof(*ascending), is_below, &address);
}

int rps_naming_reserve(struct rps_naming *naming, size_t bytes, struct rps_error *err)
{
    char *grown = rps_array_grow_by(naming->texts, naming->texts_bytes, bytes, 1);

    if (!grown)
        return rps_error_memory(err);
    naming->texts = grown;
    return 0;
}

/* The text's offset, of one that was put lately where there is one. Files are not bound to be in
 * UTF-8. */
static int put_text(struct rps_naming *naming, const char *text, size_t *ret, struct rps_error *err)
{
    char *repaired = rps_text_repaired(text);
    size_t bytes, hash = 5381, *recent;
    int rc = -1;

    if (!repaired)
        return rps_error_memory(err);
    repaired[rps_text_cut(repaired, RPS_NAMING_TEXT_MAX)] = '\0';
    bytes = strlen(repaired) + 1;
    for (const char *at = repaired; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    recent = &naming->recent[hash % RPS_NAMING_RECENT];
    if (*recent > 0 && strcmp(naming->texts + *recent - 1, repaired) == 0) {
        rc = 0;
    } else if ((rc = rps_naming_reserve(naming, bytes, err)) == 0) {
        memcpy(naming->texts + naming->texts_bytes, repaired, bytes);
        *recent = naming->texts_bytes + 1;
        naming->texts_bytes += bytes;
    }
    *ret = *recent - 1;
    free(repaired);
    return rc;
}

int rps_naming_put(struct rps_naming *naming, size_t frame, const struct rps_location *location,
                   size_t count, struct rps_error *err)
{
    size_t first = naming->location_count;
    struct rps_naming_location *grown =
        rps_array_grow_by(naming->location, first, count, sizeof(*grown));

    if (!grown && count > 0)
        return rps_error_memory(err);
    naming->location = grown;
    for (size_t i = 0; i < count; i++) {
        struct rps_naming_location *put = &naming->location[first + i];

        if (put_text(naming, location[i].function, &put->function, err) < 0 ||
            put_text(naming, location[i].file, &put->file, err) < 0)
            return RPS_FAILED;
        put->line = location[i].line;
        put->how = location[i].how;
    }
    naming->location_count += count;
    naming->frame[frame] = (struct rps_naming_frame){first, count};
    return 0;
}

int rps_naming_put_reason(struct rps_naming *naming, const struct rps_naming_group *group,
                          const char *reason, struct rps_error *err)
{
    struct rps_location location = {.function = reason, .file = "", .how = RPS_LOCATION_NONE};

    for (size_t i = 0; i < group->count; i++) {
        if (naming->frame[group->frame[i]].count == 0 &&
            rps_naming_put(naming, group->frame[i], &location, 1, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}
