/* Find loops in labels; see rpistat/loops.h.
 *
 * In a loop of p parts, the label of each phase equals the label of the phase that follows p phases
 * later. If a part is missing or inserted, only about p labels differ from the label p phases
 * later. So the search chooses the range with the highest score. Each equal pair adds one to the
 * score, and each different pair subtracts one (Kadane). The iteration is the most frequent
 * sequence of p labels in this range. Sequences that differ only in where the iteration begins are
 * counted together. The run is then read iteration by iteration.
 *
 * Nested loops are found from the inside. The shortest sequence that often follows itself is called
 * a word. Consecutive repetitions of a word are called a run of this word. Each run becomes one
 * item with a separate label, and the items are folded like labels. These items may contain words
 * too, so the step is repeated. If words save more rows, the result with words is used. Otherwise
 * the result without words is used. */
#include "rpistat/loops.h"

#include <math.h>
#include <string.h>

#include "detect_math.h"

#define ITERATIONS_MIN 4

/* A loop without inner loops needs only this many iterations if they cover half of all phases. They
 * must have about equal lengths and no outliers, and must not be due to chance. */
#define ITERATIONS_FEW_MIN 3

#define DEPTH_MAX 8 /* maximum recursion depth of the search before and after a loop */

/* Minimum number of iterations of a loop that contains an inner loop and at least two other parts.
 * Other loops need more iterations, but an inner loop is evidence too. */
#define ITERATIONS_AROUND_MIN 2

/* Minimum number of iterations if all iterations repeat their inner loops equally often. Each
 * iteration must also have at least EVEN_PHASES_MIN phases. */
#define ITERATIONS_EVEN_MIN 3
#define EVEN_PHASES_MIN     9

/* Iterations may have any lengths if at least this many parts have labels of no inner loop. */
#define LABELS_AROUND 2

#define WORD_MAX         16 /* maximum labels per word */
#define WORD_REPEATS_MIN 2  /* minimum mean number of repetitions of a word in a row */

/* If incomplete iterations of words are accepted, at least this many more rows must be saved. The
 * reason is that an incomplete iteration is often a separate part. */
#define REST_ROWS_MIN 4

/* Maximum distance between two whole iterations of one loop, in lengths of an iteration. */
#define APART_MAX 6

/* Loops of at most PARTS_THRESHOLD parts must cover half of all phases or pass a test against
 * chance. In addition, three quarters of the iterations must have lengths that differ from the
 * median by at most VARIATION_MAX. */
#define PARTS_THRESHOLD 3
#define VARIATION_MAX   .25

/* A sequence of labels and the number of its occurrences. */
struct sequence {
    uint64_t key; /* key of the sequence; 0: unused entry */
    size_t count;
};

/* A label of phases. Labels with a number of at least `labels` are labels of words. */
struct label {
    double share; /* number of items with the label / number of items */
    size_t rows;  /* rows of a word: a row for the word itself, and the rows of its parts */
    int is_inner; /* 1: the label is part of a word */
};

struct folding {
    struct rps_arena *scratch;
    struct rps_phase *phase; /* phases, or items: runs of words, and the phases between them */
    size_t all;              /* number of items */
    struct label *label;
    int labels;             /* number of labels of phases */
    size_t table_size;      /* a power of two, more than twice the number of phases */
    struct sequence *table; /* scratch: hash table with open addressing */
    double *length;         /* scratch: lengths of whole iterations */
    int loops, turns;       /* number of loops and of iterations found so far */
    size_t saved;           /* rows saved so far */

    const struct folding *of; /* the folding these items come from; NULL: items are phases */
    const size_t *first;      /* first[i]: the first item of `of` that item i contains; has one
                                 more entry for the end */
    int words;                /* number of words, each with a separate label */
    size_t word_parts;        /* number of parts of the most recently found word */
};

struct found {
    size_t parts, begin, end;
    size_t turn;       /* start of the first whole iteration */
    size_t whole, odd; /* number of whole iterations and of outlier iterations (outlier phases
                          are counted as the iterations that their number would make) */
    size_t saved;      /* rows that the loop saves; 0: no loop was found */
    size_t explained;  /* number of saved rows if each outlier had a separate row (cut-off
                          outliers excepted) */
    size_t length;     /* number of phases in the first whole iteration */
    size_t even, cut;  /* even: number of iterations with this length; cut: 1 if the end of the
                          run cuts off the last iteration */
};

static double length_of(const struct rps_phase *phase, size_t count)
{
    return (double)(phase[count - 1].last + 1 - phase[0].first);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Find the range within from ... to - 1 in which phases most often have the label of the phase p
 * phases later. Return the number of equal pairs minus the number of different pairs. */
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

/* Return the key of a pair of consecutive labels (SplitMix64's mixing). */
static uint64_t key_of(const struct folding *f, size_t i, size_t next)
{
    uint64_t key = (uint64_t)f->phase[i].label << 32 | (uint32_t)f->phase[next].label;

    key = (key + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    return key ^ key >> 31;
}

/* Count one more occurrence of a sequence. Return the number of occurrences so far. */
static size_t count_sequence(struct folding *f, uint64_t key)
{
    size_t at = (size_t)key & (f->table_size - 1);

    while (f->table[at].count > 0 && f->table[at].key != key)
        at = (at + 1) & (f->table_size - 1);
    f->table[at].key = key;
    return ++f->table[at].count;
}

/* Find the first occurrence of the most frequent sequence of p labels. The key of a sequence is the
 * sum of the keys of its pairs, including the pair of the last and the first label. So the key does
 * not depend on where the iteration begins. */
static size_t find_iteration(struct folding *f, size_t from, size_t to, size_t p)
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

static int is_iteration(const struct folding *f, size_t at, size_t turn, size_t parts)
{
    size_t k = 0;

    while (k < parts && f->phase[at + k].label == f->phase[turn + k].label)
        k++;
    return k == parts;
}

/* Return 1 if the iteration consists of repetitions of a shorter sequence. */
static int is_periodic(const struct folding *f, size_t at, size_t parts)
{
    for (size_t p = 1; p <= parts / 2; p++) {
        if (parts % p == 0 && is_iteration(f, at + p, at, parts - p))
            return 1;
    }
    return 0;
}

/* Find the first iteration that equals the iteration at `turn` and belongs to the same loop.
 * Earlier iterations belong to the loop even if other phases interrupt it, up to APART_MAX. */
static size_t find_first_iteration(const struct folding *f, size_t from, size_t turn, size_t parts)
{
    size_t first = turn;

    for (size_t i = turn; i-- > from && first - i <= APART_MAX * parts;) {
        if (i + parts <= first && is_iteration(f, i, turn, parts))
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

/* Read the iterations from found->begin on. Store the lengths of whole iterations. */
static void read_iterations(struct folding *f, size_t to, struct found *found)
{
    size_t parts = found->parts, i = found->begin, begin = i, length;

    found->end = begin;
    while (i + parts <= to && i - begin <= APART_MAX * parts) {
        if (!is_iteration(f, i, found->begin, parts)) {
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

/* Return the information in an iteration's labels, in bits. In the model, each label is followed by
 * any other label. The probability of a label is proportional to its frequency. */
static double bits_of_iteration(const struct folding *f, const struct found *found)
{
    double bits = 0;

    for (size_t k = 0; k < found->parts; k++) {
        int label = f->phase[found->turn + k].label;
        int before = f->phase[found->begin + (k > 0 ? k : found->parts) - 1].label;

        bits -= log2(fmin(f->label[label].share / (1 - f->label[before].share), 1));
    }
    return bits;
}

/* Return 1 if the loop is not due to chance. The whole iterations after the first must have more
 * bits than a description of the loop's position, length and outliers needs. Without this test,
 * labels in random order would be loops, because they may repeat a long sequence four times. */
static int is_no_chance(const struct folding *f, const struct found *found)
{
    double whole = (double)found->whole, odd = (double)found->odd,
           bits = bits_of_iteration(f, found);

    return (whole - 1) * bits >
           log2((double)f->all) + log2((double)found->parts) + odd * (log2(whole + odd) + bits);
}

/* Composition of an iteration. */
struct makeup {
    size_t rows, words;
    size_t around; /* number of labels that no word contains */
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

/* Return 1 if three quarters of the iterations have lengths near the median. */
static int are_even(struct folding *f, size_t whole)
{
    const double middle = rps_select_middle(f->length, whole);

    return rps_select_rank(f->length, whole, whole * 3 / 4) <= VARIATION_MAX * middle;
}

/* Return 1 if the iterations are a loop. `has_first` is the result of add_first. If the order of
 * many labels is the same and this is not due to chance, the lengths of iterations may vary freely.
 * The same is true for many labels outside the inner loops. Labels of an inner loop are not
 * evidence, because an incomplete iteration of an inner loop may be due to chance. */
static int is_loop(struct folding *f, const struct found *found, const struct makeup *of,
                   size_t has_first)
{
    const size_t whole = found->whole;
    const int is_most = 2 * (found->end - found->begin) >= f->all;

    if (of->words > 0 && found->odd == 0 && found->even + found->cut == whole &&
        found->even >= ITERATIONS_EVEN_MIN && found->length >= EVEN_PHASES_MIN)
        return 1;
    if (whole < ITERATIONS_MIN && of->words == 0)
        return whole + has_first >= ITERATIONS_FEW_MIN && found->odd == 0 && is_most &&
               is_no_chance(f, found) && are_even(f, whole + has_first);
    if (whole < (is_around(found, of) ? ITERATIONS_AROUND_MIN : ITERATIONS_MIN) ||
        found->odd > whole / 2)
        return 0;
    if ((found->parts > PARTS_THRESHOLD || !is_most) && !is_no_chance(f, found))
        return 0;
    if (of->words > 0 ? of->around >= LABELS_AROUND
                      : found->parts > PARTS_THRESHOLD ||
                            (found->parts == PARTS_THRESHOLD && is_no_chance(f, found)))
        return 1;
    return are_even(f, whole);
}

/* Count the phases i ... end - 1 whose label is the label of a part of the loop. */
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

/* Return 1 if the items i ... end - 1 are the end or the beginning of an iteration. In such a
 * cut-off iteration, a run of a word may be incomplete too. */
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

/* If one iteration is missing, and the phases before the loop have the same labels in most parts,
 * add these phases as the first iteration. The end of the run moves the start of all iterations.
 * Return the number of added iterations. */
static size_t add_first(struct folding *f, size_t from, size_t to, struct found *found)
{
    const size_t parts = found->parts;
    size_t shift = 0, same = 0, begin;

    while (found->end + shift < to &&
           f->phase[found->end + shift].label == f->phase[found->end + shift - parts].label)
        shift++;
    begin = found->begin + shift;
    if (found->whole + 1 != ITERATIONS_FEW_MIN || found->odd > 0 || begin < from + parts)
        return 0;
    for (size_t k = 0; k < parts; k++)
        same += f->phase[begin - parts + k].label == f->phase[begin + k].label;
    if (2 * same <= parts)
        return 0;
    found->turn = begin;
    found->begin = begin - parts;
    found->end += shift;
    for (size_t k = 0; k <= found->whole; k++)
        f->length[k] = length_of(&f->phase[found->begin + k * parts], parts);
    return 1;
}

/* Find the loop that saves the most rows. */
static struct found find_loop(struct folding *f, size_t from, size_t to)
{
    const size_t turns = f->words > 0 ? ITERATIONS_AROUND_MIN : ITERATIONS_FEW_MIN - 1;
    const size_t outliers_max = RPS_LOOPS_OUTLIERS_NAMED + 1;
    struct found best = {0};

    for (size_t p = 2; p <= RPS_LOOPS_PARTS_MAX && p * turns <= to - from; p++) {
        struct found found = {.parts = p};
        size_t begin = from, end = from, phases, odd, has_first;
        struct makeup makeup;

        if (2 * find_stretch(f, from, to, p, &begin, &end) < (turns - 1) * p)
            continue;
        found.turn = find_iteration(f, begin, end, p);
        found.begin = find_first_iteration(f, from, found.turn, p);
        if (is_periodic(f, found.begin, p))
            continue;
        read_iterations(f, to, &found);
        has_first = f->words == 0 && add_first(f, from, to, &found);
        makeup = makeup_of(f, &found);
        if (!is_loop(f, &found, &makeup, has_first))
            continue;
        found.odd += has_first;
        odd = found.odd;
        /* Add the iterations that are cut off by the start and the end of the run. */
        if (is_around(&found, &makeup)) {
            int is_first = is_cut(f, &found, from, found.begin, 1);
            int is_last = is_cut(f, &found, found.end, to, 0);

            found.begin = is_first ? from : found.begin;
            found.end = is_last ? to : found.end;
            found.odd += (size_t)(is_first + is_last);
        }
        phases = origin_of(f, found.end) - origin_of(f, found.begin);
        if (phases <= makeup.rows + found.odd)
            continue;
        found.explained = phases - makeup.rows - odd;
        found.saved = phases - makeup.rows - (found.odd < outliers_max ? found.odd : outliers_max);
        if (found.saved > best.saved)
            best = found;
    }
    return best;
}

/* --- inner loops ------------------------------------------------------------------------------ */

/* Return how often the most frequent sequence of q labels follows itself. Also store the position
 * of the sequence's first occurrence. */
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

/* Return the number of labels of the word that most often follows itself, or 0 if there is none.
 * Also store the position of the word's first occurrence. In nested loops, the word is an iteration
 * of the innermost loop. */
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

/* Add a label for the word whose first occurrence is item `at` of the previous folding. */
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

/* Where an incomplete word joins the run before it: nowhere, only at the end, or everywhere. */
enum rest { REST_NONE, REST_AT_END, REST_ANY, RESTS };

/* Return the items from ... to - 1, with each run of a word as one item. Return NULL if no word
 * follows itself often enough. */
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
        for (; i + q <= to && is_iteration(f, i, at, q); i += q, repeats++)
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

/* Find the loop that explains the largest number of phases, with or without inner loops.
 * *ret_items: the items of the loop. */
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

/* Number the runs of words in an iteration. Number the inner iterations across all these runs. */
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

/* Store the numbers of iteration and part in each phase of the word of items i ... end - 1. */
static void mark_word(const struct folding *items, struct rps_phase *phase, size_t i, size_t end,
                      size_t parts)
{
    for (int turn = 1; i < end; i += parts, turn++) {
        size_t iteration_end = i + parts < end ? i + parts : end;
        size_t first = origin_of(items, i), next = origin_of(items, iteration_end);

        number_runs(items, phase, i, iteration_end);
        for (size_t p = first; p < next; p++) {
            memmove(&phase[p].inner[1], phase[p].inner,
                    (RPS_PHASE_INNER_MAX - 1) * sizeof(*phase[p].inner));
            phase[p].inner[0] = (struct rps_inner_turn){.turn = turn, .part = (int)(p - first) + 1};
        }
    }
}

/* Mark the words in the phases begin ... end - 1, starting with the innermost words. */
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

/* Store in the phases of items i ... end - 1 that they belong to the current iteration. */
static void mark_iteration(struct folding *f, const struct folding *items, size_t i, size_t end,
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

/* Store the numbers of loop, iteration and part in each phase. Phases between two whole iterations
 * become one more iteration. However, if their number is below half of the number of parts, these
 * phases extend the previous iteration. */
static void mark(struct folding *f, const struct folding *items, const struct found *found)
{
    size_t parts = found->parts, begin = found->begin;

    mark_words(items, f->phase, origin_of(items, begin), origin_of(items, found->end));
    f->loops++;
    for (size_t i = begin; i + parts <= found->end;) {
        if (!is_iteration(items, i, found->turn, parts)) {
            i++;
            continue;
        }
        f->turns += i > begin &&
                    (2 * count_parts(items, begin, i, found) >= parts || begin == found->begin);
        mark_iteration(f, items, begin, i, 0);
        f->turns++;
        mark_iteration(f, items, i, i + parts, 1);
        i += parts;
        begin = i;
    }
    f->turns += begin < found->end;
    mark_iteration(f, items, begin, found->end, 0);
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

size_t rps_loops_fold(struct rps_phases *phases, size_t from, size_t to)
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
