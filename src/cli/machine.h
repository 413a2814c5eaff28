/* The backends of this machine that `rpistat events` queries. */
#ifndef RPISTAT_CLI_MACHINE_H
#define RPISTAT_CLI_MACHINE_H

#include "rpistat/error.h"

struct rps_event;
struct rps_plan;
struct rps_pmu;

#define RPS_BACKEND_MAX 8

struct rps_backend {
    const struct rps_pmu *pmu;
    void *self; /* NULL: cannot be used, err has the reason */
    struct rps_error err;
};

/* The backends to query, best first. */
struct rps_machine {
    int count;
    struct rps_backend backend[RPS_BACKEND_MAX];
};

/* The backends in addition to the machine's own, for rps_pmu_open. */
extern const struct rps_pmu *const rps_machine_others[];

/* Open the backends of a choice, as in --pmu; `auto`: all, used or not. Nothing is left open on
 * failure. */
int rps_machine_open(struct rps_machine *machine, const char *choice, struct rps_error *err);
void rps_machine_close(struct rps_machine *machine);

/*
 * Return the backend to try a document's events with: the one that records the document by default;
 * for other documents the first usable one. The result may be unusable (self is NULL); NULL only if
 * there is none at all.
 */
struct rps_backend *rps_machine_backend(struct rps_machine *machine, const struct rps_plan *plan);

/* Fill in encoding and state of an event. Without a usable backend (or NULL), only the name is
 * resolved; the state is that nothing counts it, with no reason of its own. */
int rps_machine_try_event(struct rps_backend *backend, struct rps_event *event,
                          struct rps_error *err);

#endif
