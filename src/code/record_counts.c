#include "record_counts.h"

#include <stdlib.h>

#include "rpistat/arena.h"
#include "rpistat/store_hooks.h"

/* Maximum number of counts per row, so that the row's text remains readable. */
#define ROW_COUNTS_MAX 1000

/* Maximum digits of a number in the older format (record_counts.h). */
#define OBJECT_DIGITS_MAX 10

struct rps_code_counts_entry {
    int64_t cpu, period, id;
    uint64_t samples;
    int level;
    enum rps_code_counted what;
};

typedef struct rps_code_counts_entry entry;

/* --- gathering -------------------------------------------------------------------------------- */

int rps_code_counts_add(struct rps_code_counts *counts, const struct rps_code_count *count,
                        enum rps_code_counted what)
{
    if (!rps_array_add(&counts->entry, counts->count, sizeof(*counts->entry)))
        return SQLITE_NOMEM;
    counts->entry[counts->count++] = (entry){.level = count->level,
                                             .cpu = count->cpu,
                                             .period = (int64_t)count->period,
                                             .what = what,
                                             .id = count->id,
                                             .samples = count->samples};
    return SQLITE_OK;
}

int rps_code_counts_add_text(struct rps_code_counts *counts, const struct rps_code_count *of,
                             enum rps_code_counted what, const char *text)
{
    struct rps_code_counts_text walk = {.at = text};
    struct rps_code_count count = *of;
    int code = SQLITE_OK;

    while (code == SQLITE_OK && rps_code_counts_next(&walk, &count.id)) {
        count.samples = walk.samples;
        code = rps_code_counts_add(counts, &count, what);
    }
    return code;
}

/* --- writing ---------------------------------------------------------------------------------- */

#define ORDER(a, b)                                                                                \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

/* Return 0 if both counts have the same row key. Too many counts are split into several rows. */
static int compare_rows(const entry *a, const entry *b)
{
    ORDER(a->level, b->level);
    ORDER(a->cpu, b->cpu);
    ORDER(a->period, b->period);
    return 0;
}

static int compare_ids(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    int order = compare_rows(a, b);

    if (order)
        return order;
    ORDER(a->what, b->what);
    ORDER(a->id, b->id);
    return 0;
}

/* Add up all counts of each stack or task. */
static void merge(struct rps_code_counts *counts)
{
    size_t merged = 0;

    if (counts->count == 0)
        return;
    qsort(counts->entry, counts->count, sizeof(entry), compare_ids);
    for (size_t i = 1; i < counts->count; i++) {
        if (compare_ids(&counts->entry[merged], &counts->entry[i]) == 0)
            counts->entry[merged].samples += counts->entry[i].samples;
        else
            counts->entry[++merged] = counts->entry[i];
    }
    counts->count = merged + 1;
}

/* Bind the text of `count` entries, which are in order of their numbers. */
static int bind_text(sqlite3_stmt *stmt, int index, const entry *first, size_t count)
{
    sqlite3_str *text = sqlite3_str_new(sqlite3_db_handle(stmt));
    int64_t last = -1;
    int code = SQLITE_NOMEM;

    for (size_t i = 0; i < count; last = first[i++].id) {
        bool is_more = first[i].samples > 1;

        rps_digits_append(text, (uint64_t)(first[i].id - last) * 2 + is_more);
        if (is_more)
            rps_digits_append(text, first[i].samples - 2);
    }
    if (sqlite3_str_errcode(text) == SQLITE_OK)
        code = sqlite3_bind_text(stmt, index, count > 0 ? sqlite3_str_value(text) : "", -1,
                                 SQLITE_TRANSIENT);
    sqlite3_free(sqlite3_str_finish(text));
    return code;
}

int rps_code_counts_prepare(sqlite3 *db, sqlite3_stmt **ret)
{
    return rps_database_prepare(
        db,
        "INSERT INTO code_count (run_id, level, cpu, period, part, stacks, tasks, blocked)"
        " VALUES (?1, ?2, ?3, ?4, (SELECT coalesce(max(part) + 1, 0) FROM code_count"
        " WHERE run_id = ?1 AND level = ?2 AND cpu = ?3 AND period = ?4), ?5, ?6, nullif(?7, ''))",
        ret);
}

static int insert_row(sqlite3_stmt *stmt, int64_t run_id, const entry *first, size_t count)
{
    const entry *end = first + count;
    int code = SQLITE_OK;

    sqlite3_bind_int64(stmt, 1, run_id);
    sqlite3_bind_int(stmt, 2, first->level);
    sqlite3_bind_int64(stmt, 3, first->cpu);
    sqlite3_bind_int64(stmt, 4, first->period);
    for (int what = 0; what < RPS_COUNT_KINDS && code == SQLITE_OK; what++) {
        const entry *of = first;

        while (first < end && (int)first->what == what)
            first++;
        code = bind_text(stmt, 5 + what, of, (size_t)(first - of));
    }
    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

int rps_code_counts_insert(struct rps_code_counts *counts, sqlite3_stmt *stmt, int64_t run_id)
{
    int code = SQLITE_OK;

    merge(counts);
    for (size_t first = 0, next; first < counts->count && code == SQLITE_OK; first = next) {
        for (next = first + 1; next < counts->count && next - first < ROW_COUNTS_MAX &&
                               compare_rows(&counts->entry[first], &counts->entry[next]) == 0;)
            next++;
        code = insert_row(stmt, run_id, &counts->entry[first], next - first);
    }
    counts->count = 0;
    return code;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool take_difference(struct rps_code_counts_text *text)
{
    uint64_t step, more = 0;

    if (*text->at == '\0') {
        text->at = NULL;
        return false;
    }
    text->is_malformed = !rps_digits_take(&text->at, &step) || step < 2;
    text->number += step / 2;
    text->samples = 1;
    if (!text->is_malformed && step % 2 == 1) {
        text->is_malformed = !rps_digits_take(&text->at, &more);
        text->samples = more + 2;
    }
    return !text->is_malformed;
}

static bool take_expected(struct rps_code_counts_text *text, const char *expected)
{
    while (*expected)
        if (*text->at++ != *expected++) {
            text->is_malformed = true;
            return false;
        }
    return true;
}

static bool take_number(struct rps_code_counts_text *text, uint64_t *ret)
{
    int digits = 0;

    for (*ret = 0; *text->at >= '0' && *text->at <= '9' && digits <= OBJECT_DIGITS_MAX; digits++)
        *ret = *ret * 10 + (uint64_t)(*text->at++ - '0');
    text->is_malformed = digits == 0 || digits > OBJECT_DIGITS_MAX;
    return !text->is_malformed;
}

/* Parse the end of the object, or its next list. */
static bool take_list(struct rps_code_counts_text *text)
{
    text->is_inside = take_expected(text, "\"") && take_number(text, &text->samples) &&
                      take_expected(text, "\":[");
    return text->is_inside;
}

static bool take_of_object(struct rps_code_counts_text *text)
{
    bool was_inside = text->is_inside;

    if (was_inside && *text->at == ']') {
        text->at++;
        text->is_inside = false;
    } else if (was_inside && !take_expected(text, ",")) {
        return false;
    } else if (!was_inside && !take_expected(text, "{")) {
        return false;
    }
    if (!text->is_inside) {
        if (*text->at == '}') {
            text->is_malformed = text->at[1] != '\0';
            text->at = NULL;
            return false;
        }
        if ((was_inside && !take_expected(text, ",")) || !take_list(text))
            return false;
    }
    if (!take_number(text, &text->number))
        return false;
    text->number++;
    return true;
}

bool rps_code_counts_next(struct rps_code_counts_text *text, int64_t *ret)
{
    if (text->is_malformed || !text->at) {
        text->is_malformed = true;
        return false;
    }
    text->is_object |= *text->at == '{'; /* '{' is not a digit, so it marks an object. */
    if (!(text->is_object ? take_of_object(text) : take_difference(text)))
        return false;
    text->is_malformed = text->number > RPS_CODE_NUMBER_MAX;
    *ret = (int64_t)text->number - 1;
    return !text->is_malformed;
}

static void sum_samples(sqlite3_context *context, int count, sqlite3_value **value)
{
    struct rps_code_counts_text text = {.at = (const char *)sqlite3_value_text(value[0])};
    int64_t below = sqlite3_value_int64(value[1]), samples = 0, number;

    (void)count;
    while (rps_code_counts_next(&text, &number) && number < below)
        samples += (int64_t)text.samples;
    if (!text.at && !text.is_malformed)
        sqlite3_result_int64(context, samples);
}

int rps_code_counts_add_function(sqlite3 *db)
{
    return sqlite3_create_function(db, "code_samples", 2,
                                   SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                   sum_samples, NULL, NULL);
}

/* Base and first character of the digits, and maximum digits of a number. */
enum { BASE = 45, FIRST = '!', DIGITS_MAX = 9 };

void rps_digits_append(sqlite3_str *text, uint64_t number)
{
    char digit[16];
    int at = sizeof(digit);

    digit[--at] = (char)(FIRST + BASE + number % BASE);
    while ((number /= BASE) > 0)
        digit[--at] = (char)(FIRST + number % BASE);
    sqlite3_str_append(text, digit + at, (int)sizeof(digit) - at);
}

bool rps_digits_take(const char **text, uint64_t *ret)
{
    int digit = 0;

    *ret = 0;
    for (int count = 0; count < DIGITS_MAX && digit < BASE; count++) {
        digit = **text - FIRST;
        if (digit < 0 || digit >= 2 * BASE)
            break;
        *ret = *ret * BASE + (uint64_t)(digit % BASE);
        ++*text;
    }
    return digit >= BASE && digit < 2 * BASE;
}
