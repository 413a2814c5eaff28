/* The locations that naming has found so far. */
#include "naming_parts.h"

#include <stdlib.h>
#include <string.h>

#include "intern.h"
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

/* Return the arena's copy of a text; recent ones are reused. Files need not be in UTF-8. */
static const char *put_text(struct rps_naming *naming, const char *text)
{
    char *repaired = rps_text_repaired(text);
    const char **recent;

    if (!repaired)
        rps_arena_exhausted();
    repaired[rps_text_cut(repaired, RPS_NAMING_TEXT_MAX)] = '\0';
    recent = &naming->recent[rps_intern_hash(0, repaired) % RPS_NAMING_RECENT];
    if (!*recent || strcmp(*recent, repaired) != 0)
        *recent = rps_arena_text(naming->arena, repaired);
    free(repaired);
    return *recent;
}

void rps_naming_put(struct rps_naming *naming, size_t frame, const struct rps_location *location,
                    size_t count)
{
    struct rps_location *own = rps_arena_get(naming->arena, count, sizeof(*own));

    for (size_t i = 0; i < count; i++)
        own[i] = (struct rps_location){
            .frame = (int64_t)frame,
            .depth = (int)i,
            .function = put_text(naming, location[i].function),
            .file = put_text(naming, location[i].file),
            .line = location[i].line,
            .how = location[i].how,
        };
    naming->frame[frame] = (struct rps_naming_frame){own, count};
}

void rps_naming_put_reason(struct rps_naming *naming, const struct rps_naming_group *group,
                           const char *reason)
{
    struct rps_location location = {.function = reason, .file = "", .how = RPS_LOCATION_NONE};

    for (size_t i = 0; i < group->count; i++) {
        if (naming->frame[group->frame[i]].count == 0)
            rps_naming_put(naming, group->frame[i], &location, 1);
    }
}
