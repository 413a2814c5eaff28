#include "sound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rps_period sound_period(uint64_t n)
{
    struct rps_period period = fixture_period(n, 2);

    period.rotation = n / 2;
    period.set_no ^= period.rotation % 5 == 4;
    period.cycles = 70000000 + n % 7;
    period.cycle =
        /* cycles of all periods so far */
        70000000 * (n + 1) + (n + 1) / 7 * 21 + (n + 1) % 7 * (n % 7) / 2;
    period.start_ns = (int64_t)n * SOUND_LENGTH_NS;
    period.length_ns = SOUND_LENGTH_NS;
    period.enabled_ns = (uint64_t)SOUND_LENGTH_NS - 500;
    period.running_ns = (uint64_t)SOUND_LENGTH_NS - 2000;
    period.clock_running_ns = period.enabled_ns;
    return period;
}

/* Rows about code as written by another build with the code extension. Operations on runs must
 * include these rows. */
static const char code_of_another[] =
    "INSERT INTO sampling (run_id, event, frequency, threshold, stacks, samples, complete, lost,"
    " throttled, unmapped) SELECT run_id, 'cpu-clock', 99, 0, 'fp', 3, 3, 0, 0, 0 FROM run;"
    "INSERT INTO module SELECT run_id, 0, 'file', '/usr/bin/a', '00ff' FROM run;"
    "INSERT INTO frame SELECT run_id, 3, 0, 4096, 4096 FROM run;"
    "INSERT INTO stack SELECT run_id, 0, NULL, 3, 'N' FROM run;"
    "INSERT INTO task (run_id, task, pid, tid, name, start_ns)"
    " SELECT run_id, 0, 100, 100, 'worker', 0 FROM run;"
    "INSERT INTO program SELECT run_id, 0, 'worker', 5000000, 0, 5000000, 1, 0 FROM run;"
    "INSERT INTO code_count SELECT run_id, 0, cpu, period, 0, 'P', 'P', NULL FROM"
    " period";

void sound_store(const char *path, int runs, uint64_t periods, int64_t keep_ns)
{
    const struct rps_writer_options options = {.keep_ns = keep_ns};

    unlink(path);
    for (int i = 0; i < runs; i++) {
        struct rps_run run;
        struct rps_writer *writer = fixture_writer(path, &options, &run);

        for (uint64_t n = 0; n < periods; n++) {
            struct rps_period period = sound_period(n);

            rps_writer_period(writer, &period);
            fixture_system(writer, n);
            fixture_code(writer, n);
            if (n % 1000 == 999) /* Rows about code do not wait for room in the queue. */
                fixture_wait_committed(writer, n + 1);
        }
        fixture_code(writer, periods);
        fixture_end(writer, &run);
    }
    if (FIXTURE_SAMPLES == 0)
        fixture_exec(path, code_of_another);
    fixture_exec(path, "PRAGMA journal_mode = DELETE");
}

static void keep(void *context, enum rps_finding_kind kind, const char *sentence)
{
    static const char *const word[] = {"wrong", "odd", "note"};
    struct findings *findings = context;
    size_t used = strlen(findings->text);

    assert_null(strchr(sentence, '%')); /* A conversion specifier was not replaced. */
    snprintf(findings->text + used, sizeof(findings->text) - used, "%s: %s\n", word[kind],
             sentence);
}

void sound_check(struct findings *ret, const char *path)
{
    const struct rps_finding_sink sink = {ret, keep};
    struct rps_error err;

    memset(ret, 0, sizeof(*ret));
    if (rps_store_check(path, &sink, &ret->check, &err) < 0)
        fail_msg("%s", err.message);
    if (getenv("RPISTAT_TEST_SHOW"))
        print_message("# %s", ret->text);
}

int sound_try_repair(struct findings *ret, const char *path, const char *new_path,
                     struct rps_error *err)
{
    const struct rps_finding_sink sink = {ret, keep};
    struct findings after;

    unlink(new_path);
    memset(ret, 0, sizeof(*ret));
    if (rps_store_repair(path, new_path, &sink, &ret->repair, err) < 0)
        return RPS_FAILED;
    if (getenv("RPISTAT_TEST_SHOW"))
        print_message("# %s", ret->text);
    sound_check(&after, new_path);
    if (after.check.wrong > 0)
        fail_msg("after the repair: %s", after.text);
    assert_int_equal(after.check.periods, ret->repair.periods);
    assert_int_equal(after.check.runs, ret->repair.runs);
    return 0;
}

void sound_repair(struct findings *ret, const char *path, const char *new_path)
{
    struct rps_error err;

    if (sound_try_repair(ret, path, new_path, &err) < 0)
        fail_msg("%s", err.message);
}

unsigned char *sound_read(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "r");
    unsigned char *data;
    long size;

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    data = malloc((size_t)size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)size, file), size);
    fclose(file);
    *ret_size = (size_t)size;
    return data;
}

void sound_write(const char *path, const unsigned char *data, size_t size)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

size_t sound_part(int argc, char **argv, size_t *ret_first, size_t *ret_step)
{
    const char *quarter = getenv("RPISTAT_TEST_QUARTER");
    size_t part = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    size_t step = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

    *ret_first = part + (quarter ? strtoul(quarter, NULL, 10) * step : 0);
    *ret_step = step * (quarter ? 4 : 1);
    return part;
}
