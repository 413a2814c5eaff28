/* The backends of `rpistat events`. */
#include "machine.h"

#include <string.h>

#include "rpistat/micro.h"
#include "rpistat/plan.h"

const struct rps_pmu *const rps_machine_others[] = {&rps_pmu_sim, NULL};

void rps_machine_close(struct rps_machine *machine)
{
    for (int i = 0; i < machine->count; i++) {
        if (machine->backend[i].self != NULL)
            machine->backend[i].pmu->close(machine->backend[i].self);
    }
    machine->count = 0;
}

/* Add all backends, including unusable backends. Returns a negative value without memory. */
static int add_backends(struct rps_machine *machine, const struct rps_pmu *const *pmu)
{
    for (; *pmu != NULL && machine->count < RPS_BACKEND_MAX; pmu++) {
        struct rps_backend *backend = &machine->backend[machine->count++];

        memset(backend, 0, sizeof(*backend));
        backend->pmu = *pmu;
        if (backend->pmu->open(&backend->self, NULL, &backend->err) < 0)
            backend->self = NULL;
        if (backend->self == NULL && rps_error_is_memory(&backend->err))
            return -1;
    }
    return 0;
}

int rps_machine_open(struct rps_machine *machine, const char *choice, struct rps_error *err)
{
    char note[sizeof(err->message)];

    machine->count = 0;
    if (strcmp(choice, "auto") != 0) {
        struct rps_backend *backend = &machine->backend[0];
        int result = rps_pmu_open(choice, rps_machine_others, &backend->pmu, &backend->self, note,
                                  sizeof(note), err);

        machine->count = result == 0;
        return result;
    }
    if (add_backends(machine, rps_pmus) < 0 || add_backends(machine, rps_machine_others) < 0) {
        rps_machine_close(machine);
        return rps_error_memory(err);
    }
    return 0;
}

struct rps_backend *rps_machine_backend(struct rps_machine *machine, const struct rps_plan *plan)
{
    struct rps_backend *first = NULL;

    for (int i = 0; i < machine->count; i++) {
        struct rps_backend *backend = &machine->backend[i];

        if (strcmp(backend->pmu->default_plan, plan->name) == 0)
            return backend;
        if (first == NULL || (first->self == NULL && backend->self != NULL))
            first = backend;
    }
    return first;
}

int rps_machine_try_event(struct rps_backend *backend, struct rps_event *event,
                          struct rps_error *err)
{
    int result;

    if (backend != NULL && backend->self != NULL)
        return backend->pmu->try_event(backend->self, event, err);
    result = rps_event_resolve(event, "/sys", err);
    if (result == 0 && event->state == RPS_EVENT_MEASURED) {
        event->state = RPS_EVENT_UNSUPPORTED;
        event->reason[0] = '\0';
    }
    return result;
}
