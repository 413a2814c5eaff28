/* Small files of /proc and /sys, and which processes /proc shows. */
#ifndef RPISTAT_PROC_H
#define RPISTAT_PROC_H

#include <stddef.h>

/* Read the first size - 1 bytes of a file into ret as text, and return their number. The format
 * makes the path. If the file cannot be read, ret is "" and 0 is returned. Allocates nothing,
 * unlike a stream. */
size_t rps_proc_read(char *ret, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Find field `number` (from 3, the state) of the text of /proc/PID/stat, numbered as in proc(5).
 * Return "" if the text has fewer fields. */
const char *rps_proc_stat_field(const char *text, int number);

/* The reason why no process is read from /proc by its number. */
#define RPS_PROC_FOREIGN                                                                           \
    "/proc shows the processes of another PID namespace; mount it again, for example with "        \
    "unshare --mount-proc"

/*
 * Return 1 when /proc numbers processes as this process does. It does not in a PID namespace that
 * was made without mounting /proc again (unshare --fork --pid): /proc/PID is a stranger there.
 */
int rps_proc_is_own(void);

#endif
