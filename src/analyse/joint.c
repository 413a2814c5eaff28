/* Phases of several series; see joint.h. */
#include "rpistat/joint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rps_joint_free(struct rps_joint *joint)
{
    for (size_t r = 0; joint->run && r < joint->run_count; r++)
        rps_phases_free(&joint->run[r]);
    free(joint->run);
    free(joint->distance);
    memset(joint, 0, sizeof(*joint));
}

/* --- one behind the other --------------------------------------------------------------------- */

static int allocate(const struct rps_signals *const *run, size_t count, struct rps_signals *out,
                    struct rps_error *err)
{
    size_t signals = run[0]->signal_count;
    int weighted = 0;

    out->signal_count = signals;
    for (size_t r = 0; r < count; r++) {
        out->count += run[r]->count;
        weighted |= run[r]->weight != NULL;
    }
    out->value = calloc(out->count * signals + 1, sizeof(*out->value));
    out->weight = weighted ? calloc(out->count * signals + 1, sizeof(*out->weight)) : NULL;
    out->resolution = calloc(signals + 1, sizeof(*out->resolution));
    out->noise_floor = calloc(signals + 1, sizeof(*out->noise_floor));
    out->broken = calloc(out->count + 1, sizeof(*out->broken));
    if (out->value && (out->weight || !weighted) && out->resolution && out->noise_floor &&
        out->broken)
        return 0;
    return rps_error_memory(err);
}

/* Copy a series to where observation `at` is. */
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

static int join_tables(const struct rps_signals *const *run, size_t count, struct rps_signals *out,
                       struct rps_error *err)
{
    const struct rps_count_table **of_run = calloc(count + 1, sizeof(*of_run));
    size_t tables = run[0]->table_count;
    int result = 0;

    out->table = calloc(tables + 1, sizeof(*out->table));
    if (!of_run || !out->table)
        result = rps_error_memory(err);
    for (size_t t = 0; t < tables && result == 0; t++) {
        for (size_t r = 0; r < count; r++)
            of_run[r] = &run[r]->table[t];
        result = rps_count_table_join(of_run, count, &out->table[t], err);
        out->table_count += result == 0;
    }
    free(of_run);
    return result;
}

static int put_together(const struct rps_signals *const *run, size_t count, struct rps_signals *out,
                        struct rps_error *err)
{
    if (allocate(run, count, out, err) < 0)
        return RPS_FAILED;
    for (size_t r = 0, at = 0; r < count; at += run[r++]->count)
        copy_run(run[r], at, out);
    return join_tables(run, count, out, err);
}

/* --- distances -------------------------------------------------------------------------------- */

/* Weighted mean and standard deviation; NaN where nothing was seen. */
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

/* Add up a signal in each label, and in all; values are taken by their distance from one of them,
 * so that squares keep their digits. */
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

/* Add the squared difference of labels in a signal to those in the others; signals counts them. */
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

/* Deviations that mixes are apart which have nothing in common: of a share that is all or nothing,
 * half of the time each. */
#define NOTHING_IN_COMMON 2

/* Add the squared difference of labels in the mix of a table, as that of a signal. */
static int add_table(const struct rps_count_table *table, const struct rps_phases *phases,
                     double *distance, double *seen, struct rps_error *err)
{
    size_t width = table->width, labels = (size_t)phases->label_count;
    double *count = calloc(labels * width + 1, sizeof(*count));
    double *all = calloc(labels + 1, sizeof(*all));

    if (!count || !all) {
        free(count);
        free(all);
        return rps_error_memory(err);
    }
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
    free(count);
    free(all);
    return 0;
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

static int find_distances(const struct rps_signals *signals, const struct rps_phases *phases,
                          struct rps_joint *joint, struct rps_error *err)
{
    size_t labels = (size_t)phases->label_count, pairs = labels * labels;
    struct values *label = calloc(labels + 1, sizeof(*label));
    double *seen = calloc(pairs + 1, sizeof(*seen));
    int result = 0;

    joint->label_count = phases->label_count;
    joint->distance = calloc(pairs + 1, sizeof(*joint->distance));
    if (label && seen && joint->distance) {
        for (size_t s = 0; s < signals->signal_count; s++) {
            struct values all = {0};

            memset(label, 0, labels * sizeof(*label));
            add_up(signals, s, phases, label, &all);
            if (all.weight > 0)
                add_signal(signals, s, label, &all, phases->label_count, joint->distance, seen);
        }
        for (size_t t = 0; t < signals->table_count && result == 0; t++)
            result = add_table(&signals->table[t], phases, joint->distance, seen, err);
        scale(joint->distance, seen, pairs);
    } else {
        result = rps_error_memory(err);
    }
    free(seen);
    free(label);
    return result;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int split(const struct rps_signals *const *run, const struct rps_phases *phases,
                 struct rps_joint *joint, struct rps_error *err)
{
    int result = 0;

    joint->run = calloc(joint->run_count + 1, sizeof(*joint->run));
    if (!joint->run)
        return rps_error_memory(err);
    for (size_t r = 0, at = 0; r < joint->run_count && result == 0; at += run[r++]->count)
        result = rps_phases_part(phases, at, at + run[r]->count, &joint->run[r], err);
    return result;
}

int rps_joint_find(const struct rps_signals *const *run, size_t count,
                   const struct rps_phases_options *options, struct rps_joint *ret,
                   struct rps_error *err)
{
    struct rps_signals signals = {0};
    struct rps_found_phases found = {0};
    struct rps_joint joint = {.run_count = count};
    int result = put_together(run, count, &signals, err);

    if (result == 0)
        result = rps_phases_find(&signals, options, &found, err);
    if (result == 0)
        result = split(run, rps_phase_levels_shown(&found.levels), &joint, err);
    if (result == 0)
        result = find_distances(&signals, rps_phase_levels_shown(&found.levels), &joint, err);
    rps_found_phases_free(&found);
    rps_signals_free(&signals);
    if (result == 0)
        *ret = joint;
    else
        rps_joint_free(&joint);
    return result;
}
