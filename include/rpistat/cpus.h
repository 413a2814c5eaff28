/*
 * Which CPUs of a recording by CPU (`record -a`) are looked at, and how: a line or a row each, or
 * added up. A recording of a workload as a whole has one track, and nothing to choose.
 */
#ifndef RPISTAT_CPUS_H
#define RPISTAT_CPUS_H

enum rps_cpus_way {
    RPS_CPUS_CHOSEN, /* as suits what is made: the report adds up, exports do not, pictures do above
                        RPS_CPUS_LINE_MAX CPUs */
    RPS_CPUS_EACH,   /* side by side */
    RPS_CPUS_SUM,    /* periods of the same number added up to one of the whole machine */
};

/* CPUs that have a line each in a picture; of more, the median and the band from 10 % to 90 % of
 * them are drawn. Drawings in characters have RPS_CPUS_MARK_MAX. */
#define RPS_CPUS_LINE_MAX 16
#define RPS_CPUS_MARK_MAX 7

/* All zero: all CPUs, the way chosen. */
struct rps_cpus {
    enum rps_cpus_way way;
    const int *cpu; /* borrowed: these only, in any order */
    int count;      /* 0: all CPUs of the recording */
    int if_there;   /* 1: one of these that has nothing there is no error */
};

#endif
