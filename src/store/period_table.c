/*
 * The table `period` as a writer fills it: rows short, pages full.
 *
 * Written plainly, a period of two events takes 73 bytes of file. Two things are behind that, and
 * two here against them. Measured with 100,000 periods of 100 ms in four sets:
 *
 *     plain                            73.3 bytes a period
 *     pages packed                     66.7
 *     short rows                       66.6
 *     both                             60.3
 *
 * Pages: rows that arrive in the order of their key leave the pages of a WITHOUT ROWID table 7/8
 * full, because SQLite evens out the last four pages whenever it adds one. Rows that are inserted
 * between existing ones fill pages up. So a stretch of periods, once written, is taken out and put
 * back in one transaction, all but every ninth first, then those: 4 us a period, and the pages are
 * 98 % full. (Larger pages do not help, the share stays the same; VACUUM would, but rewrites all
 * runs and keeps other recorders out meanwhile.)
 *
 * Rows: a column that is NULL still takes a byte, six for a set of two events. SQLite's file format
 * lets a row end before the table's last columns, which then have their default, NULL; that is what
 * ALTER TABLE ADD COLUMN leaves behind. But SQL has no way to write such a row. The way there is
 * the one of the sqlite3 shell's .imposter command: a second definition, in the memory of this
 * connection only, of the same table with fewer columns. SQLite calls the interface one for tests,
 * so nothing depends on it: it is used when a trial row, written through it and read back through
 * `period`, is right, and forgotten for good when another connection changes the schema (VACUUM).
 * Then rows are written whole, and are the same to every reader.
 *
 * Tried and dropped: running_ns as a generated column over a stored difference saves two bytes, but
 * readers that ask for a table's columns (DuckDB) do not see generated ones.
 */
#include "period_table.h"

#include <stdlib.h>

#include "database.h"

/* One row in this many is put back last. With 8 pages run over; above 9 they stay emptier. */
#define LAST_EVERY "9"

#define KEY         "run_id, cpu, cycle, period"
#define REST        "set_no, start_ns, length_ns, cycles, enabled_ns, running_ns, switch_ns, missed"
#define PARAMETERS  "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12"
#define COUNT_FIRST 13 /* parameter of slot 0 */

#define C1 "c0"
#define C2 C1 ", c1"
#define C3 C2 ", c2"
#define C4 C3 ", c3"
#define C5 C4 ", c4"
#define C6 C5 ", c5"
#define C7 C6 ", c6"
#define C8 C7 ", c7"
#define P1 "?13"
#define P2 P1 ", ?14"
#define P3 P2 ", ?15"
#define P4 P3 ", ?16"
#define P5 P4 ", ?17"
#define P6 P5 ", ?18"
#define P7 P6 ", ?19"
#define P8 P7 ", ?20"

/* Without types: the table is not STRICT here, and only integers are ever bound. */
#define DEFINE(kind, name, counts)                                                                 \
    "CREATE " kind " " name " (" KEY ", " REST ", " counts ", PRIMARY KEY (" KEY ")) WITHOUT "     \
    "ROWID"
#define INSERT(table, counts, parameters)                                                          \
    "INSERT INTO " table " (" KEY ", " REST ", " counts ") VALUES (" PARAMETERS ", " parameters ")"
#define PUT_BACK(table, counts, which)                                                             \
    "INSERT INTO " table " (" KEY ", " REST ", " counts ") SELECT " KEY ", " REST ", " counts      \
    " FROM temp.settling WHERE period % " LAST_EVERY " " which " 0 ORDER BY " KEY

struct table_sql {
    const char *define; /* NULL: the table as it is */
    const char *insert;
    const char *put_most, *put_last;
};

#define SQL(definition, table, counts, parameters)                                                 \
    {                                                                                              \
        definition, INSERT(table, counts, parameters), PUT_BACK(table, counts, "<>"),              \
            PUT_BACK(table, counts, "=")                                                           \
    }
#define NARROW(n) SQL(DEFINE("TABLE", "period_narrow", C##n), "period_narrow", C##n, P##n)

/* by the number of slots */
static const struct table_sql table_sql[RPS_SLOT_MAX + 1] = {
    {NULL, NULL, NULL, NULL},
    NARROW(1),
    NARROW(2),
    NARROW(3),
    NARROW(4),
    NARROW(5),
    NARROW(6),
    NARROW(7),
    SQL(NULL, "period", C8, P8),
};

struct rps_period_table {
    sqlite3 *db;
    int slots; /* columns c0 ... written */
    sqlite3_stmt *insert;
    sqlite3_stmt *begin, *commit, *rollback;
    sqlite3_stmt *take, *cut, *put_most, *put_last, *empty;
};

/* --- the narrow definition ------------------------------------------------------------------ */

/* Define period_narrow over the pages of `period`, in this connection's memory. */
static int define_narrow(sqlite3 *db, const struct table_sql *sql)
{
    sqlite3_int64 root = 0, stored = 1;
    int code = rps_database_number(
        db, "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'period'", &root);

    if (code != SQLITE_OK)
        return code;
    code = sqlite3_test_control(SQLITE_TESTCTRL_IMPOSTER, db, "main", 1, (int)root);
    if (code != SQLITE_OK)
        return code;
    code = rps_database_exec(db, sql->define);
    sqlite3_test_control(SQLITE_TESTCTRL_IMPOSTER, db, "main", 0, 0);
    if (code != SQLITE_OK)
        return code;
    /* an SQLite built without the interface has made a real table */
    code = rps_database_number(
        db, "SELECT count(*) FROM sqlite_schema WHERE name = 'period_narrow'", &stored);
    return code == SQLITE_OK && stored != 0 ? SQLITE_ERROR : code;
}

/* Write a row through the narrow definition, and read it back through the real one. */
static int try_row(sqlite3 *db, const struct table_sql *sql, int slots)
{
    sqlite3_stmt *insert = NULL;
    sqlite3_int64 same = 0;
    int code = rps_database_prepare(db, sql->insert, &insert);

    for (int i = 1; i < COUNT_FIRST + slots && code == SQLITE_OK; i++)
        code = sqlite3_bind_int64(insert, i, i == 1 ? -1 : INT64_C(1) << (4 * (i % 13)));
    if (code == SQLITE_OK)
        code = rps_database_run(insert);
    sqlite3_finalize(insert);
    if (code == SQLITE_OK)
        code = rps_database_number(
            db,
            "SELECT count(*) FROM period WHERE run_id = -1 AND cpu = 1 << 8 AND cycle = 1 << 12"
            " AND period = 1 << 16 AND set_no = 1 << 20 AND missed = 1 << 48 AND c0 = 1 << 0"
            " AND c7 IS NULL",
            &same);
    return code == SQLITE_OK && same != 1 ? SQLITE_ERROR : code;
}

static int try_narrow(sqlite3 *db, const struct table_sql *sql, int slots)
{
    int code = rps_database_exec(db, "BEGIN IMMEDIATE");

    if (code != SQLITE_OK)
        return code;
    code = define_narrow(db, sql);
    if (code == SQLITE_OK)
        code = try_row(db, sql, slots);
    rps_database_exec(db, "ROLLBACK"); /* takes the definition along */
    return code;
}

/* --- life ----------------------------------------------------------------------------------- */

static int prepare_settling(struct rps_period_table *table)
{
    struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } const statements[] = {
        {&table->begin, "BEGIN IMMEDIATE"},
        {&table->commit, "COMMIT"},
        {&table->rollback, "ROLLBACK"},
        {&table->take,
         "INSERT INTO temp.settling SELECT " KEY ", " REST ", " C8 " FROM period WHERE run_id = ?1"
         " AND cpu = ?2 AND (cycle, period) >= (?3, ?4)"},
        {&table->cut, "DELETE FROM period WHERE run_id = ?1 AND cpu = ?2"
                      " AND (cycle, period) >= (?3, ?4)"},
        {&table->put_most, table_sql[table->slots].put_most},
        {&table->put_last, table_sql[table->slots].put_last},
        {&table->empty, "DELETE FROM temp.settling"},
    };
    int code = rps_database_exec(table->db, DEFINE("TEMP TABLE IF NOT EXISTS", "settling", C8));

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && code == SQLITE_OK; i++)
        code = rps_database_prepare(table->db, statements[i].sql, statements[i].stmt);
    return code;
}

static void finalize(struct rps_period_table *table)
{
    sqlite3_stmt **const statements[] = {
        &table->insert, &table->begin,    &table->commit,   &table->rollback, &table->take,
        &table->cut,    &table->put_most, &table->put_last, &table->empty,
    };

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        sqlite3_finalize(*statements[i]);
        *statements[i] = NULL;
    }
}

static int prepare(struct rps_period_table *table, int slots)
{
    int code;

    finalize(table);
    table->slots = slots;
    code = rps_database_prepare(table->db, table_sql[slots].insert, &table->insert);
    return code == SQLITE_OK ? prepare_settling(table) : code;
}

int rps_period_table_open(sqlite3 *db, int slots, struct rps_period_table **ret)
{
    struct rps_period_table *table = calloc(1, sizeof(*table));
    int code = SQLITE_ERROR;

    if (!table)
        return SQLITE_NOMEM;
    table->db = db;
    if (table_sql[slots].define && try_narrow(db, &table_sql[slots], slots) == SQLITE_OK &&
        define_narrow(db, &table_sql[slots]) == SQLITE_OK)
        code = prepare(table, slots);
    if (code != SQLITE_OK)
        code = prepare(table, RPS_SLOT_MAX);
    if (code != SQLITE_OK) {
        rps_period_table_close(table);
        return code;
    }
    *ret = table;
    return SQLITE_OK;
}

void rps_period_table_close(struct rps_period_table *table)
{
    if (!table)
        return;
    finalize(table);
    free(table);
}

int rps_period_table_is_narrow(const struct rps_period_table *table)
{
    return table->slots < RPS_SLOT_MAX;
}

/* --- use ------------------------------------------------------------------------------------ */

/* SQLite's numbers are signed; no counter gets that far. */
static int64_t as_signed(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int bind_period(const struct rps_period_table *table, int64_t run_id,
                       const struct rps_period *period, uint32_t measured)
{
    const int64_t value[COUNT_FIRST - 1] = {
        run_id,
        period->cpu,
        as_signed(period->cycle),
        as_signed(period->period),
        period->set_no,
        period->start_ns,
        period->length_ns,
        as_signed(period->cycles),
        as_signed(period->enabled_ns),
        as_signed(period->running_ns),
        period->switch_ns,
        period->missed,
    };
    int code = SQLITE_OK;

    for (int i = 1; i < COUNT_FIRST; i++)
        code |= sqlite3_bind_int64(table->insert, i, value[i - 1]);
    for (int slot = 0; slot < table->slots; slot++) {
        if (period->counted & measured & (1u << slot))
            code |= sqlite3_bind_int64(table->insert, COUNT_FIRST + slot,
                                       as_signed(period->count[slot]));
        else
            code |= sqlite3_bind_null(table->insert, COUNT_FIRST + slot);
    }
    return code == SQLITE_OK ? SQLITE_OK : SQLITE_MISUSE;
}

int rps_period_table_insert(struct rps_period_table *table, int64_t run_id,
                            const struct rps_period *period, uint32_t measured)
{
    int code = bind_period(table, run_id, period, measured);

    if (code == SQLITE_OK)
        code = rps_database_run(table->insert);
    if (code != SQLITE_ERROR || !rps_period_table_is_narrow(table))
        return code;
    /* the schema was read again, without our definition: write whole rows from now on */
    code = prepare(table, RPS_SLOT_MAX);
    if (code == SQLITE_OK)
        code = bind_period(table, run_id, period, measured);
    return code == SQLITE_OK ? rps_database_run(table->insert) : code;
}

int rps_period_table_settle(struct rps_period_table *table, int64_t run_id, int32_t cpu,
                            uint64_t cycle, uint64_t period)
{
    sqlite3_stmt *const steps[] = {table->take,     table->cut,   table->put_most,
                                   table->put_last, table->empty, table->commit};
    int code = rps_database_run(table->begin);

    if (code != SQLITE_OK)
        return code;
    for (int i = 0; i < 2; i++) {
        sqlite3_bind_int64(steps[i], 1, run_id);
        sqlite3_bind_int64(steps[i], 2, cpu);
        sqlite3_bind_int64(steps[i], 3, as_signed(cycle));
        sqlite3_bind_int64(steps[i], 4, as_signed(period));
    }
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && code == SQLITE_OK; i++)
        code = rps_database_run(steps[i]);
    if (code != SQLITE_OK && !sqlite3_get_autocommit(table->db))
        rps_database_run(table->rollback);
    return code;
}
