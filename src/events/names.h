/* Names of events that mean the same on every machine. */
#ifndef RPISTAT_EVENTS_NAMES_H
#define RPISTAT_EVENTS_NAMES_H

#include "rpistat/plan.h"
#include "rpistat/suggestion.h"

#include <stdbool.h>
#include <stddef.h>

/* perf's generic names: true, and type and config of *event, when name is one. */
bool rps_name_generic(const char *name, struct rps_event *event);

/* Unit of what a generic name counts; "events" for every other name. */
const char *rps_name_unit(const char *name);

/* rNNN: true, and type and config of *event, for r and one to sixteen hexadecimal digits. */
bool rps_name_raw(const char *name, struct rps_event *event);

/* The roles listed in rpistat/plan.h, NULL-terminated. */
extern const char *const rps_name_roles[];

/* True when name is a role. */
bool rps_name_role(const char *name);

/* True for a name that formulas can use without quotes; it need not end behind `length`. */
bool rps_name_is_id(const char *text, size_t length);

/* --- modifiers -------------------------------------------------------------------------------- */

/*
 * Cut the modifiers from text: "u", "k" or both. They stand behind the last ':' or, as perf also
 * takes them, directly behind the last '/' of a PMU event. A tracepoint's own ':' is no mark of
 * modifiers.
 */
void rps_name_take_modifiers(char *text, char ret[8]);

/* --- suggestions and lists -------------------------------------------------------------------- */

/* Consider all generic names and all roles. */
void rps_name_suggest(struct rps_suggestion *suggestion);

/* Names of a NULL-terminated list, separated by commas, as many as fit. Returns ret. */
char *rps_names_join(const char *const *names, char *ret, size_t size);

#endif
