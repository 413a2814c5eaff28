/* chase: pointer chasing through ten lists of different sizes, with one item per cache line in
 * random order, and equally many steps in each. If a list exceeds a cache or the reach of a TLB,
 * the time per step and the misses jump. So the table shows the sizes of the machine's structures.
 *
 * The lists and the columns are those of the measurements published for the first Raspberry Pi in
 * 2013 (P. J. Drongowski, sandsoftwaresound.net). If a processor has too few counters for all
 * columns, each list is chased several times, with other events each time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "list.h"
#include "options.h"
#include "rpistat/region.h"
#include "self.h"

#define CHASES_DEFAULT (1 << 24)
#define SIZES_DEFAULT  "4096,2048,1024,512,256,128,64,32,16,8"
#define SIZE_ROOM      32

/* Columns after cpi, and the roles that count them, in groups. The first pass counts the first
 * groups. */
static const struct self_event events[] = {
    {"l1d_access", 0},   {"l1d_miss", 0},  /* The data-cache events must be counted together. */
    {"dtlb_l1_miss", 1}, {"dtlb_miss", 1}, /* The TLB events must be counted together. */
    {"llc_miss", 2},
};

#define EVENT_COUNT ((int)(sizeof(events) / sizeof(events[0])))

struct row {
    size_t size_kib, lines;
    uint64_t iterations;
    double time_s, cpi, count[EVENT_COUNT];
};

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Chase the list of the row once. Store its time, and all newly counted events, in the row. */
static int chase(struct row *row, int self)
{
    size_t line = list_line_size(), size = row->size_kib << 10;
    struct list_item *list = list_new(size, line), *end;
    char name[32];
    double start_s;

    if (!list) {
        fprintf(stderr, "chase: no memory for a list of %zu KiB\n", row->size_kib);
        return -1;
    }
    snprintf(name, sizeof(name), "%zu KiB", row->size_kib);
    end = list_chase(list, row->lines);
    if (self)
        rps_region_begin(name);
    start_s = now_s();
    end = list_chase(end, row->iterations * row->lines);
    if (!(row->time_s > 0))
        row->time_s = now_s() - start_s;
    if (self)
        rps_region_end(name);
    if (end != list) /* each walk is a whole number of rounds */
        fprintf(stderr, "chase: the list of %zu KiB is no circle\n", row->size_kib);
    list_free(list, size);
    for (int e = 0; self && e < EVENT_COUNT; e++) {
        if (isnan(row->count[e]))
            row->count[e] = self_count(name, events[e].role);
    }
    if (self && isnan(row->cpi))
        row->cpi = self_count(name, "cpi");
    return 0;
}

static void print_cell(double value, int decimals)
{
    putchar(',');
    if (!isnan(value))
        printf("%.*f", decimals, value);
}

static void print_table(const struct row *row, int count)
{
    printf("size_kib,cache_lines,iterations,time_s,cpi,dc_access,dc_miss,micro_tlb_miss,"
           "main_tlb_miss,external_access\n");
    for (int i = 0; i < count; i++) {
        printf("%zu,%zu,%llu,%.3f", row[i].size_kib, row[i].lines,
               (unsigned long long)row[i].iterations, row[i].time_s);
        print_cell(row[i].cpi, 2);
        for (int e = 0; e < EVENT_COUNT; e++)
            print_cell(row[i].count[e], 0);
        putchar('\n');
    }
}

/* Chase all lists once per pass that the counters need. Without --self there is one pass. */
static int run(struct row *row, int count, int self)
{
    int group = 0;

    do {
        if (self)
            group = self_open_events(events, EVENT_COUNT, group);
        for (int i = 0; i < count; i++) {
            if (chase(&row[i], self) < 0)
                return -1;
        }
        if (self)
            self_close();
    } while (self && group > 0);
    return 0;
}

int main(int argc, char *argv[])
{
    long long chases = CHASES_DEFAULT;
    const char *sizes = SIZES_DEFAULT;
    int self = 0, count, status;
    const struct example_option options[] = {
        {.name = "chases",
         .argument = "N",
         .help = "steps through each list",
         .min = 1,
         .max = 1LL << 40,
         .number = &chases},
        {.name = "sizes", .argument = "LIST", .help = "sizes of the lists in KiB", .text = &sizes},
        {.name = "self", .help = "count the chases with rpistat/region.h", .flag = &self},
        {.name = NULL},
    };
    struct row row[SIZE_ROOM] = {{0}};
    size_t kib[SIZE_ROOM];

    status =
        example_options(argc, argv, "Pointer chasing through lists of several sizes.", options);
    if (status != 0)
        return status > 0 ? EXIT_SUCCESS : 2;
    count = example_sizes("chase", sizes, kib, SIZE_ROOM);
    if (count < 0)
        return 2;
    for (int i = 0; i < count; i++) {
        row[i].size_kib = kib[i];
        row[i].lines = (kib[i] << 10) / list_line_size();
        row[i].iterations = (uint64_t)chases / row[i].lines;
        if (row[i].iterations == 0)
            row[i].iterations = 1;
        row[i].cpi = NAN;
        for (int e = 0; e < EVENT_COUNT; e++)
            row[i].count[e] = NAN;
    }
    if (run(row, count, self) < 0)
        return EXIT_FAILURE;
    print_table(row, count);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
