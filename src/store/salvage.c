/* Salvage: read the rows of damaged tables.
 *
 * A table is read in key order from its beginning up to an unreadable page, and backward from its
 * end. Between the two lies a range of keys with damage at both borders. A query starts in the
 * middle of that range and reads forward and backward as far as possible, which leaves smaller
 * ranges of the same form. When a few halvings in a row have found nothing, the range is lost. Each
 * range has been read up to its borders. A damaged page therefore causes only the loss of pages
 * that can be reached through no other page.
 *
 * A key has up to five numbers, compared in order. If the upper border is the beginning of another
 * run or CPU, the end of the previous run or CPU is unknown. In this case the search for a middle
 * key begins near the lower border and uses growing steps. */
#include "reconstruct.h"

#include <stdbool.h>
#include <string.h>

#include "database.h"

/* Maximum number of nested halvings that find nothing (15 queries forward, 15 backward). */
#define FAILURES_MAX 4

/* Maximum number of rows with equal keys that are read at once, if the key is only the first part
 * of the table's key. */
#define SAME_KEY_MAX 1000000

struct key {
    int64_t at[RPS_TABLE_KEYS_MAX];
};

struct salvage {
    sqlite3 *from, *to;
    const struct rps_table *table;
    sqlite3_stmt *ahead, *back, *insert;
    struct rps_salvage_result *result;
    int code; /* SQLite code of a failure that ends the salvage */
};

/* --- keys ------------------------------------------------------------------------------------- */

static int compare_keys(const struct rps_table *table, const struct key *a, const struct key *b)
{
    for (int i = 0; i < table->keys; i++)
        if (a->at[i] != b->at[i])
            return a->at[i] < b->at[i] ? -1 : 1;
    return 0;
}

/* Make a key: the columns of `like` before column i, then `value`, then the lowest numbers. */
static struct key key_at(const struct rps_table *table, const struct key *like, int i,
                         int64_t value)
{
    struct key key = *like;

    key.at[i] = value;
    for (int k = i + 1; k < table->keys; k++)
        key.at[k] = table->least[k];
    return key;
}

/* Find a key between two keys to start from. Returns false if there is none. *ret_leap is true if
 * the upper key begins another run or CPU. */
static bool middle_of(const struct rps_table *table, const struct key *low, const struct key *high,
                      struct key *ret, bool *ret_leap)
{
    int i = 0;

    *ret_leap = false;
    while (i < table->keys && low->at[i] == high->at[i])
        i++;
    if (i == table->keys)
        return false;
    if (high->at[i] - 1 > low->at[i] && high->at[i] < INT64_MAX) {
        *ret = key_at(table, low, i,
                      low->at[i] + (int64_t)(((uint64_t)high->at[i] - (uint64_t)low->at[i]) / 2));
        return true;
    }
    if (high->at[i] < INT64_MAX) {
        *ret = key_at(table, high, i, high->at[i]);
        if (compare_keys(table, ret, high) < 0)
            return true;
        i++;
    }
    *ret_leap = true;
    if (i == table->keys || low->at[i] > INT64_MAX / 8)
        return false;
    *ret = key_at(table, low, i,
                  low->at[i] < 0   ? 0
                  : low->at[i] < 4 ? low->at[i] + 1
                                   : low->at[i] * 4);
    return true;
}

/* Store the code if it means that memory is short. Every other code means damage. */
static void note_memory(struct salvage *salvage, int code)
{
    if ((code & 0xff) == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
        salvage->code = SQLITE_NOMEM;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Read the key of the statement's row. Returns false if the key is invalid. */
static bool read_key(const struct salvage *salvage, sqlite3_stmt *stmt, struct key *ret)
{
    for (int i = 0; i < salvage->table->keys; i++) {
        if (sqlite3_column_type(stmt, i) != SQLITE_INTEGER)
            return false;
        ret->at[i] = sqlite3_column_int64(stmt, i);
    }
    return true;
}

static void copy_row(struct salvage *salvage, sqlite3_stmt *stmt)
{
    int keys = salvage->table->keys, count = sqlite3_column_count(stmt), code = SQLITE_OK;

    for (int i = keys; i < count && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(salvage->insert, i - keys + 1, sqlite3_column_value(stmt, i));
    if (code == SQLITE_OK)
        code = rps_database_run(salvage->insert);
    if (code == SQLITE_OK && sqlite3_changes(salvage->to) > 0)
        salvage->result->rows++;
    else if ((code & 0xff) == SQLITE_CONSTRAINT || (code & 0xff) == SQLITE_MISMATCH ||
             (code == SQLITE_OK && !salvage->table->is_part))
        salvage->result->dropped++;
    else if (code != SQLITE_OK)
        salvage->code = code;
}

/* Copy rows from one key up to another (exclusive), in one direction. *at is the key of the last
 * row read. Returns true if all rows were read, false for damage. A key out of order is damage too,
 * because damaged pages may lead back to themselves. */
static bool salvage_rows(struct salvage *salvage, sqlite3_stmt *stmt, int direction, struct key *at,
                         const struct key *end)
{
    const struct rps_table *table = salvage->table;
    bool is_part = table->is_part, done = false;
    uint64_t same = 0;
    struct key key;
    int code = SQLITE_OK;

    sqlite3_reset(stmt);
    for (int i = 0; i < table->keys; i++)
        sqlite3_bind_int64(stmt, i + 1, at->at[i]);
    salvage->result->queries++;
    while (salvage->code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        int order;

        if (!read_key(salvage, stmt, &key))
            break;
        order = direction * compare_keys(table, &key, end);
        done = is_part ? order > 0 : order >= 0;
        if (done)
            break;
        order = direction * compare_keys(table, &key, at);
        same = order == 0 ? same + 1 : 0;
        if (order < 0 || same > (is_part ? SAME_KEY_MAX : 1))
            break;
        copy_row(salvage, stmt);
        *at = key;
    }
    note_memory(salvage, code);
    done = done || (salvage->code == SQLITE_OK && code == SQLITE_DONE);
    sqlite3_reset(stmt);
    return done;
}

/* Salvage rows between two keys with damage after `low` and before `high`. */
static void search(struct salvage *salvage, struct key low, struct key high, int failures)
{
    struct key middle, ahead, back;
    bool leap, all_ahead, all_back, found_ahead, found_back;

    while (salvage->code == SQLITE_OK && failures < FAILURES_MAX &&
           middle_of(salvage->table, &low, &high, &middle, &leap)) {
        ahead = back = middle;
        all_ahead = salvage_rows(salvage, salvage->ahead, 1, &ahead, &high);
        all_back = salvage_rows(salvage, salvage->back, -1, &back, &low);
        found_ahead = compare_keys(salvage->table, &ahead, &middle) != 0;
        found_back = compare_keys(salvage->table, &back, &middle) != 0;
        if (!all_back)
            search(salvage, low, back, found_back ? 0 : failures + 1);
        if (all_ahead)
            return;
        low = ahead;
        failures = found_ahead ? 0 : failures + !leap;
    }
    salvage->result->damaged++;
}

static void read_table(struct salvage *salvage)
{
    const struct rps_table *table = salvage->table;
    struct key low, high;

    memcpy(low.at, table->least, sizeof(low.at));
    for (int i = 0; i < RPS_TABLE_KEYS_MAX; i++)
        high.at[i] = INT64_MAX;
    if (salvage_rows(salvage, salvage->ahead, 1, &low, &high) || salvage->code != SQLITE_OK)
        return;
    if (!salvage_rows(salvage, salvage->back, -1, &high, &low))
        search(salvage, low, high, 0);
}

/* --- statements ------------------------------------------------------------------------------- */

/* Return true if the damaged store has a table of this name that is neither a view nor virtual. */
static bool is_table(struct salvage *salvage)
{
    int64_t found = 0;
    int code = rps_database_ask(salvage->from, &found,
                                "SELECT 1 FROM main.sqlite_schema WHERE type = 'table'"
                                " AND name = ?1 COLLATE NOCASE AND sql NOT LIKE '%CREATE VIRTUAL%'",
                                "t", salvage->table->name);

    note_memory(salvage, code);
    return code == SQLITE_OK && found;
}

/* Return true if the damaged store's table has the column, stored and not computed. SAFETY: run the
 * pragma as a statement, because a table may hide the table-valued function. */
static bool has_column(struct salvage *salvage, const char *column)
{
    char *sql = sqlite3_mprintf("PRAGMA main.table_xinfo(%Q)", salvage->table->name);
    sqlite3_stmt *stmt = NULL;
    int code = sql ? sqlite3_prepare_v2(salvage->from, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
    bool found = false;

    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 1);

        found = found ||
                (name && sqlite3_stricmp(name, column) == 0 && sqlite3_column_int(stmt, 6) == 0);
        code = SQLITE_OK;
    }
    note_memory(salvage, code);
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return found;
}

/* Prepare the query that reads a table: SELECT key and all columns of the new store, ORDER BY the
 * key, ascending or descending. */
static int prepare_read(struct salvage *salvage, const char *columns, bool back)
{
    const struct rps_table *table = salvage->table;
    const char *const comma[] = {"", ", "};
    sqlite3_str *sql = sqlite3_str_new(salvage->from);

    sqlite3_str_appendall(sql, "SELECT ");
    for (int i = 0; i < table->keys; i++)
        sqlite3_str_appendf(sql, "%s, ", table->key[i]);
    /* Read runs by rowid and not by an index, because an index may be damaged. */
    sqlite3_str_appendf(sql, "%s FROM main.%s%s WHERE (", columns, table->name,
                        table == rps_tables ? " NOT INDEXED" : "");
    for (int i = 0; i < table->keys; i++)
        sqlite3_str_appendf(sql, "%s%s", comma[i > 0], table->key[i]);
    sqlite3_str_appendf(sql, ") %s (", back ? table->is_part ? "<=" : "<" : ">=");
    for (int i = 0; i < table->keys; i++)
        sqlite3_str_appendf(sql, "%s?%d", comma[i > 0], i + 1);
    sqlite3_str_appendall(sql, ") ORDER BY ");
    for (int i = 0; i < table->keys; i++)
        sqlite3_str_appendf(sql, "%s%s%s", comma[i > 0], table->key[i], back ? " DESC" : "");
    return rps_database_prepare_made(salvage->from, sql, back ? &salvage->back : &salvage->ahead);
}

/* Prepare the table's statements, or none if `from` lacks the table (SQLITE_OK). */
static int prepare_table(struct salvage *salvage)
{
    const struct rps_table *table = salvage->table;
    sqlite3_str *columns = sqlite3_str_new(NULL), *insert = sqlite3_str_new(NULL);
    sqlite3_stmt *stmt = NULL;
    char *text;
    int count = 0, code;

    sqlite3_str_appendf(insert, "INSERT OR IGNORE INTO %s VALUES (", table->name);
    code = sqlite3_prepare_v2(salvage->to, "SELECT name FROM pragma_table_info(?1) ORDER BY cid",
                              -1, &stmt, NULL);
    sqlite3_bind_text(stmt, 1, table->name, -1, SQLITE_STATIC);
    while (code == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0), *comma = count++ ? ", " : "";

        sqlite3_str_appendf(columns, "%s%s", comma, has_column(salvage, name) ? name : "NULL");
        sqlite3_str_appendf(insert, "%s?", comma);
    }
    sqlite3_finalize(stmt);
    sqlite3_str_appendall(insert, ")");
    text = sqlite3_str_finish(columns);
    if (code == SQLITE_OK)
        code = rps_database_prepare_made(salvage->to, insert, &salvage->insert);
    else
        sqlite3_free(sqlite3_str_finish(insert));
    if (!is_table(salvage))
        goto out;
    for (int i = 0; i < table->keys && text && code == SQLITE_OK; i++)
        if (!has_column(salvage, table->key[i]))
            goto out;
    for (int back = 0; back < 2 && text && code == SQLITE_OK; back++)
        note_memory(salvage, prepare_read(salvage, text, back));
out:
    sqlite3_free(text);
    return !text ? SQLITE_NOMEM : salvage->code != SQLITE_OK ? salvage->code : code;
}

int rps_salvage(sqlite3 *from, sqlite3 *to, struct rps_salvage_result *ret)
{
    struct salvage salvage = {.from = from, .to = to, .result = ret};

    *ret = (struct rps_salvage_result){0};
    salvage.code = rps_database_exec(to, "BEGIN IMMEDIATE");
    for (size_t t = 0; t < RPS_TABLE_COUNT && salvage.code == SQLITE_OK; t++) {
        salvage.table = &rps_tables[t];
        if (rps_table_is_heartbeat(salvage.table)) /* the new store has no recorder */
            continue;
        salvage.code = prepare_table(&salvage);
        if (salvage.code == SQLITE_OK && salvage.ahead && salvage.back)
            read_table(&salvage);
        sqlite3_finalize(salvage.ahead);
        sqlite3_finalize(salvage.back);
        sqlite3_finalize(salvage.insert);
        salvage.ahead = salvage.back = salvage.insert = NULL;
    }
    if (salvage.code == SQLITE_OK)
        salvage.code = rps_database_exec(to, "COMMIT");
    return salvage.code;
}
