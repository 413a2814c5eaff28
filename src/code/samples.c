/* The samples of a part of a run. */
#include "rpistat/run_code.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/parse.h"
#include "rpistat/profile.h"
#include "rpistat/run_phases.h"
#include "rpistat/text.h"
#include "rpistat/walk.h"
#include "rpistat/run_regions.h"

#define FILE_MOST 100 /* bytes of a file's name behind a function */
#define SHORT     .8  /* of the samples that are expected: fewer are told of */

/* --- stretches -------------------------------------------------------------------------------- */

void rps_code_part_free(struct rps_code_part *part)
{
    free(part->stretch);
    *part = (struct rps_code_part){0};
}

static int add_stretch(struct rps_code_part *part, uint64_t first, uint64_t last, size_t group,
                       struct rps_error *err)
{
    struct rps_code_stretch *more = part->stretch;

    if ((part->count & (part->count - 1)) == 0)
        more = realloc(more, (part->count ? 2 * part->count : 1) * sizeof(*more));
    if (!more)
        return rps_error_memory(err);
    part->stretch = more;
    more[part->count++] = (struct rps_code_stretch){first, last, group};
    if (part->group_count <= group)
        part->group_count = group + 1;
    return 0;
}

int rps_code_part_of_phases(const struct rps_phases *phases, int by_label,
                            struct rps_code_part *ret, struct rps_error *err)
{
    struct rps_code_part part = {0};
    int result = 0;

    for (size_t i = 0; i < phases->count && result == 0; i++)
        result = add_stretch(&part, phases->phase[i].first, phases->phase[i].last,
                             by_label ? (size_t)phases->phase[i].label : i, err);
    if (by_label)
        part.group_count = (size_t)phases->label_count;
    if (result == 0)
        *ret = part;
    else
        rps_code_part_free(&part);
    return result;
}

int rps_code_part_keep(struct rps_code_part *part, const struct rps_code_part *other,
                       struct rps_error *err)
{
    struct rps_code_part both = {0};
    int result = 0;

    for (size_t i = 0, j = 0; i < part->count && j < other->count && result == 0;) {
        const struct rps_code_stretch *x = &part->stretch[i], *y = &other->stretch[j];
        uint64_t first = x->first > y->first ? x->first : y->first;
        uint64_t last = x->last < y->last ? x->last : y->last;

        if (first <= last)
            result = add_stretch(&both, first, last, x->group, err);
        if (x->last <= y->last)
            i++;
        else
            j++;
    }
    both.group_count = part->group_count;
    rps_code_part_free(part);
    *part = both;
    return result;
}

/* --- phases ----------------------------------------------------------------------------------- */

/* Phases that are meant: of a label, any time it comes or the number's (from 1); or by numbers. */
struct meant {
    int label; /* -1: by numbers */
    uint64_t first, last;
};

static int parse_phase(const char *text, struct meant *ret, struct rps_error *err)
{
    const char *behind = text + strcspn(text, ".-");
    char name[RPS_PHASE_LABEL_SIZE];
    size_t length = (size_t)(behind - text);

    *ret = (struct meant){.last = UINT64_MAX};
    snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : 0), text);
    ret->label = rps_phase_label_parse(name);
    if (ret->label >= 0) {
        if (!*behind)
            return 0;
        if (*behind == '.' &&
            rps_parse_uint64("phase", behind + 1, 1, INT64_MAX, &ret->first, NULL) == 0) {
            ret->last = ret->first;
            return 0;
        }
    } else if (rps_parse_uint64("phase", name, 0, INT64_MAX, &ret->first, NULL) == 0) {
        ret->last = ret->first;
        if (!*behind || (*behind == '-' && rps_parse_uint64("phase", behind + 1, ret->first,
                                                            INT64_MAX, &ret->last, NULL) == 0))
            return 0;
    }
    return rps_error_set(err, RPS_USAGE,
                         "'%s' is no phase; write B, or B.2 for the second time that B comes, or "
                         "2-4 for those of these numbers, from 0",
                         text);
}

int rps_code_phase_check(const char *text, struct rps_error *err)
{
    struct meant meant;

    return parse_phase(text, &meant, err);
}

static int choose_phases(const struct rps_phases *phases, int64_t run_id, const char *text,
                         struct rps_code_part *ret, struct rps_error *err)
{
    char last[RPS_PHASE_LABEL_SIZE];
    struct meant meant;
    uint64_t times = 0;
    int result = parse_phase(text, &meant, err);

    for (size_t i = 0; i < phases->count && result == 0; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        uint64_t number = meant.label < 0 ? i : phase->label == meant.label ? ++times : UINT64_MAX;

        if (number != UINT64_MAX && number >= meant.first && number <= meant.last)
            result = add_stretch(ret, phase->first, phase->last, 0, err);
    }
    if (result < 0 || ret->count > 0)
        return result;
    return rps_error_set(
        err, RPS_FAILED,
        "run %" PRId64 " has no phase '%s'; it has %zu, A to %s, and `rpistat "
        "phases` lists them",
        run_id, text, phases->count,
        rps_phase_label(phases->label_count > 0 ? phases->label_count - 1 : 0, last));
}

static int keep_phases(struct rps_reader *reader, int64_t run_id,
                       const struct rps_code_choice *choice, struct rps_code_part *part,
                       struct rps_error *err)
{
    struct rps_phase_levels levels = {0};
    struct rps_code_part chosen = {0};
    int result = choice->phases ? 1 : rps_run_phases_get(reader, run_id, &levels, NULL, err);

    if (result == 0)
        result = rps_error_set(err, RPS_FAILED,
                               "the phases of run %" PRId64 " are not known: find them with "
                               "`rpistat phases -r %" PRId64 "` first",
                               run_id, run_id);
    if (result > 0)
        result = choose_phases(choice->phases ? choice->phases : rps_phase_levels_shown(&levels),
                               run_id, choice->phase, &chosen, err);
    if (result == 0)
        result = rps_code_part_keep(part, &chosen, err);
    rps_code_part_free(&chosen);
    rps_phase_levels_free(&levels);
    return result;
}

/* --- regions ---------------------------------------------------------------------------------- */

static int add_period(struct rps_code_part *part, const struct rps_period *period,
                      struct rps_error *err)
{
    struct rps_code_stretch *before = part->count > 0 ? &part->stretch[part->count - 1] : NULL;

    if (before && before->last + 1 == period->period) {
        before->last = rps_period_last(period);
        return 0;
    }
    return add_stretch(part, period->period, rps_period_last(period), 0, err);
}

static int by_first(const void *a, const void *b)
{
    const struct rps_code_stretch *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Periods come CPU by CPU: in order, and what overlaps as one. */
static void put_in_order(struct rps_code_part *part)
{
    size_t kept = 0;

    if (part->count > 0)
        qsort(part->stretch, part->count, sizeof(*part->stretch), by_first);
    for (size_t i = 0; i < part->count; i++) {
        struct rps_code_stretch next = part->stretch[i];

        if (kept > 0 && next.first <= part->stretch[kept - 1].last) {
            if (next.last > part->stretch[kept - 1].last)
                part->stretch[kept - 1].last = next.last;
        } else {
            part->stretch[kept++] = next;
        }
    }
    part->count = kept;
}

static int keep_region(struct rps_reader *reader, int64_t run_id,
                       const struct rps_code_choice *choice, struct rps_code_part *part,
                       struct rps_error *err)
{
    static const struct rps_cpus all = {0};
    struct rps_run_regions regions = {0};
    struct rps_cpu_series series = {0};
    struct rps_walk walk = {.series = &series, .way = RPS_CPUS_EACH};
    struct rps_code_part chosen = {0};
    struct rps_notes marks = {0};
    int result =
        rps_cpu_series_open(&series, reader, run_id, choice->from_ns, choice->to_ns, &all, err);

    if (result == 0)
        result = rps_reader_marks(reader, run_id, &marks, err);
    if (result == 0)
        result = rps_run_regions_find(&marks, choice->from_ns, choice->to_ns, &regions, err);
    if (result == 0)
        result = rps_run_regions_choose(&regions, run_id, choice->region, err);
    if (result == 0)
        result = rps_run_region_keep(&series, &regions.region[0], err);
    while (rps_walk_next(&walk, &result, err))
        result = add_period(&chosen, walk.period, err);
    put_in_order(&chosen);
    if (result == 0)
        result = rps_code_part_keep(part, &chosen, err);
    rps_code_part_free(&chosen);
    rps_notes_free(&marks);
    rps_run_regions_free(&regions);
    rps_cpu_series_free(&series);
    return result;
}

int rps_code_part_choose(struct rps_reader *reader, int64_t run_id,
                         const struct rps_code_choice *choice, struct rps_code_part *ret,
                         struct rps_error *err)
{
    struct rps_code_part part = {0};
    uint64_t first = 0, last = INT64_MAX;
    int result = 1;

    if (choice->from_ns > 0 || choice->to_ns < INT64_MAX)
        result =
            rps_reader_periods(reader, run_id, choice->from_ns, choice->to_ns, &first, &last, err);
    if (result > 0)
        result = add_stretch(&part, first, last, 0, err);
    if (result == 0 && choice->phase)
        result = keep_phases(reader, run_id, choice, &part, err);
    if (result == 0 && choice->region)
        result = keep_region(reader, run_id, choice, &part, err);
    part.group_count = 1;
    if (result == 0)
        *ret = part;
    else
        rps_code_part_free(&part);
    return result;
}

/* --- counts ----------------------------------------------------------------------------------- */

struct walk {
    const struct rps_code_part *part;
    size_t at; /* the stretch that the last count lay in */
    rps_run_code_each *each;
    void *context;
};

/* The stretch that the period lies in, or NULL. */
static const struct rps_code_stretch *find_stretch(struct walk *walk, uint64_t period)
{
    const struct rps_code_stretch *stretch = walk->part->stretch;
    size_t low = 0, high = walk->part->count;

    if (period >= stretch[walk->at].first && period <= stretch[walk->at].last)
        return &stretch[walk->at];
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (period > stretch[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == walk->part->count || period < stretch[low].first)
        return NULL;
    walk->at = low;
    return &stretch[low];
}

static int walk_count(void *context, const struct rps_code_count *count, struct rps_error *err)
{
    struct walk *walk = context;
    const struct rps_code_stretch *stretch = find_stretch(walk, count->period);

    return stretch ? walk->each(walk->context, stretch->group, count->id, count->samples, err) : 0;
}

int rps_run_code_walk(struct rps_reader *reader, int64_t run_id, const struct rps_code_part *part,
                      const struct rps_cpus *cpus, int tasks, rps_run_code_each *each,
                      void *context, struct rps_error *err)
{
    struct walk walk = {.part = part, .each = each, .context = context};
    struct rps_code_count_query query = {
        .tasks = tasks, .cpu = RPS_CPU_ALL, .count = walk_count, .context = &walk};
    int result = 0;

    if (part->count == 0)
        return 0;
    query.first = part->stretch[0].first;
    query.last = part->stretch[part->count - 1].last;
    if (cpus->count == 0)
        result = rps_reader_code_counts(reader, run_id, &query, err);
    for (int i = 0; i < cpus->count && result == 0; i++) {
        query.cpu = cpus->cpu[i];
        result = rps_reader_code_counts(reader, run_id, &query, err);
    }
    return result < 0 ? result : 0;
}

struct counting {
    uint64_t *samples;
    size_t count;
};

static int add_count(void *context, size_t group, int64_t id, uint64_t samples,
                     struct rps_error *err)
{
    struct counting *counting = context;

    (void)group;
    (void)err;
    if ((uint64_t)id < counting->count)
        counting->samples[id] += samples;
    return 0;
}

int rps_run_code_counts(struct rps_reader *reader, int64_t run_id, const struct rps_code_part *part,
                        const struct rps_cpus *cpus, const struct rps_code *code, int tasks,
                        uint64_t **ret, struct rps_error *err)
{
    struct counting counting = {.count = tasks ? code->task_count : code->stack_count};
    int result;

    counting.samples = calloc(counting.count + 1, sizeof(*counting.samples));
    if (!counting.samples)
        return rps_error_memory(err);
    result = rps_run_code_walk(reader, run_id, part, cpus, tasks, add_count, &counting, err);
    if (result == 0)
        *ret = counting.samples;
    else
        free(counting.samples);
    return result;
}

int rps_run_code_none(int64_t run_id, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "run %" PRId64 " has no samples of its code; `rpistat record` takes them, "
                         "while it is on a CPU, unless it is told --no-samples",
                         run_id);
}

/* --- the functions of groups ------------------------------------------------------------------ */

/* Counts of keys: the functions of stacks, or the programs of tasks. */
struct tops {
    const struct rps_code *code;
    const int64_t *key; /* of each stack, or task; -1: none */
    size_t ids, key_count, group_count;
    uint64_t *seen; /* owned; seen[group * key_count + key] */
    uint64_t *of;   /* owned; of each group all samples */
    uint64_t *id;   /* owned; of each stack, or task, in all groups */
};

static void tops_free(struct tops *tops)
{
    free(tops->seen);
    free(tops->of);
    free(tops->id);
}

static int add_top(void *context, size_t group, int64_t id, uint64_t samples, struct rps_error *err)
{
    struct tops *tops = context;

    (void)err;
    if ((uint64_t)id >= tops->ids)
        return 0;
    tops->of[group] += samples;
    tops->id[id] += samples;
    if (tops->key[id] >= 0)
        tops->seen[group * tops->key_count + (size_t)tops->key[id]] += samples;
    return 0;
}

static int count_tops(struct tops *tops, struct rps_reader *reader, int64_t run_id,
                      const struct rps_code_part *part, const struct rps_cpus *cpus, int tasks,
                      struct rps_error *err)
{
    tops->ids = tasks ? tops->code->task_count : tops->code->stack_count;
    tops->seen = calloc(part->group_count + 1, (tops->key_count + 1) * sizeof(*tops->seen));
    tops->of = calloc(part->group_count + 1, sizeof(*tops->of));
    tops->id = calloc(tops->ids + 1, sizeof(*tops->id));
    if (!tops->seen || !tops->of || !tops->id)
        return rps_error_memory(err);
    return rps_run_code_walk(reader, run_id, part, cpus, tasks, add_top, tops, err);
}

/* Put the function into its place among the group's, if it has one; most[] has what these have. */
static void place_top(struct rps_code_group *group, uint64_t most[RPS_CODE_TOP],
                      const struct rps_function_name *name, uint64_t samples)
{
    int at = group->count;
    size_t behind;

    while (at > 0 && most[at - 1] < samples)
        at--;
    if (at == RPS_CODE_TOP || samples == 0)
        return;
    if (group->count < RPS_CODE_TOP)
        group->count++;
    behind = (size_t)(group->count - 1 - at);
    memmove(&group->top[at + 1], &group->top[at], behind * sizeof(group->top[0]));
    memmove(&most[at + 1], &most[at], behind * sizeof(most[0]));
    group->top[at] = (struct rps_code_top){*name, rps_shares_part(samples, group->samples)};
    most[at] = samples;
}

void rps_code_place_line(struct rps_function_name *name, const struct rps_shares *shares)
{
    for (size_t i = 0; i < shares->count; i++) {
        const struct rps_share *share = &shares->share[i];

        if (strcmp(share->name, name->function) == 0 && strcmp(share->module, name->module) == 0) {
            name->file = share->file;
            name->line = share->line;
            return;
        }
    }
}

static void place_lines(struct rps_code_groups *groups, const struct rps_shares *shares)
{
    for (size_t g = 0; g < groups->count; g++) {
        for (int t = 0; t < groups->group[g].count; t++)
            rps_code_place_line(&groups->group[g].top[t].name, shares);
    }
}

static void fill_group(struct rps_code_group *group, const struct rps_function_name *name,
                       const uint64_t *seen, size_t count)
{
    uint64_t most[RPS_CODE_TOP];

    group->count = 0;
    for (size_t k = 0; k < count; k++)
        place_top(group, most, &name[k], seen[k]);
}

/* *ret_programs: some are to have programs. */
static int make_groups(const struct tops *tops, struct rps_code_groups *groups, int *ret_programs,
                       struct rps_error *err)
{
    int several = rps_shares_has_processes(tops->code);
    struct rps_shares shares = {0};

    for (size_t g = 0; g < groups->count; g++) {
        const uint64_t *seen = &tops->seen[g * tops->key_count];

        groups->group[g].samples = tops->of[g];
        groups->group[g].by_program =
            several && rps_shares_mostly_unnamed(groups->name, seen, tops->key_count);
        *ret_programs |= groups->group[g].by_program;
        fill_group(&groups->group[g], groups->name, seen, tops->key_count);
    }
    if (rps_shares_find(tops->code, tops->id, RPS_SHARES_FUNCTION, &shares, err) < 0)
        return RPS_FAILED;
    place_lines(groups, &shares);
    rps_shares_free(&shares);
    return 0;
}

/* Programs for functions, in those groups. */
static int find_programs(struct rps_reader *reader, int64_t run_id,
                         const struct rps_code_part *part, const struct rps_cpus *cpus,
                         const struct rps_code *code, struct rps_code_groups *groups,
                         struct rps_error *err)
{
    struct tops tops = {.code = code};
    int64_t *program = NULL;
    int result = rps_shares_programs(code, &program, &groups->program, &tops.key_count, err);

    tops.key = program;
    if (result == 0)
        result = count_tops(&tops, reader, run_id, part, cpus, 1, err);
    for (size_t g = 0; g < groups->count && result == 0; g++) {
        if (groups->group[g].by_program)
            fill_group(&groups->group[g], groups->program, &tops.seen[g * tops.key_count],
                       tops.key_count);
    }
    tops_free(&tops);
    free(program);
    return result;
}

int rps_code_groups_find(struct rps_reader *reader, int64_t run_id,
                         const struct rps_code_part *part, const struct rps_cpus *cpus,
                         const struct rps_code *code, struct rps_code_groups *ret,
                         struct rps_error *err)
{
    struct tops tops = {.code = code};
    struct rps_code_groups groups = {.count = part->group_count};
    int64_t *function = NULL;
    int programs = 0, result = rps_shares_functions(code, 1, RPS_UNNAMED_MODULE, &function,
                                                    &groups.name, &tops.key_count, err);

    if (result < 0)
        return result;
    tops.key = function;
    groups.group = calloc(groups.count + 1, sizeof(*groups.group));
    result = groups.group ? count_tops(&tops, reader, run_id, part, cpus, 0, err)
                          : rps_error_memory(err);
    if (result == 0)
        result = make_groups(&tops, &groups, &programs, err);
    if (result == 0 && programs)
        result = find_programs(reader, run_id, part, cpus, code, &groups, err);
    if (result == 0)
        *ret = groups;
    else
        rps_code_groups_free(&groups);
    free(function);
    tops_free(&tops);
    return result;
}

void rps_code_groups_free(struct rps_code_groups *groups)
{
    free(groups->group);
    free(groups->name);
    free(groups->program);
    *groups = (struct rps_code_groups){0};
}

char *rps_code_function_text(char *ret, size_t size, const struct rps_function_name *name)
{
    const char *file = rps_text_file_name(name->file);
    size_t length = strlen(name->function);
    char line[128] = "";
    int fits;

    if (name->line > 0)
        snprintf(line, sizeof(line), " (%.*s:%d)", (int)rps_text_cut(file, FILE_MOST), file,
                 name->line);
    fits = length + strlen(line) < size;
    if (!fits)
        length = rps_text_cut(name->function, size - strlen(line) - sizeof("..."));
    snprintf(ret, size, "%.*s%s%s", (int)length, name->function, fits ? "" : "...", line);
    return ret;
}

char *rps_code_group_text(char *ret, size_t size, const struct rps_code_group *group)
{
    char name[256];

    ret[0] = '\0';
    if (group->count == 0 || isnan(group->top[0].share))
        return ret;
    rps_code_function_text(name, sizeof(name), &group->top[0].name);
    if (group->top[0].share < .5)
        snprintf(ret, size, "%.0f %% in %s", 100 * group->top[0].share, name);
    else
        snprintf(ret, size, "in %s", name);
    return ret;
}

/* --- time on and off the CPU ------------------------------------------------------------------ */

/* By the profile's labels: a group is one. */
static int find_time(struct rps_reader *reader, int64_t run_id,
                     const struct rps_code_choice *choice, const struct rps_phases *phases,
                     const struct rps_cpus *cpus, struct rps_code_time *time, struct rps_error *err)
{
    struct rps_cpus sum = {.way = RPS_CPUS_SUM, .cpu = cpus->cpu, .count = cpus->count};
    struct rps_cpu_series series = {0};
    struct rps_profile profile = {0};
    int result =
        rps_cpu_series_open(&series, reader, run_id, choice->from_ns, choice->to_ns, &sum, err);

    if (result == 0)
        result = rps_profile_run(reader, run_id, choice->from_ns, choice->to_ns, &sum, phases,
                                 &profile, err);
    for (int g = 0; g < phases->label_count && result == 0; g++) {
        const struct rps_profile_label *label = &profile.label[g];

        if (label->seconds > 0)
            time[g] = (struct rps_code_time){
                fmax(0, 1 - label->cpu_s / label->seconds / (series.by_cpu ? series.count : 1)),
                label->cpu_s};
    }
    rps_profile_free(&profile);
    rps_cpu_series_free(&series);
    return result;
}

int rps_run_code_time(struct rps_reader *reader, int64_t run_id,
                      const struct rps_code_choice *choice, const struct rps_code_part *part,
                      const struct rps_cpus *cpus, struct rps_code_time **ret,
                      struct rps_error *err)
{
    struct rps_phases phases = {.count = part->count, .label_count = (int)part->group_count};
    struct rps_code_time *time = calloc(part->group_count + 1, sizeof(*time));
    int result = 0;

    phases.phase = calloc(part->count + 1, sizeof(*phases.phase));
    if (!time || !phases.phase)
        result = rps_error_memory(err);
    for (size_t g = 0; g < part->group_count && time; g++)
        time[g] = (struct rps_code_time){NAN, NAN};
    for (size_t i = 0; i < part->count && result == 0; i++)
        phases.phase[i] = (struct rps_phase){.first = part->stretch[i].first,
                                             .last = part->stretch[i].last,
                                             .label = (int)part->stretch[i].group};
    if (result == 0 && part->count > 0)
        result = find_time(reader, run_id, choice, &phases, cpus, time, err);
    if (result == 0)
        *ret = time;
    else
        free(time);
    rps_phases_free(&phases);
    return result;
}

/* --- what samples should be ------------------------------------------------------------------- */

int rps_code_is_sampled(const struct rps_run *run, const struct rps_code *code)
{
    return code->stack_count > 0 || (code->sampling.event[0] && strcmp(run->pmu, "sim") != 0);
}

static int is_part_sampled(const struct rps_sampling *sampling)
{
    return strchr(sampling->event, ':') != NULL;
}

double rps_code_expected(const struct rps_sampling *sampling, double cpu_s)
{
    int is_clock = strncmp(sampling->event, "cpu-clock", strlen("cpu-clock")) == 0 ||
                   strncmp(sampling->event, "task-clock", strlen("task-clock")) == 0 ||
                   strstr(sampling->event, "cycles");

    return is_clock && sampling->frequency > 0 ? (double)sampling->frequency * cpu_s : NAN;
}

int rps_code_is_short(uint64_t samples, double expected)
{
    return expected >= RPS_SHARES_SAMPLES_MIN && (double)samples < SHORT * expected;
}

char *rps_code_short_text(char *ret, size_t size, const struct rps_sampling *sampling,
                          uint64_t samples, double cpu_s)
{
    double expected = rps_code_expected(sampling, cpu_s);
    char time[RPS_TEXT_NUMBER_SIZE];

    ret[0] = '\0';
    if (!rps_code_is_short(samples, expected))
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
