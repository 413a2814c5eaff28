/*
 * The rows of a damaged store, brought into a new one.
 *
 * A page does not say which table it belongs to, but no two tables of a store have rows of the same
 * shape: their number of columns, their types, and whether the table has row numbers. The shapes
 * are asked of the new store, so that they are those of schema/ also after its next step. A row may
 * be there twice, from a page that SQLite was about to reuse: the first stays.
 */
#include "salvage.h"

#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "fields.h"

struct column {
    int type;        /* SQLITE_INTEGER, SQLITE_FLOAT or SQLITE_TEXT */
    int is_nullable; /* 1: or NULL */
};

/* A table, and how its rows look in the file. */
struct shape {
    int is_index; /* 1: WITHOUT ROWID */
    int count;
    int least; /* a row may end before columns that are NULL */
    struct column column[RPS_RECORD_MAX];
    sqlite3_stmt *insert;
};

struct salvage {
    sqlite3 *db;
    struct shape *shape; /* owned */
    size_t count;
};

/* Where a text gets a 0 behind it. */
struct text {
    char *bytes; /* owned */
    size_t room;
};

/* --- shapes ----------------------------------------------------------------------------------- */

static int add_column(struct shape *shape, sqlite3_stmt *stmt)
{
    const char *type = (const char *)sqlite3_column_text(stmt, 0);
    int may_be_null = sqlite3_column_int(stmt, 1) == 0 && sqlite3_column_int(stmt, 2) == 0;
    struct column *column = &shape->column[shape->count];

    if (!type || shape->count == RPS_RECORD_MAX)
        return SQLITE_ERROR;
    column->type = strcmp(type, "INTEGER") == 0 ? SQLITE_INTEGER
                   : strcmp(type, "REAL") == 0  ? SQLITE_FLOAT
                                                : SQLITE_TEXT;
    column->is_nullable = may_be_null;
    shape->count++;
    if (!may_be_null)
        shape->least = shape->count;
    return SQLITE_OK;
}

/* The only SQL that is put together: of names in the schema that this program has just made. */
static int prepare_insert(sqlite3 *db, const char *table, struct shape *shape)
{
    sqlite3_str *sql = sqlite3_str_new(db);
    char *text;
    int code;

    sqlite3_str_appendf(sql, "INSERT OR IGNORE INTO \"%w\" VALUES (?", table);
    for (int i = 1; i < shape->count; i++)
        sqlite3_str_appendall(sql, ", ?");
    sqlite3_str_appendall(sql, ")");
    text = sqlite3_str_finish(sql);
    if (!text)
        return SQLITE_NOMEM;
    code = rps_database_prepare(db, text, &shape->insert);
    sqlite3_free(text);
    return code;
}

static int load_shape(sqlite3 *db, const char *table, int is_index, struct shape *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT type, \"notnull\", pk FROM pragma_table_info(?1)"
                                  " ORDER BY cid",
                                  -1, &stmt, NULL);

    *ret = (struct shape){.is_index = is_index};
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
        code = add_column(ret, stmt);
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? prepare_insert(db, table, ret) : code;
}

static int load_shapes(struct salvage *salvage)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(salvage->db,
                                  "SELECT name, wr FROM pragma_table_list WHERE schema = 'main'"
                                  " AND type = 'table' AND name NOT LIKE 'sqlite_%'",
                                  -1, &stmt, NULL);

    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        size_t size = (salvage->count + 1) * sizeof(*salvage->shape);
        struct shape *more = realloc(salvage->shape, size);

        if (!more) {
            code = SQLITE_NOMEM;
            break;
        }
        salvage->shape = more;
        code = load_shape(salvage->db, (const char *)sqlite3_column_text(stmt, 0),
                          sqlite3_column_int(stmt, 1), &more[salvage->count]);
        salvage->count++;
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int fits_column(const struct column *column, const struct rps_value *value)
{
    switch (value->kind) {
    case RPS_VALUE_NULL:
        return column->is_nullable;
    case RPS_VALUE_INTEGER: /* REAL columns hold whole numbers as integers */
        return column->type != SQLITE_TEXT;
    case RPS_VALUE_REAL:
        return column->type == SQLITE_FLOAT;
    case RPS_VALUE_TEXT:
        return column->type == SQLITE_TEXT;
    default:
        return 0;
    }
}

static int fits(const struct shape *shape, const struct rps_record *record)
{
    if (shape->is_index != record->is_index || record->count > shape->count ||
        record->count < shape->least)
        return 0;
    for (int i = 0; i < record->count; i++) {
        /* the number of a row stands beside it, and its column is NULL */
        int is_rowid = i == 0 && !shape->is_index;

        if (is_rowid ? record->value[i].kind != RPS_VALUE_NULL
                     : !fits_column(&shape->column[i], &record->value[i]))
            return 0;
    }
    return 1;
}

static int bind_text(struct text *text, sqlite3_stmt *stmt, int index,
                     const struct rps_value *value)
{
    if (value->length >= text->room) {
        char *more = realloc(text->bytes, value->length + 1);

        if (!more)
            return SQLITE_NOMEM;
        text->bytes = more;
        text->room = value->length + 1;
    }
    memcpy(text->bytes, value->text, value->length);
    text->bytes[value->length] = '\0';
    return rps_fields_bind_text(stmt, index, text->bytes);
}

/* Insert a row; one that the table does not take (its CHECKs, its key) is passed over. */
static int insert(const struct shape *shape, const struct rps_record *record, struct text *text)
{
    int code = sqlite3_clear_bindings(shape->insert);

    for (int i = 0; i < record->count && code == SQLITE_OK; i++) {
        const struct rps_value *value = &record->value[i];

        if (i == 0 && !shape->is_index)
            code = sqlite3_bind_int64(shape->insert, 1, record->rowid);
        else if (value->kind == RPS_VALUE_INTEGER)
            code = sqlite3_bind_int64(shape->insert, i + 1, value->integer);
        else if (value->kind == RPS_VALUE_REAL)
            code = sqlite3_bind_double(shape->insert, i + 1, value->real);
        else if (value->kind == RPS_VALUE_TEXT)
            code = bind_text(text, shape->insert, i + 1, value);
    }
    if (code == SQLITE_OK)
        code = rps_database_run(shape->insert);
    return (code & 0xff) == SQLITE_CONSTRAINT ? SQLITE_OK : code;
}

static int keep(const struct salvage *salvage, const struct rps_record *record, struct text *text)
{
    size_t i = 0;

    while (i < salvage->count && !fits(&salvage->shape[i], record))
        i++;
    return i < salvage->count ? insert(&salvage->shape[i], record, text) : SQLITE_OK;
}

int rps_salvage(struct rps_pages *pages, sqlite3 *db, const char *path, uint64_t *ret_rows,
                struct rps_error *err)
{
    struct salvage salvage = {.db = db};
    struct text text = {0};
    sqlite3_int64 before = sqlite3_total_changes64(db);
    struct rps_record record;
    int code = load_shapes(&salvage), result = 0;

    while (code == SQLITE_OK && (result = rps_pages_next(pages, &record, err)) > 0)
        code = keep(&salvage, &record, &text);
    if (code != SQLITE_OK)
        result = rps_database_error(db, code, path, err);
    for (size_t i = 0; i < salvage.count; i++)
        sqlite3_finalize(salvage.shape[i].insert);
    free(salvage.shape);
    free(text.bytes);
    if (result < 0)
        return result;
    *ret_rows = (uint64_t)(sqlite3_total_changes64(db) - before);
    return 0;
}
