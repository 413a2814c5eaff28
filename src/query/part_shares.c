/* Named shares of parts of a run, in words, and whether they are as many samples as they should. */
#include "rpistat/part_shares.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"
#include "rpistat/wing.h"

#define FILE_MOST 100 /* bytes of a file's name behind a function */
#define SHORT     .8  /* of the samples that are expected: fewer are told of */

int rps_part_shares_find(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, const struct rps_cpus *cpus,
                         struct rps_part_shares *ret, struct rps_error *err)
{
    const struct rps_wing *wing = rps_store_used_wing();

    *ret = (struct rps_part_shares){0};
    return wing && wing->shares ? wing->shares(arena, reader, run_id, part, cpus, ret, err) : 0;
}

int rps_part_shares_of_labels(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                              const struct rps_phases *phases, const struct rps_cpus *cpus,
                              struct rps_part_shares *ret, struct rps_error *err)
{
    struct rps_run_part part = rps_run_part_of_phases(arena, phases, 1);

    return rps_part_shares_find(arena, reader, run_id, &part, cpus, ret, err);
}

double rps_shares_part(uint64_t samples, uint64_t all)
{
    return all < RPS_SHARES_SAMPLES_MIN ? NAN : (double)samples / (double)all;
}

/* --- in words --------------------------------------------------------------------------------- */

char *rps_share_name_text(char *ret, size_t size, const struct rps_share_name *name)
{
    const char *file = rps_text_file_name(name->file);
    size_t length = strlen(name->name);
    char line[128] = "";
    int fits;

    if (name->line > 0)
        snprintf(line, sizeof(line), " (%.*s:%d)", (int)rps_text_cut(file, FILE_MOST), file,
                 name->line);
    else if (name->processes > 1)
        snprintf(line, sizeof(line), " (%zu processes)", name->processes);
    fits = length + strlen(line) < size;
    if (!fits)
        length = rps_text_cut(name->name, size - strlen(line) - sizeof("..."));
    snprintf(ret, size, "%.*s%s%s", (int)length, name->name, fits ? "" : "...", line);
    return ret;
}

char *rps_share_group_text(char *ret, size_t size, const struct rps_share_group *group)
{
    char name[256];
    size_t used;

    ret[0] = '\0';
    if (group->count == 0 || isnan(group->top[0].share))
        return ret;
    rps_share_name_text(name, sizeof(name), &group->top[0].name);
    if (group->top[0].share < .5)
        snprintf(ret, size, "%.0f %% in %s", 100 * group->top[0].share, name);
    else
        snprintf(ret, size, "in %s", name);
    used = strlen(ret);
    if (group->function_count > 0)
        snprintf(ret + used, size - used, ", %.0f %% in %s", 100 * group->function[0].share,
                 rps_share_name_text(name, sizeof(name), &group->function[0].name));
    return ret;
}

/* --- what samples should be ------------------------------------------------------------------- */

static int is_part_sampled(const struct rps_sampling *sampling)
{
    return strchr(sampling->event, ':') != NULL;
}

double rps_samples_expected(const struct rps_sampling *sampling, double cpu_s)
{
    int is_clock = strncmp(sampling->event, "cpu-clock", strlen("cpu-clock")) == 0 ||
                   strncmp(sampling->event, "task-clock", strlen("task-clock")) == 0 ||
                   strstr(sampling->event, "cycles");

    return is_clock && sampling->frequency > 0 ? (double)sampling->frequency * cpu_s : NAN;
}

int rps_samples_are_short(uint64_t samples, double expected)
{
    return expected >= RPS_SHARES_SAMPLES_MIN && (double)samples < SHORT * expected;
}

char *rps_samples_short_text(char *ret, size_t size, const struct rps_sampling *sampling,
                             uint64_t samples, double cpu_s)
{
    double expected = rps_samples_expected(sampling, cpu_s);
    char time[RPS_TEXT_NUMBER_SIZE];

    ret[0] = '\0';
    if (!rps_samples_are_short(samples, expected))
        return ret;
    rps_text_duration(time, sizeof(time), (int64_t)(fmin(cpu_s, 1e9) * RPS_NS_PER_S));
    if (is_part_sampled(sampling))
        snprintf(ret, size,
                 "%" PRIu64 " samples of at most %.0f in %s of CPU time: the kernel's part of it "
                 "may not be sampled here.",
                 samples, expected, time);
    else if (sampling->lost > 0 || sampling->throttled > 0)
        snprintf(ret, size,
                 "%" PRIu64 " samples of %.0f expected in %s of CPU time: some were lost, or the "
                 "kernel stopped sampling for a moment.",
                 samples, expected, time);
    else
        snprintf(ret, size,
                 "%" PRIu64
                 " samples of %.0f expected in %s of CPU time: processes that end within "
                 "%.4g ms are not sampled.",
                 samples, expected, time, 1000 / (double)sampling->frequency);
    return ret;
}
