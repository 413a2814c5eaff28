/* Find common phases of several series; see joint.h. */
#include "rpistat/arena.h"
#include "rpistat/joint.h"

#include <math.h>
#include <string.h>

/* --- concatenation ---------------------------------------------------------------------------- */

static void allocate(const struct rps_signals *const *run, size_t count, struct rps_signals *out)
{
    size_t signals = run[0]->signal_count;
    int weighted = 0;

    out->signal_count = signals;
    out->memory_signal = run[0]->memory_signal;
    out->fault_signal = run[0]->fault_signal;
    out->use_signal = run[0]->use_signal;
    out->idle = run[0]->idle;
    for (size_t r = 0; r < count; r++) {
        out->count += run[r]->count;
        weighted |= run[r]->weight != NULL;
    }
    out->value = rps_arena_loose(out->count * signals, sizeof(*out->value));
    out->weight = weighted ? rps_arena_loose(out->count * signals, sizeof(*out->weight)) : NULL;
    out->resolution = rps_arena_loose(signals, sizeof(*out->resolution));
    out->noise_floor = rps_arena_loose(signals, sizeof(*out->noise_floor));
    out->broken = rps_arena_loose(out->count, sizeof(*out->broken));
}

/* Copy a series into `out`, from observation `at` on. */
static void copy_run(const struct rps_signals *run, size_t at, struct rps_signals *out)
{
    for (size_t s = 0; s < out->signal_count; s++) {
        size_t to = s * out->count + at, from = s * run->count;

        memcpy(out->value + to, run->value + from, run->count * sizeof(*out->value));
        for (size_t i = 0; out->weight && i < run->count; i++)
            out->weight[to + i] = run->weight ? run->weight[from + i] : 1;
        if (run->resolution)
            out->resolution[s] = fmax(out->resolution[s], run->resolution[s]);
        if (run->noise_floor)
            out->noise_floor[s] = fmax(out->noise_floor[s], run->noise_floor[s]);
    }
    for (size_t i = 0; run->broken && i < run->count; i++)
        out->broken[at + i] = run->broken[i];
    out->broken[at] = RPS_BROKEN_RUN;
}

static void join_tables(const struct rps_signals *const *run, size_t count, struct rps_signals *out)
{
    size_t tables = run[0]->table_count;
    struct rps_arena *scratch = rps_arena_new();
    const struct rps_count_table **of_run = rps_arena_get(scratch, count, sizeof(*of_run));

    out->table = rps_arena_loose(tables, sizeof(*out->table));
    for (out->table_count = 0; out->table_count < tables; out->table_count++) {
        for (size_t r = 0; r < count; r++)
            of_run[r] = &run[r]->table[out->table_count];
        out->table[out->table_count] = rps_count_table_join(of_run, count);
    }
    rps_arena_free(scratch);
}

static struct rps_signals put_together(const struct rps_signals *const *run, size_t count)
{
    struct rps_signals out = {0};

    allocate(run, count, &out);
    for (size_t r = 0, at = 0; r < count; at += run[r++]->count)
        copy_run(run[r], at, &out);
    join_tables(run, count, &out);
    return out;
}

/* --- distances -------------------------------------------------------------------------------- */

/* Weighted mean and standard deviation; NaN if no value was seen. */
struct values {
    double weight, sum, squares;
};

static double mean_of(const struct values *values)
{
    return values->weight > 0 ? values->sum / values->weight : NAN;
}

static double deviation_of(const struct values *values)
{
    double mean = mean_of(values);

    return sqrt(fmax(values->squares / values->weight - mean * mean, 0));
}

/* Add up the values of a signal for each label and for all labels. One value of the signal is
 * subtracted from all values, so that the squares lose no digits. */
static void add_up(const struct rps_signals *signals, size_t s, const struct rps_phases *phases,
                   struct values *label, struct values *all)
{
    const double *value = signals->value + s * signals->count;
    double centre = NAN;

    for (size_t k = 0; k < phases->count; k++) {
        struct values *own = &label[phases->phase[k].label];

        for (size_t i = phases->phase[k].first; i <= phases->phase[k].last; i++) {
            double weight = signals->weight ? signals->weight[s * signals->count + i] : 1, x;

            if (!isfinite(value[i]) || !(weight > 0))
                continue;
            centre = isnan(centre) ? value[i] : centre;
            x = value[i] - centre;
            own->weight += weight;
            own->sum += weight * x;
            all->weight += weight;
            all->sum += weight * x;
            all->squares += weight * x * x;
        }
    }
}

/* Add the squared difference of each pair of labels in a signal to the sums. For each pair, `seen`
 * is the number of added signals. */
static void add_signal(const struct rps_signals *signals, size_t s, const struct values *label,
                       const struct values *all, int count, double *distance, double *seen)
{
    double unit = fmax(deviation_of(all), signals->resolution ? signals->resolution[s] : 0);

    for (int x = 0; x < count && unit > 0; x++) {
        for (int y = 0; y < count; y++) {
            double apart = (mean_of(&label[x]) - mean_of(&label[y])) / unit;

            if (!(label[x].weight > 0 || label[y].weight > 0))
                continue;
            distance[x * count + y] += isnan(apart) ? 1 : apart * apart;
            seen[x * count + y]++;
        }
    }
}

/* Distance of two mixes that have no common symbols, in standard deviations. A share that is 0 for
 * half of the time and 1 for the other half has a standard deviation of .5. */
#define NOTHING_IN_COMMON 2

/* Add the squared difference of each pair of labels in the mix of a table. The mix has the same
 * weight as one signal. */
static void add_table(struct rps_arena *scratch, const struct rps_count_table *table,
                      const struct rps_phases *phases, double *distance, double *seen)
{
    size_t width = table->width, labels = (size_t)phases->label_count;
    double *count = rps_arena_get(scratch, labels * width, sizeof(*count));
    double *all = rps_arena_get(scratch, labels, sizeof(*all));

    for (size_t k = 0; k < phases->count; k++) {
        const struct rps_phase *phase = &phases->phase[k];
        size_t label = (size_t)phase->label;

        for (size_t e = table->begin[phase->first]; e < table->begin[phase->last + 1]; e++) {
            count[label * width + table->entry[e].symbol] += (double)table->entry[e].count;
            all[label] += (double)table->entry[e].count;
        }
    }
    for (size_t pair = 0; pair < labels * labels; pair++) {
        size_t x = pair / labels, y = pair % labels;
        double apart = 0;

        if (!(all[x] > 0 || all[y] > 0))
            continue;
        for (size_t k = 0; k < width && all[x] > 0 && all[y] > 0; k++)
            apart += fabs(count[x * width + k] / all[x] - count[y * width + k] / all[y]) / 2;
        apart = all[x] > 0 && all[y] > 0 ? NOTHING_IN_COMMON * apart : 1;
        distance[pair] += apart * apart;
        seen[pair]++;
    }
}

static void scale(double *distance, const double *seen, size_t count)
{
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        distance[i] = seen[i] > 0 ? sqrt(distance[i] / seen[i]) : 0;
        most = fmax(most, distance[i]);
    }
    for (size_t i = 0; i < count && most > 0; i++)
        distance[i] /= most;
}

static void find_distances(struct rps_arena *arena, const struct rps_signals *signals,
                           const struct rps_phases *phases, struct rps_joint *joint)
{
    size_t labels = (size_t)phases->label_count, pairs = labels * labels;
    struct rps_arena *scratch = rps_arena_new();
    struct values *label = rps_arena_get(scratch, labels, sizeof(*label));
    double *seen = rps_arena_get(scratch, pairs, sizeof(*seen));

    joint->label_count = phases->label_count;
    joint->distance = rps_arena_get(arena, pairs, sizeof(*joint->distance));
    for (size_t s = 0; s < signals->signal_count; s++) {
        struct values all = {0};

        memset(label, 0, labels * sizeof(*label));
        add_up(signals, s, phases, label, &all);
        if (all.weight > 0)
            add_signal(signals, s, label, &all, phases->label_count, joint->distance, seen);
    }
    for (size_t t = 0; t < signals->table_count; t++)
        add_table(scratch, &signals->table[t], phases, joint->distance, seen);
    scale(joint->distance, seen, pairs);
    rps_arena_free(scratch);
}

/* --- everything together ---------------------------------------------------------------------- */

int rps_joint_find(struct rps_arena *arena, const struct rps_signals *const *run, size_t count,
                   const struct rps_phases_options *options, struct rps_joint *ret,
                   struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_signals signals = put_together(run, count);
    struct rps_found_phases found = {0};
    const struct rps_phases *shown;
    int result = rps_phases_find(scratch, &signals, options, &found, err);

    if (result == 0) {
        shown = rps_phase_levels_shown(&found.levels);
        *ret = (struct rps_joint){.run_count = count,
                                  .run = rps_arena_get(arena, count, sizeof(*ret->run))};
        for (size_t r = 0, at = 0; r < count; at += run[r++]->count)
            ret->run[r] = rps_phases_part(arena, shown, at, at + run[r]->count);
        find_distances(arena, &signals, shown, ret);
    }
    rps_arena_free(scratch);
    rps_signals_free(&signals);
    return result;
}
