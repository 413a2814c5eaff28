/* Benchmark of matching the phases of two runs. Random programs have three to six kinds of phases,
 * which recur in 6 to 16 segments of 20 to 150 periods. Each run has six noisy signals. A program
 * is compared with a changed version of itself. Signals resemble ratios: a unit of noise is 5 %,
 * and the resolution is three units. Kinds differ by 40 % (standard deviation), and runs of one
 * program by 1 %.
 *
 * usage: matching [--programs N] [--only TEXT]
 *
 * Prints the share of the periods of both runs that are matched correctly, as a mean over the
 * programs. The matching is that of rpistat compare (rps_joint_find, rps_match_runs), and two
 * simpler ways:
 *
 * rows     a period of a kind that both runs have is correct if it is in the row that has most of
 *          this kind on the other side; a kind of one run needs a row without another side
 * turns    as `rows`, but for each segment of a kind, by the alignment; if two segments have
 *          changed their order, one has no partner, which counts as wrong
 * nearest  by the nearest label of the other run, whatever the order
 * same     by equal labels of the two runs
 *
 * The last columns are the numbers of phases in a run: found together, found alone, and true
 * segments. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "phase_series.h"
#include "rpistat/joint.h"
#include "compare/match.h"
#include "rpistat/random.h"

#define SIGNALS     6
#define NOISE       .05 /* noise as a share of the value */
#define RESOLUTION  (.15 / NOISE)
#define KINDS_APART (.4 / NOISE)
#define RUNS_APART  (.01 / NOISE)
#define NONE        (-1)

struct options {
    int programs;
    const char *only;
};

/* --- programs --------------------------------------------------------------------------------- */

/* A program that was made from another program, and the origin of each of its segments. */
struct version {
    struct phase_program program;
    int origin[PHASE_TURNS_MAX]; /* NONE: the segment is new */
};

static size_t draw_size(uint64_t *random, size_t from, size_t to)
{
    return from + (size_t)((double)(to - from + 1) * rps_random_unit(random));
}

static void draw_program(uint64_t *random, struct version *ret)
{
    struct phase_program *program = &ret->program;
    size_t length[PHASE_KINDS_MAX];
    int kind = 0;

    memset(ret, 0, sizeof(*ret));
    program->kinds = (int)draw_size(random, 3, 6);
    program->turns = draw_size(random, 6, 16);
    for (int p = 0; p < program->kinds; p++) {
        length[p] = draw_size(random, 20, 150);
        phase_series_draw(KINDS_APART, SIGNALS, random, program->mean[p]);
    }
    for (size_t t = 0; t < program->turns; t++) {
        size_t step = draw_size(random, t > 0, (size_t)program->kinds - 1);

        kind = (int)((size_t)kind + step) % program->kinds;
        program->turn[t].kind = kind;
        program->turn[t].length = length[kind] * draw_size(random, 80, 120) / 100 + 1;
        ret->origin[t] = (int)t;
    }
}

static void unchanged(struct version *version, double by, uint64_t *random)
{
    (void)version;
    (void)by;
    (void)random;
}

static int draw_kind(const struct version *version, uint64_t *random)
{
    return version->program.turn[draw_size(random, 0, version->program.turns - 1)].kind;
}

/* Change all signals of a kind, up or down. */
static void change_kind(struct version *version, double by, uint64_t *random)
{
    double *mean = version->program.mean[draw_kind(version, random)];

    for (size_t s = 0; s < SIGNALS; s++)
        mean[s] += (rps_random_unit(random) < .5 ? -1 : 1) * log1p(by) / NOISE;
}

static void change_much(struct version *version, double by, uint64_t *random)
{
    phase_series_draw(by / NOISE, SIGNALS, random,
                      version->program.mean[draw_kind(version, random)]);
}

/* Insert a segment of a new kind, before another segment or at the end. */
static void insert(struct version *version, double by, uint64_t *random)
{
    struct phase_program *program = &version->program;
    size_t at = draw_size(random, 0, program->turns), behind = program->turns - at;

    memmove(&program->turn[at + 1], &program->turn[at], behind * sizeof(program->turn[0]));
    memmove(&version->origin[at + 1], &version->origin[at], behind * sizeof(version->origin[0]));
    phase_series_draw(by / NOISE, SIGNALS, random, program->mean[program->kinds]);
    program->turn[at].kind = program->kinds++;
    program->turn[at].length = draw_size(random, 20, 150);
    version->origin[at] = NONE;
    program->turns++;
}

/* Return whether two neighbouring segments have the same kind, and so would be one phase. */
static int has_twins(const struct phase_program *program)
{
    for (size_t t = 1; t < program->turns; t++) {
        if (program->turn[t].kind == program->turn[t - 1].kind)
            return 1;
    }
    return 0;
}

static void delete (struct version *version, double by, uint64_t *random)
{
    struct version whole = *version;

    (void)by;
    do {
        struct phase_program *program = &version->program;
        size_t at = draw_size(random, 0, whole.program.turns - 1);
        size_t behind = whole.program.turns - 1 - at;

        *version = whole;
        memmove(&program->turn[at], &program->turn[at + 1], behind * sizeof(program->turn[0]));
        memmove(&version->origin[at], &version->origin[at + 1],
                behind * sizeof(version->origin[0]));
        program->turns--;
    } while (has_twins(&version->program));
}

static void exchange(struct version *version, double by, uint64_t *random)
{
    struct version whole = *version;

    (void)by;
    for (int tries = 0; tries < 100; tries++) {
        size_t at = draw_size(random, 0, whole.program.turns - 2);

        *version = whole;
        version->program.turn[at] = whole.program.turn[at + 1];
        version->program.turn[at + 1] = whole.program.turn[at];
        version->origin[at] = whole.origin[at + 1];
        version->origin[at + 1] = whole.origin[at];
        if (!has_twins(&version->program))
            return;
    }
    *version = whole;
}

static void slow_down(struct version *version, double by, uint64_t *random)
{
    struct phase_program *program = &version->program;

    (void)random;
    for (size_t t = 0; t < program->turns; t++)
        program->turn[t].length = (size_t)((double)program->turn[t].length * (1 + by));
    for (int p = 0; p < program->kinds; p++)
        for (size_t s = 0; s < SIGNALS; s++)
            program->mean[p][s] -= log1p(by) / NOISE;
}

static const struct change {
    const char *name;
    void (*make)(struct version *version, double by, uint64_t *random);
    double by;
} changes[] = {
    {"unchanged", unchanged, 0},           {"one kind by 5 %", change_kind, .05},
    {"one kind by 10 %", change_kind, .1}, {"one kind by 20 %", change_kind, .2},
    {"one kind by 50 %", change_kind, .5}, {"one kind much", change_much, .4},
    {"one inserted", insert, .4},          {"one removed", delete, 0},
    {"all 20 % slower", slow_down, .2},    {"all 50 % slower", slow_down, .5},
    {"two exchanged", exchange, 0},
};

/* Make a run of a program. The kinds of the run differ slightly from the program, and have their
 * own noise. */
static void run_program(const struct version *version, enum phase_noise noise, uint64_t *random,
                        struct phase_series *ret)
{
    struct phase_program program = version->program;

    for (int p = 0; p < program.kinds; p++) {
        double off[SIGNALS];

        phase_series_draw(RUNS_APART, SIGNALS, random, off);
        for (size_t s = 0; s < SIGNALS; s++)
            program.mean[p][s] += off[s];
    }
    phase_series_run(&program, noise, SIGNALS, rps_random_next(random), ret);
    ret->signals.resolution = phase_must(calloc(SIGNALS, sizeof(*ret->signals.resolution)));
    for (size_t s = 0; s < SIGNALS; s++)
        ret->signals.resolution[s] = RESOLUTION;
}

/* --- scores ----------------------------------------------------------------------------------- */

/* Two runs (A is the program, B its version) and a way of matching. Each period has a truth (-1: no
 * counterpart in the other run) and a group that it shares with its partners. */
struct pair {
    const struct phase_series *series[2];
    const int *truth[2];
    const int *group[2];
    int truths, groups;
};

/* For each truth, find the group with most of its periods on one side. Set `has` to 1 for each
 * group with periods on that side. */
static void find_places(const struct pair *pair, int side, int *place, int *has)
{
    size_t *count = phase_must(calloc((size_t)(pair->groups * pair->truths) + 1, sizeof(*count)));

    for (size_t i = 0; i < pair->series[side]->signals.count; i++) {
        int group = pair->group[side][i], truth = pair->truth[side][i];

        if (group == NONE)
            continue;
        has[group] = 1;
        if (truth != NONE)
            count[truth * pair->groups + group]++;
    }
    for (int t = 0; t < pair->truths; t++) {
        size_t most = 0;

        place[t] = NONE;
        for (int g = 0; g < pair->groups; g++) {
            if (count[t * pair->groups + g] > most) {
                most = count[t * pair->groups + g];
                place[t] = g;
            }
        }
    }
    free(count);
}

/* Return the share of correct periods. A correct period is in the group that has most of its truth
 * on the other side. A period without a counterpart must be in a group without periods on the other
 * side. */
static double score(const struct pair *pair)
{
    int *place = phase_must(calloc((size_t)pair->truths, sizeof(*place)));
    size_t right = 0, all = 0;

    for (int side = 0; side < 2; side++) {
        int *has = phase_must(calloc((size_t)pair->groups + 1, sizeof(*has)));

        find_places(pair, !side, place, has);
        for (size_t i = 0; i < pair->series[side]->signals.count; i++, all++) {
            int group = pair->group[side][i], truth = pair->truth[side][i];

            if (truth == NONE)
                right += group == NONE || !has[group];
            else
                right += group != NONE && group == place[truth];
        }
        free(has);
    }
    free(place);
    return (double)right / (double)all;
}

/* Return the truth of each period: a segment of A, or a kind, or NONE if the other run has no such
 * period. */
static int *truth_of(const struct phase_series *series, const struct version *own,
                     const struct version *other, int by_kind)
{
    int *truth = phase_must(malloc(series->signals.count * sizeof(*truth)));

    for (size_t i = 0; i < series->signals.count; i++) {
        int turn = series->label[i], kind = own->program.turn[turn].kind, found = 0;

        for (size_t t = 0; t < other->program.turns; t++)
            found |= by_kind ? other->program.turn[t].kind == kind
                             : other->origin[t] == own->origin[turn];
        truth[i] = !found ? NONE : by_kind ? kind : own->origin[turn];
    }
    return truth;
}

/* Return the group of each period, given the groups of the phases. */
static int *groups_of(const struct rps_phases *phases, size_t count, const int *of_phase)
{
    int *group = phase_must(malloc(count * sizeof(*group)));

    for (size_t k = 0; k < phases->count; k++)
        for (size_t i = phases->phase[k].first; i <= phases->phase[k].last; i++)
            group[i] = of_phase[k];
    return group;
}

enum way { ROWS, TURNS, NEAREST, SAME, WAYS };

static void die(const struct rps_error *err)
{
    fprintf(stderr, "matching: %s\n", err->message);
    exit(1);
}

/* Return the label of A that is nearest to a label of B. */
static int nearest(const struct rps_joint *joint, int label)
{
    double least = INFINITY;
    int best = NONE;

    for (size_t k = 0; k < joint->run[0].count; k++) {
        int other = joint->run[0].phase[k].label;
        double distance = joint->distance[other * joint->label_count + label];

        if (distance < least) {
            least = distance;
            best = other;
        }
    }
    return best;
}

/* Group the phases of both runs, and return the maximum number of groups. */
static int group_phases(const struct rps_joint *joint, enum way way, int **ret)
{
    const struct rps_match_labels labels = {joint->label_count, joint->distance};
    const struct rps_phases *a = &joint->run[0], *b = &joint->run[1];
    struct rps_arena *arena = rps_arena_new();
    struct rps_matching matching = {0};
    size_t *partner = phase_must(calloc(a->count + 1, sizeof(*partner)));
    struct rps_error err;

    if (rps_match_runs(arena, joint->run, (const int[]){0, 1}, 2, &labels, &matching, &err) < 0 ||
        rps_match_check(a->count, &err) < 0 || rps_match_check(b->count, &err) < 0)
        die(&err);
    rps_match_align(a, b, &labels, partner);
    for (size_t k = 0; k < b->count; k++)
        ret[1][k] = way == ROWS      ? (int)matching.row_of[1][k]
                    : way == NEAREST ? nearest(joint, b->phase[k].label)
                    : way == SAME    ? b->phase[k].label
                                     : (int)(a->count + k);
    for (size_t k = 0; k < a->count; k++) {
        ret[0][k] = way == ROWS    ? (int)matching.row_of[0][k]
                    : way == TURNS ? (int)k
                                   : a->phase[k].label;
        if (way == TURNS && partner[k] != RPS_MATCH_NONE)
            ret[1][partner[k]] = (int)k;
    }
    rps_arena_free(arena);
    free(partner);
    return (int)(a->count + b->count) + joint->label_count;
}

struct figures {
    double way[WAYS], phases, alone, turns;
};

/* Return the number of phases found in a single run. */
static size_t phases_alone(const struct phase_series *series)
{
    const struct rps_phases_options options = {0};
    struct rps_found_phases found;
    struct rps_arena *arena = rps_arena_new();
    struct rps_error err;
    size_t count;

    if (rps_phases_find(arena, &series->signals, &options, &found, &err) < 0)
        die(&err);
    count = rps_phase_levels_shown(&found.levels)->count;
    rps_arena_free(arena);
    return count;
}

static void judge(const struct version *version, const struct phase_series *series,
                  const struct rps_joint *joint, struct figures *figures)
{
    for (int way = 0; way < WAYS; way++) {
        int *group[2], *truth[2], *of_phase[2];
        struct pair pair = {.series = {&series[0], &series[1]},
                            .truths = PHASE_TURNS_MAX + PHASE_KINDS_MAX};

        for (int side = 0; side < 2; side++) {
            truth[side] = truth_of(&series[side], &version[side], &version[!side], way != TURNS);
            of_phase[side] = phase_must(calloc(joint->run[side].count + 1, sizeof(int)));
        }
        pair.groups = group_phases(joint, (enum way)way, of_phase);
        for (int side = 0; side < 2; side++) {
            group[side] = groups_of(&joint->run[side], series[side].signals.count, of_phase[side]);
            pair.truth[side] = truth[side];
            pair.group[side] = group[side];
        }
        figures->way[way] += score(&pair);
        for (int side = 0; side < 2; side++) {
            free(group[side]);
            free(of_phase[side]);
            free(truth[side]);
        }
    }
    for (int side = 0; side < 2; side++) {
        figures->phases += (double)joint->run[side].count / 2;
        figures->alone += (double)phases_alone(&series[side]) / 2;
        figures->turns += (double)version[side].program.turns / 2;
    }
}

static void try_program(const struct change *change, enum phase_noise noise, uint64_t seed,
                        struct figures *figures)
{
    const struct rps_phases_options options = {0};
    struct version version[2];
    struct phase_series series[2];
    struct rps_arena *arena = rps_arena_new();
    struct rps_joint joint;
    struct rps_error err;

    draw_program(&seed, &version[0]);
    version[1] = version[0];
    change->make(&version[1], change->by, &seed);
    for (int side = 0; side < 2; side++)
        run_program(&version[side], noise, &seed, &series[side]);
    if (rps_joint_find(arena,
                       (const struct rps_signals *const[]){&series[0].signals, &series[1].signals},
                       2, &options, &joint, &err) < 0)
        die(&err);
    judge(version, series, &joint, figures);
    rps_arena_free(arena);
    phase_series_free(&series[0]);
    phase_series_free(&series[1]);
}

static void print_change(const struct options *options, const struct change *change,
                         enum phase_noise noise)
{
    struct figures sum = {0};
    char name[64];

    snprintf(name, sizeof(name), "%s, %s", change->name, phase_noise_name[noise]);
    if (options->only && !strstr(name, options->only))
        return;
    for (int n = 0; n < options->programs; n++)
        try_program(change, noise, rps_random_at(16, (uint64_t)n), &sum);
    printf("%-28s", name);
    for (int way = 0; way < WAYS; way++)
        printf(" %8.3f", sum.way[way] / options->programs);
    printf(" %8.1f %8.1f %8.1f\n", sum.phases / options->programs, sum.alone / options->programs,
           sum.turns / options->programs);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"programs", required_argument, NULL, 'p'}, {"only", required_argument, NULL, 'o'}, {0}};
    static const enum phase_noise noises[] = {WHITE, AR, STUDENT};
    struct options options = {.programs = 40};
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'p')
            options.programs = atoi(optarg);
        else if (option == 'o')
            options.only = optarg;
        if (option == '?' || options.programs < 1) {
            fprintf(stderr, "usage: matching [--programs N] [--only TEXT]\n");
            return 2;
        }
    }
    printf("%-28s %8s %8s %8s %8s %8s %8s %8s\n", "", "rows", "turns", "nearest", "same", "phases",
           "alone", "there");
    for (size_t n = 0; n < RPS_COUNT(noises); n++)
        for (size_t c = 0; c < RPS_COUNT(changes); c++)
            print_change(&options, &changes[c], noises[n]);
    return 0;
}
