/* Match the phases of runs; see match.h.
 *
 * Several alignments may have the same cost, for example if a loop has extra iterations. Then the
 * alignment is chosen in which matched phases have the most similar lengths. A length is a share of
 * the run's length. */
#include "match.h"

#include <math.h>
#include <string.h>

/* The costs of an alignment. */
#define COST_OTHER      .3 /* base cost of two labels that are both missing in the other run */
#define COST_DISTANCE   .4 /* additional cost per unit of distance of these labels */
#define COST_IMPOSSIBLE 1.2
#define COST_LEFT_OVER  .55

/* Costs that differ by less count as equal, because sums of decimals have rounding errors. */
#define ROUNDING 1e-9

enum step { PAIR, OVER_A, OVER_B };

/* The minimum cost of a path up to a pair of phases, and the similarity in length of the phases
 * that the path matches. */
struct path {
    double cost, alike;
};

struct side {
    const struct rps_phases *phases;
    uint8_t *has; /* has[label]: 1 if the run has the label */
    double length;
};

static double length_of(const struct rps_phase *phase)
{
    return (double)(phase->last - phase->first) + 1;
}

static struct side make_side(struct rps_arena *arena, const struct rps_phases *phases,
                             const struct rps_match_labels *labels)
{
    struct side ret = {phases, rps_arena_get(arena, (size_t)labels->count, 1), 0};

    for (size_t i = 0; i < phases->count; i++) {
        ret.has[phases->phase[i].label] = 1;
        ret.length += length_of(&phases->phase[i]);
    }
    return ret;
}

static double cost_of(const struct side *a, int x, const struct side *b, int y,
                      const struct rps_match_labels *labels)
{
    if (x == y)
        return 0;
    if (b->has[x] || a->has[y])
        return COST_IMPOSSIBLE;
    return COST_OTHER + COST_DISTANCE * labels->distance[x * labels->count + y];
}

static struct path add(const struct path *path, double cost, double alike)
{
    return (struct path){path->cost + cost, path->alike + alike};
}

static int is_better(const struct path *x, const struct path *y)
{
    if (fabs(x->cost - y->cost) > ROUNDING)
        return x->cost < y->cost;
    return x->alike > y->alike + ROUNDING;
}

/* Find the best step to each pair of phase prefixes, and return the total cost. `row` has space for
 * one path per phase of b, and one more. */
static double fill(const struct side *a, const struct side *b,
                   const struct rps_match_labels *labels, struct path *row, uint8_t *step)
{
    size_t width = b->phases->count + 1;

    row[0] = (struct path){0, 0};
    for (size_t j = 1; j < width; j++) {
        row[j] = add(&row[j - 1], COST_LEFT_OVER, 0);
        step[j] = OVER_B;
    }
    for (size_t i = 1; i <= a->phases->count; i++) {
        const struct rps_phase *x = &a->phases->phase[i - 1];
        struct path before = row[0];

        row[0] = add(&row[0], COST_LEFT_OVER, 0);
        step[i * width] = OVER_A;
        for (size_t j = 1; j < width; j++) {
            const struct rps_phase *y = &b->phases->phase[j - 1];
            double alike = fmin(length_of(x) / a->length, length_of(y) / b->length);
            struct path way[] = {add(&before, cost_of(a, x->label, b, y->label, labels), alike),
                                 add(&row[j], COST_LEFT_OVER, 0),
                                 add(&row[j - 1], COST_LEFT_OVER, 0)};
            enum step best = is_better(&way[OVER_A], &way[PAIR]) ? OVER_A : PAIR;

            best = is_better(&way[OVER_B], &way[best]) ? OVER_B : best;
            before = row[j];
            row[j] = way[best];
            step[i * width + j] = (uint8_t)best;
        }
    }
    return row[width - 1].cost;
}

static void trace(const uint8_t *step, size_t a, size_t b, size_t *ret)
{
    size_t width = b + 1;

    while (a > 0 || b > 0) {
        enum step way = step[a * width + b];

        a -= way != OVER_B;
        b -= way != OVER_A;
        if (way != OVER_B)
            ret[a] = way == PAIR ? b : RPS_MATCH_NONE;
    }
}

int rps_match_check(size_t count, struct rps_error *err)
{
    return count <= RPS_MATCH_MAX ? 0
                                  : rps_error_set(err, RPS_FAILED,
                                                  "a run has more than %d phases, which cannot be "
                                                  "matched; choose a coarser level",
                                                  RPS_MATCH_MAX);
}

double rps_match_align(const struct rps_phases *a, const struct rps_phases *b,
                       const struct rps_match_labels *labels, size_t *ret)
{
    struct rps_arena *scratch = rps_arena_new(); /* freed after each of the many alignments */
    struct side left = make_side(scratch, a, labels), right = make_side(scratch, b, labels);
    uint8_t *step = rps_arena_get(scratch, (a->count + 1) * (b->count + 1), 1);
    double cost = fill(&left, &right, labels,
                       rps_arena_get(scratch, b->count + 1, sizeof(struct path)), step);

    trace(step, a->count, b->count, ret);
    rps_arena_free(scratch);
    return cost;
}

/* --- several runs ----------------------------------------------------------------------------- */

struct matching {
    const struct rps_phases *run;
    const int *side;
    size_t count;
    const struct rps_match_labels *labels;
    struct rps_arena *arena;
    size_t *partner; /* scratch: the matching phase of each phase of a run */
    struct rps_matching *out;
};

/* Choose the run that represents a side. If several runs have the lowest cost, choose the first. */
static void choose_standing(struct matching *m, int side)
{
    double *cost = rps_arena_get(m->arena, m->count, sizeof(*cost));

    m->out->standing[side] = RPS_MATCH_NONE;
    for (size_t x = 0; x < m->count; x++) {
        for (size_t y = x + 1; y < m->count && m->side[x] == side; y++) {
            double one;

            if (m->side[y] != side)
                continue;
            one = rps_match_align(&m->run[x], &m->run[y], m->labels, m->partner);
            cost[x] += one;
            cost[y] += one;
        }
    }
    for (size_t x = 0; x < m->count; x++) {
        size_t best = m->out->standing[side];

        if (m->side[x] == side && (best == RPS_MATCH_NONE || cost[x] < cost[best] - ROUNDING))
            m->out->standing[side] = x;
    }
}

static size_t row_of_label(const struct rps_matching *out, int side, int label)
{
    for (size_t r = 0; r < out->row_count; r++) {
        if ((side == 0 ? out->row[r].a : out->row[r].b) == label)
            return r;
    }
    return RPS_MATCH_NONE;
}

/* Return the row of a pair of labels. Add the row if it does not exist. */
static size_t add_row(struct rps_matching *out, int a, int b)
{
    for (size_t r = 0; r < out->row_count; r++) {
        if (out->row[r].a == a && out->row[r].b == b)
            return r;
    }
    out->row[out->row_count] = (struct rps_match_row){a, b};
    return out->row_count++;
}

/* Set the rows of phases without a partner. If no row has the label of such a phase, add a row. If
 * the other side has phases with this label too, the new row is for both sides. */
static void add_left_over(struct rps_matching *out, int side, const struct rps_phases *phases,
                          const struct rps_phases *other, size_t *row)
{
    for (size_t i = 0; i < phases->count; i++) {
        int label = phases->phase[i].label, elsewhere = -1;

        if (row[i] != RPS_MATCH_NONE)
            continue;
        row[i] = row_of_label(out, side, label);
        for (size_t j = 0; j < other->count && elsewhere < 0; j++)
            elsewhere = other->phase[j].label == label ? label : -1;
        if (row[i] == RPS_MATCH_NONE)
            row[i] = side == 0 ? add_row(out, label, elsewhere) : add_row(out, elsewhere, label);
    }
}

/* Number the rows of the phases from ... to - 1. A row that already has a number keeps it. */
static void number_rows(const size_t *row, size_t from, size_t to, size_t *number, size_t *count)
{
    for (size_t i = from; i < to; i++) {
        if (number[row[i]] == RPS_MATCH_NONE)
            number[row[i]] = (*count)++;
    }
}

/* Number the rows in the order of side A. Insert rows that only side B has where they occur. */
static void number_all(const struct matching *m, const struct rps_phases *a,
                       const struct rps_phases *b, const size_t *row_a, const size_t *row_b,
                       size_t *number)
{
    size_t count = 0, next = 0;

    for (size_t r = 0; r < m->out->row_count; r++)
        number[r] = RPS_MATCH_NONE;
    for (size_t i = 0; i < a->count; i++) {
        for (; m->partner[i] != RPS_MATCH_NONE && next < m->partner[i]; next++) {
            if (m->out->row[row_b[next]].a < 0)
                number_rows(row_b, next, next + 1, number, &count);
        }
        number_rows(row_a, i, i + 1, number, &count);
    }
    number_rows(row_b, next, b->count, number, &count);
}

static void renumber(size_t *row, size_t count, const size_t *number)
{
    for (size_t i = 0; i < count; i++)
        row[i] = number[row[i]];
}

static void sort_rows(const struct matching *m, const struct rps_phases *a,
                      const struct rps_phases *b, size_t *row_a, size_t *row_b)
{
    struct rps_matching *out = m->out;
    struct rps_match_row *row = rps_arena_get(m->arena, out->row_count, sizeof(*row));
    size_t *number = rps_arena_get(m->arena, out->row_count, sizeof(*number));

    number_all(m, a, b, row_a, row_b, number);
    for (size_t r = 0; r < out->row_count; r++)
        row[number[r]] = out->row[r];
    renumber(row_a, a->count, number);
    renumber(row_b, b->count, number);
    out->row = row;
}

/* Make rows from the alignment of the representing runs. One of these runs may have no phases. */
static void make_rows(struct matching *m, const struct rps_phases *a, const struct rps_phases *b,
                      size_t *row_a, size_t *row_b)
{
    m->out->row = rps_arena_get(m->arena, a->count + b->count, sizeof(*m->out->row));
    rps_match_align(a, b, m->labels, m->partner);
    for (size_t i = 0; i < a->count; i++) {
        size_t j = m->partner[i];

        if (j != RPS_MATCH_NONE)
            row_a[i] = row_b[j] = add_row(m->out, a->phase[i].label, b->phase[j].label);
    }
    add_left_over(m->out, 0, a, b, row_a);
    add_left_over(m->out, 1, b, a, row_b);
    sort_rows(m, a, b, row_a, row_b);
}

/* Set the rows of the phases of a run that does not represent its side. Each phase gets the row of
 * its partner. Without a partner, it gets the row of its label. */
static void place_run(struct matching *m, size_t r)
{
    size_t standing = m->out->standing[m->side[r]], *row = m->out->row_of[r];
    const struct rps_phases *phases = &m->run[r];

    rps_match_align(phases, &m->run[standing], m->labels, m->partner);
    for (size_t i = 0; i < phases->count; i++)
        row[i] = m->partner[i] != RPS_MATCH_NONE
                     ? m->out->row_of[standing][m->partner[i]]
                     : row_of_label(m->out, m->side[r], phases->phase[i].label);
}

static void begin(struct matching *m)
{
    size_t most = 0;

    m->out->row_of = rps_arena_get(m->arena, m->count, sizeof(*m->out->row_of));
    for (size_t r = 0; r < m->count; r++) {
        size_t count = m->run[r].count;

        most = count > most ? count : most;
        m->out->row_of[r] = rps_arena_get(m->arena, count, sizeof(**m->out->row_of));
        for (size_t i = 0; i < count; i++)
            m->out->row_of[r][i] = RPS_MATCH_NONE;
    }
    m->partner = rps_arena_get(m->arena, most, sizeof(*m->partner));
}

/* Fold phases for the alignment: in each loop, keep the first phase of each label, with the total
 * length. row[i]: index of the folded phase that contains phase i. */
static struct rps_phases fold(struct rps_arena *arena, const struct rps_phases *phases, size_t *row)
{
    struct rps_phases folded = {.label_count = phases->label_count};
    size_t *place = rps_arena_get(arena, (size_t)phases->label_count, sizeof(*place));
    int loop = 0;

    folded.phase = rps_arena_get(arena, phases->count, sizeof(*folded.phase));
    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        size_t *at = &place[phase->label];

        if (phase->loop == 0 || phase->loop != loop)
            memset(place, 0, (size_t)phases->label_count * sizeof(*place));
        loop = phase->loop;
        if (*at == 0) {
            folded.phase[folded.count] = *phase;
            *at = ++folded.count;
        } else {
            folded.phase[*at - 1].last += phase->last - phase->first + 1;
        }
        row[i] = *at - 1;
    }
    return folded;
}

static struct rps_phases *fold_runs(struct rps_arena *arena, const struct rps_phases *run,
                                    size_t count, size_t **place)
{
    struct rps_phases *folded = rps_arena_get(arena, count, sizeof(*folded));

    for (size_t r = 0; r < count; r++) {
        place[r] = rps_arena_get(arena, run[r].count, sizeof(**place));
        folded[r] = fold(arena, &run[r], place[r]);
    }
    return folded;
}

int rps_match_runs(struct rps_arena *arena, const struct rps_phases *run, const int *side,
                   size_t count, const struct rps_match_labels *labels, struct rps_matching *ret,
                   struct rps_error *err)
{
    size_t **place = rps_arena_get(arena, count, sizeof(*place));
    struct rps_phases *folded = fold_runs(arena, run, count, place);
    struct rps_matching out = {0};
    struct matching m = {
        .run = folded, .side = side, .count = count, .labels = labels, .arena = arena, .out = &out};
    const struct rps_phases none = {0}, *phases[2];
    size_t *row[2];

    for (size_t r = 0; r < count; r++) {
        if (rps_match_check(folded[r].count, err) < 0)
            return RPS_FAILED;
    }
    begin(&m);
    for (int s = 0; s < 2; s++) {
        choose_standing(&m, s);
        phases[s] = out.standing[s] == RPS_MATCH_NONE ? &none : &folded[out.standing[s]];
        row[s] = out.standing[s] == RPS_MATCH_NONE ? NULL : out.row_of[out.standing[s]];
    }
    make_rows(&m, phases[0], phases[1], row[0], row[1]);
    for (size_t r = 0; r < count; r++) {
        if (r != out.standing[side[r]])
            place_run(&m, r);
    }
    /* Copy the row of each folded phase to all phases that it contains. */
    for (size_t r = 0; r < m.count; r++) {
        for (size_t i = 0; i < run[r].count; i++)
            place[r][i] = m.out->row_of[r][place[r][i]];
        m.out->row_of[r] = place[r];
    }
    *ret = out;
    return 0;
}
