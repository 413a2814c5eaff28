/* The parser of set files. set_file.c reads lines into a draft of one section, and
 * set_file_section.c converts a finished section. */
#pragma once

#include "rpistat/plan.h"

#include <stdbool.h>
#include <stddef.h>

#include "embed.h"

#define RPS_SECTION_FIELD_SIZE  1024 /* Maximum bytes of a value, including the final 0. */
#define RPS_SECTION_EVENTS_SIZE 1024 /* Maximum bytes of the value of "events". */

enum rps_section_kind {
    RPS_SECTION_NONE,
    RPS_SECTION_PLAN,
    RPS_SECTION_FAMILY,
    RPS_SECTION_EVENT,
    RPS_SECTION_SET,
    RPS_SECTION_METRIC,
    RPS_SECTION_COUNT,
};

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
struct rps_set_file_draft {
    enum rps_section_kind kind;
    int line;                      /* Number of the section's first line. */
    char id[RPS_NAME_SIZE];        /* ID of the section; "" for [plan]. */
    int last_field;                /* Field to which a continuation line is added; -1: none. */
    int field_line[RPS_KEY_COUNT]; /* Line number of each key; 0: the key is missing. */
    char value[RPS_KEY_COUNT][RPS_SECTION_FIELD_SIZE];
};

struct rps_set_file_event;
struct rps_set_file_family;
struct rps_set_file_seen;

/* A set file during parsing. */
struct rps_set_file_reader {
    const char *origin;
    const char *at; /* Rest of the text to parse. */
    size_t left;
    int line;      /* Number of the line that was most recently passed to inih. */
    bool indented; /* True if the current line began with a blank. */
    struct rps_set_file_draft draft;
    struct rps_set_file_seen *seen; /* Sections of this set file, but not those of its base. */
    int seen_count;
    bool has_base; /* True if there is a base, so that sections may change its sections. */
    struct rps_set_file_family *family;
    int family_count;
    struct rps_set_file_event *declared;
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
    size_t size;    /* Maximum bytes of the value, including the final 0. */
    unsigned kinds; /* Kinds of section with this key: RPS_SECTION_BIT of each kind. */
};

extern const struct rps_section_field rps_section_fields[RPS_KEY_COUNT];

/* Names of the kinds of section: "plan", "family", ... */
extern const char *const rps_section_kinds[RPS_SECTION_COUNT];

/* Note an error. Only the first error is kept. */
void rps_set_file_fail(struct rps_set_file_reader *reader, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Note a lack of memory. */
void rps_set_file_fail_memory(struct rps_set_file_reader *reader);

/* --- set_file_section.c ----------------------------------------------------------------------- */

/* Note that the set file has the section in the draft. Return false if the section is repeated. */
bool rps_set_file_note_section(struct rps_set_file_reader *reader);

/* Add the completed draft to the plan. Errors are noted in the reader. */
void rps_set_file_end_section(struct rps_set_file_reader *reader);

/* At the end of the set file, note errors that cannot be found earlier. */
void rps_set_file_check_whole(struct rps_set_file_reader *reader);

/* Set files that the build compiled into the program from sets/ and scenarios/. */

extern const struct rps_embedded rps_embedded_sets[];
extern const struct rps_embedded rps_embedded_scenarios[];

/* Names of the embedded set files, without ".ini". Each array ends with NULL. */
extern const char *const rps_embedded_sets_names[];
extern const char *const rps_embedded_scenarios_names[];

/* Return the set file NAME.ini of the table, or NULL. */
const struct rps_embedded *rps_set_file_find(const struct rps_embedded *table, const char *name);
