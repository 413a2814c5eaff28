/*
 * Members of structs as columns of rows: tables that say which member is which column, so that what
 * is written and what is read cannot differ. Text is made valid UTF-8 on its way in, and cut at a
 * whole character where it does not fit on its way out.
 */
#ifndef RPISTAT_STORE_FIELDS_H
#define RPISTAT_STORE_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

enum rps_field_kind {
    RPS_FIELD_TEXT,    /* char[size] */
    RPS_FIELD_POINTER, /* char *, allocated when read */
    RPS_FIELD_INT,
    RPS_FIELD_UINT32,
    RPS_FIELD_INT64,
    RPS_FIELD_UINT64, /* its bits as a signed number */
};

/* `unknown` of a number that is never NULL in the store. */
#define RPS_FIELD_NEVER INT64_MIN

struct rps_field {
    enum rps_field_kind kind;
    size_t offset, size;
    int64_t unknown; /* the number that the store holds as NULL */
};

#define RPS_FIELD(kind, type, member, unknown)                                                     \
    {                                                                                              \
        kind, offsetof(type, member), sizeof(((type *)0)->member), unknown                         \
    }

/* Bind `count` members of base to the parameters first, first + 1, ... An SQLite code. */
int rps_fields_bind(sqlite3_stmt *stmt, int first, const struct rps_field *field, size_t count,
                    const void *base);

/* Read the columns first, first + 1, ... into members of base. SQLITE_OK or SQLITE_NOMEM; a number
 * outside its member's range is read as the nearest one that fits. */
int rps_fields_read(sqlite3_stmt *stmt, int first, const struct rps_field *field, size_t count,
                    void *base);

/* Bind text, with U+FFFD for bytes that are not UTF-8. NULL is bound as ''. */
int rps_fields_bind_text(sqlite3_stmt *stmt, int index, const char *text);

/* Copy a column's text into ret, cut at a whole character; NULL is ''. */
void rps_fields_copy_text(sqlite3_stmt *stmt, int column, char *ret, size_t size);

#endif
