/*
 * The results of `rpistat events`, from cmd_events.c, which tries the events, to events_blocks.c,
 * which prints them.
 */
#ifndef RPISTAT_CLI_EVENTS_H
#define RPISTAT_CLI_EVENTS_H

#include "cli.h"
#include "machine.h"
#include "rpistat/document.h"
#include "rpistat/pmu.h"
#include "rpistat/system_signals.h"

struct rps_plan;

/* "hardware 0x1", "pmu 11 0x3c", with config1 and config2 where they are used. */

/* A document of event sets, whose events have been tried. */
struct rps_events_document {
    struct rps_plan *plan;             /* owned */
    const struct rps_backend *backend; /* that tried it; NULL: there is none */
    int is_fitted;                     /* 1: the plan of a recording is known: */
    char clock[RPS_NAME_SIZE];         /* label of the clock event */
    struct rps_fitting fitting;
};

struct rps_events_found {
    const struct rps_machine *machine;
    int explain;

    /* Without names. */
    int document_count;
    struct rps_events_document *document; /* owned */
    int other_count;
    const char **other; /* owned; names of the documents for other processors */
    int has_packages;
    struct rps_system_state packages; /* their system metrics here, with record -a */

    /* With names: those that are names of events. */
    int event_count;
    struct rps_event *event; /* owned */
};

/* Put all results into a document. */
void rps_events_blocks(struct rps_document *document, const struct rps_events_found *found);

#endif
