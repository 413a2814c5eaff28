/* Benchmark of phase detection: results of the detector on series with known phases.
 *
 * usage: phases [--quick] [--exact] [--shown] [--seeds N] [--only TEXT] [--before FILE] [PART...]
 *
 * series: recurring means N(0, delta^2) in each signal, unit noise of several kinds, sqrt(n)/2
 *     segments of at least 20 observations and exponential length, 3 to 8 kinds of phases. Clear
 *     series have a delta of 1, hard series of .4. Columns: F1 of the boundaries with a margin of
 *     five observations, cover, adjusted Rand index of the labels (ARI), and changes found as a
 *     share of the true changes. (*) marks the results of the decoder that knows the true phases
 * null: series without phases: the share in which changes are found, and their mean number
 * short: phases of 5 to 10 observations, by delta, with a margin of one
 * speed: a day of eight signals, including the memory of the series (53 MiB)
 *
 * By default all parts run. --quick makes fewer series. --only prints only rows whose name contains
 * TEXT. --exact searches at every point. --shown uses the level that is shown by default, not the
 * finest.
 *
 * --before FILE: compare with FILE, the output of an earlier build with the same number of seeds
 * (without --before). Each value is followed by the earlier value and the difference. Worse values
 * are marked. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "phase_score.h"
#include "rpistat/phases.h"
#include "rpistat/random.h"

#define MARGIN       5
#define SHORT_MARGIN 1
#define COLUMNS_MAX  9

struct options {
    int quick, shown, seeds;
    struct rps_detect_options detect;
    const char *only;
    FILE *before;
};

/* --- tables ----------------------------------------------------------------------------------- */

struct column {
    const char *name;
    int decimals;
    int better;   /* 1: higher is better; -1: lower is better; 0: not compared */
    double slack; /* largest worsening that is not marked */
};

struct table {
    const char *name; /* prefix of the names of the rows */
    int count;
    struct column column[COLUMNS_MAX];
};

static void print_head(const struct options *options, const struct table *table)
{
    printf("\n%-36s", table->name);
    for (int c = 0; c < table->count; c++) {
        printf(" %8s", table->column[c].name);
        if (options->before && table->column[c].better != 0)
            printf(" %8s %8s", "before", "diff");
    }
    printf("\n");
}

/* Print the first line of the output, which contains the number of seeds. */
static int print_seeds(const struct options *options)
{
    int before = options->seeds;

    printf("seeds: %d\n", options->seeds);
    if (!options->before)
        return 0;
    if (fscanf(options->before, "seeds: %d", &before) == 1 && before == options->seeds)
        return 0;
    fprintf(stderr, "phases: the output before is not of %d seeds\n", options->seeds);
    return -1;
}

/* Find the values of the row in the earlier output, or NaN if there is no such row. */
static void find_before(const struct options *options, const char *name, int count, double *ret)
{
    char line[256];

    for (int c = 0; c < count; c++)
        ret[c] = NAN;
    rewind(options->before);
    while (fgets(line, sizeof(line), options->before)) {
        char *at = line + strlen(name), *end;

        if (strncmp(line, name, strlen(name)) != 0 || strncmp(at, "  ", 2) != 0)
            continue;
        for (int c = 0; c < count; c++, at = end)
            ret[c] = strtod(at, &end);
    }
}

static void print_row(const struct options *options, const struct table *table, const char *name,
                      const double *value)
{
    double before[COLUMNS_MAX];
    int worse = 0;

    if (options->before)
        find_before(options, name, table->count, before);
    printf("%-36s", name);
    for (int c = 0; c < table->count; c++) {
        const struct column *column = &table->column[c];

        printf(" %8.*f", column->decimals, value[c]);
        if (!options->before || column->better == 0)
            continue;
        printf(" %8.*f %+8.*f", column->decimals, before[c], column->decimals,
               value[c] - before[c]);
        worse |= column->better * (before[c] - value[c]) > column->slack + 1e-9;
    }
    printf("%s\n", worse ? "  worse" : "");
    fflush(stdout);
}

static int wanted(const struct options *options, const char *name)
{
    return !options->only || strstr(name, options->only);
}

/* --- scores ----------------------------------------------------------------------------------- */

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Get the labels of the detector. Return its CPU time in seconds. */
static double detect(const struct options *options, const struct phase_series *series, int *label)
{
    const struct rps_phases_options find = {.detect = options->detect,
                                            .level.fine = !options->shown};
    struct rps_found_phases answer = {0};
    struct rps_arena *arena = rps_arena_new();
    const struct rps_phases *found;
    struct rps_error err;
    double begin = cpu_s(), end;

    if (rps_phases_find(arena, &series->signals, &find, &answer, &err) < 0) {
        fprintf(stderr, "phases: %s\n", err.message);
        exit(1);
    }
    end = cpu_s();
    found = rps_phase_levels_shown(&answer.levels);
    for (size_t k = 0; k < found->count; k++)
        for (size_t i = found->phase[k].first; i <= found->phase[k].last; i++)
            /* label as displayed by rpistat */
            label[i] = answer.details.is_drifting ? 0 : found->phase[k].label;
    rps_arena_free(arena);
    return end - begin;
}

/* Return a different seed for each length and number of signals. All noises use the same seeds. */
static uint64_t seed_of(size_t n, size_t d, int seed)
{
    return rps_random_at(100 * n + d, (uint64_t)seed);
}

/* Score the detector, and also the decoder if `best` is not NULL. Return the CPU time of the
 * detector in seconds. */
static double judge(const struct options *options, const struct phase_series *series, size_t margin,
                    struct phase_score *score, struct phase_score *best)
{
    int *label = phase_must(malloc(series->signals.count * sizeof(*label)));
    double seconds = detect(options, series, label);

    phase_score(series, label, margin, score);
    if (best) {
        phase_decode(series, label);
        phase_score(series, label, margin, best);
    }
    free(label);
    return seconds;
}

/* --- series of phases ------------------------------------------------------------------------- */

static const struct table series_table = {
    "series",
    8,
    {{"F1", 3, 1, .01},
     {"cover", 3, 1, .01},
     {"ARI", 3, 1, .01},
     {"F1*", 3, 0, 0},
     {"cover*", 3, 0, 0},
     {"ARI*", 3, 0, 0},
     {"found", 2, 0, 0},
     {"ms", 1, 0, 0}},
};

/* Add the mean over the seeds to the values. */
static void add_draft(const struct options *options, struct phase_draft draft, size_t margin,
                      double *value)
{
    for (int seed = 1; seed <= options->seeds; seed++) {
        struct phase_series series;
        struct phase_score score, best;
        double seconds;

        draft.seed = seed_of(draft.n, draft.d, seed);
        phase_series_make(&draft, &series);
        seconds = judge(options, &series, margin, &score, &best);
        double one[] = {score.f1,
                        score.cover,
                        score.rand,
                        best.f1,
                        best.cover,
                        best.rand,
                        score.changes / (double)(series.segments - 1),
                        1e3 * seconds};
        for (size_t c = 0; c < RPS_COUNT(one); c++)
            value[c] += one[c] / options->seeds;
        phase_series_free(&series);
    }
}

/* Print the rows of one noise and delta, by length and number of signals, and their mean. */
static void print_noise(const struct options *options, enum phase_noise noise, int hard)
{
    static const size_t n[] = {500, 3000, 8000, 36000}, d[] = {1, 3, 6, 12};
    double mean[COLUMNS_MAX] = {0};
    char name[64];
    int rows = 0;

    for (size_t i = 0; i < RPS_COUNT(n); i++)
        for (size_t j = 0; j < RPS_COUNT(d); j++) {
            double value[COLUMNS_MAX] = {0};
            struct phase_draft draft = {.noise = noise,
                                        .delta = hard ? 0.4 : 1,
                                        .n = n[i],
                                        .d = d[j],
                                        .segments = (size_t)(sqrt((double)n[i]) / 2)};

            snprintf(name, sizeof(name), "series %s %s %zu x %zu", phase_noise_name[noise],
                     hard ? "hard" : "clear", n[i], d[j]);
            if (!wanted(options, name) || (options->quick && (i % 2 != 0 || j % 2 != 0)) ||
                (noise == CORRELATED && d[j] == 1))
                continue;
            add_draft(options, draft, MARGIN, value);
            print_row(options, &series_table, name, value);
            for (int c = 0; c < series_table.count; c++)
                mean[c] += value[c];
            rows++;
        }
    if (rows < 2)
        return;
    for (int c = 0; c < series_table.count; c++)
        mean[c] /= rows;
    snprintf(name, sizeof(name), "series %s %s mean of %d", phase_noise_name[noise],
             hard ? "hard" : "clear", rows);
    print_row(options, &series_table, name, mean);
}

static void print_series(const struct options *options)
{
    print_head(options, &series_table);
    for (int noise = 0; noise < PHASE_NOISES; noise++)
        for (int hard = 0; hard < 2; hard++)
            print_noise(options, (enum phase_noise)noise, hard);
}

static void print_short(const struct options *options)
{
    static const size_t n[] = {500, 3000, 20000};
    struct table table = series_table;

    table.name = "short";
    print_head(options, &table);
    for (int delta = 2; delta <= 3; delta++)
        for (size_t i = 0; i < RPS_COUNT(n); i++) {
            struct phase_draft draft = {.noise = WHITE, .delta = delta, .n = n[i], .d = 6};
            double value[COLUMNS_MAX] = {0};
            char name[64];

            snprintf(name, sizeof(name), "short delta %d %zu x %zu", delta, draft.n, draft.d);
            if (!wanted(options, name))
                continue;
            add_draft(options, draft, SHORT_MARGIN, value);
            print_row(options, &table, name, value);
        }
}

/* --- series without phases -------------------------------------------------------------------- */

static const struct table null_table = {
    "null", 2, {{"any", 2, -1, .005}, {"changes", 2, -1, .005}}};

static void print_null_kind(const struct options *options, const struct phase_null *null, size_t n,
                            size_t d)
{
    double value[2] = {0};
    int count = 2 * options->seeds;
    char name[64];

    snprintf(name, sizeof(name), "null %s %zu x %zu", null->name, n, d);
    if (!wanted(options, name))
        return;
    for (int seed = 1; seed <= count; seed++) {
        struct phase_series series;
        struct phase_score score;

        phase_series_make_null(null, n, d, seed_of(n, d, seed), &series);
        judge(options, &series, MARGIN, &score, NULL);
        value[0] += (double)(score.changes > 0) / count;
        value[1] += score.changes / count;
        phase_series_free(&series);
    }
    print_row(options, &null_table, name, value);
}

static void print_null(const struct options *options)
{
    print_head(options, &null_table);
    for (const struct phase_null *null = phase_nulls; null->name; null++)
        for (size_t n = 500; n <= 5000; n *= 10)
            for (size_t d = options->quick ? 6 : 1; d <= 6; d += 5)
                print_null_kind(options, null, n, d);
}

/* --- speed ------------------------------------------------------------------------------------ */

static const struct table speed_table = {
    "speed", 4, {{"CPU s", 2, -1, .3}, {"MiB", 0, -1, 10}, {"F1", 3, 1, .01}, {"ARI", 3, 1, .01}}};

static void measure(const struct options *options, const struct phase_draft *draft, double *ret)
{
    struct phase_series series;
    struct phase_score score;
    struct rusage usage;
    int *label = phase_must(malloc(draft->n * sizeof(*label)));

    phase_series_make(draft, &series);
    ret[0] = detect(options, &series, label);
    getrusage(RUSAGE_SELF, &usage);
    ret[1] = (double)usage.ru_maxrss / 1024;
    phase_score(&series, label, MARGIN, &score);
    ret[2] = score.f1;
    ret[3] = score.rand;
}

/* Run each case in its own process, to measure its peak memory. */
static void print_speed(const struct options *options)
{
    static const size_t changes[] = {10, 500, 10000};
    double *value = mmap(NULL, COLUMNS_MAX * sizeof(*value), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    phase_must(value == MAP_FAILED ? NULL : value);
    print_head(options, &speed_table);
    for (size_t i = 0; i < RPS_COUNT(changes); i++) {
        struct phase_draft draft = {
            .noise = WHITE, .delta = 1, .n = 864000, .d = 8, .segments = changes[i] + 1, .seed = 1};
        char name[64];
        int status;
        pid_t child;

        snprintf(name, sizeof(name), "speed %zu x %zu, %zu changes", draft.n, draft.d, changes[i]);
        if (!wanted(options, name))
            continue;
        child = fork();
        if (child == 0) {
            measure(options, &draft, value);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
            fprintf(stderr, "phases: %s: failed\n", name);
            exit(1);
        }
        print_row(options, &speed_table, name, value);
    }
    munmap(value, COLUMNS_MAX * sizeof(*value));
}

/* ---------------------------------------------------------------------------------------------- */

static const struct part {
    const char *name;
    void (*print)(const struct options *options);
} parts[] = {
    {"series", print_series}, {"null", print_null}, {"short", print_short}, {"speed", print_speed}};

static int usage(void)
{
    fprintf(stderr,
            "usage: phases [--quick] [--exact] [--shown] [--seeds N] [--only TEXT] [--before FILE] "
            "[series|null|short|speed]...\n");
    return 2;
}

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"quick", no_argument, NULL, 'q'},
        {"exact", no_argument, NULL, 'e'},
        {"shown", no_argument, NULL, 'w'},
        {"seeds", required_argument, NULL, 's'},
        {"only", required_argument, NULL, 'o'},
        {"before", required_argument, NULL, 'b'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option == 'q')
            options->quick = 1;
        else if (option == 'e')
            options->detect.exact = 1;
        else if (option == 'w')
            options->shown = 1;
        else if (option == 's')
            options->seeds = atoi(optarg);
        else if (option == 'o')
            options->only = optarg;
        else if (option != 'b' || !(options->before = fopen(optarg, "r")))
            return -1;
    }
    if (options->seeds == 0)
        options->seeds = options->quick ? 3 : 10;
    return options->seeds > 0 ? 0 : -1;
}

static int is_asked(const char *part, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(part, names[i]) == 0)
            return 1;
    return count == 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    int known = 0;

    if (parse(argc, argv, &options) < 0)
        return usage();
    argc -= optind;
    argv += optind;
    for (size_t p = 0; p < RPS_COUNT(parts); p++)
        known += argc > 0 && is_asked(parts[p].name, argc, argv);
    if (known < argc)
        return usage();
    if (print_seeds(&options) < 0)
        return 1;
    for (size_t p = 0; p < RPS_COUNT(parts); p++)
        if (is_asked(parts[p].name, argc, argv))
            parts[p].print(&options);
    if (options.before)
        fclose(options.before);
    return 0;
}
