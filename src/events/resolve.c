/* Resolution: converts the name of an event to the numbers for perf_event_open.
 *
 * names.c has the generic names, and pfm.c the names of libpfm4. Other names are read from sysfs
 * (resolve_pmu.c) and tracefs, in directories whose paths the caller specifies. Resolution shows
 * only that an event's name has a meaning on this machine. Only opening the event shows whether the
 * processor can count the event.
 *
 * perf's generic names come before roles, although some names are both (`branches`). Set files,
 * above all the set file "generic", must be able to use the meaning that a name has in Linux. */
#include "resolve.h"

#include "names.h"

#include "rpistat/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Return true for NAME:REST if NAME is an event. The user then meant REST as modifiers. */
static bool has_bad_modifiers(const char *text)
{
    char name[RPS_SPEC_SIZE];
    struct rps_event ignored = {0};
    size_t length = strcspn(text, ":");

    snprintf(name, sizeof(name), "%.*s", (int)length, text);
    return text[length] == ':' &&
           (rps_name_generic(name, &ignored) || rps_name_raw(name, &ignored));
}

/* --- tracepoints ------------------------------------------------------------------------------ */

enum trace {
    TRACE_FOUND,
    TRACE_ABSENT,      /* tracefs exists but has no such tracepoint. */
    TRACE_DENIED,      /* tracefs (probably) exists, but this user may not read it. */
    TRACE_NOT_MOUNTED, /* No tracefs is mounted. */
};

/* Search for SYSTEM/NAME in a tracefs mounted at sys/folder. */
static enum trace look_up(const char *sys, const char *folder, const char *tracepoint,
                          uint64_t *ret_id)
{
    char events[RPS_RESOLVE_PATH_SIZE], path[RPS_RESOLVE_PATH_SIZE], line[RPS_RESOLVE_VALUE_SIZE];
    struct stat status;
    int error;

    if (!rps_resolve_path(events, sys, folder, "events") ||
        snprintf(path, sizeof(path), "%s/%s/id", events, tracepoint) >= RPS_RESOLVE_PATH_SIZE)
        return TRACE_NOT_MOUNTED;
    error = rps_resolve_read_line(path, line);
    if (error == 0 && rps_parse_uint64("id", line, 0, UINT64_MAX, ret_id, NULL) == 0)
        return TRACE_FOUND;
    if (error == EACCES || error == EPERM)
        return TRACE_DENIED;
    if (stat(events, &status) == 0)
        return TRACE_ABSENT;
    return TRACE_NOT_MOUNTED;
}

/* Resolve a tracepoint. `text` has the form SYSTEM:NAME. */
static int resolve_tracepoint(struct rps_event *event, const char *text, const char *sys)
{
    static const char *const folders[] = {"kernel/tracing", "kernel/debug/tracing"};
    enum trace best = TRACE_NOT_MOUNTED;
    char path[RPS_SPEC_SIZE];

    snprintf(path, sizeof(path), "%s", text);
    *strchr(path, ':') = '/';
    event->type = RPS_EVENT_TRACEPOINT;
    for (size_t i = 0; i < RPS_COUNT(folders) && best != TRACE_FOUND; i++) {
        enum trace here = look_up(sys, folders[i], path, &event->config);

        if (here < best)
            best = here;
    }
    if (best == TRACE_ABSENT)
        return rps_resolve_not_here(
            event, RPS_EVENT_UNSUPPORTED,
            "this kernel has no tracepoint %.100s; choose one from %.64s/kernel/tracing/events",
            text, sys);
    if (best == TRACE_DENIED)
        return rps_resolve_not_here(
            event, RPS_EVENT_NOT_PERMITTED,
            "tracepoints need root: this user may not read %.100s/kernel/tracing", sys);
    if (best == TRACE_NOT_MOUNTED)
        return rps_resolve_not_here(
            event, RPS_EVENT_UNSUPPORTED,
            "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing");
    return 0;
}

/* Return true if the text has the form SYSTEM:NAME. */
static bool is_tracepoint(const char *text)
{
    char system[RPS_SPEC_SIZE];
    const char *colon = strchr(text, ':');

    if (!colon)
        return false;
    snprintf(system, sizeof(system), "%.*s", (int)(colon - text), text);
    return rps_resolve_is_file_name(system) && rps_resolve_is_file_name(colon + 1);
}

/* --- roles ------------------------------------------------------------------------------------ */

/* Find the event with the role in an embedded set file. Return 1 and set *ret if there is one.
 * Return 0 if there is none, or a negative value on error. */
static int find_in_document(const char *name, const char *role, struct rps_event *ret,
                            struct rps_error *err)
{
    struct rps_plan *plan = NULL;
    const struct rps_event *found;
    int result = rps_plan_load(name, &plan, err);

    if (result < 0)
        return result;
    found = rps_plan_role(plan, role, NULL, NULL);
    if (found)
        *ret = *found;
    rps_plan_free(plan);
    return found != NULL;
}

static int resolve_name(struct rps_event *event, char *text, const char *sys,
                        struct rps_error *err);

static int resolve_role(struct rps_event *event, const char *role, const char *sys,
                        const char *cpuinfo, struct rps_error *err)
{
    const char *document = rps_plan_for_cpu(cpuinfo);
    struct rps_event found;
    char text[RPS_SPEC_SIZE], modifiers[8];
    int result = find_in_document(document, role, &found, err);

    if (result == 0)
        result = find_in_document("software", role, &found, err);
    if (result < 0)
        return result;
    if (result == 0)
        return rps_resolve_not_here(event, RPS_EVENT_UNSUPPORTED,
                                    "the event sets for this processor (%.60s) have no %.60s",
                                    document, role);
    snprintf(text, sizeof(text), "%s", found.spec);
    rps_name_take_modifiers(text, modifiers);
    result = resolve_name(event, text, sys, err);
    if (result < 0)
        return result;
    if (event->modifiers[0] == '\0')
        memcpy(event->modifiers, modifiers, sizeof(modifiers));
    if (event->role[0] == '\0') {
        memcpy(event->role, found.role, sizeof(event->role));
        memcpy(event->unit, found.unit, sizeof(event->unit));
        memcpy(event->explain, found.explain, sizeof(event->explain));
    }
    return 0;
}

/* --- every kind of name ----------------------------------------------------------------------- */

static void consider(void *context, const char *name)
{
    rps_suggestion_consider(context, name);
}

static int unknown_event(const char *spec, const char *text, struct rps_error *err)
{
    struct rps_suggestion suggestion = {.typed = text};
    char printable[RPS_SPEC_SIZE], question[RPS_SUGGESTIONS_MAX * RPS_NAME_SIZE + 32];

    rps_text_printable(printable, sizeof(printable), spec);
    if (has_bad_modifiers(text))
        return rps_error_set(err, RPS_USAGE,
                             "event %s: unknown modifier after the colon; write 'u' or 'k'",
                             printable);
    rps_name_suggest(&suggestion);
    rps_pfm_each(consider, &suggestion);
    return rps_error_set(err, RPS_USAGE,
                         "no event is named \"%s\"; %s`rpistat events` lists the events", printable,
                         rps_suggestion_question(&suggestion, question, sizeof(question)));
}

/* Resolve a text of the form A:B: a tracepoint, or a libpfm4 event with a unit mask. */
static int resolve_colon(struct rps_event *event, const char *text, const char *sys,
                         struct rps_error *err)
{
    struct rps_event other = *event;
    int result = resolve_tracepoint(event, text, sys);

    if (result < 0 || event->state == RPS_EVENT_MEASURED)
        return result;
    result = rps_pfm_find(&other, text, err);
    if (result == 1)
        *event = other;
    return result < 0 ? result : 0;
}

/* Resolve all names except roles; text is modified. */
static int resolve_name(struct rps_event *event, char *text, const char *sys, struct rps_error *err)
{
    int result;

    if (rps_name_generic(text, event) || rps_name_raw(text, event))
        return 0;
    if (strchr(text, '/'))
        return rps_resolve_pmu(event, text, sys, false, err);
    if (is_tracepoint(text) && !has_bad_modifiers(text))
        return resolve_colon(event, text, sys, err);
    result = rps_pfm_find(event, text, err);
    if (result != 0)
        return result < 0 ? result : 0;
    return unknown_event(event->spec, text, err);
}

int rps_resolve(struct rps_event *event, const char *sys, const char *cpuinfo,
                struct rps_error *err)
{
    struct rps_event found = *event;
    char text[RPS_SPEC_SIZE];
    int result;

    snprintf(text, sizeof(text), "%s", event->spec);
    rps_name_take_modifiers(text, found.modifiers);
    found.config = found.config1 = found.config2 = 0;
    found.state = RPS_EVENT_MEASURED;
    found.reason[0] = '\0';
    if (rps_name_role(text) && !rps_name_generic(text, &found))
        result = resolve_role(&found, text, sys, cpuinfo, err);
    else
        result = resolve_name(&found, text, sys, err);
    if (result == 0)
        *event = found;
    else if (event->where[0])
        rps_error_prefix(err, result, "%s", event->where);
    return result;
}

int rps_event_resolve(struct rps_event *event, const char *sys, struct rps_error *err)
{
    return rps_resolve(event, sys, "/proc/cpuinfo", err);
}
