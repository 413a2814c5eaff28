/* Names of events that mean the same on every machine. */
#pragma once

#include "rpistat/plan.h"
#include "rpistat/text.h"

#include <stdbool.h>
#include <stddef.h>

/* If perf has a generic event of this name, set its type and config in *event, and return true. */
bool rps_name_generic(const char *name, struct rps_event *event);

/* Return the unit in which a generic event is counted, or "events" for every other name. */
const char *rps_name_unit(const char *name);

/* Parse a raw event: r and one to sixteen hexadecimal digits. Returns true and sets type and config
 * of *event if the name has this form. */
bool rps_name_raw(const char *name, struct rps_event *event);

/* The roles listed in rpistat/plan.h, NULL-terminated. */
extern const char *const rps_name_roles[];

/* Return true if name is a role. */
bool rps_name_role(const char *name);

/* Return true if formulas can use the first `length` bytes as a name without quotes. The text may
 * continue after these bytes. */
bool rps_name_is_id(const char *text, size_t length);

/* --- modifiers -------------------------------------------------------------------------------- */

/* Cut the modifiers "u", "k" or both off the text. Modifiers follow the last ':' or, as in perf,
 * the last '/' of a PMU event. The ':' of a tracepoint does not begin modifiers. */
void rps_name_take_modifiers(char *text, char ret[8]);

/* --- suggestions and lists -------------------------------------------------------------------- */

/* Add all generic names and all roles to the candidates of a suggestion. */
void rps_name_suggest(struct rps_suggestion *suggestion);

/* Join the names of a NULL-terminated list with commas. Omit names that do not fit. Returns ret. */
char *rps_names_join(const char *const *names, char *ret, size_t size);
