/* Walks through the periods of a CPU series.
 *
 * The store returns rows CPU by CPU, since that is the order of its keys. The sum over CPUs needs
 * rows in the order of period numbers, so each CPU is read with its own cursor. All CPUs of a
 * recording switch event sets together. So periods with equal numbers have equal event sets and
 * times. A CPU that went offline is missing from later sums.
 *
 * At a coarser resolution, CPUs may have different blocks, since the blocks of an offline CPU are
 * cut. The rows that are added up then lie in one cell of the level's grid, between two gaps of the
 * whole run. */
#include "rpistat/walk.h"

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/moments.h"
#include "rpistat/run.h"
#include "rpistat/store.h"

/* The rows of one CPU, or of all CPUs that are walked one by one. */
struct source {
    struct rps_cursor *cursor; /* NULL if no rows are left. */
    struct rps_period next;
    size_t gap;   /* First gap of the run that is not before the row. */
    uint64_t key; /* Rows with equal keys are added up, by event set. */
};

struct rps_walk_state {
    struct rps_arena *arena; /* owned; holds the memory of all pointers */
    const struct rps_cpu_series *series;
    struct source *source; /* One source, or if CPUs are added up, one per CPU. */
    int source_count;

    /* The members below are used if CPUs are added up. */
    struct rps_notes gaps;
    struct rps_period *whole;    /* Sums by event set; `cpu` is RPS_CPU_ALL if there is a sum. */
    struct rps_period *of_cpu;   /* Sums by event set for the CPU that is being added. */
    struct rps_scatter *scatter; /* Scatter of the rows of `whole`, then of `of_cpu`. */
    size_t sets;
    int is_import;  /* 1: a slot has a sum only if all CPUs have it, because CPUs may differ */
    size_t handed;  /* Number of rows of `whole` that were returned. */
    uint64_t cycle; /* Last cycle timestamp that was returned. */
};

RPS_ARRAY_BEFORE(is_cpu_below, int32_t, , <, int32_t)

/* Return the index of the CPU in the series; -1: not in the series. */
static int find_track(const struct rps_cpu_series *series, int32_t cpu)
{
    int at = (int)rps_array_find(series->cpu, (size_t)series->count, sizeof(*series->cpu),
                                 is_cpu_below, &cpu);

    return at < series->count && series->cpu[at] == cpu ? at : -1;
}

static int is_within(const struct rps_cpu_series *series, const struct rps_period *row)
{
    return !series->within || rps_spans_hold(series->within, row->start_ns, rps_period_end_ns(row));
}

/* --- CPU by CPU ------------------------------------------------------------------------------- */

static int next_of_each(struct rps_walk *walk, struct rps_error *err)
{
    struct source *source = &walk->state->source[0];
    int got;

    while ((got = rps_cursor_next(source->cursor, &source->next, err)) > 0) {
        walk->track = find_track(walk->series, source->next.cpu);
        if (walk->track < 0 || !is_within(walk->series, &source->next))
            continue;
        walk->period = &source->next;
        return 1;
    }
    return got;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Return the row's period number at resolution 0, and otherwise the number of the row's cell in the
 * grid. Cells on the two sides of a gap have different numbers. */
static uint64_t key_of(struct rps_walk_state *state, struct source *source)
{
    const struct rps_period *row = &source->next;

    if (state->series->resolution == 0)
        return row->period;
    while (source->gap < state->gaps.count &&
           state->gaps.note[source->gap].start_ns < row->start_ns)
        source->gap++;
    return (row->rotation >> (RPS_LEVEL_BITS * state->series->resolution)) + source->gap;
}

static int advance(struct rps_walk_state *state, struct source *source, struct rps_error *err)
{
    int got = rps_cursor_next(source->cursor, &source->next, err);

    if (got > 0) {
        source->key = key_of(state, source);
        return 0;
    }
    rps_cursor_close(source->cursor);
    source->cursor = NULL;
    return got;
}

/* Add the counts and the time of counting, without time in which a slot could not be read. of_both:
 * keep only the slots of both rows. */
static void add_counts(struct rps_period *to, const struct rps_period *row, int of_both)
{
    uint32_t counted = of_both ? to->counted & row->counted : to->counted | row->counted;

    for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
        if (counted & (UINT32_C(1) << slot))
            to->missing_ns[slot] = to->running_ns - rps_period_counted_ns(to, slot) +
                                   row->running_ns - rps_period_counted_ns(row, slot);
        to->count[slot] += row->count[slot];
    }
    to->counted = counted;
    to->running_ns = of_both && !counted ? 0 : to->running_ns + row->running_ns;
}

/* Return the scatter of a row as if the row were in a block. *place has space for the result. NULL:
 * unknown. */
static struct rps_scatter *scatter_of(const struct rps_period *row, struct rps_scatter *place)
{
    struct rps_moments moments = {.slots = 0};

    if (row->level > 0 && !row->scatter)
        return NULL;
    *place = row->level > 0 ? *row->scatter : rps_scatter_none();
    if (row->level == 0) {
        rps_moments_add(&moments, row, 0, 0);
        rps_scatter_of(&moments, row, place);
    }
    return place;
}

/* Add the scatter of a row to the scatter of an earlier row, or of another CPU, in *place. */
static void add_scatter(struct rps_period *to, const struct rps_period *row,
                        struct rps_scatter *place,
                        void (*add)(struct rps_scatter *, const struct rps_scatter *))
{
    struct rps_scatter of_row, *scatter = to->scatter ? scatter_of(row, &of_row) : NULL;

    to->scatter = scatter ? place : NULL;
    if (scatter)
        add(place, scatter);
}

/* Append a row to the earlier rows that its CPU has in the same cell. A row is coarser than
 * requested if downsampling removed the finer rows. */
static void append(struct rps_period *to, const struct rps_period *row, int resolution,
                   struct rps_scatter *scatter)
{
    if (to->cpu != RPS_CPU_ALL) {
        *to = *row;
        to->cpu = RPS_CPU_ALL;
        to->merged = rps_period_weight(row);
        to->last_period = rps_period_last(row);
        to->end_ns = rps_period_end_ns(row);
        to->level = row->level > resolution ? row->level : resolution;
        to->scatter = to->level > 0 ? scatter_of(row, scatter) : NULL;
        return;
    }
    add_scatter(to, row, scatter, rps_scatter_add);
    to->level = row->level > to->level ? row->level : to->level;
    to->merged += rps_period_weight(row);
    to->last_period = rps_period_last(row);
    to->end_ns = rps_period_end_ns(row);
    to->cycle = row->cycle;
    to->cycles += row->cycles;
    to->length_ns += row->length_ns;
    to->enabled_ns += row->enabled_ns;
    to->clock_running_ns += row->clock_running_ns;
    to->idle_ns = rps_period_add_known(to->idle_ns, row->idle_ns);
    to->switch_ns += row->switch_ns;
    to->missed += row->missed;
    add_counts(to, row, 0);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Add the rows of one CPU in the cell to the sum over all CPUs. */
static void add(struct rps_period *sum, const struct rps_period *row, int is_import,
                struct rps_scatter *scatter)
{
    int64_t end_ns = larger(rps_period_end_ns(sum), rps_period_end_ns(row));

    if (sum->cpu != RPS_CPU_ALL) {
        *sum = *row;
        sum->cpus_length_ns = row->length_ns;
        sum->scatter = row->scatter ? scatter_of(row, scatter) : NULL;
        return;
    }
    if (row->set_no != sum->set_no)
        return; /* No recorder writes such rows, and their counts would belong to another set. */
    add_scatter(sum, row, scatter, rps_scatter_add_beside);
    if (row->start_ns < sum->start_ns)
        sum->start_ns = row->start_ns;
    sum->level = row->level > sum->level ? row->level : sum->level;
    sum->length_ns =
        sum->level > 0 ? larger(sum->length_ns, row->length_ns) : end_ns - sum->start_ns;
    sum->end_ns = end_ns;
    sum->cpus_length_ns += row->length_ns;
    sum->last_period = row->last_period > sum->last_period ? row->last_period : sum->last_period;
    sum->merged = row->merged > sum->merged ? row->merged : sum->merged;
    sum->cycle += row->cycle;
    sum->cycles += row->cycles;
    sum->enabled_ns += row->enabled_ns;
    sum->clock_running_ns += row->clock_running_ns;
    sum->idle_ns = rps_period_add_known(sum->idle_ns, row->idle_ns);
    sum->switch_ns = larger(sum->switch_ns, row->switch_ns);
    sum->missed = row->missed > sum->missed ? row->missed : sum->missed;
    add_counts(sum, row, is_import);
}

/* Return the index at which a row is added up, which depends on its event set. At resolution 0, all
 * rows of a key have one set, and there is one index. */
static size_t place_of(const struct rps_walk_state *state, const struct rps_period *row)
{
    return row->set_no < state->sets ? row->set_no : 0;
}

static void clear(struct rps_period *row, size_t count)
{
    for (size_t n = 0; n < count; n++)
        row[n] = (struct rps_period){.cpu = 0};
}

/* Add up all rows of the key, and move the sources past them. */
static int add_key(struct rps_walk_state *state, uint64_t key, struct rps_error *err)
{
    clear(state->whole, state->sets);
    for (int i = 0; i < state->source_count; i++) {
        struct source *source = &state->source[i];

        clear(state->of_cpu, state->sets);
        while (source->cursor && source->key == key) {
            size_t n = place_of(state, &source->next);

            append(&state->of_cpu[n], &source->next, state->series->resolution,
                   &state->scatter[state->sets + n]);
            if (advance(state, source, err) < 0)
                return RPS_FAILED;
        }
        for (size_t n = 0; n < state->sets; n++) {
            if (state->of_cpu[n].cpu == RPS_CPU_ALL)
                add(&state->whole[n], &state->of_cpu[n], state->is_import, &state->scatter[n]);
        }
    }
    return 0;
}

static int next_key(const struct rps_walk_state *state, uint64_t *ret)
{
    int found = 0;

    for (int i = 0; i < state->source_count; i++) {
        const struct source *source = &state->source[i];

        if (source->cursor && (!found || source->key < *ret)) {
            *ret = source->key;
            found = 1;
        }
    }
    return found;
}

static int next_of_sum(struct rps_walk *walk, struct rps_error *err)
{
    struct rps_walk_state *state = walk->state;
    uint64_t key = 0;

    for (;;) {
        while (state->handed < state->sets) {
            struct rps_period *row = &state->whole[state->handed++];

            if (row->cpu != RPS_CPU_ALL || !is_within(state->series, row))
                continue;
            /* If a CPU goes offline, its cycle timestamps are missing in the sum. The sum could
             * then run backwards, so raise the timestamp here. */
            if (row->level == 0 && row->cycle < state->cycle + row->cycles)
                row->cycle = state->cycle + row->cycles;
            if (row->cycle < state->cycle)
                row->cycle = state->cycle;
            state->cycle = row->cycle;
            walk->period = row;
            return 1;
        }
        if (!next_key(state, &key))
            return 0;
        if (add_key(state, key, err) < 0)
            return RPS_FAILED;
        state->handed = 0;
    }
}

/* Keep the gaps of the whole run. Gaps of single CPUs cut only the blocks of these CPUs. */
static int read_gaps(struct rps_walk_state *state, struct rps_error *err)
{
    const struct rps_cpu_series *series = state->series;
    size_t kept = 0;

    if (rps_reader_gaps(state->arena, series->reader, series->run_id, &state->gaps, err) < 0)
        return RPS_FAILED;
    for (size_t i = 0; i < state->gaps.count; i++) {
        if (state->gaps.note[i].cpu == RPS_CPU_ALL)
            state->gaps.note[kept++] = state->gaps.note[i];
    }
    state->gaps.count = kept;
    return 0;
}

static int begin_sum(struct rps_walk_state *state, struct rps_error *err)
{
    const struct rps_cpu_series *series = state->series;
    struct rps_run run;

    if (rps_reader_run(state->arena, series->reader, series->run_id, &run, err) < 0)
        return RPS_FAILED;
    state->is_import = rps_run_is_import(&run);
    state->sets = state->handed = series->resolution > 0 ? (size_t)series->set_count : 1;
    state->whole = rps_arena_get(state->arena, state->sets, sizeof(*state->whole));
    state->of_cpu = rps_arena_get(state->arena, state->sets, sizeof(*state->of_cpu));
    state->scatter = rps_arena_get(state->arena, 2 * state->sets, sizeof(*state->scatter));
    if (series->resolution > 0 && read_gaps(state, err) < 0)
        return RPS_FAILED;
    for (int i = 0; i < state->source_count; i++) {
        rps_cursor_choose_cpu(state->source[i].cursor, series->cpu[i]);
        if (advance(state, &state->source[i], err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

/* --- the walk --------------------------------------------------------------------------------- */

static int is_sum(const struct rps_walk *walk)
{
    return walk->way == RPS_CPUS_SUM && walk->series->by_cpu;
}

static int begin(struct rps_walk *walk, struct rps_error *err)
{
    const struct rps_cpu_series *series = walk->series;
    struct rps_arena *arena = rps_arena_new();
    struct rps_walk_state *state = rps_arena_get(arena, 1, sizeof(*state));

    walk->state = state;
    state->arena = arena;
    state->series = series;
    state->source_count = is_sum(walk) ? series->count : 1;
    state->source = rps_arena_get(arena, (size_t)state->source_count, sizeof(*state->source));
    for (int i = 0; i < state->source_count; i++) {
        if (rps_cursor_open(&state->source[i].cursor, series->reader, series->run_id,
                            series->from_ns, series->to_ns, series->resolution, err) < 0)
            return RPS_FAILED;
    }
    return is_sum(walk) ? begin_sum(state, err) : 0;
}

int rps_walk_next(struct rps_walk *walk, int *result, struct rps_error *err)
{
    int got = 0;

    if (*result == 0 && !walk->state)
        *result = begin(walk, err);
    if (*result == 0)
        got = is_sum(walk) ? next_of_sum(walk, err) : next_of_each(walk, err);
    if (got < 0)
        *result = got;
    if (got <= 0 && walk->state) {
        struct rps_walk_state *state = walk->state;

        for (int i = 0; i < state->source_count; i++)
            rps_cursor_close(state->source[i].cursor);
        rps_arena_free(state->arena);
        walk->state = NULL;
    }
    return got > 0;
}
