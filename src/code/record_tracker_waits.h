/* Off-CPU data that the tracker keeps for each thread: how long the thread waits, and where. */
#pragma once

#include <stdint.h>

#include "record_tracker_parts.h"

#define RPS_TRACKER_NO_STACK (-1)
#define RPS_TRACKER_READINGS 4 /* Maximum number of readings that wait for earlier records. */

/* The off-CPU state of a thread; all 0 before the thread's first record. Times are on the clock of
 * the samples. */
struct rps_tracker_waits {
    int is_waiting;
    int32_t cpu;               /* CPU of the latest record. */
    int64_t record_ns;         /* time of the latest record, or of the thread's fork */
    int64_t began_ns, sent_ns; /* Start of the current wait, and the time until which the wait
                                  was already passed on. */
    int64_t stack;             /* Stack of the current wait, or RPS_TRACKER_NO_STACK. */
    int64_t slept_ns;          /* Total length of the waits that have ended. */
    int64_t doubt_ns;          /* If the wait ended before this time, the record of the wait's
                                  end may be lost. 0: the wait has not ended. */
    struct rps_tracker_book {  /* Readings of schedstat, to compare with slept_ns. */
        struct rps_tracker_reading {
            int64_t time_ns, asleep_ns; /* asleep_ns: the thread's sleep since an unknown start. */
            int64_t stack;              /* Stack of the sleep, or RPS_TRACKER_NO_STACK. */
        } latest;                       /* Latest compared reading, if is_known. */
        int is_known;
        int is_asleep;      /* 1 if the thread slept between the latest two compared readings. */
        int64_t slept_ns;   /* Value of waits.slept_ns at the latest reading. */
        int64_t total_ns;   /* Total sleep by schedstat. */
        int64_t missing_ns; /* Sleep missing in records; negative: records have more sleep. */
        int64_t cut_ns;     /* Sleep that was already cut off because records had more sleep than
                               schedstat. Run queues after wake-ups are the reason. */
        int64_t unsure_ns;  /* Length of waits after the latest reading that have no known end. */
        int64_t read_ns;    /* Time of the latest reading; 0: none. */
        int count;          /* Number of readings still to be compared. */
        struct rps_tracker_reading reading[RPS_TRACKER_READINGS];
    } book;
    struct rps_tracker_reading sampled; /* Latest reading while no switches are read; time_ns 0:
                                           none. */
    struct rps_tracker_place *places;   /* Owned; NULL before the first place. */
};

/* Begin a wait: the thread leaves its CPU in `stack` (RPS_TRACKER_NO_STACK: unknown). */
void rps_tracker_waits_begin(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                             int64_t time_ns, int32_t cpu, int64_t stack);

/* End the wait, because the thread is on a CPU again. */
void rps_tracker_waits_end(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                           int64_t time_ns);

/* Pass on a wait that has not ended, up to until_ns. If the record of the wait's end may be lost,
 * do not pass on the wait before it has ended, or before schedstat shows further sleep. */
void rps_tracker_waits_send(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                            int64_t until_ns);

/* Read how long a thread below `proc` was on CPUs and in run queues. Negative: unknown. */
int rps_tracker_waits_times(const char *proc, pid_t tid, int64_t *ret_cpu_ns,
                            int64_t *ret_queue_ns);

/* Read schedstat of a thread below `proc`. Also read the thread's stack if the thread sleeps and no
 * record shows the stack. of: the thread's pid, tid and time_ns (now). Returns 0 without reading if
 * all is known. */
int rps_tracker_waits_read(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                           const struct rps_space *space, const char *proc,
                           const struct rps_sample *of);

/* Compare the records with schedstat when all records before time_ns have arrived. At time_ns the
 * thread has been on CPUs for cpu_ns and in run queues for queue_ns. The thread sleeps in `stack`.
 * RPS_TRACKER_NO_STACK: the thread runs, or the stack is unknown. */
void rps_tracker_waits_check(struct rps_tracker_waits *waits, int64_t time_ns, int64_t cpu_ns,
                             int64_t queue_ns, int64_t stack);

/* Compare all pending readings of schedstat, since all records before time_ns have arrived. If a
 * thread slept, and has no record since rpistat began to read all switches, a wait begins. */
void rps_tracker_waits_settle(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                              int64_t time_ns);

/* Restart the comparison with schedstat after a pause, or after another thread called exec. */
void rps_tracker_waits_forget(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                              int64_t time_ns);

/* Return the sleep by schedstat in no recorded wait, ns; 0 if at most .5 % of all sleep. */
int64_t rps_tracker_waits_unknown(const struct rps_tracker_waits *waits);

/* Find the stack that a thread or process had at a place; RPS_TRACKER_NO_STACK: none. */
int64_t rps_tracker_places_find(const struct rps_tracker_place *places, uint64_t place);

/* Keep the stack of a place in the table *places. If *places is NULL, a table is allocated; the
 * caller owns the table. If there is no memory, the stack is not kept. */
void rps_tracker_places_keep(struct rps_tracker_place **places, uint64_t place, int64_t stack);
