/* Names of events with the same meaning on every machine. */
#ifndef RPISTAT_EVENTS_NAMES_H
#define RPISTAT_EVENTS_NAMES_H

#include "rpistat/plan.h"
#include "rpistat/suggestion.h"

#include <stdbool.h>
#include <stddef.h>

/* Find perf's generic name: true, and type and config of *event. */
bool rps_name_generic(const char *name, struct rps_event *event);

/* Return the unit of a generic name's count; "events" for every other name. */
const char *rps_name_unit(const char *name);

/* Parse rNNN: true, and type and config of *event, for r and one to sixteen hexadecimal digits. */
bool rps_name_raw(const char *name, struct rps_event *event);

/* The roles listed in rpistat/plan.h, NULL-terminated. */
extern const char *const rps_name_roles[];

/* Return true if name is a role. */
bool rps_name_role(const char *name);

/* Return true for a name that formulas can use without quotes; it need not end after `length`. */
bool rps_name_is_id(const char *text, size_t length);

/* --- modifiers -------------------------------------------------------------------------------- */

/*
 * Cut the modifiers from text: "u", "k" or both. They follow the last ':' or, as in perf, the last
 * '/' of a PMU event. The ':' of a tracepoint does not begin modifiers.
 */
void rps_name_take_modifiers(char *text, char ret[8]);

/* --- suggestions and lists -------------------------------------------------------------------- */

/* Suggest from all generic names and all roles. */
void rps_name_suggest(struct rps_suggestion *suggestion);

/* Join names of a NULL-terminated list with commas, as many as fit. Returns ret. */
char *rps_names_join(const char *const *names, char *ret, size_t size);

#endif
