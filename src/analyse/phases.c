/* The steps from signals to phases at levels; see phases.h. */
#include "rpistat/phases.h"

#include <stdlib.h>
#include <string.h>

/* Turns are looked for in levels of so many stretches. */
#define TURNS_STRETCHES_MAX 120

/* Autocorrelation, at lag one, of what goes its own way. */
#define WALKS_FROM .9

void rps_found_phases_free(struct rps_found_phases *found)
{
    free(found->tree);
    rps_phase_levels_free(&found->levels);
    memset(found, 0, sizeof(*found));
}

int rps_phases_part(const struct rps_phases *phases, uint64_t begin, uint64_t end,
                    struct rps_phases *ret, struct rps_error *err)
{
    struct rps_phases out = {.label_count = phases->label_count};

    out.phase = calloc(phases->count + 1, sizeof(*out.phase));
    if (!out.phase)
        return rps_error_memory(err);
    for (size_t k = 0; k < phases->count; k++) {
        struct rps_phase *phase = &out.phase[out.count];

        if (phases->phase[k].first < begin || phases->phase[k].first >= end)
            continue;
        *phase = phases->phase[k];
        phase->first -= begin;
        phase->last -= begin;
        phase->earliest -= begin;
        phase->latest -= begin;
        out.count++;
    }
    *ret = out;
    return 0;
}

/* The end of the run of which `begin` is the first observation, where several stand one behind the
 * other. */
static size_t end_of_run(const struct rps_signals *signals, size_t begin)
{
    size_t end = begin + 1;

    while (end < signals->count && signals->broken && signals->broken[end] != RPS_BROKEN_RUN)
        end++;
    return signals->broken ? end : signals->count;
}

/* The turns of a level. Of several runs those of the run that has fewest, if all have some. */
static int pattern_at(const struct rps_levels *levels, const struct rps_signals *signals, size_t at,
                      struct rps_pattern *ret, struct rps_error *err)
{
    struct rps_phases phases = {0};
    int result = rps_levels_phases(levels, at, &phases, err);

    for (size_t begin = 0, end; begin < signals->count && result == 0; begin = end) {
        struct rps_phases part;
        struct rps_pattern pattern;

        end = end_of_run(signals, begin);
        result = rps_phases_part(&phases, begin, end, &part, err);
        if (result < 0)
            break;
        rps_pattern_find_turns(&part, &pattern);
        rps_phases_free(&part);
        if (begin == 0 || pattern.kind == RPS_PATTERN_NONE ||
            (ret->kind == RPS_PATTERN_TURNS && pattern.turns < ret->turns))
            *ret = pattern;
    }
    rps_phases_free(&phases);
    return result;
}

/* Is a turn simpler, or found more often, than another? */
static int is_simpler(const struct rps_pattern *a, const struct rps_pattern *b)
{
    if (b->kind == RPS_PATTERN_NONE || a->label_count != b->label_count)
        return b->kind == RPS_PATTERN_NONE || a->label_count < b->label_count;
    return a->turns > b->turns;
}

/*
 * The level that repeats, which is the usual one then if it can be read; else the run is one phase,
 * a loop. It is the usual one itself, or of the others the one with the simplest turns. Among many
 * levels there is always one in which two kinds alternate evenly, so turns of two are looked for in
 * the usual level alone.
 */
static int find_turns(struct rps_levels *levels, const struct rps_signals *signals,
                      struct rps_pattern *ret, struct rps_error *err)
{
    size_t best = levels->usual;

    if (pattern_at(levels, signals, best, ret, err) < 0)
        return RPS_FAILED;
    if (ret->kind == RPS_PATTERN_TURNS)
        return 0;
    for (size_t at = 1; at < levels->count && levels->level[at].stretches <= TURNS_STRETCHES_MAX;
         at++) {
        struct rps_pattern pattern;

        if (pattern_at(levels, signals, at, &pattern, err) < 0)
            return RPS_FAILED;
        if (pattern.label_count > 2 && is_simpler(&pattern, ret)) {
            *ret = pattern;
            best = at;
        }
    }
    if (ret->kind == RPS_PATTERN_TURNS)
        levels->usual = levels->level[best].stretches <= RPS_LEVELS_READABLE ? best : 0;
    return 0;
}

/* Is it a line, or noise that is hardly told from a random walk; or does the detector say so? */
static int drifts(const struct rps_levels *levels, const struct rps_detect_details *details)
{
    return details->wanders || (levels->level[levels->usual].stretches == 1 &&
                                (details->linear || details->autocorrelation > WALKS_FROM));
}

static int find_levels(const struct rps_signals *signals, struct rps_phases *fine,
                       const struct rps_level_choice *choice, struct rps_found_phases *found,
                       struct rps_error *err)
{
    struct rps_levels levels = {0};
    int result = rps_levels_find(signals, fine, &levels, err);

    if (result == 0) {
        levels.usual = found->details.wanders ? 0 : levels.usual;
        result = find_turns(&levels, signals, &found->pattern, err);
    }
    if (result == 0 && found->pattern.kind == RPS_PATTERN_NONE) {
        found->drifts = drifts(&levels, &found->details);
        result = rps_pattern_find_wave(signals, &found->pattern, err);
    }
    if (result == 0)
        result = rps_levels_choose(&levels, choice, &found->tree_shown, err);
    if (result == 0)
        result = rps_levels_keep(&levels, found->tree_shown, &found->levels, err);
    if (result == 0) {
        struct rps_phases *shown = rps_phase_levels_shown(&found->levels);

        found->tree_count = levels.count;
        found->tree = levels.level;
        levels.level = NULL;
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
