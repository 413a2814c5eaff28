/* Benchmark of the confidence intervals: do 95 of 100 intervals contain the true value?
 *
 * usage: intervals simulated RUNS | coverage RUNS [CLASS] | thinned RUNS | recorded STORE
 *
 * The totals of all series are known. A series is read as if its event had been counted in
 * rotation, by each of 2, 4 and 7 event sets. The estimate and interval of every set are compared
 * with the total. `simulated` makes RUNS series (series.c) of each kind, length and number of sets,
 * equal in every run. `thinned` also reads them as blocks of 16 and of 256 rotations, both with the
 * scatter of their periods and, as in older stores, without. `recorded` uses the events of each run
 * of STORE, counted all the time in one set. `coverage` prints the share of intervals that contain
 * the total, by class. There are columns without the rule for ends and starts, with the rule, and
 * with record --fine-start. The script tests/bench/intervals runs all parts. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/formula.h"
#include "rpistat/order.h"
#include "rpistat/period.h"
#include "rpistat/plan.h"
#include "rpistat/random.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/tally.h"
#include "series.h"
#include "store/writer.h"

#define SETS_MAX       7
#define CERTAINTIES    (RPS_CERTAINTY_HARDLY + 1)
#define LENGTHS        3
#define LENGTH_LONGEST 3000

static const int sets_of[] = {2, 4, SETS_MAX};
static const size_t length_of[LENGTHS] = {60, 300, LENGTH_LONGEST};

static void *must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "intervals: no memory\n");
        exit(1);
    }
    return memory;
}

static void must_do(int result, const struct rps_error *err)
{
    if (result < 0) {
        fprintf(stderr, "intervals: %s\n", err->message);
        exit(1);
    }
}

/* --- quantiles -------------------------------------------------------------------------------- */

struct values {
    size_t count, room;
    double *value;
};

static void add_value(struct values *values, double value)
{
    if (values->count == values->room) {
        values->room = values->room * 2 + 64;
        values->value = must(realloc(values->value, values->room * sizeof(*values->value)));
    }
    values->value[values->count++] = value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(struct values *values, double part)
{
    if (values->count == 0)
        return NAN;
    qsort(values->value, values->count, sizeof(*values->value), compare);
    return values->value[(size_t)(part * (double)(values->count - 1) + .5)];
}

/* --- scores ----------------------------------------------------------------------------------- */

struct score {
    size_t cases, of[CERTAINTIES];
    size_t given[LENGTHS], held[LENGTHS]; /* intervals, by length of the series */
    struct values width, error; /* half width and true error of estimates with an interval */
    struct values any_error;    /* true error of all estimates, with or without an interval */
};

static void judge(struct score *score, int length, const struct rps_interval *interval,
                  double truth)
{
    double error = fabs(interval->value / truth - 1), slack = 1e-9 * truth;

    score->cases++;
    score->of[interval->certainty]++;
    if (interval->certainty != RPS_CERTAINTY_NONE)
        add_value(&score->any_error, error);
    if (!rps_interval_has_ends(interval) || isnan(interval->low))
        return;
    score->given[length]++;
    score->held[length] += interval->low - slack <= truth && !(truth > interval->high + slack);
    if (isfinite(interval->high))
        add_value(&score->width, (interval->high - interval->low) / 2 / interval->value);
    add_value(&score->error, error);
}

static void join_values(struct values *all, const struct values *values)
{
    for (size_t i = 0; i < values->count; i++)
        add_value(all, values->value[i]);
}

static void join(struct score *all, const struct score *score)
{
    all->cases += score->cases;
    for (int c = 0; c < CERTAINTIES; c++)
        all->of[c] += score->of[c];
    for (int l = 0; l < LENGTHS; l++) {
        all->given[l] += score->given[l];
        all->held[l] += score->held[l];
    }
    join_values(&all->width, &score->width);
    join_values(&all->error, &score->error);
    join_values(&all->any_error, &score->any_error);
}

static void free_score(struct score *score)
{
    free(score->width.value);
    free(score->error.value);
    free(score->any_error.value);
    memset(score, 0, sizeof(*score));
}

static double percent(size_t part, size_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : NAN;
}

static size_t held(const struct score *score)
{
    return score->held[0] + score->held[1] + score->held[2];
}

static size_t given(const struct score *score)
{
    return score->given[0] + score->given[1] + score->given[2];
}

static void print_head(const char *what, int lengths)
{
    printf("\n%-32s %4s %8s %7s %7s", what, "sets", "cases", "given", "held");
    for (int l = 0; l < lengths; l++)
        printf(" %7zu", length_of[l]);
    printf(" %8s %8s  %s\n", "+-", "error", "otherwise");
}

static void print_row(const char *name, int sets, struct score *score, int lengths)
{
    const char *comma = "";
    char of_sets[16] = "";

    if (sets > 0)
        snprintf(of_sets, sizeof(of_sets), "%d", sets);
    printf("%-32s %4s %8zu %6.1f%% %6.1f%%", name, of_sets, score->cases,
           percent(given(score), score->cases), percent(held(score), given(score)));
    for (int l = 0; l < lengths; l++)
        printf(" %6.1f%%", percent(score->held[l], score->given[l]));
    printf(" %7.2f%% %7.2f%%  ", 100 * quantile(&score->width, .5),
           100 * quantile(&score->error, .5));
    for (int c = 0; c < CERTAINTIES; c++) {
        if (c == RPS_CERTAINTY_INTERVAL || score->of[c] == 0)
            continue;
        printf("%s%s %.1f%%", comma, c == RPS_CERTAINTY_NONE ? "no value" : rps_certainty_name(c),
               percent(score->of[c], score->cases));
        comma = ", ";
    }
    printf("\n");
    fflush(stdout);
}

/* --- reading in turns ------------------------------------------------------------------------- */

/* One series of several events, read again and again. */
struct bench {
    struct rps_arena *arena;             /* arena that holds the tallies */
    struct rps_plan *plan[SETS_MAX + 1]; /* plan for each number of sets; each set has all events */
    struct rps_tally tally[SETS_MAX + 1];
    double *operand;
};

static void init_bench(struct bench *bench, int slots)
{
    memset(bench, 0, sizeof(*bench));
    bench->arena = rps_arena_new();
    for (int sets = 1; sets <= SETS_MAX; sets++) {
        bench->plan[sets] = must(rps_plan_new());
        for (int n = 0; n < sets; n++) {
            struct rps_event_set *set = must(rps_plan_add_set(bench->plan[sets]));

            set->event_count = slots;
        }
        bench->tally[sets] = rps_tally_new(bench->arena, bench->plan[sets]);
    }
    bench->operand = must(
        calloc((size_t)rps_plan_operand_count(bench->plan[SETS_MAX]), sizeof(*bench->operand)));
}

static void free_bench(struct bench *bench)
{
    for (int sets = 1; sets <= SETS_MAX; sets++)
        rps_plan_free(bench->plan[sets]);
    rps_arena_free(bench->arena);
    free(bench->operand);
}

/* Tally the series as `sets` event sets would have counted it. One set sees the whole series. */
static const struct rps_tally *read_in_turns(struct bench *bench, int sets,
                                             const struct rps_order *order,
                                             const struct rps_period *period, size_t count)
{
    struct rps_tally *tally = &bench->tally[sets];

    rps_tally_reset(tally);
    for (size_t i = 0; i < count; i++) {
        struct rps_period one = period[i];

        one.rotation = i / (size_t)sets;
        one.set_no = (uint32_t)rps_order_set(order, sets, i);
        rps_tally_add(tally, &one);
    }
    return tally;
}

static int operand_of(int set, int slot)
{
    return RPS_OPERAND_EVENTS + set * RPS_SLOT_MAX + slot;
}

/* Return the interval of the ratio of slot b in set y to slot a in set x. */
static struct rps_interval ratio_interval(struct bench *bench, int sets, int y, int b, int x, int a)
{
    struct rps_formula ratio = {3,
                                {{RPS_FORMULA_OPERAND, operand_of(y, b), 0},
                                 {RPS_FORMULA_OPERAND, operand_of(x, a), 0},
                                 {RPS_FORMULA_DIVIDE, 0, 0}}};

    return rps_tally_formula_interval(&bench->tally[sets], &ratio, bench->operand);
}

/* Judge the ratio of slot b to slot a, both within one set and across neighbouring sets. */
static void judge_ratios(struct bench *bench, int sets, int b, int a, double truth, int length,
                         struct score *within, struct score *across)
{
    rps_tally_operands(&bench->tally[sets], bench->plan[sets], bench->operand);
    for (int n = 0; n < sets; n++) {
        struct rps_interval interval = ratio_interval(bench, sets, n, b, n, a);

        judge(within, length, &interval, truth);
        interval = ratio_interval(bench, sets, (n + 1) % sets, b, n, a);
        judge(across, length, &interval, truth);
    }
}

/* --- simulated -------------------------------------------------------------------------------- */

/* Return a different seed for each run. */
static uint64_t seed_of(const struct bench_kind *kind, int sets, size_t count, int run)
{
    uint64_t seed = UINT64_C(14695981039346656037);

    for (const char *c = kind->name; *c; c++)
        seed = (seed ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return rps_random_at(seed + (uint64_t)(sets * 10000) + count, (uint64_t)run);
}

/* Make and read run number `run`. Store the totals of its events in truth[]. */
static const struct rps_tally *simulate(struct bench *bench, const struct bench_kind *kind,
                                        int sets, int slots, size_t count, int run, double truth[2])
{
    static struct rps_period period[LENGTH_LONGEST];
    uint64_t random = seed_of(kind, sets, count, run);
    struct rps_order order = {kind->random_order, random};

    bench_make_series(kind, &random, sets, slots, period, count);
    truth[0] = truth[1] = 0;
    for (size_t i = 0; i < count; i++) {
        truth[0] += (double)period[i].count[0];
        truth[1] += (double)period[i].count[1];
    }
    return read_in_turns(bench, sets, &order, period, count);
}

/* --- coverage --------------------------------------------------------------------------------- */

/* A period has GRAINS parts of 10 ms. With --fine-start there are at most FINE_MORE more periods.
 */
#define GRAINS    10
#define FINE_MORE 300

/* Make and read a run with a different event in each set. Store the totals of the events in
 * truth[]. */
static const struct rps_tally *simulate_apart(struct bench *bench, const struct bench_kind *kind,
                                              int sets, size_t count, int run,
                                              enum bench_start start, double truth[SETS_MAX])
{
    static struct rps_period one[LENGTH_LONGEST + FINE_MORE], period[LENGTH_LONGEST + FINE_MORE];
    uint64_t random = seed_of(kind, sets, count, run);
    struct rps_order order = {kind->random_order, random};
    size_t made = 0;

    for (int n = 0; n < sets; n++) {
        made = bench_make_grains(kind, &random, sets, 1, one, count, GRAINS, start);
        truth[n] = 0;
        for (size_t i = 0; i < made; i++) {
            truth[n] += (double)one[i].count[0];
            if (rps_order_set(&order, sets, i) == n)
                period[i] = one[i];
        }
    }
    return read_in_turns(bench, sets, &order, period, made);
}

/* Judge the printed intervals of a kind of series. If `rule` is 0, the rule for ends and starts is
 * not applied. */
static void judge_apart(struct bench *bench, const struct bench_kind *kind, int runs,
                        enum bench_start start, int rule, struct score *score)
{
    for (size_t s = 0; s < RPS_COUNT(sets_of); s++)
        for (int length = 0; length < LENGTHS; length++)
            for (int run = 0; run < runs; run++) {
                double truth[SETS_MAX];
                struct rps_tally tally =
                    *simulate_apart(bench, kind, sets_of[s], length_of[length], run, start, truth);

                tally.has_blocks = !rule;
                for (int n = 0; n < sets_of[s]; n++) {
                    struct rps_interval interval = rps_tally_interval(&tally, n, 0);

                    if (interval.certainty != RPS_CERTAINTY_INTERVAL)
                        interval.low = interval.high = NAN; /* Words are printed instead of an
                                                               interval. */
                    judge(score, length, &interval, truth[n]);
                }
            }
}

/* Print the coverage of a class (NULL: of all classes). */
static void print_coverage(int runs, const char *class)
{
    static const struct {
        const char *name;
        enum bench_start start;
        int rule;
    } way[] = {{"no rule", BENCH_START_EQUAL, 0},
               {"rule", BENCH_START_SHORT, 1},
               {"rule, --fine-start", BENCH_START_FINE, 1}};
    struct bench bench;

    init_bench(&bench, 1);
    printf(
        "coverage: printed intervals that hold, by length of the run in periods; --order random\n");
    for (size_t w = 0; w < RPS_COUNT(way); w++) {
        print_head(way[w].name, LENGTHS);
        for (const struct bench_kind *kind = bench_edges; kind->name; kind++) {
            struct score score = {0};

            if (class && strcmp(class, kind->name) != 0)
                continue;
            judge_apart(&bench, kind, runs, way[w].start, way[w].rule, &score);
            print_row(kind->name, 0, &score, LENGTHS);
            free_score(&score);
        }
    }
    free_bench(&bench);
}

/* --- simulated, continued --------------------------------------------------------------------- */

static void judge_kind(struct bench *bench, const struct bench_kind *kind, int sets, int length,
                       int runs, struct score *score)
{
    for (int run = 0; run < runs; run++) {
        double truth[2];
        const struct rps_tally *tally =
            simulate(bench, kind, sets, 1, length_of[length], run, truth);

        for (int n = 0; n < sets && truth[0] > 0; n++) {
            struct rps_interval interval = rps_tally_interval(tally, n, 0);

            judge(score, length, &interval, truth[0]);
        }
    }
}

static void print_kinds(struct bench *bench, const struct bench_kind *kind, const char *title,
                        int runs, struct score *all)
{
    print_head(title, LENGTHS);
    for (; kind->name; kind++) {
        for (size_t s = 0; s < RPS_COUNT(sets_of); s++) {
            struct score score = {0};

            for (int length = 0; length < LENGTHS; length++)
                judge_kind(bench, kind, sets_of[s], length, runs, &score);
            print_row(s == 0 ? kind->name : "", sets_of[s], &score, LENGTHS);
            if (all)
                join(all, &score);
            free_score(&score);
        }
    }
}

static int has_ratios(const struct bench_kind *kind)
{
    static const char *const names[] = {"stationary", "phased", "periodic", "AR",
                                        "trend",      "decay",  "start-up", "..."};

    for (size_t i = 0; i < RPS_COUNT(names); i++) {
        if (strncmp(kind->name, names[i], strlen(names[i])) == 0)
            return 1;
    }
    return 0;
}

static void print_ratios(struct bench *bench, const struct bench_kind *kind, const char *title,
                         int runs)
{
    struct score all[2] = {{0}, {0}};

    print_head(title, LENGTHS);
    for (; kind->name; kind++) {
        struct score score[RPS_COUNT(sets_of)][2] = {0};

        if (!has_ratios(kind))
            continue;
        for (size_t s = 0; s < RPS_COUNT(sets_of); s++) {
            for (int length = 0; length < LENGTHS; length++) {
                for (int run = 0; run < runs; run++) {
                    double truth[2];

                    simulate(bench, kind, sets_of[s], 2, length_of[length], run, truth);
                    judge_ratios(bench, sets_of[s], 1, 0, truth[1] / truth[0], length, &score[s][0],
                                 &score[s][1]);
                }
            }
        }
        for (int across = 0; across < 2; across++) {
            char name[80];

            snprintf(name, sizeof(name), "%s: %s", kind->name, across ? "two sets" : "one set");
            for (size_t s = 0; s < RPS_COUNT(sets_of); s++) {
                print_row(s == 0 ? name : "", sets_of[s], &score[s][across], LENGTHS);
                join(&all[across], &score[s][across]);
                free_score(&score[s][across]);
            }
        }
    }
    print_row("all ratios within one set", 0, &all[0], LENGTHS);
    print_row("all ratios across sets", 0, &all[1], LENGTHS);
    free_score(&all[0]);
    free_score(&all[1]);
}

/* --- thinned ---------------------------------------------------------------------------------- */

#define THINNED_SETS    4
#define THINNED_PERIODS 1000

/* A way to read a run. */
struct reading {
    const char *name;
    int level;    /* 0: single periods; otherwise blocks of this level */
    int is_older; /* 1: the scatter of the periods is unknown */
};

static const struct reading readings[] = {
    {"periods", 0, 0}, {"16, older", 1, 1}, {"16", 1, 0}, {"256, older", 2, 1}, {"256", 2, 0},
};

struct thinning {
    struct rps_tally *tally;
    const struct reading *reading;
    struct rps_period row[THINNED_SETS]; /* rows of the current block */
    struct rps_scatter scatter[THINNED_SETS];
    size_t rows;
};

static int compare_rows(const void *a, const void *b)
{
    uint64_t x = ((const struct rps_period *)a)->period, y = ((const struct rps_period *)b)->period;

    return (x > y) - (x < y);
}

static int add_block(void *context, const struct rps_period *row)
{
    struct thinning *thinning = context;
    struct rps_period *one = &thinning->row[thinning->rows];

    if (row->level != thinning->reading->level)
        return 0;
    *one = *row;
    one->scatter = thinning->reading->is_older ? NULL : &thinning->scatter[thinning->rows];
    thinning->scatter[thinning->rows] = *row->scatter;
    if (++thinning->rows < THINNED_SETS)
        return 0;
    thinning->rows = 0;
    qsort(thinning->row, THINNED_SETS, sizeof(thinning->row[0]), compare_rows);
    for (size_t n = 0; n < THINNED_SETS; n++)
        rps_tally_add(thinning->tally, &thinning->row[n]);
    return 0;
}

/* Set the information that a store has about the start of the run. */
static void set_start(struct bench *bench, const struct rps_order *order,
                      const struct rps_period *period, int is_known)
{
    int64_t before_ns = 0;

    for (size_t i = 0; i < 2 * THINNED_SETS; i++) {
        struct rps_event_set *set =
            &bench->plan[THINNED_SETS]->set[rps_order_set(order, THINNED_SETS, i)];

        for (int s = 0; s < set->event_count; s++) {
            struct rps_event *event = &set->event[s];
            int is_first = i < THINNED_SETS;

            *(is_first ? &event->first_count : &event->second_count) = (int64_t)period[i].count[s];
            *(is_first ? &event->first_ns : &event->second_ns) =
                is_known ? (int64_t)period[i].running_ns : 0;
            event->before_ns = is_first ? before_ns : event->before_ns;
        }
        before_ns += (int64_t)period[i].enabled_ns;
    }
}

static void read_downsampled(struct bench *bench, const struct reading *reading,
                             const struct rps_order *order, const struct rps_period *period)
{
    struct thinning thinning = {.tally = &bench->tally[THINNED_SETS], .reading = reading};
    const struct rps_rollup_sink sink = {&thinning, add_block};
    struct rps_rollup *rollup = must(rps_rollup_new(THINNED_SETS, &sink));

    rps_tally_reset(thinning.tally);
    set_start(bench, order, period, !reading->is_older);
    for (size_t i = 0; i < THINNED_PERIODS; i++) {
        struct rps_period one = period[i];

        one.rotation = i / THINNED_SETS;
        one.set_no = (uint32_t)rps_order_set(order, THINNED_SETS, i);
        if (reading->level == 0)
            rps_tally_add(thinning.tally, &one);
        else
            rps_rollup_add(rollup, &one);
    }
    if (reading->level > 0)
        rps_rollup_end(rollup);
    rps_rollup_free(rollup);
}

static void print_thinned_kind(struct bench *bench, const struct bench_kind *kind, int runs)
{
    static struct rps_period period[THINNED_PERIODS];
    struct score total[RPS_COUNT(readings)] = {0}, ratio[RPS_COUNT(readings)] = {0};

    for (int run = 0; run < runs; run++) {
        uint64_t random = seed_of(kind, THINNED_SETS, THINNED_PERIODS, run);
        struct rps_order order = {kind->random_order, random};
        double truth[2] = {0};

        bench_make_series(kind, &random, THINNED_SETS, 2, period, THINNED_PERIODS);
        for (size_t i = 0; i < THINNED_PERIODS; i++) {
            truth[0] += (double)period[i].count[0];
            truth[1] += (double)period[i].count[1];
        }
        for (size_t r = 0; r < RPS_COUNT(readings) && truth[0] > 0 && truth[1] > 0; r++) {
            struct score across = {0};

            read_downsampled(bench, &readings[r], &order, period);
            for (int n = 0; n < THINNED_SETS; n++) {
                struct rps_interval interval =
                    rps_tally_interval(&bench->tally[THINNED_SETS], n, 0);

                judge(&total[r], 0, &interval, truth[0]);
            }
            judge_ratios(bench, THINNED_SETS, 1, 0, truth[1] / truth[0], 0, &ratio[r], &across);
            free_score(&across);
        }
    }
    for (int is_ratio = 0; is_ratio < 2; is_ratio++) {
        printf("%-32s %-7s", is_ratio ? "" : kind->name, is_ratio ? "ratio" : "total");
        for (size_t r = 0; r < RPS_COUNT(readings); r++) {
            struct score *score = is_ratio ? &ratio[r] : &total[r];

            printf(" %5.1f%% %7.2f%%", percent(held(score), given(score)),
                   100 * quantile(&score->width, .5));
            free_score(score);
        }
        printf("\n");
    }
    fflush(stdout);
}

static void print_thinned(int runs)
{
    const struct bench_kind *const lists[] = {bench_kinds, bench_drifts, bench_beyond};
    struct bench bench;

    printf("thinned: %d runs of %d periods of %d sets, in blocks of so many rotations: held, and\n"
           "half of the interval; of totals, and of ratios of two events of one set\n%-40s",
           runs, THINNED_PERIODS, THINNED_SETS, "");
    for (size_t r = 0; r < RPS_COUNT(readings); r++)
        printf(" %15s", readings[r].name);
    printf("\n");
    init_bench(&bench, 2);
    for (size_t l = 0; l < RPS_COUNT(lists); l++) {
        for (const struct bench_kind *kind = lists[l]; kind->name; kind++)
            print_thinned_kind(&bench, kind, runs);
    }
    free_bench(&bench);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Print the errors caused by sampling. */
static void print_errors(struct bench *bench, int runs)
{
    const int sets = 4;

    printf("\n%-32s %4s %8s %8s %8s %10s\n", "errors, in a run of 3,000 periods", "sets", "cases",
           "typical", "95 %", "none seen");
    for (const struct bench_kind *kind = bench_bursts; kind->name; kind++) {
        struct score score = {0};

        judge_kind(bench, kind, sets, LENGTHS - 1, runs, &score);
        printf("%-32s %5d %8zu %7.2f%% %7.2f%% %9.1f%%\n", kind->name, sets, score.cases,
               100 * quantile(&score.any_error, .5), 100 * quantile(&score.any_error, .95),
               percent(score.of[RPS_CERTAINTY_UNSEEN], score.cases));
        free_score(&score);
    }
}

static void print_simulated(int runs)
{
    struct score all = {0};
    struct bench bench;

    printf("simulated: %d runs of each of 60, 300 and 3,000 periods; held: the true total lies in "
           "the\n"
           "interval (and by length); +-: half of the interval; error: of the estimate (medians)\n",
           runs);
    init_bench(&bench, 2);
    print_kinds(&bench, bench_kinds, "totals", runs, &all);
    print_row("all totals", 0, &all, LENGTHS);
    print_kinds(&bench, bench_drifts, "drifts and starts", runs, NULL);
    print_kinds(&bench, bench_beyond, "beyond the rules", runs, NULL);
    print_ratios(&bench, bench_kinds, "ratios of two events", runs);
    print_ratios(&bench, bench_drifts, "ratios where both drift", runs);
    print_errors(&bench, runs);
    free_score(&all);
    free_bench(&bench);
}

/* --- recorded --------------------------------------------------------------------------------- */

struct recording {
    struct rps_run run;
    struct rps_plan *plan;
    struct rps_period *period;
    size_t count;
};

/* Score of an event over all recordings. */
struct event_score {
    char spec[RPS_SPEC_SIZE];
    struct score score;
};

struct recorded {
    struct rps_order order;
    size_t recordings, series;
    size_t few; /* series whose intervals held in fewer than 92 of 100 cases */
    struct score by_sets[RPS_COUNT(sets_of)], within[RPS_COUNT(sets_of)],
        across[RPS_COUNT(sets_of)];
    struct event_score event[64];
    size_t events;
};

static void load(struct rps_reader *reader, int64_t run_id, struct recording *ret)
{
    struct rps_cursor *cursor;
    struct rps_error err;
    size_t room = 1024;
    int result;

    must_do(rps_reader_run(rps_arena_new(), reader, run_id, &ret->run, &err), &err);
    must_do(rps_reader_plan(ret->run.arena, reader, run_id, &ret->plan, &err), &err);
    must_do(rps_cursor_open(&cursor, reader, run_id, 0, INT64_MAX, 0, &err), &err);
    ret->count = 0;
    ret->period = must(malloc(room * sizeof(*ret->period)));
    while ((result = rps_cursor_next(cursor, &ret->period[ret->count], &err)) > 0) {
        if (++ret->count == room) {
            room *= 2;
            ret->period = must(realloc(ret->period, room * sizeof(*ret->period)));
        }
    }
    must_do(result, &err);
    rps_cursor_close(cursor);
}

static void unload(struct recording *recording)
{
    free(recording->period);
    rps_arena_free(recording->run.arena);
}

static struct event_score *event_score(struct recorded *all, const char *spec)
{
    for (size_t i = 0; i < all->events; i++) {
        if (strcmp(all->event[i].spec, spec) == 0)
            return &all->event[i];
    }
    if (all->events == RPS_COUNT(all->event)) {
        fprintf(stderr, "intervals: too many events\n");
        exit(1);
    }
    snprintf(all->event[all->events].spec, RPS_SPEC_SIZE, "%s", spec);
    return &all->event[all->events++];
}

/* Return the effective number of periods: the number that would have the same spread with equal
 * counts. */
static double periods_with(const struct recording *recording, int slot)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < recording->count; i++) {
        double c = (double)recording->period[i].count[slot];

        sum += c;
        squares += c * c;
    }
    return sum * sum / squares;
}

/* Judge all intervals of one event of a recording. */
static void judge_series(struct bench *bench, const struct recording *recording, int slot,
                         double truth, struct recorded *all)
{
    const char *spec = recording->plan->set[0].event[slot].spec;
    struct event_score *event = event_score(all, spec);
    struct score series = {0};

    for (size_t s = 0; s < RPS_COUNT(sets_of); s++) {
        struct score score = {0};

        for (int n = 0; n < sets_of[s]; n++) {
            struct rps_interval interval = rps_tally_interval(&bench->tally[sets_of[s]], n, slot);

            judge(&score, 0, &interval, truth);
        }
        join(&all->by_sets[s], &score);
        join(&series, &score);
        free_score(&score);
    }
    all->series++;
    join(&event->score, &series);
    if (held(&series) * 100 < 92 * given(&series)) {
        if (all->few++ == 0)
            printf("%-14s %-26s %10s %8s %8s %8s\n", "held in few", "", "total", "periods",
                   "with it", "held");
        printf("%-14s %-26s %10.0f %8zu %8.1f %4zu/%-3zu\n", recording->run.label, spec, truth,
               recording->count, periods_with(recording, slot), held(&series), given(&series));
    }
    free_score(&series);
}

static void judge_recording(struct bench *bench, const struct recording *recording,
                            struct recorded *all)
{
    const struct rps_tally *whole =
        read_in_turns(bench, 1, &all->order, recording->period, recording->count);
    int slots = recording->plan->set[0].event_count;

    for (size_t s = 0; s < RPS_COUNT(sets_of); s++)
        read_in_turns(bench, sets_of[s], &all->order, recording->period, recording->count);
    all->recordings++;
    for (int a = 0; a < slots; a++) {
        double truth = rps_tally_estimate(whole, 0, a);

        if (!(truth > 0))
            continue;
        judge_series(bench, recording, a, truth, all);
        for (int b = 0; b < slots; b++) {
            double other = rps_tally_estimate(whole, 0, b);

            for (size_t s = 0; s < RPS_COUNT(sets_of) && a != b && other > 0; s++)
                judge_ratios(bench, sets_of[s], b, a, other / truth, 0, &all->within[s],
                             &all->across[s]);
        }
    }
}

static void print_by_sets(const char *name, struct score score[RPS_COUNT(sets_of)])
{
    struct score total = {0};

    for (size_t s = 0; s < RPS_COUNT(sets_of); s++) {
        print_row(s == 0 ? name : "", sets_of[s], &score[s], 0);
        join(&total, &score[s]);
        free_score(&score[s]);
    }
    print_row("", 0, &total, 0);
    free_score(&total);
}

static void print_all(struct recorded *all)
{
    printf("\n%zu recordings, %zu events that occurred in them\n", all->recordings, all->series);
    print_head("recorded totals", 0);
    for (size_t i = 0; i < all->events; i++) {
        print_row(all->event[i].spec, 0, &all->event[i].score, 0);
        free_score(&all->event[i].score);
    }
    print_by_sets("all totals", all->by_sets);
    print_by_sets("all ratios within one set", all->within);
    print_by_sets("all ratios across sets", all->across);
}

static void print_recorded(const char *path)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_reader *reader;
    struct rps_error err;
    struct bench bench;
    int64_t *run_id;
    size_t runs;

    must_do(rps_reader_open(&reader, path, &err), &err);
    must_do(rps_reader_runs(arena, reader, &run_id, &runs, &err), &err);
    init_bench(&bench, RPS_SLOT_MAX);
    for (int random = 0; random < 2; random++) {
        struct recorded *all = must(calloc(1, sizeof(*all)));

        printf("\nrecorded, read with --order %s\n", random ? "random" : "fixed");
        for (size_t i = 0; i < runs; i++) {
            struct recording recording;

            load(reader, run_id[i], &recording);
            all->order = (struct rps_order){random, rps_random_at(1, i)};
            judge_recording(&bench, &recording, all);
            unload(&recording);
        }
        print_all(all);
        free(all);
    }
    free_bench(&bench);
    rps_arena_free(arena);
    rps_reader_close(reader);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "simulated") == 0 && atoi(argv[2]) > 0) {
        print_simulated(atoi(argv[2]));
    } else if ((argc == 3 || argc == 4) && strcmp(argv[1], "coverage") == 0 && atoi(argv[2]) > 0) {
        print_coverage(atoi(argv[2]), argv[3]);
    } else if (argc == 3 && strcmp(argv[1], "thinned") == 0 && atoi(argv[2]) > 0) {
        print_thinned(atoi(argv[2]));
    } else if (argc == 3 && strcmp(argv[1], "recorded") == 0) {
        print_recorded(argv[2]);
    } else {
        fprintf(stderr, "usage: intervals simulated RUNS | coverage RUNS [CLASS] | thinned RUNS | "
                        "recorded STORE\n");
        return 2;
    }
    return 0;
}
