/* nulls: measures how often a phase class is described by a counter although nothing differs.
 *
 * usage: nulls [RUNS]
 *
 * Each run is a steady mixture of 30 programs on two CPUs. A run is cut at random into eight phases
 * of 20 to 60 s, each with its own class. A program runs for some time, with its own rates and
 * memory. A flat run has only one program. So every clause in the descriptions is false. The output
 * is the share of classes with a clause. The last rows show the power of the test: one phase has
 * 1.5 times the faults, and 1.5 times the memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/analyse/draw_name.h"
#include "rpistat/profile.h"
#include "rpistat/random.h"
#include "rpistat/run_system.h"

#define PHASES   8
#define PROGRAMS 30
#define PERIODS  (PHASES * 600)
#define METRICS  5
#define IO       2 /* memory and I/O metrics, the last of the METRICS */

static const struct {
    const char *name, *found_by, *unit;
    double median, per_period; /* median over programs; events per period */
} metrics[METRICS] = {{"context_switch_rate", "switch", "/s", 4000, .1},
                      {"minor_fault_rate", "fault", "/s", 20000, .1},
                      {"migration_rate", "migration", "/s", 60, .1},
                      {"uses MiB", "uses", "", 50, 0},
                      {"writes MiB/s", "writes", "", 10, 0}};

static double draw_normal(uint64_t *dice)
{
    return sqrt(-2 * log(1 - rps_random_unit(dice))) * cos(6.283185307 * rps_random_unit(dice));
}

/* Fill value[metric * PERIODS + period]. Programs run for `length` periods on average (0: only
 * one). */
static void simulate(uint64_t *dice, double length, size_t periods, double *value)
{
    double weight[PROGRAMS], rate[PROGRAMS][METRICS];

    memset(value, 0, METRICS * PERIODS * sizeof(*value));
    for (size_t k = 0; k < PROGRAMS; k++) {
        weight[k] = 1 / (1 - rps_random_unit(dice));
        for (size_t m = 0; m < METRICS; m++)
            rate[k][m] = metrics[m].median * exp(draw_normal(dice));
    }
    for (int cpu = 0; cpu < 2; cpu++) {
        for (size_t at = 0, end, k = 0; at < periods; at = end) {
            end = at + (size_t)fmax(1, -log(1 - rps_random_unit(dice)) * length);
            if (length > 0)
                k = draw_name(dice, weight, PROGRAMS);
            end = end < periods ? end : periods;
            for (size_t i = at * METRICS; i < end * METRICS; i++) {
                const size_t m = i % METRICS;
                const double mean = rate[k][m], events = fmax(1, mean * metrics[m].per_period);

                value[m * PERIODS + i / METRICS] +=
                    fmax(0, mean * (1 + draw_normal(dice) / sqrt(events)));
            }
        }
    }
}

static struct rps_profile profile_of(struct rps_arena *arena, size_t first, size_t count,
                                     double *value, const struct rps_phases *phases)
{
    const struct rps_signals signals = {
        .count = PERIODS, .signal_count = count, .value = value + first * PERIODS};
    const char *name[METRICS];
    struct rps_profile profile;

    for (size_t m = 0; m < count; m++)
        name[m] = metrics[first + m].name;
    profile = rps_profile_signals(arena, &signals, name, 1, phases);
    for (size_t m = 0; m < count; m++)
        strcpy(profile.figure[m].unit, metrics[first + m].unit);
    return profile;
}

/* Simulate runs, and print the number of classes with clauses. If `more` is a factor, phase 3 has
 * `more` times the faults and memory, and only phase 3 counts. */
static void try(const char *title, double length, double more, int runs)
{
    static double value[METRICS * PERIODS];
    int found[METRICS] = {0}, any = 0, classes = 0;
    char words[RPS_PROFILE_WORDS_SIZE];

    for (int run = 0; run < runs; run++) {
        uint64_t dice = (uint64_t)run + 1;
        struct rps_arena *arena = rps_arena_new();
        struct rps_phase phase[PHASES];
        const struct rps_phases phases = {.count = PHASES, .phase = phase, .label_count = PHASES};
        struct rps_run_system system[PHASES + 1] = {0}; /* The other system metrics are unknown. */
        struct rps_profile profile, io;

        for (int p = 0; p < PHASES; p++) {
            const uint64_t first = p > 0 ? phase[p - 1].last + 1 : 0;
            const uint64_t last = first + 199 + rps_random_next(&dice) % 401;

            phase[p] = (struct rps_phase){.first = first,
                                          .last = last,
                                          .start_ns = (int64_t)first * 100000000,
                                          .end_ns = (int64_t)(last + 1) * 100000000,
                                          .label = p};
        }
        simulate(&dice, length, phase[PHASES - 1].last + 1, value);
        for (uint64_t i = phase[3].first; i <= phase[3].last; i++) {
            value[1 * PERIODS + i] *= more;
            value[3 * PERIODS + i] *= more;
        }
        profile = profile_of(arena, 0, METRICS - IO, value, &phases);
        io = profile_of(arena, METRICS - IO, IO, value, &phases);
        profile.io = &io;
        profile.system = system;
        for (int l = more > 1 ? 3 : 0; l < (more > 1 ? 4 : PHASES); l++, classes++) {
            rps_profile_words(words, &profile, l, 0);
            if (strstr(words, "similar to ") || strstr(words, "no difference beyond"))
                continue;
            any++;
            for (int m = 0; m < METRICS; m++)
                found[m] += strstr(words, metrics[m].found_by) != NULL;
        }
        rps_arena_free(arena);
    }
    printf("%-30s %5.1f %%", title, 100. * any / classes);
    for (int m = 0; m < METRICS; m++)
        printf(" %9.1f %%", 100. * found[m] / classes);
    printf("\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *title;
        double length;
    } kinds[] = {{"flat", 0}, {"programs of 0.1 s", 1}, {"of 0.5 s", 5}, {"of 2 s", 20}};

    for (int power = 0; power < 2; power++) {
        printf("%-30s %5s    switches      faults  migrations      memory     written\n",
               power ? "1.5 x in one class: clauses" : "Alike: classes with a clause", "any");
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            try(kinds[k].title, kinds[k].length, power ? 1.5 : 1, argc > 1 ? atoi(argv[1]) : 200);
    }
    return 0;
}
