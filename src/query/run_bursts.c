/* Bursts of a run and outliers outside bursts, described as if they were phases of two classes. */
#include "rpistat/run_bursts.h"
#include "rpistat/arena.h"
#include "rpistat/profile.h"

#include <stdlib.h>

enum { REST, BURST, OUTLIER, LABELS };

#define OUTLIERS_MIN 10 /* Fewer outliers than this are listed without descriptions. */

RPS_ARRAY_ORDER(compare_firsts, struct rps_run_stretch, .first)

/* List the bursts, and the outliers outside bursts, in order of time. Return the number of outliers
 * outside bursts. */
static size_t list_stretches(struct rps_arena *arena, const struct rps_phases *phases,
                             const struct rps_bursts *bursts, struct rps_run_part *ret)
{
    size_t burst = 0;

    *ret =
        (struct rps_run_part){.stretch = rps_arena_get(arena, bursts->count + phases->outlier_count,
                                                       sizeof(*ret->stretch))};
    for (size_t i = 0; i < bursts->count; i++)
        ret->stretch[ret->count++] =
            (struct rps_run_stretch){bursts->first[i], bursts->last[i], BURST};
    for (size_t i = 0; i < phases->outlier_count; i++) {
        const uint64_t outlier = phases->outlier[i];

        while (burst < bursts->count && bursts->last[burst] < outlier)
            burst++;
        if (burst == bursts->count || outlier < bursts->first[burst])
            ret->stretch[ret->count++] =
                (struct rps_run_stretch){outlier, outlier + phases->wide, OUTLIER};
    }
    if (ret->count > 0)
        qsort(ret->stretch, ret->count, sizeof(*ret->stretch), compare_firsts);
    return ret->count - bursts->count;
}

/* Return the segments, and the gaps between the segments, as phases of the run. */
static struct rps_phases split(struct rps_arena *arena, const struct rps_phases *phases,
                               const struct rps_run_part *part)
{
    struct rps_phases ret = rps_part_words_phases(arena, part, phases->phase[0].first,
                                                  phases->phase[phases->count - 1].last, REST);

    ret.label_count = LABELS;
    for (size_t i = 0; i < ret.count; i++) {
        ret.phase[i].start_ns = rps_phases_time(phases, ret.phase[i].first);
        ret.phase[i].end_ns = rps_phases_time(phases, ret.phase[i].last + 1);
    }
    return ret;
}

static void add_times(struct rps_arena *arena, const struct rps_phases *phases,
                      struct rps_run_bursts *found)
{
    const struct rps_bursts *bursts = &found->bursts;
    const struct rps_phase *first = &phases->phase[0], *last = &phases->phase[phases->count - 1];
    double period_ns =
        (double)(last->end_ns - first->start_ns) / (double)(last->last - first->first + 1);

    found->length_ns = (int64_t)(bursts->length * period_ns);
    found->every_ns = (int64_t)(bursts->every * period_ns);
    found->start_ns = rps_arena_get(arena, bursts->count, sizeof(*found->start_ns));
    for (size_t i = 0; i < bursts->count; i++)
        found->start_ns[i] = rps_phases_time(phases, bursts->first[i]);
}

/* Return 1 if a name distinguishes the group. Counters are not compared, because outliers always
 * differ by their counters. */
static int stands_out(const struct rps_part_shares *shares, size_t group)
{
    int is_found = shares->group_count == 0; /* Without samples, only the counters describe the
                                                group. */

    for (int k = 0; k < RPS_APART_KINDS && group < shares->group_count; k++)
        is_found |= shares->group[group].apart[k].is_found;
    return is_found;
}

struct rps_run_bursts rps_run_bursts_find(struct rps_arena *arena, const struct rps_phases *phases)
{
    struct rps_run_bursts found = {
        .bursts = rps_bursts_find(arena, phases), .words = "", .outlier_words = ""};
    struct rps_run_part stretches;

    found.outliers = list_stretches(arena, phases, &found.bursts, &stretches);
    if (found.bursts.count > 0)
        add_times(arena, phases, &found);
    if (found.bursts.count > 0 || found.outliers >= OUTLIERS_MIN)
        found.described = split(arena, phases, &stretches);
    return found;
}

int rps_run_bursts_describe(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                            const struct rps_cpus *cpus, const struct rps_phases *phases,
                            struct rps_profile *profile, struct rps_part_shares *ret_labels,
                            struct rps_run_bursts *bursts, struct rps_error *err)
{
    const struct rps_run_part part[2] = {rps_run_part_of_phases(arena, phases, 1),
                                         rps_run_part_of_phases(arena, &bursts->described, 1)};
    const size_t parts = bursts->described.count > 0 ? 2 : 1;
    struct rps_part_shares shares[2];
    const char **words;

    if (rps_part_shares_find(arena, reader, run_id, part, parts, cpus, shares, err) < 0)
        return RPS_FAILED;
    *ret_labels = shares[0];
    if (parts == 1)
        return 0;
    words = rps_part_words(profile, &shares[1]);
    if (bursts->bursts.count > 0)
        bursts->words = words[BURST];
    if (bursts->outliers >= OUTLIERS_MIN && stands_out(&shares[1], OUTLIER))
        bursts->outlier_words = words[OUTLIER];
    return 0;
}
