/* Resolution with file names given by the caller; rpistat/plan.h has the rest. */
#ifndef RPISTAT_EVENTS_RESOLVE_H
#define RPISTAT_EVENTS_RESOLVE_H

#include "rpistat/error.h"
#include "rpistat/plan.h"

#include <stdbool.h>

/* rps_event_resolve, with the file that describes the processor ("/proc/cpuinfo"). */
int rps_resolve(struct rps_event *event, const char *sys, const char *cpuinfo,
                struct rps_error *err);

/* --- resolve_pmu.c: PMUs of sysfs ------------------------------------------------------------- */

/* Resolve PMU/TERMS/, without modifiers; text is modified. Returns as rps_event_resolve does.
 * takes_packages 0: events of a whole package cannot be counted. */
int rps_resolve_pmu(struct rps_event *event, char *text, const char *sys, bool takes_packages,
                    struct rps_error *err);

/* Find the next PMU that matches a pattern like armv8_*, in alphabetical order after `last` ("":
 * the first). The kernel names ARM PMUs after the processor or numbers them. Returns 0 and its name
 * in `last`, or an errno; ENOENT: no more. */
int rps_resolve_next_pmu(const char *sys, const char *pattern, char last[RPS_SPEC_SIZE]);

/* --- resolve.c: small files, and missing events ----------------------------------------------- */

#define RPS_RESOLVE_PATH_SIZE  1024
#define RPS_RESOLVE_VALUE_SIZE 512 /* the longest content that is read from a sysfs file */

/* Return true for text that can be one component of a sysfs path and cannot leave its directory. */
bool rps_resolve_is_file_name(const char *text);

/* Join sys and a path below it, in which name may be ""; false if the result is too long. */
bool rps_resolve_path(char path[RPS_RESOLVE_PATH_SIZE], const char *sys, const char *folder,
                      const char *name);

/* Read a one-line file without its newline. Returns 0 or an errno. */
int rps_resolve_read_line(const char *path, char ret[RPS_RESOLVE_VALUE_SIZE]);

/* Note that the event cannot be counted here, which is not an error: returns 0. */
int rps_resolve_not_here(struct rps_event *event, enum rps_event_state state, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/* libpfm4's names of events, for the processor of this machine. Without libpfm4 at build time there
 * are none. */

/*
 * Find the name ("RETIRED_INSTRUCTIONS", "skl::INST_RETIRED:ANY_P"). Returns 1 with type, config*
 * and modifiers (if the name has some) of *event filled, 0 for an unknown event. RPS_USAGE: the
 * event exists, but the text after its name is wrong or missing.
 */
int rps_pfm_find(struct rps_event *event, const char *name, struct rps_error *err);

/* Call `each` with the name of every event that this processor has, by libpfm4. */
void rps_pfm_each(void (*each)(void *context, const char *name), void *context);

#endif
