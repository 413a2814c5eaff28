/* The simulated ARM1176: two programmable counters and a cycle counter. All counters have 32 bits
 * and wrap. A script controls the counters, a workload and a clock. The simulated processor is a
 * real backend. Its counts follow exactly from the script, at whatever time they are read, so every
 * test of the recorder can be exact.
 *
 * Time advances in segments with constant rates. An event's total is its total at the start of the
 * segment plus the integer part of rate x time, in 64-bit integers. Therefore the total does not
 * depend on how often the total is read. With noise, a segment is at most 100 ms long, and its
 * rates are computed from a hash of seed, event and segment. */
#include "rpistat/loop.h"
#include "rpistat/micro.h"
#include "rpistat/plan.h"

#include <stdio.h>
#include <string.h>

#include "rpistat/random.h"
#include "sampler_sim.h"
#include "system_sim.h"
#include "sim_script.h"

#define NOISE_QUANTUM_NS (100 * RPS_NS_PER_MS)

/* The counters of one set, as registers of `width` bits. */
struct sim_set {
    uint64_t value[RPS_SLOT_MAX];
    uint64_t running_ns;
};

struct sim {
    struct sim_script *script;
    struct rps_event_loop event_loop;
    const struct rps_plan *plan;
    struct sim_set *set;
    int enabled_set; /* set that is enabled; -1: none */
    int clock_runs;
    int64_t now_ns;
    uint64_t clock; /* number of cycles so far, in 64 bits */
    uint64_t enabled_ns, clock_running_ns, idle_ns;

    size_t order; /* current phase, as index into the order */
    int64_t phase_end_ns;
    int64_t start_ns; /* start of the current segment */
    int64_t end_ns;
    uint64_t rate[SIM_EVENT_COUNT]; /* rates in the segment; noise may exceed SIM_RATE_MAX */
    uint64_t cycle_rate;
    size_t steal;       /* next item of script->steal that has not ended */
    size_t steal_clock; /* next item of script->steal_clock that has not ended */
    size_t late;        /* next item of script->late */
    int64_t read_within_ns;
    struct sim_sampler sampler;
    struct sim_reader reader;
};

/* --- time ------------------------------------------------------------------------------------- */

/* Return the rate of an event in the segment that starts at start_ns. */
static uint64_t noisy(const struct sim *sim, uint32_t rate, int code)
{
    int64_t ppm = sim->script->noise_ppm;
    uint64_t quantum = (uint64_t)(sim->start_ns / NOISE_QUANTUM_NS);
    uint64_t series = rps_random_at(rps_random_at(sim->script->seed, 0), quantum);
    uint64_t random = rps_random_at(series, (uint64_t)code);
    int64_t shift;

    if (ppm == 0 || rate == 0)
        return rate;
    shift = (int64_t)(random % (uint64_t)(2 * ppm + 1)) - ppm;
    return (uint64_t)((int64_t)rate + (int64_t)rate / 1000000 * shift +
                      (int64_t)rate % 1000000 * shift / 1000000);
}

static const struct sim_phase *phase_on(const struct sim *sim)
{
    return &sim->script->phase[sim->script->order[sim->order]];
}

/* Set up the segment that starts at start_ns, inside the current phase. */
static void begin_segment(struct sim *sim, int64_t start_ns)
{
    const struct sim_phase *phase = phase_on(sim);

    sim->start_ns = start_ns;
    sim->end_ns = sim->phase_end_ns;
    if (sim->script->noise_ppm > 0) {
        int64_t quantum_end = (start_ns / NOISE_QUANTUM_NS + 1) * NOISE_QUANTUM_NS;

        if (quantum_end < sim->end_ns)
            sim->end_ns = quantum_end;
    }
    for (int code = 0; code < SIM_EVENT_COUNT; code++)
        sim->rate[code] = noisy(sim, phase->rate[code], code);
    sim->cycle_rate = phase->sleeping || phase->idle ? 0 : sim->script->clock_hz;
}

static int is_over(const struct sim *sim)
{
    return sim->order >= sim->script->order_count;
}

static void next_segment(struct sim *sim)
{
    int64_t start_ns = sim->end_ns;

    while (!is_over(sim) && start_ns >= sim->phase_end_ns) {
        sim->order++;
        if (!is_over(sim))
            sim->phase_end_ns += phase_on(sim)->length_ns;
    }
    if (!is_over(sim))
        begin_segment(sim, start_ns);
}

/* Return the number of events between now and limit_ns, which is in the segment. */
static uint64_t events_until(const struct sim *sim, uint64_t rate, int64_t limit_ns)
{
    const struct sim_phase *phase = phase_on(sim);

    return rps_sim_events_at(rate, rps_sim_cpu_at(phase, limit_ns - sim->start_ns)) -
           rps_sim_events_at(rate, rps_sim_cpu_at(phase, sim->now_ns - sim->start_ns));
}

/* Return 1 if an interval of `steal` contains the current time: another user has the counter. *next
 * is the first interval that has not ended. Lower *limit_ns to the next change of user. */
static int is_stolen(const struct sim *sim, const struct sim_stretches *steal, size_t *next,
                     int64_t *limit_ns)
{
    while (*next < steal->count &&
           steal->item[*next].at_ns + steal->item[*next].length_ns <= sim->now_ns)
        ++*next;
    if (*next == steal->count)
        return 0;
    const struct sim_stretch *item = &steal->item[*next];
    int stolen = item->at_ns <= sim->now_ns;
    int64_t change_ns = stolen ? item->at_ns + item->length_ns : item->at_ns;

    if (change_ns < *limit_ns)
        *limit_ns = change_ns;
    return stolen;
}

static uint64_t wrapped(const struct sim *sim, uint64_t value)
{
    unsigned width = (unsigned)sim->script->width;

    return width >= 64 ? value : value & ((UINT64_C(1) << width) - 1);
}

/* Return the rate of an event; 0 for other processors' events that the ARM1176 lacks. */
static uint64_t rate_of(const struct sim *sim, uint64_t event)
{
    if (event == SIM_CYCLES)
        return sim->cycle_rate;
    return event < SIM_EVENT_COUNT ? sim->rate[event] : 0;
}

/* Take samples of the workload from now to limit_ns; with a frequency, only at rates above 0. */
static void sample_until(struct sim *sim, int64_t limit_ns)
{
    struct sim_sampler *sampler = &sim->sampler;
    struct sim_going going = {phase_on(sim), RPS_NS_PER_S, sim->start_ns, sim->now_ns, limit_ns};
    uint64_t rate =
        sampler->event == SIM_TIME ? RPS_NS_PER_S : rate_of(sim, (uint64_t)sampler->event);

    rps_sampler_sim_wait(sampler, going.phase, sim->now_ns, limit_ns);
    if (!sampler->runs || going.phase->sleeping || going.phase->idle ||
        rps_sim_cpu_per_s(going.phase) == 0)
        return;
    if (sampler->status.threshold > 0 || rate == 0)
        going.rate = rate;
    rps_sampler_sim_go(sampler, &going);
}

/* Count from now to limit_ns, which is within the segment. */
static void count_until(struct sim *sim, int64_t limit_ns, int stolen, int clock_stolen)
{
    uint64_t passed_ns =
        (uint64_t)(rps_sim_cpu_at(phase_on(sim), limit_ns - sim->start_ns) -
                   rps_sim_cpu_at(phase_on(sim), sim->now_ns - sim->start_ns)); /* CPU time */

    sample_until(sim, limit_ns);
    if (sim->clock_runs && !phase_on(sim)->sleeping) {
        sim->enabled_ns += passed_ns;
        if (phase_on(sim)->idle)
            sim->idle_ns += passed_ns;
        if (!clock_stolen) {
            sim->clock += events_until(sim, sim->cycle_rate, limit_ns);
            sim->clock_running_ns += passed_ns;
        }
        if (sim->enabled_set >= 0 && !stolen) {
            const struct rps_event_set *events = &sim->plan->set[sim->enabled_set];
            struct sim_set *set = &sim->set[sim->enabled_set];

            set->running_ns += passed_ns;
            for (int s = 0; s < events->event_count; s++)
                set->value[s] += events_until(sim, rate_of(sim, events->event[s].config), limit_ns);
        }
    }
    sim->now_ns = limit_ns;
}

static void advance(struct sim *sim, int64_t until_ns)
{
    const struct sim_script *script = sim->script;

    while (sim->now_ns < until_ns) {
        int64_t limit_ns = until_ns;
        int stolen = is_stolen(sim, &script->steal, &sim->steal, &limit_ns);
        int clock_stolen = is_stolen(sim, &script->steal_clock, &sim->steal_clock, &limit_ns);

        if (is_over(sim)) { /* the workload has ended: time passes without counts */
            sim->now_ns = until_ns;
            return;
        }
        if (sim->end_ns < limit_ns)
            limit_ns = sim->end_ns;
        count_until(sim, limit_ns, stolen, clock_stolen);
        if (sim->now_ns == sim->end_ns)
            next_segment(sim);
    }
}

/* --- the event loop --------------------------------------------------------------------------- */

static int64_t sim_now_ns(void *self)
{
    const struct sim *sim = self;

    return sim->now_ns;
}

static int sim_wait(void *self, int64_t deadline_ns, enum rps_wake *ret, struct rps_error *err)
{
    struct sim *sim = self;
    const struct sim_stretches *late = &sim->script->late;

    (void)err;
    if (deadline_ns < sim->now_ns)
        deadline_ns = sim->now_ns;
    if (sim->late < late->count && late->item[sim->late].at_ns <= deadline_ns)
        deadline_ns += late->item[sim->late++].length_ns;
    while (sim->now_ns < deadline_ns && !is_over(sim))
        advance(sim, sim->end_ns < deadline_ns ? sim->end_ns : deadline_ns);
    *ret = is_over(sim) ? RPS_WAKE_ENDED : RPS_WAKE_DEADLINE;
    return 0;
}

static const struct rps_event_loop *sim_world(void *self)
{
    struct sim *sim = self;

    return &sim->event_loop;
}

static void sim_outcome(void *self, int *ret_status, int *ret_signal)
{
    const struct sim *sim = self;

    *ret_signal = sim->script->exit_signal;
    *ret_status = *ret_signal ? -1 : sim->script->exit_status;
}

/* --- counters --------------------------------------------------------------------------------- */

static int sim_choose_clock(void *self, struct rps_event *clock, struct rps_error *err)
{
    (void)self;
    (void)err;
    memset(clock, 0, sizeof(*clock));
    strcpy(clock->name, "clock");
    strcpy(clock->spec, "cycles");
    strcpy(clock->label, "Cycles");
    strcpy(clock->role, "cycles");
    strcpy(clock->unit, "cycles");
    strcpy(clock->explain, "The cycle counter of the simulated ARM1176.");
    clock->type = RPS_EVENT_RAW;
    clock->config = SIM_CYCLES;
    return 0;
}

static int sim_try_event(void *self, struct rps_event *event, struct rps_error *err)
{
    const struct sim *sim = self;
    int code = rps_sim_event_asked(event->spec);
    int rc;

    if (code < 0) {
        if ((rc = rps_event_resolve(event, "/sys", err)) < 0)
            return rc;
        event->state = RPS_EVENT_UNSUPPORTED;
        snprintf(event->reason, sizeof(event->reason), "the ARM1176 does not have it");
        return 0;
    }
    event->type = RPS_EVENT_RAW;
    event->config = (uint64_t)code;
    event->state = code == SIM_CYCLES ? RPS_EVENT_MEASURED : sim->script->state[code];
    if (event->state != RPS_EVENT_MEASURED)
        snprintf(event->reason, sizeof(event->reason), "the script says %s",
                 event->state == RPS_EVENT_UNSUPPORTED ? "unsupported" : "denied");
    return 0;
}

static int sim_fits(void *self, const struct rps_event *const *event, int count)
{
    const struct sim *sim = self;

    (void)event;
    return count <= sim->script->counters;
}

static int sim_attach(void *self, const struct rps_plan *plan, const struct rps_target *target,
                      struct rps_error *err)
{
    struct sim *sim = self;

    (void)err;
    sim->set = rps_arena_get(sim->script->arena, (size_t)plan->set_count, sizeof(*sim->set));
    sim->plan = plan;
    if (target->start_at_exec) {
        sim->enabled_set = target->first_set;
        sim->clock_runs = 1;
    }
    return 0;
}

static int sim_track_count(void *self)
{
    (void)self;
    return 1;
}

static int sim_track_cpu(void *self, int track)
{
    (void)self;
    (void)track;
    return RPS_CPU_ALL;
}

static unsigned sim_width(void *self, int set, int slot)
{
    const struct sim *sim = self;

    (void)set;
    (void)slot;
    return (unsigned)sim->script->width;
}

/* Return the CPU time until the fastest counter wraps, assuming the maximum noise. If several
 * threads run, the counter wraps sooner. The lost counts are then detected. */
static int64_t find_read_within_ns(const struct sim_script *script)
{
    uint64_t fastest = 0;
    double seconds;

    if (script->width >= 62)
        return INT64_MAX;
    for (size_t i = 0; i < script->phase_count; i++)
        for (int code = 0; code < SIM_EVENT_COUNT; code++)
            if (script->phase[i].rate[code] > fastest)
                fastest = script->phase[i].rate[code];
    fastest += fastest * script->noise_ppm / 1000000 + 1;
    if (script->clock_hz > fastest)
        fastest = script->clock_hz;
    seconds = (double)(UINT64_C(1) << script->width) / (double)fastest;
    return seconds > 9e9 ? INT64_MAX : (int64_t)(seconds * 1e9);
}

static int64_t sim_read_within_ns(void *self)
{
    const struct sim *sim = self;

    return sim->read_within_ns;
}

static int64_t switch_cost(const struct sim *sim)
{
    return rps_sim_stretches_at(&sim->script->switches, sim->now_ns);
}

static int sim_enable(void *self, int set, struct rps_error *err)
{
    struct sim *sim = self;

    (void)err;
    advance(sim, sim->now_ns + switch_cost(sim));
    sim->enabled_set = set;
    return 0;
}

static int sim_disable(void *self, int set, struct rps_error *err)
{
    struct sim *sim = self;

    (void)set;
    (void)err;
    sim->enabled_set = -1;
    return 0;
}

static int sim_start(void *self, int set, struct rps_error *err)
{
    struct sim *sim = self;

    (void)err;
    sim->enabled_set = set;
    sim->clock_runs = 1;
    return 0;
}

static int sim_stop(void *self, int set, struct rps_error *err)
{
    struct sim *sim = self;

    sim->clock_runs = 0;
    return sim_disable(self, set, err);
}

static int sim_read(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err)
{
    struct sim *sim = self;

    (void)track;
    (void)err;
    if (sim->plan->set_count == 1 && sim->enabled_set >= 0)
        advance(sim, sim->now_ns + switch_cost(sim));
    memset(ret, 0, sizeof(*ret));
    ret->clock = wrapped(sim, sim->clock);
    ret->enabled_ns = sim->enabled_ns;
    ret->clock_running_ns = sim->clock_running_ns;
    ret->idle_ns = (int64_t)sim->idle_ns;
    ret->running_ns = sim->set[set].running_ns;
    for (int s = 0; s < sim->plan->set[set].event_count; s++)
        ret->value[s] = wrapped(sim, sim->set[set].value[s]);
    ret->valid = rps_sim_stretches_have(&sim->script->fail_read, sim->now_ns) ? 0 : ~UINT32_C(0);
    return 0;
}

static int sim_open_sampler(void *self, const struct rps_sampling_options *options,
                            const struct rps_target *target, struct rps_sampler *ret,
                            struct rps_error *err)
{
    struct sim *sim = self;
    int rc = rps_sampler_sim_open(&sim->sampler, sim->script, options, ret, err);

    sim->sampler.runs = rc == 0 && target->start_at_exec;
    return rc;
}

static int sim_open_system(void *self, const struct rps_system_options *options,
                           const struct rps_target *target, struct rps_system_reader *ret,
                           struct rps_error *err)
{
    struct sim *sim = self;

    (void)target;
    return rps_system_sim_open(&sim->reader, sim->script, options, ret, err);
}

static void sim_close(void *self)
{
    struct sim *sim = self;

    if (sim)
        rps_arena_free(sim->script->arena); /* also holds *sim */
}

static int sim_open(void **ret, const char *argument, struct rps_error *err)
{
    struct sim_script *script;
    struct sim *sim;
    int rc;

    if (!argument || !*argument)
        return rps_error_set(err, RPS_USAGE,
                             "--pmu sim needs a script; name one, as in --pmu sim:workload.sim");
    if ((rc = rps_sim_script_load(argument, &script, err)) < 0)
        return rc;
    sim = rps_arena_get(script->arena, 1, sizeof(*sim));
    sim->script = script;
    sim->event_loop = (struct rps_event_loop){sim, sim_now_ns, sim_wait, NULL, NULL};
    sim->read_within_ns = find_read_within_ns(sim->script); /* precomputed for use in each period */
    sim->enabled_set = -1;
    sim->phase_end_ns = phase_on(sim)->length_ns;
    begin_segment(sim, 0);
    if (sim->end_ns == 0)
        next_segment(sim);
    *ret = sim;
    return 0;
}

const struct rps_pmu rps_pmu_sim = {
    .name = "sim",
    .usage = "sim:SCRIPT",
    .summary = "a simulated ARM1176, driven by the script after the colon: sim:SCRIPT",
    .default_plan = "arm1176",
    .open = sim_open,
    .choose_clock = sim_choose_clock,
    .try_event = sim_try_event,
    .fits = sim_fits,
    .attach = sim_attach,
    .track_count = sim_track_count,
    .track_cpu = sim_track_cpu,
    .start = sim_start,
    .stop = sim_stop,
    .width = sim_width,
    .read_within_ns = sim_read_within_ns,
    .enable = sim_enable,
    .disable = sim_disable,
    .read = sim_read,
    .open_sampler = sim_open_sampler,
    .open_system = sim_open_system,
    .event_loop = sim_world,
    .outcome = sim_outcome,
    .close = sim_close,
};
