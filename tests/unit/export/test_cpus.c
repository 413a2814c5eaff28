/* Tests of recordings by CPU (selected CPUs, separate CPUs, sum of CPUs) in exports, reports and
 * plots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "support/arena.h"
#include "support/fixture.h"
#include "rpistat/export.h"
#include "rpistat/plot.h"
#include "rpistat/report.h"
#include "rpistat/store.h"
#include "rpistat/tally.h"
#include "rpistat/walk.h"

/* cells after the metrics: low and high of each of seven metrics */
#define EMPTY_INTERVALS ",,,,,,,,,,,,,,"

/* Begin the periods of another CPU, from the start of the run. */
static void begin_cpu(struct fixture *fixture, int32_t cpu)
{
    fixture->next.cpu = cpu;
    fixture->next.period = 0;
    fixture->next.cycle = 0;
    fixture->next.start_ns = 0;
}

/* Write `periods` periods of CPUs 0, 1 and 3. CPU c counts 1000 * (c + 1) and 10 * (c + 1) in each
 * period. */
static void write_three(struct fixture *fixture, int periods)
{
    static const int32_t cpus[] = {0, 1, 3};

    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    for (int c = 0; c < 3; c++) {
        uint64_t factor = (uint64_t)cpus[c] + 1, count[2] = {1000 * factor, 10 * factor};

        begin_cpu(fixture, cpus[c]);
        for (int i = 0; i < periods; i++)
            fixture_period(fixture, 5000 * factor, count);
    }
}

static char *export_text(struct fixture *fixture, const char *format, struct rps_cpus cpus,
                         int64_t from_ns)
{
    const struct rps_export_options options = {.from_ns = from_ns,
                                               .to_ns = INT64_MAX,
                                               .cpus = cpus,
                                               .csv.separator = ',',
                                               .csv.decimal = '.'};
    struct rps_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (rps_export_run(rps_export_find(format), out, fixture->reader, fixture->run_id, &options,
                       &err) < 0)
        fail_msg("%s", err.message);
    fclose(out);
    return text;
}

static void assert_export(struct fixture *fixture, const char *format, struct rps_cpus cpus,
                          const char *rows)
{
    char *text = export_text(fixture, format, cpus, 0);

    assert_string_equal(strchr(text, '\n') + 1, rows);
    free(text);
}

static const struct rps_cpus as_chosen = {.way = RPS_CPUS_CHOSEN};
static const struct rps_cpus each = {.way = RPS_CPUS_EACH};
static const struct rps_cpus sum = {.way = RPS_CPUS_SUM};

static void test_export(void **state)
{
    static const int list[] = {3, 0};
    const struct rps_cpus two = {.cpu = list, .count = 2};
    const struct rps_cpus sum_of_two = {.way = RPS_CPUS_SUM, .cpu = list, .count = 2};
    static const char rows_of_all[] =
        "1,0,0,0.000000000,0.100000000,5000,5000,instr,0,A,1000,10,,,,,,\n"
        "1,0,1,0.100000000,0.100000000,10000,5000,dc,0,A,,,1000,10,,,,\n"
        "1,1,0,0.000000000,0.100000000,10000,10000,instr,0,A,2000,20,,,,,,\n"
        "1,1,1,0.100000000,0.100000000,20000,10000,dc,0,A,,,2000,20,,,,\n"
        "1,3,0,0.000000000,0.100000000,20000,20000,instr,0,A,4000,40,,,,,,\n"
        "1,3,1,0.100000000,0.100000000,40000,20000,dc,0,A,,,4000,40,,,,\n";
    struct fixture fixture;

    (void)state;
    write_three(&fixture, 2);
    fixture_read(&fixture);
    assert_export(&fixture, "wide", as_chosen, rows_of_all);
    assert_export(&fixture, "wide", each, rows_of_all);
    assert_export(&fixture, "wide", sum,
                  "1,,0,0.000000000,0.100000000,35000,35000,instr,0,A,7000,70,,,,,,\n"
                  "1,,1,0.100000000,0.100000000,70000,35000,dc,0,A,,,7000,70,,,,\n");
    assert_export(&fixture, "wide", two,
                  "1,0,0,0.000000000,0.100000000,5000,5000,instr,0,A,1000,10,,,,,,\n"
                  "1,0,1,0.100000000,0.100000000,10000,5000,dc,0,A,,,1000,10,,,,\n"
                  "1,3,0,0.000000000,0.100000000,20000,20000,instr,0,A,4000,40,,,,,,\n"
                  "1,3,1,0.100000000,0.100000000,40000,20000,dc,0,A,,,4000,40,,,,\n");
    assert_export(&fixture, "wide", sum_of_two,
                  "1,,0,0.000000000,0.100000000,25000,25000,instr,0,A,5000,50,,,,,,\n"
                  "1,,1,0.100000000,0.100000000,50000,25000,dc,0,A,,,5000,50,,,,\n");
    /* A rate over time has the length of one CPU, and the enabled time of all CPUs. */
    assert_export(&fixture, "rates", sum,
                  "1,,0,0.000000000,0.200000000,70000,70000,0,A,5,0.2,1,,,," EMPTY_INTERVALS "\n");
    assert_export(&fixture, "long", sum,
                  "1,,0,0.000000000,35000,0,A,instructions,events,7000,300000000,300000000,7000\n"
                  "1,,0,0.000000000,35000,0,A,ibuf_stall,cycles,70,300000000,300000000,70\n"
                  "1,,1,0.100000000,70000,0,A,dc_access,events,7000,300000000,300000000,7000\n"
                  "1,,1,0.100000000,70000,0,A,dc_miss,events,70,300000000,300000000,70\n");
    fixture_end(&fixture);
}

/* If a CPU goes offline, its track ends. The sum and its clock continue with the other CPUs. */
static void test_cpu_goes_away(void **state)
{
    const uint64_t count[2] = {100, 1};
    struct fixture fixture;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int32_t cpu = 0; cpu < 2; cpu++) {
        begin_cpu(&fixture, cpu);
        for (int i = 0; i < (cpu == 0 ? 3 : 1); i++) {
            fixture.next.counted = cpu == 0 && i == 0 ? 1 : 3; /* one of two CPUs has a count */
            fixture.next.length_ns = FIXTURE_PERIOD_NS + (cpu == 1 ? 7 : 0);
            fixture_period(&fixture, 5000, count);
        }
    }
    fixture.next.start_ns = 3 * FIXTURE_PERIOD_NS;
    fixture_read(&fixture);
    assert_export(&fixture, "wide", sum,
                  "1,,0,0.000000000,0.100000007,10000,10000,instr,0,A,200,1,,,,,,\n"
                  "1,,1,0.100000000,0.100000000,15000,5000,dc,0,A,,,100,1,,,,\n"
                  "1,,2,0.200000000,0.100000000,20000,5000,tlb,0,A,,,,,100,1,,\n");
    /* The running time leaves out a CPU whose count could not be read. */
    assert_export(&fixture, "long", sum,
                  "1,,0,0.000000000,10000,0,A,instructions,events,200,200000000,200000000,200\n"
                  "1,,0,0.000000000,10000,0,A,ibuf_stall,cycles,1,200000000,100000000,2\n"
                  "1,,1,0.100000000,15000,0,A,dc_access,events,100,100000000,100000000,100\n"
                  "1,,1,0.100000000,15000,0,A,dc_miss,events,1,100000000,100000000,1\n"
                  "1,,2,0.200000000,20000,0,A,micro_tlb_miss,events,100,100000000,100000000,100\n"
                  "1,,2,0.200000000,20000,0,A,main_tlb_miss,events,1,100000000,100000000,1\n");
    fixture_end(&fixture);
}

/* Period numbers that are further apart than the window of the sum are neither lost nor counted
 * twice. */
static void test_long_run(void **state)
{
    const uint64_t count[2] = {100, 1}, step = 100000 * 4;
    struct fixture fixture;
    char *text, *line;
    uint64_t expected = 0;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int32_t cpu = 0; cpu < 2; cpu++) {
        begin_cpu(&fixture, cpu);
        for (int i = 0; i < 40; i++) {
            fixture_period(&fixture, 5000, count);
            if (i % 2 == 1)
                fixture.next.period += step - 2;
        }
    }
    fixture_read(&fixture);
    text = export_text(&fixture, "wide", sum, 0);
    line = strchr(text, '\n') + 1;
    for (int i = 0; i < 40; i++, line = strchr(line, '\n') + 1) {
        char start[64];

        snprintf(start, sizeof(start), "1,,%llu,", (unsigned long long)expected);
        assert_memory_equal(line, start, strlen(start));
        snprintf(start, sizeof(start), ",%d,10000,", 10000 * (i + 1));
        assert_non_null(strstr(line, start));
        expected += i % 2 == 1 ? step - 1 : 1;
    }
    assert_string_equal(line, "");
    free(text);
    text = export_text(&fixture, "wide", sum, 39 * FIXTURE_PERIOD_NS);
    line = strchr(text, '\n') + 1;
    assert_non_null(strstr(line, ",400000,10000,"));
    assert_string_equal(strchr(line, '\n'), "\n"); /* the export has only one row */
    free(text);
    fixture_end(&fixture);
}

static void test_refusals(void **state)
{
    static const int list[] = {1, 2};
    struct rps_export_options options = {.to_ns = INT64_MAX,
                                         .csv.separator = ',',
                                         .csv.decimal = '.',
                                         .cpus = {.cpu = list, .count = 2}};
    const uint64_t count[2] = {1, 2};
    struct fixture fixture;
    struct rps_error err;

    (void)state;
    write_three(&fixture, 2);
    fixture_read(&fixture);
    assert_int_equal(
        rps_export_run(rps_export_find("wide"), stderr, fixture.reader, 1, &options, &err),
        RPS_FAILED);
    assert_string_equal(err.message,
                        "run 1 has no data of CPU 2 in this range; choose from CPUs 0-1,3");
    fixture_end(&fixture);
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    fixture_period(&fixture, 5000, count);
    fixture_read(&fixture);
    assert_int_equal(
        rps_export_run(rps_export_find("wide"), stderr, fixture.reader, 1, &options, &err),
        RPS_FAILED);
    assert_string_equal(err.message, "run 1 was not counted per CPU; leave out "
                                     "--cpu, or record with -a");
    fixture_end(&fixture);
}

/* For a recording without CPUs, all choices of CPUs give the same export. */
static void test_whole_workload(void **state)
{
    const uint64_t count[2] = {100, 1};
    struct fixture fixture;
    char *first, *second;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int i = 0; i < 9; i++)
        fixture_period(&fixture, 5000, count);
    fixture_read(&fixture);
    first = export_text(&fixture, "wide", each, 0);
    second = export_text(&fixture, "wide", sum, 0);
    assert_string_equal(first, second);
    free(first);
    free(second);
    fixture_end(&fixture);
}

static void test_name(void **state)
{
    static const struct {
        int count;
        int32_t cpu[6];
        const char *name;
    } cases[] = {
        {0, {0}, ""},
        {1, {5}, "CPU 5"},
        {2, {0, 1}, "CPUs 0-1"},
        {6, {0, 2, 3, 4, 8, 9}, "CPUs 0,2-4,8-9"},
    };
    int32_t many[400];
    struct rps_cpu_series tracks = {.by_cpu = 1, .count = 400, .cpu = many};
    char name[RPS_CPU_SERIES_TEXT_SIZE];

    (void)state;
    for (int i = 0; i < 400; i++)
        many[i] = 2 * i;
    rps_cpu_series_name(name, &tracks);
    assert_true(strlen(name) < sizeof(name));
    assert_string_equal(name + strlen(name) - 4, ",...");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int32_t cpu[6];

        memcpy(cpu, cases[i].cpu, sizeof(cpu));
        tracks = (struct rps_cpu_series){.by_cpu = 1, .count = cases[i].count, .cpu = cpu};
        assert_string_equal(rps_cpu_series_name(name, &tracks), cases[i].name);
    }
}

/* --- the series ------------------------------------------------------------------------------- */

#define SERIES_ROTATIONS 600
#define SERIES_PERIODS   (4 * SERIES_ROTATIONS)
#define SERIES_GAP_AT    902 /* within a rotation, and within a cell of each level */

/* Write period n of a CPU for write_series(). All members differ from CPU to CPU. */
static void write_series_period(struct fixture *fixture, uint64_t n, int32_t cpu)
{
    const uint64_t count[2] = {1000 + n * 7 + (uint64_t)cpu, n % 11};
    struct rps_period *next = &fixture->next;

    next->cpu = cpu;
    next->period = n;
    next->start_ns = (int64_t)n * FIXTURE_PERIOD_NS + (n % 2 ? 7 * cpu : 21 - 7 * cpu) +
                     (n >= SERIES_GAP_AT ? 5 * FIXTURE_PERIOD_NS : 0);
    next->length_ns = FIXTURE_PERIOD_NS + (int64_t)(n + (uint64_t)cpu) % 3;
    next->enabled_ns = (uint64_t)FIXTURE_PERIOD_NS - n % 13;
    next->clock_running_ns = next->enabled_ns;
    next->running_ns = (uint64_t)FIXTURE_PERIOD_NS - n % 17;
    next->clock_running_ns = (uint64_t)FIXTURE_PERIOD_NS - n % 19;
    next->idle_ns = cpu == 3 && n % 500 == 7 ? -1 : (int64_t)n * 31 % 1000 + cpu;
    next->switch_ns = 1000 + (int64_t)(n % 23) * (cpu == 1 ? 2 : 1);
    next->missed = n % (cpu == 0 ? 5 : 7) == 0;
    next->counted = n < 1400 && cpu == 0 ? 1 : 3;
    fixture_period(fixture, 5000 + n % 29 + (uint64_t)cpu, count);
}

/* Write periods of CPUs 0, 1 and 3, with a common gap. CPU 1 is offline for a while, and CPU 3 goes
 * offline. */
static void write_series(struct fixture *fixture)
{
    const int64_t at_ns = SERIES_GAP_AT * FIXTURE_PERIOD_NS;
    static const int32_t cpus[] = {0, 1, 3};

    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    for (int c = 0; c < 3; c++) {
        begin_cpu(fixture, cpus[c]);
        for (uint64_t n = 0; n < (cpus[c] == 3 ? 1500 : SERIES_PERIODS); n++) {
            if (cpus[c] != 1 || n < 300 || n >= 333)
                write_series_period(fixture, n, cpus[c]);
        }
    }
    rps_writer_gap(fixture->writer, 1, 300 * FIXTURE_PERIOD_NS, 33 * FIXTURE_PERIOD_NS, "away");
    rps_writer_gap(fixture->writer, RPS_CPU_ALL, at_ns, 5 * FIXTURE_PERIOD_NS, "suspended");
    fixture_read(fixture);
}

struct rows {
    struct rps_period row[3 * SERIES_PERIODS];
    size_t count;
};

static void collect_rows(const struct rps_cpu_series *series, enum rps_cpus_way way,
                         struct rows *rows)
{
    struct rps_walk walk = {.series = series, .way = way};
    struct rps_error err;
    int result = 0;

    while (rps_walk_next(&walk, &result, &err)) {
        assert_true(rows->count < sizeof(rows->row) / sizeof(rows->row[0]));
        rows->row[rows->count++] = *walk.period;
    }
    assert_int_equal(result, 0);
}

/* Return the cell of a period at a level. Cells before and after the gap differ. */
static uint64_t cell_of(const struct rps_period *period, int level)
{
    return (period->rotation >> (RPS_LEVEL_BITS * level)) * 2 + (period->period >= SERIES_GAP_AT);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Add the members that are summed over periods of one CPU and over CPUs alike. */
static void add_up(struct rps_period *to, const struct rps_period *from)
{
    to->start_ns = from->start_ns < to->start_ns ? from->start_ns : to->start_ns;
    to->end_ns = most(to->end_ns, rps_period_end_ns(from));
    to->last_period = (uint64_t)most((int64_t)to->last_period, (int64_t)rps_period_last(from));
    to->cycles += from->cycles;
    to->enabled_ns += from->enabled_ns;
    to->running_ns += from->running_ns;
    to->clock_running_ns += from->clock_running_ns;
    if (to->idle_ns >= 0)
        to->idle_ns = from->idle_ns < 0 ? -1 : to->idle_ns + from->idle_ns;
    to->counted |= from->counted;
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        to->count[slot] += from->count[slot];
}

/* Return the sum of the periods in the cell and set of a row. */
static struct rps_period sum_of(const struct rows *periods, const struct rps_period *of, int level)
{
    struct rps_period all = *of, one;

    all.start_ns = INT64_MAX;
    all.end_ns = all.length_ns = all.switch_ns = 0;
    all.merged = all.last_period = all.cycle = all.cycles = 0;
    all.enabled_ns = all.running_ns = all.clock_running_ns = 0;
    all.idle_ns = 0;
    all.missed = all.counted = 0;
    all.level = level;
    memset(all.count, 0, sizeof(all.count));
    memset(all.missing_ns, 0, sizeof(all.missing_ns));
    for (int32_t cpu = 0; cpu <= 3; cpu++) {
        one = (struct rps_period){.start_ns = INT64_MAX, .level = level};
        for (const struct rps_period *p = periods->row; p < periods->row + periods->count; p++) {
            if (p->cpu != cpu || p->set_no != of->set_no || cell_of(p, level) != cell_of(of, level))
                continue;
            add_up(&one, p);
            for (int slot = 0; slot < 2; slot++)
                all.missing_ns[slot] += p->counted & 1u << slot ? 0 : p->running_ns;
            one.merged++;
            one.cycle = p->cycle;
            one.length_ns += p->length_ns;
            one.switch_ns += p->switch_ns;
            one.missed += p->missed;
        }
        add_up(&all, &one);
        all.merged = one.merged > all.merged ? one.merged : all.merged;
        all.cycle += one.cycle;
        all.length_ns = most(all.length_ns, one.length_ns);
        all.switch_ns = most(all.switch_ns, one.switch_ns);
        all.missed = one.missed > all.missed ? one.missed : all.missed;
    }
    for (int slot = 0; slot < 2; slot++)
        all.missing_ns[slot] = all.counted & 1u << slot ? all.missing_ns[slot] : 0;
    return all;
}

static void assert_sums(struct rps_cpu_series *series, const struct rows *periods, int level)
{
    struct rows *got = calloc(1, sizeof(*got));
    uint64_t count = 0, before = 0, cycle = 0;

    assert_non_null(got);
    series->resolution = level;
    collect_rows(series, RPS_CPUS_SUM, got);
    for (size_t i = 0; i < got->count; i++) {
        const struct rps_period *row = &got->row[i];
        struct rps_period expected = sum_of(periods, row, level);
        uint64_t place = cell_of(row, level) * 4 + row->set_no + 1;

        expected.cpu = RPS_CPU_ALL;
        cycle = expected.cycle = expected.cycle > cycle ? expected.cycle : cycle;
        assert_memory_equal(row, &expected, sizeof(expected));
        assert_true(place > before);
        before = place;
        count += row->count[0];
    }
    for (size_t i = 0; i < periods->count; i++)
        count -= periods->row[i].count[0];
    assert_int_equal(count, 0); /* no expected row is missing */
    free(got);
}

/* At each level, the sum equals the sum of the periods in each cell, for any blocks of the CPUs. */
static void test_sum_of_blocks(void **state)
{
    struct rows *periods = calloc(1, sizeof(*periods));
    struct rps_cpu_series series;
    struct fixture fixture;
    struct rps_error err;

    (void)state;
    assert_non_null(periods);
    write_series(&fixture);
    assert_int_equal(rps_cpu_series_open(arena, &series, fixture.reader, fixture.run_id, 0,
                                         INT64_MAX, &as_chosen, &err),
                     0);
    assert_int_equal(series.count, 3);
    assert_int_equal(series.set_count, 4);
    assert_int_equal(series.periods, 2 * SERIES_PERIODS - 33 + 1500);
    assert_int_equal(series.first, 0);
    assert_int_equal(series.last, SERIES_PERIODS - 1);
    assert_int_equal(series.first_rotation, 0);
    assert_int_equal(series.last_rotation, SERIES_ROTATIONS - 1);
    collect_rows(&series, RPS_CPUS_EACH, periods);
    assert_int_equal(periods->count, series.periods);
    for (int level = 1; level <= RPS_LEVELS; level++)
        assert_sums(&series, periods, level);
    free(periods);
    fixture_end(&fixture);
}

/* At full resolution, downsampled data comes in blocks. A block counts for all of its periods and
 * their time, not for one long period. */
static void test_sum_of_downsampled(void **state)
{
    const struct rps_writer_options keep = {.commit_ns = 1000000,
                                            .keep_ns = 50 * FIXTURE_PERIOD_NS};
    const uint64_t count[2] = {1000, 10};
    struct rps_cpu_series series;
    struct rps_walk walk = {.series = &series, .way = RPS_CPUS_SUM};
    struct fixture fixture;
    struct rps_tally tally;
    struct rps_error err;
    int result = 0;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write_with(&fixture, &keep);
    for (int32_t cpu = 0; cpu < 2; cpu++) {
        begin_cpu(&fixture, cpu);
        for (int i = 0; i < 640; i++)
            fixture_period(&fixture, 5000, count);
    }
    fixture_read(&fixture);
    tally = rps_tally_new(arena, fixture.plan);
    assert_int_equal(rps_cpu_series_open(arena, &series, fixture.reader, fixture.run_id, 0,
                                         INT64_MAX, &as_chosen, &err),
                     0);
    while (rps_walk_next(&walk, &result, &err))
        rps_tally_add(&tally, walk.period);
    assert_int_equal(result, 0);
    assert_int_equal(tally.periods, 640);
    assert_int_equal(tally.length_ns, 640 * FIXTURE_PERIOD_NS);
    assert_int_equal(tally.set[3].periods, 160);
    assert_int_equal(tally.set[3].count[0], 2 * 160 * 1000);
    assert_int_equal(tally.end_ns, 640 * FIXTURE_PERIOD_NS);
    fixture_end(&fixture);
}

/* The level is the coarsest with eight blocks per bin. Short recordings are read at full
 * resolution. */
static void test_resolution(void **state)
{
    static const struct {
        uint64_t periods;
        int cpus, sets;
        size_t bins;
        int level;
    } bins[] = {
        {2000000, 1, 1, 1, 0},
        {2000001, 1, 1, 20000, 0},
        {8 * 16 * 20000, 1, 1, 20000, 1},
        {8 * 16 * 20000 - 1, 1, 1, 20000, 0},
        {8 * 256 * 1000, 1, 1, 1000, 2},
        {8 * 256 * 1000 - 1, 1, 1, 1000, 1},
        {3 * 2 * 8 * 256 * 1000, 3, 2, 1000, 2},
        {3 * 2 * 8 * 256 * 1000 - 1, 3, 2, 1000, 1},
        {UINT64_C(8) << 40, 1, 1, 1, RPS_LEVELS},
        {4000000, 0, 0, 4000000 / 8 / 16, 1},
    };
    static const struct {
        uint64_t periods;
        int signals;
        int level;
    } rows[] = {
        {2000000, 6, 0},   {2000001, 6, 1},  /* the limit is 2,000,000 rows */
        {1200000, 10, 0},  {1200001, 10, 1}, /* the limit is 12,000,000 values */
        {19200015, 10, 1}, {19200016, 10, 2}, {UINT64_MAX, 1, RPS_LEVELS},
    };
    struct rps_cpu_series series = {.resolution = 3};
    char text[RPS_CPU_SERIES_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(bins) / sizeof(bins[0]); i++) {
        series.periods = bins[i].periods;
        series.count = bins[i].cpus;
        series.set_count = bins[i].sets;
        rps_cpu_series_choose_bins(&series, bins[i].bins);
        assert_int_equal(series.resolution, bins[i].level);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        series.periods = rows[i].periods;
        rps_cpu_series_choose_signals(&series, rows[i].signals);
        assert_int_equal(series.resolution, rows[i].level);
    }
    series.resolution = 0;
    assert_string_equal(rps_cpu_series_level_text(text, &series), "");
    series.resolution = 2;
    assert_string_equal(rps_cpu_series_level_text(text, &series), "in blocks of 256 rotations");
}

/* --- the report ------------------------------------------------------------------------------- */

static char *report_text(struct fixture *fixture, struct rps_cpus cpus)
{
    const struct rps_report_options options = {.to_ns = INT64_MAX, .cpus = cpus};
    struct rps_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (rps_report_write_2013(out, fixture->reader, fixture->run_id, &options, &err) < 0)
        fail_msg("%s", err.message);
    fclose(out);
    return text;
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fputs(text, stderr);
        fail_msg("the report above has no \"%s\"", part);
    }
}

static void test_report(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    write_three(&fixture, 8);
    fixture_read(&fixture);
    text = report_text(&fixture, as_chosen);
    assert_holds(text, "  Recorded by CPU:          CPUs 0-1,3, sum\n");
    assert_holds(text, "  Total periods:      8\n");
    assert_holds(text, "  Cycles:             280000\n");
    assert_holds(text, "  Instructions:       14000  [56000]\n");
    assert_holds(text, "  CPI:                5.000  \n");
    assert_null(strstr(text, "\nPer CPU"));
    free(text);
    text = report_text(&fixture, each);
    assert_holds(text, "  Instructions:       14000  [56000]\n");
    assert_holds(text, "\nPer CPU (event counts: estimates for the whole time)\n\n");
    assert_holds(text, "  CPU     Cycles  Instructions");
    assert_holds(text, "  0        40000          8000");
    assert_holds(text, "  1        80000         16000");
    assert_holds(text, "  3       160000         32000");
    assert_holds(text, "  all     280000         56000");
    for (char *line = strstr(text, "\nPer CPU"); line; line = strchr(line + 1, '\n'))
        assert_true(strcspn(line + 1, "\n") <= 78);
    free(text);
    fixture_end(&fixture);
}

/* --- pictures --------------------------------------------------------------------------------- */

static void need_gnuplot(void)
{
    if (system("command -v gnuplot >/dev/null 2>&1") == 0)
        return;
    print_message("gnuplot is not installed here\n");
    skip();
}

static char *kept_text(struct fixture *fixture, const char *name)
{
    char path[64], *text;
    FILE *file;
    size_t size;

    snprintf(path, sizeof(path), "keep/%s", name);
    file = fopen(fixture_file(fixture, path), "r");
    if (!file)
        return NULL;
    text = calloc(1, 65536);
    assert_non_null(text);
    size = fread(text, 1, 65535, file);
    assert_true(size < 65535);
    fclose(file);
    return text;
}

static void assert_kept(struct fixture *fixture, const char *name, const char *part)
{
    char *text = kept_text(fixture, name);

    assert_non_null(text);
    if (!strstr(text, part))
        fail_msg("no \"%s\" in %s: %s", part, name, text);
    free(text);
}

static void draw(struct fixture *fixture, struct rps_cpus cpus)
{
    char keep[600], output[600], command[700];
    struct rps_plot_options options = {.to_ns = INT64_MAX,
                                       .cpus = cpus,
                                       .output = output,
                                       .keep = keep,
                                       .script_folder = TEST_PLOT_FOLDER};
    struct rps_error err;

    strcpy(keep, fixture_file(fixture, "keep"));
    snprintf(command, sizeof(command), "rm -rf '%s'", keep);
    assert_int_equal(system(command), 0);
    strcpy(output, fixture_file(fixture, "a.svg"));
    if (rps_plot_draw(fixture->reader, fixture->run_id, &options, &err) < 0)
        fail_msg("%s", err.message);
}

static void test_side_by_side(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    need_gnuplot();
    write_three(&fixture, 40);
    fixture_read(&fixture);
    draw(&fixture, as_chosen);
    assert_kept(&fixture, "panels.gp", "'panel-7-3.dat'"); /* each metric has its own panel */
    assert_null(kept_text(&fixture, "panel-7-4.dat"));
    assert_null(kept_text(&fixture, "panel-8-1.dat"));
    assert_kept(&fixture, "text.gp", "|CPU 0\n|CPU 1\n|CPU 3\n");
    assert_kept(&fixture, "text.gp", "|TLB misses per 1,000 instructions: Micro miss rate\n");
    text = kept_text(&fixture, "panel-1-3.dat");
    assert_memory_equal(text, "0.2 5\n", 6);
    free(text);
    draw(&fixture, sum);
    assert_null(kept_text(&fixture, "panel-7-1.dat"));
    assert_kept(&fixture, "text.gp", "CPUs 0-1,3, sum\n");
    text = kept_text(&fixture, "panel-1-2.dat");
    assert_null(text);
    fixture_end(&fixture);
}

/* CPU c of 20 needs (c + 1) cycles per instruction, so that the median is 10.5. */
static void test_many_cpus(void **state)
{
    struct fixture fixture;

    (void)state;
    need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int32_t cpu = 0; cpu < 20; cpu++) {
        const uint64_t count[2] = {1000, 10};

        begin_cpu(&fixture, cpu);
        for (int i = 0; i < 80; i++)
            fixture_period(&fixture, 1000 * ((uint64_t)cpu + 1), count);
    }
    fixture_read(&fixture);
    draw(&fixture, as_chosen);
    assert_kept(&fixture, "text.gp", "CPUs 0-19, sum\n");
    assert_kept(&fixture, "panel-1-1.dat", "0.2 10.5\n");
    /* no band is wide enough to be drawn */
    assert_null(kept_text(&fixture, "panel-1-1-extremes.dat"));
    draw(&fixture, each);
    assert_kept(&fixture, "text.gp", "CPUs 0-19: median and 10 to 90 % band\n");
    assert_kept(&fixture, "panel-1-1.dat", "0.2 10.5\n");
    assert_kept(&fixture, "panel-1-1-extremes.dat", "0.2 2.9 18.1\n");
    assert_null(kept_text(&fixture, "panel-1-2.dat"));
    fixture_end(&fixture);
}

/* Return how many of 738 points have a band. The series has 800 rotations with two alternating
 * values. */
static int points_with_band(int cpus)
{
    struct fixture fixture;
    int count = 0;
    char *text, *rest, *line;

    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int32_t cpu = 0; cpu < cpus; cpu++) {
        begin_cpu(&fixture, cpu);
        for (int i = 0; i < 4 * 800; i++) {
            const uint64_t count_of[2] = {i / 4 % 2 ? 1000 : 4000, 10};

            fixture_period(&fixture, 4000, count_of);
        }
    }
    fixture_read(&fixture);
    draw(&fixture, each);
    rest = text = kept_text(&fixture, "panel-1-1-extremes.dat");
    while ((line = strsep(&rest, "\n")) != NULL) {
        double position, min, max;

        count += sscanf(line, "%lf %lf %lf", &position, &min, &max) == 3 && min < max;
    }
    free(text);
    fixture_end(&fixture);
    return count;
}

static void test_bands(void **state)
{
    (void)state;
    need_gnuplot();
    assert_in_range(points_with_band(4), 50, 80);
    assert_int_equal(points_with_band(5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_export, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_cpu_goes_away, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_long_run, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_refusals, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_whole_workload, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_name, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_sum_of_blocks, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_sum_of_downsampled, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_resolution, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_report, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_side_by_side, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_many_cpus, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_bands, open_arena, close_arena),
    };

    setenv("TZ", "UTC0", 1);
    tzset();
    return cmocka_run_group_tests_name("export/cpus", tests, NULL, NULL);
}
