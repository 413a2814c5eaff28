/*
 * CPU series: the periods of a run as the user wants to look at them, CPU by CPU or added up.
 */
#ifndef RPISTAT_SHOW_CPU_SERIES_H
#define RPISTAT_SHOW_CPU_SERIES_H

#include "rpistat/cpus.h"
#include "rpistat/store.h"

#define RPS_CPU_SERIES_TEXT_SIZE 256

struct rps_cpu_series {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id, from_ns, to_ns;
    int by_cpu;           /* 0: one series, that of the whole workload */
    int count;            /* CPUs that were asked for and have periods in that part */
    int32_t *cpu;         /* owned; ascending */
    uint64_t first, last; /* numbers of their periods */
    uint64_t first_rotation, last_rotation;
};

/*
 * Find the CPUs of the part [from_ns, to_ns) of a run. Costs a walk over the periods when they
 * were recorded by CPU, else nothing. RPS_FAILED: the store's errors; CPUs that are asked for and
 * were not recorded. Free in both cases.
 */
int rps_cpu_series_open(struct rps_cpu_series *series, struct rps_reader *reader, int64_t run_id,
                        int64_t from_ns, int64_t to_ns, const struct rps_cpus *cpus,
                        struct rps_error *err);

/* An all-zero struct is harmless. */
void rps_cpu_series_free(struct rps_cpu_series *series);

/* One period; a result that is not 0 ends the walk, which returns it when it is negative. */
typedef int rps_cpu_series_each(void *context, const struct rps_period *period,
                                struct rps_error *err);

/* Call `each` for the periods of all CPUs as they are stored: CPU by CPU, in their order. */
int rps_cpu_series_walk(const struct rps_cpu_series *series, rps_cpu_series_each *each,
                        void *context, struct rps_error *err);

/*
 * The same with the CPUs added up: one period (of RPS_CPU_ALL) for all those of the same number.
 * Counts and times of counting are sums, the length is that of one. A single series is walked as it
 * is.
 */
int rps_cpu_series_walk_sum(const struct rps_cpu_series *series, rps_cpu_series_each *each,
                            void *context, struct rps_error *err);

/* "CPU 2", "CPUs 0-3,8"; "" for the series of a workload. Needs RPS_CPU_SERIES_TEXT_SIZE bytes; returns
 * ret. */
char *rps_cpu_series_name(char *ret, const struct rps_cpu_series *series);

#endif
