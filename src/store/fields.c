/* Members of structs as columns of rows. */
#include "fields.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/text.h"

int rps_fields_bind_text(sqlite3_stmt *stmt, int index, const char *text)
{
    char *repaired = rps_text_repaired(text ? text : "");

    return repaired ? sqlite3_bind_text(stmt, index, repaired, -1, free) : SQLITE_NOMEM;
}

void rps_fields_copy_text(sqlite3_stmt *stmt, int column, char *ret, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    size_t length = text ? rps_text_cut(text, size - 1) : 0;

    if (length > 0)
        memcpy(ret, text, length);
    ret[length] = '\0';
}

static int bind_number(sqlite3_stmt *stmt, int index, const struct rps_member *field, int64_t value)
{
    if (field->unknown != RPS_MEMBER_NEVER && value == field->unknown)
        return sqlite3_bind_null(stmt, index);
    return sqlite3_bind_int64(stmt, index, value);
}

static int bind_field(sqlite3_stmt *stmt, int index, const struct rps_member *field,
                      const void *member)
{
    switch (field->kind) {
    case RPS_MEMBER_TEXT:
        return rps_fields_bind_text(stmt, index, member);
    case RPS_MEMBER_POINTER:
        return rps_fields_bind_text(stmt, index, *(char *const *)member);
    case RPS_MEMBER_INT:
        return bind_number(stmt, index, field, *(const int *)member);
    case RPS_MEMBER_UINT32:
        return bind_number(stmt, index, field, *(const uint32_t *)member);
    case RPS_MEMBER_INT64:
        return bind_number(stmt, index, field, *(const int64_t *)member);
    case RPS_MEMBER_UINT64:
        return bind_number(stmt, index, field, (int64_t) * (const uint64_t *)member);
    }
    return SQLITE_MISUSE;
}

int rps_fields_bind(sqlite3_stmt *stmt, int first, const struct rps_member *field, size_t count,
                    const void *base)
{
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code = bind_field(stmt, first + (int)i, &field[i], (const char *)base + field[i].offset);
    return code;
}

static int64_t within(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static int read_pointer(sqlite3_stmt *stmt, int column, char **member)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    char *copy = strdup(text ? text : "");

    if (!copy)
        return SQLITE_NOMEM;
    free(*member);
    *member = copy;
    return SQLITE_OK;
}

static int read_field(sqlite3_stmt *stmt, int column, const struct rps_member *field, void *member)
{
    int64_t value = sqlite3_column_type(stmt, column) == SQLITE_NULL
                        ? (field->unknown == RPS_MEMBER_NEVER ? 0 : field->unknown)
                        : sqlite3_column_int64(stmt, column);

    switch (field->kind) {
    case RPS_MEMBER_TEXT:
        rps_fields_copy_text(stmt, column, member, field->size);
        break;
    case RPS_MEMBER_POINTER:
        return read_pointer(stmt, column, member);
    case RPS_MEMBER_INT:
        *(int *)member = (int)within(value, INT_MIN, INT_MAX);
        break;
    case RPS_MEMBER_UINT32:
        *(uint32_t *)member = (uint32_t)within(value, 0, UINT32_MAX);
        break;
    case RPS_MEMBER_INT64:
        *(int64_t *)member = value;
        break;
    case RPS_MEMBER_UINT64:
        *(uint64_t *)member = (uint64_t)value;
        break;
    }
    return SQLITE_OK;
}

int rps_fields_read(sqlite3_stmt *stmt, int first, const struct rps_member *field, size_t count,
                    void *base)
{
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code = read_field(stmt, first + (int)i, &field[i], (char *)base + field[i].offset);
    return code;
}
