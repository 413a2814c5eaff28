/* Documents that are part of the program: made at build time from sets/ and scenarios/. */
#ifndef RPISTAT_EVENTS_DOCUMENT_H
#define RPISTAT_EVENTS_DOCUMENT_H

#include "rpistat/plan.h"

#include "embed.h"

extern const struct rps_embedded rps_embedded_sets[];
extern const struct rps_embedded rps_embedded_scenarios[];

/* Their names, without ".ini", ended by NULL. */
extern const char *const rps_embedded_sets_names[];
extern const char *const rps_embedded_scenarios_names[];

/* The document NAME.ini of the table, or NULL. */
const struct rps_embedded *rps_embedded_find(const struct rps_embedded *table, const char *name);

/* Names of a NULL-terminated list, separated by commas, as many as fit. Returns ret. */
char *rps_names_join(const char *const *names, char *ret, size_t size);

#endif
