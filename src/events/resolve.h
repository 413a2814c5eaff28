/* Resolution of event names with file names given by the caller. rpistat/plan.h has the public
 * functions. */
#pragma once

#include "rpistat/error.h"
#include "rpistat/plan.h"

#include <stdbool.h>

/* Do what rps_event_resolve does, but read the processor from `cpuinfo` ("/proc/cpuinfo"). */
int rps_resolve(struct rps_event *event, const char *sys, const char *cpuinfo,
                struct rps_error *err);

/* --- resolve_pmu.c: PMUs of sysfs ------------------------------------------------------------- */

/* Resolve the event PMU/TERMS/, without modifiers; `text` is modified. The return values are those
 * of rps_event_resolve. takes_packages 0: events of a whole package are not countable. */
int rps_resolve_pmu(struct rps_event *event, char *text, const char *sys, bool takes_packages,
                    struct rps_error *err);

/* Find the next PMU that matches a pattern like armv8_*, in alphabetical order after `last` ("":
 * the first PMU). The kernel names ARM PMUs after the processor, or gives them numbers. Returns 0
 * and the name in `last`, or an errno; ENOENT: no more PMUs. */
int rps_resolve_next_pmu(const char *sys, const char *pattern, char last[RPS_SPEC_SIZE]);

/* --- resolve.c: small files, and missing events ----------------------------------------------- */

#define RPS_RESOLVE_PATH_SIZE  1024
#define RPS_RESOLVE_VALUE_SIZE 512 /* Maximum bytes read from a sysfs file. */

/* Return true if the text can be one component of a sysfs path and cannot leave its directory. */
bool rps_resolve_is_file_name(const char *text);

/* Join sys and a path below sys; `name` may be "". Return false if the result is too long. */
bool rps_resolve_path(char path[RPS_RESOLVE_PATH_SIZE], const char *sys, const char *folder,
                      const char *name);

/* Read a one-line file without its newline. Returns 0 or an errno. */
int rps_resolve_read_line(const char *path, char ret[RPS_RESOLVE_VALUE_SIZE]);

/* Set the state and reason of an event that this machine cannot count. Returns 0: no error. */
int rps_resolve_not_here(struct rps_event *event, enum rps_event_state state, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/* Event names of libpfm4, for the processor of this machine. There are none if rpistat was built
 * without libpfm4. */

/* Find an event by name ("RETIRED_INSTRUCTIONS", "skl::INST_RETIRED:ANY_P"). Returns 0 if the event
 * is unknown. Otherwise returns 1, and sets type, config* and any modifiers of *event. Returns
 * RPS_USAGE if the event exists, but the text after the event's name is wrong or missing. */
int rps_pfm_find(struct rps_event *event, const char *name, struct rps_error *err);

/* Call `each` with the name of every event that libpfm4 knows for this processor. */
void rps_pfm_each(void (*each)(void *context, const char *name), void *context);
