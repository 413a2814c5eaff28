/* Fuzz scripts of the simulated processor, and run the first second of each script. */
#include "fuzz.h"

#include "rpistat/clock.h"
#include "rpistat/loop.h"
#include "rpistat/plan.h"
#include "rpistat/pmu.h"
#include "rpistat/sampler.h"
#include "rpistat/micro.h"
#include "rpistat/system_reader.h"

static void take_period(void *context, const struct rps_period *period)
{
    (void)period;
    ++*(uint64_t *)context;
}

static void take_mark(void *context, int64_t time_ns, const char *text)
{
    (void)context;
    (void)time_ns;
    fuzz_expect_printable(text);
}

static void take_gap(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                     const char *reason)
{
    (void)context;
    (void)cpu;
    fuzz_expect(start_ns >= 0 && length_ns >= 0, "a gap is nowhere");
    fuzz_expect_printable(reason);
}

static void take_sample(void *context, const struct rps_sample *sample)
{
    int64_t *last_ns = context;

    if (sample->kind == RPS_SAMPLE_SYMBOL)
        fuzz_expect(sample->map_length > 0, "a symbol has no code");
    if (sample->kind != RPS_SAMPLE_STACK)
        return;
    fuzz_expect(sample->address_count >= 1 && sample->address_count <= RPS_SAMPLE_DEPTH_MAX,
                "a stack has too few addresses, or too many");
    fuzz_expect(sample->kernel_count <= sample->address_count, "more of the kernel than all");
    fuzz_expect(sample->time_ns >= *last_ns, "a sample comes too late");
    *last_ns = sample->time_ns;
}

static void take_reading(void *context, const struct rps_system_reading *reading)
{
    int64_t *read = context; /* reading times of each source, in us */

    read[reading->source] += reading->length_us;
    fuzz_expect(reading->length_us >= 0 && reading->end_ns / 1000 >= read[reading->source],
                "readings are longer than the run");
    for (int s = 0; s < rps_system_metric_count[reading->source]; s++)
        fuzz_expect(!(reading->valid >> s & 1) || reading->value[s] >= 0, "a signal is negative");
}

static void simulate(const struct rps_pmu *pmu, void *self, struct rps_plan *plan)
{
    const struct rps_target target = {.start_at_exec = 1};
    uint64_t periods = 0;
    const struct rps_sink sink = {&periods, take_period, take_mark, take_gap};
    struct rps_loop_options loop = {.pmu = pmu,
                                    .pmu_self = self,
                                    .plan = plan,
                                    .sink = &sink,
                                    .period_ns = 20 * RPS_NS_PER_MS,
                                    .duration_ns = RPS_NS_PER_S,
                                    .counting = 1};
    const struct rps_sampling_options sampling = {.frequency = 1000};
    int64_t last_ns = 0;
    const struct rps_sample_sink sample_sink = {&last_ns, take_sample};
    const struct rps_system_options signals = {
        .tree = 1, .machine = 1, .period_ns = loop.period_ns, .budget = 0.001};
    int64_t read[RPS_SYSTEM_SOURCES] = {0};
    const struct rps_system_sink system_sink = {read, take_reading};
    struct rps_system_reader reader;
    struct rps_sampler sampler;
    struct rps_fitting fitting;
    struct rps_error err;
    enum rps_loop_end end;
    int64_t elapsed_ns;

    if (rps_pmu_prepare(pmu, self, plan, 0, &fitting, &err) < 0 ||
        pmu->attach(self, plan, &target, &err) < 0 ||
        pmu->open_sampler(self, &sampling, &target, &sampler, &err) < 0)
        return;
    loop.event_loop = pmu->event_loop(self);
    if (pmu->open_system(self, &signals, &target, &reader, &err) == 0) {
        loop.system = &reader;
        loop.system_sink = &system_sink;
    }
    rps_loop_run(&loop, &end, &elapsed_ns, &err);
    sampler.drain(sampler.self, INT64_MAX, &sample_sink, &err);
    sampler.close(sampler.self);
    fuzz_expect(periods <= 51, "a second has more periods than it can");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct rps_pmu *const simulated[] = {&rps_pmu_sim, NULL};
    struct rps_plan *plan = NULL;
    const struct rps_pmu *pmu;
    struct rps_error err = {""};
    char choice[700], note[64];
    void *self = NULL;

    snprintf(choice, sizeof(choice), "sim:%s", fuzz_file("script", data, size));
    if (rps_pmu_open(choice, simulated, &pmu, &self, note, sizeof(note), &err) < 0) {
        fuzz_expect_sentence(&err);
        return 0;
    }
    if (rps_plan_load("arm1176", &plan, &err) == 0)
        simulate(pmu, self, plan);
    pmu->close(self);
    rps_plan_free(plan);
    return 0;
}
