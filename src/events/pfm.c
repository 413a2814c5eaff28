/* Finds events by libpfm4, which has the events of most processors by the names in their manuals.
 *
 * The tables of libpfm4 are for the architecture that libpfm4 was built for. Its encodings of ARM
 * events do not name a PMU. So on a machine with fast and slow cores, events are counted by the
 * first PMU. libpfm4 also has perf's generic names, raw numbers and (through debugfs) tracepoints.
 * These names are not used, since resolve.c reports better why an event cannot be counted.
 *
 * The library is opened for the first libpfm4 name, and stays open. If the library were linked,
 * every start of the program would cost 1.1 MiB of memory and 2 ms, although few recordings use the
 * names. Initialising the library twice costs nothing, so this file needs no state. */
#include "resolve.h"

#include <stdio.h>
#include <string.h>

#ifdef RPS_HAVE_PFM

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "rpistat/process.h"

#define LIBRARY "libpfm.so.4"

/* The library's functions in use. */
#define FUNCTIONS(FUNCTION)                                                                        \
    FUNCTION(initialize)                                                                           \
    FUNCTION(strerror)                                                                             \
    FUNCTION(find_event)                                                                           \
    FUNCTION(get_pmu_info)                                                                         \
    FUNCTION(get_event_next)                                                                       \
    FUNCTION(get_event_info)                                                                       \
    FUNCTION(get_event_attr_info)                                                                  \
    FUNCTION(get_os_event_encoding)
#define MEMBER(name) __typeof__(pfm_##name) *name;

struct pfm {
    FUNCTIONS(MEMBER)
};

static bool open_libpfm(struct pfm *ret)
{
    const struct rps_library_function functions[] = {
#define ROW(name) {"pfm_" #name, &ret->name},
        FUNCTIONS(ROW)
#undef ROW
            {NULL, NULL},
    };

    return rps_library_open(LIBRARY, functions) && ret->initialize() == PFM_SUCCESS;
}

/* Return true for libpfm4's PMUs that represent perf itself. */
static bool is_perf(pfm_pmu_t pmu)
{
    return pmu == PFM_PMU_PERF_EVENT || pmu == PFM_PMU_PERF_EVENT_RAW;
}

static bool is_present(const struct pfm *pfm, pfm_pmu_t pmu, pfm_pmu_info_t *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    return !is_perf(pmu) && pfm->get_pmu_info(pmu, ret) == PFM_SUCCESS && ret->is_present;
}

/* Get the library's data about an event of a processor. Return false if the event is not a
 * processor event. */
static bool get_info(const struct pfm *pfm, int index, pfm_event_info_t *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    return pfm->get_event_info(index, PFM_OS_PERF_EVENT_EXT, ret) == PFM_SUCCESS &&
           !is_perf(ret->pmu);
}

/* List the unit masks of the event, each after a blank. Masks that do not fit are omitted. */
static void list_masks(const struct pfm *pfm, const pfm_event_info_t *info, char *ret, size_t size)
{
    size_t length = 0;

    ret[0] = '\0';
    for (int i = 0; i < info->nattrs; i++) {
        pfm_event_attr_info_t mask = {.size = sizeof(mask)};

        if (pfm->get_event_attr_info(info->idx, i, PFM_OS_PERF_EVENT_EXT, &mask) != PFM_SUCCESS ||
            mask.type != PFM_ATTR_UMASK)
            continue;
        if (length + strlen(mask.name) + sizeof("  ...") > size) {
            snprintf(ret + length, size - length, " ...");
            return;
        }
        length += (size_t)snprintf(ret + length, size - length, " %s", mask.name);
    }
}

/* Set the error for a name that libpfm4 knows but cannot encode. For an unknown name, return 0. */
static int explain_failure(const struct pfm *pfm, const char *name, int error,
                           struct rps_error *err)
{
    const char *qualifier = strstr(name, "::");
    size_t length = qualifier ? (size_t)(qualifier + 2 - name) : 0;
    char event[RPS_SPEC_SIZE], masks[256];
    pfm_event_info_t info;
    int index;

    length += strcspn(name + length, ":");
    snprintf(event, sizeof(event), "%.*s", (int)length, name);
    index = pfm->find_event(event);
    if (index < 0 || !get_info(pfm, index, &info))
        return 0;
    list_masks(pfm, &info, masks, sizeof(masks));
    if (masks[0] == '\0')
        return rps_error_set(err, RPS_USAGE, "event %s: %s", name, pfm->strerror(error));
    return rps_error_set(err, RPS_USAGE, "event %s: %s; write it as %s:MASK with one of%s", name,
                         pfm->strerror(error), event, masks);
}

static int find_by_libpfm(const struct pfm *pfm, struct rps_event *event, const char *name,
                          struct rps_error *err)
{
    struct perf_event_attr attr = {.size = sizeof(attr)};
    pfm_perf_encode_arg_t encoding = {.attr = &attr, .size = sizeof(encoding)};
    pfm_event_info_t info;
    int error =
        pfm->get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &encoding);

    if (error != PFM_SUCCESS)
        return explain_failure(pfm, name, error, err);
    if (!get_info(pfm, encoding.idx, &info))
        return 0;
    if (attr.sample_period || attr.precise_ip || attr.pinned || attr.exclusive)
        return rps_error_set(
            err, RPS_USAGE,
            "event %s can be counted, but not sampled or pinned; choose another event", name);
    event->type = attr.type;
    event->config = attr.config;
    event->config1 = attr.config1;
    event->config2 = attr.config2;
    if (attr.exclude_kernel != attr.exclude_user)
        snprintf(event->modifiers, sizeof(event->modifiers), attr.exclude_kernel ? "u" : "k");
    return 1;
}

int rps_pfm_find(struct rps_event *event, const char *name, struct rps_error *err)
{
    struct pfm pfm;
    int result = 0;

    if (*name == '\0' || strpbrk(name, ",/"))
        return 0;
    if (open_libpfm(&pfm))
        result = find_by_libpfm(&pfm, event, name, err);
    return result;
}

static void each_event(const struct pfm *pfm, const pfm_pmu_info_t *pmu,
                       void (*each)(void *context, const char *name), void *context)
{
    pfm_event_info_t info;

    for (int i = pmu->first_event; i != -1; i = pfm->get_event_next(i)) {
        if (get_info(pfm, i, &info))
            each(context, info.name);
    }
}

void rps_pfm_each(void (*each)(void *context, const char *name), void *context)
{
    struct pfm pfm;
    pfm_pmu_info_t present;

    if (open_libpfm(&pfm)) {
        for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
            if (is_present(&pfm, (pfm_pmu_t)pmu, &present))
                each_event(&pfm, &present, each, context);
        }
    }
}

#else

int rps_pfm_find(struct rps_event *event, const char *name, struct rps_error *err)
{
    (void)event;
    (void)name;
    (void)err;
    return 0;
}

void rps_pfm_each(void (*each)(void *context, const char *name), void *context)
{
    (void)each;
    (void)context;
}

#endif
