/* The summary of `record --repeat`: the runs, their times, their variation and outliers. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "record.h"
#include "rpistat/change.h"
#include "rpistat/clock.h"
#include "rpistat/run_system.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

#define TAKEN_MIN_S  .05
#define NUMBERS_SIZE 256
#define LINE_SIZE    2048

/* Statistics of a metric over the runs, in s. */
struct spread {
    double mean, deviation, least, most;
    double middle; /* geometric mean of the runs, as `compare` computes it for a side */
};

struct look {
    size_t count;
    double *elapsed, *cpu;        /* times of the runs in s; NaN: unknown */
    double on_s, wait_s, ready_s; /* sums over the runs in s: time on a CPU, time waiting, and
                                     rps_system_time_ready_s; NaN: unknown */
};

/* Read the times of a side's runs. Runs that cannot be read are left out. */
static struct look look_at(struct rps_cli *cli, struct rps_reader *reader,
                           const struct rps_series_side *side)
{
    struct look look = {.elapsed = rps_arena_get(cli->arena, side->count, sizeof(double)),
                        .cpu = rps_arena_get(cli->arena, side->count, sizeof(double))};

    for (size_t i = 0; i < side->count; i++) {
        struct rps_run_system *system = NULL;
        struct rps_system_time time;
        struct rps_run run;

        look.elapsed[i] = look.cpu[i] = NAN;
        if (rps_reader_run(cli->arena, reader, side->run_id[i], &run, NULL) == 0 &&
            rps_run_system_read(cli->arena, reader, side->run_id[i], INT64_MIN, INT64_MAX, NULL,
                                &system, NULL) == 0) {
            if (run.elapsed_ns >= 0)
                look.elapsed[i] = (double)run.elapsed_ns / RPS_NS_PER_S;
            if (run.user_ns >= 0 && run.system_ns >= 0)
                look.cpu[i] = (double)(run.user_ns + run.system_ns) / RPS_NS_PER_S;
            time = rps_run_system_time(system, look.cpu[i]);
            look.on_s += look.cpu[i];
            look.wait_s += time.elapsed_s > 0 ? time.wait_s : NAN;
            look.ready_s += rps_system_time_ready_s(&time, rps_run_system_throttled_s(system));
        }
    }
    return look;
}

static struct spread spread_of(const double *value, size_t count)
{
    struct spread ret = {0, 0, INFINITY, -INFINITY, 0};

    for (size_t i = 0; i < count; i++) {
        ret.mean += value[i] / (double)count;
        ret.middle += log(value[i]) / (double)count;
        ret.least = fmin(ret.least, value[i]);
        ret.most = fmax(ret.most, value[i]);
    }
    for (size_t i = 0; i < count; i++)
        ret.deviation += (value[i] - ret.mean) * (value[i] - ret.mean) / (double)(count - 1);
    ret.deviation = sqrt(ret.deviation);
    ret.middle = exp(ret.middle);
    return ret;
}

/* Return the number of decimals that gives the printed deviation two significant digits. */
static int decimals_of(const struct spread *spread)
{
    double decimals = 1 - floor(log10(spread->deviation));

    return decimals > 0 && decimals <= 6 ? (int)decimals : decimals > 0 ? 3 : 0;
}

/* Print a line such as "old, runs 1-5: geometric mean 4.781 s (sd 0.052 s, 1.1 %; 4.710 to 4.850
 * s), CPU time 4.602 s (sd 0.031 s)". */
static void report_spread(const struct rps_series_side *side, const struct look *look)
{
    struct spread elapsed = spread_of(look->elapsed, side->count),
                  cpu = spread_of(look->cpu, side->count);
    char runs[NUMBERS_SIZE], text[LINE_SIZE];
    int used = snprintf(text, sizeof(text), "%s%srun%s %s", side->label, side->label[0] ? ", " : "",
                        side->count > 1 ? "s" : "",
                        rps_text_numbers(runs, sizeof(runs), side->run_id, side->count));
    int decimals = decimals_of(&elapsed);

    if (side->count > 1 && isfinite(elapsed.mean) && used < LINE_SIZE)
        used += snprintf(text + used, LINE_SIZE - (size_t)used,
                         ": geometric mean %.*f s (sd %.*f s, %.1f %%; %.*f to %.*f s)", decimals,
                         elapsed.middle, decimals, elapsed.deviation,
                         100 * elapsed.deviation / elapsed.mean, decimals, elapsed.least, decimals,
                         elapsed.most);
    decimals = decimals_of(&cpu);
    if (side->count > 1 && isfinite(cpu.mean) && used < LINE_SIZE)
        snprintf(text + used, LINE_SIZE - (size_t)used, ", CPU time %.*f s (sd %.*f s)", decimals,
                 cpu.middle, decimals, cpu.deviation);
    rps_output_message(text);
}

static void report_outliers(struct rps_cli *cli, const struct rps_series_side *side,
                            const struct look *look)
{
    const struct rps_record_settings *settings = cli->settings;
    struct rps_change_value *value = rps_arena_get(cli->arena, side->count, sizeof(*value));
    struct spread spread = spread_of(look->elapsed, side->count);

    for (size_t i = 0; i < side->count; i++)
        value[i].value = look->elapsed[i];
    for (size_t i = 0; i < side->count; i++) {
        if (rps_change_is_outlier(value, side->count, i))
            rps_output_print("run %" PRId64 " is an outlier (%.3g s)%s", side->run_id[i],
                             look->elapsed[i],
                             i == 0 && settings->warmup == 0 && look->elapsed[0] > spread.mean
                                 ? "; it was the first run: try --warmup 1"
                                 : "");
    }
}

static void report_taken(const struct look *look, size_t count)
{
    double on_s = 0, wait_s = 0, ready_s = 0, taken;

    for (size_t i = 0; i < count; i++) {
        on_s += look[i].on_s;
        wait_s += look[i].wait_s;
        ready_s += look[i].ready_s;
    }
    taken = 1 - on_s / ready_s;
    if (taken > RPS_SYSTEM_TAKEN_THRESHOLD && wait_s >= TAKEN_MIN_S)
        rps_output_print("other programs took at least %.0f %% of the CPU time that these runs "
                         "needed: compare CPU time, not elapsed time",
                         100 * taken);
}

/* Print the command that compares the runs of a complete series. The command compares the two
 * sides. A single side is compared with the same number of runs immediately before or after it. */
static void report_next(const struct rps_cli *cli, const struct rps_series_side *side, size_t count)
{
    const char *store = cli->output;
    int64_t first = side->run_id[0], runs = (int64_t)side->count, from;
    int is_first = count == 1 && first <= runs;
    char text[2][NUMBERS_SIZE], command[1024];
    const char *argv[] = {program_invocation_name, "compare", "-i", store, text[0], text[1], NULL};

    for (size_t i = 0; i < count; i++) {
        rps_text_numbers(text[i], sizeof(text[i]), side[i].run_id, side[i].count);
        if (strstr(text[i], "...")) /* the runs of two alternating sides do not fit into the text */
            snprintf(text[i], sizeof(text[i]), "%s", side[i].label);
    }
    from = is_first ? side->run_id[side->count - 1] + 1 : first - runs;
    if (count == 1) {
        memmove(text[!is_first], text[0], sizeof(text[0]));
        snprintf(text[is_first], sizeof(text[0]), runs > 1 ? "%" PRId64 "-%" PRId64 : "%" PRId64,
                 from, from + runs - 1);
    }
    if (strcmp(store, cli->command->output_value) == 0)
        memmove(argv + 2, argv + 4, 3 * sizeof(*argv));
    rps_text_command(command, sizeof(command), argv[4] ? 6 : 4, (char *const *)(uintptr_t)argv);
    rps_output_print("next: %s%s",
                     is_first ? "record the other version in the same way, then " : "", command);
}

void rps_series_summary(struct rps_cli *cli, const struct rps_series_side *side, size_t count,
                        int is_whole)
{
    struct look look[2];
    struct rps_reader *reader = NULL;

    if (rps_reader_open(&reader, cli->output, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        look[i] = look_at(cli, reader, &side[i]);
        if (side[i].count == 0)
            continue;
        report_spread(&side[i], &look[i]);
        report_outliers(cli, &side[i], &look[i]);
    }
    rps_reader_close(reader);
    report_taken(look, count);
    if (is_whole)
        report_next(cli, side, count);
}
