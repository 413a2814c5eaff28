/* Binning: the periods of a run are streamed into at most `bin_count` bins.
 *
 * The list of bins has two forms. At first there is one bin per rotation, so that the plot of a
 * short run shows every rotation. As soon as there are more rotations than bins, the list becomes a
 * grid. Each bin moves to the grid cell that contains its middle, and neighbours in one cell are
 * merged in place. Each later rotation is added to the last cell or to a new cell. So the number of
 * rotations need not be known beforehand, and memory use depends only on the number of bins.
 *
 * The smallest range with a value for every metric is a rotation, not a period, because a formula
 * can combine events of several sets.
 *
 * Such combinations are unreliable if the workload falls asleep or wakes up, or if a virtual
 * machine loses its processor. One set may then count a thousandth of the cycles that another set
 * counts. A ratio of both estimates then has no meaning. (A CPI of 5,000 was seen, and the rest of
 * the picture was a flat line.) So a metric has a value only in ranges with enough data for the
 * metric (rps_tally_carries). But the sums include all ranges. */
#include "rpistat/bins.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"
#include "rpistat/rotation.h"

#include <math.h>

/* If the last rotation is shorter than this share of the previous rotation, both rotations share a
 * bin. When the workload exits, the last rotation may be very short. The rates of a very short
 * rotation are noise. This noise would determine the scale of the picture. */
#define BINS_SLIVER 0.5

struct bin {
    struct rps_tally tally;
    double from, to;    /* range of the bin on the axis */
    size_t cell;        /* number of the bin's grid cell; not used before the grid exists */
    int after_gap;      /* 1 if there is a recording gap between the previous bin and this bin */
    double *min, *max;  /* smallest and largest value per metric; NaN: none */
    double *low, *high; /* interval of each metric, set at the end; NaN: none */
};

struct rps_bins {
    struct rps_arena *arena; /* arena of all other data of the bins (owned) */
    const struct rps_plan *plan;
    enum rps_axis axis;
    double from, to;
    size_t room, count;
    int gridded, ended;
    struct bin *bin;             /* array of `room` bins, of which `count` are in use */
    double *operand;             /* scratch for the operands of a formula */
    struct rps_rotation current; /* the rotation to which the next periods are added */
    int current_after_gap;
    int64_t last_end_ns;    /* end of the most recently added period */
    int64_t last_length_ns; /* length of the previous period, or of one in the previous block */
    double whole_ns;        /* length of the previous rotation, or of one in the previous block */
};

struct rps_bins *rps_bins_new(const struct rps_plan *plan, enum rps_axis axis, double from,
                              double to, size_t bin_count, int64_t least_ns)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_bins *bins = rps_arena_get(arena, 1, sizeof(*bins));
    size_t metrics = (size_t)plan->metric_count;

    *bins = (struct rps_bins){.arena = arena,
                              .plan = plan,
                              .axis = axis,
                              .from = from,
                              .to = to,
                              .room = bin_count > 0 ? bin_count : 1,
                              .current = rps_rotation_new(arena, plan)};
    bins->current.least_ns = least_ns;
    bins->operand =
        rps_arena_get(arena, (size_t)rps_plan_operand_count(plan), sizeof(*bins->operand));
    bins->bin = rps_arena_get(arena, bins->room, sizeof(*bins->bin));
    for (size_t i = 0; i < bins->room; i++) {
        struct bin *bin = &bins->bin[i];

        bin->min = rps_arena_get(arena, 4 * metrics, sizeof(*bin->min));
        bin->max = bin->min + metrics;
        bin->low = bin->max + metrics;
        bin->high = bin->low + metrics;
        bin->tally = rps_tally_new(arena, plan);
    }
    return bins;
}

void rps_bins_free(struct rps_bins *bins)
{
    if (bins)
        rps_arena_free(bins->arena);
}

static size_t cell_of(const struct rps_bins *bins, double from, double to)
{
    double share = ((from + to) / 2 - bins->from) / (bins->to - bins->from);
    double cell = floor(share * (double)bins->room);

    if (!(cell > 0))
        return 0;
    return cell < (double)bins->room ? (size_t)cell : bins->room - 1;
}

/* Merge bin `from` into the earlier bin `into`. */
static void bin_merge(const struct rps_bins *bins, struct bin *into, const struct bin *from)
{
    rps_tally_merge(&into->tally, &from->tally);
    into->to = fmax(into->to, from->to);
    for (int m = 0; m < bins->plan->metric_count; m++) {
        into->min[m] = fmin(into->min[m], from->min[m]); /* fmin and fmax ignore NaN. */
        into->max[m] = fmax(into->max[m], from->max[m]);
    }
}

static void bin_swap(struct bin *a, struct bin *b)
{
    struct bin third = *a;

    *a = *b;
    *b = third;
}

static void make_grid(struct rps_bins *bins)
{
    size_t kept = 0;

    for (size_t i = 0; i < bins->count; i++) {
        struct bin *bin = &bins->bin[i];

        bin->cell = cell_of(bins, bin->from, bin->to);
        if (kept > 0 && bin->cell <= bins->bin[kept - 1].cell) {
            bin_merge(bins, &bins->bin[kept - 1], bin);
        } else {
            if (kept != i)
                bin_swap(&bins->bin[kept], bin);
            kept++;
        }
    }
    bins->count = kept;
    bins->gridded = 1;
}

/* Return the start of the current rotation on the axis. */
static double current_from(const struct rps_bins *bins)
{
    return bins->axis == RPS_AXIS_CYCLE ? (double)bins->current.from_cycle
                                        : (double)bins->current.tally.start_ns / 1e9;
}

static double current_to(const struct rps_bins *bins)
{
    return bins->axis == RPS_AXIS_CYCLE ? (double)bins->current.to_cycle
                                        : (double)bins->current.tally.end_ns / 1e9;
}

/* Return the bin of the current rotation. If there is no bin yet, add an empty bin. */
static struct bin *bin_for_current(struct rps_bins *bins)
{
    double from = current_from(bins), to = current_to(bins);
    struct bin *bin;
    size_t cell;

    /* A sleeping workload has no cycles, so its position on the cycle axis does not change. */
    if (bins->count > 0 && bins->axis == RPS_AXIS_CYCLE && to <= bins->bin[bins->count - 1].to)
        return &bins->bin[bins->count - 1];
    if (!bins->gridded && bins->count == bins->room)
        make_grid(bins);
    cell = bins->gridded ? cell_of(bins, from, to) : 0;
    if (bins->gridded && bins->count > 0 &&
        (cell <= bins->bin[bins->count - 1].cell || bins->count == bins->room))
        return &bins->bin[bins->count - 1];
    bin = &bins->bin[bins->count++];
    rps_tally_reset(&bin->tally);
    bin->cell = cell;
    bin->from = from;
    bin->to = to;
    bin->after_gap = bins->current_after_gap;
    for (int m = 0; m < bins->plan->metric_count; m++)
        bin->min[m] = bin->max[m] = NAN;
    return bin;
}

/* Return a metric's value, or NaN if there is none. bins->operand must come from this tally. */
static double metric_value(const struct rps_bins *bins, int metric, const struct rps_tally *tally)
{
    const struct rps_formula *formula = &bins->plan->metric[metric].formula;

    return rps_tally_carries(tally, formula) ? rps_formula_value(formula, bins->operand) : NAN;
}

/* Return the length of one rotation of the current block. */
static double whole_ns(const struct rps_bins *bins)
{
    return (double)bins->current.tally.length_ns / (double)bins->current.merged;
}

static void end_rotation(struct rps_bins *bins)
{
    const struct rps_tally *tally = &bins->current.tally;
    struct bin *bin;

    if (tally->periods == 0)
        return;
    bin = bin_for_current(bins);
    rps_tally_merge(&bin->tally, tally);
    bin->to = fmax(bin->to, current_to(bins));
    rps_tally_operands(tally, bins->plan, bins->operand);
    for (int m = 0; m < bins->plan->metric_count; m++) {
        struct rps_range range;

        if (!rps_rotation_range(&bins->current, &bins->plan->metric[m].formula, bins->operand,
                                &range))
            range.least = range.most = metric_value(bins, m, tally);
        bin->min[m] = fmin(bin->min[m], range.least);
        bin->max[m] = fmax(bin->max[m], range.most);
    }
    bins->whole_ns = whole_ns(bins);
    rps_rotation_reset(&bins->current);
}

void rps_bins_add(struct rps_bins *bins, const struct rps_period *period)
{
    int64_t end_ns = rps_period_end_ns(period);
    int64_t length_ns = period->length_ns / (int64_t)rps_period_weight(period);
    int64_t longer_ns = length_ns > bins->last_length_ns ? length_ns : bins->last_length_ns;
    int first = bins->count == 0 && bins->current.tally.periods == 0;
    int gap = !first && period->start_ns - bins->last_end_ns > longer_ns;

    if (gap || rps_rotation_ends(&bins->current, period))
        end_rotation(bins);
    if (bins->current.tally.periods == 0)
        bins->current_after_gap = gap;
    rps_rotation_add(&bins->current, period);
    if (first || end_ns > bins->last_end_ns) /* rows of a block may overlap */
        bins->last_end_ns = end_ns;
    bins->last_length_ns = length_ns;
}

/* Find the intervals of one metric. The interval in a bin is computed from this bin and the
 * neighbouring bins. */
static void find_intervals(struct rps_bins *bins, int m, double *value)
{
    const size_t before = RPS_TALLY_NEIGHBOURS / 2;

    for (size_t i = 0; i < bins->count; i++) {
        rps_tally_operands(&bins->bin[i].tally, bins->plan, bins->operand);
        value[i] = metric_value(bins, m, &bins->bin[i].tally);
    }
    for (size_t i = 0; i < bins->count; i++) {
        struct bin *bin = &bins->bin[i];
        size_t from = i > before ? i - before : 0;
        size_t to = i + before < bins->count ? i + before + 1 : bins->count;
        struct rps_interval interval;

        rps_tally_operands(&bin->tally, bins->plan, bins->operand);
        interval =
            rps_tally_short_interval(&bin->tally, &bins->plan->metric[m].formula, bins->operand,
                                     rps_tally_usual_step(value + from, to - from));
        bin->low[m] = interval.low;
        bin->high[m] = interval.high;
    }
}

static void end_adding(struct rps_bins *bins)
{
    double *value;

    if (bins->ended)
        return;
    bins->ended = 1;
    if (bins->count > 0 && bins->current.tally.periods > 0 && !bins->current_after_gap &&
        whole_ns(bins) < BINS_SLIVER * bins->whole_ns) {
        struct bin *last = &bins->bin[bins->count - 1];

        rps_tally_merge(&last->tally, &bins->current.tally);
        last->to = fmax(last->to, current_to(bins));
        rps_rotation_reset(&bins->current);
    }
    end_rotation(bins);
    value = rps_arena_get(bins->arena, bins->count, sizeof(*value));
    for (int m = 0; m < bins->plan->metric_count; m++)
        find_intervals(bins, m, value);
}

/* Return a series with room for one point per bin and per gap. */
static struct rps_series begin_series(struct rps_bins *bins, struct rps_arena *arena)
{
    end_adding(bins);
    return rps_series_new(arena, 2 * bins->count);
}

struct rps_series rps_bins_series(struct rps_bins *bins, int metric, struct rps_arena *arena)
{
    struct rps_series series = begin_series(bins, arena);

    for (size_t i = 0; i < bins->count; i++) {
        const struct bin *bin = &bins->bin[i];

        if (i > 0 && bin->after_gap)
            rps_series_add(&series, (bins->bin[i - 1].to + bin->from) / 2, NAN, NAN, NAN);
        rps_tally_operands(&bin->tally, bins->plan, bins->operand);
        rps_series_add(&series, (bin->from + bin->to) / 2, metric_value(bins, metric, &bin->tally),
                       bin->min[metric], bin->max[metric]);
        if (!isnan(series.value[series.count - 1])) {
            series.low[series.count - 1] = bin->low[metric];
            series.high[series.count - 1] = bin->high[metric];
        }
    }
    return series;
}

struct rps_series rps_bins_counted(struct rps_bins *bins, struct rps_arena *arena)
{
    struct rps_series series = begin_series(bins, arena);
    int sets = bins->plan->set_count;

    for (size_t i = 0; i < bins->count; i++) {
        const struct bin *bin = &bins->bin[i];
        double sum = 0, least = NAN, most = NAN;

        for (int set = 0; set < sets; set++) {
            double counted = rps_tally_counted(&bin->tally, set);

            sum += counted;
            least = fmin(least, counted);
            most = fmax(most, counted);
        }
        if (i > 0 && bin->after_gap)
            rps_series_add(&series, (bins->bin[i - 1].to + bin->from) / 2, NAN, NAN, NAN);
        rps_series_add(&series, (bin->from + bin->to) / 2, sum / sets, least, most);
    }
    return series;
}
