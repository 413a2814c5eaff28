/* Converts the sections of a set file. Sets and metrics are added to the plan directly. Families
 * are stored in the reader. An event is stored in the reader until a set uses it. */
#include "set_file_section.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/arena.h"

struct rps_set_file_seen {
    enum rps_section_kind kind;
    char id[RPS_NAME_SIZE];
};

struct rps_set_file_family {
    char id[RPS_NAME_SIZE];
    char label[RPS_NAME_SIZE];
};

/* An event of the set file, until a set uses it. */
struct rps_set_file_event {
    struct rps_event event;
    int line;
    bool used;
    bool dropped; /* True if the new list of a set of the base omits this event. A set may use
                     the event again. */
};

/* Return a zeroed new element of an array. Without free memory, set an error and return NULL. */
static void *grow_array(struct rps_set_file_reader *reader, void *array, int *count, size_t size)
{
    void *added = rps_array_add(array, (size_t)*count, size);

    if (!added)
        rps_set_file_fail_memory(reader);
    *count += added != NULL;
    return added;
}

static struct rps_set_file_event *find_declared(struct rps_set_file_reader *reader, const char *id)
{
    for (int i = 0; i < reader->declared_count; i++) {
        if (strcmp(reader->declared[i].event.name, id) == 0)
            return &reader->declared[i];
    }
    return NULL;
}

static struct rps_set_file_family *find_family(const struct rps_set_file_reader *reader,
                                               const char *id)
{
    for (int i = 0; i < reader->family_count; i++) {
        if (strcmp(reader->family[i].id, id) == 0)
            return &reader->family[i];
    }
    return NULL;
}

static struct rps_event_set *find_set(const struct rps_set_file_reader *reader, const char *id)
{
    for (int i = 0; i < reader->plan->set_count; i++) {
        if (strcmp(reader->plan->set[i].name, id) == 0)
            return &reader->plan->set[i];
    }
    return NULL;
}

/* Return the base's event with the ID, or NULL if there is none. A set need not use the event. */
static struct rps_event *find_event(struct rps_set_file_reader *reader, const char *id)
{
    struct rps_set_file_event *declared = find_declared(reader, id);

    for (int n = 0; declared && declared->used && n < reader->plan->set_count; n++) {
        struct rps_event_set *set = &reader->plan->set[n];

        for (int slot = 0; slot < set->event_count; slot++) {
            if (strcmp(set->event[slot].name, id) == 0)
                return &set->event[slot];
        }
    }
    return declared ? &declared->event : NULL;
}

bool rps_set_file_note_section(struct rps_set_file_reader *reader)
{
    const struct rps_set_file_draft *draft = &reader->draft;
    struct rps_set_file_seen *seen;

    for (int i = 0; i < reader->seen_count; i++) {
        if (reader->seen[i].kind == draft->kind && strcmp(reader->seen[i].id, draft->id) == 0)
            return false;
    }
    seen = grow_array(reader, &reader->seen, &reader->seen_count, sizeof(*seen));
    if (seen) {
        seen->kind = draft->kind;
        memcpy(seen->id, draft->id, sizeof(seen->id));
    }
    return true;
}

/* --- the end of a section --------------------------------------------------------------------- */

static const char *value(const struct rps_set_file_reader *reader, enum rps_section_key field)
{
    return reader->draft.value[field];
}

static bool is_given(const struct rps_set_file_reader *reader, enum rps_section_key field)
{
    return reader->draft.field_line[field] > 0;
}

/* Copy text that fits, because next_value() has checked every value against its size. */
static void copy_fitting(char *ret, size_t size, const char *text)
{
    snprintf(ret, size, "%.*s", (int)size - 1, text);
}

/* Copy the value of a key. If the key is missing, *ret is unchanged. */
static void copy_given(const struct rps_set_file_reader *reader, enum rps_section_key field,
                       char *ret, size_t size)
{
    if (is_given(reader, field))
        copy_fitting(ret, size, value(reader, field));
}

/* If the section names a family, copy the family's label. An unknown family is an error. */
static void copy_family(struct rps_set_file_reader *reader, char ret[RPS_NAME_SIZE])
{
    const char *id = value(reader, RPS_KEY_FAMILY);
    const struct rps_set_file_family *family = find_family(reader, id);

    if (family)
        copy_fitting(ret, RPS_NAME_SIZE, family->label);
    else if (*id)
        rps_set_file_fail(reader, reader->draft.field_line[RPS_KEY_FAMILY],
                          "[family %s] is not defined above this line", id);
}

static void end_plan(struct rps_set_file_reader *reader)
{
    struct rps_plan *plan = reader->plan;

    copy_given(reader, RPS_KEY_NAME, plan->name, sizeof(plan->name));
    copy_given(reader, RPS_KEY_TITLE, plan->title, sizeof(plan->title));
    copy_given(reader, RPS_KEY_MATCH, plan->match, sizeof(plan->match));
    copy_given(reader, RPS_KEY_EXPLAIN, plan->explain, sizeof(plan->explain));
}

/* Return true, and set an error, if the section lacks the key or its value is empty. */
static bool is_missing(struct rps_set_file_reader *reader, enum rps_section_key field)
{
    const struct rps_set_file_draft *draft = &reader->draft;

    if (draft->field_line[field] && draft->value[field][0])
        return false;
    rps_set_file_fail(reader, draft->line, "[%s %s] has no line '%s ='",
                      rps_section_kinds[draft->kind], draft->id, rps_section_fields[field].key);
    return true;
}

static void end_family(struct rps_set_file_reader *reader)
{
    struct rps_set_file_family *family = find_family(reader, reader->draft.id);

    if (is_missing(reader, RPS_KEY_LABEL))
        return;
    if (!family)
        family = grow_array(reader, &reader->family, &reader->family_count, sizeof(*family));
    if (!family)
        return;
    copy_fitting(family->id, sizeof(family->id), reader->draft.id);
    copy_fitting(family->label, sizeof(family->label), value(reader, RPS_KEY_LABEL));
}

/* Add a new event with the ID. If there is no memory, set an error and return NULL. */
static struct rps_event *declare_event(struct rps_set_file_reader *reader, const char *id)
{
    struct rps_set_file_event *declared =
        grow_array(reader, &reader->declared, &reader->declared_count, sizeof(*declared));

    if (!declared)
        return NULL;
    declared->line = reader->draft.line;
    copy_fitting(declared->event.name, sizeof(declared->event.name), id);
    copy_fitting(declared->event.label, sizeof(declared->event.label), id);
    copy_fitting(declared->event.unit, sizeof(declared->event.unit), "events");
    return &declared->event;
}

static void end_event(struct rps_set_file_reader *reader)
{
    struct rps_event *event = find_event(reader, reader->draft.id);

    if ((!event || is_given(reader, RPS_KEY_EVENT)) && is_missing(reader, RPS_KEY_EVENT))
        return;
    if (!event)
        event = declare_event(reader, reader->draft.id);
    if (!event)
        return;
    copy_given(reader, RPS_KEY_EVENT, event->spec, sizeof(event->spec));
    copy_given(reader, RPS_KEY_LABEL, event->label, sizeof(event->label));
    copy_given(reader, RPS_KEY_ROLE, event->role, sizeof(event->role));
    copy_given(reader, RPS_KEY_UNIT, event->unit, sizeof(event->unit));
    copy_given(reader, RPS_KEY_EXPLAIN, event->explain, sizeof(event->explain));
    copy_family(reader, event->family);
    /* Write "ORIGIN:LINE". If ORIGIN is a long path, keep only the end of the path. */
    if (is_given(reader, RPS_KEY_EVENT)) {
        size_t length = strlen(reader->origin), room = RPS_WHERE_SIZE - sizeof("...:1234567890");

        snprintf(event->where, RPS_WHERE_SIZE, "%s%s:%d", length > room ? "..." : "",
                 length > room ? reader->origin + length - room : reader->origin,
                 reader->draft.field_line[RPS_KEY_EVENT]);
    }
}

static void add_to_set(struct rps_set_file_reader *reader, struct rps_event_set *set,
                       const char *id)
{
    int line = reader->draft.field_line[RPS_KEY_EVENTS];
    struct rps_set_file_event *declared = find_declared(reader, id);

    if (*id == '\0') {
        rps_set_file_fail(reader, line, "[set %s] has an extra comma in 'events ='", set->name);
    } else if (!declared) {
        rps_set_file_fail(reader, line, "[event %s] is not defined above this line", id);
    } else if (declared->used) {
        rps_set_file_fail(reader, line,
                          "event %s is already in a set: one event belongs to one set", id);
    } else if (set->event_count == RPS_SLOT_MAX) {
        rps_set_file_fail(reader, line, "[set %s] has more than %d events; split it into two sets",
                          set->name, RPS_SLOT_MAX);
    } else {
        set->event[set->event_count++] = declared->event;
        declared->used = true;
    }
}

/* Return 1 if the set has default = no. */
static int is_on_request(struct rps_set_file_reader *reader)
{
    const char *text = value(reader, RPS_KEY_DEFAULT);
    int line = reader->draft.field_line[RPS_KEY_DEFAULT];

    if (line > 0 && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        rps_set_file_fail(reader, line, "'default =' must be yes or no, not \"%s\"", text);
    return strcmp(text, "no") == 0;
}

/* Add a set with the ID. If the set is invalid, set an error and return NULL. */
static struct rps_event_set *add_set(struct rps_set_file_reader *reader, const char *id)
{
    struct rps_event_set *set;

    if (is_missing(reader, RPS_KEY_EVENTS))
        return NULL;
    set = rps_plan_add_set(reader->plan);
    if (!set)
        rps_set_file_fail_memory(reader);
    else
        copy_fitting(set->name, sizeof(set->name), id);
    return set;
}

static void add_events(struct rps_set_file_reader *reader, struct rps_event_set *set)
{
    const char *at = value(reader, RPS_KEY_EVENTS);

    for (;;) {
        char id[RPS_SECTION_EVENTS_SIZE];
        size_t length = strcspn(at, ",");
        size_t start = strspn(at, " \t");
        size_t end = length;

        while (end > start && (at[end - 1] == ' ' || at[end - 1] == '\t'))
            end--;
        start = start < end ? start : end;
        memcpy(id, at + start, end - start);
        id[end - start] = '\0';
        add_to_set(reader, set, id);
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
}

static void end_set(struct rps_set_file_reader *reader)
{
    struct rps_event_set *set = find_set(reader, reader->draft.id);

    if (!set)
        set = add_set(reader, reader->draft.id);
    if (!set)
        return;
    copy_given(reader, RPS_KEY_EXPLAIN, set->explain, sizeof(set->explain));
    if (is_given(reader, RPS_KEY_DEFAULT))
        set->on_request = is_on_request(reader);
    if (is_given(reader, RPS_KEY_EVENTS)) {
        /* the base's events in this set are counted only if the new list contains them */
        for (int slot = 0; slot < set->event_count; slot++) {
            struct rps_set_file_event *declared = find_declared(reader, set->event[slot].name);

            declared->event = set->event[slot];
            declared->used = false;
            declared->dropped = true;
        }
        set->event_count = 0;
        add_events(reader, set);
    }
}

struct lookup {
    struct rps_set_file_reader *reader;
    const struct rps_set_file_event *homeless; /* A requested event that is in no set. */
};

static int find_operand(void *context, const char *name)
{
    struct lookup *lookup = context;
    int operand = rps_plan_operand(lookup->reader->plan, name);

    if (operand < 0)
        lookup->homeless = find_declared(lookup->reader, name);
    return operand;
}

/* Add a metric with the ID. If the metric is invalid, set an error and return NULL. */
static struct rps_metric *add_metric(struct rps_set_file_reader *reader, const char *id)
{
    struct rps_metric *metric;

    if (is_missing(reader, RPS_KEY_FORMULA))
        return NULL;
    metric = rps_plan_add_metric(reader->plan);
    if (!metric) {
        rps_set_file_fail_memory(reader);
        return NULL;
    }
    copy_fitting(metric->name, sizeof(metric->name), id);
    copy_fitting(metric->label, sizeof(metric->label), id);
    return metric;
}

static void end_metric(struct rps_set_file_reader *reader)
{
    const int known = rps_plan_metric(reader->plan, reader->draft.id);
    struct rps_metric *metric =
        known >= 0 ? &reader->plan->metric[known] : add_metric(reader, reader->draft.id);
    struct lookup lookup = {.reader = reader};
    struct rps_error why = {""};

    if (!metric)
        return;
    copy_given(reader, RPS_KEY_LABEL, metric->label, sizeof(metric->label));
    copy_given(reader, RPS_KEY_UNIT, metric->unit, sizeof(metric->unit));
    copy_given(reader, RPS_KEY_PANEL, metric->panel, sizeof(metric->panel));
    copy_given(reader, RPS_KEY_EXPLAIN, metric->explain, sizeof(metric->explain));
    copy_given(reader, RPS_KEY_FORMULA, metric->formula_text, sizeof(metric->formula_text));
    copy_family(reader, metric->family);
    if (metric->panel[0] == '\0')
        copy_fitting(metric->panel, sizeof(metric->panel), metric->label);
    if (!is_given(reader, RPS_KEY_FORMULA) ||
        rps_formula_compile(metric->formula_text, find_operand, &lookup, &metric->formula, &why) ==
            0)
        return;
    if (lookup.homeless)
        rps_set_file_fail(reader, reader->draft.field_line[RPS_KEY_FORMULA],
                          "the formula uses event %s, which is in no set above this line",
                          lookup.homeless->event.name);
    else
        rps_set_file_fail(reader, reader->draft.field_line[RPS_KEY_FORMULA], "%.450s", why.message);
}

void rps_set_file_end_section(struct rps_set_file_reader *reader)
{
    static void (*const end[RPS_SECTION_COUNT])(struct rps_set_file_reader *) = {
        [RPS_SECTION_PLAN] = end_plan,     [RPS_SECTION_FAMILY] = end_family,
        [RPS_SECTION_EVENT] = end_event,   [RPS_SECTION_SET] = end_set,
        [RPS_SECTION_METRIC] = end_metric,
    };

    if (reader->result == 0 && reader->draft.kind != RPS_SECTION_NONE)
        end[reader->draft.kind](reader);
    reader->draft.kind = RPS_SECTION_NONE;
}

/* --- the end of the set file ------------------------------------------------------------------ */

/* Compile the formulas of the base again. The slots of changed sets hold other events than before,
 * and events that the formulas use may be missing. */
static void compile_again(struct rps_set_file_reader *reader)
{
    for (int i = 0; i < reader->plan->metric_count; i++) {
        struct rps_metric *metric = &reader->plan->metric[i];
        struct rps_error why = {""};

        if (rps_formula_compile(metric->formula_text, rps_plan_operand, reader->plan,
                                &metric->formula, &why) < 0)
            rps_set_file_fail(reader, reader->line, "[metric %s] of the base: %.400s", metric->name,
                              why.message);
    }
}

void rps_set_file_check_whole(struct rps_set_file_reader *reader)
{
    int by_default = 0;

    for (int i = 0; i < reader->declared_count; i++) {
        if (!reader->declared[i].used && !reader->declared[i].dropped)
            rps_set_file_fail(
                reader, reader->declared[i].line,
                "event %s is in no set; name it in the line 'events =' of a set, or remove it",
                reader->declared[i].event.name);
    }
    for (int n = 0; n < reader->plan->set_count; n++)
        by_default += !reader->plan->set[n].on_request;
    if (by_default == 0)
        rps_set_file_fail(reader, reader->line > 0 ? reader->line : 1,
                          "the file has no [set]%s, so there is nothing to count",
                          reader->plan->set_count > 0 ? " without default = no" : "");
    if (reader->has_base)
        compile_again(reader);
}

/* --- keys of sections, and errors ------------------------------------------------------------- */

#define IN(kind) RPS_SECTION_BIT(kind)

const char *const rps_section_kinds[RPS_SECTION_COUNT] = {
    [RPS_SECTION_NONE] = "",       [RPS_SECTION_PLAN] = "plan", [RPS_SECTION_FAMILY] = "family",
    [RPS_SECTION_EVENT] = "event", [RPS_SECTION_SET] = "set",   [RPS_SECTION_METRIC] = "metric",
};

const struct rps_section_field rps_section_fields[RPS_KEY_COUNT] = {
    [RPS_KEY_NAME] = {"name", RPS_NAME_SIZE, IN(RPS_SECTION_PLAN)},
    [RPS_KEY_BASE] = {"base", RPS_NAME_SIZE, IN(RPS_SECTION_PLAN)},
    [RPS_KEY_TITLE] = {"title", 2 * RPS_NAME_SIZE, IN(RPS_SECTION_PLAN)},
    [RPS_KEY_MATCH] = {"match", RPS_MATCH_SIZE, IN(RPS_SECTION_PLAN)},
    [RPS_KEY_EVENT] = {"event", RPS_SPEC_SIZE, IN(RPS_SECTION_EVENT)},
    [RPS_KEY_EVENTS] = {"events", RPS_SECTION_EVENTS_SIZE, IN(RPS_SECTION_SET)},
    [RPS_KEY_DEFAULT] = {"default", RPS_NAME_SIZE, IN(RPS_SECTION_SET)},
    [RPS_KEY_FORMULA] = {"formula", sizeof(((struct rps_metric *)0)->formula_text),
                         IN(RPS_SECTION_METRIC)},
    [RPS_KEY_LABEL] = {"label", RPS_NAME_SIZE,
                       IN(RPS_SECTION_FAMILY) | IN(RPS_SECTION_EVENT) | IN(RPS_SECTION_METRIC)},
    [RPS_KEY_ROLE] = {"role", RPS_NAME_SIZE, IN(RPS_SECTION_EVENT)},
    [RPS_KEY_UNIT] = {"unit", RPS_NAME_SIZE, IN(RPS_SECTION_EVENT) | IN(RPS_SECTION_METRIC)},
    [RPS_KEY_FAMILY] = {"family", RPS_NAME_SIZE, IN(RPS_SECTION_EVENT) | IN(RPS_SECTION_METRIC)},
    [RPS_KEY_PANEL] = {"panel", RPS_NAME_SIZE, IN(RPS_SECTION_METRIC)},
    [RPS_KEY_EXPLAIN] = {"explain", RPS_EXPLAIN_SIZE,
                         IN(RPS_SECTION_PLAN) | IN(RPS_SECTION_EVENT) | IN(RPS_SECTION_SET) |
                             IN(RPS_SECTION_METRIC)},
};

void rps_set_file_fail(struct rps_set_file_reader *reader, int line, const char *format, ...)
{
    char message[512];
    va_list arguments;

    if (reader->result < 0)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    reader->error_line = line;
    reader->result =
        rps_error_set(reader->err, RPS_USAGE, "%s:%d: %s", reader->origin, line, message);
}

void rps_set_file_fail_memory(struct rps_set_file_reader *reader)
{
    if (reader->result == 0)
        reader->result = rps_error_memory(reader->err);
}
