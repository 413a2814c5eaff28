/* Converts a set file, text in the dialect of inih, to a plan.
 *
 * inih splits lines into keys and values. inih silently accepts a line longer than its buffer (cut
 * in two) and a section name longer than its buffer (cut). inih never reports a section without
 * keys. All three are errors here, so next_line() checks the lines first. inih does not pass the
 * line number to its handler. next_line() counts the lines, so that every message contains the line
 * number. After the first error, next_line() returns no more lines, so that the first message is
 * kept.
 *
 * Every value is text. One draft holds the text of the current section, whatever the section
 * describes. When the next section begins, the draft becomes an event, a set or a metric
 * (set_file_section.c). */

#include "set_file_section.h"
#include "names.h"

#include "rpistat/text.h"

#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 512 /* More than the buffer size of any known inih. */

/* --- the end of a section --------------------------------------------------------------------- */

static void read_sections(struct rps_set_file_reader *reader);

static void name_after_origin(struct rps_plan *plan, const char *origin)
{
    const char *base = rps_text_file_name(origin);
    size_t length = strlen(base);

    if (length > 4 && strcmp(base + length - 4, ".ini") == 0)
        length -= 4;
    snprintf(plan->name, sizeof(plan->name), "%.*s", (int)length, base);
}

/* Read the base set file whose name is in the section [plan] of the draft. The current set file may
 * then change the plan. A second reader reads the base into the same plan, and passes its families
 * and events to the current reader. */
static void read_base(struct rps_set_file_reader *reader)
{
    const char *name = reader->draft.value[RPS_KEY_BASE];
    const struct rps_embedded *document = rps_set_file_find(rps_embedded_sets, name);
    int line = reader->draft.field_line[RPS_KEY_BASE];
    struct rps_set_file_reader *base;

    if (!document || reader->seen_count > 1) {
        rps_set_file_fail(reader, line,
                          document ? "'base = %s' must be in the first section"
                                   : "'base = %s': no event sets have this name",
                          name);
        return;
    }
    base = calloc(1, sizeof(*base));
    if (!base) {
        rps_set_file_fail_memory(reader);
        return;
    }
    *base = (struct rps_set_file_reader){.origin = document->name,
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

static void end_section(struct rps_set_file_reader *reader)
{
    const struct rps_set_file_draft *draft = &reader->draft;

    if (reader->result == 0 && draft->kind == RPS_SECTION_PLAN && draft->field_line[RPS_KEY_BASE])
        read_base(reader);
    rps_set_file_end_section(reader);
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

/* Check the ID of the section in the draft. The form of the ID must suit the kind of section, and
 * no section above may have the same ID. */
static void check_id(struct rps_set_file_reader *reader)
{
    const struct rps_set_file_draft *draft = &reader->draft;
    const char *kind = rps_section_kinds[draft->kind];
    int line = draft->line;

    if (draft->kind == RPS_SECTION_PLAN && draft->id[0])
        rps_set_file_fail(reader, line, "[plan] takes no name here; write 'name = NAME' below it");
    else if (draft->kind != RPS_SECTION_PLAN && !rps_name_is_id(draft->id, strlen(draft->id)))
        rps_set_file_fail(reader, line,
                          "[%s %s]: its name must be of letters, digits and _, as in [%s dc_miss]",
                          kind, draft->id, kind);
    else if (!rps_set_file_note_section(reader))
        rps_set_file_fail(reader, line, "there is already a [%s%s%s] above this line", kind,
                          draft->id[0] ? " " : "", draft->id);
    else if (draft->kind == RPS_SECTION_EVENT && rps_plan_operand(reader->plan, draft->id) >= 0 &&
             rps_plan_operand(reader->plan, draft->id) < RPS_OPERAND_EVENTS)
        rps_set_file_fail(
            reader, line,
            "an event cannot have the name %s, because formulas use that name; rename it",
            draft->id);
}

static void begin_section(struct rps_set_file_reader *reader, const char *line)
{
    struct rps_set_file_draft *draft = &reader->draft;
    size_t length = strcspn(line, "]");
    size_t kind_length = strcspn(line + 1, " \t]");
    const char *id = line + 1 + kind_length;
    const char *end = line + length;
    const char *rest = end + 1;

    end_section(reader);
    if (*end == '\0') {
        rps_set_file_fail(reader, reader->line, "the section has no closing ]");
        return;
    }
    rest += strspn(rest, " \t\r\n");
    if (*rest && *rest != ';' && *rest != '#') {
        rps_set_file_fail(reader, reader->line, "remove the text after the ] of a section");
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
        rps_set_file_fail(reader, reader->line,
                          "unknown section [%.*s]; choose from plan, family, event, set and metric",
                          (int)(length - 1), line + 1);
    else if ((size_t)(end - id) >= sizeof(draft->id))
        rps_set_file_fail(reader, reader->line, "the name of the %s is longer than %d characters",
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

/* Read the next line for inih, like fgets. Return NULL at the end and after an error. */
static char *next_line(char *buffer, int size, void *context)
{
    struct rps_set_file_reader *reader = context;
    const char *newline = memchr(reader->at, '\n', reader->left);
    size_t length = newline ? (size_t)(newline - reader->at) + 1 : reader->left;
    size_t room = size < LINE_MAX_BYTES ? (size_t)size : LINE_MAX_BYTES;

    if (reader->result < 0 || length == 0)
        return NULL;
    reader->line++;
    if (memchr(reader->at, '\0', length)) {
        rps_set_file_fail(reader, reader->line,
                          "the line has a zero byte; check that this is a text file");
        return NULL;
    }
    if (length >= room) {
        rps_set_file_fail(
            reader, reader->line,
            "the line is longer than %zu bytes; continue it, indented, on the next one", room - 2);
        return NULL;
    }
    memcpy(buffer, reader->at, length);
    buffer[length] = '\0';
    reader->at += length;
    reader->left -= length;
    reader->indented = buffer[0] == ' ' || buffer[0] == '\t';
    if (!is_text(buffer))
        rps_set_file_fail(reader, reader->line,
                          "the line holds characters that are not plain UTF-8 text");
    else if (buffer[strspn(buffer, " \t")] == '[' && reader->indented)
        rps_set_file_fail(reader, reader->line, "a section starts at the beginning of a line");
    else if (buffer[0] == '[')
        begin_section(reader, buffer);
    return reader->result < 0 ? NULL : buffer;
}

/* Return the field of a key in the section, or -1 with an error if the section lacks the key. */
static int find_field(struct rps_set_file_reader *reader, const char *key)
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
        rps_set_file_fail(reader, reader->line, "\"%s\" is outside of a section", key);
    else
        rps_set_file_fail(reader, reader->line, "unknown key \"%s\" in [%s]; choose from %s", key,
                          rps_section_kinds[reader->draft.kind], known);
    return -1;
}

/* Return the length of text without a trailing comment. inih removes comments in the line of the
 * key. Up to release 55, inih does not remove comments from continuation lines. */
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

/* Handle a line from inih: a key with its value, or a continuation of the last key's value. */
static int next_value(void *context, const char *section, const char *key, const char *text)
{
    struct rps_set_file_reader *reader = context;
    struct rps_set_file_draft *draft = &reader->draft;
    int field = reader->result < 0 ? -1 : find_field(reader, key);
    size_t length, added;
    bool continued;

    (void)section; /* begin_section has read the section, and knows its whole name. */
    if (field < 0)
        return 0;
    continued = reader->indented && field == draft->last_field;
    if (!continued && draft->field_line[field]) {
        rps_set_file_fail(reader, reader->line, "'%s =' is given twice in [%s %s]", key,
                          rps_section_kinds[draft->kind], draft->id);
        return 0;
    }
    if (!continued)
        draft->field_line[field] = reader->line;
    draft->last_field = field;
    length = strlen(draft->value[field]);
    added = length_without_comment(text);
    if (length + (length > 0) + added >= rps_section_fields[field].size) {
        rps_set_file_fail(reader, reader->line, "'%s =' is longer than %zu bytes", key,
                          rps_section_fields[field].size - 1);
        return 0;
    }
    snprintf(draft->value[field] + length, RPS_SECTION_FIELD_SIZE - length, "%s%.*s",
             length > 0 ? " " : "", (int)added, text);
    return 1;
}

/* --- set files -------------------------------------------------------------------------------- */

/* If a plan has no name, use the name of its file. */
static void read_sections(struct rps_set_file_reader *reader)
{
    int line;

    if (reader->left >= 3 && memcmp(reader->at, "\xef\xbb\xbf", 3) == 0) {
        reader->at += 3;
        reader->left -= 3;
    }
    line = ini_parse_stream(next_line, reader, next_value, reader);
    if (line > 0 && (reader->result == 0 || line < reader->error_line)) {
        reader->result = 0;
        rps_set_file_fail(reader, line, "not a section, and not of the form key = value");
    }
    end_section(reader);
}

int rps_plan_parse(const char *origin, const char *text, size_t size, struct rps_plan **ret,
                   struct rps_error *err)
{
    struct rps_set_file_reader *reader = calloc(1, sizeof(*reader));
    struct rps_plan *plan = rps_plan_new();
    int result = RPS_FAILED;

    if (!reader || !plan) {
        rps_error_memory(err);
        goto out;
    }
    *reader = (struct rps_set_file_reader){
        .origin = origin, .at = text, .left = size, .plan = plan, .err = err};
    name_after_origin(plan, origin);
    read_sections(reader);
    if (reader->result == 0)
        rps_set_file_check_whole(reader);
    if (reader->plan->title[0] == '\0')
        snprintf(reader->plan->title, sizeof(reader->plan->title), "%s", reader->plan->name);
    result = reader->result;
    if (result == 0) {
        *ret = plan;
        plan = NULL;
    }
    free(reader->declared);
    free(reader->family);
    free(reader->seen);
out:
    rps_plan_free(plan);
    free(reader);
    return result;
}

/* --- set files that are part of the program --------------------------------------------------- */

const struct rps_embedded *rps_set_file_find(const struct rps_embedded *table, const char *name)
{
    size_t length = strlen(name);

    for (const struct rps_embedded *set = table; set->name; set++) {
        if (strncmp(set->name, name, length) == 0 && strcmp(set->name + length, ".ini") == 0)
            return set;
    }
    return NULL;
}
