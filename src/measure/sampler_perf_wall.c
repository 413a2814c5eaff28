/*
 * perf_event: which switches have their stack recorded. Each stack costs up to 17 us of CPU time.
 * The kernel's sampling period would miss the few long waits of a thread, because each thread has
 * its own period. So all stacks are recorded up to a rate, and above it those of some windows. The
 * window is drawn at random, so that no rhythm of the workload is missed. Switches in other windows
 * record their place, which takes about 1 us.
 */
#include "sampler_perf.h"

#include "rpistat/clock.h"
#include "rpistat/random.h"

static uint32_t choose_windows(double rate, int was_off)
{
    double windows = rate / RPS_PERF_WAITS_PER_S;

    if (rate > (was_off ? RPS_PERF_SWITCHES_AGAIN : RPS_PERF_SWITCHES_MAX))
        return 0;
    return windows <= 1                      ? 1
           : windows >= RPS_PERF_WINDOWS_MAX ? RPS_PERF_WINDOWS_MAX
                                             : (uint32_t)windows + 1;
}

void rps_perf_wall_init(struct rps_perf_wall *wall, uint64_t seed, int64_t now_ns)
{
    *wall = (struct rps_perf_wall){.seed = seed, .of = 1};
    wall->takes_stacks = wall->hears_switches = 1;
    rps_perf_wall_resume(wall, now_ns);
}

void rps_perf_wall_resume(struct rps_perf_wall *wall, int64_t now_ns)
{
    wall->window_ns = wall->heard_ns = now_ns;
}

/* Compute the switches per second since the previous reading, if all of that time was recorded. */
static void find_rate(struct rps_perf_wall *wall, uint64_t switches, int64_t until_ns)
{
    if (wall->hears_switches && wall->until_ns >= wall->heard_ns && until_ns > wall->until_ns)
        wall->rate = (double)(switches - wall->switches) / (double)(until_ns - wall->until_ns) *
                     (double)RPS_NS_PER_S;
    wall->switches = switches;
    wall->until_ns = until_ns;
}

int rps_perf_wall_step(struct rps_perf_wall *wall, uint64_t switches, int64_t until_ns,
                       int64_t now_ns)
{
    const int takes_stacks = wall->takes_stacks, hears_switches = wall->hears_switches;
    const int were_too_many = wall->of == 0;

    if (now_ns - wall->window_ns <
        RPS_PERF_WINDOW_NS / 100 * 95) /* periods may be some microseconds shorter */
        return 0;
    find_rate(wall, switches, until_ns);
    wall->window_ns = now_ns;
    if (++wall->at >= (wall->of > 0 ? wall->of : RPS_PERF_WINDOWS_MAX)) {
        wall->of = choose_windows(wall->rate, wall->of == 0);
        wall->at = 0;
        wall->place = (uint32_t)(rps_random_unit(&wall->seed) * wall->of);
    }
    wall->takes_stacks = wall->of > 0 && wall->at == wall->place;
    /* the last one reads the records of the one before, or a little earlier */
    wall->hears_switches = wall->of > 0 || wall->at + 3 >= RPS_PERF_WINDOWS_MAX;
    if (wall->hears_switches && !hears_switches)
        wall->heard_ns = now_ns;
    return wall->takes_stacks != takes_stacks || wall->hears_switches != hears_switches ||
           (wall->of == 0) != were_too_many;
}
