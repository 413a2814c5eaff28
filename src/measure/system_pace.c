/* The interval between readings of system metrics: a whole multiple of the period. The multiple is
 * adjusted to the cost of the readings. */
#include "rpistat/system_pace.h"

#include <math.h>
#include <stdio.h>

#include "rpistat/loop.h"
#include "rpistat/text.h"

#define COSTS_MIN    3 /* the first reading opens files, so its cost is not typical */
#define SHRINK_FIRST 16
#define SHRINK_MAX   1024

/* Minimum interval that a mark reports. Shorter intervals are hardly noticeable. */
#define NOTED_NS RPS_NS_PER_S

void rps_system_pace_init(struct rps_system_pace *pace, int64_t period_ns, double budget)
{
    *pace = (struct rps_system_pace){.period_ns = period_ns,
                                     .allowed_ns = budget * (double)period_ns,
                                     .factor = 1,
                                     .shrink_after = SHRINK_FIRST};
}

void rps_system_pace_begin(struct rps_system_pace *pace, int64_t time_ns)
{
    pace->last_ns = time_ns;
}

int rps_system_pace_due(const struct rps_system_pace *pace, int64_t time_ns)
{
    return time_ns - pace->last_ns >= pace->factor * pace->period_ns - pace->period_ns / 2;
}

static double mean_cost(const struct rps_system_pace *pace)
{
    uint64_t count =
        pace->readings < RPS_SYSTEM_PACE_COSTS ? pace->readings : RPS_SYSTEM_PACE_COSTS;
    double sum = 0;

    for (uint64_t i = 0; i < count; i++)
        sum += (double)pace->cost_ns[i];
    return sum / (double)count;
}

/* Return the factor that keeps readings of this cost within the budget. */
static int64_t factor_for(const struct rps_system_pace *pace, double cost_ns)
{
    const int64_t most = RPS_PERIOD_MAX_NS / pace->period_ns;
    double factor = ceil(cost_ns / pace->allowed_ns);

    if (factor >= (double)most)
        return most > 1 ? most : 1;
    return factor < 1 ? 1 : (int64_t)factor;
}

/* Return 1 if the factor may shrink, after enough cheap readings. Without this hysteresis the
 * factor would follow costs that rise and fall forever. */
static int may_shrink(struct rps_system_pace *pace, double cost_ns)
{
    int smaller = pace->factor > 1 && cost_ns < (double)pace->factor * pace->allowed_ns / 2;

    pace->cheap = smaller ? pace->cheap + 1 : 0;
    return pace->cheap >= pace->shrink_after;
}

void rps_system_pace_spent(struct rps_system_pace *pace, int64_t time_ns, int64_t cost_ns,
                           const char *what, char *note, size_t size)
{
    char length[RPS_TEXT_NUMBER_SIZE];
    int64_t factor, longer;
    double mean;

    note[0] = '\0';
    pace->last_ns = time_ns;
    pace->cost_ns[pace->readings++ % RPS_SYSTEM_PACE_COSTS] = cost_ns;
    mean = mean_cost(pace);
    factor = factor_for(pace, mean);
    if (pace->readings < COSTS_MIN || (factor <= pace->factor && !may_shrink(pace, mean)))
        return;
    if (factor > pace->factor && pace->shrunk && pace->shrink_after < SHRINK_MAX)
        pace->shrink_after *= 2;
    pace->shrunk = factor < pace->factor;
    longer = factor > pace->factor ? factor : pace->factor;
    pace->factor = factor;
    pace->readings = 0; /* older costs must not raise the factor again */
    pace->cheap = 0;
    if (longer * pace->period_ns >= NOTED_NS)
        snprintf(note, size, "system metrics are read every %s: %s",
                 rps_text_duration(length, sizeof(length), factor * pace->period_ns), what);
}
