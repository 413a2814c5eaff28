/*
 * Documents: what a section becomes. Families and events are kept aside, an event until a set takes
 * it; sets and metrics go into the plan.
 */
#include "document_section.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rps_document_family {
    char id[RPS_NAME_SIZE];
    char label[RPS_NAME_SIZE];
};

/* An event of the document, until a set takes it. */
struct rps_document_event {
    struct rps_event event;
    int line;
    bool used;
};

/* Append a zeroed element to a growing array and return it; NULL, and an error, without memory. */
static void *grow(struct rps_document_reader *reader, void **array, int *count, size_t size)
{
    char *grown = realloc(*array, ((size_t)*count + 1) * size);

    if (!grown) {
        rps_document_fail_memory(reader);
        return NULL;
    }
    *array = grown;
    grown += (size_t)(*count)++ * size;
    return memset(grown, 0, size);
}

static struct rps_document_event *find_declared(struct rps_document_reader *reader, const char *id)
{
    for (int i = 0; i < reader->declared_count; i++) {
        if (strcmp(reader->declared[i].event.name, id) == 0)
            return &reader->declared[i];
    }
    return NULL;
}

static const struct rps_document_family *find_family(const struct rps_document_reader *reader,
                                                     const char *id)
{
    for (int i = 0; i < reader->family_count; i++) {
        if (strcmp(reader->family[i].id, id) == 0)
            return &reader->family[i];
    }
    return NULL;
}

bool rps_document_is_known(struct rps_document_reader *reader, enum rps_section_kind kind,
                           const char *id)
{
    const struct rps_plan *plan = reader->plan;

    if (kind == RPS_SECTION_PLAN)
        return reader->plan_seen;
    if (kind == RPS_SECTION_FAMILY)
        return find_family(reader, id);
    if (kind == RPS_SECTION_EVENT)
        return find_declared(reader, id);
    for (int i = 0; kind == RPS_SECTION_SET && i < plan->set_count; i++) {
        if (strcmp(plan->set[i].name, id) == 0)
            return true;
    }
    for (int i = 0; kind == RPS_SECTION_METRIC && i < plan->metric_count; i++) {
        if (strcmp(plan->metric[i].name, id) == 0)
            return true;
    }
    return false;
}

/* --- the end of a section --------------------------------------------------------------------- */

static const char *value(const struct rps_document_reader *reader, enum rps_section_key field)
{
    return reader->draft.value[field];
}

/* The value of a key, or the section's ID where the key was left out. */
static const char *value_or_id(const struct rps_document_reader *reader, enum rps_section_key field)
{
    return reader->draft.field_line[field] ? value(reader, field) : reader->draft.id;
}

/* Copy text that is known to fit: next_value() has checked every value against its size. */
static void copy(char *ret, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size)
        length = size - 1;
    memcpy(ret, text, length);
    ret[length] = '\0';
}

/* The label of the family that the section names, "" if none; an error if there is no such
 * family. */
static const char *family_label(struct rps_document_reader *reader)
{
    const char *id = value(reader, RPS_KEY_FAMILY);
    const struct rps_document_family *family = find_family(reader, id);

    if (family)
        return family->label;
    if (*id)
        rps_document_fail(reader, reader->draft.field_line[RPS_KEY_FAMILY],
                          "no [family %s] stands above this line", id);
    return "";
}

static void end_plan(struct rps_document_reader *reader)
{
    struct rps_plan *plan = reader->plan;

    reader->plan_seen = true;
    if (reader->draft.field_line[RPS_KEY_NAME])
        copy(plan->name, sizeof(plan->name), value(reader, RPS_KEY_NAME));
    copy(plan->title, sizeof(plan->title), value(reader, RPS_KEY_TITLE));
    copy(plan->match, sizeof(plan->match), value(reader, RPS_KEY_MATCH));
    copy(plan->explain, sizeof(plan->explain), value(reader, RPS_KEY_EXPLAIN));
}

static void end_family(struct rps_document_reader *reader)
{
    struct rps_document_family *family;

    if (rps_document_is_missing(reader, RPS_KEY_LABEL))
        return;
    family = grow(reader, (void **)&reader->family, &reader->family_count, sizeof(*family));
    if (!family)
        return;
    copy(family->id, sizeof(family->id), reader->draft.id);
    copy(family->label, sizeof(family->label), value(reader, RPS_KEY_LABEL));
}

/* "ORIGIN:LINE"; of a long path only its end. */
static void write_where(const struct rps_document_reader *reader, int line,
                        char ret[RPS_WHERE_SIZE])
{
    size_t length = strlen(reader->origin), room = RPS_WHERE_SIZE - sizeof("...:1234567890");

    snprintf(ret, RPS_WHERE_SIZE, "%s%s:%d", length > room ? "..." : "",
             length > room ? reader->origin + length - room : reader->origin, line);
}

static void end_event(struct rps_document_reader *reader)
{
    struct rps_document_event *declared;
    struct rps_event *event;

    if (rps_document_is_missing(reader, RPS_KEY_EVENT))
        return;
    declared = grow(reader, (void **)&reader->declared, &reader->declared_count, sizeof(*declared));
    if (!declared)
        return;
    declared->line = reader->draft.line;
    event = &declared->event;
    copy(event->name, sizeof(event->name), reader->draft.id);
    copy(event->spec, sizeof(event->spec), value(reader, RPS_KEY_EVENT));
    copy(event->label, sizeof(event->label), value_or_id(reader, RPS_KEY_LABEL));
    copy(event->role, sizeof(event->role), value(reader, RPS_KEY_ROLE));
    copy(event->unit, sizeof(event->unit),
         reader->draft.field_line[RPS_KEY_UNIT] ? value(reader, RPS_KEY_UNIT) : "events");
    copy(event->family, sizeof(event->family), family_label(reader));
    copy(event->explain, sizeof(event->explain), value(reader, RPS_KEY_EXPLAIN));
    write_where(reader, reader->draft.field_line[RPS_KEY_EVENT], event->where);
}

/* Move the event called id into the set. */
static void add_to_set(struct rps_document_reader *reader, struct rps_event_set *set,
                       const char *id)
{
    int line = reader->draft.field_line[RPS_KEY_EVENTS];
    struct rps_document_event *declared = find_declared(reader, id);

    if (*id == '\0') {
        rps_document_fail(reader, line, "[set %s] has a comma too many in events =", set->name);
    } else if (!declared) {
        rps_document_fail(reader, line, "no [event %s] stands above this line", id);
    } else if (declared->used) {
        rps_document_fail(reader, line,
                          "event %s is already in a set: one event belongs to one set", id);
    } else if (set->event_count == RPS_SLOT_MAX) {
        rps_document_fail(reader, line, "[set %s] has more than %d events: make two sets of it",
                          set->name, RPS_SLOT_MAX);
    } else {
        set->event[set->event_count++] = declared->event;
        declared->used = true;
    }
}

/* 1 when the set says default = no. */
static int is_on_request(struct rps_document_reader *reader)
{
    const char *text = value(reader, RPS_KEY_DEFAULT);
    int line = reader->draft.field_line[RPS_KEY_DEFAULT];

    if (line > 0 && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        rps_document_fail(reader, line, "default = is yes or no, not \"%s\"", text);
    return strcmp(text, "no") == 0;
}

static void end_set(struct rps_document_reader *reader)
{
    const char *at = value(reader, RPS_KEY_EVENTS);
    struct rps_event_set *set;

    if (rps_document_is_missing(reader, RPS_KEY_EVENTS))
        return;
    set = rps_plan_add_set(reader->plan);
    if (!set) {
        rps_document_fail_memory(reader);
        return;
    }
    copy(set->name, sizeof(set->name), reader->draft.id);
    copy(set->explain, sizeof(set->explain), value(reader, RPS_KEY_EXPLAIN));
    set->on_request = is_on_request(reader);
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

struct lookup {
    struct rps_document_reader *reader;
    const struct rps_document_event *homeless; /* an event that was asked for and is in no set */
};

static int find_operand(void *context, const char *name)
{
    struct lookup *lookup = context;
    int operand = rps_plan_operand(lookup->reader->plan, name);

    if (operand < 0)
        lookup->homeless = find_declared(lookup->reader, name);
    return operand;
}

static void end_metric(struct rps_document_reader *reader)
{
    struct lookup lookup = {.reader = reader};
    struct rps_metric *metric;
    struct rps_error why = {""};

    if (rps_document_is_missing(reader, RPS_KEY_FORMULA))
        return;
    metric = rps_plan_add_metric(reader->plan);
    if (!metric) {
        rps_document_fail_memory(reader);
        return;
    }
    copy(metric->name, sizeof(metric->name), reader->draft.id);
    copy(metric->label, sizeof(metric->label), value_or_id(reader, RPS_KEY_LABEL));
    copy(metric->unit, sizeof(metric->unit), value(reader, RPS_KEY_UNIT));
    copy(metric->family, sizeof(metric->family), family_label(reader));
    copy(metric->panel, sizeof(metric->panel),
         reader->draft.field_line[RPS_KEY_PANEL] ? value(reader, RPS_KEY_PANEL) : metric->label);
    copy(metric->explain, sizeof(metric->explain), value(reader, RPS_KEY_EXPLAIN));
    copy(metric->formula_text, sizeof(metric->formula_text), value(reader, RPS_KEY_FORMULA));
    if (rps_formula_compile(metric->formula_text, find_operand, &lookup, &metric->formula, &why) ==
        0)
        return;
    if (lookup.homeless)
        rps_document_fail(reader, reader->draft.field_line[RPS_KEY_FORMULA],
                          "the formula uses event %s, which is in no set above this line",
                          lookup.homeless->event.name);
    else
        rps_document_fail(reader, reader->draft.field_line[RPS_KEY_FORMULA], "%.450s", why.message);
}

void rps_document_end_section(struct rps_document_reader *reader)
{
    static void (*const end[RPS_SECTION_COUNT])(struct rps_document_reader *) = {
        [RPS_SECTION_PLAN] = end_plan,     [RPS_SECTION_FAMILY] = end_family,
        [RPS_SECTION_EVENT] = end_event,   [RPS_SECTION_SET] = end_set,
        [RPS_SECTION_METRIC] = end_metric,
    };

    if (reader->result == 0 && reader->draft.kind != RPS_SECTION_NONE)
        end[reader->draft.kind](reader);
    reader->draft.kind = RPS_SECTION_NONE;
}

/* --- the end of the document ------------------------------------------------------------------ */

void rps_document_check_whole(struct rps_document_reader *reader)
{
    int by_default = 0;

    for (int i = 0; i < reader->declared_count; i++) {
        if (!reader->declared[i].used)
            rps_document_fail(reader, reader->declared[i].line,
                              "event %s is in no set: name it in a set's events =, or remove it",
                              reader->declared[i].event.name);
    }
    for (int n = 0; n < reader->plan->set_count; n++)
        by_default += !reader->plan->set[n].on_request;
    if (by_default == 0)
        rps_document_fail(reader, reader->line > 0 ? reader->line : 1,
                          "there is no [set] in it%s, so there is nothing to count",
                          reader->plan->set_count > 0 ? " without default = no" : "");
}

void rps_document_forget(struct rps_document_reader *reader)
{
    free(reader->declared);
    free(reader->family);
}
