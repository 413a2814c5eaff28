/*
 * Finding loops in labels, and what their turns are like; see fold.h.
 *
 * Where a loop of p parts is, each label is that of p phases later. A part that is left out, or one
 * that is added, breaks that in about p places only, so the stretch in which it holds most often is
 * taken, one for a match and one against it for the others (Kadane). Its turn is the commonest
 * sequence of p labels there, all rotations of it counted together; the run is then read turn by
 * turn.
 */
#include "rpistat/fold.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "detect_math.h"

#define TURNS_MIN 4
#define DEPTH_MAX 8 /* of loops before and behind a loop */

/* Whole turns that lie further apart, in turns, are of two loops. */
#define APART_MAX 6

/* Turns of so few parts are half of what there is, or no chance; and three quarters of them differ by
 * this share of their middle one at most. */
#define FEW_PARTS     3
#define VARIATION_MAX .25

/* A turn is odd that differs from the middle one by so many robust deviations, and this share. */
#define ODD_DEVIATIONS 5
#define ODD_SHARE      .2

/* A sequence of labels, and how often it is there. */
struct sequence {
    uint64_t key; /* 0: none */
    size_t count;
};

struct folding {
    struct rps_phase *phase;
    size_t all;             /* phases */
    double *share;          /* scratch: of each label, of all phases */
    size_t table_size;      /* a power of two, more than twice the phases */
    struct sequence *table; /* scratch: open addressing */
    double *length;         /* scratch: of whole turns */
    int loops, turns;       /* numbered so far */
    size_t saved;           /* rows */
};

struct found {
    size_t parts, begin, end; /* the first whole turn is at begin */
    size_t whole, odd;        /* turns; what is odd counts as many as its phases would make */
    size_t saved;             /* rows; 0: nothing was found */
};

static double length_of(const struct rps_phase *phase, size_t count)
{
    return (double)(phase[count - 1].last + 1 - phase[0].first);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* The stretch in from ... to - 1 in which labels are most often those of p phases later; by how much
 * that is more often than not. */
static size_t find_stretch(const struct folding *f, size_t from, size_t to, size_t p,
                           size_t *ret_from, size_t *ret_to)
{
    size_t most = 0, sum = 0, begin = from;

    for (size_t i = from; i + p < to; i++) {
        if (f->phase[i].label == f->phase[i + p].label) {
            if (++sum > most) {
                most = sum;
                *ret_from = begin;
                *ret_to = i + 1 + p;
            }
        } else if (sum <= 1) {
            sum = 0;
            begin = i + 1;
        } else {
            sum--;
        }
    }
    return most;
}

/* The key of a label that stands before another (SplitMix64's mixing). */
static uint64_t key_of(const struct folding *f, size_t i, size_t next)
{
    uint64_t key = (uint64_t)f->phase[i].label << 32 | (uint32_t)f->phase[next].label;

    key = (key + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    return key ^ key >> 31;
}

/* Count a sequence; how often it was there so far. */
static size_t count_sequence(struct folding *f, uint64_t key)
{
    size_t at = (size_t)key & (f->table_size - 1);

    while (f->table[at].count > 0 && f->table[at].key != key)
        at = (at + 1) & (f->table_size - 1);
    f->table[at].key = key;
    return ++f->table[at].count;
}

/* Where the commonest p labels stand first. A sequence has the key of its rotations: the sum of
 * those of its pairs, the last and the first among them. */
static size_t find_turn(struct folding *f, size_t from, size_t to, size_t p)
{
    uint64_t pairs = 0, best = 0;
    size_t most = 0;

    memset(f->table, 0, f->table_size * sizeof(*f->table));
    for (int pass = 0; pass < 2; pass++) {
        pairs = 0;
        for (size_t i = from; i + 1 < from + p; i++)
            pairs += key_of(f, i, i + 1);
        for (size_t i = from; i + p <= to; i++) {
            uint64_t key = pairs + key_of(f, i + p - 1, i);
            size_t count = pass == 0 ? count_sequence(f, key) : 0;

            if (pass == 1 && key == best)
                return i;
            if (count > most) {
                most = count;
                best = key;
            }
            if (i + p < to)
                pairs += key_of(f, i + p - 1, i + p) - key_of(f, i, i + 1);
        }
    }
    return from;
}

static int is_turn(const struct folding *f, size_t at, size_t turn, size_t parts)
{
    size_t k = 0;

    while (k < parts && f->phase[at + k].label == f->phase[turn + k].label)
        k++;
    return k == parts;
}

/* Is the turn itself made of turns? */
static int is_periodic(const struct folding *f, size_t at, size_t parts)
{
    for (size_t p = 1; p <= parts / 2; p++) {
        if (parts % p == 0 && is_turn(f, at + p, at, parts - p))
            return 1;
    }
    return 0;
}

/* Find the first iteration like the one at `turn` that belongs to its loop: iterations before an
 * interruption do. */
static size_t find_first_turn(const struct folding *f, size_t from, size_t turn, size_t parts)
{
    size_t first = turn;

    for (size_t i = turn; i-- > from && first - i <= APART_MAX * parts;) {
        if (i + parts <= first && is_turn(f, i, turn, parts))
            first = i;
    }
    return first;
}

/* The turns from found->begin on, of which the first is whole. Lengths of the whole ones are noted. */
static void read_turns(struct folding *f, size_t to, struct found *found)
{
    size_t parts = found->parts, i = found->begin, begin = i;

    found->end = begin;
    while (i + parts <= to && i - begin <= APART_MAX * parts) {
        if (!is_turn(f, i, found->begin, parts)) {
            i++;
            continue;
        }
        found->odd += (i - begin + parts - 1) / parts;
        f->length[found->whole++] = length_of(&f->phase[i], parts);
        i += parts;
        begin = found->end = i;
    }
}

/* The middle one of lengths; they become their distances from it. */
static double find_middle(double *length, size_t count)
{
    double middle = rps_select_rank(length, count, count / 2);

    for (size_t k = 0; k < count; k++)
        length[k] = fabs(length[k] - middle);
    return middle;
}

/* Bits that a turn's labels are worth where any label but the one before may come, as often as it
 * does. */
static double bits_of_turn(const struct folding *f, const struct found *found)
{
    double bits = 0;

    for (size_t k = 0; k < found->parts; k++) {
        int label = f->phase[found->begin + k].label;
        int before = f->phase[found->begin + (k > 0 ? k : found->parts) - 1].label;

        bits -= log2(fmin(f->share[label] / (1 - f->share[before]), 1));
    }
    return bits;
}

/* Do the whole turns after the first say more than where the turn stands, how long it is, and what
 * the odd ones are? Labels without any order make up a turn of many parts that comes four times, too. */
static int is_no_chance(const struct folding *f, const struct found *found)
{
    double whole = (double)found->whole, odd = (double)found->odd, bits = bits_of_turn(f, found);

    return (whole - 1) * bits >
           log2((double)f->all) + log2((double)found->parts) + odd * (log2(whole + odd) + bits);
}

static int is_loop(struct folding *f, const struct found *found)
{
    size_t whole = found->whole;
    double middle;

    if (whole < TURNS_MIN || found->odd > whole / 2)
        return 0;
    if ((found->parts > FEW_PARTS || 2 * (found->end - found->begin) < f->all) &&
        !is_no_chance(f, found))
        return 0;
    if (found->parts > FEW_PARTS || (found->parts == FEW_PARTS && is_no_chance(f, found)))
        return 1;
    middle = find_middle(f->length, whole);
    return rps_select_rank(f->length, whole, whole * 3 / 4) <= VARIATION_MAX * middle;
}

static size_t rows_of(const struct found *found)
{
    size_t most = RPS_FOLD_ODD_NAMED + 1;

    return found->parts + (found->odd < most ? found->odd : most);
}

/* The loop that saves most rows. */
static struct found find_loop(struct folding *f, size_t from, size_t to)
{
    struct found best = {0};

    for (size_t p = 2; p <= RPS_FOLD_PARTS_MAX && p * TURNS_MIN <= to - from; p++) {
        struct found found = {.parts = p};
        size_t begin = from, end = from;

        if (2 * find_stretch(f, from, to, p, &begin, &end) < (TURNS_MIN - 1) * p)
            continue;
        found.begin = find_first_turn(f, from, find_turn(f, begin, end, p), p);
        if (is_periodic(f, found.begin, p))
            continue;
        read_turns(f, to, &found);
        if (!is_loop(f, &found) || found.end - found.begin <= rows_of(&found))
            continue;
        found.saved = found.end - found.begin - rows_of(&found);
        if (found.saved > best.saved)
            best = found;
    }
    return best;
}

/* How many of phases i ... end - 1 have the label of a part. */
static size_t count_parts(const struct folding *f, size_t i, size_t end, const struct found *found)
{
    size_t count = 0;

    for (; i < end; i++) {
        size_t k = 0;

        while (k < found->parts && f->phase[i].label != f->phase[found->begin + k].label)
            k++;
        count += k < found->parts;
    }
    return count;
}

/* Say in phases i ... end - 1 that they are of the turn that was begun last. */
static void mark_turn(struct folding *f, size_t i, size_t end, int is_whole)
{
    for (size_t k = i; k < end; k++) {
        f->phase[k].loop = f->loops;
        f->phase[k].turn = f->turns;
        f->phase[k].part = is_whole ? (int)(k - i) + 1 : 0;
    }
}

/* Say in the phases which loop, turn and part they are. What lies between two whole turns is one,
 * or the end of the one before it where it has less than half the parts: a loop inside a loop is left
 * and begun again. */
static void mark(struct folding *f, const struct found *found)
{
    size_t parts = found->parts, begin = found->begin;

    f->loops++;
    for (size_t i = begin; i + parts <= found->end;) {
        if (!is_turn(f, i, found->begin, parts)) {
            i++;
            continue;
        }
        f->turns += 2 * count_parts(f, begin, i, found) >= parts && i > begin;
        mark_turn(f, begin, i, 0);
        f->turns++;
        mark_turn(f, i, i + parts, 1);
        i += parts;
        begin = i;
    }
    f->saved += found->saved;
}

static void fold(struct folding *f, size_t from, size_t to, int depth)
{
    struct found loop = {0};

    if (depth <= DEPTH_MAX)
        loop = find_loop(f, from, to);
    if (loop.saved == 0)
        return;
    fold(f, from, loop.begin, depth + 1);
    mark(f, &loop);
    fold(f, loop.end, to, depth + 1);
}

size_t rps_fold(struct rps_phases *phases, size_t from, size_t to)
{
    struct folding f = {.phase = phases->phase, .all = to - from, .table_size = 2};
    struct rps_arena *scratch = rps_arena_new();

    while (f.table_size < 2 * (to - from))
        f.table_size *= 2;
    f.table = rps_arena_get(scratch, f.table_size, sizeof(*f.table));
    f.length = rps_arena_get(scratch, to - from + 1, sizeof(*f.length));
    f.share = rps_arena_get(scratch, (size_t)phases->label_count + 1, sizeof(*f.share));
    for (size_t i = from; i < to; i++) {
        f.share[phases->phase[i].label] += 1 / (double)f.all;
        phases->phase[i].loop = phases->phase[i].turn = phases->phase[i].part = 0;
    }
    fold(&f, from, to, 0);
    rps_arena_free(scratch);
    return to - from - f.saved;
}

/* --- what turns are like ---------------------------------------------------------------------- */

/* Mean and standard deviation of lengths, made one by one. */
struct lengths {
    double count, sum, squares;
};

static void add_length(struct lengths *lengths, double length)
{
    lengths->count++;
    lengths->sum += length;
    lengths->squares += length * length;
}

static double mean_of(const struct lengths *lengths, double *ret_deviation)
{
    double mean = lengths->count > 0 ? lengths->sum / lengths->count : 0;

    *ret_deviation =
        lengths->count > 0 ? sqrt(fmax(lengths->squares / lengths->count - mean * mean, 0)) : 0;
    return mean;
}

static double time_of(const struct rps_phase *phase, size_t count)
{
    double time = (double)(phase[count - 1].end_ns - phase[0].start_ns);

    return time > 0 ? time : length_of(phase, count);
}

/* Its phases, turns and how many parts it has; all from what the phases say. */
static void add_phase(struct rps_arena *arena, const struct rps_phases *phases, size_t i,
                      struct rps_loop *loop)
{
    const struct rps_phase *phase = &phases->phase[i];
    struct rps_turn *turn;

    if (loop->count++ == 0 || phase->turn != phase[-1].turn) {
        loop->turn = rps_arena_grow(arena, loop->turn, loop->turn_count, sizeof(*loop->turn));
        loop->turn[loop->turn_count++].first = i;
    }
    turn = &loop->turn[loop->turn_count - 1];
    turn->count++;
    turn->length = time_of(&phases->phase[turn->first], turn->count);
    if (phase->part <= 0)
        turn->kind = RPS_TURN_UNLIKE;
    else if ((size_t)phase->part > loop->part_count)
        loop->part_count = (size_t)phase->part;
}

/* Those of the parts, but much longer or shorter than the middle one. */
static void find_odd(struct rps_arena *arena, struct rps_loop *loop)
{
    double *length = rps_arena_get(arena, loop->turn_count, sizeof(*length)), middle = 0, limit = 0;
    size_t count = 0;

    for (size_t t = 0; t < loop->turn_count; t++) {
        if (loop->turn[t].kind == RPS_TURN_USUAL)
            length[count++] = loop->turn[t].length;
    }
    if (count > 0) {
        middle = find_middle(length, count);
        limit = ODD_DEVIATIONS * 1.4826 * rps_select_rank(length, count, count / 2);
        limit = fmax(limit, ODD_SHARE * middle);
    }
    for (size_t t = 0; t < loop->turn_count; t++) {
        struct rps_turn *turn = &loop->turn[t];

        if (turn->kind == RPS_TURN_USUAL && fabs(turn->length - middle) > limit)
            turn->kind = turn->length > middle ? RPS_TURN_LONG : RPS_TURN_SHORT;
        loop->odd_count += turn->kind != RPS_TURN_USUAL;
    }
}

/* Lengths of turns and parts. */
static void describe(struct rps_arena *arena, const struct rps_phases *phases,
                     struct rps_loop *loop)
{
    struct lengths *part = rps_arena_get(arena, loop->part_count + 1, sizeof(*part)), turns = {0};

    loop->part = rps_arena_get(arena, loop->part_count + 1, sizeof(*loop->part));
    find_odd(arena, loop);
    for (size_t t = 0; t < loop->turn_count; t++) {
        const struct rps_turn *turn = &loop->turn[t];

        if (turn->kind == RPS_TURN_USUAL)
            add_length(&turns, turn->length);
        for (size_t i = turn->first; i < turn->first + turn->count; i++) {
            const struct rps_phase *phase = &phases->phase[i];

            if (phase->part <= 0)
                continue;
            loop->part[phase->part - 1].label = phase->label;
            loop->part[phase->part - 1].total += time_of(phase, 1);
            if (turn->kind == RPS_TURN_USUAL)
                add_length(&part[phase->part - 1], time_of(phase, 1));
        }
    }
    loop->length = mean_of(&turns, &loop->deviation);
    for (size_t k = 0; k < loop->part_count; k++)
        loop->part[k].length = mean_of(&part[k], &loop->part[k].deviation);
}

struct rps_loops rps_loops_of(struct rps_arena *arena, const struct rps_phases *phases)
{
    struct rps_loops loops = {0};

    for (size_t i = 0; i < phases->count; i++) {
        if (phases->phase[i].loop <= 0)
            continue;
        if (i == 0 || phases->phase[i].loop != phases->phase[i - 1].loop) {
            loops.loop = rps_arena_grow(arena, loops.loop, loops.count, sizeof(*loops.loop));
            loops.loop[loops.count++].first = i;
        }
        add_phase(arena, phases, i, &loops.loop[loops.count - 1]);
    }
    for (size_t k = 0; k < loops.count; k++)
        describe(arena, phases, &loops.loop[k]);
    return loops;
}

/* The turn that the last phase is in; 0: none. */
static int last_turn(const struct rps_phases *phases)
{
    const struct rps_phase *phase = phases->phase;
    size_t end = phases->count, begin, rest;

    while (end > 0 && phase[end - 1].loop == 0)
        end--;
    rest = phases->count - end;
    if (end == 0 || rest == 0)
        return end > 0 ? phase[end - 1].turn : 0;
    begin = end; /* of the last turn, which is whole */
    while (begin > 0 && phase[begin - 1].turn == phase[end - 1].turn)
        begin--;
    if (rest >= end - begin)
        return 0;
    for (size_t k = 0; k < rest; k++) {
        if (phase[end + k].label != phase[begin + k].label)
            return 0;
    }
    return phase[end - 1].turn + 1;
}

char *rps_loops_turn_text(const struct rps_phases *phases, char ret[RPS_LOOPS_TURN_SIZE])
{
    struct rps_arena *arena = rps_arena_new();
    const struct rps_loops loops = rps_loops_of(arena, phases);
    int turn = last_turn(phases);
    char label[RPS_PHASE_LABEL_SIZE];
    size_t used;

    ret[0] = '\0';
    if (turn > 0) {
        const struct rps_loop *loop = &loops.loop[loops.count - 1];

        used = (size_t)snprintf(ret, RPS_LOOPS_TURN_SIZE, "turn %d of", turn);
        for (size_t k = 0; k < loop->part_count; k++) {
            int is_last = used + 2 * sizeof(label) > RPS_LOOPS_TURN_SIZE;

            used += (size_t)snprintf(ret + used, RPS_LOOPS_TURN_SIZE - used, " %s",
                                     is_last ? "..." : rps_phase_label(loop->part[k].label, label));
            if (is_last)
                break;
        }
    }
    rps_arena_free(arena);
    return ret;
}
