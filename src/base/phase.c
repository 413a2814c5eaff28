/* Phases and the names of their labels: A to Z, then AA, AB and so on, as in spreadsheets. */
#include "rpistat/phase.h"

#include <ctype.h>
#include <string.h>

#include "rpistat/arena.h"

#define LETTERS_MAX 6

const char *rps_phase_label(int label, char text[RPS_PHASE_LABEL_SIZE])
{
    char reversed[RPS_PHASE_LABEL_SIZE];
    size_t length = 0, i = 0;
    long rest = (long)label + 1;

    for (; rest > 0; rest = (rest - 1) / 26)
        reversed[length++] = (char)('A' + (rest - 1) % 26);
    while (length > 0)
        text[i++] = reversed[--length];
    text[i] = '\0';
    return text;
}

int rps_phase_label_parse(const char *text)
{
    size_t length = strlen(text);
    int label = 0;

    if (length == 0 || length > LETTERS_MAX)
        return -1;
    for (size_t i = 0; i < length; i++) {
        int letter = toupper((unsigned char)text[i]);

        if (letter < 'A' || letter > 'Z')
            return -1;
        label = 26 * label + letter - 'A' + 1;
    }
    return label - 1;
}

/* Add up the time that each new and old label have in common: shared[new * old_count + old]. */
static void share(const struct rps_phases *phases, const struct rps_phases *before,
                  size_t old_count, int64_t *shared)
{
    size_t from = 0;

    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];

        while (from < before->count && before->phase[from].end_ns <= phase->start_ns)
            from++;
        for (size_t k = from; k < before->count && before->phase[k].start_ns < phase->end_ns; k++) {
            const struct rps_phase *old = &before->phase[k];
            int64_t start_ns = old->start_ns > phase->start_ns ? old->start_ns : phase->start_ns;
            int64_t end_ns = old->end_ns < phase->end_ns ? old->end_ns : phase->end_ns;

            shared[(size_t)phase->label * old_count + (size_t)old->label] += end_ns - start_ns;
        }
    }
}

/* Map that pair of unmapped labels which shares most time. Return 0 if no pair shares time. */
static int take_most(int64_t *shared, size_t new_count, size_t old_count, int *map)
{
    size_t most = 0, cells = new_count * old_count;

    for (size_t i = 1; i < cells; i++)
        most = shared[i] > shared[most] ? i : most;
    if (cells == 0 || shared[most] <= 0)
        return 0;
    map[most / old_count] = (int)(most % old_count);
    for (size_t old = 0; old < old_count; old++)
        shared[most / old_count * old_count + old] = 0;
    for (size_t label = 0; label < new_count; label++)
        shared[label * old_count + most % old_count] = 0;
    return 1;
}

static int is_taken(int label, const struct rps_phases *before, const int *map, size_t map_count)
{
    for (size_t i = 0; i < before->count; i++) {
        if (before->phase[i].label == label)
            return 1;
    }
    for (size_t i = 0; i < map_count; i++) {
        if (map[i] == label)
            return 1;
    }
    return 0;
}

static void rename_labels(struct rps_phases *phases, const struct rps_phases *before, int *map)
{
    size_t count = (size_t)phases->label_count;
    int next = 0;

    phases->label_count = 0;
    for (size_t label = 0; label < count; label++) {
        while (map[label] < 0 && is_taken(next, before, map, count))
            next++;
        map[label] = map[label] < 0 ? next : map[label];
    }
    for (size_t i = 0; i < phases->count; i++) {
        int label = map[phases->phase[i].label];

        phases->phase[i].label = label;
        phases->label_count = label >= phases->label_count ? label + 1 : phases->label_count;
    }
}

void rps_phases_keep_labels(struct rps_phases *phases, const struct rps_phases *before)
{
    size_t new_count = (size_t)phases->label_count, old_count = (size_t)before->label_count;
    struct rps_arena *arena = rps_arena_new();
    int64_t *shared = rps_arena_get(arena, new_count * old_count, sizeof(*shared));
    int *map = rps_arena_get(arena, new_count, sizeof(*map));

    share(phases, before, old_count, shared);
    for (size_t label = 0; label < new_count; label++)
        map[label] = -1;
    while (take_most(shared, new_count, old_count, map))
        ;
    rename_labels(phases, before, map);
    rps_arena_free(arena);
}

size_t rps_phases_at(const struct rps_phases *phases, uint64_t period, size_t *at)
{
    if (phases->count == 0)
        return SIZE_MAX;
    while (*at > 0 && period < phases->phase[*at].first)
        (*at)--;
    while (*at + 1 < phases->count && period > phases->phase[*at].last)
        (*at)++;
    return period >= phases->phase[*at].first && period <= phases->phase[*at].last ? *at : SIZE_MAX;
}

RPS_ARRAY_BEFORE(is_before, uint64_t, , <, uint64_t)

int64_t rps_phases_time(const struct rps_phases *phases, uint64_t number)
{
    const struct rps_phase *phase = phases->phase, *end = phase + phases->count - 1;
    const uint64_t *outlier = phases->outlier;
    size_t known = phases->outlier_ns ? phases->outlier_count : 0;
    size_t at =
        known > 0 ? rps_array_find(outlier, known, sizeof(*outlier), is_before, &number) : 0;

    if (at < known && outlier[at] == number)
        return phases->outlier_ns[2 * at];
    if (at > 0 && outlier[at - 1] + phases->wide + 1 == number)
        return phases->outlier_ns[2 * at - 1];
    while (phase < end && number > phase->last)
        phase++;
    return phase->start_ns +
           (int64_t)((double)(phase->end_ns - phase->start_ns) * (double)(number - phase->first) /
                     (double)(phase->last - phase->first + 1));
}

int rps_phases_repeat(const struct rps_phases *phases)
{
    size_t k = 0;

    while (k < phases->count && phases->phase[k].loop == 0)
        k++;
    return k < phases->count;
}

struct rps_phases *rps_phase_levels_shown(const struct rps_phase_levels *levels)
{
    return &levels->level[levels->shown];
}
