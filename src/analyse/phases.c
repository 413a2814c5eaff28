/* The steps from signals to phases at levels; see phases.h. */
#include "rpistat/phases.h"

#include "adjust.h"
#include "counts.h"

/* If the autocorrelation at lag one is above this value, the series is almost a random walk. */
#define WALKS_FROM .9
#define CYCLES_MIN 4         /* minimum cycles of a wave in the longest of several phases */
#define ADJUST_MAX (1 << 20) /* a table with more values is analysed only once */

struct rps_phases rps_phases_part(struct rps_arena *arena, const struct rps_phases *phases,
                                  uint64_t begin, uint64_t end)
{
    struct rps_phases out = {.phase = rps_arena_get(arena, phases->count, sizeof(*out.phase)),
                             .label_count = phases->label_count};

    for (size_t k = 0; k < phases->count; k++) {
        struct rps_phase *phase = &out.phase[out.count];

        if (phases->phase[k].first < begin || phases->phase[k].first >= end)
            continue;
        *phase = phases->phase[k];
        phase->first -= begin;
        phase->last -= begin;
        phase->earliest -= begin;
        phase->latest -= begin;
        phase->confidence = out.count == 0 ? 1 : phase->confidence;
        out.count++;
    }
    return out;
}

/* Return 1 if the series is a line, almost a random walk, or was detected as drift. */
static int drifts(const struct rps_levels *levels, const struct rps_detect_details *details)
{
    return details->is_drifting || (levels->level[levels->usual].stretches == 1 &&
                                    (details->linear || details->autocorrelation > WALKS_FROM));
}

/* Find a wave. If there are several phases, the longest one must contain some cycles: values that
 * change after random times may have peaks of autocorrelation by chance. */
static struct rps_wave find_wave(const struct rps_signals *signals, const struct rps_phases *shown)
{
    struct rps_wave wave = rps_wave_find(signals, 0);
    uint64_t longest = 0;

    for (size_t k = 0; k < shown->count; k++) {
        const uint64_t length = shown->phase[k].last - shown->phase[k].first + 1;

        longest = length > longest ? length : longest;
    }
    if (shown->count > 1 && (double)longest < CYCLES_MIN * wave.length)
        return (struct rps_wave){0};
    return wave;
}

static int find_levels(struct rps_arena *arena, const struct rps_signals *signals,
                       const struct rps_phases *fine, const struct rps_level_choice *choice,
                       struct rps_found_phases *found, struct rps_error *err)
{
    struct rps_levels levels = rps_levels_find(arena, signals, fine);
    struct rps_phases *shown;
    int result;

    levels.usual = found->details.is_drifting && signals->table_count == 0 ? 0 : levels.usual;
    found->tree_usual = levels.usual;
    result = rps_levels_choose(&levels, choice, &found->tree_shown, err);
    if (result == 0) {
        found->levels = rps_levels_keep(&levels, found->tree_shown);
        shown = rps_phase_levels_shown(&found->levels);
        found->tree_count = levels.count;
        found->tree = levels.level;
        shown->outlier_count = fine->outlier_count;
        shown->outlier = fine->outlier;
        if (!rps_phases_repeat(shown)) {
            found->drifts = drifts(&levels, &found->details);
            found->wave = found->wave.turns > 0 ? found->wave : find_wave(signals, shown);
        }
    }
    return result;
}

/* Refine the phases with tables of counts. Find ramps in the phases from before the refinement, and
 * also in the refined phases. Without tables, do not search for ramps, because straight lines fit
 * equally well, and ramps would cause more false changes in random walks. */
static void refine(struct rps_arena *arena, const struct rps_signals *signals, size_t min_length,
                   int is_linear, struct rps_phases *fine)
{
    struct rps_ramps ramps = {0};

    rps_ramps_find(arena, signals, fine, is_linear, &ramps);
    rps_counts_refine(arena, signals, min_length, fine);
    rps_ramps_find(arena, signals, fine, 0, &ramps);
    rps_ramps_put(arena, &ramps, fine);
}

/* Find the phases. If a table has a single phase, search again without its season. If the noise
 * changes, search again with the noise as signals. Store in *used the signals that were used to
 * find the returned phases. */
static int find_fine(struct rps_arena *arena, struct rps_arena *scratch,
                     const struct rps_detect_options *options, struct rps_signals *used,
                     struct rps_found_phases *found, struct rps_phases *fine, struct rps_error *err)
{
    struct rps_signals plain = *used;
    int result = rps_detect(arena, used, options, fine, &found->details, err), is_changed;
    struct rps_phases first;
    size_t used_count;

    if (result < 0 || plain.resolution || plain.weight ||
        plain.count * plain.signal_count > ADJUST_MAX)
        return result;
    if (fine->count == 1 || found->details.is_drifting)
        found->wave = rps_season_remove(scratch, &plain, used);
    plain = *used;
    is_changed = rps_spread_append(scratch, &plain, used);
    if (!is_changed && found->wave.turns == 0)
        return result;
    first = *fine;
    used_count = found->details.used_signal_count; /* without the noise signals */
    result = rps_detect(arena, used, options, fine, &found->details, err);
    found->details.used_signal_count = used_count;
    if (is_changed && result == 0) { /* if more than a tenth are outliers, they are noise */
        fine->outlier_count = 10 * first.outlier_count > plain.count ? 0 : first.outlier_count;
        fine->outlier = first.outlier;
    }
    return result;
}

int rps_phases_find(struct rps_arena *arena, const struct rps_signals *signals,
                    const struct rps_phases_options *options, struct rps_found_phases *ret,
                    struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_found_phases found = {0};
    struct rps_phases fine = {0};
    struct rps_signals used = *signals;
    int result = find_fine(arena, scratch, &options->detect, &used, &found, &fine, err);

    if (result == 0 && rps_rise_join(&used, &fine) > 0)
        found.details.linear = 1;
    if (result == 0 && signals->table_count > 0)
        refine(arena, signals, options->counts_min_length, found.details.linear, &fine);
    if (result == 0)
        result = find_levels(arena, &used, &fine, &options->level, &found, err);
    rps_arena_free(scratch);
    if (result == 0)
        *ret = found;
    return result;
}
