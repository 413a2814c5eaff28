/* How long a thread is off its CPU, and where: what the tracker keeps of each thread. */
#ifndef RPISTAT_CODE_TRACKER_WAITS_H
#define RPISTAT_CODE_TRACKER_WAITS_H

#include <stdint.h>

#include "tracker_parts.h"

#define RPS_TRACKER_NO_STACK (-1)
#define RPS_TRACKER_READINGS 4 /* records of a reading's time come some periods later */

/* A thread before its first record is all 0. Times are on the clock of the samples. */
struct rps_tracker_waits {
    int is_waiting;
    int32_t cpu;               /* of the latest record */
    int64_t record_ns;         /* time of the latest record, or of the thread's fork */
    int64_t began_ns, sent_ns; /* of the current wait; it is passed on until sent_ns */
    int64_t stack;             /* of that wait, or RPS_TRACKER_NO_STACK */
    int64_t slept_ns;          /* length of the waits that are over */
    int64_t doubt_ns;          /* its end may have been lost before then; 0: it lasts */
    struct rps_tracker_book {  /* readings of schedstat, against slept_ns at the same times */
        struct rps_tracker_reading {
            int64_t time_ns, asleep_ns; /* asleep: since an unknown time */
            int64_t stack;              /* that the thread slept in; or RPS_TRACKER_NO_STACK */
        } latest;                       /* that was compared, if is_known */
        int is_known;
        int is_asleep;      /* the thread slept between the latest two that were compared */
        int64_t slept_ns;   /* at the latest */
        int64_t total_ns;   /* asleep by schedstat, in all */
        int64_t missing_ns; /* of it not in records; negative: records have that much more */
        int64_t cut_ns;     /* part of it that was not passed on: the run queue after a wake-up */
        int64_t read_ns;    /* time of the latest reading; 0: none */
        int count;          /* of readings that are to be compared */
        struct rps_tracker_reading reading[RPS_TRACKER_READINGS];
    } book;
    struct rps_tracker_reading sampled; /* the latest while no switches are read; time_ns 0: none */
    struct rps_tracker_place *places;   /* owned; NULL: none yet */
};

/* Begin a wait: the thread leaves its CPU in a stack, or RPS_TRACKER_NO_STACK. */
void rps_tracker_waits_begin(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                             int64_t time_ns, int32_t cpu, int64_t stack);

/* End the wait: the thread is on a CPU again. */
void rps_tracker_waits_end(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                           int64_t time_ns);

/* Drop the wait: another thread took the CPU. */
void rps_tracker_waits_cancel(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                              int64_t time_ns);

/* Pass on a wait that still lasts, up to until_ns. If its end may have been lost, pass it on when
 * it is over, or when schedstat shows that it lasts. */
void rps_tracker_waits_send(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                            int64_t until_ns);

/* Read how long a thread below `proc` was on CPUs and in their run queues. Negative: not known. */
int rps_tracker_waits_times(const char *proc, pid_t tid, int64_t *ret_cpu_ns,
                            int64_t *ret_queue_ns);

/* Read schedstat of a thread below `proc`, and the stack that it sleeps in if no record shows that.
 * of: its pid, tid and time_ns (now). Returns 0 without reading if that is known. */
int rps_tracker_waits_read(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                           const struct rps_space *space, const char *proc,
                           const struct rps_sample *of);

/* Compare the records with schedstat when all records before time_ns have come. At that time the
 * thread has been on CPUs for cpu_ns and in their queues for queue_ns. It sleeps in `stack`;
 * RPS_TRACKER_NO_STACK: it runs, or the stack is unknown. */
void rps_tracker_waits_check(struct rps_tracker_waits *waits, int64_t time_ns, int64_t cpu_ns,
                             int64_t queue_ns, int64_t stack);

/* Make these comparisons, since all records before time_ns have come. If a thread has no record
 * since rpistat began to read all switches, and it slept since then, a wait begins. */
void rps_tracker_waits_settle(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                              int64_t time_ns);

/* Restart the comparison, after an exec by another thread or a pause. */
void rps_tracker_waits_forget(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                              int64_t time_ns);

/* Return the sleep by schedstat that no wait accounts for, ns; 0 up to .5 % of the sleep. */
int64_t rps_tracker_waits_unknown(const struct rps_tracker_waits *waits);

/* Find the stack that was taken at a place, of a thread or process; RPS_TRACKER_NO_STACK: none. */
int64_t rps_tracker_places_find(const struct rps_tracker_place *places, uint64_t place);

/* Keep the stack of a place in a table, which is allocated if NULL and owned by the caller. Without
 * memory the stack is not kept. */
void rps_tracker_places_keep(struct rps_tracker_place **places, uint64_t place, int64_t stack);

#endif
