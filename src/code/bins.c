/* Samples over time. The store counts samples by period number. The bins get their times from the
 * picture's periods, so the times have the picture's resolution. */
#include "bins.h"
#include "rpistat/arena.h"
#include "rpistat/code_store.h"

#include <stdlib.h>

#include "rpistat/clock.h"

#define BINS_PHASES 2000 /* Up to this number of phases, phase boundaries are edges of bins. */
#define BINS_GAP    100  /* The edges of a gap of 1 / BINS_GAP of the time are edges of bins. */
#define CELLS_ROOM  (1 << 16) /* Initial number of cells. */

/* The start time of a period. Knots are in order of period; the last knot ends the last period. */
struct knot {
    uint64_t period;
    int64_t time_ns;
};

struct filling {
    struct rps_arena *arena; /* Arena of the bins. */
    const struct rps_picture *picture;
    struct rps_code_bins *bins;
    size_t ids, room;
    struct knot *knot;
    size_t knot_count;
};

/* --- when a period was ------------------------------------------------------------------------ */

static void add_knot(struct filling *filling, uint64_t period, int64_t time_ns)
{
    const struct knot *last = filling->knot ? &filling->knot[filling->knot_count - 1] : NULL;

    if (last && (period <= last->period || time_ns < last->time_ns))
        return;
    filling->knot =
        rps_arena_grow(filling->arena, filling->knot, filling->knot_count, sizeof(*filling->knot));
    filling->knot[filling->knot_count++] = (struct knot){period, time_ns};
}

static int read_knots(struct filling *filling, struct rps_error *err)
{
    struct rps_walk walk = rps_picture_walk(filling->picture);
    uint64_t last = 0; /* Number of the period that ends at end_ns, the latest end so far. */
    int64_t end_ns = 0;
    int result = 0;

    while (rps_walk_next(&walk, &result, err)) {
        if (rps_period_end_ns(walk.period) > end_ns) {
            end_ns = rps_period_end_ns(walk.period);
            last = rps_period_last(walk.period);
        }
        add_knot(filling, walk.period->period, walk.period->start_ns);
    }
    if (result == 0)
        add_knot(filling, last + 1, end_ns);
    return result;
}

RPS_ARRAY_BEFORE(is_knot_by, struct knot, .period, <=, uint64_t)

/* Find the middle of a period; return 0 if the period is not in the picture. */
static int find_time(const struct filling *filling, uint64_t period, int64_t *ret_ns)
{
    size_t at = rps_array_find(filling->knot, filling->knot_count, sizeof(*filling->knot),
                               is_knot_by, &period);
    const struct knot *a = filling->knot + at - 1, *b = filling->knot + at;

    if (at == 0 || at == filling->knot_count)
        return 0;
    *ret_ns =
        a->time_ns + (int64_t)(((double)(period - a->period) + 0.5) /
                               (double)(b->period - a->period) * (double)(b->time_ns - a->time_ns));
    return 1;
}

/* --- edges ------------------------------------------------------------------------------------ */

RPS_ARRAY_ORDER(compare_times, int64_t, )

/* Choose a grid of equally wide bins. An edge inside a period is moved to the period's start. */
static void choose_grid(const struct filling *filling, size_t bin_count)
{
    const struct knot *knot = filling->knot;
    size_t last = filling->knot_count - 1, at = 0;

    for (size_t i = 0; i <= bin_count; i++) {
        int64_t time_ns =
            knot[0].time_ns + (int64_t)((double)(knot[last].time_ns - knot[0].time_ns) * (double)i /
                                        (double)bin_count);

        while (at < last && knot[at + 1].time_ns <= time_ns)
            at++;
        filling->bins->edge_ns[i] = i < bin_count ? knot[at].time_ns : knot[last].time_ns;
    }
}

static void choose_edges(const struct filling *filling, size_t bin_count)
{
    const struct rps_picture *picture = filling->picture;
    const struct rps_cpu_series *series = &picture->cpu_series;
    struct rps_code_bins *bins = filling->bins;
    size_t phases =
        picture->has_phases && picture->phases.count <= BINS_PHASES ? picture->phases.count : 0;
    int64_t from = filling->knot[0].time_ns;
    int64_t to = filling->knot[filling->knot_count - 1].time_ns;
    size_t count = bin_count + 1, kept = 0, own = 0;
    size_t room = 2 * (phases + picture->gaps.count);
    int64_t *own_ns = rps_arena_get(filling->arena, room, sizeof(*own_ns));

    bins->edge_ns = rps_arena_get(filling->arena, bin_count + room + 1, sizeof(*bins->edge_ns));
    bins->is_phase = rps_arena_get(filling->arena, bin_count + room + 1, sizeof(*bins->is_phase));
    choose_grid(filling, bin_count);
    for (size_t i = 0; i < phases; i++) {
        own_ns[own++] = picture->phases.phase[i].start_ns;
        own_ns[own++] = picture->phases.phase[i].end_ns;
    }
    for (const struct rps_note *gap = picture->gaps.note;
         gap < picture->gaps.note + picture->gaps.count; gap++) {
        if (gap->length_ns < (to - from) / BINS_GAP ||
            (gap->cpu != RPS_CPU_ALL && (series->count > 1 || gap->cpu != series->cpu[0])))
            continue;
        own_ns[own++] = gap->start_ns;
        own_ns[own++] = gap->start_ns + gap->length_ns;
    }
    for (size_t i = 0; i < own; i++) {
        if (own_ns[i] > from && own_ns[i] < to)
            bins->edge_ns[count++] = own_ns[i];
    }
    qsort(bins->edge_ns, count, sizeof(*bins->edge_ns), compare_times);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || bins->edge_ns[i] > bins->edge_ns[kept - 1])
            bins->edge_ns[kept++] = bins->edge_ns[i];
    }
    qsort(own_ns, own, sizeof(*own_ns), compare_times);
    for (size_t i = 0; i < kept; i++)
        bins->is_phase[i] =
            bsearch(&bins->edge_ns[i], own_ns, own, sizeof(*own_ns), compare_times) != NULL;
    bins->bin_count = kept - 1;
}

RPS_ARRAY_BEFORE(is_edge_by, int64_t, , <=, int64_t)

/* --- counts ----------------------------------------------------------------------------------- */

static int compare_cells(const void *a, const void *b)
{
    const struct rps_code_cell *x = a, *y = b;

    return x->bin != y->bin ? (x->bin > y->bin) - (x->bin < y->bin)
                            : (x->id > y->id) - (x->id < y->id);
}

static void merge_cells(struct rps_code_bins *bins)
{
    size_t kept = 0;

    if (bins->cell_count == 0)
        return;
    qsort(bins->cell, bins->cell_count, sizeof(*bins->cell), compare_cells);
    for (size_t i = 0; i < bins->cell_count; i++) {
        if (kept > 0 && compare_cells(&bins->cell[i], &bins->cell[kept - 1]) == 0)
            bins->cell[kept - 1].samples += bins->cell[i].samples;
        else
            bins->cell[kept++] = bins->cell[i];
    }
    bins->cell_count = kept;
}

/* Make space for one more cell: merge equal cells. If at least half of the space is still in use
 * after merging, allocate more memory. */
static void make_room(struct filling *filling)
{
    struct rps_code_bins *bins = filling->bins;
    size_t size = sizeof(*bins->cell);

    if (bins->cell_count < filling->room)
        return;
    merge_cells(bins);
    if (bins->cell_count < filling->room / 2)
        return;
    bins->cell = filling->room ? rps_arena_grow(filling->arena, bins->cell, filling->room, size)
                               : rps_arena_get(filling->arena, CELLS_ROOM, size);
    filling->room = filling->room ? 2 * filling->room : CELLS_ROOM;
}

static int add_count(void *context, const struct rps_code_count *count, struct rps_error *err)
{
    struct filling *filling = context;
    struct rps_code_bins *bins = filling->bins;
    int64_t time_ns;
    size_t at;

    (void)err;
    if (count->id < 0 || (uint64_t)count->id >= filling->ids ||
        !find_time(filling, count->period, &time_ns))
        return 0;
    make_room(filling);
    at = rps_array_find(bins->edge_ns, bins->bin_count, sizeof(*bins->edge_ns), is_edge_by,
                        &time_ns);
    bins->cell[bins->cell_count++] = (struct rps_code_cell){(uint32_t)(at > 0 ? at - 1 : 0),
                                                            (uint32_t)count->id, count->samples};
    return 0;
}

static int read_counts(struct filling *filling, enum rps_code_counted what, struct rps_error *err)
{
    const struct rps_cpu_series *series = &filling->picture->cpu_series;
    struct rps_code_count_query query = {.what = what,
                                         .first = filling->knot[0].period,
                                         .last = filling->knot[filling->knot_count - 1].period - 1,
                                         .count = add_count,
                                         .context = filling};
    int result = 0;

    for (int i = 0; i < series->count && result == 0; i++) {
        query.cpu = series->cpu[i];
        result = rps_reader_code_counts(series->reader, series->run_id, &query, err);
    }
    merge_cells(filling->bins);
    return result;
}

int rps_code_bins_read(struct rps_arena *arena, const struct rps_picture *picture, size_t bin_count,
                       enum rps_code_counted what, size_t ids, struct rps_code_bins *ret,
                       struct rps_error *err)
{
    struct filling filling = {.arena = arena, .picture = picture, .bins = ret, .ids = ids};
    int result;

    *ret = (struct rps_code_bins){0};
    result = read_knots(&filling, err);
    if (result == 0 && filling.knot_count > 1)
        choose_edges(&filling, bin_count);
    if (ret->bin_count > 0)
        result = read_counts(&filling, what, err);
    return result;
}

void rps_code_bins_rename(struct rps_code_bins *bins, const size_t *id)
{
    size_t kept = 0;

    for (size_t i = 0; i < bins->cell_count; i++) {
        const struct rps_code_cell *cell = &bins->cell[i];

        if (id[cell->id] != SIZE_MAX)
            bins->cell[kept++] =
                (struct rps_code_cell){cell->bin, (uint32_t)id[cell->id], cell->samples};
    }
    bins->cell_count = kept;
    merge_cells(bins);
}

int rps_code_bins_widen(struct rps_code_bins *bins)
{
    size_t kept = 0, before = bins->bin_count, cell = 0;
    int is_first = 0; /* 1 if the bin is the first bin of a pair. */

    for (size_t i = 0; i < before; i++) {
        is_first = i == 0 || bins->is_phase[i] || !is_first;
        if (is_first) {
            bins->edge_ns[kept] = bins->edge_ns[i];
            bins->is_phase[kept++] = bins->is_phase[i];
        }
        for (; cell < bins->cell_count && bins->cell[cell].bin == i; cell++)
            bins->cell[cell].bin = (uint32_t)(kept - 1);
    }
    bins->edge_ns[kept] = bins->edge_ns[before];
    bins->is_phase[kept] = bins->is_phase[before];
    bins->bin_count = kept;
    merge_cells(bins);
    return kept < before;
}

uint64_t rps_code_bins_samples(const struct rps_code_bins *bins)
{
    uint64_t samples = 0;

    for (size_t i = 0; i < bins->cell_count; i++)
        samples += bins->cell[i].samples;
    return samples;
}

double rps_code_bins_expected(const struct rps_picture *picture, const struct rps_code_bins *bins,
                              const struct rps_sampling *sampling, size_t bin)
{
    double seconds = (double)(bins->edge_ns[bin + 1] - bins->edge_ns[bin]) / RPS_NS_PER_S;

    return seconds * (double)sampling->frequency *
           (picture->cpu_series.by_cpu ? picture->cpu_series.count : 1);
}
