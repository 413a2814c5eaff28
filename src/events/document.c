/*
 * Documents: text in the dialect of inih becomes a plan.
 *
 * inih splits lines into keys and values. It silently accepts a line longer than its buffer (cut in
 * two), a section name longer than its buffer (cut), and a section without keys (never reported).
 * All three are errors here, so next_line() checks the lines first. It also knows the number of the
 * line, which inih does not pass to its handler, so every message can name it. After the first
 * error next_line() ends the text, and the first message remains.
 *
 * Every key is text. A section of any kind is collected as text in one draft. When the next section
 * begins, the draft becomes an event, a set or a metric (document_section.c).
 */
#include "document.h"

#include "document_section.h"
#include "names.h"

#include "rpistat/text.h"

#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 512 /* more than the buffer of any known inih */

/* --- the end of a section --------------------------------------------------------------------- */

static void read_sections(struct rps_document_reader *reader);

static void name_after_origin(struct rps_plan *plan, const char *origin)
{
    const char *base = rps_text_file_name(origin);
    size_t length = strlen(base);

    if (length > 4 && strcmp(base + length - 4, ".ini") == 0)
        length -= 4;
    snprintf(plan->name, sizeof(plan->name), "%.*s", (int)length, base);
}

/* Read the base document that the [plan] in the draft names; this document may then change it. The
 * base has a reader of its own, which works on the same plan and leaves its families and events to
 * this one. */
static void read_base(struct rps_document_reader *reader)
{
    const char *name = reader->draft.value[RPS_KEY_BASE];
    const struct rps_embedded *document = rps_document_find(rps_embedded_sets, name);
    int line = reader->draft.field_line[RPS_KEY_BASE];
    struct rps_document_reader *base;

    if (!document || reader->seen_count > 1) {
        rps_document_fail(reader, line,
                          document ? "base = %s must stand in the first section"
                                   : "base = %s: no event sets are called so",
                          name);
        return;
    }
    base = calloc(1, sizeof(*base));
    if (!base) {
        rps_document_fail_memory(reader);
        return;
    }
    *base = (struct rps_document_reader){.origin = document->name,
                                         .at = document->text,
                                         .left = document->size,
                                         .plan = reader->plan,
                                         .err = reader->err};
    read_sections(base);
    name_after_origin(reader->plan, reader->origin);
    reader->has_base = true;
    reader->result = base->result;
    reader->family = base->family;
    reader->family_count = base->family_count;
    reader->declared = base->declared;
    reader->declared_count = base->declared_count;
    free(base->seen);
    free(base);
}

static void end_section(struct rps_document_reader *reader)
{
    const struct rps_document_draft *draft = &reader->draft;

    if (reader->result == 0 && draft->kind == RPS_SECTION_PLAN && draft->field_line[RPS_KEY_BASE])
        read_base(reader);
    rps_document_end_section(reader);
}

/* --- the beginning of a section --------------------------------------------------------------- */

static enum rps_section_kind find_kind(const char *name, size_t length)
{
    for (int kind = RPS_SECTION_PLAN; kind < RPS_SECTION_COUNT; kind++) {
        if (strlen(rps_section_kinds[kind]) == length &&
            strncmp(rps_section_kinds[kind], name, length) == 0)
            return (enum rps_section_kind)kind;
    }
    return RPS_SECTION_NONE;
}

/* Check the ID of the section in the draft against its kind and the sections above. */
static void check_id(struct rps_document_reader *reader)
{
    const struct rps_document_draft *draft = &reader->draft;
    const char *kind = rps_section_kinds[draft->kind];
    int line = draft->line;

    if (draft->kind == RPS_SECTION_PLAN && draft->id[0])
        rps_document_fail(reader, line, "[plan] takes no name here: use name =");
    else if (draft->kind != RPS_SECTION_PLAN && !rps_name_is_id(draft->id, strlen(draft->id)))
        rps_document_fail(reader, line,
                          "[%s %s]: its name must be of letters, digits and _, as in [%s dc_miss]",
                          kind, draft->id, kind);
    else if (!rps_document_note_section(reader))
        rps_document_fail(reader, line, "there is already a [%s%s%s] above this line", kind,
                          draft->id[0] ? " " : "", draft->id);
    else if (draft->kind == RPS_SECTION_EVENT && rps_plan_operand(reader->plan, draft->id) >= 0 &&
             rps_plan_operand(reader->plan, draft->id) < RPS_OPERAND_EVENTS)
        rps_document_fail(reader, line,
                          "an event cannot be called %s: formulas know another thing by that name",
                          draft->id);
}

/* Start the section of a line "[kind id]". */
static void begin_section(struct rps_document_reader *reader, const char *line)
{
    struct rps_document_draft *draft = &reader->draft;
    size_t length = strcspn(line, "]");
    size_t kind_length = strcspn(line + 1, " \t]");
    const char *id = line + 1 + kind_length;
    const char *end = line + length;
    const char *rest = end + 1;

    end_section(reader);
    if (*end == '\0') {
        rps_document_fail(reader, reader->line, "the section has no closing ]");
        return;
    }
    rest += strspn(rest, " \t\r\n");
    if (*rest && *rest != ';' && *rest != '#') {
        rps_document_fail(reader, reader->line, "nothing may stand behind the ] of a section");
        return;
    }
    memset(draft, 0, sizeof(*draft));
    draft->kind = find_kind(line + 1, kind_length);
    draft->line = reader->line;
    draft->last_field = -1;
    id += strspn(id, " \t");
    while (end > id && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (draft->kind == RPS_SECTION_NONE)
        rps_document_fail(reader, reader->line,
                          "unknown section [%.*s]: there are plan, family, event, set and metric",
                          (int)(length - 1), line + 1);
    else if ((size_t)(end - id) >= sizeof(draft->id))
        rps_document_fail(reader, reader->line, "the name of the %s is longer than %d characters",
                          rps_section_kinds[draft->kind], RPS_NAME_SIZE - 1);
    else {
        memcpy(draft->id, id, (size_t)(end - id));
        check_id(reader);
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Return true if a terminal or an editor would show the whole line unchanged. */
static bool is_text(const char *line)
{
    const char *end = line + strlen(line);
    uint32_t code = 0;
    int used;

    while (end > line && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    for (; line < end; line += used) {
        used = rps_text_decode(line, &code);
        if (used <= 0 || (code != '\t' && !rps_text_is_harmless(code)))
            return false;
    }
    return true;
}

/* inih's reader, like fgets: the next line into buffer, or NULL at the end and after an error. */
static char *next_line(char *buffer, int size, void *context)
{
    struct rps_document_reader *reader = context;
    const char *newline = memchr(reader->at, '\n', reader->left);
    size_t length = newline ? (size_t)(newline - reader->at) + 1 : reader->left;
    size_t room = size < LINE_MAX_BYTES ? (size_t)size : LINE_MAX_BYTES;

    if (reader->result < 0 || length == 0)
        return NULL;
    reader->line++;
    if (memchr(reader->at, '\0', length)) {
        rps_document_fail(reader, reader->line,
                          "the line holds a zero byte: this is not a text file");
        return NULL;
    }
    if (length >= room) {
        rps_document_fail(reader, reader->line,
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
        rps_document_fail(reader, reader->line,
                          "the line holds characters that are not plain UTF-8 text");
    else if (buffer[strspn(buffer, " \t")] == '[' && reader->indented)
        rps_document_fail(reader, reader->line, "a section starts at the beginning of a line");
    else if (buffer[0] == '[')
        begin_section(reader, buffer);
    return reader->result < 0 ? NULL : buffer;
}

/* The field of that key in the current section; -1, and an error, if it has none. */
static int find_field(struct rps_document_reader *reader, const char *key)
{
    char known[128] = "";

    for (int i = 0; i < RPS_KEY_COUNT; i++) {
        if (!(rps_section_fields[i].kinds & RPS_SECTION_BIT(reader->draft.kind)))
            continue;
        if (strcmp(rps_section_fields[i].key, key) == 0)
            return i;
        rps_text_list(known, sizeof(known), rps_section_fields[i].key);
    }
    if (reader->draft.kind == RPS_SECTION_NONE)
        rps_document_fail(reader, reader->line, "\"%s\" stands outside of a section", key);
    else
        rps_document_fail(reader, reader->line, "unknown key \"%s\" in [%s]: there are %s", key,
                          rps_section_kinds[reader->draft.kind], known);
    return -1;
}

/*
 * Length of text without a comment after it. In the line of the key, inih removes comments. Up to
 * release 55, it does not remove them from continuation lines.
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
    struct rps_document_reader *reader = context;
    struct rps_document_draft *draft = &reader->draft;
    int field = reader->result < 0 ? -1 : find_field(reader, key);
    size_t length, added;
    bool continued;

    (void)section; /* begin_section has read it, and knows its whole name */
    if (field < 0)
        return 0;
    continued = reader->indented && field == draft->last_field;
    if (!continued && draft->field_line[field]) {
        rps_document_fail(reader, reader->line, "%s = is given twice in [%s %s]", key,
                          rps_section_kinds[draft->kind], draft->id);
        return 0;
    }
    if (!continued)
        draft->field_line[field] = reader->line;
    draft->last_field = field;
    length = strlen(draft->value[field]);
    added = length_without_comment(text);
    if (length + (length > 0) + added >= rps_section_fields[field].size) {
        rps_document_fail(reader, reader->line, "%s = is longer than %zu bytes", key,
                          rps_section_fields[field].size - 1);
        return 0;
    }
    snprintf(draft->value[field] + length, RPS_SECTION_FIELD_SIZE - length, "%s%.*s",
             length > 0 ? " " : "", (int)added, text);
    return 1;
}

/* --- documents -------------------------------------------------------------------------------- */

/* The default name of a plan is that of its file. */
/* All sections of the document. */
static void read_sections(struct rps_document_reader *reader)
{
    int line;

    if (reader->left >= 3 && memcmp(reader->at, "\xef\xbb\xbf", 3) == 0) {
        reader->at += 3;
        reader->left -= 3;
    }
    line = ini_parse_stream(next_line, reader, next_value, reader);
    if (line > 0 && (reader->result == 0 || line < reader->error_line)) {
        reader->result = 0;
        rps_document_fail(reader, line, "not a section, and not of the form key = value");
    }
    end_section(reader);
}

static void read_document(struct rps_document_reader *reader)
{
    read_sections(reader);
    if (reader->result == 0)
        rps_document_check_whole(reader);
    if (reader->plan->title[0] == '\0')
        snprintf(reader->plan->title, sizeof(reader->plan->title), "%s", reader->plan->name);
}

int rps_plan_parse(const char *origin, const char *text, size_t size, struct rps_plan **ret,
                   struct rps_error *err)
{
    struct rps_document_reader *reader = calloc(1, sizeof(*reader));
    struct rps_plan *plan = rps_plan_new();
    int result = RPS_FAILED;

    if (!reader || !plan) {
        rps_error_memory(err);
        goto out;
    }
    *reader = (struct rps_document_reader){
        .origin = origin, .at = text, .left = size, .plan = plan, .err = err};
    name_after_origin(plan, origin);
    read_document(reader);
    result = reader->result;
    if (result == 0) {
        *ret = plan;
        plan = NULL;
    }
    rps_document_forget(reader);
out:
    rps_plan_free(plan);
    free(reader);
    return result;
}

/* --- documents that are part of the program --------------------------------------------------- */

const struct rps_embedded *rps_document_find(const struct rps_embedded *table, const char *name)
{
    size_t length = strlen(name);

    for (const struct rps_embedded *set = table; set->name; set++) {
        if (strncmp(set->name, name, length) == 0 && strcmp(set->name + length, ".ini") == 0)
            return set;
    }
    return NULL;
}
