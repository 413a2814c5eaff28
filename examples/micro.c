/* micro: runs single microbenchmarks of `rpistat verify` (rpistat/micro.h). The counts of a
 * microbenchmark are known before it runs (Korn, Teller and Castillo 2001). With --self the program
 * counts itself and prints the errors. If there are too few counters for all events, it runs
 * several times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "options.h"
#include "rpistat/micro.h"
#include "rpistat/region.h"
#include "self.h"

#define ONLY_DEFAULT "linear,loop,random,load,store"
#define BENCH_MAX    16
#define EVENT_MAX    32

struct bench {
    const struct rps_micro *micro;
    uint64_t turns;
    struct rps_micro_result result;
    double counted[RPS_MICRO_PREDICTION_MAX]; /* measured counts; NaN: not yet counted */
};

struct micro {
    int bench_count;
    struct bench bench[BENCH_MAX];
    int event_count;
    struct self_event event[EVENT_MAX]; /* predicted events, except instructions */
};

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Add the microbenchmarks of a list of names. An unknown name gives a message on standard error. */
static int choose(struct micro *micro, const char *names, long long turns)
{
    while (*names) {
        const size_t length = strcspn(names, ",");
        char name[32] = "";

        if (length < sizeof(name))
            memcpy(name, names, length);
        if (!rps_micro_find(name) || micro->bench_count == BENCH_MAX) {
            fprintf(stderr, "micro: there is no microbenchmark '%.*s'; there are", (int)length,
                    names);
            for (int i = 0; rps_micros[i].name; i++)
                fprintf(stderr, "%s %s", i > 0 ? "," : "", rps_micros[i].name);
            fputc('\n', stderr);
            return -1;
        }
        micro->bench[micro->bench_count].micro = rps_micro_find(name);
        micro->bench[micro->bench_count].turns =
            turns > 0 ? (uint64_t)turns : rps_micro_find(name)->turns;
        for (int i = 0; i < RPS_MICRO_PREDICTION_MAX; i++)
            micro->bench[micro->bench_count].counted[i] = NAN;
        micro->bench_count++;
        names += length + (names[length] == ',');
    }
    return 0;
}

static int predict(const struct bench *bench, struct rps_micro_prediction *ret)
{
    return rps_micro_predict(bench->micro, bench->turns, &bench->result, ret);
}

/* Collect each event that any benchmark predicts, once. */
static void collect_events(struct micro *micro)
{
    for (int b = 0; b < micro->bench_count; b++) {
        struct rps_micro_prediction prediction[RPS_MICRO_PREDICTION_MAX];
        const int count = predict(&micro->bench[b], prediction);

        for (int p = 0; p < count; p++) {
            int known = strcmp(prediction[p].what, "instructions") == 0;

            for (int e = 0; e < micro->event_count; e++)
                known |= strcmp(micro->event[e].role, prediction[p].what) == 0;
            if (!known && micro->event_count < EVENT_MAX) {
                micro->event[micro->event_count] =
                    (struct self_event){prediction[p].what, micro->event_count};
                micro->event_count++;
            }
        }
    }
}

/* Run the benchmark once. Store its counts, if they are not yet known. */
static int run(struct bench *bench, int self)
{
    const struct rps_micro *micro = bench->micro;
    struct rps_micro_prediction prediction[RPS_MICRO_PREDICTION_MAX];
    const size_t bytes = micro->memory_bytes;
    void *memory = bytes > 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                             : NULL;
    int64_t start_ns;
    int count;

    if (memory == MAP_FAILED || (micro->prepare && micro->prepare(memory, bytes) < 0)) {
        fprintf(stderr, "micro: this machine cannot run '%s'\n", micro->name);
        return -1;
    }
    if (self)
        rps_region_begin(micro->name);
    start_ns = cpu_ns();
    micro->run(memory, bytes, bench->turns);
    bench->result.cpu_ns = cpu_ns() - start_ns;
    if (self)
        rps_region_end(micro->name);
    if (memory)
        munmap(memory, bytes);
    count = predict(bench, prediction);
    for (int p = 0; self && p < count; p++) {
        if (isnan(bench->counted[p])) /* The known cost of an entry of the region is subtracted. */
            bench->counted[p] =
                self_count(micro->name, prediction[p].what) - self_count(NULL, prediction[p].what);
    }
    return 0;
}

static void print_row(const struct bench *bench, const struct rps_micro_prediction *prediction,
                      double counted, int self)
{
    printf("%-9s %-18s %15.0f", bench->micro->name, prediction->what, prediction->count);
    if (self && isnan(counted))
        printf(" %15s", "-");
    else if (self)
        printf(" %15.0f %9.3f %%", counted, 100 * (counted - prediction->count) / prediction->of);
    putchar('\n');
}

static void print_table(const struct micro *micro, int self)
{
    printf("%-9s %-18s %15s", "run", "figure", "predicted");
    if (self)
        printf(" %15s %11s", "counted", "error");
    putchar('\n');
    for (int b = 0; b < micro->bench_count; b++) {
        struct rps_micro_prediction prediction[RPS_MICRO_PREDICTION_MAX];
        const int count = predict(&micro->bench[b], prediction);

        for (int p = 0; p < count; p++)
            print_row(&micro->bench[b], &prediction[p], micro->bench[b].counted[p], self);
    }
}

static int run_all(struct micro *micro, int self)
{
    int group = 0;

    collect_events(micro);
    do {
        if (self)
            group = self_open_events(micro->event, micro->event_count, group);
        for (int b = 0; b < micro->bench_count; b++) {
            if (run(&micro->bench[b], self) < 0)
                return -1;
        }
        if (self)
            self_close();
    } while (self && group > 0);
    print_table(micro, self);
    return 0;
}

int main(int argc, char *argv[])
{
    struct micro micro = {0};
    const char *only = ONLY_DEFAULT;
    long long turns = 0;
    int self = 0, status;
    const struct example_option options[] = {
        {.name = "only", .argument = "LIST", .help = "which, in this order", .text = &only},
        {.name = "turns",
         .argument = "N",
         .help = "turns of each, 0: as each likes best",
         .min = 0,
         .max = UINT32_MAX,
         .number = &turns},
        {.name = "self", .help = "count each with rpistat/region.h", .flag = &self},
        {.name = NULL},
    };

    status =
        example_options(argc, argv, "Microbenchmarks whose counts are known beforehand.", options);
    if (status != 0)
        return status > 0 ? EXIT_SUCCESS : 2;
    if (choose(&micro, only, turns) < 0)
        return 2;
    status = run_all(&micro, self) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    return fflush(stdout) == 0 ? status : EXIT_FAILURE;
}
