/* Select runs by the text that a user types, and report an error if none match. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reader.h"
#include "rpistat/arena.h"
#include "rpistat/text.h"

#define LABEL  "label:"
#define DIGITS "0123456789"

#define TAG " run, json_each(CASE WHEN json_valid(tags) THEN tags ELSE '{}' END) AS j"

/* SQL: find runs by a text. A text that is not a run's number may have several meanings. The first
 * meaning for which a run exists is used. */
#define MEANT                                                                                      \
    "WITH meant (run_id, rank) AS ("                                                               \
    " SELECT run_id, 1 FROM run WHERE %Q IN (nullif(label, ''), uuid)"                             \
    " UNION ALL SELECT run_id, 2 FROM" TAG " WHERE j.key || '=' || j.value = %Q"                   \
    " UNION ALL SELECT run_id, 3 FROM run WHERE run_id BETWEEN %lld AND %lld"                      \
    " UNION ALL SELECT run_id, 4 FROM"                                                             \
    " (SELECT run_id FROM run ORDER BY run_id DESC LIMIT 1 OFFSET %lld) WHERE %lld >= 0)"          \
    " SELECT DISTINCT run_id FROM meant WHERE rank = (SELECT min(rank) FROM meant) ORDER BY "      \
    "run_id"

/* The selected runs, in the order typed. */
struct selection {
    struct rps_arena *arena;
    struct rps_reader *reader;
    int is_group; /* 1 if ranges and label:TEXT are also accepted */
    size_t count;
    int64_t *run_id;
};

static int is_label(const struct selection *selection, const char *text)
{
    return selection->is_group && strncmp(text, LABEL, strlen(LABEL)) == 0;
}

/* Parse "1-5" or "7". Returns 1 and the numbers if the text has this form. */
static int is_range(const char *text, int64_t *ret_first, int64_t *ret_last)
{
    size_t length = strspn(text, DIGITS);
    const char *behind = text[length] == '-' ? text + length + 1 : text;
    uint64_t first = 0, last = 0;
    char digits[24];

    if (length == 0 || length >= sizeof(digits) || strspn(behind, DIGITS) != strlen(behind))
        return 0;
    snprintf(digits, sizeof(digits), "%.*s", (int)length, text);
    if (rps_parse_uint64("run", digits, 0, INT64_MAX, &first, NULL) < 0 ||
        rps_parse_uint64("run", behind, 0, INT64_MAX, &last, NULL) < 0)
        return 0;
    *ret_first = (int64_t)first;
    *ret_last = (int64_t)last;
    return 1;
}

/* Return the N of "last-N", 0 for "last", -1 for any other text. */
static int64_t back_from_last(const char *text)
{
    uint64_t back = 0;

    if (strcmp(text, "last") == 0)
        return 0;
    if (strncmp(text, "last-", 5) != 0 ||
        rps_parse_uint64("run", text + 5, 0, INT64_MAX, &back, NULL) < 0)
        return -1;
    return (int64_t)back;
}

static int add_run(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct selection *selection = context;

    (void)err;
    selection->run_id = rps_arena_grow(selection->arena, selection->run_id, selection->count,
                                       sizeof(*selection->run_id));
    selection->run_id[selection->count++] = sqlite3_column_int64(stmt, 0);
    return 0;
}

/* Add the runs that a statement from sqlite3_mprintf returns. Returns 1 if there are runs, 0 if
 * there are none, or a negative value for errors. */
static int add_runs(struct selection *selection, char *sql, struct rps_error *err)
{
    size_t before = selection->count;
    int result = rps_reader_each(selection->reader, sql, 0, 0, add_run, selection, err);

    sqlite3_free(sql);
    return result < 0 ? result : selection->count > before;
}

/* Add the runs that `text` selects. `text` is an item of a comma-separated list, or a label or tag
 * that itself contains commas. Returns the same as add_runs. */
static int add_part(struct selection *selection, const char *text, struct rps_error *err)
{
    const char *label = text + (is_label(selection, text) ? strlen(LABEL) : 0);
    int64_t first = -1, last = -1, back = back_from_last(text);
    int result = 0;

    if (is_range(text, &first, &last) && !strchr(text, '-')) /* a single number needs no query */
        result = add_runs(
            selection, sqlite3_mprintf("SELECT run_id FROM run WHERE run_id = %lld", first), err);
    if (!selection->is_group)
        first = last = -1;
    if (result == 0)
        result = add_runs(
            selection,
            sqlite3_mprintf(MEANT, label, label == text ? text : "", first, last, back, back), err);
    if (result == 0 && first > last)
        return rps_error_set(err, RPS_USAGE, "the range %s is reversed; write %" PRId64 "-%" PRId64,
                             text, last, first);
    return result;
}

/* Write a suggestion of similar labels and tags: "did you mean main? ". */
static void ask_near(struct rps_reader *reader, const char *typed, char *ret, size_t size)
{
    static const char sql[] =
        "SELECT label, run_id, 0 FROM run UNION ALL"
        " SELECT j.key || '=' || j.value, run_id, 1 FROM" TAG " ORDER BY 2, 3";
    struct rps_suggestion suggestion = {.typed = typed};
    sqlite3_stmt *stmt = NULL;

    if (rps_reader_prepare(reader, sql, 0, &stmt, NULL) == 0) {
        while (rps_reader_step(reader, stmt) == SQLITE_ROW) {
            const char *name = (const char *)sqlite3_column_text(stmt, 0);

            if (name && name[0])
                rps_suggestion_consider(&suggestion, name);
        }
    }
    sqlite3_finalize(stmt);
    rps_suggestion_question(&suggestion, ret, size);
}

/* Set the error for a name without a match. The message lists similar names or existing runs. */
static int none(const struct selection *selection, const char *text, struct rps_error *err)
{
    int of_label = is_label(selection, text);
    int is_default = strcmp(selection->reader->path, RPS_STORE_DEFAULT_PATH) == 0;
    char question[256] = "", printable[128], what[RPS_RUN_TEXT_SIZE];
    struct stat file;

    rps_text_printable(printable, sizeof(printable), text);
    if (strspn(text, DIGITS "-") != strlen(text)) /* the text is a name, not a number */
        ask_near(selection->reader, text + (of_label ? strlen(LABEL) : 0), question,
                 sizeof(question));
    if (of_label || question[0] != '\0')
        return rps_error_set(err, RPS_FAILED,
                             "%s: no run of %s has this %s; %ssee `rpistat runs%s%s`", printable,
                             selection->reader->path, of_label ? "label" : "label or tag", question,
                             is_default ? "" : " -i ", is_default ? "" : selection->reader->path);
    if (stat(text, &file) == 0 && S_ISREG(file.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "'%s' is a file, not a run; read a store with -i %s, or copy its runs "
                             "with `rpistat merge %s`",
                             printable, printable, printable);
    snprintf(what, sizeof(what), "run %s", printable);
    return rps_reader_no_run(selection->reader, what, err);
}

int rps_reader_find(struct rps_reader *reader, const char *text, int64_t *ret_run_id,
                    struct rps_error *err)
{
    struct selection selection = {.arena = rps_arena_new(), .reader = reader};
    int result = add_part(&selection, text ? text : "last", err);

    if (result > 0)
        *ret_run_id = selection.run_id[selection.count - 1];
    rps_arena_free(selection.arena);
    if (result == 0)
        return none(&selection, text ? text : "last", err);
    return result < 0 ? result : 0;
}

int rps_reader_find_recording(struct rps_reader *reader, int64_t *ret, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(reader->db,
                                  "SELECT coalesce(max(run_id), -1) FROM run"
                                  " WHERE state = 'recording' AND NOT " RPS_HEARTBEAT_IS_DEAD,
                                  -1, &stmt, NULL);

    if (code == SQLITE_OK)
        code = rps_heartbeat_bind(stmt);
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(stmt, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_OK ? 0 : rps_reader_error(reader, code, err);
}

int rps_reader_find_live(struct rps_reader *reader, const char *text, int64_t *ret_run_id,
                         struct rps_error *err)
{
    int64_t recording = -1;
    int result = rps_reader_find(reader, text, ret_run_id, err);

    if (result == 0 && !text)
        result = rps_reader_find_recording(reader, &recording, err);
    if (recording >= 0)
        *ret_run_id = recording;
    return result;
}

RPS_ARRAY_ORDER(compare_numbers, int64_t, )

/* Add the runs of comma-separated items. A label may itself contain commas. */
static int add_items(struct selection *selection, const char *text, struct rps_error *err)
{
    int result = strchr(text, ',') ? add_part(selection, text, err) : 0;
    char *rest = rps_arena_text(selection->arena, text), *item;

    if (result != 0)
        return result;
    while (result >= 0 && (item = strsep(&rest, ","))) {
        if (item[0] == '\0')
            result =
                rps_error_set(err, RPS_USAGE, "the name of a group of runs is empty; write a name");
        else if ((result = add_part(selection, item, err)) == 0)
            result = none(selection, item, err);
    }
    return result;
}

int rps_reader_find_group(struct rps_arena *arena, struct rps_reader *reader, const char *text,
                          int64_t **ret_run_id, size_t *ret_count, struct rps_error *err)
{
    struct selection selection = {.arena = arena, .reader = reader, .is_group = 1};
    int result = add_items(&selection, text, err);
    size_t kept = 0;

    if (result < 0)
        return result;
    qsort(selection.run_id, selection.count, sizeof(*selection.run_id), compare_numbers);
    for (size_t i = 0; i < selection.count; i++) {
        if (kept == 0 || selection.run_id[kept - 1] != selection.run_id[i])
            selection.run_id[kept++] = selection.run_id[i];
    }
    *ret_run_id = selection.run_id;
    *ret_count = kept;
    return 0;
}
