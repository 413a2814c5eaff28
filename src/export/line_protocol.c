/* The export as InfluxDB's line protocol: one line per measurement period.
 *
 *     rpistat,cpu=0,instance=HOST,run=UUID,set=SET EVENT=123i,...,enabled_ns=...i START
 *
 * The fields are the raw counts of the set's events and the count of the clock event. The names of
 * the fields are the events' labels. Further fields are the period's times. An event that was not
 * counted has no field. For a gauge of an import, the field has the gauge's value, without the i.
 * The timestamp is the period's start. A block of downsampled periods has one line per set. As in
 * CSV, an event with the name of another field becomes NAME_event. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/export.h"
#include "gauges.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"
#include "rpistat/time_series.h"
#include "rpistat/clock.h"

/* Texts of a set's lines, in the arena. */
struct line_set {
    const char *tags;                /* tags of the lines, such as ",instance=pi,run=0-1,set=dc" */
    const char *event[RPS_SLOT_MAX]; /* keys of the events */
};

struct line_state {
    const char *clock, *old_clock; /* key of the clock event; its earlier key */
    struct line_set *set;
    struct rps_gauges gauges;
    int is_first; /* 1: the next field is the first of its line */
};

/* --- texts ------------------------------------------------------------------------------------ */

/* Put text with a backslash before each character that would end a key or a value. The protocol
 * cannot represent a backslash before such a character or at the end, nor unsafe characters. */
static void put_escaped(FILE *out, const char *text)
{
    uint32_t code;

    for (int length; *text; text += length) {
        length = rps_text_decode(text, &code);
        if (strchr(", =", *text))
            fputc('\\', out);
        if (!rps_text_is_harmless(code) || (code == '\\' && strchr(", =\\", text[1])))
            fputc('_', out);
        else
            fwrite(text, 1, (size_t)length, out);
    }
}

struct part {
    const char *prefix, *text; /* if there is no text, the prefix is left out, too */
};

/* Join the parts into one text, which is valid UTF-8 and escaped. */
static const char *make_text(struct rps_arena *arena, const struct part *part, size_t count)
{
    char *text = NULL;
    const char *ret;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        rps_arena_exhausted();
    for (size_t i = 0; i < count; i++) {
        char *repaired = rps_text_repaired(part[i].text);

        if (!repaired)
            rps_arena_exhausted();
        if (repaired[0]) {
            fputs(part[i].prefix, out);
            put_escaped(out, repaired);
        }
        free(repaired);
    }
    if (!rps_text_close(out, &text))
        rps_arena_exhausted();
    ret = rps_arena_text(arena, text);
    free(text);
    return ret;
}

static const char *make_key(struct rps_arena *arena, const char *text)
{
    const struct part part = {"", text};

    return make_text(arena, &part, 1);
}

static const char *make_event(struct rps_arena *arena, const char *name, const char *clock)
{
    static const char *const own[] = {"enabled_ns", "length_ns", "running_ns"};
    char text[RPS_NAME_SIZE + sizeof("_event")];
    int taken = strcmp(name, clock) == 0;

    for (size_t i = 0; i < RPS_COUNT(own); i++)
        taken |= strcmp(name, own[i]) == 0;
    snprintf(text, sizeof(text), "%s%s", name, taken ? "_event" : "");
    return make_key(arena, text);
}

/* --- lines ------------------------------------------------------------------------------------ */

static int line_begin(struct rps_export_job *job, struct rps_error *err)
{
    const char *label = rps_words_clock_label(job->run, job->plan);
    const struct rps_plan *plan = job->plan;
    struct line_state *state;
    char clock[RPS_NAME_SIZE];

    if (rps_time_check_start(job->run, err) < 0)
        return RPS_FAILED;
    job->state = state = rps_arena_get(job->arena, 1, sizeof(*state));
    state->old_clock = rps_words_clock_name(clock, label) ? make_key(job->arena, label) : "";
    state->clock = make_key(job->arena, clock);
    state->set = rps_arena_get(job->arena, (size_t)plan->set_count, sizeof(*state->set));
    state->gauges = rps_gauges_find(job->arena, plan);
    for (int n = 0; n < plan->set_count; n++) {
        const struct part tags[] = {{",instance=", job->run->host},
                                    {",job=", RPS_TIME_JOB},
                                    {",run=", job->run->uuid},
                                    {",set=", plan->set[n].name}};

        state->set[n].tags = make_text(job->arena, tags, RPS_COUNT(tags));
        for (int s = 0; s < plan->set[n].event_count; s++)
            state->set[n].event[s] = make_event(job->arena, plan->set[n].event[s].name, clock);
    }
    return 0;
}

static void put_key(struct rps_export_job *job, const char *key)
{
    struct line_state *state = job->state;

    fprintf(job->out, "%s%s=", state->is_first ? " " : ",", key);
    state->is_first = 0;
}

/* Put a field. Integers of the protocol have 64 bits and a sign. */
static void put_field(struct rps_export_job *job, const char *key, uint64_t value)
{
    if (value > INT64_MAX || !key[0])
        return;
    put_key(job, key);
    fprintf(job->out, "%" PRIu64 "i", value);
}

static void put_gauge(struct rps_export_job *job, const char *key, double value)
{
    if (!isfinite(value) || !key[0])
        return;
    put_key(job, key);
    fprintf(job->out, "%.15g", value);
}

static void line_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct line_state *state = job->state;
    const struct line_set *set;

    if (period->set_no >= (uint32_t)job->plan->set_count)
        return;
    set = &state->set[period->set_no];
    state->is_first = 1;
    fputs("rpistat,cpu=", job->out);
    if (period->cpu == RPS_CPU_ALL)
        fputs("all", job->out);
    else
        fprintf(job->out, "%" PRId32, period->cpu);
    fputs(set->tags, job->out);
    for (int s = 0; s < job->plan->set[period->set_no].event_count; s++) {
        int metric = rps_gauges_metric(&state->gauges, period->set_no, s);

        if (metric >= 0)
            put_gauge(job, set->event[s], rps_gauges_value(&state->gauges, period, s));
        else if (metric == RPS_GAUGES_COUNT && (period->counted & (UINT32_C(1) << s)))
            put_field(job, set->event[s], period->count[s]);
    }
    if (period->enabled_ns == 0 || period->clock_running_ns > 0) {
        put_field(job, state->clock, period->cycles);
        put_field(job, state->old_clock, period->cycles);
    }
    put_field(job, "enabled_ns", period->enabled_ns);
    put_field(job, "running_ns", period->running_ns);
    put_field(job, "length_ns", (uint64_t)period->length_ns);
    fprintf(job->out, " %" PRId64 "\n",
            rps_clock_add_ns(job->run->start_realtime_ns, period->start_ns));
}

const struct rps_export_format rps_export_line_protocol = {
    .name = "line-protocol",
    .own_form = 1,
    .follows = 1,
    .begin = line_begin,
    .period = line_period,
};
