/* Regions as marks in the recording of this program, if there is one. */
#ifndef RPISTAT_REGION_MARKS_H
#define RPISTAT_REGION_MARKS_H

#include <stdint.h>
#include <sys/types.h>

#include "rpistat/region_wire.h"

/* State of one region. All zero before its first mark. */
struct rps_marks {
    int entries;       /* in the current second */
    int muted;         /* it was entered too often: only its totals are sent from now on */
    int held;          /* marks not sent yet */
    int64_t second_ns; /* start of that second */
    struct rps_region_wire_mark mark[RPS_REGION_WIRE_MAX];
};

/*
 * Return a socket connected to the recorder of process pid or of its nearest recorded ancestor; -1:
 * none. Processes are searched below `proc`, "/proc" except in tests.
 */
int rps_marks_connect(pid_t pid, const char *proc);

/* Add an entry or an exit. The first entry of a second is sent at once, others at the end of the
 * second if they were not too many. Never waits. */
void rps_marks_add(struct rps_marks *marks, int fd, const char *name,
                   enum rps_region_wire_kind kind, int64_t time_ns);

/* Send the held marks that are due at now_ns; INT64_MAX: all of them. */
void rps_marks_flush(struct rps_marks *marks, int fd, const char *name, int64_t now_ns);

/* Send the held marks at the program's end, and the totals of a muted region. May wait for a
 * moment. */
void rps_marks_finish(struct rps_marks *marks, int fd, const char *name, int64_t now_ns,
                      uint64_t entered, uint64_t elapsed_ns);

#endif
