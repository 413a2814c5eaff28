/*
 * Matching the phases of runs; see match.h.
 *
 * Alignments of one cost are many, as of loops with turns to spare: the one is taken whose partners
 * are most alike in their lengths, as parts of their runs.
 */
#include "match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What aligning costs. */
#define COST_OTHER      .3 /* two labels of which neither is in the other run, and */
#define COST_DISTANCE   .4 /* by how far they are apart */
#define COST_IMPOSSIBLE 1.2
#define COST_LEFT_OVER  .55

/* Costs that differ by less are the same: sums of decimals. */
#define ROUNDING 1e-9

enum step { PAIR, OVER_A, OVER_B };

/* The least cost up to somewhere, and how alike in length the partners are. */
struct path {
    double cost, alike;
};

struct side {
    const struct rps_phases *phases;
    uint8_t *has; /* owned; labels that it has */
    double length;
};

static double length_of(const struct rps_phase *phase)
{
    return (double)(phase->last - phase->first) + 1;
}

static int make_side(const struct rps_phases *phases, const struct rps_match_labels *labels,
                     struct side *ret, struct rps_error *err)
{
    *ret = (struct side){phases, calloc((size_t)labels->count + 1, 1), 0};
    if (!ret->has)
        return rps_error_memory(err);
    for (size_t i = 0; i < phases->count; i++) {
        ret->has[phases->phase[i].label] = 1;
        ret->length += length_of(&phases->phase[i]);
    }
    return 0;
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

/* Fill the step that leads to each pair of beginnings; the cost of the whole. row: b + 1 paths. */
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

static int align(const struct rps_phases *a, const struct rps_phases *b,
                 const struct rps_match_labels *labels, size_t *ret, double *ret_cost,
                 struct rps_error *err)
{
    struct side left = {0}, right = {0};
    struct path *row = NULL;
    uint8_t *step = NULL;
    int result = 0;

    if (a->count > RPS_MATCH_MAX || b->count > RPS_MATCH_MAX)
        return rps_error_set(err, RPS_FAILED,
                             "more than %d phases of a run cannot be matched: take a coarser level",
                             RPS_MATCH_MAX);
    row = calloc(b->count + 1, sizeof(*row));
    step = calloc((a->count + 1) * (b->count + 1), 1);
    if (!row || !step)
        result = rps_error_memory(err);
    if (result == 0)
        result = make_side(a, labels, &left, err);
    if (result == 0)
        result = make_side(b, labels, &right, err);
    if (result == 0) {
        *ret_cost = fill(&left, &right, labels, row, step);
        trace(step, a->count, b->count, ret);
    }
    free(right.has);
    free(left.has);
    free(step);
    free(row);
    return result;
}

int rps_match_align(const struct rps_phases *a, const struct rps_phases *b,
                    const struct rps_match_labels *labels, size_t *ret, struct rps_error *err)
{
    double cost;

    return align(a, b, labels, ret, &cost, err);
}

/* --- several runs ----------------------------------------------------------------------------- */

void rps_matching_free(struct rps_matching *matching)
{
    for (size_t r = 0; matching->row_of && r < matching->run_count; r++)
        free(matching->row_of[r]);
    free(matching->row_of);
    free(matching->row);
    memset(matching, 0, sizeof(*matching));
}

struct matching {
    const struct rps_phases *run;
    const int *side;
    size_t count;
    const struct rps_match_labels *labels;
    size_t *partner; /* owned; scratch, of the phases of a run */
    struct rps_matching *out;
};

/* The run that stands for a side; of those that cost the same the first. */
static int choose_standing(struct matching *m, int side, struct rps_error *err)
{
    double *cost = calloc(m->count, sizeof(*cost)), one = 0;
    int result = cost ? 0 : rps_error_memory(err);

    m->out->standing[side] = RPS_MATCH_NONE;
    for (size_t x = 0; x < m->count && result == 0; x++) {
        for (size_t y = x + 1; y < m->count && m->side[x] == side && result == 0; y++) {
            if (m->side[y] != side)
                continue;
            result = align(&m->run[x], &m->run[y], m->labels, m->partner, &one, err);
            cost[x] += one;
            cost[y] += one;
        }
    }
    for (size_t x = 0; x < m->count && result == 0; x++) {
        size_t best = m->out->standing[side];

        if (m->side[x] == side && (best == RPS_MATCH_NONE || cost[x] < cost[best] - ROUNDING))
            m->out->standing[side] = x;
    }
    free(cost);
    return result;
}

/* The first row that a label has on a side. */
static size_t row_of_label(const struct rps_matching *out, int side, int label)
{
    for (size_t r = 0; r < out->row_count; r++) {
        if ((side == 0 ? out->row[r].a : out->row[r].b) == label)
            return r;
    }
    return RPS_MATCH_NONE;
}

/* The row of a pair, which is added when there is none. */
static size_t add_row(struct rps_matching *out, int a, int b)
{
    for (size_t r = 0; r < out->row_count; r++) {
        if (out->row[r].a == a && out->row[r].b == b)
            return r;
    }
    out->row[out->row_count] = (struct rps_match_row){a, b};
    return out->row_count++;
}

/* The rows of phases that are left over: another of their label; or of one that the other side has
 * elsewhere, both; or one of their own. */
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

/* Number the rows that phases from ... to - 1 are in, which have none yet. */
static void number_rows(const size_t *row, size_t from, size_t to, size_t *number, size_t *count)
{
    for (size_t i = from; i < to; i++) {
        if (number[row[i]] == RPS_MATCH_NONE)
            number[row[i]] = (*count)++;
    }
}

/* Number the rows in the order of side A, and those of side B alone where they come. */
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

static int sort_rows(const struct matching *m, const struct rps_phases *a,
                     const struct rps_phases *b, size_t *row_a, size_t *row_b,
                     struct rps_error *err)
{
    struct rps_matching *out = m->out;
    struct rps_match_row *row = calloc(out->row_count + 1, sizeof(*row));
    size_t *number = calloc(out->row_count + 1, sizeof(*number));
    int result = row && number ? 0 : rps_error_memory(err);

    if (result == 0) {
        struct rps_match_row *unsorted = out->row;

        number_all(m, a, b, row_a, row_b, number);
        for (size_t r = 0; r < out->row_count; r++)
            row[number[r]] = unsorted[r];
        renumber(row_a, a->count, number);
        renumber(row_b, b->count, number);
        out->row = row;
        row = unsorted;
    }
    free(number);
    free(row);
    return result;
}

/* Rows by the alignment of the two runs that stand for their sides; one may have no phases. */
static int make_rows(struct matching *m, const struct rps_phases *a, const struct rps_phases *b,
                     size_t *row_a, size_t *row_b, struct rps_error *err)
{
    double cost;

    m->out->row = calloc(a->count + b->count + 1, sizeof(*m->out->row));
    if (!m->out->row)
        return rps_error_memory(err);
    if (align(a, b, m->labels, m->partner, &cost, err) < 0)
        return RPS_FAILED;
    for (size_t i = 0; i < a->count; i++) {
        size_t j = m->partner[i];

        if (j != RPS_MATCH_NONE)
            row_a[i] = row_b[j] = add_row(m->out, a->phase[i].label, b->phase[j].label);
    }
    add_left_over(m->out, 0, a, b, row_a);
    add_left_over(m->out, 1, b, a, row_b);
    return sort_rows(m, a, b, row_a, row_b, err);
}

/* The rows of another run's phases: those of their partners, or of their labels. */
static int place_run(struct matching *m, size_t r, struct rps_error *err)
{
    size_t standing = m->out->standing[m->side[r]], *row = m->out->row_of[r];
    const struct rps_phases *phases = &m->run[r];
    double cost;

    if (align(phases, &m->run[standing], m->labels, m->partner, &cost, err) < 0)
        return RPS_FAILED;
    for (size_t i = 0; i < phases->count; i++)
        row[i] = m->partner[i] != RPS_MATCH_NONE
                     ? m->out->row_of[standing][m->partner[i]]
                     : row_of_label(m->out, m->side[r], phases->phase[i].label);
    return 0;
}

static int allocate(struct matching *m, struct rps_error *err)
{
    size_t most = 0;

    m->out->run_count = m->count;
    m->out->row_of = calloc(m->count + 1, sizeof(*m->out->row_of));
    for (size_t r = 0; r < m->count && m->out->row_of; r++) {
        size_t count = m->run[r].count;

        most = count > most ? count : most;
        m->out->row_of[r] = calloc(count + 1, sizeof(**m->out->row_of));
        if (!m->out->row_of[r])
            return rps_error_memory(err);
        for (size_t i = 0; i < count; i++)
            m->out->row_of[r][i] = RPS_MATCH_NONE;
    }
    m->partner = calloc(most + 1, sizeof(*m->partner));
    return m->out->row_of && m->partner ? 0 : rps_error_memory(err);
}

int rps_match_runs(const struct rps_phases *run, const int *side, size_t count,
                   const struct rps_match_labels *labels, struct rps_matching *ret,
                   struct rps_error *err)
{
    struct rps_matching out = {0};
    struct matching m = {.run = run, .side = side, .count = count, .labels = labels, .out = &out};
    const struct rps_phases none = {0}, *phases[2];
    size_t *row[2];
    int result = allocate(&m, err);

    for (int s = 0; s < 2 && result == 0; s++) {
        result = choose_standing(&m, s, err);
        phases[s] = out.standing[s] == RPS_MATCH_NONE ? &none : &run[out.standing[s]];
        row[s] = out.standing[s] == RPS_MATCH_NONE ? NULL : out.row_of[out.standing[s]];
    }
    if (result == 0)
        result = make_rows(&m, phases[0], phases[1], row[0], row[1], err);
    for (size_t r = 0; r < count && result == 0; r++) {
        if (r != out.standing[side[r]])
            result = place_run(&m, r, err);
    }
    free(m.partner);
    if (result == 0)
        *ret = out;
    else
        rps_matching_free(&out);
    return result;
}
