/*
 * Tracks: the periods of a run as the user wants to look at them, CPU by CPU or added up.
 */
#ifndef RPISTAT_SHOW_TRACKS_H
#define RPISTAT_SHOW_TRACKS_H

#include "rpistat/cpus.h"
#include "rpistat/store.h"

#define RPS_TRACKS_TEXT_SIZE 256

struct rps_tracks {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id, from_ns, to_ns;
    int by_cpu;           /* 0: one track, that of the whole workload */
    int count;            /* CPUs that were asked for and have periods in that part */
    int32_t *cpu;         /* owned; ascending */
    uint64_t first, last; /* numbers of their periods */
};

/*
 * Find the tracks of the part [from_ns, to_ns) of a run. Costs a walk over the periods when they
 * were recorded by CPU, else nothing. RPS_FAILED: the store's errors; CPUs that are asked for and
 * were not recorded. Free in both cases.
 */
int rps_tracks_open(struct rps_tracks *tracks, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, const struct rps_cpus *cpus,
                    struct rps_error *err);

/* An all-zero struct is harmless. */
void rps_tracks_free(struct rps_tracks *tracks);

/* One period; a result that is not 0 ends the walk, which returns it when it is negative. */
typedef int rps_tracks_period(void *context, const struct rps_period *period,
                              struct rps_error *err);

/* Call `each` for the periods of all tracks as they are stored: CPU by CPU, in their order. */
int rps_tracks_walk(const struct rps_tracks *tracks, rps_tracks_period *each, void *context,
                    struct rps_error *err);

/*
 * The same with the tracks added up: one period (of RPS_CPU_ALL) for all those of the same number.
 * Counts and times of counting are sums, the length is that of one. A single track is walked as it
 * is.
 */
int rps_tracks_walk_sum(const struct rps_tracks *tracks, rps_tracks_period *each, void *context,
                        struct rps_error *err);

/* "CPU 2", "CPUs 0-3,8"; "" for the track of a workload. Needs RPS_TRACKS_TEXT_SIZE bytes; returns
 * ret. */
char *rps_tracks_name(char *ret, const struct rps_tracks *tracks);

#endif
