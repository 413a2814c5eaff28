#include "shapes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t shape_random(uint64_t *state, uint64_t range)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (x ^ (x >> 31)) % range;
}

struct shape_options shape_options_of(uint64_t seed, uint64_t periods)
{
    static const unsigned int gaps[] = {0, 2, 10, 60};
    uint64_t state = seed;
    struct shape_options ret = {.seed = seed};

    ret.sets = 1 + (int)shape_random(&state, 3);
    ret.cpus = shape_random(&state, 3) ? 1 : 3;
    ret.rotations = 1 + shape_random(&state, periods / (uint64_t)ret.sets);
    ret.gaps = gaps[shape_random(&state, 4)];
    ret.shuffled = shape_random(&state, 2);
    ret.sleeps = shape_random(&state, 2);
    ret.changes = shape_random(&state, 3) == 0;
    ret.strange = shape_random(&state, 4) == 0;
    ret.cpus_go_away = shape_random(&state, 2);
    return ret;
}

/* --- making ----------------------------------------------------------------------------------- */

struct track {
    uint64_t number, cycle;
    int64_t end_ns;
    uint32_t counted;
    uint64_t asleep; /* Number of periods that the workload still sleeps. */
};

static void order_sets(const struct shape_options *options, uint64_t *state, uint32_t *ret)
{
    for (int i = 0; i < options->sets; i++)
        ret[i] = (uint32_t)i;
    for (int i = options->sets - 1; i > 0 && options->shuffled; i--) {
        int other = (int)shape_random(state, (uint64_t)i + 1);
        uint32_t swap = ret[i];

        ret[i] = ret[other];
        ret[other] = swap;
    }
    if (options->strange && options->sets > 1 && shape_random(state, 40) == 0)
        ret[0] = ret[1];
}

/* Measure a period. Return false if the period was lost. */
static bool measure(const struct shape_options *options, struct track *track, uint64_t *state,
                    struct rps_period *ret)
{
    bool gap = shape_random(state, 1000) < options->gaps;
    bool lost = gap && shape_random(state, 2);

    if (gap && !lost)
        track->end_ns += 1001 + (int64_t)shape_random(state, 5000);
    if (options->sleeps && track->asleep == 0 && shape_random(state, 60) == 0)
        track->asleep = shape_random(state, 300);
    if (options->changes && shape_random(state, 30) == 0)
        track->counted = 1 + (uint32_t)shape_random(state, 3);
    ret->period = track->number++;
    ret->start_ns = track->end_ns + (int64_t)shape_random(state, 2);
    ret->length_ns = 2000 + (int64_t)shape_random(state, 100);
    track->end_ns = ret->start_ns + ret->length_ns;
    ret->switch_ns = (int64_t)shape_random(state, 50);
    ret->missed = (uint32_t)shape_random(state, 3);
    ret->counted = track->counted;
    if (track->asleep > 0) {
        track->asleep--;
    } else {
        ret->cycles = 1 + shape_random(state, 1000);
        ret->enabled_ns = 1000 + shape_random(state, 1000);
        ret->running_ns = 500 + shape_random(state, 500);
        ret->clock_running_ns = 700 + shape_random(state, 300);
        ret->idle_ns = ret->period % 97 == 5 ? -1 : (int64_t)(ret->period * 37 % 1000);
        for (int slot = 0; slot < 2; slot++) {
            if (ret->counted & (1u << slot))
                ret->count[slot] = shape_random(state, 100000);
        }
    }
    ret->cycle = track->cycle += ret->cycles;
    return !lost;
}

void shape_make(struct shape *ret, const struct shape_options *options)
{
    uint64_t state = options->seed ^ UINT64_C(0x5eed);
    struct track track[8] = {{0}};
    uint32_t order[16];

    *ret = (struct shape){.options = *options};
    ret->period = calloc((size_t)options->cpus * options->rotations * (size_t)options->sets,
                         sizeof(*ret->period));
    assert_non_null(ret->period);
    for (int cpu = 0; cpu < options->cpus; cpu++)
        track[cpu].counted = 3;
    for (uint64_t rotation = 0; rotation < options->rotations; rotation++) {
        order_sets(options, &state, order);
        for (int i = 0; i < options->sets; i++) {
            for (int cpu = 0; cpu < options->cpus; cpu++) {
                struct rps_period period = {.cpu = options->cpus > 1 ? 2 * cpu : RPS_CPU_ALL,
                                            .set_no = order[i],
                                            .rotation = rotation};

                if (options->cpus_go_away && rotation > options->rotations / (uint64_t)(cpu + 1))
                    continue;
                if (measure(options, &track[cpu], &state, &period))
                    ret->period[ret->count++] = period;
            }
        }
    }
}

void shape_free(struct shape *shape)
{
    free(shape->period);
    *shape = (struct shape){0};
}

/* --- comparing -------------------------------------------------------------------------------- */

bool shape_follows(const struct rps_period *before, const struct rps_period *after)
{
    return before->cpu == after->cpu && after->period == before->period + 1 &&
           after->start_ns - before->start_ns - before->length_ns <= 1000;
}

static void add(struct rps_period *sum, const struct rps_period *period)
{
    sum->cycle = period->cycle;
    sum->cycles += period->cycles;
    sum->length_ns += period->length_ns;
    sum->enabled_ns += period->enabled_ns;
    sum->running_ns += period->running_ns;
    sum->clock_running_ns += period->clock_running_ns;
    if (sum->idle_ns >= 0)
        sum->idle_ns = period->idle_ns < 0 ? -1 : sum->idle_ns + period->idle_ns;
    sum->switch_ns += period->switch_ns;
    sum->missed += period->missed;
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        sum->count[slot] += period->count[slot];
    sum->merged++;
    sum->last_period = period->period;
    sum->end_ns = period->start_ns + period->length_ns;
}

/* Return the counted slots of a block. All its periods agree, except periods in which nothing ran.
 */
static uint32_t counted_in(uint32_t running, uint32_t idle)
{
    return running ? running : idle;
}

void shape_expect_row(const struct shape *shape, const struct rps_period *row, uint8_t *seen)
{
    struct rps_period sum = {0}, given = *row;
    uint32_t running = 0, idle = 0;
    bool begun = false;

    for (size_t i = 0; i < shape->count; i++) {
        const struct rps_period *period = &shape->period[i];

        if (period->cpu != row->cpu || period->set_no != row->set_no ||
            period->period < row->period || period->period > rps_period_last(row))
            continue;
        if (seen && seen[i]++)
            fail_msg("period %" PRIu64 " of CPU %d comes twice", period->period, period->cpu);
        if (!begun) {
            sum = *period;
            sum.level = row->level;
            sum.merged = 1;
            sum.last_period = period->period;
            sum.end_ns = period->start_ns + period->length_ns;
            begun = true;
        } else {
            add(&sum, period);
        }
        if (period->running_ns > 0) {
            if (running && running != period->counted)
                fail_msg("block %" PRIu64 " sums what was counted and what was not", row->period);
            running = period->counted;
        } else {
            idle |= period->counted;
        }
    }
    assert_true(begun);
    sum.counted = counted_in(running, idle);
    if (row->level == 0) {
        assert_int_equal(sum.merged, 1);
        sum.merged = sum.last_period = 0;
        sum.end_ns = 0;
    }
    given.scatter = NULL;
    if (memcmp(&sum, &given, sizeof(sum)) != 0)
        fail_msg(
            "row %" PRIu64 " of level %d, CPU %d, set %u is not the sum of its periods: %" PRIu64
            " of %" PRIu64 " merged, last %" PRIu64 " and %" PRIu64 ", cycles %" PRIu64
            " and %" PRIu64 ", counted %u and %u",
            row->period, row->level, row->cpu, row->set_no, sum.merged, row->merged,
            sum.last_period, row->last_period, sum.cycles, row->cycles, sum.counted, row->counted);
}
