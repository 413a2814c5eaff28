/* latency: measures the time of one memory access. The program times single steps of a chase
 * through lists that fit each level of the memory hierarchy. The cost of the timing itself is
 * subtracted.
 *
 * One step in eight is timed. The clock is read before and after the step, with fences around the
 * step. Two readings with nothing in between give the bias. On x86 the clock is the TSC, whose
 * ticks have a fixed frequency and are not processor cycles. On other machines the clock is
 * CLOCK_MONOTONIC, which is too coarse for one step. With the coarse clock, so many steps are timed
 * at once that they take longer than a clock tick.
 *
 * The results are given in two ways. The humps of the histogram show the kinds of accesses. The
 * mean of the middle (without the lowest and highest tenth) is finer than a tick. The reason is
 * that a tick can fall at any place within a step.
 *
 * The published measurements of 2013 for the first Raspberry Pi used lists of 8, 64 and 1024 KiB.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "list.h"
#include "options.h"
#include "rpistat/region.h"
#include "self.h"

#define SAMPLES_DEFAULT 10000
#define SIZE_ROOM       16
#define BETWEEN         7  /* number of steps that are not timed */
#define ROW_COUNT       16 /* rows of a printed histogram */
#define BAR_WIDTH       44
#define HUMP_ROOM       8
#define HUMP_MIN        50 /* a hump has at least 1/HUMP_MIN of the samples */
#define MEMORY_KIB      65536

/* --- the clock -----------------------------------------------------------------------------------
 */

#if defined(__x86_64__) || defined(__i386__)
#define CLOCK_NAME "TSC ticks"

static inline uint64_t clock_ticks(void)
{
    uint32_t low, high;

    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}
#else
#define CLOCK_NAME "ns"

static inline uint64_t clock_ticks(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
#endif

/* Return the clock ticks per nanosecond, measured over 50 ms. */
static double ticks_per_ns(void)
{
    struct timespec from, now;
    uint64_t begin = clock_ticks(), end;
    double ns;

    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        end = clock_ticks();
        ns = (double)(now.tv_sec - from.tv_sec) * 1e9 + (double)(now.tv_nsec - from.tv_nsec);
    } while (ns < 5e7);
    return (double)(end - begin) / ns;
}

/* --- samples -------------------------------------------------------------------------------------
 */

/* Prevents the compiler from moving steps across the clock reading, or removing steps. */
#define KEEP(item) __asm__ volatile("" : "+r"(item) : : "memory")

static int compare_ticks(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Time `steps` steps (0: none) repeatedly. Sort the samples. */
static void take_samples(struct list_item *item, int steps, uint32_t *sample, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t from, ticks;

        item = list_chase(item, BETWEEN);
        KEEP(item);
        from = clock_ticks();
        for (int s = 0; s < steps; s++)
            item = item->next;
        KEEP(item);
        ticks = clock_ticks() - from;
        sample[i] = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
    }
    qsort(sample, (size_t)count, sizeof(*sample), compare_ticks);
}

/* Mean of the samples without the lowest and the highest tenth. */
static double middle_mean(const uint32_t *sample, int count)
{
    const int from = count / 10, to = count - count / 10;
    double sum = 0;

    for (int i = from; i < to; i++)
        sum += sample[i];
    return sum / (to - from);
}

/* Return the steps per sample: one if the clock is fine enough, otherwise so many that they take
 * longer than a clock tick. */
static int choose_steps(void)
{
    uint64_t smallest = UINT64_MAX;

    for (int i = 0; i < 1000; i++) {
        uint64_t from = clock_ticks(), to = clock_ticks();

        if (to > from && to - from < smallest)
            smallest = to - from;
    }
    return strcmp(CLOCK_NAME, "ns") == 0 && smallest < 10000 ? (int)(smallest / 2 + 1) : 1;
}

/* --- what is read off ----------------------------------------------------------------------------
 */

struct hump {
    uint32_t from, to, peak; /* ticks; peak: the middle sample */
    int samples;
};

/* Find the humps of sorted samples: runs of values with small distances. A distance is small if it
 * is at most an eighth of the value, or at most two clock ticks. */
static int find_humps(const uint32_t *sample, int count, uint32_t tick, struct hump *ret)
{
    int humps = 0;

    for (int first = 0, i = 1; i <= count; i++) {
        uint32_t near = i < count && sample[i - 1] / 8 > 2 * tick ? sample[i - 1] / 8 : 2 * tick;

        if (i < count && sample[i] - sample[i - 1] <= near)
            continue;
        if ((i - first) * HUMP_MIN >= count && humps < HUMP_ROOM)
            ret[humps++] = (struct hump){sample[first], sample[i - 1],
                                         sample[first + (i - first) / 2], i - first};
        first = i;
    }
    return humps;
}

/* Return the tick of the clock, found from samples without a step. The tick is the least distance
 * between values that are not adjacent. (AMD's TSC, for example, advances by about 20 ticks at a
 * time.) */
static uint32_t tick_of(const uint32_t *sample, int count)
{
    uint32_t tick = UINT32_MAX, last = 0;

    for (int first = 0, i = 1; i <= count; i++) {
        if (i < count && sample[i] - sample[i - 1] <= 2)
            continue;
        if ((i - first) * HUMP_MIN >= count) {
            if (last > 0 && sample[first] - last < tick)
                tick = sample[first] - last;
            last = sample[i - 1];
        }
        first = i;
    }
    return tick < UINT32_MAX ? tick : 1;
}

/* Print one bar per class of ticks, from the minimum to the 99th percentile. One line has all
 * higher samples. */
static void print_histogram(const uint32_t *sample, int count, uint32_t tick)
{
    const uint32_t low = sample[0], high = sample[(int)((int64_t)count * 99 / 100)];
    uint32_t width = ((high - low) / ROW_COUNT / tick + 1) * tick;
    int row[ROW_COUNT + 2] = {0}, most = 1, rows = (int)((high - low) / width) + 1, at = 0;

    for (int r = 0; r < rows; r++) {
        while (at < count && sample[at] < low + ((uint32_t)r + 1) * width) {
            row[r]++;
            at++;
        }
        most = row[r] > most ? row[r] : most;
    }
    for (int r = 0; r < rows; r++) {
        const uint32_t from = low + (uint32_t)r * width;
        char range[32];

        snprintf(range, sizeof(range), width > tick ? "%u-%u" : "%u", from, from + width - 1);
        printf("  %13s %7d  ", range, row[r]);
        for (int i = 0; i < (row[r] * BAR_WIDTH + most - 1) / most; i++)
            putchar('#');
        putchar('\n');
    }
    if (at < count)
        printf("  %13s %7d\n", "above", count - at);
}

static void print_csv(size_t kib, const uint32_t *sample, int count)
{
    for (int i = 0, first = 0; i < count; i++) {
        if (i + 1 < count && sample[i + 1] == sample[i])
            continue;
        printf("%zu,%" PRIu32 ",%d\n", kib, sample[i], i + 1 - first);
        first = i + 1;
    }
}

/* --- the program ---------------------------------------------------------------------------------
 */

struct latency {
    long long samples;
    int self, csv, steps;
    double scale;  /* clock ticks per nanosecond */
    double bias;   /* cost of the timing itself, in ticks */
    uint32_t tick; /* smallest advance of the clock, in ticks */
    uint32_t *sample;
};

static int measure(struct latency *latency, size_t kib)
{
    const size_t line = list_line_size();
    const int count = (int)latency->samples;
    struct list_item *list = list_new(kib << 10, line);
    struct hump hump[HUMP_ROOM];
    char name[32];
    int humps;
    double mean;

    if (!list) {
        fprintf(stderr, "latency: no memory for a list of %zu KiB\n", kib);
        return -1;
    }
    snprintf(name, sizeof(name), "%zu KiB", kib);
    list_chase(list, (kib << 10) / line);
    if (latency->self)
        rps_region_begin(name);
    take_samples(list, latency->steps, latency->sample, count);
    if (latency->self)
        rps_region_end(name);
    list_free(list, kib << 10);
    if (latency->csv) {
        print_csv(kib, latency->sample, count);
        return 0;
    }
    mean = (middle_mean(latency->sample, count) - latency->bias) / latency->steps;
    printf("\n%zu KiB: %.1f %s, %.1f ns an access\n", kib, mean, CLOCK_NAME, mean / latency->scale);
    print_histogram(latency->sample, count, latency->tick);
    humps = find_humps(latency->sample, count, latency->tick, hump);
    for (int h = 0; h < humps && humps > 1; h++)
        printf("  hump %u-%u: %.0f %% of the samples, %.0f %s after the bias\n", hump[h].from,
               hump[h].to, 100.0 * hump[h].samples / count,
               (hump[h].peak - latency->bias) / latency->steps, CLOCK_NAME);
    return 0;
}

/* Return the size of the data cache of a level in KiB, or 0 if the system does not report it. */
static size_t cache_kib(int level)
{
    size_t found = 0;

    for (int i = 0; i < 8 && found == 0; i++) {
        static const char *const names[] = {"level", "type", "size"};
        char text[3][32] = {"", "", ""}, path[96];

        for (int n = 0; n < 3; n++) {
            FILE *file;

            snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i,
                     names[n]);
            file = fopen(path, "re");
            if (file && !fgets(text[n], sizeof(text[n]), file))
                text[n][0] = '\0';
            if (file)
                fclose(file);
        }
        if (atoi(text[0]) == level && text[1][0] != 'I')
            found = strtoul(text[2], NULL, 10);
    }
    return found;
}

/* Choose half of each cache, and a size far beyond the last cache. */
static int choose_sizes(size_t *ret_kib)
{
    int count = 0;

    for (int level = 1; level <= 3; level++) {
        if (cache_kib(level) >= 4)
            ret_kib[count++] = cache_kib(level) / 2;
    }
    if (count == 0) { /* as on the first Raspberry Pi: L1; beyond L1; beyond the TLB */
        ret_kib[count++] = 8;
        ret_kib[count++] = 64;
        ret_kib[count++] = 1024;
        return count;
    }
    ret_kib[count] = ret_kib[count - 1] * 8 > MEMORY_KIB ? ret_kib[count - 1] * 8 : MEMORY_KIB;
    return count + 1;
}

static int run(struct latency *latency, const size_t *kib, int count)
{
    struct list_item alone = {&alone};

    latency->scale = ticks_per_ns();
    latency->steps = choose_steps();
    take_samples(&alone, 0, latency->sample, (int)latency->samples);
    latency->bias = middle_mean(latency->sample, (int)latency->samples);
    latency->tick = tick_of(latency->sample, (int)latency->samples);
    if (latency->csv)
        printf("list_kib,ticks,samples\n");
    else
        printf("clock: %s, %.3f in a nanosecond, %u at a time; %d step%s a sample; bias %.1f\n",
               CLOCK_NAME, latency->scale, latency->tick, latency->steps,
               latency->steps > 1 ? "s" : "", latency->bias);
    if (latency->csv)
        print_csv(0, latency->sample, (int)latency->samples);
    for (int i = 0; i < count; i++) {
        if (measure(latency, kib[i]) < 0)
            return -1;
    }
    return 0;
}

int main(int argc, char *argv[])
{
    struct latency latency = {.samples = SAMPLES_DEFAULT};
    const char *sizes = NULL;
    size_t kib[SIZE_ROOM];
    int count, status;
    const struct example_option options[] = {
        {.name = "samples",
         .argument = "N",
         .help = "timed steps in each list",
         .min = 100,
         .max = 10000000,
         .number = &latency.samples},
        {.name = "sizes",
         .argument = "LIST",
         .help = "sizes of the lists in KiB (half of each cache, and far beyond)",
         .text = &sizes},
        {.name = "csv",
         .help = "print list_kib,ticks,samples; list 0 is the bias",
         .flag = &latency.csv},
        {.name = "self", .help = "count the chases with rpistat/region.h", .flag = &latency.self},
        {.name = NULL},
    };

    status = example_options(argc, argv, "Access latency by sampled chases.", options);
    if (status != 0)
        return status > 0 ? EXIT_SUCCESS : 2;
    count = sizes ? example_sizes("latency", sizes, kib, SIZE_ROOM) : choose_sizes(kib);
    if (count < 0)
        return 2;
    latency.sample = calloc((size_t)latency.samples, sizeof(*latency.sample));
    if (!latency.sample) {
        fprintf(stderr, "latency: no memory for the samples\n");
        return EXIT_FAILURE;
    }
    if (latency.self)
        self_open();
    status = run(&latency, kib, count) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    if (latency.self)
        self_report();
    free(latency.sample);
    return fflush(stdout) == 0 ? status : EXIT_FAILURE;
}
