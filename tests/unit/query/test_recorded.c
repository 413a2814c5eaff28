/* Phases are found in recordings of real programs (tests/bench/programs), stored as rows of counts.
 * The programs themselves logged their true phases (tests/data/phases, recorded on a machine under
 * load). */
#include "support/fixture.h"
#include "support/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/loops.h"
#include "rpistat/plan.h"
#include "rpistat/run_phases.h"

#define EDGES_MAX 64
#define MARGIN    5 /* tolerance of a boundary, in periods */

/* Start of each phase, in periods. */
struct edges {
    size_t count;
    uint64_t at[EDGES_MAX];
};

static void add_edge(struct edges *edges, uint64_t at)
{
    assert_true(edges->count < EDGES_MAX);
    edges->at[edges->count++] = at;
}

/* Add a row: length and CPU time in us, five counts, and the names of the phases that begin at this
 * row. */
static int add_row(struct fixture *fixture, const char *line, struct edges *coarse,
                   struct edges *fine)
{
    unsigned long long length_us, cpu_us, c[5];
    uint64_t count[8];
    char names[2][32] = {"", ""};
    int end = 0;
    const char *comma;

    if (sscanf(line, "%llu,%llu,%llu,%llu,%llu,%llu,%llu,%n", &length_us, &cpu_us, &c[0], &c[1],
               &c[2], &c[3], &c[4], &end) < 7)
        return 0;
    comma = strchr(line + end, ',');
    assert_non_null(comma);
    snprintf(names[0], sizeof(names[0]), "%.*s", (int)(comma - line - end), line + end);
    snprintf(names[1], sizeof(names[1]), "%.*s", (int)strcspn(comma + 1, "\r\n"), comma + 1);
    if (names[0][0] && fixture->next.period > 0)
        add_edge(coarse, fixture->next.period);
    if (names[1][0] && fixture->next.period > 0)
        add_edge(fine, fixture->next.period);
    count[0] = cpu_us * 1000;
    for (int k = 0; k < 5; k++)
        count[k + 1] = c[k];
    fixture->next.length_ns = (int64_t)length_us * 1000;
    fixture->next.enabled_ns = fixture->next.running_ns = cpu_us * 1000;
    fixture->next.clock_running_ns = cpu_us * 1000;
    fixture_period(fixture, cpu_us * 1000, count);
    return 1;
}

/* Keep the default events and block I/O, as in these recordings. */
static void keep_recorded(struct rps_plan *plan)
{
    int set = 0, slot = 0;

    assert_non_null(rps_plan_role(plan, "block_io", &set, &slot));
    plan->set[0].event[plan->set[0].event_count++] = plan->set[set].event[slot];
    rps_plan_keep_default(plan);
}

static void load(struct fixture *fixture, const char *name, struct edges *coarse,
                 struct edges *fine)
{
    char path[512], line[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/phases/%s.csv", TEST_DATA_FOLDER, name);
    file = fopen(path, "re");
    assert_non_null(file);
    *coarse = *fine = (struct edges){0};
    fixture_begin(fixture, "software");
    keep_recorded(fixture->plan);
    fixture_write(fixture);
    assert_non_null(fgets(line, sizeof(line), file)); /* header line */
    while (fgets(line, sizeof(line), file))
        assert_true(add_row(fixture, line, coarse, fine));
    fclose(file);
    fixture_read(fixture);
}

/* Return the number of found boundaries that are near a true boundary. */
static size_t hits(const struct rps_phases *phases, const struct edges *edges)
{
    size_t count = 0, from = 0;

    for (size_t k = 1; k < phases->count; k++) {
        size_t e = from;

        while (e < edges->count && edges->at[e] + MARGIN < phases->phase[k].first)
            e++;
        if (e < edges->count && edges->at[e] <= phases->phase[k].first + MARGIN) {
            count++;
            from = e + 1;
        }
    }
    return count;
}

static struct rps_run_phases detect(struct fixture *fixture, int fine)
{
    const struct rps_run_phases_options options = {.to_ns = INT64_MAX, .find.level.fine = fine};
    struct rps_run_phases found;
    struct rps_error err;

    if (rps_run_phases_detect(arena, &(struct rps_run_at){fixture->reader, fixture->run_id}, 1,
                              &options, &found, &err) < 0)
        fail_msg("%s", err.message);
    return found;
}

/* Expect that at least `recall` of the true boundaries (coarse or fine) are found at the default or
 * the fine level. At least `precision` of the found boundaries must be true. */
static void check(const char *name, int at_fine, int fine_ones, double recall, double precision)
{
    struct edges coarse, fine;
    struct fixture fixture;
    struct rps_run_phases found;
    const struct rps_phases *phases;
    const struct edges *edges = fine_ones ? &fine : &coarse;
    double hit;

    load(&fixture, name, &coarse, &fine);
    found = detect(&fixture, at_fine);
    phases = rps_phase_levels_shown(&found.found.levels);
    hit = (double)hits(phases, edges);
    if (hit < recall * (double)edges->count || hit < precision * (double)(phases->count - 1))
        fail_msg("%s: %zu phases, %zu boundaries of which %g are found", name, phases->count,
                 edges->count, hit);
    fixture_end(&fixture);
}

static void stressors(void **state)
{
    (void)state;
    check("stress-few-busy", 1, 1, 1, .8);
    check("stress-few-busy", 0, 0, 1, .8);
}

static void a_server_under_load(void **state)
{
    (void)state;
    check("server-idle", 1, 1, 1, 1);
    check("server-idle", 0, 0, 1, 1);
}

/* A build has the phases configure, compile and link. */
static void a_build(void **state)
{
    (void)state;
    check("build-idle", 0, 0, 1, 1);
}

/* A workload repeats edit, build and test five times. At the default level, the parts of the rounds
 * are found and reported as one loop. */
static void rounds(void **state)
{
    struct edges coarse, fine;
    struct rps_run_phases found;
    struct rps_loops loops;
    struct fixture fixture;

    (void)state;
    check("rounds-idle", 0, 1, .7, .7);
    check("rounds-idle", 1, 1, .8, .5);
    load(&fixture, "rounds-idle", &coarse, &fine);
    found = detect(&fixture, 0);
    loops = rps_loops_of(arena, rps_phase_levels_shown(&found.found.levels));
    assert_int_equal(loops.count, 1);
    assert_in_range(loops.loop[0].iteration_count, 4, 5);
    assert_int_equal(loops.loop[0].part_count, 4);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stressors),
        cmocka_unit_test(a_server_under_load),
        cmocka_unit_test(a_build),
        cmocka_unit_test(rounds),
    };

    return cmocka_run_group_tests_name("recorded", tests, open_arena, close_arena);
}
