/*
 * Documents: what the sections may have, and the errors that are noted while one is read.
 */
#include "document_section.h"

#include <stdarg.h>
#include <stdio.h>

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

void rps_document_fail(struct rps_document_reader *reader, int line, const char *format, ...)
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

void rps_document_fail_memory(struct rps_document_reader *reader)
{
    if (reader->result == 0)
        reader->result = rps_error_memory(reader->err);
}

bool rps_document_is_missing(struct rps_document_reader *reader, enum rps_section_key field)
{
    const struct rps_document_draft *draft = &reader->draft;

    if (draft->field_line[field] && draft->value[field][0])
        return false;
    rps_document_fail(reader, draft->line, "[%s %s] has no %s =", rps_section_kinds[draft->kind],
                      draft->id, rps_section_fields[field].key);
    return true;
}
