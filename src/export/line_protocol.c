/*
 * The export as InfluxDB's line protocol: a line a measurement period.
 *
 *     rpistat,cpu=0,instance=HOST,run=UUID,set=SET EVENT=123i,...,enabled_ns=...i START
 *
 * Fields are the raw counts of the set's events and of the clock event, by its label, and the times
 * that belong to them; what was not counted has no field. A gauge of an import has its value, without
 * the i. The timestamp is the period's start. A block that stands for periods that were thinned is a
 * line a set. As in CSV an event that has the name of another field becomes NAME_event.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "gauges.h"
#include "rpistat/text.h"
#include "rpistat/time_series.h"
#include "rpistat/words.h"

struct line_set {
    char *tags;                /* owned; ",instance=pi,run=0-1,set=dc" */
    char *event[RPS_SLOT_MAX]; /* owned; keys */
};

struct line_state {
    char *clock; /* owned; key */
    struct line_set *set;
    struct rps_gauges gauges;
    int is_first; /* field of its line */
};

/* --- texts ------------------------------------------------------------------------------------ */

/* Backslashes stand before what would end a key or a value. One of the text's own there, or at the
 * end, cannot be written, nor can what is not harmless. */
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
    const char *prefix, *text; /* without the text the prefix is left out too */
};

/* Valid UTF-8, escaped; NULL without memory. */
static char *make_text(const struct part *part, size_t count)
{
    char *ret = NULL;
    size_t size;
    FILE *out = open_memstream(&ret, &size);
    int failed = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        char *repaired = rps_text_repaired(part[i].text);

        failed |= !repaired;
        if (repaired && repaired[0]) {
            fputs(part[i].prefix, out);
            put_escaped(out, repaired);
        }
        free(repaired);
    }
    ret = rps_text_close(out, &ret);
    if (!failed)
        return ret;
    free(ret);
    return NULL;
}

static char *make_key(const char *text)
{
    const struct part part = {"", text};

    return make_text(&part, 1);
}

static char *make_tags(const struct rps_run *run, const char *set)
{
    const struct part part[] = {{",instance=", run->host}, {",run=", run->uuid}, {",set=", set}};

    return make_text(part, sizeof(part) / sizeof(part[0]));
}

static char *make_event(const char *name, const char *clock)
{
    static const char *const own[] = {"enabled_ns", "length_ns", "running_ns"};
    char text[RPS_NAME_SIZE + sizeof("_event")];
    int taken = strcmp(name, clock) == 0;

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        taken |= strcmp(name, own[i]) == 0;
    snprintf(text, sizeof(text), "%s%s", name, taken ? "_event" : "");
    return make_key(text);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void line_release(struct rps_export_job *job)
{
    struct line_state *state = job->state;

    if (!state)
        return;
    for (int n = 0; state->set && n < job->plan->set_count; n++) {
        free(state->set[n].tags);
        for (int s = 0; s < RPS_SLOT_MAX; s++)
            free(state->set[n].event[s]);
    }
    rps_gauges_free(&state->gauges);
    free(state->set);
    free(state->clock);
    free(state);
    job->state = NULL;
}

static int line_begin(struct rps_export_job *job, struct rps_error *err)
{
    const char *clock = rps_words_clock_label(job->run, job->plan);
    const struct rps_plan *plan = job->plan;
    struct line_state *state;

    if (rps_time_check_start(job->run, err) < 0)
        return RPS_FAILED;
    job->state = state = calloc(1, sizeof(*state));
    if (!state)
        return rps_error_memory(err);
    state->clock = make_key(clock);
    state->set = calloc((size_t)plan->set_count + 1, sizeof(*state->set));
    if (!state->clock || !state->set)
        return rps_error_memory(err);
    if (rps_gauges_init(&state->gauges, plan, err) < 0)
        return RPS_FAILED;
    for (int n = 0; n < plan->set_count; n++) {
        state->set[n].tags = make_tags(job->run, plan->set[n].name);
        if (!state->set[n].tags)
            return rps_error_memory(err);
        for (int s = 0; s < plan->set[n].event_count; s++) {
            state->set[n].event[s] = make_event(plan->set[n].event[s].name, clock);
            if (!state->set[n].event[s])
                return rps_error_memory(err);
        }
    }
    return 0;
}

static void put_key(struct rps_export_job *job, const char *key)
{
    struct line_state *state = job->state;

    fprintf(job->out, "%s%s=", state->is_first ? " " : ",", key);
    state->is_first = 0;
}

/* A whole number of 64 bits with a sign, as the protocol has them. */
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
    if (period->enabled_ns == 0 || period->clock_running_ns > 0)
        put_field(job, state->clock, period->cycles);
    put_field(job, "enabled_ns", period->enabled_ns);
    put_field(job, "running_ns", period->running_ns);
    put_field(job, "length_ns", (uint64_t)period->length_ns);
    fprintf(job->out, " %" PRId64 "\n", job->run->start_realtime_ns + period->start_ns);
}

const struct rps_export_format rps_export_line_protocol = {
    .name = "line-protocol",
    .summary = "a line a measurement period, for InfluxDB and its relatives",
    .own_form = 1,
    .follows = 1,
    .begin = line_begin,
    .period = line_period,
    .release = line_release,
};
