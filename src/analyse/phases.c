/* The steps from signals to phases at levels; see phases.h. */
#include "rpistat/phases.h"

#include <stdlib.h>
#include <string.h>

void rps_found_phases_free(struct rps_found_phases *found)
{
    free(found->size);
    rps_phase_levels_free(&found->levels);
    memset(found, 0, sizeof(*found));
}

static int list_sizes(const struct rps_levels *levels, struct rps_found_phases *found,
                      struct rps_error *err)
{
    found->size = calloc(levels->count, sizeof(*found->size));
    if (!found->size)
        return rps_error_memory(err);
    found->size_count = levels->count;
    for (size_t at = 0; at < levels->count; at++)
        found->size[at] = levels->level[at].stretches;
    return 0;
}

/* The coarsest level that repeats. */
static void find_pattern(struct rps_found_phases *found)
{
    for (size_t i = 0; i < found->levels.count && found->pattern.stretches == 0; i++)
        rps_pattern_find(&found->levels.level[i], &found->pattern);
}

static int find_levels(const struct rps_signals *signals, struct rps_phases *fine,
                       const struct rps_level_choice *choice, struct rps_found_phases *found,
                       struct rps_error *err)
{
    struct rps_levels levels = {0};
    int result = rps_levels_find(signals, fine, &levels, err);

    if (result == 0)
        result = rps_levels_choose(&levels, choice, &found->size_shown, err);
    if (result == 0)
        result = rps_levels_keep(&levels, found->size_shown, &found->levels, err);
    if (result == 0)
        result = list_sizes(&levels, found, err);
    if (result == 0) {
        struct rps_phases *shown = rps_phase_levels_shown(&found->levels);

        find_pattern(found);
        shown->outlier_count = fine->outlier_count;
        shown->outlier = fine->outlier;
        fine->outlier = NULL;
    }
    rps_levels_free(&levels);
    return result;
}

int rps_phases_find(const struct rps_signals *signals, const struct rps_phases_options *options,
                    struct rps_found_phases *ret, struct rps_error *err)
{
    struct rps_found_phases found = {0};
    struct rps_phases fine = {0};
    int result = rps_detect(signals, &options->detect, &fine, &found.details, err);

    if (result == 0)
        result = find_levels(signals, &fine, &options->level, &found, err);
    rps_phases_free(&fine);
    if (result == 0)
        *ret = found;
    else
        rps_found_phases_free(&found);
    return result;
}
