/*
 * Pre-treatment of signals, and the sums over them.
 *
 * Noise is measured on differences, whose robust scale no change of level moves. Two lags tell the
 * variance s of an AR(1) process and its autocorrelation apart: Var(x[i] - x[i-1]) = 2 s (1 - phi),
 * Var(x[i] - x[i-2]) = 2 s (1 - phi^2). Values are divided by the square root of the long-run
 * variance s (1 + phi) / (1 - phi), which is what means of segments vary by, so that one penalty
 * serves every noise.
 */
#include "prepared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Robust standard deviations: what lies further from the running median is clipped. */
#define CLIP_DEVIATIONS 4.0

/* Values that scales are estimated from. */
#define SCALE_VALUES 3001

/* Scale of the median absolute deviation of normal noise. */
#define MAD_SCALE 1.482602218505602

/* Largest autocorrelation that is believed. */
#define PHI_MAX 0.95

/* Signals whose steps agree so well say the same. */
#define COPY_CORRELATION 0.98

/* Part of a signal's noise that is its own whatever the others do. */
#define WHITEN_RIDGE 0.05

#define WINDOW 7

/* --- scales --------------------------------------------------------------------------------------
 */

/* The k-th smallest of `count` values, which are reordered (Hoare's FIND, in Wirth's form). */
static double kth(double *value, size_t count, size_t k)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, wanted = (ptrdiff_t)k;

    while (low < high) {
        double pivot = value[wanted];
        ptrdiff_t i = low, j = high;

        do {
            while (value[i] < pivot)
                i++;
            while (pivot < value[j])
                j--;
            if (i <= j) {
                double keep = value[i];

                value[i++] = value[j];
                value[j--] = keep;
            }
        } while (i <= j);
        if (j < wanted)
            low = i;
        if (wanted < i)
            high = j;
    }
    return value[wanted];
}

/* A sample of the values, spread evenly, into `ret` (SCALE_VALUES): how many. */
static size_t sample(const double *value, size_t count, double *ret)
{
    size_t wanted = count < SCALE_VALUES ? count : SCALE_VALUES;

    for (size_t i = 0; i < wanted; i++)
        ret[i] = value[(size_t)((double)i * (double)count / (double)wanted)];
    return wanted;
}

static double median_of(const double *value, size_t count, double *room)
{
    size_t n = sample(value, count, room);

    return kth(room, n, n / 2);
}

/* Standard deviation around 0, by the median of the absolute values; by their mean square where
 * more than half of them are 0. */
static double deviation_of(const double *value, size_t count, double *room)
{
    size_t n = sample(value, count, room);
    double squares = 0, median;

    for (size_t i = 0; i < n; i++) {
        squares += room[i] * room[i];
        room[i] = fabs(room[i]);
    }
    median = kth(room, n, n / 2);
    return median > 0 ? MAD_SCALE * median : sqrt(squares / (double)n);
}

/* --- one signal ------------------------------------------------------------------------------- */

/* Room for the work on one signal, all of `count` places but `room`. */
struct column {
    size_t seen;   /* values that were seen */
    size_t *at;    /* their observations */
    double *value; /* they themselves */
    double *other; /* differences, residuals */
    double *room;  /* SCALE_VALUES */
};

static void column_free(struct column *column)
{
    free(column->at);
    free(column->value);
    free(column->other);
    free(column->room);
}

static int column_make(struct column *column, size_t count)
{
    *column = (struct column){.at = malloc(count * sizeof(*column->at)),
                              .value = malloc(count * sizeof(*column->value)),
                              .other = malloc(count * sizeof(*column->other)),
                              .room = malloc(SCALE_VALUES * sizeof(*column->room))};
    return column->at && column->value && column->other && column->room ? 0 : -1;
}

static int is_seen(const struct rps_signals *signals, size_t place)
{
    return isfinite(signals->value[place]) && (!signals->weight || signals->weight[place] > 0);
}

/* Fetch a signal's seen values, brought to at most 1: squares of large ones would be infinite. 0
 * when it does not vary. */
static int fetch(const struct rps_signals *signals, size_t signal, struct column *column)
{
    const double *value = signals->value + signal * signals->count;
    double low = INFINITY, high = -INFINITY, scale;

    column->seen = 0;
    for (size_t i = 0; i < signals->count; i++) {
        if (!is_seen(signals, signal * signals->count + i))
            continue;
        low = fmin(low, value[i]);
        high = fmax(high, value[i]);
        column->at[column->seen] = i;
        column->value[column->seen++] = value[i];
    }
    scale = fmax(fabs(low), fabs(high));
    if (column->seen < 2 || !(scale > 0) || high / scale - low / scale <= 1e-12)
        return 0;
    for (size_t i = 0; i < column->seen; i++)
        column->value[i] /= scale;
    return 1;
}

/* Running median of WINDOW values around i, fewer at the ends. */
static double running_median(const double *value, size_t count, size_t i)
{
    size_t from = i < WINDOW / 2 ? 0 : i - WINDOW / 2;
    size_t to = i + WINDOW / 2 + 1 > count ? count : i + WINDOW / 2 + 1, n = 0;
    double sorted[WINDOW];

    for (size_t k = from; k < to; k++) {
        size_t place = n++;

        for (; place > 0 && sorted[place - 1] > value[k]; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = value[k];
    }
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

/* Robust standard deviation of the distances from the running median, from a sample of them. */
static double residual_deviation(struct column *column)
{
    size_t count = column->seen < SCALE_VALUES ? column->seen : SCALE_VALUES;

    for (size_t k = 0; k < count; k++) {
        size_t i = (size_t)((double)k * (double)column->seen / (double)count);

        column->other[k] = column->value[i] - running_median(column->value, column->seen, i);
    }
    return deviation_of(column->other, count, column->room);
}

/* Do so many values around i lie so near to it that their median does as well? */
static int has_company(const double *value, size_t count, size_t i, double limit)
{
    double at = value[i];

    if (i < WINDOW / 2 || i + WINDOW / 2 >= count)
        return 0;
    return (fabs(value[i - 1] - at) <= limit) + (fabs(value[i + 1] - at) <= limit) +
               (fabs(value[i - 2] - at) <= limit) + (fabs(value[i + 2] - at) <= limit) +
               (fabs(value[i - 3] - at) <= limit) + (fabs(value[i + 3] - at) <= limit) >=
           WINDOW / 2;
}

/* Clip what is far from the running median; mark it in `wild` where it is so far that none of that
 * many normal values would be. */
static void clip(struct column *column, double wild_deviations, uint8_t *wild)
{
    double deviation = residual_deviation(column), limit = CLIP_DEVIATIONS * deviation;

    for (size_t i = 0; i < column->seen; i++) {
        double residual;

        column->other[i] = column->value[i];
        if (has_company(column->value, column->seen, i, limit))
            continue;
        residual = column->value[i] - running_median(column->value, column->seen, i);
        if (fabs(residual) <= limit)
            continue;
        if (fabs(residual) > wild_deviations * deviation)
            wild[column->at[i]] = 1;
        column->other[i] += (residual > 0 ? limit : -limit) - residual;
    }
    memcpy(column->value, column->other, column->seen * sizeof(*column->value));
}

static double lag_variance(struct column *column, size_t lag)
{
    size_t n = column->seen - lag;
    double deviation;

    for (size_t i = 0; i < n; i++)
        column->other[i] = column->value[i + lag] - column->value[i];
    deviation = deviation_of(column->other, n, column->room);
    return deviation * deviation;
}

/* Long-run standard deviation of the noise; *ret_phi its autocorrelation. */
static double noise_of(struct column *column, double *ret_phi)
{
    double one = lag_variance(column, 1), phi = 0, total;

    if (column->seen > 3 && one > 0) {
        phi = lag_variance(column, 2) / one - 1;
        phi -= 1 / sqrt((double)column->seen); /* an estimate from few values is not believed */
    }
    phi = phi < 0 ? 0 : phi > PHI_MAX ? PHI_MAX : phi;
    *ret_phi = phi;
    if (one > 0)
        return sqrt(one / 2 * (1 + phi)) / (1 - phi);
    /* nothing but steps outside the sample: the smallest noise that can still be divided by */
    total = deviation_of(column->value, column->seen, column->room);
    return fmax(1e-6, 1e-3 * total);
}

/* --- all signals --------------------------------------------------------------------------------
 */

/* Sign of signal `signal` in mix `mix`: a hash's bit (splitmix64), so the same everywhere. */
static double mix_sign(size_t signal, size_t mix)
{
    uint64_t z = (uint64_t)signal * UINT64_C(0x9e3779b97f4a7c15) +
                 ((uint64_t)mix + 1) * UINT64_C(0xbf58476d1ce4e5b9);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) & 1 ? 1 : -1;
}

/* Add a signal's values, in units of their noise: as signal `slot`, or to all mixes. */
static void put(struct rps_prepared *prepared, const struct rps_signals *signals, size_t signal,
                size_t slot, size_t used, const struct column *column, double deviation)
{
    double centre = median_of(column->value, column->seen, column->room);
    size_t d = prepared->signal_count;

    for (size_t k = 0; k < column->seen; k++) {
        double value = (column->value[k] - centre) / deviation, *row;
        size_t i = column->at[k], place = signal * signals->count + i;

        row = prepared->value + i * d;
        if (used <= d) {
            row[slot] = value;
            if (prepared->weight)
                prepared->weight[i * d + slot] =
                    signals->weight ? fmin(signals->weight[place], 1) : 1;
            continue;
        }
        for (size_t mix = 0; mix < d; mix++)
            row[mix] += mix_sign(signal, mix) * value / sqrt((double)used);
    }
}

/* Is every value of the signals that vary seen in full? */
static int is_complete(const struct rps_signals *signals, struct column *column, size_t *ret_used)
{
    int complete = 1;

    *ret_used = 0;
    for (size_t j = 0; j < signals->signal_count; j++) {
        if (!fetch(signals, j, column))
            continue;
        ++*ret_used;
        complete &= column->seen == signals->count;
        for (size_t i = 0; complete && signals->weight && i < signals->count; i++)
            complete = signals->weight[j * signals->count + i] >= 1;
    }
    return complete;
}

static int list_outliers(struct rps_prepared *prepared, const uint8_t *wild)
{
    size_t n = 0;

    for (size_t i = 0; i < prepared->count; i++)
        n += wild[i];
    prepared->outlier = malloc((n + 1) * sizeof(*prepared->outlier));
    if (!prepared->outlier)
        return -1;
    for (size_t i = 0; i < prepared->count; i++)
        if (wild[i])
            prepared->outlier[prepared->outlier_count++] = i;
    return 0;
}

/* Treat each signal by itself. Returns -1 without memory. */
static int put_all(struct rps_prepared *prepared, const struct rps_signals *signals,
                   struct column *column, size_t used)
{
    double values = (double)prepared->count * (double)(used > 0 ? used : 1);
    double wild_deviations = fmax(CLIP_DEVIATIONS, sqrt(2 * log(values)) + 0.5);
    uint8_t *wild = calloc(prepared->count, 1);
    double *phi = malloc((used + 1) * sizeof(*phi));
    size_t slot = 0;
    int rc = -1;

    if (!wild || !phi)
        goto out;
    for (size_t j = 0; j < signals->signal_count; j++) {
        double deviation;

        if (!fetch(signals, j, column))
            continue;
        clip(column, wild_deviations, wild);
        deviation = noise_of(column, &phi[slot]);
        put(prepared, signals, j, slot++, used, column, deviation);
    }
    if (slot > 0)
        prepared->autocorrelation = median_of(phi, slot, column->room);
    rc = list_outliers(prepared, wild);
out:
    free(phi);
    free(wild);
    return rc;
}

/* --- signals that depend on each other
 * ------------------------------------------------------------ */

/* Correlation of the steps of all signals into c (d x d), from at most SCALE_VALUES steps. */
static void correlate(const struct rps_prepared *prepared, double *c)
{
    size_t d = prepared->signal_count, steps = prepared->count - 1;
    size_t stride = steps / SCALE_VALUES + 1;
    double diagonal[RPS_PREPARED_SIGNALS_MAX];

    memset(c, 0, d * d * sizeof(*c));
    for (size_t i = 1; i < prepared->count; i += stride) {
        const double *now = prepared->value + i * d, *before = now - d;

        for (size_t j = 0; j < d; j++)
            for (size_t k = 0; k <= j; k++)
                c[j * d + k] += (now[j] - before[j]) * (now[k] - before[k]);
    }
    for (size_t j = 0; j < d; j++)
        diagonal[j] = c[j * d + j] > 0 ? sqrt(c[j * d + j]) : 1;
    for (size_t j = 0; j < d; j++)
        for (size_t k = 0; k <= j; k++)
            c[j * d + k] = c[k * d + j] = c[j * d + k] / (diagonal[j] * diagonal[k]);
}

/* Drop signals that are copies of earlier ones, and their rows and columns of c. */
static void drop_copies(struct rps_prepared *prepared, double *c)
{
    size_t d = prepared->signal_count, kept[RPS_PREPARED_SIGNALS_MAX], count = 0;

    for (size_t j = 0; j < d; j++) {
        int copy = 0;

        for (size_t k = 0; k < count; k++)
            copy |= fabs(c[j * d + kept[k]]) > COPY_CORRELATION;
        if (!copy)
            kept[count++] = j;
    }
    if (count == d)
        return;
    for (size_t j = 0; j < count; j++)
        for (size_t k = 0; k < count; k++)
            c[j * count + k] = c[kept[j] * d + kept[k]];
    for (size_t i = 0; i < prepared->count; i++)
        for (size_t k = 0; k < count; k++)
            prepared->value[i * count + k] = prepared->value[i * d + kept[k]];
    prepared->signal_count = count;
}

/* Lower triangle L with L L' = c in place (Cholesky); c has 1 + ridge on its diagonal. */
static void factor(double *c, size_t d)
{
    for (size_t j = 0; j < d; j++) {
        for (size_t k = 0; k <= j; k++) {
            double rest = c[j * d + k];

            for (size_t m = 0; m < k; m++)
                rest -= c[j * d + m] * c[k * d + m];
            c[j * d + k] = j == k ? sqrt(fmax(rest, WHITEN_RIDGE / 2)) : rest / c[k * d + k];
        }
    }
}

/* Make signals that rise and fall together independent: one change in all of them counts once. */
static int whiten(struct rps_prepared *prepared)
{
    size_t d = prepared->signal_count;
    double *c;

    if (d < 2 || prepared->weight || prepared->count < 10 * d)
        return 0;
    c = malloc(d * d * sizeof(*c));
    if (!c)
        return -1;
    correlate(prepared, c);
    drop_copies(prepared, c);
    d = prepared->signal_count;
    for (size_t j = 0; j < d; j++)
        for (size_t k = 0; k < d; k++)
            c[j * d + k] = (j == k ? 1 : 1 - WHITEN_RIDGE) * c[j * d + k];
    factor(c, d);
    for (size_t i = 0; i < prepared->count; i++) {
        double *row = prepared->value + i * d;

        for (size_t j = 0; j < d; j++) {
            for (size_t m = 0; m < j; m++)
                row[j] -= c[j * d + m] * row[m];
            row[j] /= c[j * d + j];
        }
    }
    free(c);
    return 0;
}

/* --- sums ----------------------------------------------------------------------------------------
 */

static double weight_at(const struct rps_prepared *prepared, size_t place)
{
    return prepared->weight ? prepared->weight[place] : 1;
}

static int add_sums(struct rps_prepared *p)
{
    size_t n = p->count, d = p->signal_count, places = (n + 1) * d;

    p->sum = calloc(places + 1, sizeof(*p->sum));
    p->lag_sum = calloc(places + 1, sizeof(*p->lag_sum));
    p->square = calloc(d + 1, sizeof(*p->square));
    if (p->weight)
        p->weight_sum = calloc(places + 1, sizeof(*p->weight_sum));
    if (!p->sum || !p->lag_sum || !p->square || (p->weight && !p->weight_sum))
        return -1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0, place = i * d; j < d; j++, place++) {
            double value = p->value[place], weighted = weight_at(p, place) * value;

            p->sum[place + d] = p->sum[place] + weighted;
            p->square[j] += weighted * value;
            p->lag_sum[place + d] =
                p->lag_sum[place] + (i > 0 ? weighted * p->value[place - d] : 0);
        }
    }
    for (size_t place = 0; p->weight && place < n * d; place++)
        p->weight_sum[place + d] = p->weight_sum[place] + p->weight[place];
    return 0;
}

int rps_prepared_add_times(struct rps_prepared *p, struct rps_error *err)
{
    size_t n = p->count, d = p->signal_count, places = (n + 1) * d + 1;

    p->time_sum = calloc(places, sizeof(*p->time_sum));
    if (p->weight) {
        p->weight_time = calloc(places, sizeof(*p->weight_time));
        p->weight_square = calloc(places, sizeof(*p->weight_square));
    }
    if (!p->time_sum || (p->weight && (!p->weight_time || !p->weight_square)))
        return rps_error_memory(err);
    for (size_t i = 0; i < n; i++) {
        double time = (double)i - 0.5 * (double)n;

        for (size_t place = i * d; place < (i + 1) * d; place++) {
            p->time_sum[place + d] =
                p->time_sum[place] + time * weight_at(p, place) * p->value[place];
            if (!p->weight)
                continue;
            p->weight_time[place + d] = p->weight_time[place] + time * p->weight[place];
            p->weight_square[place + d] = p->weight_square[place] + time * time * p->weight[place];
        }
    }
    return 0;
}

int rps_prepared_make(const struct rps_signals *signals, struct rps_prepared *ret,
                      struct rps_error *err)
{
    struct rps_prepared p = {.count = signals->count, .broken = signals->broken};
    struct column column;
    size_t used = 0, places;
    int complete;

    if (column_make(&column, signals->count) < 0)
        goto fail;
    complete = is_complete(signals, &column, &used);
    p.signal_count = used < RPS_PREPARED_SIGNALS_MAX ? used : RPS_PREPARED_SIGNALS_MAX;
    places = p.count * p.signal_count;
    p.value = calloc(places + 1, sizeof(*p.value));
    if (!complete && used <= RPS_PREPARED_SIGNALS_MAX)
        p.weight = calloc(places + 1, sizeof(*p.weight));
    if (!p.value || (!complete && used <= RPS_PREPARED_SIGNALS_MAX && !p.weight) ||
        put_all(&p, signals, &column, used) < 0 || whiten(&p) < 0 || add_sums(&p) < 0)
        goto fail;
    column_free(&column);
    *ret = p;
    return 0;
fail:
    column_free(&column);
    rps_prepared_free(&p);
    return rps_error_memory(err);
}

void rps_prepared_free(struct rps_prepared *prepared)
{
    double *const owned[] = {prepared->value,       prepared->weight,        prepared->sum,
                             prepared->weight_sum,  prepared->lag_sum,       prepared->time_sum,
                             prepared->weight_time, prepared->weight_square, prepared->square};

    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        free(owned[i]);
    free(prepared->outlier);
    *prepared = (struct rps_prepared){0};
}

/* --- costs ---------------------------------------------------------------------------------------
 */

double rps_prepared_cost(const struct rps_prepared *p, size_t from, size_t to)
{
    size_t d = p->signal_count;
    const double *first = p->sum + from * d, *last = p->sum + to * d;
    double explained = 0;

    if (!p->weight) {
        for (size_t j = 0; j < d; j++)
            explained += (last[j] - first[j]) * (last[j] - first[j]);
        return -explained / (double)(to - from);
    }
    for (size_t j = 0; j < d; j++) {
        double weight = p->weight_sum[to * d + j] - p->weight_sum[from * d + j];

        if (weight > 1e-9)
            explained += (last[j] - first[j]) * (last[j] - first[j]) / weight;
    }
    return -explained;
}

double rps_prepared_cost_linear(const struct rps_prepared *p, size_t from, size_t to)
{
    size_t d = p->signal_count;
    double length = (double)(to - from), explained = 0;
    double middle_time = 0.5 * (double)(from + to - 1) - 0.5 * (double)p->count;

    for (size_t j = 0; j < d; j++) {
        size_t a = from * d + j, b = to * d + j;
        double weight = length, time = middle_time * length, sum = p->sum[b] - p->sum[a];
        double spread = length * (length * length - 1) / 12, slope;

        if (p->weight) {
            weight = p->weight_sum[b] - p->weight_sum[a];
            if (weight <= 1e-9)
                continue;
            time = p->weight_time[b] - p->weight_time[a];
            spread = p->weight_square[b] - p->weight_square[a] - time * time / weight;
        }
        explained += sum * sum / weight;
        slope = p->time_sum[b] - p->time_sum[a] - time * sum / weight;
        if (spread > 0.5)
            explained += slope * slope / spread;
    }
    return -explained;
}
