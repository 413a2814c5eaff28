/* regions: measures the cost of an entry of a region, for tests/bench/run.
 *
 * usage: regions RESULT SETS
 *
 * RESULT receives lines "NAME FIGURE" in ps, each the minimum of several rounds. `unmeasured` is an
 * entry (begin and end) of a program that does not measure itself. `measured` is an entry of a
 * program that counts the document SETS. `read` is a plain read() of the group of the same
 * counters. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "region/state.h"
#include "region/counters.h"
#include "rpistat/clock.h"
#include "rpistat/region.h"

#define ROUNDS  200
#define ENTRIES 200

static int64_t least(int64_t before_ps, int64_t begin_ns)
{
    int64_t ps = (rps_clock_monotonic_ns() - begin_ns) * 1000 / ENTRIES;

    return before_ps == 0 || ps < before_ps ? ps : before_ps;
}

static void enter(void)
{
    for (int i = 0; i < ENTRIES; i++) {
        rps_region_begin("multiply");
        rps_region_end("multiply");
    }
}

/* Read the counter group as often as the region is entered. Return 0 if all reads succeed. */
static int read_group(const struct rps_counters *counters)
{
    uint64_t group[3 + RPS_COUNTERS_MAX];

    for (int i = 0; i < ENTRIES; i++)
        if (read(counters->counter[0].fd, group, sizeof(group)) < 0)
            return -1;
    return 0;
}

int main(int argc, char *argv[])
{
    int64_t unmeasured = 0, measured = 0, bare = 0, begin_ns;
    struct rps_counters counters;
    struct rps_region_choice choice;
    struct rps_error err;
    FILE *file;
    int failed = 0;

    if (argc != 3 || rps_choice_make(&choice, argv[2]) < 0 || !(file = fopen(argv[1], "w"))) {
        fprintf(stderr, "usage: regions RESULT SETS\n");
        return 2;
    }
    for (int i = 0; i < ROUNDS && !failed; i++) {
        enter(); /* The first entry registers a new region with a recorder, if there is one. */
        begin_ns = rps_clock_monotonic_ns();
        enter();
        unmeasured = least(unmeasured, begin_ns);
        failed |= rps_region_open(argv[2]) < 0;
        begin_ns = rps_clock_monotonic_ns();
        enter();
        measured = least(measured, begin_ns);
        rps_region_close();
        failed |= rps_counters_open(&counters, choice.plan, choice.set, &err) < 0;
        begin_ns = rps_clock_monotonic_ns();
        failed |= read_group(&counters) < 0;
        bare = least(bare, begin_ns);
        rps_counters_close(&counters, 0);
    }
    rps_choice_free(&choice);
    fprintf(file, "unmeasured %lld\nmeasured %lld\nread %lld\n", (long long)unmeasured,
            (long long)measured, (long long)bare);
    return fclose(file) != 0 || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
