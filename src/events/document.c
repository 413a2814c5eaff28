/*
 * Documents: text in the dialect of inih becomes a plan.
 *
 * inih splits lines into keys and values. Three things it does quietly are errors here, so the
 * lines it reads pass through next_line() first: a line longer than its buffer (cut in two), a
 * section name longer than its buffer (cut), a section without keys (never reported). next_line()
 * also knows the number of the line, which inih's handler is not told, and so every message can
 * name it. Once one error has been seen next_line() ends the text, and the first message is the one
 * that stays.
 *
 * Every key is text. A section is collected as text in one draft, whatever its kind, and turned
 * into an event, a set or a metric when the next section begins.
 */
#include "names.h"

#include "rpistat/plan.h"
#include "rpistat/text.h"

#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 512 /* more than the buffer of any inih that we have seen */
#define EVENTS_SIZE    1024

enum kind {
    KIND_NONE,
    KIND_PLAN,
    KIND_FAMILY,
    KIND_EVENT,
    KIND_SET,
    KIND_METRIC,
    KIND_COUNT,
};

static const char *const kind_names[KIND_COUNT] = {
    [KIND_NONE] = "",       [KIND_PLAN] = "plan", [KIND_FAMILY] = "family",
    [KIND_EVENT] = "event", [KIND_SET] = "set",   [KIND_METRIC] = "metric",
};

enum field {
    FIELD_NAME,
    FIELD_TITLE,
    FIELD_MATCH,
    FIELD_EVENT,
    FIELD_EVENTS,
    FIELD_FORMULA,
    FIELD_LABEL,
    FIELD_ROLE,
    FIELD_UNIT,
    FIELD_FAMILY,
    FIELD_PANEL,
    FIELD_EXPLAIN,
    FIELD_COUNT,
};

#define IN(kind)   (1u << (kind))
#define FIELD_SIZE 1024 /* the largest of the sizes below */

static const struct {
    const char *key;
    size_t size;    /* of the value, with its terminating 0 */
    unsigned kinds; /* of section that may have it */
} fields[FIELD_COUNT] = {
    [FIELD_NAME] = {"name", RPS_NAME_SIZE, IN(KIND_PLAN)},
    [FIELD_TITLE] = {"title", 2 * RPS_NAME_SIZE, IN(KIND_PLAN)},
    [FIELD_MATCH] = {"match", RPS_MATCH_SIZE, IN(KIND_PLAN)},
    [FIELD_EVENT] = {"event", RPS_SPEC_SIZE, IN(KIND_EVENT)},
    [FIELD_EVENTS] = {"events", EVENTS_SIZE, IN(KIND_SET)},
    [FIELD_FORMULA] = {"formula", sizeof(((struct rps_metric *)0)->formula_text), IN(KIND_METRIC)},
    [FIELD_LABEL] = {"label", RPS_NAME_SIZE, IN(KIND_FAMILY) | IN(KIND_EVENT) | IN(KIND_METRIC)},
    [FIELD_ROLE] = {"role", RPS_NAME_SIZE, IN(KIND_EVENT)},
    [FIELD_UNIT] = {"unit", RPS_NAME_SIZE, IN(KIND_EVENT) | IN(KIND_METRIC)},
    [FIELD_FAMILY] = {"family", RPS_NAME_SIZE, IN(KIND_EVENT) | IN(KIND_METRIC)},
    [FIELD_PANEL] = {"panel", RPS_NAME_SIZE, IN(KIND_METRIC)},
    [FIELD_EXPLAIN] = {"explain", RPS_EXPLAIN_SIZE,
                       IN(KIND_PLAN) | IN(KIND_EVENT) | IN(KIND_SET) | IN(KIND_METRIC)},
};

/* A section while it is read. */
struct draft {
    enum kind kind;
    int line;                    /* of its first line */
    char id[RPS_NAME_SIZE];      /* "" for [plan] */
    int last_field;              /* that continuation lines belong to, -1 none */
    int field_line[FIELD_COUNT]; /* 0: the key was not given */
    char value[FIELD_COUNT][FIELD_SIZE];
};

struct family {
    char id[RPS_NAME_SIZE];
    char label[RPS_NAME_SIZE];
};

/* An event of the document, until a set takes it. */
struct declared {
    struct rps_event event;
    int line;
    bool used;
};

struct reader {
    const char *origin;
    const char *at; /* what is still to be read */
    size_t left;
    int line;      /* number of the line last given to inih */
    bool indented; /* it started with a blank */
    struct draft draft;
    bool plan_seen;
    struct family *family;
    int family_count;
    struct declared *declared;
    int declared_count;
    struct rps_plan *plan;
    int result; /* 0, or the code of the first error */
    int error_line;
    struct rps_error *err;
};

static void fail(struct reader *reader, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Note an error; only the first counts. */
static void fail(struct reader *reader, int line, const char *format, ...)
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

static void fail_memory(struct reader *reader)
{
    if (reader->result == 0)
        reader->result = rps_error_memory(reader->err);
}

/* Append a zeroed element to a growing array and return it; NULL, and an error, without memory. */
static void *grow(struct reader *reader, void **array, int *count, size_t size)
{
    char *grown = realloc(*array, ((size_t)*count + 1) * size);

    if (!grown) {
        fail_memory(reader);
        return NULL;
    }
    *array = grown;
    grown += (size_t)(*count)++ * size;
    return memset(grown, 0, size);
}

/* --- names ----------------------------------------------------------------------------------- */

static struct declared *find_declared(struct reader *reader, const char *id)
{
    for (int i = 0; i < reader->declared_count; i++) {
        if (strcmp(reader->declared[i].event.name, id) == 0)
            return &reader->declared[i];
    }
    return NULL;
}

static const struct family *find_family(const struct reader *reader, const char *id)
{
    for (int i = 0; i < reader->family_count; i++) {
        if (strcmp(reader->family[i].id, id) == 0)
            return &reader->family[i];
    }
    return NULL;
}

/* True when the document already has a section of that kind with that ID. */
static bool is_known(struct reader *reader, enum kind kind, const char *id)
{
    const struct rps_plan *plan = reader->plan;

    if (kind == KIND_PLAN)
        return reader->plan_seen;
    if (kind == KIND_FAMILY)
        return find_family(reader, id);
    if (kind == KIND_EVENT)
        return find_declared(reader, id);
    for (int i = 0; kind == KIND_SET && i < plan->set_count; i++) {
        if (strcmp(plan->set[i].name, id) == 0)
            return true;
    }
    for (int i = 0; kind == KIND_METRIC && i < plan->metric_count; i++) {
        if (strcmp(plan->metric[i].name, id) == 0)
            return true;
    }
    return false;
}

/* --- the end of a section -------------------------------------------------------------------- */

static const char *value(const struct reader *reader, enum field field)
{
    return reader->draft.value[field];
}

/* The value of a key, or the section's ID where the key was left out. */
static const char *value_or_id(const struct reader *reader, enum field field)
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

/* The label of the family that the section names, "" if none; an error if there is no such family.
 */
static const char *family_label(struct reader *reader)
{
    const char *id = value(reader, FIELD_FAMILY);
    const struct family *family = find_family(reader, id);

    if (family)
        return family->label;
    if (*id)
        fail(reader, reader->draft.field_line[FIELD_FAMILY],
             "no [family %s] stands above this line", id);
    return "";
}

static bool is_missing(struct reader *reader, enum field field)
{
    const struct draft *draft = &reader->draft;

    if (draft->field_line[field] && draft->value[field][0])
        return false;
    fail(reader, draft->line, "[%s %s] has no %s =", kind_names[draft->kind], draft->id,
         fields[field].key);
    return true;
}

static void end_plan(struct reader *reader)
{
    struct rps_plan *plan = reader->plan;

    reader->plan_seen = true;
    if (reader->draft.field_line[FIELD_NAME])
        copy(plan->name, sizeof(plan->name), value(reader, FIELD_NAME));
    copy(plan->title, sizeof(plan->title), value(reader, FIELD_TITLE));
    copy(plan->match, sizeof(plan->match), value(reader, FIELD_MATCH));
    copy(plan->explain, sizeof(plan->explain), value(reader, FIELD_EXPLAIN));
}

static void end_family(struct reader *reader)
{
    struct family *family;

    if (is_missing(reader, FIELD_LABEL))
        return;
    family = grow(reader, (void **)&reader->family, &reader->family_count, sizeof(*family));
    if (!family)
        return;
    copy(family->id, sizeof(family->id), reader->draft.id);
    copy(family->label, sizeof(family->label), value(reader, FIELD_LABEL));
}

/* "ORIGIN:LINE"; of a long path only its end. */
static void write_where(const struct reader *reader, int line, char ret[RPS_WHERE_SIZE])
{
    size_t length = strlen(reader->origin), room = RPS_WHERE_SIZE - sizeof("...:1234567890");

    snprintf(ret, RPS_WHERE_SIZE, "%s%s:%d", length > room ? "..." : "",
             length > room ? reader->origin + length - room : reader->origin, line);
}

static void end_event(struct reader *reader)
{
    struct declared *declared;
    struct rps_event *event;

    if (is_missing(reader, FIELD_EVENT))
        return;
    declared = grow(reader, (void **)&reader->declared, &reader->declared_count, sizeof(*declared));
    if (!declared)
        return;
    declared->line = reader->draft.line;
    event = &declared->event;
    copy(event->name, sizeof(event->name), reader->draft.id);
    copy(event->spec, sizeof(event->spec), value(reader, FIELD_EVENT));
    copy(event->label, sizeof(event->label), value_or_id(reader, FIELD_LABEL));
    copy(event->role, sizeof(event->role), value(reader, FIELD_ROLE));
    copy(event->unit, sizeof(event->unit),
         reader->draft.field_line[FIELD_UNIT] ? value(reader, FIELD_UNIT) : "events");
    copy(event->family, sizeof(event->family), family_label(reader));
    copy(event->explain, sizeof(event->explain), value(reader, FIELD_EXPLAIN));
    write_where(reader, reader->draft.field_line[FIELD_EVENT], event->where);
}

/* Move the event called id into the set. */
static void add_to_set(struct reader *reader, struct rps_event_set *set, const char *id)
{
    int line = reader->draft.field_line[FIELD_EVENTS];
    struct declared *declared = find_declared(reader, id);

    if (*id == '\0') {
        fail(reader, line, "[set %s] has a comma too many in events =", set->name);
    } else if (!declared) {
        fail(reader, line, "no [event %s] stands above this line", id);
    } else if (declared->used) {
        fail(reader, line, "event %s is already in a set: one event belongs to one set", id);
    } else if (set->event_count == RPS_SLOT_MAX) {
        fail(reader, line, "[set %s] has more than %d events: make two sets of it", set->name,
             RPS_SLOT_MAX);
    } else {
        set->event[set->event_count++] = declared->event;
        declared->used = true;
    }
}

static void end_set(struct reader *reader)
{
    const char *at = value(reader, FIELD_EVENTS);
    struct rps_event_set *set;

    if (is_missing(reader, FIELD_EVENTS))
        return;
    set = rps_plan_add_set(reader->plan);
    if (!set) {
        fail_memory(reader);
        return;
    }
    copy(set->name, sizeof(set->name), reader->draft.id);
    copy(set->explain, sizeof(set->explain), value(reader, FIELD_EXPLAIN));
    for (;;) {
        char id[EVENTS_SIZE];
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
    struct reader *reader;
    const struct declared *homeless; /* an event that was asked for and is in no set */
};

static int find_operand(void *context, const char *name)
{
    struct lookup *lookup = context;
    int operand = rps_plan_operand(lookup->reader->plan, name);

    if (operand < 0)
        lookup->homeless = find_declared(lookup->reader, name);
    return operand;
}

static void end_metric(struct reader *reader)
{
    struct lookup lookup = {.reader = reader};
    struct rps_metric *metric;
    struct rps_error why = {""};

    if (is_missing(reader, FIELD_FORMULA))
        return;
    metric = rps_plan_add_metric(reader->plan);
    if (!metric) {
        fail_memory(reader);
        return;
    }
    copy(metric->name, sizeof(metric->name), reader->draft.id);
    copy(metric->label, sizeof(metric->label), value_or_id(reader, FIELD_LABEL));
    copy(metric->unit, sizeof(metric->unit), value(reader, FIELD_UNIT));
    copy(metric->family, sizeof(metric->family), family_label(reader));
    copy(metric->panel, sizeof(metric->panel),
         reader->draft.field_line[FIELD_PANEL] ? value(reader, FIELD_PANEL) : metric->label);
    copy(metric->explain, sizeof(metric->explain), value(reader, FIELD_EXPLAIN));
    copy(metric->formula_text, sizeof(metric->formula_text), value(reader, FIELD_FORMULA));
    if (rps_formula_compile(metric->formula_text, find_operand, &lookup, &metric->formula, &why) ==
        0)
        return;
    if (lookup.homeless)
        fail(reader, reader->draft.field_line[FIELD_FORMULA],
             "the formula uses event %s, which is in no set above this line",
             lookup.homeless->event.name);
    else
        fail(reader, reader->draft.field_line[FIELD_FORMULA], "%.450s", why.message);
}

static void end_section(struct reader *reader)
{
    static void (*const end[KIND_COUNT])(struct reader *) = {
        [KIND_PLAN] = end_plan, [KIND_FAMILY] = end_family, [KIND_EVENT] = end_event,
        [KIND_SET] = end_set,   [KIND_METRIC] = end_metric,
    };

    if (reader->result == 0 && reader->draft.kind != KIND_NONE)
        end[reader->draft.kind](reader);
    reader->draft.kind = KIND_NONE;
}

/* --- the beginning of a section -------------------------------------------------------------- */

static enum kind find_kind(const char *name, size_t length)
{
    for (int kind = KIND_PLAN; kind < KIND_COUNT; kind++) {
        if (strlen(kind_names[kind]) == length && strncmp(kind_names[kind], name, length) == 0)
            return (enum kind)kind;
    }
    return KIND_NONE;
}

/* Check the ID of the section in the draft against its kind and the sections above. */
static void check_id(struct reader *reader)
{
    const struct draft *draft = &reader->draft;
    const char *kind = kind_names[draft->kind];
    int line = draft->line;

    if (draft->kind == KIND_PLAN && draft->id[0])
        fail(reader, line, "[plan] takes no name here: use name =");
    else if (draft->kind != KIND_PLAN && !rps_name_is_id(draft->id, strlen(draft->id)))
        fail(reader, line, "[%s %s]: its name must be of letters, digits and _, as in [%s dc_miss]",
             kind, draft->id, kind);
    else if (is_known(reader, draft->kind, draft->id))
        fail(reader, line, "there is already a [%s%s%s] above this line", kind,
             draft->id[0] ? " " : "", draft->id);
    else if (draft->kind == KIND_EVENT && rps_plan_operand(reader->plan, draft->id) >= 0 &&
             rps_plan_operand(reader->plan, draft->id) < RPS_OPERAND_EVENTS)
        fail(reader, line, "an event cannot be called %s: formulas know another thing by that name",
             draft->id);
}

/* Start the section of a line "[kind id]". */
static void begin_section(struct reader *reader, const char *line)
{
    struct draft *draft = &reader->draft;
    size_t length = strcspn(line, "]");
    size_t kind_length = strcspn(line + 1, " \t]");
    const char *id = line + 1 + kind_length;
    const char *end = line + length;
    const char *rest = end + 1;

    end_section(reader);
    if (*end == '\0') {
        fail(reader, reader->line, "the section has no closing ]");
        return;
    }
    rest += strspn(rest, " \t\r\n");
    if (*rest && *rest != ';' && *rest != '#') {
        fail(reader, reader->line, "nothing may stand behind the ] of a section");
        return;
    }
    memset(draft, 0, sizeof(*draft));
    draft->kind = find_kind(line + 1, kind_length);
    draft->line = reader->line;
    draft->last_field = -1;
    id += strspn(id, " \t");
    while (end > id && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (draft->kind == KIND_NONE)
        fail(reader, reader->line,
             "unknown section [%.*s]: there are plan, family, event, set and metric",
             (int)(length - 1), line + 1);
    else if ((size_t)(end - id) >= sizeof(draft->id))
        fail(reader, reader->line, "the name of the %s is longer than %d characters",
             kind_names[draft->kind], RPS_NAME_SIZE - 1);
    else {
        memcpy(draft->id, id, (size_t)(end - id));
        check_id(reader);
    }
}

/* --- lines ----------------------------------------------------------------------------------- */

/* True when a terminal or an editor would show the whole line as it is. */
static bool is_text(const char *line)
{
    char plain[LINE_MAX_BYTES], printable[4 * LINE_MAX_BYTES];
    size_t length = strlen(line);

    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    for (size_t i = 0; i < length; i++)
        plain[i] = line[i] == '\t' ? ' ' : line[i];
    plain[length] = '\0';
    return strcmp(rps_text_printable(printable, sizeof(printable), plain), plain) == 0;
}

/* inih's reader, like fgets: the next line into buffer, or NULL at the end and after an error. */
static char *next_line(char *buffer, int size, void *context)
{
    struct reader *reader = context;
    const char *newline = memchr(reader->at, '\n', reader->left);
    size_t length = newline ? (size_t)(newline - reader->at) + 1 : reader->left;
    size_t room = size < LINE_MAX_BYTES ? (size_t)size : LINE_MAX_BYTES;

    if (reader->result < 0 || length == 0)
        return NULL;
    reader->line++;
    if (memchr(reader->at, '\0', length)) {
        fail(reader, reader->line, "the line holds a zero byte: this is not a text file");
        return NULL;
    }
    if (length >= room) {
        fail(reader, reader->line,
             "the line is longer than %zu bytes: continue it, indented, "
             "on the next",
             room - 2);
        return NULL;
    }
    memcpy(buffer, reader->at, length);
    buffer[length] = '\0';
    reader->at += length;
    reader->left -= length;
    reader->indented = buffer[0] == ' ' || buffer[0] == '\t';
    if (!is_text(buffer))
        fail(reader, reader->line, "the line holds characters that are not plain UTF-8 text");
    else if (buffer[strspn(buffer, " \t")] == '[' && reader->indented)
        fail(reader, reader->line, "a section starts at the beginning of a line");
    else if (buffer[0] == '[')
        begin_section(reader, buffer);
    return reader->result < 0 ? NULL : buffer;
}

/* Field of that key in the section that is being read; -1, and an error, if it has none. */
static int find_field(struct reader *reader, const char *key)
{
    char known[128] = "";
    size_t length = 0;

    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!(fields[i].kinds & IN(reader->draft.kind)))
            continue;
        if (strcmp(fields[i].key, key) == 0)
            return i;
        length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s",
                                   length ? ", " : "", fields[i].key);
    }
    if (reader->draft.kind == KIND_NONE)
        fail(reader, reader->line, "\"%s\" stands outside of a section", key);
    else
        fail(reader, reader->line, "unknown key \"%s\" in [%s]: there are %s", key,
             kind_names[reader->draft.kind], known);
    return -1;
}

/*
 * Length of text without a comment behind it. inih cuts comments from the line of the key, but, up
 * to release 55, not from the lines that continue it.
 */
static size_t length_without_comment(const char *text)
{
    size_t length = 0;

    while (text[length] && !(text[length] == ';' && length > 0 &&
                             (text[length - 1] == ' ' || text[length - 1] == '\t')))
        length++;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    return length;
}

/* inih's handler: one key and its value, or one more line of the last key's value. */
static int next_value(void *context, const char *section, const char *key, const char *text)
{
    struct reader *reader = context;
    struct draft *draft = &reader->draft;
    int field = reader->result < 0 ? -1 : find_field(reader, key);
    size_t length, added;
    bool continued;

    (void)section; /* begin_section has read it, and knows its whole name */
    if (field < 0)
        return 0;
    continued = reader->indented && field == draft->last_field;
    if (!continued && draft->field_line[field]) {
        fail(reader, reader->line, "%s = is given twice in [%s %s]", key, kind_names[draft->kind],
             draft->id);
        return 0;
    }
    if (!continued)
        draft->field_line[field] = reader->line;
    draft->last_field = field;
    length = strlen(draft->value[field]);
    added = length_without_comment(text);
    if (length + (length > 0) + added >= fields[field].size) {
        fail(reader, reader->line, "%s = is longer than %zu bytes", key, fields[field].size - 1);
        return 0;
    }
    snprintf(draft->value[field] + length, FIELD_SIZE - length, "%s%.*s", length > 0 ? " " : "",
             (int)added, text);
    return 1;
}

/* --- documents ------------------------------------------------------------------------------- */

/* What only the end of the document shows. */
static void check_whole(struct reader *reader)
{
    for (int i = 0; i < reader->declared_count; i++) {
        if (!reader->declared[i].used)
            fail(reader, reader->declared[i].line,
                 "event %s is in no set: name it in a set's events =, or remove it",
                 reader->declared[i].event.name);
    }
    if (reader->plan->set_count == 0)
        fail(reader, reader->line > 0 ? reader->line : 1,
             "there is no [set] in it, so there is nothing to count");
}

/* A plan is called like its file unless it says otherwise. */
static void name_after_origin(struct rps_plan *plan, const char *origin)
{
    const char *slash = strrchr(origin, '/');
    const char *base = slash ? slash + 1 : origin;
    size_t length = strlen(base);

    if (length > 4 && strcmp(base + length - 4, ".ini") == 0)
        length -= 4;
    snprintf(plan->name, sizeof(plan->name), "%.*s", (int)length, base);
}

static void read_document(struct reader *reader)
{
    int line;

    if (reader->left >= 3 && memcmp(reader->at, "\xef\xbb\xbf", 3) == 0) {
        reader->at += 3;
        reader->left -= 3;
    }
    line = ini_parse_stream(next_line, reader, next_value, reader);
    if (line > 0 && (reader->result == 0 || line < reader->error_line)) {
        reader->result = 0;
        fail(reader, line, "not a section, and not of the form key = value");
    }
    end_section(reader);
    if (reader->result == 0)
        check_whole(reader);
    if (reader->plan->title[0] == '\0')
        copy(reader->plan->title, sizeof(reader->plan->title), reader->plan->name);
}

int rps_plan_parse(const char *origin, const char *text, size_t size, struct rps_plan **ret,
                   struct rps_error *err)
{
    struct reader *reader = calloc(1, sizeof(*reader));
    struct rps_plan *plan = rps_plan_new();
    int result = RPS_FAILED;

    if (!reader || !plan) {
        rps_error_memory(err);
        goto out;
    }
    *reader = (struct reader){.origin = origin, .at = text, .left = size, .plan = plan, .err = err};
    name_after_origin(plan, origin);
    read_document(reader);
    result = reader->result;
    if (result == 0) {
        *ret = plan;
        plan = NULL;
    }
    free(reader->declared);
    free(reader->family);
out:
    rps_plan_free(plan);
    free(reader);
    return result;
}
