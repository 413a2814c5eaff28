/*
 * Find loops in labels; see fold.h.
 *
 * In a loop of p parts, each label equals the label p phases later. A missing or inserted part
 * breaks this in about p places only. So the range with the most matches is taken, where each match
 * counts one and each mismatch minus one (Kadane). Its iteration is the most frequent sequence of p
 * labels there, counted together with all its rotations. The run is then read iteration by
 * iteration.
 *
 * Nested loops are found from the inside. The shortest sequence that often follows itself becomes a
 * word. Each run of that word becomes one item with a label of its own, and the items are folded
 * like labels. The items may have words again. The result is kept if it saves more rows.
 */
#include "rpistat/fold.h"

#include <math.h>
#include <string.h>

#include "detect_math.h"

#define TURNS_MIN 4
#define DEPTH_MAX 8 /* of loops before and after a loop */

/* A loop of an inner loop and at least two other parts needs fewer iterations, because the inner
 * loop is evidence too. */
#define TURNS_AROUND_MIN 2

/* This many iterations are a loop if all repeat inner loops equally, and have so many phases. */
#define TURNS_EVEN_MIN  3
#define EVEN_PHASES_MIN 9

/* Iterations may be of any length if so many parts have labels that no inner loop has. */
#define LABELS_AROUND 2

#define WORD_MAX         16 /* labels */
#define WORD_REPEATS_MIN 2  /* consecutive ones, on average */

/* Words with incomplete iterations must save so many more rows: such iterations are often parts of
 * their own. */
#define REST_ROWS_MIN 4

/* Whole iterations that are further apart, in iterations, belong to two loops. */
#define APART_MAX 6

/* Loops of so few parts are half of all phases, or not due to chance. Three quarters of their
 * lengths differ by at most this share from the middle one. */
#define FEW_PARTS     3
#define VARIATION_MAX .25

/* A sequence of labels, and how often it occurs. */
struct sequence {
    uint64_t key; /* 0: none */
    size_t count;
};

/* A label of phases, or from `labels` on the label of a word. */
struct label {
    double share; /* of all items */
    size_t rows;  /* of a word: its own row, and the rows of its parts */
    int is_inner; /* it is a part of a word */
};

struct folding {
    struct rps_arena *scratch;
    struct rps_phase *phase; /* or items: the runs of words, and the phases between them */
    size_t all;              /* items */
    struct label *label;
    int labels;             /* of phases */
    size_t table_size;      /* a power of two, more than twice the phases */
    struct sequence *table; /* scratch: open addressing */
    double *length;         /* scratch: of whole iterations */
    int loops, turns;       /* numbered so far */
    size_t saved;           /* rows */

    const struct folding *of; /* the folding whose items became these; NULL: items are phases */
    const size_t *first;      /* of each item, and after the last: the first item of `of` */
    int words;                /* each of which became a label */
    size_t word_parts;        /* of the last word */
};

struct found {
    size_t parts, begin, end;
    size_t turn;       /* where the first whole iteration is */
    size_t whole, odd; /* iterations; outlier phases count as the iterations that they would make */
    size_t saved;      /* rows; 0: nothing was found */
    size_t explained;  /* the same if each outlier had a row, except those cut off by the run */
    size_t length;     /* phases of the first whole iteration */
    size_t even, cut;  /* iterations of that length; 1: the run cuts off the last one */
};

static double length_of(const struct rps_phase *phase, size_t count)
{
    return (double)(phase[count - 1].last + 1 - phase[0].first);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Find the range in from ... to - 1 in which labels most often equal those p phases later; return
 * the surplus of matches. */
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

/* Return the key of a label followed by another (SplitMix64's mixing). */
static uint64_t key_of(const struct folding *f, size_t i, size_t next)
{
    uint64_t key = (uint64_t)f->phase[i].label << 32 | (uint32_t)f->phase[next].label;

    key = (key + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    return key ^ key >> 31;
}

/* Count a sequence; return how often it has occurred so far. */
static size_t count_sequence(struct folding *f, uint64_t key)
{
    size_t at = (size_t)key & (f->table_size - 1);

    while (f->table[at].count > 0 && f->table[at].key != key)
        at = (at + 1) & (f->table_size - 1);
    f->table[at].key = key;
    return ++f->table[at].count;
}

/* Find where the most frequent p labels first occur. A sequence has the key of its rotations: the
 * sum of the keys of its pairs, including the pair of the last and the first. */
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

/* Return 1 if the iteration itself consists of iterations. */
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

/* Return the first phase of an item. */
static size_t origin_of(const struct folding *f, size_t i)
{
    for (; f->of; f = f->of)
        i = f->first[i];
    return i;
}

/* Read the iterations from found->begin on; the first is whole. Store the lengths of whole ones. */
static void read_turns(struct folding *f, size_t to, struct found *found)
{
    size_t parts = found->parts, i = found->begin, begin = i, length;

    found->end = begin;
    while (i + parts <= to && i - begin <= APART_MAX * parts) {
        if (!is_turn(f, i, found->begin, parts)) {
            i++;
            continue;
        }
        found->odd += (i - begin + parts - 1) / parts;
        length = origin_of(f, i + parts) - origin_of(f, i);
        found->length = found->whole > 0 ? found->length : length;
        found->even += length == found->length;
        found->cut = length < found->length && i + parts == to;
        f->length[found->whole++] = length_of(&f->phase[i], parts);
        i += parts;
        begin = found->end = i;
    }
}

/* Return the bits that an iteration's labels are worth if any label but the one before may follow,
 * as often as it occurs. */
static double bits_of_turn(const struct folding *f, const struct found *found)
{
    double bits = 0;

    for (size_t k = 0; k < found->parts; k++) {
        int label = f->phase[found->turn + k].label;
        int before = f->phase[found->begin + (k > 0 ? k : found->parts) - 1].label;

        bits -= log2(fmin(f->label[label].share / (1 - f->label[before].share), 1));
    }
    return bits;
}

/* Return 1 if the whole iterations after the first say more than their place, their length and the
 * outliers. Labels in random order also contain an iteration of many parts four times. */
static int is_no_chance(const struct folding *f, const struct found *found)
{
    double whole = (double)found->whole, odd = (double)found->odd, bits = bits_of_turn(f, found);

    return (whole - 1) * bits >
           log2((double)f->all) + log2((double)found->parts) + odd * (log2(whole + odd) + bits);
}

/* The parts of an iteration. */
struct makeup {
    size_t rows, words;
    size_t around; /* labels that no word has */
};

static int is_word(const struct folding *f, size_t i)
{
    return f->phase[i].label >= f->labels;
}

static struct makeup makeup_of(const struct folding *f, const struct found *found)
{
    struct makeup ret = {0};

    for (size_t k = found->turn; k < found->turn + found->parts; k++) {
        const struct label *label = &f->label[f->phase[k].label];

        ret.rows += label->rows;
        ret.words += is_word(f, k);
        ret.around += !is_word(f, k) && !label->is_inner;
    }
    return ret;
}

static int is_around(const struct found *found, const struct makeup *of)
{
    return of->words > 0 && found->parts > 2;
}

/* Iterations may be of any length if the same order of many labels is not due to chance. The order
 * of labels around an inner loop is not either. A broken iteration of the inner loop may be. */
static int is_loop(struct folding *f, const struct found *found, const struct makeup *of)
{
    size_t whole = found->whole;
    double middle;

    if (of->words > 0 && found->odd == 0 && found->even + found->cut == whole &&
        found->even >= TURNS_EVEN_MIN && found->length >= EVEN_PHASES_MIN)
        return 1;
    if (whole < (is_around(found, of) ? TURNS_AROUND_MIN : TURNS_MIN) || found->odd > whole / 2)
        return 0;
    if ((found->parts > FEW_PARTS || 2 * (found->end - found->begin) < f->all) &&
        !is_no_chance(f, found))
        return 0;
    if (of->words > 0
            ? of->around >= LABELS_AROUND
            : found->parts > FEW_PARTS || (found->parts == FEW_PARTS && is_no_chance(f, found)))
        return 1;
    middle = rps_select_middle(f->length, whole);
    return rps_select_rank(f->length, whole, whole * 3 / 4) <= VARIATION_MAX * middle;
}

/* Count the phases i ... end - 1 that have the label of a part. */
static size_t count_parts(const struct folding *f, size_t i, size_t end, const struct found *found)
{
    size_t count = 0;

    for (; i < end; i++) {
        size_t k = 0;

        while (k < found->parts && f->phase[i].label != f->phase[found->turn + k].label)
            k++;
        count += k < found->parts;
    }
    return count;
}

/* Return 1 if the items i ... end - 1 are the end of an iteration, or its beginning. A run of a
 * word may be cut off there. */
static int is_cut(const struct folding *f, const struct found *found, size_t i, size_t end,
                  int is_end)
{
    size_t count = end - i, part = found->turn + (is_end ? found->parts - count : 0);

    if (count == 0 || count > found->parts)
        return 0;
    for (; i < end; i++, part++) {
        int label = f->phase[i].label;

        if (label != f->phase[part].label &&
            !(f->label[label].is_inner && (is_word(f, part) || is_word(f, is_end ? i + 1 : i - 1))))
            return 0;
    }
    return 1;
}

/* Add the iterations that the start and the end of the run cut off. */
static void add_cut_turns(const struct folding *f, size_t from, size_t to, struct found *found)
{
    int is_first = is_cut(f, found, from, found->begin, 1);
    int is_last = is_cut(f, found, found->end, to, 0);

    found->begin = is_first ? from : found->begin;
    found->end = is_last ? to : found->end;
    found->odd += (size_t)(is_first + is_last);
}

/* Find the loop that saves the most rows. */
static struct found find_loop(struct folding *f, size_t from, size_t to)
{
    const size_t turns = f->words > 0 ? TURNS_AROUND_MIN : TURNS_MIN;
    const size_t odd_most = RPS_FOLD_ODD_NAMED + 1;
    struct found best = {0};

    for (size_t p = 2; p <= RPS_FOLD_PARTS_MAX && p * turns <= to - from; p++) {
        struct found found = {.parts = p};
        size_t begin = from, end = from, phases, odd;
        struct makeup makeup;

        if (2 * find_stretch(f, from, to, p, &begin, &end) < (turns - 1) * p)
            continue;
        found.turn = find_turn(f, begin, end, p);
        found.begin = find_first_turn(f, from, found.turn, p);
        if (is_periodic(f, found.begin, p))
            continue;
        read_turns(f, to, &found);
        makeup = makeup_of(f, &found);
        if (!is_loop(f, &found, &makeup))
            continue;
        odd = found.odd;
        if (is_around(&found, &makeup))
            add_cut_turns(f, from, to, &found);
        phases = origin_of(f, found.end) - origin_of(f, found.begin);
        if (phases <= makeup.rows + found.odd)
            continue;
        found.explained = phases - makeup.rows - odd;
        found.saved = phases - makeup.rows - (found.odd < odd_most ? found.odd : odd_most);
        if (found.saved > best.saved)
            best = found;
    }
    return best;
}

/* --- inner loops ------------------------------------------------------------------------------ */

/* Return how often the most frequent sequence of q labels follows itself, and where it first
 * occurs. */
static size_t count_repeats(struct folding *f, size_t from, size_t to, size_t q, size_t *ret_at)
{
    size_t alike = 0, most = 0;

    memset(f->table, 0, f->table_size * sizeof(*f->table));
    for (size_t i = to - q; i-- > from;) {
        uint64_t key = 0;
        size_t count;

        alike = f->phase[i].label == f->phase[i + q].label ? alike + 1 : 0;
        if (alike < q || is_periodic(f, i, q))
            continue;
        for (size_t k = 0; k + 1 < q; k++)
            key = key * UINT64_C(0x9e3779b97f4a7c15) + key_of(f, i + k, i + k + 1);
        count = count_sequence(f, key);
        if (count >= most) {
            most = count;
            *ret_at = i;
        }
    }
    return most;
}

/* Return the number of labels of the word that most often follows itself, and where it first
 * occurs. In nested loops, this is the innermost one. 0: there is none. */
static size_t find_word(struct folding *f, size_t from, size_t to, size_t *ret_at)
{
    size_t most = 0, parts = 0, at = from;

    for (size_t q = 2; q <= WORD_MAX && 2 * q <= to - from; q++) {
        size_t count = count_repeats(f, from, to, q, &at);

        if (count > most) {
            most = count;
            parts = q;
            *ret_at = at;
        }
    }
    return parts;
}

/* Add a label for the word that first occurs at this item of the folding before. */
static void add_label(struct folding *items, size_t at)
{
    size_t labels = (size_t)(items->labels + items->words);
    struct label *label = rps_arena_get(items->scratch, labels, sizeof(*label));
    struct label *word = &label[labels - 1];

    memcpy(label, items->of->label, (labels - 1) * sizeof(*label));
    word->rows = 1;
    for (size_t k = at; k < at + items->word_parts; k++) {
        label[items->of->phase[k].label].is_inner = 1;
        word->rows += label[items->of->phase[k].label].rows;
    }
    for (size_t l = 0; l < labels; l++)
        label[l].share = 0;
    for (size_t i = 0; i < items->all; i++)
        label[items->phase[i].label].share += 1 / (double)items->all;
    items->label = label;
}

/* A beginning of the word that follows a run of it is part of the item, or only at the end. */
enum rest { REST_NONE, REST_AT_END, REST_ANY, RESTS };

/* Return the items from ... to - 1 with each run of a word as one item. NULL: no word follows
 * itself often enough. */
static struct folding *make_items(struct folding *f, size_t from, size_t to, enum rest rest)
{
    size_t at = from, q = f->words < RPS_PHASE_INNER_MAX ? find_word(f, from, to, &at) : 0;
    size_t repeats = 0, runs = 0, *first = NULL, end;
    struct folding *items;
    int has_rest = rest == REST_NONE;

    if (q == 0)
        return NULL;
    items = rps_arena_get(f->scratch, 1, sizeof(*items));
    *items = *f;
    items->of = f;
    items->phase = NULL;
    items->all = 0;
    items->words++;
    items->word_parts = q;
    for (size_t i = from, begin = i; i < to; begin = i) {
        struct rps_phase *item;

        items->phase = rps_arena_grow(f->scratch, items->phase, items->all, sizeof(*items->phase));
        first = rps_arena_grow(f->scratch, first, items->all, sizeof(*first));
        item = &items->phase[items->all];
        *item = f->phase[i];
        first[items->all++] = i;
        for (; i + q <= to && is_turn(f, i, at, q); i += q, repeats++)
            item->last = f->phase[i + q - 1].last;
        end = i;
        for (size_t k = at; i > begin && end < to && f->phase[end].label == f->phase[k].label; k++)
            end++;
        if (end > i && (rest == REST_ANY || (rest == REST_AT_END && end == to))) {
            item->last = f->phase[end - 1].last;
            i = end;
            has_rest = 1;
        }
        item->label = i > begin ? items->labels + f->words : item->label;
        runs += i > begin;
        i += i == begin;
    }
    items->first = first = rps_arena_grow(f->scratch, first, items->all, sizeof(*first));
    first[items->all] = to;
    add_label(items, at);
    return has_rest && repeats >= WORD_REPEATS_MIN * runs ? items : NULL;
}

/* Find the loop that explains most phases, with inner loops or without. *ret_items gets its
 * items. */
static struct found find_best(struct folding *f, size_t from, size_t to, struct folding **ret_items)
{
    struct found best = find_loop(f, from, to);

    *ret_items = f;
    for (enum rest rest = REST_NONE; rest < RESTS; rest++) {
        struct folding *items = make_items(f, from, to, rest), *of = NULL;
        struct found nested = {0};

        if (items)
            nested = find_best(items, 0, items->all, &of);
        if (nested.saved == 0 ||
            nested.explained < best.explained + REST_ROWS_MIN * (rest == REST_ANY))
            continue;
        *ret_items = of;
        best = nested;
    }
    return best;
}

/* --- marking ---------------------------------------------------------------------------------- */

/* Number the runs of words in an iteration, and the inner iterations through all of these runs. */
static void number_runs(const struct folding *items, struct rps_phase *phase, size_t i, size_t end)
{
    int turns = 0;

    for (size_t k = i; k < end; k++) {
        size_t next = origin_of(items, k + 1);

        for (size_t p = origin_of(items, k); p < next && is_word(items, k); p++) {
            phase[p].inner[0].run = (int)(k - i) + 1;
            phase[p].inner[0].turn += turns;
        }
        turns = is_word(items, k) ? phase[next - 1].inner[0].turn : turns;
    }
}

/* Store in the phases of a word, items i ... end - 1, their iterations and parts. */
static void mark_word(const struct folding *items, struct rps_phase *phase, size_t i, size_t end,
                      size_t parts)
{
    for (int turn = 1; i < end; i += parts, turn++) {
        size_t turn_end = i + parts < end ? i + parts : end;
        size_t first = origin_of(items, i), next = origin_of(items, turn_end);

        number_runs(items, phase, i, turn_end);
        for (size_t p = first; p < next; p++) {
            memmove(&phase[p].inner[1], phase[p].inner,
                    (RPS_PHASE_INNER_MAX - 1) * sizeof(*phase[p].inner));
            phase[p].inner[0] = (struct rps_inner_turn){.turn = turn, .part = (int)(p - first) + 1};
        }
    }
}

/* Mark the words in phases begin ... end - 1, the innermost first. */
static void mark_words(const struct folding *items, struct rps_phase *phase, size_t begin,
                       size_t end)
{
    if (!items->of)
        return;
    mark_words(items->of, phase, begin, end);
    for (size_t k = 0; k < items->all; k++) {
        if (items->phase[k].label == items->labels + items->words - 1 &&
            origin_of(items, k) >= begin && origin_of(items, k) < end)
            mark_word(items->of, phase, items->first[k], items->first[k + 1], items->word_parts);
    }
}

/* Store in the phases of items i ... end - 1 that they are in the iteration that began last. */
static void mark_turn(struct folding *f, const struct folding *items, size_t i, size_t end,
                      int is_whole)
{
    size_t first = origin_of(items, i), next = origin_of(items, end);

    for (size_t p = first; p < next; p++) {
        f->phase[p].loop = f->loops;
        f->phase[p].turn = f->turns;
        f->phase[p].part = is_whole ? (int)(p - first) + 1 : 0;
    }
    number_runs(items, f->phase, i, end);
}

/* Store in the phases their loop, iteration and part. Phases between two whole iterations are one
 * iteration, or the end of the one before if they are less than half the parts. */
static void mark(struct folding *f, const struct folding *items, const struct found *found)
{
    size_t parts = found->parts, begin = found->begin;

    mark_words(items, f->phase, origin_of(items, begin), origin_of(items, found->end));
    f->loops++;
    for (size_t i = begin; i + parts <= found->end;) {
        if (!is_turn(items, i, found->turn, parts)) {
            i++;
            continue;
        }
        f->turns += i > begin &&
                    (2 * count_parts(items, begin, i, found) >= parts || begin == found->begin);
        mark_turn(f, items, begin, i, 0);
        f->turns++;
        mark_turn(f, items, i, i + parts, 1);
        i += parts;
        begin = i;
    }
    f->turns += begin < found->end;
    mark_turn(f, items, begin, found->end, 0);
    f->saved += found->saved;
}

static void fold(struct folding *f, size_t from, size_t to, int depth)
{
    struct found loop = {0};
    struct folding *items;

    if (depth <= DEPTH_MAX)
        loop = find_best(f, from, to, &items);
    if (loop.saved == 0)
        return;
    fold(f, from, origin_of(items, loop.begin), depth + 1);
    mark(f, items, &loop);
    fold(f, origin_of(items, loop.end), to, depth + 1);
}

size_t rps_fold(struct rps_phases *phases, size_t from, size_t to)
{
    struct folding f = {.scratch = rps_arena_new(),
                        .phase = phases->phase,
                        .all = to - from,
                        .labels = phases->label_count,
                        .table_size = 2};

    while (f.table_size < 2 * (to - from))
        f.table_size *= 2;
    f.table = rps_arena_get(f.scratch, f.table_size, sizeof(*f.table));
    f.length = rps_arena_get(f.scratch, to - from + 1, sizeof(*f.length));
    f.label = rps_arena_get(f.scratch, (size_t)phases->label_count + 1, sizeof(*f.label));
    for (size_t i = from; i < to; i++) {
        struct rps_phase *phase = &phases->phase[i];

        f.label[phase->label].share += 1 / (double)f.all;
        f.label[phase->label].rows = 1;
        phase->loop = phase->turn = phase->part = 0;
        memset(phase->inner, 0, sizeof(phase->inner));
    }
    fold(&f, from, to, 0);
    rps_arena_free(f.scratch);
    return to - from - f.saved;
}
