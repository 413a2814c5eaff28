/* The choice of CPUs to show from a recording by CPU (`record -a`). The output has one line or row
 * per CPU, or their sum. A recording of a whole workload has one series and no choice. */
#pragma once

enum rps_cpus_way {
    RPS_CPUS_CHOSEN, /* Automatic: reports show the sum, exports show each CPU, and pictures show
                        the sum above RPS_CPUS_LINE_MAX CPUs. */
    RPS_CPUS_EACH,   /* Each CPU has its own line or row. */
    RPS_CPUS_SUM,    /* Periods with the same number are added up over all CPUs. */
};

/* Maximum number of CPUs in a picture with one line per CPU. For more CPUs, a picture shows the
 * median and the band from 10 % to 90 %. In drawings in characters, the maximum is
 * RPS_CPUS_MARK_MAX. */
#define RPS_CPUS_LINE_MAX 16
#define RPS_CPUS_MARK_MAX 7

/* Chosen CPUs. All zero: all CPUs, shown as suits the output. */
struct rps_cpus {
    enum rps_cpus_way way;
    const int *cpu; /* CPUs to show, in any order (borrowed) */
    int count;      /* Number of CPUs (0: all CPUs of the recording) */
    int if_there;   /* 1: ignore a listed CPU without data; 0: report an error */
};
