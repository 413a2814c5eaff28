/* The simulated processor's reader of system metrics. In each phase, a counter increases by the
 * integer part of rate x time since the phase began. A reading is the difference of two such totals
 * in the metric's unit, so that the readings of a run add up to the total. */
#include "system_sim.h"

#include <stdio.h>
#include <string.h>

#include "rpistat/clock.h"

/* The metrics that are valid even in a reading that fails. */
static const uint32_t always[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = UINT32_C(1) << RPS_TREE_THREADS,
    [RPS_SYSTEM_MACHINE] = UINT32_C(1) << RPS_MACHINE_WAIT,
    [RPS_SYSTEM_PACKAGE] = UINT32_C(1) << RPS_PACKAGE_COUNTERS,
};

static const struct sim_phase *phase_at(const struct sim_reader *reader)
{
    return &reader->script->phase[reader->script->order[reader->order]];
}

/* Return a counter's increase in ns or bytes, passed_ns after a phase began. */
static uint64_t counted(const struct sim_phase *phase, enum rps_system_source source, int slot,
                        int64_t passed_ns)
{
    const struct sim_system *signals = &phase->signals;
    uint64_t on_ns = phase->idle ? 0 : (uint64_t)rps_sim_cpu_at(phase, passed_ns);

    if (source == RPS_SYSTEM_TREE && slot == RPS_TREE_RUNNING)
        return on_ns / SIM_PPM * signals->seen_ppm + on_ns % SIM_PPM * signals->seen_ppm / SIM_PPM;
    if (source == RPS_SYSTEM_TREE && slot == RPS_TREE_WAIT)
        return (uint64_t)passed_ns * signals->runners - on_ns;
    return rps_sim_events_at(signals->amount[source][slot], passed_ns);
}

static int is_counter(int source, int slot)
{
    return rps_system_metrics[source][slot].kind == RPS_SYSTEM_COUNTER;
}

/* Advance the totals to a time of the current phase. */
static void add_up(struct sim_reader *reader, int64_t time_ns)
{
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++)
        for (int s = 0; s < rps_system_metric_count[source]; s++)
            if (is_counter(source, s))
                reader->total[source][s] = reader->before[source][s] +
                                           counted(phase_at(reader), (enum rps_system_source)source,
                                                   s, time_ns - reader->phase_ns);
}

/* Advance the totals to a time, through all phases up to this time. The end of a phase belongs to
 * that phase. All time after the last phase belongs to the last phase. */
static void go_on(struct sim_reader *reader, int64_t time_ns)
{
    if (time_ns <= reader->now_ns)
        return;
    for (;;) {
        int64_t end_ns = reader->phase_ns + phase_at(reader)->length_ns;

        if (time_ns <= end_ns) {
            add_up(reader, time_ns);
            break;
        }
        add_up(reader, end_ns);
        if (reader->order + 1 >= reader->script->order_count)
            break;
        memcpy(reader->before, reader->total, sizeof(reader->before));
        reader->phase_ns = end_ns;
        reader->order++;
    }
    reader->now_ns = time_ns;
}

static int64_t gauge(const struct sim_system *signals, int source, int slot)
{
    if (source == RPS_SYSTEM_TREE && slot == RPS_TREE_THREADS)
        return signals->threads;
    if (source == RPS_SYSTEM_TREE && slot >= RPS_TREE_IN_IO && slot <= RPS_TREE_IN_OTHER)
        return signals->in[slot - RPS_TREE_IN_IO];
    return (int64_t)signals->amount[source][slot];
}

/* Convert ns or bytes to us or KiB. */
static uint64_t in_unit(int source, int slot, uint64_t amount)
{
    const char *unit = rps_system_metrics[source][slot].unit;

    return strcmp(unit, "us") == 0    ? amount / RPS_NS_PER_US
           : strcmp(unit, "KiB") == 0 ? amount / 1024
                                      : amount;
}

static void take_reading(struct sim_reader *reader, int source, struct rps_system_reading *reading)
{
    reading->source = (enum rps_system_source)source;
    for (int s = 0; s < rps_system_metric_count[source]; s++) {
        if (!is_counter(source, s)) {
            reading->value[s] = gauge(&phase_at(reader)->signals, source, s);
            continue;
        }
        reading->value[s] = (int64_t)(in_unit(source, s, reader->total[source][s]) -
                                      in_unit(source, s, reader->read[source][s]));
    }
}

/* Return 1 if a reading of the source is due. As on a real machine, all sources except the workload
 * and packages are due each second. */
static int is_due(const struct sim_reader *reader, int source, int64_t time_ns)
{
    const int64_t past_ns = time_ns - reader->read_ns[source];

    if (source == RPS_SYSTEM_PACKAGE)
        return past_ns >= reader->period_ns / 2;
    return source == RPS_SYSTEM_TREE ? rps_system_pace_due(&reader->pace, time_ns)
                                     : past_ns >= RPS_NS_PER_S - reader->period_ns / 2;
}

static void reader_read(void *self, uint64_t period, int64_t time_ns, int64_t start_ns, int force,
                        const struct rps_system_sink *sink, char *note, size_t size)
{
    struct sim_reader *reader = self;
    struct rps_system_reading reading = {.period = period, .end_ns = time_ns - start_ns};
    char what[40];
    int is_tree = 0;

    note[0] = '\0';
    go_on(reader, time_ns);
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++) {
        if (!reader->reads[source] || !(force || is_due(reader, source, time_ns)))
            continue;
        reading.length_us = time_ns / RPS_NS_PER_US - reader->read_ns[source] / RPS_NS_PER_US;
        reading.valid = reader->script->named[source];
        if (rps_sim_stretches_have(&reader->script->fail_reading, reader->now_ns))
            reading.valid &= always[source];
        take_reading(reader, source, &reading);
        sink->reading(sink->context, &reading);
        is_tree |= source == RPS_SYSTEM_TREE;
        memcpy(reader->read[source], reader->total[source], sizeof(reader->read[source]));
        reader->read_ns[source] = time_ns;
    }
    if (!is_tree)
        return;
    snprintf(what, sizeof(what), "%lu thread%s", (unsigned long)phase_at(reader)->signals.threads,
             phase_at(reader)->signals.threads == 1 ? "" : "s");
    rps_system_pace_spent(&reader->pace, time_ns,
                          rps_sim_stretches_at(&reader->script->readings, time_ns), what, note,
                          size);
}

static int reader_state(void *self, enum rps_system_source source, struct rps_system_state *ret)
{
    const struct sim_reader *reader = self;

    *ret = (struct rps_system_state){.source = source, .supported = reader->script->named[source]};
    for (int s = 0; s < rps_system_metric_count[source]; s++)
        if (!(ret->supported >> s & 1))
            strcpy(ret->reason[s], "the script does not set it");
    return !reader->reads[source];
}

/* Samples have no effect here, since the script defines the threads. */
static void reader_hear(void *self, const struct rps_sample *sample)
{
    (void)self;
    (void)sample;
}

static void reader_resume(void *self, int64_t time_ns)
{
    struct sim_reader *reader = self;

    go_on(reader, time_ns);
    memcpy(reader->read, reader->total, sizeof(reader->read));
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++)
        reader->read_ns[source] = time_ns;
    rps_system_pace_begin(&reader->pace, time_ns);
}

static void reader_close(void *self)
{
    (void)self;
}

int rps_system_sim_open(struct sim_reader *reader, const struct sim_script *script,
                        const struct rps_system_options *options, struct rps_system_reader *ret,
                        struct rps_error *err)
{
    *reader = (struct sim_reader){.script = script, .now_ns = -1};
    reader->reads[RPS_SYSTEM_TREE] = options->tree && script->named[RPS_SYSTEM_TREE];
    reader->reads[RPS_SYSTEM_MACHINE] = options->machine && script->named[RPS_SYSTEM_MACHINE];
    reader->reads[RPS_SYSTEM_GROUP] = options->tree && script->named[RPS_SYSTEM_GROUP];
    reader->reads[RPS_SYSTEM_PACKAGE] = options->package && script->named[RPS_SYSTEM_PACKAGE];
    if (!reader->reads[RPS_SYSTEM_TREE] && !reader->reads[RPS_SYSTEM_MACHINE] &&
        !reader->reads[RPS_SYSTEM_GROUP] && !reader->reads[RPS_SYSTEM_PACKAGE])
        return rps_error_set(err, RPS_FAILED, "the script has no system metrics");
    reader->period_ns = options->period_ns;
    rps_system_pace_init(&reader->pace, options->period_ns, options->budget);
    *ret = (struct rps_system_reader){.self = reader,
                                      .state = reader_state,
                                      .hear = reader_hear,
                                      .read = reader_read,
                                      .resume = reader_resume,
                                      .close = reader_close};
    return 0;
}
