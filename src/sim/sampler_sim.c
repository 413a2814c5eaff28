/* The simulated processor's sampler. The first sample is due after half an interval, and each later
 * sample after a whole interval. An interval is a CPU time or a number of events. As a result, the
 * number of samples in whole intervals is exact.
 *
 * The shares determine the next stack: of n samples of a mix, each stack has its share of n,
 * rounded up or down. A stack's next sample must come between two sample numbers, which follow from
 * its share. Among the stacks that are eligible, the one whose sample is due first is chosen (Still
 * 1979: this always has a solution). With noise, stacks are chosen at random. */
#include "sampler_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/plan.h"
#include "rpistat/random.h"

/* Maximum number of samples that wait to be read. The limit is like the size of a ring buffer. */
#define WAIT_MAX ((size_t)1 << 20)

struct sim_taken {
    enum rps_sample_kind kind;
    int64_t time_ns;
    size_t stack;
    int line;
};

/* --- the next stack --------------------------------------------------------------------------- */

static size_t draw_at_random(const struct sim_sampler *sampler, const struct sim_mix *mix,
                             int64_t time_ns)
{
    const struct sim_stack *stack = sampler->script->code.stack;
    uint64_t random = rps_random_at(rps_random_at(sampler->script->seed, 0), (uint64_t)time_ns);
    uint32_t left = (uint32_t)(random % SIM_SHARE_ALL);
    size_t i = mix->first;

    for (; left >= stack[i].share_ppm; i++)
        left -= stack[i].share_ppm;
    return i;
}

/* Choose the next stack. The sequence repeats after SIM_SHARE_ALL samples, with exact shares. */
static size_t draw_in_turn(struct sim_sampler *sampler, size_t m)
{
    const struct sim_mix *mix = &sampler->script->code.mix[m];
    const struct sim_stack *stack = sampler->script->code.stack;
    uint64_t number = ++sampler->mix_drawn[m], first_due = UINT64_MAX;
    size_t end = mix->first + mix->count, chosen = mix->first;

    for (size_t i = mix->first; i < end; i++) {
        uint64_t drawn = sampler->stack_drawn[i], share = stack[i].share_ppm, due;

        if (drawn * SIM_SHARE_ALL >= number * share)
            continue; /* the stack already has its share */
        due = ((drawn + 1) * SIM_SHARE_ALL + share - 1) / share;
        if (due < first_due) {
            first_due = due;
            chosen = i;
        }
    }
    sampler->stack_drawn[chosen]++;
    if (number == SIM_SHARE_ALL) {
        sampler->mix_drawn[m] = 0;
        memset(&sampler->stack_drawn[mix->first], 0, mix->count * sizeof(*sampler->stack_drawn));
    }
    return chosen;
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Return a slot for another waiting sample, or NULL if there is none. */
static struct sim_taken *make_room_for_sample(struct sim_sampler *sampler)
{
    return sampler->wait_count < WAIT_MAX
               ? rps_array_add(&sampler->wait, sampler->wait_count, sizeof(*sampler->wait))
               : NULL;
}

static void take_sample(struct sim_sampler *sampler, size_t m, int64_t time_ns)
{
    const struct sim_script *script = sampler->script;
    const struct sim_stack *stack;
    struct sim_taken *taken;
    size_t i;

    if (rps_sim_stretches_have(&script->throttle, time_ns))
        return;
    i = script->noise_ppm > 0 ? draw_at_random(sampler, &script->code.mix[m], time_ns)
                              : draw_in_turn(sampler, m);
    if (rps_sim_stretches_have(&script->lose, time_ns) ||
        !(taken = make_room_for_sample(sampler))) {
        sampler->status.lost++;
        return;
    }
    stack = &script->code.stack[i];
    *taken = (struct sim_taken){RPS_SAMPLE_STACK, time_ns, i, sampler->stack_line[i]};
    sampler->wait_count++;
    sampler->stack_line[i] = (sampler->stack_line[i] + 1) %
                             script->code.function[stack->function[stack->depth - 1]].line_count;
}

/* Return the number of the event that triggers the next sample. */
static uint64_t next_due(const struct sim_sampler *sampler)
{
    const struct rps_sampling *status = &sampler->status;
    uint64_t halves = 2 * sampler->taken + 1, per_s = 2 * status->frequency;

    if (status->threshold > 0)
        return sampler->taken * status->threshold + (status->threshold + 1) / 2;
    return halves / per_s * RPS_NS_PER_S + halves % per_s * RPS_NS_PER_S / per_s;
}

static uint64_t events_until(const struct sim_going *going, int64_t time_ns)
{
    return rps_sim_events_at(going->rate, rps_sim_cpu_at(going->phase, time_ns - going->start_ns));
}

/* Return the time at which the event with that number happens. */
static int64_t when_events(const struct sim_going *going, uint64_t events)
{
    uint64_t runners = going->phase->signals.runners;
    uint64_t cpu_ns = (uint64_t)rps_sim_events_when(going->rate, events);

    return going->start_ns +
           rps_sim_events_when(rps_sim_cpu_per_s(going->phase), (cpu_ns + runners - 1) / runners);
}

void rps_sampler_sim_go(struct sim_sampler *sampler, const struct sim_going *going)
{
    const struct sim_stretches *list = &sampler->script->throttle;
    uint64_t before = events_until(going, going->from_ns);
    uint64_t after = events_until(going, going->to_ns);

    for (; sampler->throttle < list->count && list->item[sampler->throttle].at_ns < going->to_ns;
         sampler->throttle++)
        sampler->status.throttled++;
    while (going->rate > 0) {
        uint64_t due = next_due(sampler);
        uint64_t left = due > sampler->passed ? due - sampler->passed : 0;
        int64_t time_ns;

        if (left > after - before)
            break;
        time_ns = when_events(going, before + left);
        if (sampler->status.threshold > 0)
            time_ns--; /* the event was counted in the previous nanosecond */
        if (time_ns >= going->to_ns)
            break; /* the next interval begins with this event */
        if (going->phase->mix >= 0)
            take_sample(sampler, (size_t)going->phase->mix, time_ns);
        sampler->taken++;
    }
    sampler->passed += after - before;
}

/* Start or end the waits of all threads of a phase. */
static void take_waits(struct sim_sampler *sampler, const struct sim_phase *sleep,
                       enum rps_sample_kind kind, int64_t time_ns)
{
    const int is_known = sleep->mix >= 0;
    const struct sim_mix *mix =
        &sampler->script->code.mix[is_known ? sleep->mix : sampler->ran->mix];

    if (!is_known && kind == RPS_SAMPLE_WAIT)
        kind = RPS_SAMPLE_ASLEEP;
    for (size_t i = mix->first; i < mix->first + mix->count; i++) {
        struct sim_taken *taken = rps_sim_stretches_have(&sampler->script->lose, time_ns)
                                      ? NULL
                                      : make_room_for_sample(sampler);

        if (taken) {
            *taken = (struct sim_taken){kind, time_ns, i, 0};
            sampler->wait_count++;
        }
        sampler->status.switches_lost += !taken;
    }
}

void rps_sampler_sim_wait(struct sim_sampler *sampler, const struct sim_phase *phase,
                          int64_t from_ns, int64_t to_ns)
{
    const struct sim_phase *sleep = sampler->sleep;

    sampler->now_ns = to_ns;
    sampler->sleep = phase->sleeping && (phase->mix >= 0 || sampler->ran) ? phase : NULL;
    if (sampler->status.has_waits && sampler->runs && sampler->sleep != sleep) {
        if (sleep)
            take_waits(sampler, sleep, RPS_SAMPLE_AWAKE, from_ns);
        if (sampler->sleep)
            take_waits(sampler, sampler->sleep, RPS_SAMPLE_WAIT, from_ns);
    }
    if (!phase->sleeping && phase->mix >= 0)
        sampler->ran = phase;
}

/* --- output ----------------------------------------------------------------------------------- */

static void report_names(const struct sim_code *code, const struct rps_sample_sink *sink)
{
    for (size_t i = 0; i < code->function_count; i++) {
        const struct sim_function *function = &code->function[i];

        for (int line = 0; line < function->line_count; line++) {
            uint64_t address = rps_sim_code_line_address(function, line);
            struct rps_sample symbol = {
                .kind = RPS_SAMPLE_SYMBOL,
                .map_address = address,
                .map_length = rps_sim_code_line_address(function, line + 1) - address,
                .path = function->name,
                .source_file = function->file,
                .source_line = function->file ? function->line + line : 0,
            };

            sink->sample(sink->context, &symbol);
        }
    }
    for (size_t i = 0; i < code->task_count; i++) {
        const struct sim_task *task = &code->task[i];
        struct rps_sample name = {
            .kind = RPS_SAMPLE_NAME, .pid = task->pid, .tid = task->tid, .path = task->name};

        sink->sample(sink->context, &name);
        name.kind = RPS_SAMPLE_CGROUP;
        name.path = task->cgroup;
        if (name.path)
            sink->sample(sink->context, &name);
    }
}

/* Pass on a sample. A call's return address is the end of the calling function, as if the call were
 * its last instruction. The address of the function that entered the kernel is its start. */
static void hand_over_taken(const struct sim_sampler *sampler, const struct sim_taken *taken,
                            const struct rps_sample_sink *sink)
{
    const struct sim_code *code = &sampler->script->code;
    const struct sim_stack *stack = &code->stack[taken->stack];
    const struct sim_task *task = &code->task[stack->task];
    uint64_t address[RPS_SAMPLE_DEPTH_MAX];
    struct rps_sample sample = {
        .kind = taken->kind,
        .time_ns = taken->time_ns,
        .pid = task->pid,
        .tid = task->tid,
        .address = address,
        .address_count = sampler->innermost ? 1 : stack->depth,
        .kernel_count = stack->kernel_count,
    };

    for (size_t i = 0; i < sample.address_count; i++) {
        const struct sim_function *function =
            &code->function[stack->function[stack->depth - 1 - i]];

        address[i] = function->address;
        if (i == 0)
            address[i] = rps_sim_code_line_address(function, taken->line);
        else if (i != stack->kernel_count)
            address[i] += function->length;
    }
    if (sample.kernel_count > sample.address_count)
        sample.kernel_count = sample.address_count;
    sink->sample(sink->context, &sample);
}

static int sampler_start(void *self, struct rps_error *err)
{
    struct sim_sampler *sampler = self;

    (void)err;
    sampler->runs = 1;
    return 0;
}

static int sampler_stop(void *self, struct rps_error *err)
{
    struct sim_sampler *sampler = self;

    (void)err;
    sampler->runs = 0;
    if (sampler->status.has_waits && sampler->sleep)
        take_waits(sampler, sampler->sleep, RPS_SAMPLE_AWAKE, sampler->now_ns);
    return 0;
}

static int sampler_drain(void *self, int64_t until_ns, const struct rps_sample_sink *sink,
                         struct rps_error *err)
{
    struct sim_sampler *sampler = self;
    size_t done = 0;

    (void)err;
    if (!sampler->told)
        report_names(&sampler->script->code, sink);
    sampler->told = 1;
    for (; done < sampler->wait_count && sampler->wait[done].time_ns < until_ns; done++)
        hand_over_taken(sampler, &sampler->wait[done], sink);
    sampler->wait_count -= done;
    if (done > 0)
        memmove(sampler->wait, sampler->wait + done, sampler->wait_count * sizeof(*sampler->wait));
    return 0;
}

static void sampler_status(void *self, struct rps_sampling *ret)
{
    const struct sim_sampler *sampler = self;

    *ret = sampler->status;
}

static void sampler_close(void *self)
{
    struct sim_sampler *sampler = self;

    if (!sampler)
        return;
    free(sampler->wait);
    *sampler = (struct sim_sampler){0};
}

/* --- opening ---------------------------------------------------------------------------------- */

static int choose_event(struct sim_sampler *sampler, const char *name, struct rps_error *err)
{
    static const char *const clocks[] = {"cpu-clock", "task-clock"};

    if (!name)
        name = clocks[0];
    snprintf(sampler->status.event, sizeof(sampler->status.event), "%s", name);
    sampler->event = SIM_TIME;
    if (strcmp(name, clocks[0]) == 0 || strcmp(name, clocks[1]) == 0)
        return 0;
    sampler->event = rps_sim_event_asked(name);
    if (sampler->event < 0)
        return rps_error_set(err, RPS_USAGE, "'%s' is not an event of the ARM1176", name);
    if (sampler->event < SIM_EVENT_COUNT &&
        sampler->script->state[sampler->event] != RPS_EVENT_MEASURED)
        return rps_error_set(err, RPS_FAILED, "%s cannot be sampled, because the script forbids it",
                             name);
    return 0;
}

static int choose_stacks(struct sim_sampler *sampler, enum rps_stacks stacks, struct rps_error *err)
{
    if (stacks != RPS_STACKS_AUTO && stacks != RPS_STACKS_FP && stacks != RPS_STACKS_NONE)
        return rps_error_set(
            err, RPS_FAILED,
            "the simulated processor has stacks by frame pointers only; use --stacks fp or none");
    sampler->innermost = stacks == RPS_STACKS_NONE;
    strcpy(sampler->status.stacks, sampler->innermost          ? "none"
                                   : stacks == RPS_STACKS_AUTO ? "auto"
                                                               : "fp");
    return 0;
}

int rps_sampler_sim_open(struct sim_sampler *sampler, const struct sim_script *script,
                         const struct rps_sampling_options *options, struct rps_sampler *ret,
                         struct rps_error *err)
{
    const struct sim_code *code = &script->code;
    int rc;

    *sampler = (struct sim_sampler){.script = script};
    if ((rc = choose_event(sampler, options->event, err)) < 0 ||
        (rc = choose_stacks(sampler, options->stacks, err)) < 0)
        return rc;
    sampler->status.has_waits = sampler->status.blocked_of = options->waits;
    sampler->status.threshold = options->threshold;
    if (options->threshold == 0)
        sampler->status.frequency =
            options->frequency ? options->frequency : RPS_SAMPLE_FREQUENCY_DEFAULT;
    sampler->mix_drawn = rps_arena_get(script->arena, code->mix_count, sizeof(*sampler->mix_drawn));
    sampler->stack_drawn =
        rps_arena_get(script->arena, code->stack_count, sizeof(*sampler->stack_drawn));
    sampler->stack_line =
        rps_arena_get(script->arena, code->stack_count, sizeof(*sampler->stack_line));
    *ret = (struct rps_sampler){.self = sampler,
                                .start = sampler_start,
                                .stop = sampler_stop,
                                .drain = sampler_drain,
                                .status = sampler_status,
                                .close = sampler_close};
    return 0;
}
