/*
 * The CPUs' series of a run, and their sum.
 *
 * The store gives rows CPU by CPU, since that is the order of its keys. The sum needs them number
 * by number, so it reads each CPU with a cursor of its own. All CPUs of a recording switch sets
 * together: the same number means the same set at the same time. A CPU that went away in the middle
 * is simply missing from later sums.
 *
 * At a coarser resolution CPUs need not have the same blocks: one that was away has its blocks cut.
 * What is added up is then what lies in one cell of the level's grid, between the same gaps of the
 * whole run.
 */
#include "rpistat/cpu_series.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/text.h"

/* Values that a detection holds, some 37 bytes each. */
#define VALUES_MAX UINT64_C(12000000)

/* Blocks a bin of a picture. */
#define BIN_BLOCKS 8

/* --- finding ---------------------------------------------------------------------------------- */

static int is_asked(const struct rps_cpus *cpus, int32_t cpu)
{
    for (int i = 0; i < cpus->count; i++) {
        if (cpus->cpu[i] == cpu)
            return 1;
    }
    return cpus->count == 0;
}

static int add_cpu(struct rps_cpu_series *series, int32_t cpu, struct rps_error *err)
{
    int32_t *grown = realloc(series->cpu, ((size_t)series->count + 1) * sizeof(*grown));

    if (!grown)
        return rps_error_memory(err);
    series->cpu = grown;
    grown[series->count++] = cpu;
    return 0;
}

static int find_cpus(struct rps_cpu_series *series, struct rps_cursor *cursor,
                     const struct rps_cpus *cpus, struct rps_error *err)
{
    struct rps_period period;
    int got;

    while ((got = rps_cursor_next(cursor, &period, err)) > 0) {
        int known = series->count > 0 && series->cpu[series->count - 1] == period.cpu;
        uint64_t last = rps_period_last(&period);
        uint64_t last_rotation = period.rotation + rps_period_weight(&period) - 1;

        series->by_cpu |= period.cpu != RPS_CPU_ALL;
        if (series->by_cpu && !is_asked(cpus, period.cpu))
            continue;
        if (!known && add_cpu(series, period.cpu, err) < 0)
            return RPS_FAILED;
        if (series->periods == 0) {
            series->first = series->last = period.period;
            series->first_rotation = series->last_rotation = period.rotation;
        }
        series->periods += rps_period_weight(&period);
        series->first = period.period < series->first ? period.period : series->first;
        series->last = last > series->last ? last : series->last;
        if (period.rotation < series->first_rotation)
            series->first_rotation = period.rotation;
        if (last_rotation > series->last_rotation)
            series->last_rotation = last_rotation;
        if ((int)period.set_no >= series->set_count)
            series->set_count = (int)period.set_no + 1;
    }
    return got;
}

static int check_asked(const struct rps_cpu_series *series, const struct rps_cpus *cpus,
                       struct rps_error *err)
{
    const struct rps_cpus all = {.count = 0};
    char name[RPS_CPU_SERIES_TEXT_SIZE];
    struct rps_cpu_series whole;
    int result;

    if (cpus->if_there)
        return 0;
    if (cpus->count > 0 && series->count > 0 && !series->by_cpu)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64
                             " counted its workload as a whole, not by CPU: leave out "
                             "--cpu, or record with -a",
                             series->run_id);
    for (int i = 0; series->by_cpu && i < cpus->count; i++) {
        int found = 0;

        for (int k = 0; k < series->count; k++)
            found |= series->cpu[k] == cpus->cpu[i];
        if (found)
            continue;
        result = rps_cpu_series_open(&whole, series->reader, series->run_id, series->from_ns,
                                     series->to_ns, &all, err);
        if (result == 0)
            result = rps_error_set(err, RPS_FAILED,
                                   "run %" PRId64 " has nothing of CPU %d there; it holds %s",
                                   series->run_id, cpus->cpu[i], rps_cpu_series_name(name, &whole));
        rps_cpu_series_free(&whole);
        return result;
    }
    return 0;
}

int rps_cpu_series_none(const struct rps_cpu_series *series, struct rps_error *err)
{
    char length[RPS_TEXT_NUMBER_SIZE];
    struct rps_run run;
    int64_t elapsed_ns;

    if (series->from_ns <= 0 && series->to_ns == INT64_MAX)
        return rps_error_set(err, RPS_FAILED, "run %" PRId64 " holds no measurement periods",
                             series->run_id);
    if (rps_reader_run(series->reader, series->run_id, &run, err) < 0)
        return RPS_FAILED;
    elapsed_ns = run.elapsed_ns > 0 ? run.elapsed_ns : 0;
    rps_run_free(&run);
    return rps_error_set(err, RPS_FAILED,
                         "run %" PRId64 " holds no measurement periods there; it is %s long",
                         series->run_id, rps_text_duration(length, sizeof(length), elapsed_ns));
}

/* All of a run may be empty, and its metadata are worth a report; a part was asked for because
 * something is thought to be in it. */
static int check_part(const struct rps_cpu_series *series, struct rps_error *err)
{
    int is_part = series->from_ns > 0 || series->to_ns < INT64_MAX;

    return is_part && series->count == 0 ? rps_cpu_series_none(series, err) : 0;
}

int rps_cpu_series_open(struct rps_cpu_series *series, struct rps_reader *reader, int64_t run_id,
                        int64_t from_ns, int64_t to_ns, const struct rps_cpus *cpus,
                        struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    int result;

    *series = (struct rps_cpu_series){
        .reader = reader, .run_id = run_id, .from_ns = from_ns, .to_ns = to_ns};
    result = rps_cursor_open(&cursor, reader, run_id, from_ns, to_ns, RPS_LEVELS, err);
    if (result == 0)
        result = find_cpus(series, cursor, cpus, err);
    if (result == 0)
        series->widened =
            rps_cursor_widened(cursor, &series->widened_from_ns, &series->widened_to_ns);
    rps_cursor_close(cursor);
    if (result == 0)
        result = check_asked(series, cpus, err);
    return result == 0 ? check_part(series, err) : result;
}

void rps_cpu_series_free(struct rps_cpu_series *series)
{
    free(series->cpu);
    memset(series, 0, sizeof(*series));
}

/* --- the resolution --------------------------------------------------------------------------- */

void rps_cpu_series_choose_bins(struct rps_cpu_series *series, size_t bins)
{
    uint64_t cpus = series->count > 0 ? (uint64_t)series->count : 1;
    uint64_t sets = series->set_count > 0 ? (uint64_t)series->set_count : 1;
    uint64_t blocks = series->periods / cpus / sets;

    series->resolution = 0;
    if (series->periods <= RPS_CPU_SERIES_FINE_PERIODS || series->within)
        return;
    while (series->resolution < RPS_LEVELS &&
           blocks >> (RPS_LEVEL_BITS * (series->resolution + 1)) >= BIN_BLOCKS * (uint64_t)bins)
        series->resolution++;
}

void rps_cpu_series_choose_signals(struct rps_cpu_series *series, int signals)
{
    uint64_t rows_max = VALUES_MAX / (uint64_t)signals;

    if (rows_max > RPS_CPU_SERIES_FINE_PERIODS)
        rows_max = RPS_CPU_SERIES_FINE_PERIODS;
    series->resolution = 0;
    while (series->resolution < RPS_LEVELS && !series->within &&
           series->periods >> (RPS_LEVEL_BITS * series->resolution) > rows_max)
        series->resolution++;
}

int rps_cpu_series_choose_thinned(struct rps_cpu_series *series, struct rps_error *err)
{
    int result = 0;

    for (int i = 0; i < series->count && result == 0; i++) {
        int level = 0;

        result = rps_reader_thinned_to(series->reader, series->run_id, series->cpu[i],
                                       series->first, &level, err);
        series->resolution = level > series->resolution ? level : series->resolution;
    }
    return result;
}

/* --- walking ---------------------------------------------------------------------------------- */

/* Is the CPU one of the series? */
static int is_chosen(const struct rps_cpu_series *series, int32_t cpu)
{
    int low = 0, high = series->count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (series->cpu[middle] < cpu)
            low = middle + 1;
        else
            high = middle;
    }
    return low < series->count && series->cpu[low] == cpu;
}

int rps_spans_hold(const struct rps_spans *spans, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = spans->count;

    /* the last one that does not begin behind start_ns */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (spans->span[middle].start_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && end_ns <= spans->span[low - 1].end_ns;
}

static int is_within(const struct rps_cpu_series *series, const struct rps_period *row)
{
    return !series->within || rps_spans_hold(series->within, row->start_ns, rps_period_end_ns(row));
}

static int open_cursor(const struct rps_cpu_series *series, struct rps_cursor **ret,
                       struct rps_error *err)
{
    return rps_cursor_open(ret, series->reader, series->run_id, series->from_ns, series->to_ns,
                           series->resolution, err);
}

int rps_cpu_series_walk(const struct rps_cpu_series *series, rps_cpu_series_each *each,
                        void *context, struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    int got, answer = 0;

    if (open_cursor(series, &cursor, err) < 0)
        return RPS_FAILED;
    while (answer == 0 && (got = rps_cursor_next(cursor, &period, err)) != 0) {
        if (got < 0)
            answer = got;
        else if (is_chosen(series, period.cpu) && is_within(series, &period))
            answer = each(context, &period, err);
    }
    rps_cursor_close(cursor);
    return answer < 0 ? answer : 0;
}

/* --- the sum of several ----------------------------------------------------------------------- */

/* A CPU's rows. */
struct source {
    struct rps_cursor *cursor; /* NULL: there are no more */
    struct rps_period next;
    size_t gap;   /* of the run's, the first that does not lie before the row */
    uint64_t key; /* rows of one key are added up, by event set */
};

struct sum {
    const struct rps_cpu_series *series;
    struct rps_notes gaps;     /* owned */
    struct source *source;     /* owned; of each CPU */
    struct rps_period *whole;  /* owned; by event set; `cpu` is RPS_CPU_ALL where there is one */
    struct rps_period *of_cpu; /* owned; by event set, of the CPU that is being added */
    size_t sets;
    uint64_t cycle; /* the last cycle timestamp that was handed out */
};

/* The row's number, or the cell that it lies in, told from the cells beyond a gap. */
static uint64_t key_of(struct sum *sum, struct source *source)
{
    const struct rps_period *row = &source->next;

    if (sum->series->resolution == 0)
        return row->period;
    while (source->gap < sum->gaps.count && sum->gaps.note[source->gap].start_ns < row->start_ns)
        source->gap++;
    return (row->rotation >> (RPS_LEVEL_BITS * sum->series->resolution)) + source->gap;
}

static int advance(struct sum *sum, struct source *source, struct rps_error *err)
{
    int got = rps_cursor_next(source->cursor, &source->next, err);

    if (got > 0) {
        source->key = key_of(sum, source);
        return 0;
    }
    rps_cursor_close(source->cursor);
    source->cursor = NULL;
    return got;
}

/* Add the counts and the time that they were counted in. What a slot lacks of that time, because it
 * could not be read, is out of both. */
static void add_counts(struct rps_period *to, const struct rps_period *row)
{
    uint32_t counted = to->counted | row->counted;

    for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
        if (counted & (UINT32_C(1) << slot))
            to->missing_ns[slot] = to->running_ns - rps_period_counted_ns(to, slot) +
                                   row->running_ns - rps_period_counted_ns(row, slot);
        to->count[slot] += row->count[slot];
    }
    to->counted = counted;
    to->running_ns += row->running_ns;
}

/* Add a row to what lies in the same cell before it, of one CPU. A row is coarser than asked for
 * where finer ones were thinned away. */
static void append(struct rps_period *to, const struct rps_period *row, int resolution)
{
    if (to->cpu != RPS_CPU_ALL) {
        *to = *row;
        to->cpu = RPS_CPU_ALL;
        to->merged = rps_period_weight(row);
        to->last_period = rps_period_last(row);
        to->end_ns = rps_period_end_ns(row);
        to->level = row->level > resolution ? row->level : resolution;
        return;
    }
    to->level = row->level > to->level ? row->level : to->level;
    to->merged += rps_period_weight(row);
    to->last_period = rps_period_last(row);
    to->end_ns = rps_period_end_ns(row);
    to->cycle = row->cycle;
    to->cycles += row->cycles;
    to->length_ns += row->length_ns;
    to->enabled_ns += row->enabled_ns;
    to->clock_running_ns += row->clock_running_ns;
    to->idle_ns = rps_period_add_known(to->idle_ns, row->idle_ns);
    to->switch_ns += row->switch_ns;
    to->missed += row->missed;
    add_counts(to, row);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Add what one CPU has in the cell to the sum over CPUs. */
static void add(struct rps_period *sum, const struct rps_period *row)
{
    int64_t end_ns = larger(rps_period_end_ns(sum), rps_period_end_ns(row));

    if (sum->cpu != RPS_CPU_ALL) {
        *sum = *row;
        return;
    }
    if (row->set_no != sum->set_no)
        return; /* no recorder writes that, and its counts would be another's */
    if (row->start_ns < sum->start_ns)
        sum->start_ns = row->start_ns;
    sum->level = row->level > sum->level ? row->level : sum->level;
    sum->length_ns =
        sum->level > 0 ? larger(sum->length_ns, row->length_ns) : end_ns - sum->start_ns;
    sum->end_ns = end_ns;
    sum->last_period = row->last_period > sum->last_period ? row->last_period : sum->last_period;
    sum->merged = row->merged > sum->merged ? row->merged : sum->merged;
    sum->cycle += row->cycle;
    sum->cycles += row->cycles;
    sum->enabled_ns += row->enabled_ns;
    sum->clock_running_ns += row->clock_running_ns;
    sum->idle_ns = rps_period_add_known(sum->idle_ns, row->idle_ns);
    sum->switch_ns = larger(sum->switch_ns, row->switch_ns);
    sum->missed = row->missed > sum->missed ? row->missed : sum->missed;
    add_counts(sum, row);
}

/* Where a row is added up: by event set; at resolution 0, where all rows of a key are of one, there
 * is one place. */
static size_t place_of(const struct sum *sum, const struct rps_period *row)
{
    return row->set_no < sum->sets ? row->set_no : 0;
}

static void clear(struct rps_period *row, size_t count)
{
    for (size_t n = 0; n < count; n++)
        row[n] = (struct rps_period){.cpu = 0};
}

/* Add up all rows of the key, and leave the sources behind them. */
static int add_key(struct sum *sum, uint64_t key, struct rps_error *err)
{
    clear(sum->whole, sum->sets);
    for (int i = 0; i < sum->series->count; i++) {
        struct source *source = &sum->source[i];

        clear(sum->of_cpu, sum->sets);
        while (source->cursor && source->key == key) {
            append(&sum->of_cpu[place_of(sum, &source->next)], &source->next,
                   sum->series->resolution);
            if (advance(sum, source, err) < 0)
                return RPS_FAILED;
        }
        for (size_t n = 0; n < sum->sets; n++) {
            if (sum->of_cpu[n].cpu == RPS_CPU_ALL)
                add(&sum->whole[n], &sum->of_cpu[n]);
        }
    }
    return 0;
}

static int hand_out(struct sum *sum, rps_cpu_series_each *each, void *context,
                    struct rps_error *err)
{
    int answer = 0;

    for (size_t n = 0; n < sum->sets && answer == 0; n++) {
        struct rps_period *row = &sum->whole[n];

        if (row->cpu != RPS_CPU_ALL || !is_within(sum->series, row))
            continue;
        /* a CPU that went away takes its timestamp with it; time does not run backwards */
        if (row->level == 0 && row->cycle < sum->cycle + row->cycles)
            row->cycle = sum->cycle + row->cycles;
        if (row->cycle < sum->cycle)
            row->cycle = sum->cycle;
        sum->cycle = row->cycle;
        answer = each(context, row, err);
    }
    return answer;
}

static int next_key(const struct sum *sum, uint64_t *ret)
{
    int found = 0;

    for (int i = 0; i < sum->series->count; i++) {
        const struct source *source = &sum->source[i];

        if (source->cursor && (!found || source->key < *ret)) {
            *ret = source->key;
            found = 1;
        }
    }
    return found;
}

/* Keep the gaps of the whole run; those of single CPUs cut only their blocks. */
static int read_gaps(struct sum *sum, struct rps_error *err)
{
    const struct rps_cpu_series *series = sum->series;
    size_t kept = 0;

    if (rps_reader_gaps(series->reader, series->run_id, &sum->gaps, err) < 0)
        return RPS_FAILED;
    for (size_t i = 0; i < sum->gaps.count; i++) {
        struct rps_note note = sum->gaps.note[i];

        if (note.cpu == RPS_CPU_ALL) {
            sum->gaps.note[i] = sum->gaps.note[kept];
            sum->gaps.note[kept++] = note;
        }
    }
    for (size_t i = kept; i < sum->gaps.count; i++)
        free(sum->gaps.note[i].text);
    sum->gaps.count = kept;
    return 0;
}

static int open_sources(struct sum *sum, struct rps_error *err)
{
    const struct rps_cpu_series *series = sum->series;

    sum->sets = series->resolution > 0 ? (size_t)series->set_count : 1;
    sum->source = calloc((size_t)series->count, sizeof(*sum->source));
    sum->whole = calloc(sum->sets, sizeof(*sum->whole));
    sum->of_cpu = calloc(sum->sets, sizeof(*sum->of_cpu));
    if (!sum->source || !sum->whole || !sum->of_cpu)
        return rps_error_memory(err);
    if (series->resolution > 0 && read_gaps(sum, err) < 0)
        return RPS_FAILED;
    for (int i = 0; i < series->count; i++) {
        if (open_cursor(series, &sum->source[i].cursor, err) < 0)
            return RPS_FAILED;
        rps_cursor_choose_cpu(sum->source[i].cursor, series->cpu[i]);
    }
    for (int i = 0; i < series->count; i++) {
        if (advance(sum, &sum->source[i], err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

int rps_cpu_series_walk_sum(const struct rps_cpu_series *series, rps_cpu_series_each *each,
                            void *context, struct rps_error *err)
{
    struct sum sum = {.series = series};
    uint64_t key = 0;
    int answer;

    if (!series->by_cpu)
        return rps_cpu_series_walk(series, each, context, err);
    if (series->count == 0)
        return 0;
    answer = open_sources(&sum, err);
    while (answer == 0 && next_key(&sum, &key)) {
        answer = add_key(&sum, key, err);
        if (answer == 0)
            answer = hand_out(&sum, each, context, err);
    }
    for (int i = 0; sum.source && i < series->count; i++)
        rps_cursor_close(sum.source[i].cursor);
    free(sum.source);
    free(sum.whole);
    free(sum.of_cpu);
    rps_notes_free(&sum.gaps);
    return answer < 0 ? answer : 0;
}

/* --- names ------------------------------------------------------------------------------------ */

char *rps_cpu_series_level_text(char *ret, const struct rps_cpu_series *series)
{
    ret[0] = '\0';
    if (series->resolution > 0)
        snprintf(ret, RPS_CPU_SERIES_TEXT_SIZE, "in blocks of %d rotations",
                 1 << (RPS_LEVEL_BITS * series->resolution));
    return ret;
}

char *rps_cpu_series_name(char *ret, const struct rps_cpu_series *series)
{
    size_t used = 0;

    ret[0] = '\0';
    if (!series->by_cpu || series->count == 0)
        return ret;
    used = (size_t)snprintf(ret, RPS_CPU_SERIES_TEXT_SIZE, "CPU%s ", series->count > 1 ? "s" : "");
    for (int i = 0; i < series->count;) {
        int last = i;

        while (last + 1 < series->count && series->cpu[last + 1] == series->cpu[last] + 1)
            last++;
        if (used + 32 > RPS_CPU_SERIES_TEXT_SIZE) {
            snprintf(ret + used, RPS_CPU_SERIES_TEXT_SIZE - used, ",...");
            break;
        }
        used += (size_t)snprintf(ret + used, RPS_CPU_SERIES_TEXT_SIZE - used,
                                 last > i ? "%s%d-%d" : "%s%d", i > 0 ? "," : "",
                                 (int)series->cpu[i], (int)series->cpu[last]);
        i = last + 1;
    }
    return ret;
}
