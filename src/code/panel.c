/*
 * The panel "Code": the shares of time of functions, modules, threads or programs, in steps. There
 * is none for too few samples.
 *
 * 100 % is the time of one CPU (by CPU: of these CPUs), or of as many as were busy if more. In the
 * rest, the workload waited for a CPU, slept, or was not sampled; system metrics separate these. It
 * waited and slept at most as long as its threads did. Sleep excludes the unknown time of threads
 * that exited before they were read. A step has enough samples for its shares to be meaningful, and
 * ends at the end of a phase.
 */
#include "wing.h"

#include <math.h>
#include <string.h>

#include "bins.h"
#include "rpistat/clock.h"
#include "rpistat/code_store.h"
#include "rpistat/run_code.h"
#include "rpistat/run_system.h"
#include "rpistat/shares.h"
#include "rpistat/text.h"

#define CODE_TOP     24 /* lines with their own name, in a map; then "other", and */
#define CODE_LAYERS  6  /* ... in stacked areas */
#define CODE_SAMPLES 50 /* minimum per step, for a busy CPU */
#define US_PER_S     1e6
#define CODE_STEPS   1000 /* maximum, except for phases */

/* The lines after those of functions. */
enum { LINE_OTHER = CODE_TOP, LINE_WAITING, LINE_ASLEEP, LINE_NOT_SAMPLED, LINE_OFF };

static const struct {
    const char *name;
    int colour; /* as rpistat/picture.h has them */
} line_of[RPS_PICTURE_AREAS_LINES] = {
    [LINE_OTHER] = {"other", RPS_PICTURE_AREAS_OTHER},
    [LINE_WAITING] = {"waiting for a CPU", -2},
    [LINE_ASLEEP] = {"asleep", -1},
    [LINE_NOT_SAMPLED] = {"not sampled", 6},
    [LINE_OFF] = {"off the CPU or not sampled", -1}, /* without system signals */
};

/* The readings of the process tree, step by step. */
struct readings {
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    int has_row, result;
    struct rps_error *err;
};

/* The keys that samples are divided by: a number for each stack or task. */
struct keys {
    int64_t *of;       /* of each stack or task its key; -1: none */
    uint64_t *samples; /* of each key */
    size_t ids, count;
    struct rps_share_name *name; /* of functions and programs */
    size_t top[CODE_TOP];        /* keys with most samples, 1 % of all at least, in that order */
    int top_count;
};

static int is_of_tasks(enum rps_plot_code by)
{
    return by >= RPS_PLOT_CODE_THREAD;
}

static struct keys find_keys(struct rps_arena *arena, const struct rps_code *code,
                             enum rps_plot_code by)
{
    struct keys keys = {.ids = is_of_tasks(by) ? code->task_count : code->stack_count};

    if (by == RPS_PLOT_CODE_PROGRAM || by == RPS_PLOT_CODE_CGROUP) {
        keys.of = rps_shares_owners(
            arena, code, by == RPS_PLOT_CODE_CGROUP ? RPS_SHARES_CGROUP : RPS_SHARES_PROGRAM,
            &keys.name, &keys.count, NULL);
        return keys;
    }
    if (by == RPS_PLOT_CODE_FUNCTION) {
        keys.of = rps_shares_functions(arena, code, 1, RPS_UNNAMED_MODULE, &keys.name, &keys.count);
        return keys;
    }
    keys.count = by == RPS_PLOT_CODE_THREAD ? code->task_count : code->module_count;
    keys.of = rps_arena_get(arena, keys.ids, sizeof(*keys.of));
    for (size_t i = 0; i < keys.ids; i++) {
        int64_t frame = by == RPS_PLOT_CODE_THREAD ? -1 : code->stack[i].frame;

        keys.of[i] = by == RPS_PLOT_CODE_THREAD ? (int64_t)i
                     : frame >= 0               ? code->frame[frame].module
                                                : -1;
    }
    return keys;
}

static void find_top(struct rps_arena *arena, struct keys *keys, const struct rps_code_bins *bins,
                     size_t most)
{
    keys->samples = rps_arena_get(arena, keys->count, sizeof(*keys->samples));
    for (size_t i = 0; i < bins->cell_count; i++) {
        int64_t key = keys->of[bins->cell[i].id];

        if (key >= 0)
            keys->samples[key] += bins->cell[i].samples;
    }
    keys->top_count = (int)rps_shares_largest(keys->samples, keys->count, most, keys->top);
    while (keys->top_count > 0 &&
           keys->samples[keys->top[keys->top_count - 1]] * 100 < rps_code_bins_samples(bins))
        keys->top_count--;
}

static void name_key(const struct rps_code *code, enum rps_plot_code by, const struct keys *keys,
                     size_t key, char name[RPS_PICTURE_AREAS_NAME])
{
    char text[RPS_PICTURE_AREAS_NAME];

    if (keys->name)
        rps_text_function(text, sizeof(text), keys->name[key].name);
    else if (by == RPS_PLOT_CODE_THREAD)
        snprintf(text, sizeof(text), "%s (%lld)", code->task[key].name,
                 (long long)code->task[key].tid);
    else
        snprintf(text, sizeof(text), "%s", rps_text_file_name(code->module[key].path));
    rps_text_printable(name, RPS_PICTURE_AREAS_NAME, text[0] ? text : "[unknown]");
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Return the end of a step that begins at a bin. It may be shorter at the end of a phase. */
static size_t short_step_end(const struct rps_picture *picture, const struct rps_code_bins *bins,
                             const struct rps_sampling *sampling, size_t from, int *ret_is_short)
{
    int64_t least_ns = (bins->edge_ns[bins->bin_count] - bins->edge_ns[0]) / CODE_STEPS;
    double expected = 0;
    size_t to = from;

    do {
        expected += rps_code_bins_expected(picture, bins, sampling, to++);
        *ret_is_short = bins->edge_ns[to] - bins->edge_ns[from] < least_ns ||
                        (sampling->frequency > 0 && expected < CODE_SAMPLES);
    } while (*ret_is_short && to < bins->bin_count && !bins->is_phase[to]);
    return to;
}

/* Likewise; a rest of a phase that is too short for a step belongs to the step before it. */
static size_t step_end(const struct rps_picture *picture, const struct rps_code_bins *bins,
                       const struct rps_sampling *sampling, size_t from)
{
    int is_short;
    size_t to = short_step_end(picture, bins, sampling, from, &is_short), next;

    if (to == bins->bin_count || bins->is_phase[to])
        return to;
    next = short_step_end(picture, bins, sampling, to, &is_short);
    return is_short ? next : to;
}

static void next_reading(struct readings *readings)
{
    readings->result = rps_system_cursor_next(readings->cursor, &readings->row, readings->err);
    readings->has_row = readings->result > 0;
}

/* Add up the readings before a time that are in no earlier step. */
static struct rps_run_system read_until(struct readings *readings, int64_t end_ns)
{
    struct rps_run_system system = {0};

    while (readings->has_row &&
           readings->row.end_ns - readings->row.length_us * RPS_NS_PER_US / 2 < end_ns) {
        rps_run_system_add(&system, &readings->row);
        next_reading(readings);
    }
    return system;
}

/* Divide the time off the CPU, %. */
static void split_off(double *share, double off, const struct rps_run_system *system)
{
    const struct rps_system_sum *running = &system->slot[RPS_SYSTEM_TREE][RPS_TREE_RUNNING];
    struct rps_system_time time = rps_run_system_time(system, running->sum / US_PER_S);

    if (!(time.elapsed_s > 0)) {
        share[LINE_OFF] = off;
        return;
    }
    share[LINE_WAITING] = fmin(off, 100 * time.wait_s / time.elapsed_s);
    off -= share[LINE_WAITING];
    share[LINE_ASLEEP] = fmin(fmax(0, off - 100 * time.unknown_s / time.elapsed_s),
                              100 * time.asleep_s / time.elapsed_s);
    share[LINE_NOT_SAMPLED] = off - share[LINE_ASLEEP];
}

/* Add a step: the shares of the lines, from their samples. */
static void add_step(struct rps_picture_areas *code, const uint64_t *samples, double expected,
                     const struct rps_run_system *system, double from, double to)
{
    double *share = &code->share[code->step_count * RPS_PICTURE_AREAS_LINES], all = 0;

    for (int line = 0; line < CODE_TOP + 1; line++)
        all += (double)samples[line];
    for (int line = 0; line < CODE_TOP + 1; line++)
        share[line] = 100 * (double)samples[line] / fmax(fmax(all, expected), 1);
    if (expected > all)
        split_off(share, 100 * (1 - all / expected), system);
    code->at[code->step_count++] = from;
    code->at[code->step_count] = to;
}

static void make_steps(struct rps_picture *picture, const struct rps_code_bins *bins,
                       const struct rps_sampling *sampling, const struct keys *keys,
                       struct readings *readings)
{
    struct rps_picture_areas *code = &picture->code;
    struct rps_run_system system;
    size_t cell = 0;

    code->top = 100;
    code->at = rps_arena_get(picture->arena, bins->bin_count + 1, sizeof(*code->at));
    code->share = rps_arena_get(picture->arena, bins->bin_count,
                                RPS_PICTURE_AREAS_LINES * sizeof(*code->share));
    for (size_t from = 0, to; from < bins->bin_count; from = to) {
        uint64_t samples[CODE_TOP + 1] = {0};
        double expected = 0;

        to = step_end(picture, bins, sampling, from);
        for (size_t bin = from; bin < to; bin++)
            expected += rps_code_bins_expected(picture, bins, sampling, bin);
        for (; cell < bins->cell_count && bins->cell[cell].bin < to; cell++) {
            int64_t key = keys->of[bins->cell[cell].id];
            int line = 0;

            while (line < keys->top_count && (int64_t)keys->top[line] != key)
                line++;
            samples[line < keys->top_count ? line : CODE_TOP] += bins->cell[cell].samples;
        }
        system = read_until(readings, bins->edge_ns[to]);
        add_step(code, samples, expected, &system,
                 rps_picture_position(picture, bins->edge_ns[from]),
                 rps_picture_position(picture, bins->edge_ns[to]));
    }
}

/* Keep the lines with a share in some step, and name them. */
static void name_lines(struct rps_picture_areas *code, const struct rps_code *names,
                       enum rps_plot_code by, const struct keys *keys)
{
    for (int line = 0; line < RPS_PICTURE_AREAS_LINES; line++) {
        int kept = code->line_count, is_there = 0;

        for (size_t i = 0; i < code->step_count; i++) {
            double *share = &code->share[i * RPS_PICTURE_AREAS_LINES];

            share[kept] = share[line];
            is_there |= share[line] > 0;
        }
        if (!is_there)
            continue;
        code->colour[kept] = line < CODE_TOP ? line : line_of[line].colour;
        if (line < CODE_TOP)
            name_key(names, by, keys, keys->top[line], code->name[kept]);
        else
            strcpy(code->name[kept], line_of[line].name);
        code->line_count++;
    }
}

/* --- the panel -------------------------------------------------------------------------------- */

static void give_title(struct rps_picture_areas *code, enum rps_plot_code by,
                       const struct rps_sampling *sampling)
{
    char unit[RPS_TEXT_NUMBER_SIZE + 32];

    if (sampling->frequency > 0)
        snprintf(unit, sizeof(unit), "%llu Hz", (unsigned long long)sampling->frequency);
    else
        snprintf(unit, sizeof(unit), "one in %llu", (unsigned long long)sampling->threshold);
    snprintf(code->title, sizeof(code->title), "Code: share of %s by %s (%%), sampled by %.64s, %s",
             sampling->frequency > 0 ? "the time" : "samples", rps_plot_code_names[by],
             sampling->event, unit);
}

/* Return 1 and no panel if programs must be shown instead of these functions, or functions instead
 * of these programs. */
static int read_panel(struct rps_arena *arena, struct rps_picture *picture,
                      const struct rps_code *code, enum rps_plot_code by, size_t most,
                      int is_chosen, struct rps_error *err)
{
    struct rps_code_bins bins;
    struct keys keys = find_keys(arena, code, by);
    struct readings readings = {.err = err};
    int result = rps_code_bins_read(arena, picture, picture->bin_count, is_of_tasks(by), keys.ids,
                                    &bins, err);

    if (result == 0)
        find_top(arena, &keys, &bins, most);
    if (result == 0 && is_chosen)
        result = by == RPS_PLOT_CODE_PROGRAM
                     ? !code->is_of_machine && keys.top_count > 0 &&
                           (double)keys.samples[keys.top[0]] >=
                               RPS_SHARES_ONE_PROGRAM * (double)rps_code_bins_samples(&bins)
                     : rps_shares_are_of_programs(code, keys.name, keys.samples, keys.count);
    if (result == 0 && rps_code_bins_samples(&bins) >= RPS_SHARES_SAMPLES_MIN) {
        result = rps_system_cursor_open(&readings.cursor, picture->cpu_series.reader,
                                        picture->cpu_series.run_id, RPS_SYSTEM_TREE,
                                        bins.edge_ns[0], bins.edge_ns[bins.bin_count],
                                        picture->cpu_series.resolution, err);
        if (result == 0) {
            next_reading(&readings);
            make_steps(picture, &bins, &code->sampling, &keys, &readings);
            result = readings.result;
        }
        rps_system_cursor_close(readings.cursor);
        name_lines(&picture->code, code, by, &keys);
        give_title(&picture->code, by, &code->sampling);
    }
    return result;
}

int rps_code_panel(struct rps_picture *picture, const struct rps_plot_options *options,
                   struct rps_error *err)
{
    const struct rps_cpu_series *series = &picture->cpu_series;
    int is_chosen = options->code == RPS_PLOT_CODE_CHOSEN;
    size_t most = options->kind == RPS_PLOT_HEAT ? CODE_TOP : CODE_LAYERS;
    struct rps_arena *arena = rps_arena_new();
    struct rps_code code;
    int result = rps_reader_code(arena, series->reader, series->run_id, &code, err);

    if (result <= 0)
        goto out;
    result = options->code == RPS_PLOT_CODE_CGROUP
                 ? rps_run_code_check_cgroups(series->run_id, &code, err)
                 : 0;
    if (result == 0)
        result =
            read_panel(arena, picture, &code, is_chosen ? RPS_PLOT_CODE_FUNCTION : options->code,
                       most, is_chosen, err);
    if (result > 0)
        result = read_panel(arena, picture, &code, RPS_PLOT_CODE_PROGRAM, most, 1, err);
    if (result > 0)
        result = read_panel(arena, picture, &code, RPS_PLOT_CODE_FUNCTION, most, 0, err);
out:
    rps_arena_free(arena);
    return result;
}
