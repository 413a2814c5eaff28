/* Tests of regions from marks: how begin and end marks are paired, incomplete regions, and reading
 * only the periods of a region. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/arena.h"
#include "support/fixture.h"
#include "rpistat/clock.h"
#include "rpistat/run_regions.h"
#include "rpistat/walk.h"

#define MARKS_MAX (2 * RPS_RUN_REGIONS_MAX + 10)
#define S         RPS_NS_PER_S

/* Marks, and the regions derived from them. */
struct found {
    struct rps_note note[MARKS_MAX];
    struct rps_notes notes;
    struct rps_run_regions regions;
};

static void find(struct found *found, int64_t from_ns, int64_t to_ns)
{
    found->regions = rps_run_regions_find(arena, &found->notes, from_ns, to_ns);
}

static char begin_text[] = "region r begin", end_text[] = "region r end";

/* Find the regions of a series of marks at 0, 1, 2, ... seconds. "b" begins region r, and "e" ends
 * it. */
static void find_series(struct found *found, const char *letters)
{
    memset(found, 0, sizeof(*found));
    found->notes.note = found->note;
    for (size_t i = 0; letters[i]; i++)
        found->note[i] = (struct rps_note){.start_ns = (int64_t)i * S,
                                           .text = letters[i] == 'b' ? begin_text : end_text};
    found->notes.count = strlen(letters);
    find(found, 0, INT64_MAX);
}

static void assert_region(struct found *found, uint64_t entered, uint64_t open, uint64_t at_once,
                          int64_t time_s)
{
    const struct rps_run_region *region = found->regions.region;

    assert_int_equal(found->regions.count, 1);
    assert_string_equal(region->name, "r");
    assert_int_equal(region->entered, entered);
    assert_int_equal(region->open, open);
    assert_int_equal(region->at_once, at_once);
    assert_int_equal(region->time_ns, time_s * S);
}

static void assert_span(struct found *found, size_t number, int64_t start_s, int64_t end_s)
{
    const struct rps_spans *spans = &found->regions.region[0].spans;

    assert_true(number < spans->count);
    assert_int_equal(spans->span[number].start_ns, start_s * S);
    assert_int_equal(spans->span[number].end_ns, end_s * S);
}

static void test_pairs(void **state)
{
    struct found found;

    (void)state;
    find_series(&found, "bebe");
    assert_region(&found, 2, 0, 1, 2);
    assert_int_equal(found.regions.region[0].spans.count, 2);
    assert_span(&found, 1, 2, 3);
    find(&found, S / 2, 2 * S + S / 2); /* The time range begins and ends inside entries. Only
                                           the time inside the range counts. */
    assert_region(&found, 2, 0, 1, 1);

    find_series(&found, "bbeebe"); /* two threads in the region, then one */
    assert_region(&found, 3, 0, 2, 5);
    assert_int_equal(found.regions.region[0].spans.count, 2);
    assert_span(&found, 0, 0, 3);

    find_series(&found, "bbebe"); /* The first entry has no end. */
    assert_region(&found, 2, 1, 1, 2);
    assert_span(&found, 0, 1, 2);

    find_series(&found, "ebbbee"); /* an end without a begin, and an entry without an end */
    assert_region(&found, 2, 1, 2, 4);

    find_series(&found, "be");
    found.note[1].start_ns = 0; /* The entry takes no time. */
    find(&found, 0, INT64_MAX);
    assert_region(&found, 1, 0, 1, 0);
}

static void test_touching(void **state)
{
    struct found found;

    (void)state;
    find_series(&found, "bebebe");
    found.note[2].start_ns = 1 * S; /* The region is entered again at the time it ends. */
    find(&found, 0, INT64_MAX);
    assert_int_equal(found.regions.region[0].spans.count, 2);
    assert_span(&found, 0, 0, 3);
    assert_true(rps_spans_hold(&found.regions.region[0].spans, 0, 3 * S));
    assert_true(rps_spans_hold(&found.regions.region[0].spans, 4 * S, 5 * S));
    assert_false(rps_spans_hold(&found.regions.region[0].spans, 0, 3 * S + 1));
    assert_false(rps_spans_hold(&found.regions.region[0].spans, 3 * S, 4 * S));
    assert_false(rps_spans_hold(&found.regions.region[0].spans, -1, S));
}

static void test_totals(void **state)
{
    static char totals[] = "region r: 2000 entries, 3.000000 s";
    struct found found;

    (void)state;
    find_series(&found, "bebbb");
    found.note[4].text = totals; /* The marks of the 3rd and 4th end are missing. */
    find(&found, 0, INT64_MAX);
    assert_region(&found, 2000, 0, 1, 3);
    assert_int_equal(found.regions.region[0].marked, 1);
    find(&found, 0, 4 * S); /* Totals apply only to the whole run. */
    assert_region(&found, 1, 0, 1, 1);
}

static void test_texts(void **state)
{
    static const char *const marks[] = {"region a begin", "region a: b begin end",
                                        "region x: 1 entries: 7 entries, 0.250000 s"};
    static const char *const others[] = {"region",
                                         "region begin",
                                         "region ",
                                         "a begin",
                                         "region a: 7 entries",
                                         "region a: 7 entries, 1 s more",
                                         "region : 7 entries, 1.0 s",
                                         "regions a begin"};

    (void)state;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        assert_true(rps_region_mark_read(marks[i]).kind);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(rps_region_mark_read(others[i]).kind);
}

/* Region number n lasts n + 1 seconds. There are more regions than can be kept. */
static void test_many(void **state)
{
    static char text[MARKS_MAX][32];
    struct found found;

    (void)state;
    memset(&found, 0, sizeof(found));
    found.notes.note = found.note;
    found.notes.count = MARKS_MAX;
    for (int i = 0; i < MARKS_MAX; i++) {
        snprintf(text[i], sizeof(text[i]), "region %d %s", i / 2, i % 2 ? "end" : "begin");
        found.note[i] = (struct rps_note){
            .start_ns = (1000 * (i / 2) + (i % 2 ? i / 2 + 1 : 0)) * S, .text = text[i]};
    }
    find(&found, 0, INT64_MAX);
    assert_int_equal(found.regions.count, RPS_RUN_REGIONS_MAX);
    assert_int_equal(found.regions.more, 1);
    rps_run_regions_keep_longest(&found.regions, 2);
    assert_int_equal(found.regions.count, 2);
    assert_string_equal(found.regions.region[0].name, "98");
    assert_string_equal(found.regions.region[1].name, "99");
}

static void count_rows(const struct rps_cpu_series *series, enum rps_cpus_way way,
                       uint64_t counted[2])
{
    struct rps_walk walk = {.series = series, .way = way};
    struct rps_error err;
    int result = 0;

    while (rps_walk_next(&walk, &result, &err)) {
        assert_in_range(walk.period->start_ns, 5 * S / 10, 9 * S / 10);
        counted[0]++;
        counted[1] += walk.period->cycles;
    }
    assert_int_equal(result, 0);
}

/* A walk that is left early releases everything, and the next walk starts at the beginning. */
static void leave_in_the_middle(const struct rps_cpu_series *series, enum rps_cpus_way way)
{
    struct rps_walk walk = {.series = series, .way = way};
    struct rps_error err;

    for (int time = 0; time < 2; time++) {
        int result = 0;

        assert_int_equal(rps_walk_next(&walk, &result, &err), 1);
        assert_int_equal(walk.period->period, 5);
        assert_int_equal(rps_walk_next(&walk, &result, &err), 1);
        assert_int_equal(walk.period->period, 6);
        result = 7;
        assert_int_equal(rps_walk_next(&walk, &result, &err), 0);
        assert_int_equal(result, 7);
        assert_null(walk.state);
    }
}

/* Two CPUs have 20 periods of 100 ms each. The region from 0.45 s to 1.05 s holds five of these
 * periods. */
static void test_by_cpu(void **state)
{
    const struct rps_cpus all = {.count = 0};
    const uint64_t count[RPS_SLOT_MAX] = {1};
    struct fixture fixture;
    struct rps_cpu_series series;
    struct rps_error err;
    struct found found;
    uint64_t each[2] = {0}, sum[2] = {0};

    (void)state;
    find_series(&found, "be");
    found.note[0].start_ns = 45 * S / 100;
    found.note[1].start_ns = 105 * S / 100;
    find(&found, 0, INT64_MAX);
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int32_t cpu = 0; cpu < 2; cpu++) {
        fixture.next.cpu = cpu;
        fixture.next.period = fixture.next.cycle = 0;
        fixture.next.start_ns = 0;
        for (int i = 0; i < 20; i++)
            fixture_period(&fixture, 1000, count);
    }
    fixture_read(&fixture);
    assert_int_equal(rps_cpu_series_open(arena, &series, fixture.reader, fixture.run_id, 0,
                                         INT64_MAX, &all, &err),
                     0);
    assert_int_equal(rps_run_region_keep(&series, &found.regions.region[0], &err), 0);
    count_rows(&series, RPS_CPUS_EACH, each);
    count_rows(&series, RPS_CPUS_SUM, sum);
    leave_in_the_middle(&series, RPS_CPUS_EACH);
    leave_in_the_middle(&series, RPS_CPUS_SUM);
    assert_int_equal(each[0], 10);
    assert_int_equal(sum[0], 5);
    assert_int_equal(each[1], 10000);
    assert_int_equal(sum[1], 10000);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),  cmocka_unit_test(test_touching),
        cmocka_unit_test(test_totals), cmocka_unit_test(test_texts),
        cmocka_unit_test(test_many),   cmocka_unit_test(test_by_cpu),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
