/* Text for segments of a run that are not phases. */
#include "rpistat/part_words.h"

#include "rpistat/profile.h"

static void add_phase(struct rps_phases *to, uint64_t first, uint64_t last, int label)
{
    if (first <= last)
        to->phase[to->count++] = (struct rps_phase){.first = first, .last = last, .label = label};
}

struct rps_phases rps_part_words_phases(struct rps_arena *arena, const struct rps_run_part *part,
                                        uint64_t first, uint64_t last, int rest)
{
    struct rps_phases ret = {.phase =
                                 rps_arena_get(arena, 2 * part->count + 1, sizeof(*ret.phase))};
    uint64_t next = first;

    for (size_t i = 0; i < part->count; i++) {
        const struct rps_run_stretch *stretch = &part->stretch[i];
        const uint64_t from = stretch->first > next ? stretch->first : next;
        const uint64_t to = stretch->last < last ? stretch->last : last;

        if (from > to)
            continue;
        if (from > next)
            add_phase(&ret, next, from - 1, rest);
        add_phase(&ret, from, to, (int)stretch->group);
        next = to + 1;
    }
    add_phase(&ret, next, last, rest);
    return ret;
}

int rps_part_words_find(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        const struct rps_cpus *cpus, const struct rps_phases *phases,
                        const struct rps_part_shares *shares, const char ***ret,
                        struct rps_error *err)
{
    struct rps_profile profile = {0};
    char words[RPS_PROFILE_WORDS_SIZE];
    int result = rps_profile_run(arena, reader, run_id, 0, INT64_MAX, cpus, phases, &profile, err);

    if (result < 0)
        return result;
    rps_profile_place(&profile, shares);
    *ret = rps_arena_get(arena, (size_t)phases->label_count, sizeof(**ret));
    for (int l = 0; l < phases->label_count; l++)
        (*ret)[l] = rps_arena_text(arena, rps_profile_words(words, &profile, l, 0));
    return 0;
}
