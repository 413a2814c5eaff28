/* Regions as marks in the recording that this program runs under, if it does. */
#ifndef RPISTAT_REGION_MARKS_H
#define RPISTAT_REGION_MARKS_H

#include <stdint.h>
#include <sys/types.h>

#include "rpistat/region_wire.h"

/* What is known of one region. All zero before its first mark. */
struct rps_marks {
    int entries;       /* in the current second */
    int muted;         /* it was entered too often: only its totals are told from now on */
    int held;          /* marks not sent yet */
    int64_t second_ns; /* when that second began */
    struct rps_region_wire_mark mark[RPS_REGION_WIRE_MAX];
};

/*
 * A socket connected to the recorder of process pid or of its nearest recorded ancestor; -1 when
 * there is none. Processes are looked up below `proc`, "/proc" but in tests.
 */
int rps_marks_connect(pid_t pid, const char *proc);

/* The region was entered, or left. The first entry of a second is told at once, the others when the
 * second is over and they were not too many. Never waits. */
void rps_marks_add(struct rps_marks *marks, int fd, const char *name,
                   enum rps_region_wire_kind kind, int64_t time_ns);

/* Tell what is held and due at now_ns; INT64_MAX: all of it. */
void rps_marks_flush(struct rps_marks *marks, int fd, const char *name, int64_t now_ns);

/* The program ends: tell what is held, and the totals of a region that was muted. May wait for a
 * moment. */
void rps_marks_finish(struct rps_marks *marks, int fd, const char *name, int64_t now_ns,
                      uint64_t entered, uint64_t elapsed_ns);

#endif
