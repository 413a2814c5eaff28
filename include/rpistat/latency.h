/* Weights of samples by latency, the time for which code lengthens a run. The time in which at
 * least one thread ran or waited for a CPU is divided among the samples of that time. While n
 * threads run, a sample has 1 / n of its interval; n is the mean of a period of the store. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/error.h"
#include "rpistat/run_part.h"

struct rps_reader;

struct rps_latency {
    size_t count;
    struct rps_latency_from {
        uint64_t period; /* First period with this weight, in ascending order */
        double us;       /* Weight of a sample, in us */
    } * from;
    double length_s, cpu_s; /* Sums over the part: length of the periods, CPU time of all threads */
    double wait_s;          /* Time that threads waited for a CPU; has_waits 0: not recorded */
    double gap_s;           /* Time of gaps between the periods of the part */
    double busy_s;          /* Estimated time in which a thread ran or waited for a CPU */
    int has_waits;
};

/* If the part has is_latency, but no weights yet, read them into part->latency, in the arena.
 * RPS_FAILED: the run recorded CPUs, or its samples were not taken by time. */
int rps_latency_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                     const struct rps_code *code, struct rps_run_part *part, struct rps_error *err);

/* Return the latency, in us, of a number of samples of a period. */
double rps_latency_us(const struct rps_latency *latency, uint64_t period, uint64_t samples);
