/* Bursts of a run: they are looked at as if they were the phases of one label, the rest those of
 * another. */
#include "rpistat/run_bursts.h"

#include "rpistat/part_shares.h"
#include "rpistat/profile.h"

#define REST  0
#define BURST 1

/* A function whose share of the samples is larger in bursts by less says nothing of them. */
#define PLACE_LEAST .1

static void add_phase(struct rps_phases *of, const struct rps_phases *phases, uint64_t first,
                      uint64_t last, int label)
{
    if (first > last)
        return;
    of->phase[of->count++] = (struct rps_phase){
        .first = first,
        .last = last,
        .start_ns = rps_phases_time(phases, first),
        .end_ns = rps_phases_time(phases, last + 1),
        .label = label,
    };
}

/* The bursts, and what lies between them. */
static struct rps_phases split(struct rps_arena *arena, const struct rps_phases *phases,
                               const struct rps_bursts *bursts)
{
    struct rps_phases ret = {
        .phase = rps_arena_get(arena, 2 * bursts->count + 1, sizeof(*ret.phase)),
        .label_count = 2,
    };
    uint64_t from = phases->phase[0].first, end = phases->phase[phases->count - 1].last;

    for (size_t i = 0; i < bursts->count; i++) {
        if (bursts->first[i] > from)
            add_phase(&ret, phases, from, bursts->first[i] - 1, REST);
        add_phase(&ret, phases, bursts->first[i], bursts->last[i], BURST);
        from = bursts->last[i] + 1;
    }
    add_phase(&ret, phases, from, end, REST);
    return ret;
}

/* "43 % in flush (log.c:11), else 0 %": the function that has most more of the bursts' samples than
 * of the others. "" where these are too few to tell. */
static const char *place(struct rps_arena *arena, const struct rps_part_shares *shares)
{
    const uint64_t *samples = shares->samples;
    size_t count = shares->name_count, found = 0;
    double most = 0, burst = 0, rest = 0;
    char name[256];

    if (shares->group_count <= BURST)
        return "";
    for (size_t f = 0; f < count; f++) {
        double in = rps_shares_part(samples[BURST * count + f], shares->group[BURST].samples);
        double out = rps_shares_part(samples[REST * count + f], shares->group[REST].samples);

        if (in - out > most) {
            most = in - out;
            burst = in;
            rest = out;
            found = f;
        }
    }
    if (most < PLACE_LEAST)
        return "";
    rps_share_name_text(name, sizeof(name), &shares->name[found]);
    return rps_arena_print(arena, "%.0f %% in %s, else %.0f %%", 100 * burst, name, 100 * rest);
}

static int find_words(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                      const struct rps_cpus *cpus, const struct rps_phases *of, const char **ret,
                      struct rps_error *err)
{
    struct rps_profile profile = {0};
    struct rps_part_shares shares = {0};
    char words[RPS_PROFILE_WORDS_SIZE];
    int result = rps_profile_run(arena, reader, run_id, 0, INT64_MAX, cpus, of, &profile, err);

    if (result == 0)
        result = rps_part_shares_of_labels(arena, reader, run_id, of, cpus, &shares, err);
    if (result >= 0) {
        const char *where = place(arena, &shares);

        rps_profile_words(words, &profile, BURST, 0);
        *ret = rps_arena_print(arena, "%s%s%s", words, words[0] && where[0] ? ", " : "", where);
    }
    return result < 0 ? result : 0;
}

int rps_run_bursts_find(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        const struct rps_cpus *cpus, const struct rps_phases *phases,
                        struct rps_run_bursts *ret, struct rps_error *err)
{
    struct rps_run_bursts found = {.bursts = rps_bursts_find(arena, phases)};
    const struct rps_bursts *bursts = &found.bursts;
    struct rps_phases of;
    double period_ns;

    *ret = found;
    if (bursts->count == 0)
        return 0;
    of = split(arena, phases, bursts);
    period_ns = (double)(of.phase[of.count - 1].end_ns - of.phase[0].start_ns) /
                (double)(of.phase[of.count - 1].last - of.phase[0].first + 1);
    found.length_ns = (int64_t)(bursts->length * period_ns);
    found.every_ns = (int64_t)(bursts->every * period_ns);
    found.start_ns = rps_arena_get(arena, bursts->count, sizeof(*found.start_ns));
    for (size_t i = 0; i < bursts->count; i++)
        found.start_ns[i] = rps_phases_time(phases, bursts->first[i]);
    if (find_words(arena, reader, run_id, cpus, &of, &found.words, err) < 0)
        return RPS_FAILED;
    *ret = found;
    return 0;
}
