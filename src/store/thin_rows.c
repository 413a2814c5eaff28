/*
 * Merging periods.
 *
 * Whole rotations are merged, set by set: a row of a set has its events and no other's, and with a
 * whole rotation at a time every reader that puts rotations together by period number finds one,
 * only a longer one. Its sets are laid out one after the other. In truth they took turns; which of
 * them was on at which moment is what merging gives up.
 */
#include "thin_rows.h"

#include <string.h>

/* Does b begin where a has ended, in time, cycles and number? */
static int follows(const struct rps_period *a, const struct rps_period *b, size_t set_count)
{
    return b->period == rps_period_next(a, set_count) &&
           b->start_ns == a->start_ns + a->length_ns && b->cycle == a->cycle + b->cycles;
}

/* Is there a whole rotation at the first of count rows? */
static int is_rotation(const struct rps_period *row, size_t count, size_t set_count)
{
    if (count < set_count)
        return 0;
    for (size_t k = 0; k < set_count; k++) {
        if (row[k].set_no != k || row[k].period % set_count != k || row[k].merged != row->merged ||
            (k > 0 && !follows(&row[k - 1], &row[k], set_count)))
            return 0;
    }
    return 1;
}

int rps_thin_run_find(const struct rps_period *row, size_t count, size_t set_count, size_t from,
                      struct rps_thin_run *ret)
{
    for (size_t at = from; at < count;) {
        size_t end = at;

        while (is_rotation(row + end, count - end, set_count) &&
               (end == at || follows(&row[end - 1], &row[end], set_count)))
            end += set_count;
        if (end - at >= 2 * set_count) {
            *ret = (struct rps_thin_run){at, end - at};
            return 1;
        }
        at = end > at ? end : at + 1;
    }
    return 0;
}

static void add(struct rps_period *sum, const struct rps_period *row)
{
    uint64_t missed = (uint64_t)sum->missed + row->missed;
    uint64_t merged = sum->merged + rps_period_weight(row);

    sum->length_ns += row->length_ns;
    sum->cycles += row->cycles;
    sum->enabled_ns += row->enabled_ns;
    sum->running_ns += row->running_ns;
    sum->switch_ns += row->switch_ns;
    sum->missed = missed > UINT32_MAX ? UINT32_MAX : (uint32_t)missed;
    sum->merged = merged > UINT32_MAX ? UINT32_MAX : (uint32_t)merged;
    sum->counted |= row->counted;
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        sum->count[slot] += row->counted & (UINT32_C(1) << slot) ? row->count[slot] : 0;
}

void rps_thin_run_merge(const struct rps_period *row, const struct rps_thin_run *run,
                        size_t set_count, struct rps_period *ret)
{
    const struct rps_period *first = row + run->first;
    int64_t start_ns = first->start_ns;
    uint64_t cycle = first->cycle - first->cycles;

    memset(ret, 0, set_count * sizeof(*ret));
    for (size_t i = 0; i < run->count; i++)
        add(&ret[i % set_count], &first[i]);
    for (size_t k = 0; k < set_count; k++) {
        ret[k].cpu = first->cpu;
        ret[k].set_no = (uint32_t)k;
        ret[k].period = first->period + k;
        ret[k].start_ns = start_ns;
        start_ns += ret[k].length_ns;
        cycle += ret[k].cycles;
        ret[k].cycle = cycle;
    }
}
