/* Finds the phases of one run or several runs: converts periods to signals for the detector, and
 * the detector's observations back to period numbers and times. */
#include "rpistat/run_phases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/csv_signals.h"
#include "rpistat/loops.h"
#include "rpistat/profile.h"
#include "rpistat/store.h"
#include "rpistat/process.h"
#include "run_signals.h"

/* --- from observations to periods ------------------------------------------------------------- */

/* Return the number of periods per observation. A recording has one period per observation; an
 * import has as many periods per observation as a row of the imported file. If the run was read at
 * a level, return the number of periods in a block. */
static size_t in_observation(const struct rps_collected *collected)
{
    if (!collected->by_rotation)
        return 1;
    return (size_t)(collected->set_count > 0 ? collected->set_count : 1)
           << (RPS_LEVEL_BITS * collected->level);
}

static void place(struct rps_arena *arena, struct rps_phases *phases,
                  const struct rps_collected *collected)
{
    for (size_t i = 0; i < phases->count; i++) {
        struct rps_phase *phase = &phases->phase[i];

        phase->start_ns = collected->row[phase->first].start_ns;
        phase->end_ns = collected->row[phase->last].end_ns;
        phase->earliest = collected->row[phase->earliest].first;
        phase->latest = collected->row[phase->latest].first;
        phase->first = collected->row[phase->first].first;
        phase->last = collected->row[phase->last].last;
    }
    if (phases->outlier_count > 0)
        phases->outlier_ns = rps_arena_get(arena, 2 * phases->outlier_count, sizeof(int64_t));
    for (size_t i = 0; i < phases->outlier_count; i++) {
        const struct rps_collect_row *row = &collected->row[phases->outlier[i]];

        phases->outlier[i] = row->first;
        phases->outlier_ns[2 * i] = row->start_ns;
        phases->outlier_ns[2 * i + 1] = row->end_ns;
    }
    phases->wide = in_observation(collected) - 1;
}

/* Add a block as an outlier if one of the block's rotations is unlike all other rotations. */
static void add_wild(struct rps_arena *arena, struct rps_phases *phases,
                     const struct rps_collected *collected)
{
    uint64_t *outlier = rps_arena_get(arena, collected->signals.count, sizeof(*outlier));
    size_t count = 0, at = 0;

    for (size_t i = 0; i < collected->signals.count; i++) {
        int is_outlier = at < phases->outlier_count && phases->outlier[at] == i;

        at += (size_t)is_outlier;
        if (is_outlier || collected->wild[i])
            outlier[count++] = i;
    }
    phases->outlier = outlier;
    phases->outlier_count = count;
}

static void place_all(struct rps_arena *arena, struct rps_run_phases *found,
                      const struct rps_run_signals *signals)
{
    const struct rps_collected *collected = &signals->collected[0];
    size_t count = collected->signals.count;

    for (size_t r = 0; r < found->joint.run_count; r++)
        place(arena, &found->joint.run[r], &signals->collected[r]);
    for (size_t i = 0; i < found->found.levels.count; i++)
        place(arena, &found->found.levels.level[i], collected);
    found->observation_count = count;
    if (count > 0)
        found->observing.observation_ns =
            (int64_t)((double)(collected->row[count - 1].end_ns - collected->row[0].start_ns) /
                      (double)(collected->row[count - 1].last - collected->row[0].first + 1) *
                      (double)in_observation(collected));
    found->observing.in_blocks = collected->level > 0;
    found->observing.late = collected->late;
    for (size_t i = 0; i < count; i++) {
        int64_t length_ns = collected->row[i].end_ns - collected->row[i].start_ns;

        if (length_ns > found->observing.longest_ns)
            found->observing.longest_ns = length_ns;
    }
}

/* --- names ------------------------------------------------------------------------------------ */

/* Return the names of the first run's signals, and of tables of counts. */
static rps_signal_name *name_signals(struct rps_arena *arena, const struct rps_run_signals *signals,
                                     size_t *ret_count)
{
    const struct rps_collected *collected = &signals->collected[0];
    const struct rps_chosen_signals *tables = &signals->samples;
    size_t count = collected->signals.signal_count;
    rps_signal_name *name = rps_arena_get(arena, count + tables->name_count + 2, sizeof(*name));

    for (size_t s = 0; s < count; s++)
        memcpy(name[s], collected->signal[s].name, sizeof(*name));
    for (size_t s = 0; s < tables->name_count; s++)
        snprintf(name[count++], sizeof(*name), "%s", tables->name[s]);
    if (signals->has_sleep)
        snprintf(name[count++], sizeof(*name), "%s", RPS_SLEEP_TABLE);
    *ret_count = count;
    return name;
}

static void add_missing(struct rps_arena *arena, struct rps_run_phases *found, const char *name)
{
    for (size_t i = 0; i < found->missing_count; i++) {
        if (strcmp(found->missing[i], name) == 0)
            return;
    }
    found->missing =
        rps_arena_grow(arena, found->missing, found->missing_count, sizeof(*found->missing));
    snprintf(found->missing[found->missing_count++], sizeof(*found->missing), "%s", name);
}

/* Find the signals that some run has and another lacks. */
static void find_missing(struct rps_arena *arena, const struct rps_run_signals *signals,
                         struct rps_run_phases *found)
{
    const char *name;

    for (size_t r = 0; r < signals->count; r++) {
        for (size_t other = 0; other < signals->count; other++) {
            int lacks = 0;

            for (size_t at = 0; lacks >= 0; at++) {
                lacks = rps_collect_lacks(signals->member[r].collect,
                                          signals->member[other].collect, at, &name);
                if (lacks > 0)
                    add_missing(arena, found, name);
            }
        }
    }
    if (signals->samples.having > 0 && signals->samples.having < signals->count)
        add_missing(arena, found, "samples");
}

/* --- detecting -------------------------------------------------------------------------------- */

/* Return the minimum length of a phase in periods: the requested length, or 0 to let the detector
 * choose. If sets rotate, every metric must be observed twice in a phase, since a single value
 * looks like a phase without noise. */
static size_t shortest(const struct rps_run_phases_options *options,
                       const struct rps_run_signals *signals)
{
    size_t most = 0;

    if (options->find.detect.min_length > 0)
        return options->find.detect.min_length;
    for (size_t r = 0; r < signals->count; r++) {
        const struct rps_collected *collected = &signals->collected[r];
        const struct rps_run *run = &signals->member[r].run;
        size_t least = 0;

        if (options->min_length_ns > 0 && run->period_ns > 0)
            least = (size_t)((options->min_length_ns - 1) / run->period_ns + 1);
        else if (collected->set_count > 1 && !collected->by_rotation)
            least = (size_t)rps_run_periods_with(run, collected->set_count, 2) + 1;
        most = least > most ? least : most;
    }
    return most;
}

/* Find the time from which the part could be read by period. The result is -1 if the whole part can
 * be read by period, or nothing of the part. */
static int periods_from(const struct rps_run_at *run, const struct rps_run_phases_options *options,
                        int64_t *ret_ns, struct rps_error *err)
{
    int result = rps_reader_downsampled(run->reader, run->run_id, ret_ns, err);

    if (*ret_ns <= options->from_ns || *ret_ns >= options->to_ns)
        *ret_ns = -1;
    return result;
}

/* Leave out the columns that number a table's rows, unless all columns number rows. */
static void drop_places(struct rps_collected *collected)
{
    struct rps_signals *signals = &collected->signals;
    size_t kept = 0, size = signals->count * sizeof(*signals->value);

    for (size_t s = 0; s < signals->signal_count; s++) {
        const double *value = signals->value + s * signals->count;

        if (rps_csv_is_place(value, signals->count, 0, collected->signal[s].name))
            continue;
        memmove(signals->value + kept * signals->count, value, size);
        collected->signal[kept++] = collected->signal[s];
    }
    signals->signal_count = kept > 0 ? kept : signals->signal_count;
}

/* Find the phases of an imported table in the same way as the phases of a file. */
static int find_in_table(struct rps_arena *arena, struct rps_collected *collected, int is_named,
                         const struct rps_phases_options *find, struct rps_found_phases *ret,
                         struct rps_error *err)
{
    struct rps_signals even;

    if (!is_named)
        drop_places(collected);
    even = rps_csv_signals_even(arena, &collected->signals);
    return rps_phases_find(arena, &even, find, ret, err);
}

static int find_phases(struct rps_arena *arena, const struct rps_run_signals *signals,
                       const struct rps_run_phases_options *options, struct rps_run_phases *found,
                       struct rps_error *err)
{
    const struct rps_signals **of_run = rps_arena_get(arena, signals->count, sizeof(*of_run));
    const size_t each = in_observation(&signals->collected[0]);
    struct rps_phases_options find = options->find;

    for (size_t r = 0; r < signals->count; r++)
        of_run[r] = &signals->collected[r].signals;
    found->min_length = shortest(options, signals);
    find.detect.min_length = (found->min_length + each - 1) / each;
    if (options->find.detect.min_length > 0 || options->min_length_ns > 0)
        find.counts_min_length = find.detect.min_length; /* Samples do not depend on rotations. */
    if (signals->collected[0].is_table)
        return find_in_table(arena, &signals->collected[0], options->metric_count > 0, &find,
                             &found->found, err);
    return signals->count == 1
               ? rps_phases_find(arena, of_run[0], &find, &found->found, err)
               : rps_joint_find(arena, of_run, signals->count, &find, &found->joint, err);
}

int rps_run_phases_detect(struct rps_arena *arena, const struct rps_run_at *run, size_t count,
                          const struct rps_run_phases_options *options, struct rps_run_phases *ret,
                          struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_run_phases found = {.resolution = 0};
    struct rps_run_signals signals;
    int result = rps_run_signals_collect(scratch, run, count, options, 0, &signals, err);

    if (result == 0)
        result = periods_from(&run[0], options, &found.periods_from_ns, err);
    if (result == 0)
        result = find_phases(arena, &signals, options, &found, err);
    if (result == 0 && count == 1 && signals.collected[0].wild)
        add_wild(arena, rps_phase_levels_shown(&found.found.levels), &signals.collected[0]);
    if (result == 0) {
        place_all(arena, &found, &signals);
        found.resolution = signals.collected[0].level;
        found.signal = name_signals(arena, &signals, &found.signal_count);
        find_missing(arena, &signals, &found);
    }
    rps_run_signals_free(&signals);
    rps_arena_free(scratch);
    if (result == 0)
        *ret = found;
    return result;
}

int rps_run_phases_remark(struct rps_arena *arena, const struct rps_run_at *run,
                          const struct rps_run_phases_options *options,
                          const struct rps_run_phases *found, char ret[RPS_PHASE_REMARK_SIZE],
                          struct rps_error *err)
{
    const struct rps_phases tenths = rps_profile_tenths(arena, &found->found);
    struct rps_profile profile = {0};
    int result = 0;

    if (tenths.count > 0)
        result = rps_profile_run(arena, run->reader, run->run_id, options->from_ns, options->to_ns,
                                 &options->cpus, &tenths, 1, 0, &profile, err);
    if (result == 0)
        rps_profile_remark(&found->found, &found->observing, &profile, ret);
    if (result == 0)
        result = rps_profile_remark_memory(arena, run->reader, run->run_id,
                                           rps_phase_levels_shown(&found->found.levels), ret, err);
    return result;
}

/* --- for other commands ----------------------------------------------------------------------- */

/* Return 1 if the detection reaches the end of the run. A recording may have continued since the
 * detection. */
static int reaches_end(const struct rps_phase_levels *levels, const struct rps_run *run)
{
    const struct rps_phases *phases = rps_phase_levels_shown(levels);

    return phases->count > 0 &&
           phases->phase[phases->count - 1].end_ns + run->period_ns > run->elapsed_ns;
}

/* Read the stored detection. If `run` is not NULL, the detection must reach the end of the run.
 * Return 1, 0 if there is no such detection, or a negative value. */
static int stored(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                  const struct rps_run *run, struct rps_phase_levels *ret, char *remark,
                  struct rps_error *err)
{
    struct rps_detection detection;
    struct rps_phases *shown;
    int result = rps_reader_detection(arena, reader, run_id, &detection, err);

    if (result <= 0)
        return result;
    result = !run || reaches_end(&detection.levels, run);
    if (result) {
        *ret = detection.levels;
        shown = rps_phase_levels_shown(ret);
        rps_loops_fold(shown, 0, shown->count); /* inner loops are not stored */
        if (remark)
            snprintf(remark, RPS_PHASE_REMARK_SIZE, "%s", detection.remark ? detection.remark : "");
    }
    return result;
}

int rps_run_phases_stored(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                          struct rps_phase_levels *ret, struct rps_error *err)
{
    return stored(arena, reader, run_id, NULL, ret, NULL, err);
}

static int detect_small(struct rps_arena *arena, struct rps_reader *reader,
                        const struct rps_run *run, struct rps_phase_levels *ret, char *remark,
                        struct rps_error *err)
{
    const struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    const struct rps_run_at at = {reader, run->run_id};
    struct rps_run_phases found;
    struct rps_run_summary summary;
    int result = rps_reader_summary(reader, run->run_id, &summary, err);

    if (result < 0)
        return result;
    if (summary.rows == 0 || summary.rows > RPS_RUN_PHASES_PERIODS_MAX)
        return 0;
    result = rps_run_phases_detect(arena, &at, 1, &options, &found, err);
    if (result < 0)
        return result;
    if (remark)
        result = rps_run_phases_remark(arena, &at, &options, &found, remark, err);
    if (result == 0) {
        *ret = found.found.levels;
        result = 1;
    }
    return result;
}

int rps_run_phases_get(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                       struct rps_phase_levels *ret, char remark[RPS_PHASE_REMARK_SIZE],
                       struct rps_error *err)
{
    struct rps_run run;
    int result = rps_reader_run(arena, reader, run_id, &run, err);

    if (result == 0)
        result = stored(arena, reader, run_id, &run, ret, remark, err);
    return result == 0 ? detect_small(arena, reader, &run, ret, remark, err) : result;
}

/* --- in a process of its own ------------------------------------------------------------------ */

struct asked {
    const char *path;
    int64_t run_id;
    const struct rps_run_phases_options *options;
};

static int find_shown(struct rps_reader *reader, const struct asked *asked, FILE *out,
                      struct rps_error *err)
{
    const struct rps_run_at at = {reader, asked->run_id};
    struct rps_arena *arena = rps_arena_new();
    struct rps_run_phases found = {0};
    const struct rps_phases *shown;
    int result = asked->options ? rps_run_phases_detect(arena, &at, 1, asked->options, &found, err)
                                : rps_run_phases_get(arena, reader, asked->run_id,
                                                     &found.found.levels, NULL, err);

    if (result > 0 || (result == 0 && asked->options)) {
        shown = rps_phase_levels_shown(&found.found.levels);
        fwrite(&shown->label_count, sizeof(shown->label_count), 1, out);
        fwrite(shown->phase, sizeof(*shown->phase), shown->count, out);
        result = 1;
    }
    rps_arena_free(arena);
    return result;
}

static int open_and_find(void *context, FILE *out, struct rps_error *err)
{
    const struct asked *asked = context;
    struct rps_reader *reader = NULL;
    int result = rps_reader_open(&reader, asked->path, err);

    if (result == 0)
        result = find_shown(reader, asked, out, err);
    rps_reader_close(reader);
    return result;
}

int rps_run_phases_apart(struct rps_arena *arena, const char *path, int64_t run_id,
                         const struct rps_run_phases_options *options, struct rps_phases *ret,
                         struct rps_error *err)
{
    struct asked asked = {path, run_id, options};
    char *text = NULL;
    size_t size = 0, head = sizeof(ret->label_count);
    int result = rps_subprocess_run("rpistat phases", open_and_find, &asked, &text, &size, err);

    if (result > 0) {
        *ret = (struct rps_phases){.count = (size - head) / sizeof(*ret->phase)};
        memcpy(&ret->label_count, text, head);
        ret->phase = memcpy(rps_arena_get(arena, size - head, 1), text + head, size - head);
    }
    free(text);
    return result;
}

/* --- principal components --------------------------------------------------------------------- */

int rps_run_components_find(struct rps_arena *arena, const struct rps_run_at *run,
                            const struct rps_run_phases_options *options, size_t component_max,
                            struct rps_run_components *ret, struct rps_error *err)
{
    struct rps_run_components found;
    struct rps_run_signals signals;
    int result = rps_run_signals_collect(arena, run, 1, options, 1, &signals, err);
    struct rps_collected *collected = &signals.collected[0];

    if (result == 0)
        result =
            rps_components_find(arena, &collected->signals, component_max, &found.components, err);
    if (result == 0) {
        size_t count = collected->signals.count, names;

        found.name = name_signals(arena, &signals, &names);
        found.row = rps_arena_get(arena, count, sizeof(*found.row));
        memcpy(found.row, collected->row, count * sizeof(*found.row));
        *ret = found;
    }
    rps_run_signals_free(&signals);
    return result;
}
