/* Sum rules, checked on random runs in the store and in the report. The whole run equals the sum of
 * its parts, bins, phases, CPUs and coarser resolutions. Joined moments, from which intervals are
 * computed, equal the moments of all readings. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "support/arena.h"
#include "support/arena.h"
#include "support/random_run.h"
#include "rpistat/bins.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"
#include "rpistat/profile.h"
#include "rpistat/report.h"
#include "rpistat/rotation.h"
#include "rpistat/store.h"
#include "rpistat/tally.h"
#include "rpistat/walk.h"

static uint64_t first_run = 0, runs = 200; /* `test_sums 1000 200` checks runs 200 to 999 */

static void must(int result, const struct rps_error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

/* --- plain sums ------------------------------------------------------------------------------- */

struct set_sums {
    uint64_t periods, cycles, enabled_ns, running_ns;
    uint64_t count[RPS_SLOT_MAX], counted_ns[RPS_SLOT_MAX], counted[RPS_SLOT_MAX];
};

struct sums {
    uint64_t periods, cycles, enabled_ns, running_ns, clock_running_ns, idle_ns, missed;
    uint64_t idle_unknown; /* 1 if some periods have no idle time */
    int64_t length_ns, switch_ns;
    struct set_sums set[7];
};

static void add_up(struct sums *sums, const struct rps_period *period)
{
    struct set_sums *set = &sums->set[period->set_no];

    sums->periods++;
    sums->cycles += period->cycles;
    sums->enabled_ns += period->enabled_ns;
    sums->clock_running_ns += period->clock_running_ns;
    sums->idle_unknown |= period->idle_ns < 0;
    sums->idle_ns += (uint64_t)period->idle_ns;
    sums->missed += period->missed;
    sums->length_ns += period->length_ns;
    sums->switch_ns += period->switch_ns;
    set->periods++;
    set->cycles += period->cycles;
    set->enabled_ns += period->enabled_ns;
    set->running_ns += period->running_ns;
    for (int s = 0; s < RPS_SLOT_MAX; s++) {
        if (!(period->counted & UINT32_C(1) << s))
            continue;
        set->counted[s]++;
        set->count[s] += period->count[s];
        set->counted_ns[s] += period->running_ns;
    }
}

static struct sums sums_of(const struct random_run *run)
{
    struct sums ret = {0};

    for (size_t i = 0; i < run->count; i++)
        add_up(&ret, &run->period[i]);
    return ret;
}

/* Expect counts and counting times, which must be equal for every way of summing. */
static void expect_counts(const struct rps_tally *tally, const struct sums *sums)
{
    assert_int_equal(tally->clock, sums->cycles);
    assert_int_equal(tally->enabled_ns, sums->enabled_ns);
    assert_int_equal(tally->clock_running_ns, sums->clock_running_ns);
    assert_int_equal(tally->idle_ns, sums->idle_unknown ? UINT64_MAX : sums->idle_ns);
    for (int n = 0; n < tally->set_count; n++) {
        assert_int_equal(tally->set[n].clock, sums->set[n].cycles);
        assert_int_equal(tally->set[n].enabled_ns, sums->set[n].enabled_ns);
        assert_int_equal(tally->set[n].running_ns, sums->set[n].running_ns);
        for (int s = 0; s < RPS_SLOT_MAX; s++) {
            assert_int_equal(tally->set[n].count[s], sums->set[n].count[s]);
            assert_int_equal(tally->set[n].counted_ns[s], sums->set[n].counted_ns[s]);
        }
    }
}

/* Expect counts, counting times, and sums over the periods of one CPU, or of all CPUs one by one.
 */
static void expect_all(const struct rps_tally *tally, const struct sums *sums)
{
    expect_counts(tally, sums);
    assert_int_equal(tally->periods, sums->periods);
    assert_int_equal(tally->length_ns, sums->length_ns);
    assert_int_equal(tally->missed, sums->missed);
    assert_int_equal(tally->switch_ns, sums->switch_ns);
    for (int n = 0; n < tally->set_count; n++)
        assert_int_equal(tally->set[n].periods, sums->set[n].periods);
}

/* --- reading ---------------------------------------------------------------------------------- */

static struct rps_tally new_tally(const struct random_run *run)
{
    return rps_tally_new(arena, run->fixture.plan);
}

/* Add the rows that a cursor returns for a time range. Return whether the range was widened. */
static int add_part(const struct random_run *run, int64_t from_ns, int64_t to_ns, int resolution,
                    struct rps_tally *tally)
{
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    struct rps_error err;
    int64_t widened_from_ns, widened_to_ns;
    int got;

    must(rps_cursor_open(&cursor, run->fixture.reader, run->fixture.run_id, from_ns, to_ns,
                         resolution, &err),
         &err);
    while ((got = rps_cursor_next(cursor, &period, &err)) > 0)
        rps_tally_add(tally, &period);
    must(got, &err);
    got = rps_cursor_widened(cursor, &widened_from_ns, &widened_to_ns);
    rps_cursor_close(cursor);
    return got;
}

struct rows {
    size_t count, room;
    struct rps_period *row;      /* rows; owned by the struct */
    struct rps_scatter *scatter; /* scatter of each row that has one; owned by the struct */
};

static void keep_row(struct rows *rows, const struct rps_period *period)
{
    if (rows->count == rows->room) {
        rows->room = 2 * rows->room + 64;
        rows->row = realloc(rows->row, rows->room * sizeof(*rows->row));
        rows->scatter = realloc(rows->scatter, rows->room * sizeof(*rows->scatter));
        assert_true(rows->row && rows->scatter);
    }
    if (period->scatter)
        rows->scatter[rows->count] = *period->scatter;
    rows->row[rows->count++] = *period;
}

/* Read the rows of all CPUs, one by one or summed. */
static struct rows read_rows(const struct random_run *run, int resolution, bool sum)
{
    static const struct rps_cpus all = {.count = 0};
    struct rps_cpu_series series;
    struct rps_walk walk = {.series = &series, .way = sum ? RPS_CPUS_SUM : RPS_CPUS_EACH};
    struct rows ret = {0};
    struct rps_error err;
    int result = 0;

    must(rps_cpu_series_open(arena, &series, run->fixture.reader, run->fixture.run_id, 0, INT64_MAX,
                             &all, &err),
         &err);
    series.resolution = resolution;
    while (rps_walk_next(&walk, &result, &err)) {
        assert_int_equal(walk.period->cpu, sum ? RPS_CPU_ALL : series.cpu[walk.track]);
        keep_row(&ret, walk.period);
    }
    must(result, &err);
    for (size_t i = 0; i < ret.count; i++)
        ret.row[i].scatter = ret.row[i].scatter ? &ret.scatter[i] : NULL;
    return ret;
}

static struct rps_tally tally_of(const struct random_run *run, const struct rows *rows, size_t from,
                                 size_t to)
{
    struct rps_tally ret = new_tally(run);

    for (size_t i = from; i < to; i++)
        rps_tally_add(&ret, &rows->row[i]);
    return ret;
}

/* --- whole, parts, resolutions ---------------------------------------------------------------- */

static void whole_is_what_was_written(const struct random_run *run, const struct sums *sums)
{
    for (int resolution = 0; resolution <= RPS_LEVELS; resolution++) {
        struct rps_tally tally = new_tally(run);

        assert_int_equal(add_part(run, 0, INT64_MAX, resolution, &tally), 0);
        expect_all(&tally, sums);
        for (int n = 0; n < tally.set_count && resolution == 0 && !run->options.thinned; n++)
            assert_memory_equal(tally.set[n].counted, sums->set[n].counted,
                                sizeof(sums->set[n].counted));
    }
}

/* The first time from `ns` on that does not lie inside a block. */
static int64_t behind_blocks(const struct rows *rows, int64_t ns)
{
    int64_t before_ns;

    do {
        before_ns = ns;
        for (size_t i = 0; i < rows->count;) {
            const struct rps_period *first = &rows->row[i];
            int64_t start_ns = INT64_MAX, end_ns = 0;

            for (; i < rows->count && rows->row[i].level == first->level &&
                   rows->row[i].cpu == first->cpu && rows->row[i].rotation == first->rotation;
                 i++) {
                start_ns = fmin(start_ns, rows->row[i].start_ns);
                end_ns = fmax(end_ns, rps_period_end_ns(&rows->row[i]));
            }
            if (first->level > 0 && start_ns < ns && ns < end_ns)
                ns = end_ns;
        }
    } while (ns != before_ns);
    return ns;
}

/* Return a random time after `from_ns`: any time, or the middle of a period, which decides on which
 * side the period lies. */
static int64_t random_cut(const struct random_run *run, int64_t from_ns, uint64_t *state)
{
    const struct rps_period *period = &run->period[random_below(state, run->count)];
    int64_t ns = period->start_ns + period->length_ns / 2;

    if (ns > from_ns && random_below(state, 2))
        return ns;
    return from_ns + 1 + (int64_t)random_below(state, (uint64_t)run->end_ns);
}

static void whole_is_its_parts(const struct random_run *run, const struct sums *sums,
                               uint64_t *state)
{
    struct rows finest = read_rows(run, 0, false);
    int coarser = 1 + (int)random_below(state, RPS_LEVELS);

    for (int resolution = 0; resolution <= coarser; resolution += coarser) {
        struct rps_tally all = new_tally(run), part = new_tally(run);
        int64_t from_ns = 0, to_ns;

        while (from_ns < INT64_MAX) {
            to_ns = random_cut(run, from_ns, state);
            to_ns = to_ns < run->end_ns ? behind_blocks(&finest, to_ns) : INT64_MAX;
            rps_tally_reset(&part);
            assert_int_equal(add_part(run, from_ns, to_ns, resolution, &part), 0);
            rps_tally_merge(&all, &part);
            from_ns = to_ns;
        }
        expect_all(&all, sums);
    }
    free(finest.row);
    free(finest.scatter);
}

/* --- CPUs ------------------------------------------------------------------------------------- */

static void whole_is_its_cpus(const struct random_run *run, const struct sums *sums)
{
    struct rows each = read_rows(run, 0, false);
    struct rps_tally all = tally_of(run, &each, 0, each.count);

    expect_all(&all, sums);
    free(each.row);
    free(each.scatter);
    for (int resolution = 0; resolution <= RPS_LEVELS; resolution++) {
        struct rows sum = read_rows(run, resolution, true);
        struct rps_tally added = tally_of(run, &sum, 0, sum.count);

        expect_counts(&added, sums);
        if (run->options.cpus < 2)
            expect_all(&added, sums);
        free(sum.row);
        free(sum.scatter);
    }
}

/* --- rotations and bins ----------------------------------------------------------------------- */

static void expect_sum(double sum, double whole)
{
    if (!(fabs(sum - whole) <= 1e-9 * fmax(1, fabs(whole))))
        fail_msg("the sum is %.17g, and not %.17g", sum, whole);
}

/* Return whether a metric is a sum in this run. Metrics that are not sums are estimates. */
static bool adds_up(const struct random_run *run, const struct sums *sums, int metric)
{
    const char *name = run->fixture.plan->metric[metric].name;

    return strcmp(name, "length") == 0 || (strcmp(name, "use") == 0 && !sums->idle_unknown) ||
           (strcmp(name, "ticks") == 0 && !run->options.clock_lacks) ||
           (strcmp(name, "first") == 0 && run->options.whole);
}

/* Return the value of a metric that is a sum. */
static double metric_of(const struct random_run *run, const struct rps_tally *tally, int metric)
{
    double operand[RPS_OPERAND_EVENTS + 7 * RPS_SLOT_MAX];

    rps_tally_operands(tally, run->fixture.plan, operand);
    return rps_formula_value(&run->fixture.plan->metric[metric].formula, operand);
}

static void whole_is_its_rotations(const struct random_run *run, const struct rows *rows,
                                   const struct sums *sums)
{
    struct rps_tally all = new_tally(run);
    struct rps_rotation rotation = rps_rotation_new(arena, run->fixture.plan);

    for (size_t i = 0; i <= rows->count; i++) {
        if (i == rows->count || rps_rotation_ends(&rotation, &rows->row[i])) {
            rps_tally_merge(&all, &rotation.tally);
            rps_rotation_reset(&rotation);
        }
        if (i < rows->count)
            rps_rotation_add(&rotation, &rows->row[i]);
    }
    expect_counts(&all, sums);
}

static void whole_is_its_bins(const struct random_run *run, const struct rows *rows,
                              const struct sums *sums, enum rps_axis axis, uint64_t *state)
{
    const struct rps_plan *plan = run->fixture.plan;
    struct rps_tally whole = tally_of(run, rows, 0, rows->count);
    double to = axis == RPS_AXIS_CYCLE ? (double)sums->cycles + 1 : (double)run->end_ns / 1e9;
    struct rps_bins *bins = rps_bins_new(plan, axis, 0, to, 1 + random_below(state, 60), 0);

    for (size_t i = 0; i < rows->count; i++)
        rps_bins_add(bins, &rows->row[i]);
    for (int m = 0; m < plan->metric_count; m++) {
        struct rps_series series = rps_bins_series(bins, m, arena);
        double sum = 0;

        for (size_t i = 0; i < series.count; i++) {
            if (!isnan(series.value[i]))
                sum += series.value[i];
            if (!isnan(series.low[i]))
                assert_true(series.low[i] <= series.value[i] && series.value[i] <= series.high[i]);
        }
        if (adds_up(run, sums, m))
            expect_sum(sum, metric_of(run, &whole, m));
    }
    rps_bins_free(bins);
}

/* --- phases ----------------------------------------------------------------------------------- */

static struct rps_phases random_phases(const struct random_run *run, uint64_t *state)
{
    uint64_t last = run->period[run->count - 1].period, first = 0;
    struct rps_phases ret = {.label_count = 1 + (int)random_below(state, 3)};

    for (size_t i = 0; i < run->count; i++)
        last = run->period[i].period > last ? run->period[i].period : last;
    ret.phase = rps_arena_get(arena, last + 1, sizeof(*ret.phase));
    assert_non_null(ret.phase);
    while (first <= last) {
        struct rps_phase *phase = &ret.phase[ret.count++];

        phase->first = phase->earliest = phase->latest = first;
        phase->last = first + random_below(state, last - first + 1);
        phase->label = (int)random_below(state, (uint64_t)ret.label_count);
        first = phase->last + 1;
    }
    return ret;
}

static void whole_is_its_phases(const struct random_run *run, const struct rows *rows,
                                const struct sums *sums, uint64_t *state)
{
    static const struct rps_cpus all = {.count = 0};
    struct rps_phases phases = random_phases(run, state);
    struct rps_tally whole = tally_of(run, rows, 0, rows->count);
    struct rps_profile profile;
    struct rps_error err;

    must(rps_profile_run(arena, run->fixture.reader, run->fixture.run_id, 0, INT64_MAX, &all,
                         &phases, 1, 1, &profile, &err),
         &err);
    for (int m = 0; m < run->fixture.plan->metric_count; m++) {
        double value = metric_of(run, &whole, m), sum = 0, labels = 0;

        if (!adds_up(run, sums, m))
            continue;
        for (size_t i = 0; i < phases.count; i++)
            sum +=
                /* NaN if the phase has no period */
                fmax(0, profile.phase[i * profile.figure_count + (size_t)m]);
        for (int l = 0; l < profile.label_count; l++)
            labels += fmax(0, profile.mean[(size_t)l * profile.figure_count + (size_t)m]);
        expect_sum(profile.figure[m].whole, value);
        expect_sum(sum, value);
        expect_sum(labels, value);
    }
}

/* --- SQL and the report ----------------------------------------------------------------------- */

static sqlite3_stmt *query(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return stmt;
}

static uint64_t column(sqlite3_stmt *stmt, int at)
{
    return (uint64_t)sqlite3_column_int64(stmt, at);
}

static void expect_finest(sqlite3 *db, const struct sums *sums)
{
    sqlite3_stmt *stmt =
        query(db, "SELECT set_no, sum(merged), sum(cycles), sum(enabled_ns), sum(running_ns),"
                  " sum(clock_running_ns), sum(length_ns), sum(idle_ns), count(*) - count(idle_ns),"
                  " total(c0), total(c1), total(c2), total(c3), total(c4), total(c5), total(c6),"
                  " total(c7), sum(missed), sum(switch_ns) FROM finest GROUP BY set_no");
    uint64_t clock_running_ns = 0, idle_ns = 0, unknown = 0, missed = 0, periods = 0;
    int64_t length_ns = 0, switch_ns = 0;

    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const struct set_sums *set = &sums->set[sqlite3_column_int(stmt, 0)];

        assert_int_equal(column(stmt, 1), set->periods);
        assert_int_equal(column(stmt, 2), set->cycles);
        assert_int_equal(column(stmt, 3), set->enabled_ns);
        assert_int_equal(column(stmt, 4), set->running_ns);
        for (int s = 0; s < RPS_SLOT_MAX; s++)
            assert_int_equal(column(stmt, 9 + s), set->count[s]);
        periods += column(stmt, 1);
        clock_running_ns += column(stmt, 5);
        length_ns += sqlite3_column_int64(stmt, 6);
        idle_ns += column(stmt, 7);
        unknown += column(stmt, 8);
        missed += column(stmt, 17);
        switch_ns += sqlite3_column_int64(stmt, 18);
    }
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    assert_int_equal(periods, sums->periods);
    assert_int_equal(clock_running_ns, sums->clock_running_ns);
    assert_int_equal(length_ns, sums->length_ns);
    assert_int_equal(unknown > 0, sums->idle_unknown);
    if (!sums->idle_unknown)
        assert_int_equal(idle_ns, sums->idle_ns);
    assert_int_equal(missed, sums->missed);
    assert_int_equal(switch_ns, sums->switch_ns);
}

/* Expect the sums that are stored at the end of a run. */
static void expect_totals(sqlite3 *db, const struct sums *sums)
{
    sqlite3_stmt *stmt = query(db, "SELECT set_no, periods, enabled_ns, running_ns FROM event_set");

    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const struct set_sums *set = &sums->set[sqlite3_column_int(stmt, 0)];

        assert_int_equal(column(stmt, 1), set->periods);
        assert_int_equal(column(stmt, 2), set->enabled_ns);
        assert_int_equal(column(stmt, 3), set->running_ns);
    }
    sqlite3_finalize(stmt);
    stmt = query(db, "SELECT set_no, slot, count FROM event ORDER BY set_no");
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        int set = sqlite3_column_int(stmt, 0), slot = sqlite3_column_int(stmt, 1);

        assert_int_equal(column(stmt, 2), set < 0 ? sums->cycles : sums->set[set].count[slot]);
        if (set >= 0)
            assert_int_equal(sqlite3_column_type(stmt, 2) == SQLITE_NULL,
                             sums->set[set].counted[slot] == 0);
    }
    sqlite3_finalize(stmt);
}

static void whole_is_what_sql_says(const struct random_run *run, const struct sums *sums)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(run->fixture.path, &db), SQLITE_OK);
    expect_finest(db, sums);
    if (!run->options.killed)
        expect_totals(db, sums);
    sqlite3_close(db);
}

/* Return the number between a label and the text `behind` in the report, or -1 if there is no
 * number. */
static int64_t reported(const char *text, const char *label, const char *behind)
{
    char line[96], *end;
    const char *at;
    int64_t ret;

    snprintf(line, sizeof(line), "  %s%s ", label, behind);
    at = strstr(text, line);
    if (!at)
        fail_msg("no \"%s\" in the report", label);
    ret = strtoll(at + strlen(line), &end, 10);
    return end > at + strlen(line) && (*end == '\n' || *end == ' ') ? ret : -1;
}

static char *report_text(const struct random_run *run, int is_2013)
{
    const struct rps_report_options options = {.to_ns = INT64_MAX};
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_reader *reader = run->fixture.reader;
    struct rps_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (is_2013) {
        must(rps_report_write_2013(out, reader, run->fixture.run_id, &options, &err), &err);
    } else {
        must(rps_report_fill(&document, reader, run->fixture.run_id, &options, &err), &err);
        rps_document_write(&document, out, RPS_FORMAT_TEXT, 0);
    }
    fclose(out);
    rps_arena_free(document.arena);
    return text;
}

static void whole_is_what_is_reported(const struct random_run *run, const struct sums *sums,
                                      int is_2013)
{
    const struct rps_plan *plan = run->fixture.plan;
    const char *behind = is_2013 ? ":" : "";
    char *text = report_text(run, is_2013);

    if (run->options.cpus < 2)
        assert_int_equal(reported(text, "Total periods", ":"), sums->periods);
    assert_int_equal(reported(text, "Cycles", behind), sums->cycles);
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            int64_t count = reported(text, plan->set[n].event[s].label, behind);

            if (sums->set[n].counted_ns[s] > 0)
                assert_int_equal(count, sums->set[n].count[s]);
            else
                assert_true(count <= 0);
        }
    }
    free(text);
}

/* --- joining ---------------------------------------------------------------------------------- */

/* Expect that two sums of the same numbers in different order are equal. `scale` is the size of the
 * summands. */
static void expect_near(double a, double b, double scale)
{
    if (!(fabs(a - b) <= 1e-9 * fmax(scale, fmax(fabs(a), fabs(b)))))
        fail_msg("joined moments are %.17g, and not %.17g", a, b);
}

static void expect_slot(const struct rps_slot_moments *a, const struct rps_slot_moments *b)
{
    assert_int_equal(a->readings, b->readings);
    for (int i = 0; i < RPS_MOMENTS_FIRST; i++)
        assert_true(a->first[i].c == b->first[i].c && a->first[i].r == b->first[i].r);
    for (int i = 0; i < RPS_MOMENTS_LAST; i++)
        assert_true(a->last[i].c == b->last[i].c && a->last[i].r == b->last[i].r);
    assert_true(a->before_ns == b->before_ns && a->until_ns == b->until_ns);
    expect_near(a->squares, b->squares, 0);
    expect_near(a->cc, b->cc, 0);
    expect_near(a->cr, b->cr, sqrt(b->cc * b->rr));
    expect_near(a->rr, b->rr, 0);
    expect_near(a->cccc, b->cccc, 0);
    expect_near(a->cccr, b->cccr, sqrt(b->cccc) * sqrt(b->ccrr));
    expect_near(a->ccrr, b->ccrr, 0);
    expect_near(a->crrr, b->crrr, sqrt(b->ccrr) * sqrt(b->rrrr));
    expect_near(a->rrrr, b->rrrr, 0);
}

static bool same_or_near(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

static void expect_interval(const struct rps_interval *a, const struct rps_interval *b)
{
    assert_int_equal(a->certainty, b->certainty);
    assert_true(same_or_near(a->value, b->value));
    if (!same_or_near(a->low, b->low) || !same_or_near(a->high, b->high))
        fail_msg("the interval is %.17g to %.17g, and not %.17g to %.17g", a->low, a->high, b->low,
                 b->high);
}

/* Expect a tally as if all readings of `whole` had been added. Products of two slots exist only if
 * both slots are counted in the same readings (rpistat/moments.h). */
static void expect_joined(const struct random_run *run, const struct rps_tally *tally,
                          const struct rps_tally *whole)
{
    const struct rps_plan *plan = run->fixture.plan;
    double operand[RPS_OPERAND_EVENTS + 7 * RPS_SLOT_MAX];

    for (int n = 0; n < whole->set_count; n++) {
        const struct rps_moments *a = &tally->set[n].moments, *b = &whole->set[n].moments;

        for (int j = 0; j < RPS_SLOT_MAX; j++) {
            struct rps_interval mine = rps_tally_interval(tally, n, j);
            struct rps_interval other = rps_tally_interval(whole, n, j);

            expect_slot(&a->slot[j], &b->slot[j]);
            expect_interval(&mine, &other);
            for (int k = j + 1; k < RPS_SLOT_MAX && run->options.failures == 0; k++)
                expect_near(a->cross[j][k], b->cross[j][k],
                            sqrt(b->slot[j].cc) * sqrt(b->slot[k].cc));
        }
    }
    for (int m = 0; m < plan->metric_count && run->options.failures == 0; m++) {
        const struct rps_formula *formula = &plan->metric[m].formula;
        struct rps_interval mine, other;

        rps_tally_operands(tally, plan, operand);
        mine = rps_tally_formula_interval(tally, formula, operand);
        rps_tally_operands(whole, plan, operand);
        other = rps_tally_formula_interval(whole, formula, operand);
        expect_interval(&mine, &other);
    }
}

/* Return whether a segment may end before row `at`. Summed rows of several CPUs are ordered by set
 * and not by time, so their cell must not be cut. Rotations in random order and blocks must not be
 * cut either. */
static bool may_cut(const struct random_run *run, const struct rows *rows, size_t at)
{
    if (at > 0 && at < rows->count && (run->options.shuffled || rows->row[at].level > 0) &&
        rows->row[at].level == rows->row[at - 1].level &&
        rows->row[at].rotation == rows->row[at - 1].rotation)
        return false;
    return run->options.cpus == 0 || rows->row[0].level == 0 || at == rows->count || at == 0 ||
           rows->row[at].set_no <= rows->row[at - 1].set_no;
}

/* Rows are cut into segments, some of them empty. Neighbouring segments are joined in random order
 * and in both directions, and the result equals the sum of all rows. */
static void joining_is_adding(const struct random_run *run, const struct rows *rows,
                              uint64_t *state)
{
    struct rps_tally whole = tally_of(run, rows, 0, rows->count), part[12];
    size_t count = 0, from = 0;

    while (from < rows->count || count == 0) {
        size_t to = from + random_below(state, rows->count - from + 1);

        if (count == 11)
            to = rows->count;
        while (!may_cut(run, rows, to))
            to++;
        part[count++] = tally_of(run, rows, from, to);
        from = to;
    }
    while (count > 1) {
        size_t at = random_below(state, count - 1);
        size_t into = at + random_below(state, 2), other = 2 * at + 1 - into;

        rps_tally_merge(&part[into], &part[other]);
        memmove(&part[other], &part[other + 1], (count - other - 1) * sizeof(part[0]));
        count--;
    }
    expect_joined(run, &part[0], &whole);
}

/* --- rules ------------------------------------------------------------------------------------ */

static void estimates_keep_the_rules(const struct random_run *run, const struct rps_tally *tally)
{
    for (int n = 0; n < run->fixture.plan->set_count; n++) {
        double duty = rps_tally_counted(tally, n);

        assert_true(tally->enabled_ns == 0 ? isnan(duty) : duty >= 0 && duty <= 1);
        for (int s = 0; s < RPS_SLOT_MAX; s++) {
            struct rps_interval interval = rps_tally_interval(tally, n, s);
            uint64_t counted_ns = tally->set[n].counted_ns[s];
            double raw = (double)tally->set[n].count[s];

            assert_true(counted_ns <= tally->set[n].running_ns);
            assert_int_equal(isnan(interval.value),
                             counted_ns == 0 &&
                                 (tally->enabled_ns > 0 || tally->set[n].counted[s] == 0));
            if (!isnan(interval.value))
                assert_true(interval.value >= raw * (1 - 1e-12));
            if (rps_interval_has_ends(&interval))
                assert_true(raw <= interval.low && interval.low <= interval.value &&
                            !(interval.value > interval.high));
        }
    }
}

static void check(uint64_t seed)
{
    uint64_t state = ~seed;
    struct random_run run;
    struct sums sums;
    struct rows rows;

    random_run_make(&run, seed);
    if (run.count > 0) {
        sums = sums_of(&run);
        whole_is_what_was_written(&run, &sums);
        whole_is_its_parts(&run, &sums, &state);
        whole_is_its_cpus(&run, &sums);
        whole_is_what_sql_says(&run, &sums);
        whole_is_what_is_reported(&run, &sums, 1);
        whole_is_what_is_reported(&run, &sums, 0);
        for (int resolution = 0; resolution <= 2; resolution += 2) {
            rows = read_rows(&run, resolution, true);
            whole_is_its_rotations(&run, &rows, &sums);
            whole_is_its_bins(&run, &rows, &sums, RPS_AXIS_TIME, &state);
            whole_is_its_bins(&run, &rows, &sums, RPS_AXIS_CYCLE, &state);
            if (resolution == 0)
                whole_is_its_phases(&run, &rows, &sums, &state);
            for (int i = 0; i < 3; i++) {
                struct rps_tally tally = tally_of(&run, &rows, 0, rows.count / (1 + (size_t)i));

                estimates_keep_the_rules(&run, &tally);
                joining_is_adding(&run, &rows, &state);
            }
            free(rows.row);
            free(rows.scatter);
        }
    }
    random_run_free(&run);
}

/* Seed of the run being checked, for the failure message. If RPISTAT_TEST_SEED is set, only the run
 * of that seed is checked. */
static uint64_t checked;

static int tell_seed(void **state)
{
    (void)state;
    print_message("# last checked: RPISTAT_TEST_SEED=%" PRIu64 "\n", checked);
    return 0;
}

static void test_sum_rules(void **state)
{
    const char *seed = getenv("RPISTAT_TEST_SEED"), *quarter = getenv("RPISTAT_TEST_QUARTER");

    (void)state;
    checked = seed ? strtoull(seed, NULL, 10) : first_run;
    do {
        if (seed || !quarter || checked % 4 == strtoull(quarter, NULL, 10))
            check(checked);
    } while (!seed && ++checked < runs);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_sum_rules, tell_seed),
    };

    if (argc > 1)
        runs = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first_run = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
