/* Results of regions: values for programs, and the report for users. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/region.h"
#include "rpistat/text.h"

#define LABEL_WIDTH 24

/* --- figures ---------------------------------------------------------------------------------- */

/* Return the scaled count of a counter; NaN if unknown. */
static double estimate(const struct rps_sums *sums, int counter)
{
    if (sums->lost & (UINT32_C(1) << counter))
        return NAN;
    if (sums->enabled_ns <= sums->running_ns)
        return (double)sums->value[counter];
    if (sums->running_ns == 0)
        return NAN;
    return (double)sums->value[counter] * ((double)sums->enabled_ns / (double)sums->running_ns);
}

/* Return the scaled count of an event of the chosen set. */
static double slot_estimate(const struct rps_region_choice *choice, const struct rps_sums *sums,
                            int slot)
{
    int by_clock = choice->plan->set[choice->set].event[slot].by_clock;

    return estimate(sums, by_clock ? 0 : slot + 1);
}

/* Return the operands of the plan's formulas in a new array; NULL without memory. */
static double *operands(const struct rps_region_choice *choice, const struct rps_sums *sums)
{
    int count = rps_plan_operand_count(choice->plan);
    double *operand = malloc((size_t)count * sizeof(*operand));

    for (int i = 0; operand && i < count; i++)
        operand[i] = NAN;
    if (!operand)
        return NULL;
    operand[RPS_OPERAND_CLOCK] = estimate(sums, 0);
    operand[RPS_OPERAND_SECONDS] = (double)sums->elapsed_ns / RPS_NS_PER_S;
    if (!(sums->lost & 1))
        operand[RPS_OPERAND_CPU_SECONDS] = (double)sums->enabled_ns / RPS_NS_PER_S;
    for (int s = 0; s < choice->plan->set[choice->set].event_count; s++)
        operand[RPS_OPERAND_EVENTS + choice->set * RPS_SLOT_MAX + s] =
            slot_estimate(choice, sums, s);
    return operand;
}

static double metric_value(const struct rps_region_choice *choice, const struct rps_sums *sums,
                           const struct rps_metric *metric)
{
    double *operand = operands(choice, sums);
    double value = operand ? rps_formula_value(&metric->formula, operand) : NAN;

    free(operand);
    return value;
}

static double figure(const struct rps_region_choice *choice, const struct rps_sums *sums,
                     const char *what)
{
    double value = NAN, *operand;
    int index;

    if (!choice->plan)
        return strcmp(what, "seconds") == 0 ? (double)sums->elapsed_ns / RPS_NS_PER_S : NAN;
    index = rps_plan_operand(choice->plan, what);
    if (index >= 0) {
        operand = operands(choice, sums);
        value = operand ? operand[index] : NAN;
        free(operand);
        return value;
    }
    index = rps_plan_metric(choice->plan, what);
    return index >= 0 ? metric_value(choice, sums, &choice->plan->metric[index]) : NAN;
}

/* Find the sums of a region (NULL: of the empty region). Return 0, or -1 if there is none. */
static int find_sums(const struct rps_region_state *state, const char *name, struct rps_sums *ret)
{
    const struct rps_region *region;

    if (!name) {
        *ret = state->empty;
        return state->opened ? 0 : -1;
    }
    region = rps_region_state_find(state, name);
    if (region)
        rps_region_state_sum(region, ret);
    return region ? 0 : -1;
}

double rps_region_value(const char *name, const char *what)
{
    const struct rps_region_state *state = rps_region_state_lock();
    struct rps_sums sums;
    int is_known = find_sums(state, name, &sums) == 0 && (!name || sums.entered > 0);
    double value = is_known ? figure(&state->choice, &sums, what) : NAN;

    rps_region_state_unlock();
    return value;
}

int rps_region_get(const char *name, struct rps_region_times *ret)
{
    const struct rps_region_state *state = rps_region_state_lock();
    struct rps_sums sums;
    int result = find_sums(state, name, &sums);

    if (result == 0)
        *ret = (struct rps_region_times){
            .entered = sums.entered,
            .elapsed_ns = sums.elapsed_ns,
            .enabled_ns = sums.enabled_ns,
            .running_ns = sums.running_ns,
            .left = sums.left,
            .open = sums.open,
        };
    rps_region_state_unlock();
    return result;
}

int rps_region_count(void)
{
    const struct rps_region_state *state = rps_region_state_lock();
    int count = 0;

    for (const struct rps_region *region = state->first; region; region = region->next)
        count++;
    rps_region_state_unlock();
    return count;
}

const char *rps_region_name(int region)
{
    const struct rps_region_state *state = rps_region_state_lock();
    const struct rps_region *at = region >= 0 ? state->first : NULL;

    while (at && region-- > 0)
        at = at->next;
    rps_region_state_unlock();
    return at ? at->name : NULL;
}

static const char *problem_of(const struct rps_region_state *state)
{
    return state->opened ? state->choice.problem
                         : "nothing is counted: the program did not call rps_region_open";
}

const char *rps_region_problem(void)
{
    const char *problem = problem_of(rps_region_state_lock());

    rps_region_state_unlock();
    return problem;
}

static const char *way_of(const struct rps_region_state *state)
{
    if (!state->counting)
        return "not at all";
    return state->from_user ? "without a system call" : "with a system call";
}

const char *rps_region_way(void)
{
    const char *way = way_of(rps_region_state_lock());

    rps_region_state_unlock();
    return way;
}

static struct rps_region_item event_item(const struct rps_event *event, enum rps_region_kind kind)
{
    return (struct rps_region_item){
        .kind = kind,
        .name = event->name,
        .label = event->label,
        .unit = event->unit,
        .reason = event->state == RPS_EVENT_MEASURED ? "" : event->reason,
    };
}

/* Return why a metric has no value: the reason why an event in its formula was not counted. */
static const char *metric_reason(const struct rps_plan *plan, const struct rps_metric *metric)
{
    for (int i = 0; i < metric->formula.step_count; i++) {
        const struct rps_formula_step *step = &metric->formula.step[i];
        int place = step->operand - RPS_OPERAND_EVENTS;
        const struct rps_event *event;

        if (step->op != RPS_FORMULA_OPERAND || place < 0)
            continue;
        event = &plan->set[place / RPS_SLOT_MAX].event[place % RPS_SLOT_MAX];
        if (event->state != RPS_EVENT_MEASURED)
            return event->reason;
    }
    return "";
}

static int find_item(const struct rps_plan *plan, int number, struct rps_region_item *ret)
{
    if (!plan || number < 0)
        return -1;
    if (number == 0) {
        *ret = event_item(&plan->clock, RPS_REGION_CLOCK);
        return 0;
    }
    number--;
    for (int n = 0; n < plan->set_count; number -= plan->set[n++].event_count) {
        if (number < plan->set[n].event_count) {
            *ret = event_item(&plan->set[n].event[number], RPS_REGION_EVENT);
            return 0;
        }
    }
    if (number >= plan->metric_count)
        return -1;
    *ret = (struct rps_region_item){
        .kind = RPS_REGION_METRIC,
        .name = plan->metric[number].name,
        .label = plan->metric[number].label,
        .unit = plan->metric[number].unit,
        .reason = metric_reason(plan, &plan->metric[number]),
    };
    return 0;
}

int rps_region_item(int number, struct rps_region_item *ret)
{
    int result = find_item(rps_region_state_lock()->choice.plan, number, ret);

    rps_region_state_unlock();
    return result;
}

/* --- for users -------------------------------------------------------------------------------- */

static void print_label(FILE *out, const char *label)
{
    char printable[2 * RPS_NAME_SIZE];
    int length;

    rps_text_printable(printable, sizeof(printable), label);
    length = (int)strlen(printable) + 1;
    fprintf(out, "  %s:%*s", printable, length < LABEL_WIDTH ? LABEL_WIDTH - length : 1, "");
}

static void print_count(FILE *out, const struct rps_event *event, double count, uint64_t entered)
{
    const char *unit = strcmp(event->unit, "ns") == 0 ? " ns" : "";

    if (event->state != RPS_EVENT_MEASURED)
        return;
    print_label(out, event->label);
    if (isnan(count))
        fprintf(out, "%18s", "not counted");
    else
        fprintf(out, "%18.0f%s", count, unit);
    if (!isnan(count) && entered > 1)
        fprintf(out, "%18.1f%s each", count / (double)entered, unit);
    fputc('\n', out);
}

static void print_metrics(FILE *out, const struct rps_region_choice *choice,
                          const struct rps_sums *sums)
{
    for (int i = 0; i < choice->plan->metric_count; i++) {
        const struct rps_metric *metric = &choice->plan->metric[i];
        double value = metric_value(choice, sums, metric);

        if (isnan(value))
            continue;
        print_label(out, metric->label);
        fprintf(out, "%18.2f%s%s\n", value, metric->unit[0] ? " " : "", metric->unit);
    }
}

static void print_entered(FILE *out, const struct rps_sums *sums)
{
    unsigned long long open = sums->open, left = sums->left;

    print_label(out, "Entered");
    if (sums->entered > 0)
        fprintf(out, "%18llu\n", (unsigned long long)sums->entered);
    else
        fprintf(out, "%18s\n", "not ended");
    if (open > 0)
        fprintf(out, "  %llu %s not ended\n", open, open == 1 ? "entry has" : "entries have");
    if (left == 1)
        fputs("  1 entry was left without its end\n", out);
    if (left > 1)
        fprintf(out, "  %llu entries were left without their end\n", left);
}

static void print_region(FILE *out, const struct rps_region_choice *choice, const char *name,
                         const struct rps_sums *sums)
{
    const struct rps_event_set *set = choice->plan ? &choice->plan->set[choice->set] : NULL;

    fputs("\nRegion ", out);
    rps_text_print(out, name);
    fputc('\n', out);
    print_entered(out, sums);
    if (sums->entered == 0)
        return;
    print_label(out, "Elapsed");
    fprintf(out, "%18.6f s", (double)sums->elapsed_ns / RPS_NS_PER_S);
    if (sums->entered > 1)
        fprintf(out, "%16.0f ns each", (double)sums->elapsed_ns / (double)sums->entered);
    fputc('\n', out);
    if (!set)
        return;
    print_label(out, "CPU time");
    fprintf(out, "%18.6f s\n", (double)sums->enabled_ns / RPS_NS_PER_S);
    print_count(out, &choice->plan->clock, estimate(sums, 0), sums->entered);
    for (int s = 0; s < set->event_count; s++)
        print_count(out, &set->event[s], slot_estimate(choice, sums, s), sums->entered);
    print_metrics(out, choice, sums);
    if (sums->running_ns * 1.01 < sums->enabled_ns)
        fprintf(out, "  scaled: the events were on the counters %.1f %% of the CPU time\n",
                100.0 * (double)sums->running_ns / (double)sums->enabled_ns);
}

static void print_problem(FILE *out, const char *problem)
{
    for (const char *line = problem; *line;) {
        int length = (int)strcspn(line, "\n");

        fprintf(out, "  %.*s\n", length, line);
        line += length;
        line += *line == '\n';
    }
}

/* Print the overhead that one entry adds to the values. */
static void print_added(FILE *out, const struct rps_region_choice *choice,
                        const struct rps_sums *sums)
{
    double clock = estimate(sums, 0);
    double instructions = figure(choice, sums, "instructions");

    fprintf(out, "%llu ns", (unsigned long long)sums->elapsed_ns);
    if (choice->plan && !isnan(clock) && strcmp(choice->plan->clock.unit, "ns") != 0)
        fprintf(out, ", %.0f %s", clock, choice->plan->clock.label);
    if (!isnan(instructions))
        fprintf(out, ", %.0f instructions", instructions);
}

static void print_cost(FILE *out, const struct rps_region_state *state)
{
    fprintf(out, "  counters are read %s\n  each entry adds ", way_of(state));
    print_added(out, &state->choice, &state->empty);
    fputs(" to its own values\n  and ", out);
    print_added(out, &state->choice, &state->around);
    fputs(" to those of a region around it\n", out);
}

void rps_region_report(FILE *out)
{
    const struct rps_region_state *state = rps_region_state_lock();

    fputs("Self-measurement", out);
    if (state->choice.plan) {
        fputs(" of ", out);
        rps_text_print(out, state->choice.plan->title);
    }
    fputc('\n', out);
    if (state->opened)
        print_cost(out, state);
    print_problem(out, problem_of(state));
    for (const struct rps_region *region = state->first; region; region = region->next) {
        struct rps_sums sums;

        rps_region_state_sum(region, &sums);
        print_region(out, &state->choice, region->name, &sums);
    }
    rps_region_state_unlock();
}
