/*
 * Members of structs as columns of rows, by the table of the members, so that what is written and
 * what is read cannot differ. An unknown number is NULL, and a UINT64 its bits as a signed number.
 * Text is made valid UTF-8 on its way in, and cut at a whole character where it does not fit on its
 * way out.
 */
#ifndef RPISTAT_STORE_FIELDS_H
#define RPISTAT_STORE_FIELDS_H

#include <stddef.h>

#include <sqlite3.h>

#include "rpistat/description.h"

/* Bind `count` members of base to the parameters first, first + 1, ... An SQLite code. */
int rps_fields_bind(sqlite3_stmt *stmt, int first, const struct rps_member *field, size_t count,
                    const void *base);

/* Read the columns first, first + 1, ... into members of base. SQLITE_OK or SQLITE_NOMEM; a number
 * outside its member's range is read as the nearest one that fits. */
int rps_fields_read(sqlite3_stmt *stmt, int first, const struct rps_member *field, size_t count,
                    void *base);

/* Bind text, with U+FFFD for bytes that are not UTF-8. NULL is bound as ''. */
int rps_fields_bind_text(sqlite3_stmt *stmt, int index, const char *text);

/* Copy a column's text into ret, cut at a whole character; NULL is ''. */
void rps_fields_copy_text(sqlite3_stmt *stmt, int column, char *ret, size_t size);

#endif
