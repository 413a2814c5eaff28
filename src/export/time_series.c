/* A run as labelled time series: running totals of each CPU, and the times of their samples.
 *
 * The time of a sample is the end of a row. A period is complete when it is added. The rows of a
 * block overlap in time, and all event sets contribute to the totals of a CPU. Totals are therefore
 * valid only when the block is complete: when the first row of the next rotations is added, or at
 * the end. If nothing was added to a series since the series' last sample, the series gets no new
 * sample. A gauge of an import has no total: its sample is the mean since the previous sample.
 *
 * Sums are integers. As doubles, sums above 2^53 lose units (9.0e15 events, or 104 days in ns).
 * This is an error of one part in 10^15. */
#include "rpistat/time_series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gauges.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/system_rows.h"
#include "rpistat/text.h"

#define MIN_EVERY_NS    (10 * RPS_NS_PER_MS)
#define LABEL_VALUE_MAX 1024 /* maximum size of a value; databases cut longer ones */
#define LABEL_NAME_SIZE 128
#define TAGS_MAX        100 /* maximum number of tags; databases refuse more labels */
#define SERIES_LABELS   5
#define START_MAX_NS    (INT64_MAX / 2) /* latest start, in 2116; row times have this limit, too */
#define NOTHING_SENT_MS INT64_MIN

struct total {
    struct rps_time_series series;
    struct rps_time_label label[SERIES_LABELS];
    uint64_t sum;
    int is_time; /* 1: the total is in ns, and samples have it in s */
    int begun;   /* 1: the series has a number, and a zero at its start */
    int fed;     /* 1: a value was added since the last sample */
};

/* State of one CPU. total[2 * e] is the count of event e, and total[2 * e + 1] is its running time.
 * Event 0 is the clock event. For a gauge, the pair has the gauge's sum and the gauge's time since
 * the last sample. The last two totals are enabled time and used time. */
struct track {
    struct track *next;
    int32_t cpu;
    char cpu_text[16];
    int64_t end_ns;    /* end of the rows added so far */
    int64_t due_ns;    /* a sample is due when a row is added that ends at this time or later */
    int64_t last_ms;   /* time of the most recent samples, or of the zeros at the start */
    uint64_t rotation; /* rotation of the last row added */
    int is_due;
    int is_quiet;     /* 1: pass on no sample: all rows since it was due were added with is_quiet */
    int idle_unknown; /* 1: some row had no idle time, so the total is unknown from then on */
    struct total total[];
};

struct phase_series {
    struct phase_series *next;
    int number; /* number in the phase's label */
    struct rps_time_series series;
    struct rps_time_label label[SERIES_LABELS];
    char text[RPS_PHASE_LABEL_SIZE];
    int64_t last_ms;
};

struct rps_time_totals {
    struct rps_arena *arena; /* arena that holds all pointed-to data, including the labels' texts */
    const struct rps_run *run;
    const struct rps_plan *plan;
    struct rps_time_sink sink;
    int64_t every_ns;
    size_t series_count; /* number of series that have numbers */
    const char *instance, *uuid;
    size_t event_count;
    const char **event; /* label of each event */
    size_t old_clock;   /* the clock event again, by its old name; 0: the event has no old name */
    int *event_of;      /* event of slot s of set n, at n * RPS_SLOT_MAX + s; -1: no series */
    int *gauge;         /* for each event: slot of its gauge, as in event_of; -1: not a gauge */
    struct rps_gauges gauges;
    struct track *track, *last_track, *current; /* list of CPUs in the order of their first rows */
    struct phase_series *phase;
    struct rps_time_series info;
    struct rps_time_label *info_label;
    int64_t info_ms;
};

/* --- labels ----------------------------------------------------------------------------------- */

/* Return a sanitized copy of the text. The copy exists as long as the totals. */
static const char *keep_text(struct rps_time_totals *totals, const char *text)
{
    int length = (int)rps_text_cut(text, LABEL_VALUE_MAX);
    const char *cut = rps_arena_print(totals->arena, "%.*s", length, text);

    return rps_text_harmless(rps_arena_get(totals->arena, strlen(cut) + 1, 3), cut);
}

char *rps_time_series_text(const struct rps_time_series *series)
{
    char *ret = NULL;
    size_t size;
    FILE *out = open_memstream(&ret, &size);

    if (!out)
        return NULL;
    fprintf(out, "%s{", series->metric);
    for (size_t i = 0; i < series->label_count; i++) {
        fprintf(out, "%s%s=\"", i > 0 ? "," : "", series->label[i].name);
        for (const char *c = series->label[i].value; *c; c++) {
            if (*c == '"' || *c == '\\' || *c == '\n')
                fputc('\\', out);
            fputc(*c == '\n' ? 'n' : *c, out);
        }
        fputc('"', out);
    }
    fputc('}', out);
    return rps_text_close(out, &ret);
}

/* Begin a series with its type's labels; if `value` is NULL, without the label for the value. */
static void put_labels(struct rps_time_series *series, struct rps_time_label *label,
                       const struct rps_time_label *some, size_t some_count)
{
    series->label = label;
    series->label_count = 0;
    for (size_t i = 0; i < some_count; i++) {
        if (some[i].value)
            label[series->label_count++] = some[i];
    }
}

static int compare_labels(const void *a, const void *b)
{
    const struct rps_time_label *left = a, *right = b;

    return strcmp(left->name, right->name);
}

/* Add a label to rpistat_run_info, unless its value is unknown. */
static void add_info(struct rps_time_totals *totals, const char *name, const char *value)
{
    if (value[0])
        totals->info_label[totals->info.label_count++] =
            (struct rps_time_label){name, keep_text(totals, value)};
}

static int has_info(const struct rps_time_totals *totals, const char *name)
{
    for (size_t i = 0; i < totals->info.label_count; i++) {
        if (strcmp(totals->info_label[i].name, name) == 0)
            return 1;
    }
    return 0;
}

/* Add the label tag_KEY. If several keys give the same name, a number is added to the name. */
static void add_tag(struct rps_time_totals *totals, const struct rps_tag *tag)
{
    char base[LABEL_NAME_SIZE], name[LABEL_NAME_SIZE + 16];

    snprintf(base, sizeof(base), "tag_%s", tag->key);
    for (char *c = base; *c; c++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *c))
            *c = '_';
    }
    strcpy(name, base);
    for (int number = 2; has_info(totals, name); number++)
        snprintf(name, sizeof(name), "%s_%d", base, number);
    add_info(totals, keep_text(totals, name), tag->value);
}

static void make_info(struct rps_time_totals *totals)
{
    const struct rps_run *run = totals->run;
    char command[RPS_RUN_TEXT_SIZE], cpus[16], period[32];
    int tags = run->tag_count < TAGS_MAX ? run->tag_count : TAGS_MAX;

    snprintf(cpus, sizeof(cpus), "%d", run->cpu_count);
    snprintf(period, sizeof(period), "%" PRId64, run->period_ns);
    const struct rps_time_label fact[] = {
        {"architecture", run->architecture},
        {"clock", totals->event[0]},
        {"command", rps_run_title(command, sizeof(command), run)},
        {"cpu_model", run->cpu_model},
        {"cpus", run->cpu_count > 0 ? cpus : ""},
        {"instance", totals->instance},
        {"job", RPS_TIME_JOB},
        {"kernel", run->kernel},
        {"label", run->label},
        {"period_ns", run->period_ns > 0 ? period : ""},
        {"plan", totals->plan->name},
        {"pmu", run->pmu},
        {"run", totals->uuid},
        {"target", run->target},
        {"version", run->version},
    };
    const size_t facts = RPS_COUNT(fact);

    totals->info_label =
        rps_arena_get(totals->arena, facts + (size_t)tags, sizeof(*totals->info_label));
    for (size_t i = 0; i < facts; i++)
        add_info(totals, fact[i].name, fact[i].value);
    for (int i = 0; i < tags; i++)
        add_tag(totals, &run->tag[i]);
    qsort(totals->info_label, totals->info.label_count, sizeof(*totals->info_label),
          compare_labels);
    totals->info.metric = "rpistat_run_info";
    totals->info.label = totals->info_label;
    totals->info_ms = NOTHING_SENT_MS;
}

/* --- events ----------------------------------------------------------------------------------- */

/* Return the number of the event with that label. An event in two sets has one number. */
static int find_event(struct rps_time_totals *totals, const char *name)
{
    const char *kept = keep_text(totals, name);

    for (size_t e = 1; e < totals->event_count; e++) {
        if (strcmp(totals->event[e], kept) == 0)
            return (int)e;
    }
    totals->event[totals->event_count] = kept;
    return (int)totals->event_count++;
}

static void map_events(struct rps_time_totals *totals)
{
    const struct rps_plan *plan = totals->plan;
    const char *label = rps_words_clock_label(totals->run, plan);
    size_t slots = (size_t)plan->set_count * RPS_SLOT_MAX;
    char clock[RPS_NAME_SIZE];
    int has_old = rps_words_clock_name(clock, label);

    totals->event = rps_arena_get(totals->arena, slots + 2, sizeof(*totals->event));
    totals->event_of = rps_arena_get(totals->arena, slots + 1, sizeof(*totals->event_of));
    totals->gauge = rps_arena_get(totals->arena, slots + 2, sizeof(*totals->gauge));
    totals->gauges = rps_gauges_find(totals->arena, plan);
    totals->event[0] = keep_text(totals, clock);
    totals->event_count = 1;
    totals->gauge[0] = -1;
    for (size_t i = 0; i < slots; i++) {
        const struct rps_event_set *set = &plan->set[i / RPS_SLOT_MAX];
        const struct rps_event *event = &set->event[i % RPS_SLOT_MAX];
        char name[RPS_NAME_SIZE + sizeof("_event")];

        totals->event_of[i] = -1;
        if ((int)(i % RPS_SLOT_MAX) >= set->event_count || event->state != RPS_EVENT_MEASURED ||
            totals->gauges.metric[i] == RPS_GAUGES_TIME)
            continue;
        snprintf(name, sizeof(name), "%s%s", event->name,
                 strcmp(event->name, clock) == 0 ? "_event" : "");
        totals->event_of[i] = find_event(totals, name);
        totals->gauge[totals->event_of[i]] = totals->gauges.metric[i] >= 0 ? (int)i : -1;
    }
    totals->old_clock = has_old ? (size_t)find_event(totals, label) : 0;
    totals->gauge[totals->old_clock] = -1;
}

/* --- tracks ----------------------------------------------------------------------------------- */

static int64_t unix_ms(const struct rps_time_totals *totals, int64_t time_ns)
{
    return rps_clock_add_ns(totals->run->start_realtime_ns, time_ns) / RPS_NS_PER_MS;
}

static int64_t next_due_ns(const struct rps_time_totals *totals, int64_t time_ns)
{
    return (time_ns / totals->every_ns + 1) * totals->every_ns;
}

static void make_total(struct rps_time_totals *totals, struct track *track, struct total *total,
                       const char *metric, const char *event)
{
    const struct rps_time_label label[] = {{"cpu", track->cpu_text},
                                           {"event", event},
                                           {"instance", totals->instance},
                                           {"job", RPS_TIME_JOB},
                                           {"run", totals->uuid}};

    total->series.metric = metric;
    total->is_time = strcmp(metric, "rpistat_events_total") != 0;
    put_labels(&total->series, total->label, label, RPS_COUNT(label));
}

static struct track *make_track(struct rps_time_totals *totals, const struct rps_period *row)
{
    size_t count = 2 * totals->event_count + 2;
    struct track *track =
        rps_arena_get(totals->arena, 1, sizeof(*track) + count * sizeof(track->total[0]));

    track->cpu = row->cpu;
    snprintf(track->cpu_text, sizeof(track->cpu_text), "%" PRId32, row->cpu);
    if (row->cpu == RPS_CPU_ALL)
        strcpy(track->cpu_text, "all");
    track->due_ns = next_due_ns(totals, row->start_ns);
    track->last_ms = unix_ms(totals, row->start_ns);
    track->rotation = row->rotation;
    for (size_t e = 0; e < totals->event_count; e++) {
        make_total(totals, track, &track->total[2 * e],
                   totals->gauge[e] < 0 ? "rpistat_events_total" : "rpistat_gauge",
                   totals->event[e]);
        make_total(totals, track, &track->total[2 * e + 1], "rpistat_event_running_seconds_total",
                   totals->event[e]);
    }
    make_total(totals, track, &track->total[count - 2], "rpistat_enabled_seconds_total", NULL);
    make_total(totals, track, &track->total[count - 1], "rpistat_cpu_seconds_total", NULL);
    *(totals->last_track ? &totals->last_track->next : &totals->track) = track;
    totals->last_track = track;
    return track;
}

static struct track *find_track(struct rps_time_totals *totals, const struct rps_period *row)
{
    if (totals->current && totals->current->cpu == row->cpu)
        return totals->current;
    for (struct track *track = totals->track; track; track = track->next) {
        if (track->cpu == row->cpu)
            return track;
    }
    return make_track(totals, row);
}

/* Add a row of a set that has a gauge in this slot. */
static void feed_gauge(const struct rps_time_totals *totals, struct total *total,
                       const struct rps_period *row, int slot)
{
    total[0].fed = 1;
    total[0].sum += row->count[slot];
    total[1].sum += row->count[rps_gauges_time_slot(&totals->gauges, row->set_no, slot)];
}

static void feed(struct total *total, uint64_t amount)
{
    total->sum += amount;
    total->fed = 1;
}

static void feed_row(struct rps_time_totals *totals, struct track *track,
                     const struct rps_period *row)
{
    struct total *times = &track->total[2 * totals->event_count];
    int set_no = row->set_no < (uint32_t)totals->plan->set_count ? (int)row->set_no : -1;

    for (size_t e = 0; row->enabled_ns == 0 || row->clock_running_ns > 0; e = totals->old_clock) {
        feed(&track->total[2 * e], row->cycles);
        feed(&track->total[2 * e + 1], row->clock_running_ns);
        if (e == totals->old_clock)
            break;
    }
    for (int s = 0; set_no >= 0 && s < RPS_SLOT_MAX; s++) {
        int event = totals->event_of[set_no * RPS_SLOT_MAX + s];

        if (event < 0 || !(row->counted & (UINT32_C(1) << s)))
            continue;
        if (totals->gauge[event] >= 0) {
            feed_gauge(totals, &track->total[2 * event], row, s);
            continue;
        }
        feed(&track->total[2 * event], row->count[s]);
        feed(&track->total[2 * event + 1], rps_period_counted_ns(row, s));
    }
    feed(&times[0], row->enabled_ns);
    track->idle_unknown |= row->idle_ns < 0;
    if (track->idle_unknown)
        times[1].fed = 0;
    else if (row->cpu >= 0 && row->enabled_ns - (uint64_t)row->idle_ns > (uint64_t)row->length_ns)
        feed(&times[1], (uint64_t)row->length_ns); /* a CPU cannot be busy for longer than the
                                                      length of the row */
    else
        feed(&times[1], row->enabled_ns - (uint64_t)row->idle_ns);
}

/* --- samples ---------------------------------------------------------------------------------- */

static int hand_over_total(struct rps_time_totals *totals, const struct track *track,
                           struct total *total, int64_t time_ms, struct rps_error *err)
{
    const struct rps_time_sink *sink = &totals->sink;
    int result = 0;

    if (!total->begun) {
        total->begun = 1;
        total->series.number = totals->series_count++;
        if (!track->is_quiet)
            result = sink->sample(sink->context, &total->series, track->last_ms, 0, err);
    }
    total->fed = 0;
    if (result != 0 || track->is_quiet)
        return result;
    return sink->sample(sink->context, &total->series, time_ms,
                        total->is_time ? (double)total->sum / RPS_NS_PER_S : (double)total->sum,
                        err);
}

/* Pass on a sample of a gauge, if there are data; for example, some CPUs never have the gauge. */
static int hand_over_gauge(struct rps_time_totals *totals, const struct track *track, int gauge,
                           struct total *total, int64_t time_ms, struct rps_error *err)
{
    double value = rps_gauges_mean(&totals->gauges, (uint32_t)(gauge / RPS_SLOT_MAX),
                                   gauge % RPS_SLOT_MAX, total[0].sum, total[1].sum);

    total[0].sum = total[1].sum = 0;
    total[0].fed = 0;
    if (isnan(value))
        return 0;
    if (!total[0].begun)
        total[0].series.number = totals->series_count++;
    total[0].begun = 1;
    return track->is_quiet
               ? 0
               : totals->sink.sample(totals->sink.context, &total[0].series, time_ms, value, err);
}

/* Pass on a CPU's totals as samples, at a time after the CPU's previous samples. */
static int hand_over(struct rps_time_totals *totals, struct track *track, int64_t time_ms,
                     struct rps_error *err)
{
    size_t count = 2 * totals->event_count + 2;
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        int gauge = i % 2 == 0 && i / 2 < totals->event_count ? totals->gauge[i / 2] : -1;

        if (track->total[i].fed && gauge >= 0)
            result = hand_over_gauge(totals, track, gauge, &track->total[i], time_ms, err);
        else if (track->total[i].fed)
            result = hand_over_total(totals, track, &track->total[i], time_ms, err);
    }
    track->last_ms = time_ms;
    track->due_ns = next_due_ns(totals, track->end_ns);
    track->is_due = 0;
    return result;
}

/* Pass on the totals that are due, but later if the previous samples have the same millisecond. */
static int hand_over_due(struct rps_time_totals *totals, struct track *track, struct rps_error *err)
{
    int64_t time_ms = unix_ms(totals, track->end_ns);

    return track->is_due && time_ms > track->last_ms ? hand_over(totals, track, time_ms, err) : 0;
}

int rps_time_totals_add(struct rps_time_totals *totals, const struct rps_period *row, int is_quiet,
                        struct rps_error *err)
{
    struct track *track = find_track(totals, row);
    int result;

    totals->current = track;
    if (row->rotation != track->rotation) {
        result = hand_over_due(totals, track, err); /* the previous block is complete */
        if (result != 0)
            return result;
    }
    feed_row(totals, track, row);
    track->rotation = row->rotation;
    if (rps_period_end_ns(row) > track->end_ns)
        track->end_ns = rps_period_end_ns(row);
    track->is_quiet = is_quiet && (track->is_quiet || !track->is_due);
    track->is_due |= track->end_ns >= track->due_ns;
    return row->level == 0 ? hand_over_due(totals, track, err) : 0;
}

int rps_time_totals_flush(struct rps_time_totals *totals, struct rps_error *err)
{
    int result = 0;

    for (struct track *track = totals->track; track && result == 0; track = track->next) {
        int64_t time_ms = unix_ms(totals, track->end_ns);

        track->is_quiet = 0;
        result =
            hand_over(totals, track, time_ms > track->last_ms ? time_ms : track->last_ms + 1, err);
    }
    return result;
}

int rps_time_totals_info(struct rps_time_totals *totals, int64_t time_ns, struct rps_error *err)
{
    int64_t time_ms = unix_ms(totals, time_ns);

    if (totals->info_ms == NOTHING_SENT_MS)
        totals->info.number = totals->series_count++;
    else if (time_ms <= totals->info_ms)
        return 0;
    totals->info_ms = time_ms;
    return totals->sink.sample(totals->sink.context, &totals->info, time_ms, 1, err);
}

/* --- phases ----------------------------------------------------------------------------------- */

static struct phase_series *find_phase(struct rps_time_totals *totals, int number)
{
    struct phase_series *phase = totals->phase;
    struct rps_time_label label[] = {{"instance", totals->instance},
                                     {"job", RPS_TIME_JOB},
                                     {"label", NULL},
                                     {"run", totals->uuid}};

    while (phase && phase->number != number)
        phase = phase->next;
    if (phase)
        return phase;
    phase = rps_arena_get(totals->arena, 1, sizeof(*phase));
    phase->next = totals->phase;
    totals->phase = phase;
    phase->number = number;
    label[2].value = rps_phase_label(number, phase->text);
    phase->series.metric = "rpistat_phase";
    phase->series.number = totals->series_count++;
    phase->last_ms = NOTHING_SENT_MS;
    put_labels(&phase->series, phase->label, label, RPS_COUNT(label));
    return phase;
}

/* Pass on a sample of a phase at that time. If necessary, the time is moved to one millisecond
 * after the previous sample. */
static int mark_phase(struct rps_time_totals *totals, struct phase_series *phase, int64_t time_ns,
                      double value, struct rps_error *err)
{
    int64_t time_ms = unix_ms(totals, time_ns);

    if (time_ms <= phase->last_ms)
        time_ms = phase->last_ms + 1;
    phase->last_ms = time_ms;
    return totals->sink.sample(totals->sink.context, &phase->series, time_ms, value, err);
}

int rps_time_totals_phases(struct rps_time_totals *totals, const struct rps_phases *phases,
                           struct rps_error *err)
{
    int result = 0;

    for (size_t i = 0; i < phases->count && result == 0; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        struct phase_series *series = find_phase(totals, phase->label);

        result = mark_phase(totals, series, phase->start_ns, 1, err);
        if (result == 0 && (i + 1 == phases->count || phase[1].label != phase->label))
            result = mark_phase(totals, series, phase->end_ns, 0, err);
    }
    return result;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static const struct {
    const char *reason;
    int slot;
} waits[] = {
    {"cpu", RPS_TREE_WAIT},           {"io", RPS_TREE_IN_IO},       {"lock", RPS_TREE_IN_LOCK},
    {"message", RPS_TREE_IN_MESSAGE}, {"timer", RPS_TREE_IN_TIMER}, {"child", RPS_TREE_IN_CHILD},
    {"other", RPS_TREE_IN_OTHER},     {"idle", RPS_TREE_IDLE},
};

#define WAITS RPS_COUNT(waits)

/* Make a track whose totals are the waiting times by reason. */
static struct track *make_waiting(struct rps_time_totals *totals, int64_t from_ns)
{
    struct track *track =
        rps_arena_get(totals->arena, 1, sizeof(*track) + WAITS * sizeof(track->total[0]));

    track->last_ms = unix_ms(totals, from_ns);
    track->due_ns = next_due_ns(totals, from_ns);
    for (size_t i = 0; i < WAITS; i++) {
        const struct rps_time_label label[] = {{"instance", totals->instance},
                                               {"job", RPS_TIME_JOB},
                                               {"reason", waits[i].reason},
                                               {"run", totals->uuid}};

        track->total[i].series.metric = "rpistat_waiting_seconds_total";
        track->total[i].is_time = 1;
        put_labels(&track->total[i].series, track->total[i].label, label, 4);
    }
    return track;
}

int rps_time_totals_waiting(struct rps_time_totals *totals, struct rps_reader *reader,
                            int64_t from_ns, int64_t to_ns, struct rps_error *err)
{
    struct track *track = make_waiting(totals, from_ns);
    struct rps_system_cursor *cursor = NULL;
    struct rps_system_row row;
    int more = 1, result = rps_system_cursor_open(&cursor, reader, totals->run->run_id,
                                                  RPS_SYSTEM_TREE, from_ns, to_ns, 0, err);

    while (result == 0 && more > 0) {
        more = rps_system_cursor_next(cursor, &row, err);
        result = more < 0 ? more : 0;
        for (size_t i = 0; i < WAITS && more > 0; i++) { /* the sum is in us, or a number of
                                                            threads whose mean is taken */
            uint64_t n = row.readings[waits[i].slot], sum = (uint64_t)row.sum[waits[i].slot];

            if (n > 0)
                feed(&track->total[i], waits[i].slot == RPS_TREE_WAIT
                                           ? sum * 1000
                                           : sum * (uint64_t)row.length_us / n * 1000);
            track->end_ns = row.end_ns;
        }
        if ((more > 0 && track->end_ns < track->due_ns) ||
            unix_ms(totals, track->end_ns) <= track->last_ms)
            continue;
        for (size_t i = 0; i < WAITS && result == 0; i++)
            result = track->total[i].fed ? hand_over_total(totals, track, &track->total[i],
                                                           unix_ms(totals, track->end_ns), err)
                                         : 0;
        track->last_ms = unix_ms(totals, track->end_ns);
        track->due_ns = next_due_ns(totals, track->end_ns);
    }
    rps_system_cursor_close(cursor);
    return result;
}

/* --- public functions ------------------------------------------------------------------------- */

int rps_time_check_start(const struct rps_run *run, struct rps_error *err)
{
    if (run->start_realtime_ns >= 0 && run->start_realtime_ns <= START_MAX_NS)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "the start time of run %" PRId64
                         " is unknown, and time series need times; export it as CSV instead",
                         run->run_id);
}

int rps_time_totals_open(struct rps_time_totals **ret, const struct rps_run *run,
                         const struct rps_plan *plan, int64_t every_ns,
                         const struct rps_time_sink *sink, struct rps_error *err)
{
    struct rps_time_totals *totals;
    struct rps_arena *arena;

    if (rps_time_check_start(run, err) < 0)
        return RPS_FAILED;
    arena = rps_arena_new();
    *ret = totals = rps_arena_get(arena, 1, sizeof(*totals));
    totals->arena = arena;
    totals->run = run;
    totals->plan = plan;
    totals->sink = *sink;
    totals->every_ns = every_ns > MIN_EVERY_NS ? every_ns : MIN_EVERY_NS;
    totals->instance = keep_text(totals, run->host[0] ? run->host : "unknown");
    totals->uuid = keep_text(totals, run->uuid);
    map_events(totals);
    make_info(totals);
    return 0;
}

void rps_time_totals_close(struct rps_time_totals *totals)
{
    if (totals)
        rps_arena_free(totals->arena);
}
