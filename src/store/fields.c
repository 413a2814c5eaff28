/*
 * Members of structs as columns of rows.
 *
 * JSON is put together here and not by SQLite's json_insert: that copies the whole array for each
 * argument, and lets bytes through that no JSON reader accepts.
 */
#include "fields.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Length of the UTF-8 character at text, 0 when there is none. */
static size_t character_length(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    unsigned char low = 0x80, high = 0xbf;
    size_t length;

    if (byte[0] < 0x80)
        return 1;
    if (byte[0] < 0xc2 || byte[0] > 0xf4)
        return 0;
    length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    /* overlong forms, surrogates, and what is above U+10FFFF show in the second byte */
    if (byte[0] == 0xe0)
        low = 0xa0;
    else if (byte[0] == 0xed)
        high = 0x9f;
    else if (byte[0] == 0xf0)
        low = 0x90;
    else if (byte[0] == 0xf4)
        high = 0x8f;
    if (byte[1] < low || byte[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

static bool is_utf8(const char *text)
{
    for (size_t length; *text; text += length) {
        length = character_length(text);
        if (length == 0)
            return false;
    }
    return true;
}

/* Append the character at text; its length. */
static size_t append_character(sqlite3_str *str, const char *text)
{
    size_t length = character_length(text);

    if (length == 0) {
        sqlite3_str_appendall(str, replacement);
        return 1;
    }
    sqlite3_str_append(str, text, (int)length);
    return length;
}

int rps_fields_bind_text(sqlite3_stmt *stmt, int index, const char *text)
{
    sqlite3_str *str;
    char *repaired;
    int code;

    if (!text || is_utf8(text))
        return sqlite3_bind_text(stmt, index, text ? text : "", -1, SQLITE_TRANSIENT);
    str = sqlite3_str_new(NULL);
    while (*text)
        text += append_character(str, text);
    code = sqlite3_str_errcode(str);
    repaired = sqlite3_str_finish(str);
    if (code != SQLITE_OK) {
        sqlite3_free(repaired);
        return code;
    }
    return sqlite3_bind_text(stmt, index, repaired, -1, sqlite3_free);
}

void rps_fields_append_json(sqlite3_str *json, const char *text)
{
    sqlite3_str_appendchar(json, 1, '"');
    while (*text) {
        if (*text == '"' || *text == '\\') {
            sqlite3_str_appendf(json, "\\%c", *text++);
        } else if ((unsigned char)*text < 0x20) {
            sqlite3_str_appendf(json, "\\u%04x", *text++);
        } else {
            text += append_character(json, text);
        }
    }
    sqlite3_str_appendchar(json, 1, '"');
}

void rps_fields_copy_text(sqlite3_stmt *stmt, int column, char *ret, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    size_t length = text ? strlen(text) : 0;

    if (text && length >= size) {
        length = size - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    if (length > 0)
        memcpy(ret, text, length);
    ret[length] = '\0';
}

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
        return rps_fields_bind_text(stmt, index, member);
    case RPS_FIELD_POINTER:
        return rps_fields_bind_text(stmt, index, *(char *const *)member);
    case RPS_FIELD_INT:
        return bind_number(stmt, index, field, *(const int *)member);
    case RPS_FIELD_UINT32:
        return bind_number(stmt, index, field, *(const uint32_t *)member);
    case RPS_FIELD_INT64:
        return bind_number(stmt, index, field, *(const int64_t *)member);
    case RPS_FIELD_UINT64:
        return bind_number(stmt, index, field, (int64_t) * (const uint64_t *)member);
    }
    return SQLITE_MISUSE;
}

int rps_fields_bind(sqlite3_stmt *stmt, int first, const struct rps_field *field, size_t count,
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

static int read_field(sqlite3_stmt *stmt, int column, const struct rps_field *field, void *member)
{
    int64_t value = sqlite3_column_type(stmt, column) == SQLITE_NULL
                        ? (field->unknown == RPS_FIELD_NEVER ? 0 : field->unknown)
                        : sqlite3_column_int64(stmt, column);

    switch (field->kind) {
    case RPS_FIELD_TEXT:
        rps_fields_copy_text(stmt, column, member, field->size);
        break;
    case RPS_FIELD_POINTER:
        return read_pointer(stmt, column, member);
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
    }
    return SQLITE_OK;
}

int rps_fields_read(sqlite3_stmt *stmt, int first, const struct rps_field *field, size_t count,
                    void *base)
{
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code = read_field(stmt, first + (int)i, &field[i], (char *)base + field[i].offset);
    return code;
}
