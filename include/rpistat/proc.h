/* Read small files of /proc and /sys, and find out which processes /proc shows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Read the first size - 1 bytes of a file into ret as text, and return their number. The path is
 * made from the format. Return 0 with ret "" if the file cannot be read. The function allocates no
 * memory, unlike a stream. */
size_t rps_proc_read(char *ret, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Return how long the machine's CPUs were busy since its start, in ns (-1: unknown). */
int64_t rps_proc_busy_ns(void);

/* Find a field in the text of /proc/PID/stat. Fields are numbered from 3 (the state), as in
 * proc(5). Return "" if the text has fewer fields. */
const char *rps_proc_stat_field(const char *text, int number);

/* Reason why processes cannot be read from /proc by number. */
#define RPS_PROC_FOREIGN                                                                           \
    "/proc shows the processes of another PID namespace; mount it again, for example with "        \
    "unshare --mount-proc"

/* Return 1 if /proc has the process numbers of this process's PID namespace. Return 0 in a
 * namespace without its own /proc (unshare --fork --pid): /proc/PID is another process. */
int rps_proc_is_own(void);
