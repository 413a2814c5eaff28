/*
 * One rise is one phase. Values are compared on a curved scale, and what rises for hours wanders
 * beside it, so that constants or lines cut it into pieces; but the pieces go on where the last one
 * ended.
 *
 * From the middle of one phase to that of the next a signal goes as far as the first one's line
 * leads to the boundary, as the two lines are apart there, and as the second one leads on. Signals
 * count by the square of how far they go.
 */
#include "rise.h"

#include <math.h>

/* The square of what the lines are apart at a boundary, of that of how far it is in all. */
#define APART_MAX .1

/* The one goes so many times as steeply as the other. */
#define STEEPER_MAX 4

/* Values of a signal that tell a line. */
#define VALUES_MIN 4

/* The straight line through a signal in a phase. */
struct line {
    double count, time, level; /* values, and their means */
    double slope;
    double squares; /* of what is left */
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

/* Is what goes over from a phase to the next one rise? */
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
