/* Documents that are part of the program: made at build time from sets/ and scenarios/. */
#ifndef RPISTAT_EVENTS_DOCUMENT_H
#define RPISTAT_EVENTS_DOCUMENT_H

#include "embed.h"

extern const struct rps_embedded rps_embedded_sets[];
extern const struct rps_embedded rps_embedded_scenarios[];

/* Their names, without ".ini", ended by NULL. */
extern const char *const rps_embedded_sets_names[];
extern const char *const rps_embedded_scenarios_names[];

/* The document NAME.ini of the table, or NULL. */
const struct rps_embedded *rps_document_find(const struct rps_embedded *table, const char *name);

#endif
