/* Draws the panel "Code": the shares of time of functions, modules, threads or programs, step by
 * step. There is no panel if the run has too few samples.
 *
 * 100 % is the time of one CPU; in a recording by CPU, it is the time of the shown CPUs. If more
 * CPUs were busy, 100 % is the time of all busy CPUs. In the remaining time, the workload waited
 * for a CPU, slept, or was not sampled. System metrics show how much time belongs to each of these
 * three states. The panel shows no more waiting and sleep than the workload's threads had. Sleep
 * excludes the unknown time of threads that exited before they were read. A step has enough samples
 * for meaningful shares, and never crosses the end of a phase or of a longer gap.
 *
 * With `plot --function`, the picture's first panel has a line per name: the share of the samples,
 * or of the threads' time, whose stacks have a function of this name. The steps are the same. */
#include "hooks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bins.h"
#include "rpistat/clock.h"
#include "rpistat/code_store.h"
#include "rpistat/plan.h"
#include "rpistat/run_code.h"
#include "rpistat/run_system.h"
#include "rpistat/shares.h"
#include "rpistat/text.h"
#include "shares_index.h"

#define CODE_TOP     24 /* Maximum named lines in a map. */
#define CODE_LAYERS  6  /* Maximum named lines in stacked areas. */
#define CODE_SAMPLES 50 /* Minimum number of samples in a step if a CPU is always busy. */
#define US_PER_S     1e6
#define CODE_STEPS   1000 /* Maximum number of steps, not counting the steps that phases add. */

/* The lines below the lines of functions. */
enum { LINE_OTHER = CODE_TOP, LINE_WAITING, LINE_ASLEEP, LINE_NOT_SAMPLED, LINE_OFF };

static const struct {
    const char *name;
    int colour; /* Colour number as in rpistat/picture.h. */
} line_of[RPS_PICTURE_AREAS_LINES] = {
    [LINE_OTHER] = {"other", RPS_PICTURE_AREAS_OTHER},
    [LINE_WAITING] = {"waiting for a CPU", -2},
    [LINE_ASLEEP] = {"asleep", -1},
    [LINE_NOT_SAMPLED] = {"not sampled", 6},
    [LINE_OFF] = {"off-CPU or not sampled", -1}, /* Used if there are no system metrics. */
};

/* The readings of the process tree, step by step. */
struct readings {
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    int has_row, result;
    struct rps_error *err;
};

/* The keys by which samples are divided. Each stack or task has a key number. */
struct keys {
    int64_t *of;       /* Key of each stack or task; -1: none. */
    uint64_t *samples; /* Number of samples of each key. */
    size_t ids, count;
    struct rps_share_name *name; /* Names of functions and programs. */
    size_t top[CODE_TOP];        /* Keys with most samples; each has at least 1 % of all samples. */
    int top_count;
};

static struct keys find_keys(struct rps_arena *arena, const struct rps_code *code,
                             enum rps_plot_code by)
{
    struct keys keys = {.ids = by >= RPS_PLOT_CODE_THREAD ? code->task_count : code->stack_count};

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

/* Return the end of the step that begins at a bin. The last step of a phase may be too short. */
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

/* Return the end of the step that begins at a bin. If the bins between this end and the end of the
 * phase are too few for another step, the step includes these bins. */
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

/* Add up the readings before end_ns that no earlier call has added up. */
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

/* Divide the off-CPU time into waiting, sleep and unsampled time, all in %. */
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

/* Add a step: the share of each line, computed from the line's samples. */
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

/* Keep the lines that have a share in at least one step, and name these lines. */
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
        code->letter[kept] = line < CODE_TOP ? '\0' : "ow.n."[line - CODE_TOP];
        if (line < CODE_TOP)
            name_key(names, by, keys, keys->top[line], code->name[kept]);
        else
            strcpy(code->name[kept], line_of[line].name);
        code->line_count++;
    }
}

/* --- functions by name ------------------------------------------------------------------------ */

struct functions {
    struct rps_arena *arena;
    struct rps_picture *picture;
    const struct rps_plot_options *options;
    const struct rps_code *code;
    struct rps_share_index index;
    uint8_t *of_item, *of_stack; /* For each item and stack, bit k: it has a function of name k. */
    size_t found[RPS_PALETTE_LINES]; /* Number of functions of each name. */
    double count; /* Number of samples; with --wall also those that off-CPU time would have. */
};

enum name { NAME_FULL, NAME_OWN, NAME_MODULE, NAME_FILE, NAMES };

static const char *name_of(const struct functions *functions, size_t item, enum name name)
{
    const struct rps_share_key *key = &functions->index.items.key[item];
    const char *end, *own = rps_text_function_own(key->name, &end);
    const char *path = rps_share_index_path(functions->code, key->module);

    return name == NAME_FILE  ? rps_text_file_name(path)
           : name == NAME_OWN ? rps_arena_print(functions->arena, "%.*s", (int)(end - own), own)
           : name == NAME_MODULE && key->how == RPS_LOCATION_NONE
               ? rps_arena_print(functions->arena, "[%s]", rps_text_file_name(path))
               : key->name;
}

static int report_unknown(const struct functions *functions, const char *name,
                          struct rps_error *err)
{
    struct rps_suggestion near = {.typed = name};
    char list[256] = "", hint[512];

    if (functions->code->stack_count == 0)
        return rps_run_code_none(functions->picture->run.run_id, err);
    for (size_t i = 0; i < functions->index.items.count; i++) {
        const char *own = name_of(functions, i, NAME_OWN);

        rps_suggestion_consider(&near, own);
        if (strlen(name) > 2 && strcasestr(own, name) && !strstr(list, own))
            rps_text_list(list, sizeof(list), own);
    }
    rps_suggestion_question(&near, hint, sizeof(hint));
    if (near.count == 0 && list[0])
        snprintf(hint, sizeof(hint), "names that contain it: %s; ", list);
    for (size_t i = 0; i < functions->code->task_count; i++) {
        if (strcmp(functions->code->task[i].name, name) == 0)
            strcpy(hint, "threads have this name (--code thread shows them); ");
    }
    return rps_error_set(err, RPS_FAILED,
                         "--function: no function in run %lld is named '%s'; %ssee `rpistat code`",
                         (long long)functions->picture->run.run_id, name, hint);
}

static int find_name(struct functions *functions, size_t k, struct rps_error *err)
{
    const char *typed = functions->options->function[k];

    for (enum name name = 0; name < NAMES && functions->found[k] == 0; name++) {
        for (size_t i = 0; i < functions->index.items.count; i++) {
            if (strcmp(name_of(functions, i, name), typed) != 0)
                continue;
            functions->of_item[i] |= (uint8_t)(1u << k);
            functions->found[k] += name < NAME_MODULE || functions->found[k] == 0;
        }
    }
    return functions->found[k] ? 0 : report_unknown(functions, typed, err);
}

static void find_stacks(struct functions *functions)
{
    const struct rps_share_index *index = &functions->index;

    for (size_t s = 0; s < functions->code->stack_count; s++) {
        size_t parent = rps_share_parent_of(functions->code, s);
        size_t frame = rps_share_frame_of(functions->code, s);

        functions->of_stack[s] = parent == RPS_SHARE_NONE ? 0 : functions->of_stack[parent];
        for (size_t e = index->first[frame]; e < index->first[frame + 1]; e++)
            functions->of_stack[s] |= functions->of_item[index->item[e]];
    }
}

/* Return the share of a time range that was recorded. */
static double recorded_share(const struct rps_picture *picture, int64_t from_ns, int64_t to_ns)
{
    const struct rps_cpu_series *series = &picture->cpu_series;
    double from = (double)from_ns, to = (double)to_ns, left = to - from;

    for (size_t i = 0; i < picture->gaps.count; i++) {
        const struct rps_note *gap = &picture->gaps.note[i];
        double start = (double)gap->start_ns, end = start + (double)gap->length_ns;

        if (gap->cpu == RPS_CPU_ALL || (series->count == 1 && gap->cpu == series->cpu[0]))
            left -= fmax(0, fmin(to, end) - fmax(from, start));
    }
    return left / (to - from);
}

/* Add a line of the picture to each name's series. With times off the CPU, 100 % is the time of all
 * threads; otherwise, 100 % is the same as in the panel "Code". */
static int add_line(struct functions *functions, const struct rps_picture *picture,
                    struct rps_series *series, struct rps_error *err)
{
    static const enum rps_code_counted counted[] = {RPS_COUNT_STACKS, RPS_COUNT_BLOCKED};
    const struct rps_sampling *sampling = &functions->code->sampling;
    const size_t names = functions->options->function_count, lines = (size_t)picture->line_count;
    const int wall = functions->options->wall;
    const double weight[] = {wall ? US_PER_S / fmax(1, (double)sampling->frequency) : 1, 1};
    struct rps_code_bins bins[2];
    size_t cell[2] = {0};

    for (int i = 0; i <= wall; i++) {
        if (rps_code_bins_read(functions->arena, picture, picture->bin_count, counted[i],
                               functions->code->stack_count, &bins[i], err) < 0)
            return RPS_FAILED;
        functions->count += (double)rps_code_bins_samples(&bins[i]) * weight[i] / weight[0];
    }
    for (size_t k = 0; k < names; k++) {
        series[k * lines] = rps_series_new(picture->arena, 2 * bins->bin_count);
        series[k * lines].is_stepped = 1;
    }
    for (size_t from = 0, to; from < bins->bin_count; from = to) {
        double in[RPS_PALETTE_LINES] = {0}, all = 0, expected = 0, recorded;

        to = step_end(picture, bins, sampling, from);
        for (int i = 0; i <= wall; i++) {
            for (; cell[i] < bins[i].cell_count && bins[i].cell[cell[i]].bin < to; cell[i]++) {
                double amount = (double)bins[i].cell[cell[i]].samples * weight[i];

                all += amount;
                for (size_t k = 0; k < names; k++)
                    in[k] += (functions->of_stack[bins[i].cell[cell[i]].id] >> k & 1) * amount;
            }
        }
        recorded = recorded_share(picture, bins->edge_ns[from], bins->edge_ns[to]);
        for (size_t bin = from; bin < to && !wall; bin++)
            expected += recorded * rps_code_bins_expected(picture, bins, sampling, bin);
        expected = recorded > 0.001 ? fmax(all, expected) : 0;
        for (size_t k = 0; k < names; k++) {
            double share = expected > 0 ? 100 * in[k] / expected : NAN;

            for (size_t edge = from; edge <= to; edge += to - from)
                rps_series_add(&series[k * lines],
                               rps_picture_position(picture, bins->edge_ns[edge]), share, share,
                               share);
        }
    }
    return 0;
}

/* Add the metric of name k to the picture's plan. */
static void add_metric(const struct functions *functions, size_t k)
{
    const struct rps_plot_options *options = functions->options;
    struct rps_picture *picture = functions->picture;
    struct rps_metric *metric = rps_plan_add_metric(picture->plan);
    char name[32];

    if (!metric)
        rps_arena_exhausted();
    rps_text_function(name, sizeof(name), options->function[k]);
    snprintf(metric->label, sizeof(metric->label),
             functions->found[k] > 1 ? "%s, %zu functions" : "%s", name, functions->found[k]);
    snprintf(metric->panel, sizeof(metric->panel), "%.50s with callees",
             options->function_count == 1 || picture->apart ? metric->label : "Functions");
    strcpy(metric->unit, options->wall                             ? "% of the threads' time"
                         : functions->code->sampling.frequency > 0 ? "% of CPU and off-CPU time"
                                                                   : "% of the samples");
    picture->panel[picture->plan->metric_count - 1] = picture->apart ? (int)k : 0;
}

/* Add the functions to the picture's first panels, as metrics. Return 1, or a negative value. */
static int read_functions(struct functions *functions, struct rps_error *err)
{
    struct rps_picture *picture = functions->picture, part = *picture;
    const struct rps_plot_options *options = functions->options;
    int metrics = picture->plan->metric_count, result = 0;
    int panels = picture->apart ? (int)options->function_count : 1;
    int lacks_waits = options->wall && !functions->code->sampling.has_waits;

    functions->index = rps_share_index_make(functions->arena, functions->arena, functions->code,
                                            RPS_SHARES_FUNCTION, RPS_UNNAMED_ADDRESS, 0);
    functions->of_item = rps_arena_get(functions->arena, functions->index.items.count, 1);
    functions->of_stack = rps_arena_get(functions->arena, functions->code->stack_count, 1);
    for (size_t k = 0; k < options->function_count && result == 0; k++)
        result = find_name(functions, k, err);
    find_stacks(functions);
    part.cpu_series.count = picture->apart ? 1 : part.cpu_series.count;
    for (int line = 0; line < picture->line_count && result == 0; line++, part.cpu_series.cpu++)
        result = add_line(functions, &part, rps_picture_series(picture, metrics, line), err);
    if (result == 0 && (lacks_waits || functions->count < RPS_SHARES_SAMPLES_MIN))
        result = rps_error_set(
            err, RPS_FAILED, "run %lld has %s", (long long)picture->run.run_id,
            lacks_waits ? "no off-CPU times; record it with `rpistat record --wall`"
                        : "too few samples in this range for shares; choose a longer range");
    if (result < 0)
        return result;
    if (rps_picture_panel_lines(picture, 0) == 0 && options->metric_count == 0)
        picture->panel_count = picture->panel_total = 0; /* no panel "no data" */
    for (int m = 0; m < metrics; m++)
        picture->panel[m] += picture->panel[m] >= 0 ? panels : 0;
    for (size_t k = 0; k < options->function_count; k++)
        add_metric(functions, k);
    picture->panel_count += panels;
    picture->panel_total += panels;
    return 1;
}

/* --- the panel -------------------------------------------------------------------------------- */

static void give_title(struct rps_picture_areas *code, enum rps_plot_code by,
                       const struct rps_sampling *sampling)
{
    char unit[RPS_TEXT_NUMBER_SIZE + 32];

    snprintf(unit, sizeof(unit), sampling->frequency > 0 ? "%" PRIu64 " Hz" : "one in %" PRIu64,
             sampling->frequency > 0 ? sampling->frequency : sampling->threshold);
    snprintf(code->title, sizeof(code->title), "Code: share of %s by %s (%%), sampled by %.64s, %s",
             sampling->frequency > 0 ? "the time" : "samples", rps_plot_code_names[by],
             sampling->event, unit);
}

/* Read the panel. Return 1 without a panel if is_chosen is 1 and `by` is the wrong choice: programs
 * instead of functions, or functions instead of programs. */
static int read_panel(struct rps_arena *arena, struct rps_picture *picture,
                      const struct rps_code *code, enum rps_plot_code by, size_t most,
                      int is_chosen, struct rps_error *err)
{
    struct rps_code_bins bins;
    struct keys keys = find_keys(arena, code, by);
    struct readings readings = {.err = err};
    int result = rps_code_bins_read(arena, picture, picture->bin_count, by >= RPS_PLOT_CODE_THREAD,
                                    keys.ids, &bins, err);

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
    int is_chosen = options->code == RPS_PLOT_CODE_CHOSEN, result = 0;
    int lacks_code = options->code == RPS_PLOT_CODE_NONE ||
                     (is_chosen && !rps_picture_shows(picture, options, RPS_PICTURE_CODE));
    size_t most = options->kind == RPS_PLOT_HEAT ? CODE_TOP : CODE_LAYERS;
    struct rps_arena *arena = rps_arena_new();
    struct rps_code code;
    struct functions functions = {arena, picture, options, &code, .count = 0};

    if (!lacks_code || options->function_count > 0)
        result = rps_reader_code(arena, series->reader, series->run_id, &code, err);
    if (result >= 0 && options->function_count > 0)
        result =
            result > 0 ? read_functions(&functions, err) : rps_run_code_none(series->run_id, err);
    if (result <= 0 || lacks_code)
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
    return result < 0 ? result : 0;
}
