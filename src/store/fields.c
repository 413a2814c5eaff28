/* Map members of structs to columns of rows. */
#include "fields.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "database.h"
#include "rpistat/arena.h"
#include "rpistat/text.h"

void rps_fields_copy_text(sqlite3_stmt *stmt, int column, char *ret, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    size_t length = text ? rps_text_cut(text, size - 1) : 0;

    if (length > 0)
        memcpy(ret, text, length);
    ret[length] = '\0';
}

/* --- SQL -------------------------------------------------------------------------------------- */

/* Return `before`, then ", a, b, c": the columns written at one of the times in `time`. */
static sqlite3_str *list_of(const char *before, const struct rps_field *field,
                            enum rps_field_time time)
{
    sqlite3_str *list = sqlite3_str_new(NULL);

    sqlite3_str_appendall(list, before);
    for (; field->name; field++)
        if (field->time & time)
            sqlite3_str_appendf(list, ", %s", field->name);
    return list;
}

char *rps_fields_select(const char *before, const struct rps_field *field, const char *after)
{
    sqlite3_str *sql = list_of(before, field, RPS_FIELD_ALWAYS | RPS_FIELD_APART);

    sqlite3_str_appendall(sql, after);
    return sqlite3_str_finish(sql);
}

int rps_fields_prepare_insert(sqlite3 *db, const char *table, const char *keys,
                              const struct rps_field *field, sqlite3_stmt **ret)
{
    char *names = sqlite3_str_finish(list_of(keys, field, RPS_FIELD_BEGIN));
    int code = names ? rps_database_prepare_insert(db, table, names, ret) : SQLITE_NOMEM;

    sqlite3_free(names);
    return code;
}

int rps_fields_prepare_update(sqlite3 *db, const char *table, const char *keys,
                              const struct rps_field *field, sqlite3_stmt **ret)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    int key_count = rps_database_count_columns(keys), number = key_count;

    sqlite3_str_appendf(sql, "UPDATE %s SET ", table);
    for (; field->name; field++) {
        if (!(field->time & RPS_FIELD_END))
            continue;
        number++;
        sqlite3_str_appendf(sql, "%s%s = ?%d", number > key_count + 1 ? ", " : "", field->name,
                            number);
    }
    sqlite3_str_appendf(sql, " WHERE (%s) = (?1", keys);
    for (int i = 2; i <= key_count; i++)
        sqlite3_str_appendf(sql, ", ?%d", i);
    sqlite3_str_appendall(sql, ")");
    return rps_database_prepare_made(db, sql, ret);
}

/* --- values ----------------------------------------------------------------------------------- */

static int bind_number(sqlite3_stmt *stmt, int index, const struct rps_field *field, int64_t value)
{
    if (field->unknown != RPS_FIELD_NEVER && value == field->unknown)
        return sqlite3_bind_null(stmt, index);
    return sqlite3_bind_int64(stmt, index, value);
}

static int bind_field(sqlite3_stmt *stmt, int index, const struct rps_field *field,
                      const void *member)
{
    switch (field->kind) {
    case RPS_FIELD_TEXT:
        return rps_database_bind_text(stmt, index, member);
    case RPS_FIELD_POINTER:
        return rps_database_bind_text(stmt, index, *(char *const *)member);
    case RPS_FIELD_INT:
        return bind_number(stmt, index, field, *(const int *)member);
    case RPS_FIELD_UINT32:
        return bind_number(stmt, index, field, *(const uint32_t *)member);
    case RPS_FIELD_INT64:
        return bind_number(stmt, index, field, *(const int64_t *)member);
    case RPS_FIELD_UINT64:
        return bind_number(stmt, index, field, (int64_t) * (const uint64_t *)member);
    case RPS_FIELD_REAL: /* SQLite stores NULL for NaN */
        return sqlite3_bind_double(stmt, index, *(const double *)member);
    case RPS_FIELD_WORD:
        return sqlite3_bind_text(stmt, index, field->words[*(const int *)member], -1,
                                 SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
}

int rps_fields_run(sqlite3_stmt *stmt, const struct rps_field *field, enum rps_field_time time,
                   const void *base)
{
    int code = SQLITE_OK, index = sqlite3_bind_parameter_count(stmt) + 1;

    for (const struct rps_field *f = field; f->name; f++)
        index -= (f->time & time) != 0;
    for (; field->name && code == SQLITE_OK; field++)
        if (field->time & time)
            code = bind_field(stmt, index++, field, (const char *)base + field->offset);
    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

static int64_t within(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static int word_of(sqlite3_stmt *stmt, int column, const struct rps_field *field)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    for (int i = 0; text && field->words[i]; i++)
        if (strcmp(field->words[i], text) == 0)
            return i;
    return (int)field->unknown;
}

static void read_field(struct rps_arena *arena, sqlite3_stmt *stmt, int column,
                       const struct rps_field *field, void *member)
{
    bool is_null = sqlite3_column_type(stmt, column) == SQLITE_NULL;
    int64_t value = !is_null                            ? sqlite3_column_int64(stmt, column)
                    : field->unknown == RPS_FIELD_NEVER ? 0
                                                        : field->unknown;
    const char *text;

    switch (field->kind) {
    case RPS_FIELD_TEXT:
        rps_fields_copy_text(stmt, column, member, field->size);
        break;
    case RPS_FIELD_POINTER:
        text = (const char *)sqlite3_column_text(stmt, column);
        *(char **)member = rps_arena_text(arena, text ? text : "");
        break;
    case RPS_FIELD_INT:
        *(int *)member = (int)within(value, INT_MIN, INT_MAX);
        break;
    case RPS_FIELD_UINT32:
        *(uint32_t *)member = (uint32_t)within(value, 0, UINT32_MAX);
        break;
    case RPS_FIELD_INT64:
        *(int64_t *)member = value;
        break;
    case RPS_FIELD_UINT64:
        *(uint64_t *)member = (uint64_t)value;
        break;
    case RPS_FIELD_REAL:
        *(double *)member = is_null ? NAN : sqlite3_column_double(stmt, column);
        break;
    case RPS_FIELD_WORD:
        *(int *)member = word_of(stmt, column, field);
        break;
    }
}

void rps_fields_read(struct rps_arena *arena, sqlite3_stmt *stmt, int first,
                     const struct rps_field *field, void *base)
{
    for (; field->name; field++)
        read_field(arena, stmt, first++, field, (char *)base + field->offset);
}
