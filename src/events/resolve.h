/* Resolution, with the files that it reads named by the caller; rpistat/plan.h has the rest. */
#ifndef RPISTAT_EVENTS_RESOLVE_H
#define RPISTAT_EVENTS_RESOLVE_H

#include "rpistat/error.h"
#include "rpistat/plan.h"

#include <stdbool.h>

/* rps_event_resolve, with the file that says which processor this is ("/proc/cpuinfo"). */
int rps_resolve(struct rps_event *event, const char *sys, const char *cpuinfo,
                struct rps_error *err);

/* --- resolve_pmu.c: PMUs of sysfs ------------------------------------------------------------- */

/* Resolve PMU/TERMS/, without modifiers; text is taken apart. Returns as rps_event_resolve does.
 * takes_packages 0: what a whole package counts cannot be counted. */
int rps_resolve_pmu(struct rps_event *event, char *text, const char *sys, bool takes_packages,
                    struct rps_error *err);

/* The PMU behind `last` ("": the first), in the order of the alphabet, that a pattern like armv8_*
 * means: the kernel names PMUs of ARM after the processor or numbers them. Returns 0 and it in
 * `last`, or an errno; ENOENT when there is no more. */
int rps_resolve_next_pmu(const char *sys, const char *pattern, char last[RPS_SPEC_SIZE]);

/* --- resolve.c: small files, and what is not there -------------------------------------------- */

#define RPS_RESOLVE_PATH_SIZE  1024
#define RPS_RESOLVE_VALUE_SIZE 512 /* the longest content of a sysfs file that is read */

/* True for text that can be one component of a path in sysfs and cannot leave its folder. */
bool rps_resolve_is_file_name(const char *text);

/* Join sys and a path below it, in which name may be ""; false when the result is too long. */
bool rps_resolve_path(char path[RPS_RESOLVE_PATH_SIZE], const char *sys, const char *folder,
                      const char *name);

/* Read a one-line file without its newline. Returns 0 or an errno. */
int rps_resolve_read_line(const char *path, char ret[RPS_RESOLVE_VALUE_SIZE]);

/* The event cannot be counted here, which is no error: returns 0. */
int rps_resolve_not_here(struct rps_event *event, enum rps_event_state state, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/* libpfm4's names of events, for the processor of this machine. Without libpfm4 at build time there
 * are none. */

/*
 * Look the name up ("RETIRED_INSTRUCTIONS", "skl::INST_RETIRED:ANY_P"). Returns 1 with type,
 * config* and modifiers (where the name has some) of *event filled; 0 when there is no such event;
 * RPS_USAGE when there is one, but what stands behind its name is wrong or missing.
 */
int rps_pfm_find(struct rps_event *event, const char *name, struct rps_error *err);

/* Call `each` with the name of every event that this processor has, by libpfm4. */
void rps_pfm_each(void (*each)(void *context, const char *name), void *context);

#endif
