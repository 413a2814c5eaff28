/* The backends of this machine that `rpistat events` queries. */
#pragma once

#include "rpistat/error.h"
#include "rpistat/document.h"
#include "rpistat/pmu.h"
#include "rpistat/system_reader.h"

#define RPS_BACKEND_MAX 8

struct rps_backend {
    const struct rps_pmu *pmu;
    void *self; /* NULL: the backend cannot be used; err has the reason */
    struct rps_error err;
};

/* The backends to try, best first. */
struct rps_machine {
    int count;
    struct rps_backend backend[RPS_BACKEND_MAX];
};

/* The backends for rps_pmu_open, in addition to the machine's own backends. */
extern const struct rps_pmu *const rps_machine_others[];

/* Open the backends that `choice`, an argument of --pmu, selects. `auto` selects all backends,
 * including backends that cannot be used. On failure nothing stays open. */
int rps_machine_open(struct rps_machine *machine, const char *choice, struct rps_error *err);
void rps_machine_close(struct rps_machine *machine);

/* Return the backend with which to try the events of a document. If the document is the default
 * document of a backend, that backend is returned, otherwise the first usable backend. The result
 * may be unusable (self is NULL). The result is NULL only if there is no backend at all. */
struct rps_backend *rps_machine_backend(struct rps_machine *machine, const struct rps_plan *plan);

/* Fill in encoding and state of an event. If `backend` is unusable or NULL, only the name is
 * resolved. The state then means that no backend counts the event, and the event has no reason of
 * its own. */
int rps_machine_try_event(struct rps_backend *backend, struct rps_event *event,
                          struct rps_error *err);

/* The results of `rpistat events`, which cmd_events.c finds and events_blocks.c prints. */

/* A document of event sets whose events have been tried. */
struct rps_events_document {
    struct rps_plan *plan;             /* plan of the document; owned */
    const struct rps_backend *backend; /* backend that tried the document; NULL: there is none */
    int is_fitted;                     /* 1: the clock event is known, and the plan is fitted as
                                          in a recording */
    char clock[RPS_NAME_SIZE];         /* label of the clock event */
    struct rps_fitting fitting;
};

struct rps_events_found {
    const struct rps_machine *machine;
    int explain;

    /* Results if the user gave no names. */
    int document_count;
    struct rps_events_document *document; /* documents, owned */
    int other_count;
    const char **other; /* names of the documents for other processors; owned */
    int has_packages;
    struct rps_system_state packages; /* state of the packages' system metrics, as with record -a */

    /* Results if the user gave names. The first member is the number of names that are events. */
    int event_count;
    struct rps_event *event; /* events, owned */
};

/* Put all results into a document. */
void rps_events_blocks(struct rps_document *document, const struct rps_events_found *found);
