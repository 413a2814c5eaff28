/*
 * Documents during parsing: document.c reads lines into a draft of one section, and
 * document_section.c converts a finished section.
 */
#ifndef RPISTAT_EVENTS_DOCUMENT_SECTION_H
#define RPISTAT_EVENTS_DOCUMENT_SECTION_H

#include "rpistat/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define RPS_SECTION_FIELD_SIZE  1024 /* the largest value of a key, with its terminating 0 */
#define RPS_SECTION_EVENTS_SIZE 1024 /* of events = */

/* The kinds of section. */
enum rps_section_kind {
    RPS_SECTION_NONE,
    RPS_SECTION_PLAN,
    RPS_SECTION_FAMILY,
    RPS_SECTION_EVENT,
    RPS_SECTION_SET,
    RPS_SECTION_METRIC,
    RPS_SECTION_COUNT,
};

/* The keys that sections may have. */
enum rps_section_key {
    RPS_KEY_NAME,
    RPS_KEY_BASE,
    RPS_KEY_TITLE,
    RPS_KEY_MATCH,
    RPS_KEY_EVENT,
    RPS_KEY_EVENTS,
    RPS_KEY_DEFAULT,
    RPS_KEY_FORMULA,
    RPS_KEY_LABEL,
    RPS_KEY_ROLE,
    RPS_KEY_UNIT,
    RPS_KEY_FAMILY,
    RPS_KEY_PANEL,
    RPS_KEY_EXPLAIN,
    RPS_KEY_COUNT,
};

/* A section during parsing. */
struct rps_document_draft {
    enum rps_section_kind kind;
    int line;                      /* of its first line */
    char id[RPS_NAME_SIZE];        /* "" for [plan] */
    int last_field;                /* for continuation lines, -1: none */
    int field_line[RPS_KEY_COUNT]; /* 0: the key was not given */
    char value[RPS_KEY_COUNT][RPS_SECTION_FIELD_SIZE];
};

struct rps_document_event;
struct rps_document_family;
struct rps_document_seen;

/* A document during parsing. */
struct rps_document_reader {
    const char *origin;
    const char *at; /* the rest of the text */
    size_t left;
    int line;      /* number of the line last given to inih */
    bool indented; /* it started with a blank */
    struct rps_document_draft draft;
    struct rps_document_seen *seen; /* the sections of this document, not of its base */
    int seen_count;
    bool has_base; /* sections may change existing ones */
    struct rps_document_family *family;
    int family_count;
    struct rps_document_event *declared;
    int declared_count;
    struct rps_plan *plan;
    int result; /* 0, or the code of the first error */
    int error_line;
    struct rps_error *err;
};

/* --- keys of sections, and errors ------------------------------------------------------------- */

#define RPS_SECTION_BIT(kind) (1u << (kind))

/* A key of sections. */
struct rps_section_field {
    const char *key;
    size_t size;    /* of the value, with its terminating 0 */
    unsigned kinds; /* of sections that may have it, RPS_SECTION_BIT of each */
};

extern const struct rps_section_field rps_section_fields[RPS_KEY_COUNT];

/* "plan", "family", ... */
extern const char *const rps_section_kinds[RPS_SECTION_COUNT];

/* Note an error; only the first counts. */
void rps_document_fail(struct rps_document_reader *reader, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Note a lack of memory. */
void rps_document_fail_memory(struct rps_document_reader *reader);

/* --- document_section.c ----------------------------------------------------------------------- */

/* Note that the document has the section in the draft; false if it is repeated. */
bool rps_document_note_section(struct rps_document_reader *reader);

/* Add the completed draft to the plan. Errors are noted in the reader. */
void rps_document_end_section(struct rps_document_reader *reader);

/* Note errors that only the end of the document shows. */
void rps_document_check_whole(struct rps_document_reader *reader);

/* Free the sections' data in the reader; the plan is not part of it. */
void rps_document_forget(struct rps_document_reader *reader);

#endif
