/* Tests of following a run: rows are exported as they are committed, each once and complete,
 * wherever a commit ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "support/fixture.h"
#include "rpistat/export.h"
#include "rpistat/store.h"

#define PERIODS    12 /* PERIODS are three rotations */
#define CPU_3_AWAY 9  /* first period without CPU 3 */

/* A recording of three CPUs. `batch` contains the number of committed rows before each read. */
struct recording {
    struct fixture fixture;
    struct rps_period row[3 * PERIODS];
    size_t count, written, looks, lines; /* lines: number of exported lines at half of the
                                            recording */
    char *text;
    size_t size;
    FILE *out;
};

static const size_t batch[] = {1, 5, 6, 14, 20, 29, 33};

static void fill_rows(struct recording *recording)
{
    static const int32_t cpus[] = {0, 1, 3};

    for (uint64_t p = 0; p < PERIODS; p++) {
        for (size_t c = 0; c < RPS_COUNT(cpus) - (p >= CPU_3_AWAY); c++) {
            struct rps_period row = recording->fixture.next;

            row.cpu = cpus[c];
            row.period = p;
            row.set_no = (uint32_t)(p % 4);
            row.rotation = p / 4;
            row.start_ns = (int64_t)p * FIXTURE_PERIOD_NS + (int64_t)c * 1000;
            row.cycles = 5000 + 10 * c + p;
            row.cycle = (p + 1) * (5000 + 10 * c) + p * (p + 1) / 2;
            row.count[0] = 1000 + 100 * c + p;
            row.count[1] = 10 + p;
            recording->row[recording->count++] = row;
        }
    }
}

static void commit(struct recording *recording, size_t until)
{
    struct rps_writer_status status = {0};

    while (recording->written < until)
        rps_writer_period(recording->fixture.writer, &recording->row[recording->written++]);
    while (status.committed < until) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        rps_writer_status(recording->fixture.writer, &status);
    }
}

static size_t count_lines(const struct recording *recording)
{
    size_t count = 0;

    for (size_t i = 0; i < recording->size; i++)
        count += recording->text[i] == '\n';
    return count;
}

/* Commit more rows between two reads, and finally end the run. */
static int write_on(void *context)
{
    struct recording *recording = context;

    if (recording->looks == RPS_COUNT(batch) / 2)
        recording->lines = count_lines(recording);
    if (recording->looks < RPS_COUNT(batch)) {
        commit(recording, batch[recording->looks++]);
        return 0;
    }
    assert_int_equal(recording->count, recording->written);
    recording->fixture.next.start_ns = PERIODS * FIXTURE_PERIOD_NS;
    fixture_read(&recording->fixture);
    return 0;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Return the lines in sorted order, each cut to `cells` cells. */
static char *sorted(const char *text, int cells)
{
    char *copy = strdup(text), *ret = NULL, *rest = NULL, *line[200];
    size_t count = 0, size;
    FILE *out = open_memstream(&ret, &size);

    for (char *at = strtok_r(copy, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
        char *cell = at;

        line[count++] = at;
        for (int i = 0; i < cells && cell; i++)
            cell = strchr(cell + (i > 0), ',');
        if (cell)
            *cell = '\0';
    }
    qsort(line, count, sizeof(*line), compare_lines);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s\n", line[i]);
    fclose(out);
    free(copy);
    return ret;
}

/* Clear the phases, which an unfinished run does not have. */
static void blank_phases(char *text)
{
    while ((text = strstr(text, ",0,A,")) != NULL) {
        text[1] = ','; /* ",,," replaces phase and label */
        memmove(text + 2, text + 4, strlen(text + 4) + 1);
    }
}

/* Follow a recording, and compare with the export of the ended run. Returns the number of lines at
 * half of the recording. Only the first `cells` cells are compared: later cells may depend on the
 * time of reading. */
static size_t follow(const char *format, struct rps_cpus cpus, int cells)
{
    const struct rps_export_options options = {
        .to_ns = INT64_MAX, .cpus = cpus, .csv.separator = ',', .csv.decimal = '.'};
    struct recording recording = {.count = 0};
    struct rps_reader *reader = NULL;
    char *found, *expected, *text;
    struct rps_error err;
    size_t size;
    FILE *out;

    recording.out = open_memstream(&recording.text, &recording.size);
    fixture_begin(&recording.fixture, "arm1176");
    fixture_write(&recording.fixture);
    fill_rows(&recording);
    assert_int_equal(rps_reader_open(&reader, recording.fixture.path, &err), 0);
    if (rps_export_follow(rps_export_find(format), recording.out, reader, recording.fixture.run_id,
                          &options, write_on, &recording, &err) < 0)
        fail_msg("%s: %s", format, err.message);
    rps_reader_close(reader);
    fclose(recording.out);

    out = open_memstream(&text, &size);
    assert_int_equal(rps_export_run(rps_export_find(format), out, recording.fixture.reader,
                                    recording.fixture.run_id, &options, &err),
                     0);
    fclose(out);
    blank_phases(text);
    found = sorted(recording.text, cells);
    expected = sorted(text, cells);
    assert_string_equal(found, expected);
    free(found);
    free(expected);
    free(text);
    free(recording.text);
    fixture_end(&recording.fixture);
    return recording.lines;
}

static const struct rps_cpus each = {.way = RPS_CPUS_EACH};
static const struct rps_cpus sum = {.way = RPS_CPUS_SUM};

static void test_periods(void **state)
{
    (void)state;
    /* committed rows are written at once: the header and 6 earlier rows */
    assert_int_equal(follow("wide", each, 99), 7);
    follow("long", each, 99);
}

static void test_rotations(void **state)
{
    (void)state;
    follow("rates", each, 16);
    follow("long-rates", each, 9);
}

static void test_sum(void **state)
{
    (void)state;
    follow("wide", sum, 99);
    follow("rates", sum, 16);
}

static void test_chosen_cpus(void **state)
{
    static const int both[] = {3, 0};
    const struct rps_cpus cpus = {.way = RPS_CPUS_EACH, .cpu = both, .count = 2};

    (void)state;
    follow("wide", cpus, 99);
}

/* The wait callback ends the export: no error is reported, and the written rows remain. */
static int go_away(void *context)
{
    ++*(int *)context;
    return 1;
}

static void test_reader_gone(void **state)
{
    const struct rps_export_options options = {
        .to_ns = INT64_MAX, .csv.separator = ',', .csv.decimal = '.'};
    struct recording recording = {.count = 0};
    struct rps_reader *reader = NULL;
    struct rps_error err;
    int waits = 0;

    (void)state;
    recording.out = open_memstream(&recording.text, &recording.size);
    fixture_begin(&recording.fixture, "arm1176");
    fixture_write(&recording.fixture);
    fill_rows(&recording);
    commit(&recording, 3);
    assert_int_equal(rps_reader_open(&reader, recording.fixture.path, &err), 0);
    assert_int_equal(rps_export_follow(rps_export_find("wide"), recording.out, reader, 1, &options,
                                       go_away, &waits, &err),
                     0);
    assert_int_equal(waits, 1);
    assert_int_equal(count_lines(&recording), 4);
    rps_reader_close(reader);
    fclose(recording.out);
    free(recording.text);
    fixture_end(&recording.fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_periods),     cmocka_unit_test(test_rotations),
        cmocka_unit_test(test_sum),         cmocka_unit_test(test_chosen_cpus),
        cmocka_unit_test(test_reader_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
