/* The words of stretches of a run that are no phases. */
#include "rpistat/part_words.h"

#include "rpistat/profile.h"

static void add_phase(struct rps_phases *to, uint64_t first, uint64_t last, int label,
                      int64_t period_ns)
{
    if (first <= last)
        to->phase[to->count++] = (struct rps_phase){.first = first,
                                                    .last = last,
                                                    .start_ns = (int64_t)first * period_ns,
                                                    .end_ns = (int64_t)(last + 1) * period_ns,
                                                    .label = label};
}

struct rps_phases rps_part_words_phases(struct rps_arena *arena, const struct rps_run_part *part,
                                        uint64_t last, int64_t period_ns)
{
    struct rps_phases ret = {.phase = rps_arena_get(arena, 2 * part->count + 1, sizeof(*ret.phase)),
                             .label_count = 2};
    uint64_t next = 0;

    if (last >= (uint64_t)(INT64_MAX / period_ns)) /* of a store that makes no sense */
        period_ns = 1;
    for (size_t i = 0; i < part->count && part->stretch[i].first <= last; i++) {
        const struct rps_run_stretch *stretch = &part->stretch[i];

        if (stretch->first > next)
            add_phase(&ret, next, stretch->first - 1, 1, period_ns);
        next = (stretch->last < last ? stretch->last : last) + 1;
        add_phase(&ret, stretch->first, next - 1, 0, period_ns);
    }
    add_phase(&ret, next, last, 1, period_ns);
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
