/* What can count on this machine: the backends that `rpistat events` asks. */
#ifndef RPISTAT_CLI_MACHINE_H
#define RPISTAT_CLI_MACHINE_H

#include "rpistat/error.h"

struct rps_event;
struct rps_plan;
struct rps_pmu;

#define RPS_BACKEND_MAX 8

struct rps_backend {
    const struct rps_pmu *pmu;
    void *self; /* NULL: cannot be used, err says why */
    struct rps_error err;
};

/* The backends that are asked, best first. */
struct rps_machine {
    int count;
    struct rps_backend backend[RPS_BACKEND_MAX];
};

/* The backends beside the machine's own, for rps_pmu_open. */
extern const struct rps_pmu *const rps_machine_others[];

/* The backends of a choice, as --pmu has it; `auto`: all, used or not. Nothing is left open on
 * failure. */
int rps_machine_open(struct rps_machine *machine, const char *choice, struct rps_error *err);
void rps_machine_close(struct rps_machine *machine);

/*
 * The backend to try a document's events with: the one that records it when nothing else is asked
 * for; for other documents the first that can be used. It may be one that cannot be used (self is
 * NULL); NULL only when there is none at all.
 */
struct rps_backend *rps_machine_backend(struct rps_machine *machine, const struct rps_plan *plan);

/* Fill encoding and state of an event. Where the backend (NULL: none) cannot be used only the name
 * is looked up, and the state is that nothing counts it, for no reason of the event's own. */
int rps_machine_try_event(struct rps_backend *backend, struct rps_event *event,
                          struct rps_error *err);

#endif
