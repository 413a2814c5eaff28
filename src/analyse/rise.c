/*
 * One rise is one phase. Values are compared on a curved scale, and values that rise for hours
 * drift too, so constants or lines cut a rise into pieces. But each piece starts where the last one
 * ended.
 *
 * From the middle of one phase to that of the next, a signal's change has three parts. These are
 * the change along the first line up to the boundary, the jump between the lines there, and the
 * change along the second line. Signals count by the square of their total change.
 */
#include "rise.h"

#include <math.h>

/* Square of the jump at a boundary, as a share of the square of the total change. */
#define APART_MAX .1

/* One phase may be so many times as steep as the other. */
#define STEEPER_MAX 4

/* Values of a signal that are enough for a line. */
#define VALUES_MIN 4

/* The straight line through a signal in a phase. */
struct line {
    double count, time, level; /* values, and their means */
    double slope;
    double squares; /* of the residuals */
};

static struct line line_of(const struct rps_signals *signals, size_t signal,
                           const struct rps_phase *phase)
{
    struct line line = {0};
    double time = 0, value = 0, moment = 0;
    size_t base = signal * signals->count;

    for (size_t i = phase->first; i <= phase->last; i++) {
        double weight = signals->weight ? (double)signals->weight[base + i] : 1, t, v;

        if (!isfinite(signals->value[base + i]) || !(weight > 0))
            continue;
        line.count += weight;
        t = (double)i - line.time;
        v = signals->value[base + i] - line.level;
        line.time += weight / line.count * t;
        line.level += weight / line.count * v;
        time += weight * t * ((double)i - line.time);
        moment += weight * t * (signals->value[base + i] - line.level);
        value += weight * v * (signals->value[base + i] - line.level);
    }
    line.slope = time > 0 ? moment / time : 0;
    line.squares = fmax(value - line.slope * moment, 0);
    return line;
}

/* Return 1 if the change from a phase to the next is one rise. */
static int is_rise(const struct rps_signals *signals, const struct rps_phase *a,
                   const struct rps_phase *b)
{
    double at = (double)b->first - .5, far = 0, apart = 0, before = 0, behind = 0;

    for (size_t s = 0; s < signals->signal_count; s++) {
        struct line x = line_of(signals, s, a), y = line_of(signals, s, b);
        double resolution = signals->resolution ? signals->resolution[s] : 0, noise, way, jump;

        if (x.count < VALUES_MIN || y.count < VALUES_MIN)
            continue;
        noise = (x.squares + y.squares) / (x.count + y.count) + resolution * resolution;
        if (!(noise > 0))
            return 0;
        way = y.level - x.level;
        jump = way - x.slope * (at - x.time) - y.slope * (y.time - at);
        far += way * way / noise;
        apart += jump * jump / noise;
        before += x.slope * way / noise;
        behind += y.slope * way / noise;
    }
    return far > 0 && apart <= APART_MAX * far && before > 0 && behind > 0 &&
           fmax(before, behind) <= STEEPER_MAX * fmin(before, behind);
}

size_t rps_rise_join(const struct rps_signals *signals, struct rps_phases *phases)
{
    struct rps_phase before = phases->count > 0 ? phases->phase[0] : (struct rps_phase){0};
    size_t kept = 1;

    for (size_t k = 1; k < phases->count; k++) {
        struct rps_phase now = phases->phase[k];
        int is_gap = signals->broken && signals->broken[now.first];

        if (!is_gap && is_rise(signals, &before, &now))
            phases->phase[kept - 1].last = now.last;
        else
            phases->phase[kept++] = now;
        before = now;
    }
    kept = phases->count - (phases->count > 0 ? kept : 0);
    phases->count -= kept;
    return kept;
}
