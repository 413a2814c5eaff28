/* Damage a store for fuzzing. A change that SQLite refuses has no effect. */
#include "hurt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "fixture.h"
#include "rpistat/clock.h"
#include "rpistat/code_store.h"

#define PERIODS     160 /* number of periods of a run */
#define CHANGES_MAX 12
#define ARRAY_OF(x) (sizeof(x) / sizeof((x)[0]))
#define SLOW        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
#define LARGE       "printf('%.*c', 3000000, 'x')"
#define STEPS_MAX   300000 /* limit of SQLite steps for one change */

static uint8_t *good;
static size_t good_size;

/* --- the good store --------------------------------------------------------------------------- */

static void add_run(const char *path, int cpu_count, int state)
{
    struct rps_writer *writer;
    struct rps_run run;
    struct rps_error err;

    writer = fixture_writer(path, NULL, &run);
    for (uint64_t n = 0; n < PERIODS; n++) {
        struct rps_period period = fixture_period(n, 2);

        period.count[0] *= n / 40 % 2 ? 3 : 1;
        for (int cpu = 0; cpu < cpu_count; cpu++) {
            period.cpu = cpu_count == 1 ? RPS_CPU_ALL : cpu;
            rps_writer_period(writer, &period);
        }
        fixture_code(writer, n);
    }
    fixture_code(writer, PERIODS);
    rps_writer_mark(writer, 2 * RPS_NS_PER_S, "half way");
    rps_writer_gap(writer, -1, 9 * RPS_NS_PER_S, RPS_NS_PER_S, "the disk was full");
    run.state = state == 0 ? RPS_RUN_COMPLETE : RPS_RUN_INTERRUPTED;
    run.elapsed_ns = PERIODS * INT64_C(100030000);
    fuzz_expect(rps_writer_end(writer, &run, &err) == 0, "the good store cannot be written");
    rps_writer_close(writer);
    rps_run_free(&run);
}

static void add_phases(const char *path)
{
    struct rps_phase phase[4];
    uint64_t outlier[] = {5, 99};
    struct rps_phase whole = {.last = 159, .end_ns = 16 * RPS_NS_PER_S, .confidence = 1};
    struct rps_phases level[] = {
        {.count = 1, .phase = &whole, .label_count = 1},
        {.count = 4, .phase = phase, .label_count = 2, .outlier_count = 2, .outlier = outlier},
    };
    struct rps_detection detection = {.method = "screened",
                                      .parameters = (char *)"{}",
                                      .remark = (char *)"A B, 2 times, every 8 s",
                                      .levels = {.count = 2, .level = level, .shown = 1}};
    struct rps_error err;

    memset(phase, 0, sizeof(phase));
    for (unsigned i = 0; i < 4; i++) {
        phase[i].first = phase[i].earliest = phase[i].latest = i * 40;
        phase[i].last = i * 40 + 39;
        phase[i].start_ns = i * 4 * RPS_NS_PER_S;
        phase[i].end_ns = (i + 1) * 4 * RPS_NS_PER_S;
        phase[i].label = i % 2;
        phase[i].confidence = phase[i].label_confidence = 0.9;
    }
    fuzz_expect(rps_store_add_detection(path, 1, &detection, &err) == 0,
                "phases cannot be added to the good store");
}

/* Add names of two frames. One has an inlined function, the other has no name. */
static void add_names(const char *path)
{
    struct rps_location location[] = {
        {0, 0, "inlined", "a.h", 7, RPS_LOCATION_DEBUG},
        {0, 1, "main", "a.c", 70, RPS_LOCATION_DEBUG},
        {1, 0, "stripped", "", 0, RPS_LOCATION_NONE},
    };
    const struct rps_code code = {.location_count = ARRAY_OF(location), .location = location};
    struct rps_error err;

    fuzz_expect(rps_store_set_locations(path, 1, &code, &err) == 0, "frames cannot be named");
}

/* Remove the parts of the store that differ between calls. The recorder of the last run was killed.
 */
static void make_the_same(const char *path)
{
    fixture_exec(path, "UPDATE run SET uuid = printf('0f022e00-0000-4000-8000-%012d', run_id),"
                       " recorder_pid = 1, host = 'host', boot_id = 'boot';"
                       "UPDATE run SET state = 'recording', elapsed_ns = NULL WHERE run_id = 3;"
                       "PRAGMA journal_mode = DELETE; VACUUM; PRAGMA journal_mode = WAL;");
}

void hurt_prepare(void)
{
    const char *path;
    struct stat status;
    FILE *file;

    if (good)
        return;
    path = fuzz_path("good.data");
    add_run(path, 1, 0);
    add_run(path, 3, 0);
    add_run(path, 1, 1);
    add_phases(path);
    add_names(path);
    make_the_same(path);
    file = fopen(path, "r");
    fuzz_expect(file && stat(path, &status) == 0, "the good store is not there");
    good_size = (size_t)status.st_size;
    good = malloc(good_size);
    fuzz_expect(good && fread(good, 1, good_size, file) == good_size,
                "the good store cannot be read");
    fclose(file);
    unlink(path);
}

/* --- rows ------------------------------------------------------------------------------------- */

static const char *const tables[] = {
    "run",   "event_set", "event",   "metric", "metric_step", "period",    "rollup",   "thinned",
    "phase", "mark",      "outlier", "gap",    "heartbeat",   "detection", "sampling", "module",
    "frame", "location",  "stack",   "task",   "code_count",  "code_count"};

/* SQL values that harm a reader that trusts them. */
static const char *const values[] = {
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "7",
    "8",
    "255",
    "1000",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "9223372036854775807",
    "(-9223372036854775807 - 1)",
    "1e308",
    "-1e308",
    "9e999",
    "0.5",
    "'Infinity'",
    "''",
    "'x'",
    "printf('%.*c', 5000, 'x')",
    "iif(abs(random()) % 100 = 0, " LARGE ", 'y')",
    "zeroblob(1000)",
    "x'00ff80'",
    "'a' || char(0) || 'b'",
    "char(27) || ']52;c;cm0gLXJm' || char(7)",
    "char(155) || '2J' || char(27) || '[2J'",
    "'a' || char(10) || 'b' || char(13) || char(9) || 'c' || char(127)",
    "'`touch pwned` $(touch pwned) \" '' \\ @x {/Symbol a}'",
    "'=cmd|'' /C calc''!A0'",
    "'</script><script>alert(1)</script>'",
    "'<img src=x onerror=alert(1)>&amp;]]>'",
    "'%s%n%n%n%d'",
    "'[\"a\",\"b\"'",
    "'{\"a\":{\"b\":[[[[1]]]]}}'",
    "'../../etc/passwd'",
    "printf('%.*c', 3000, '(') || 'a'",
    "'a / a / a / a / a / a / a / a - -a'",
    "'measured'",
    "'recording'",
    "'complete'",
    "cast(x'c328fffe' AS TEXT)",
    "char(0x202e) || 'abc'",
    "'number'",
    "'operand'",
    "'clock'",
    "run_id + 1",
    "'{\"1\":[0,1,39],\"7\":[1999999],\"9999999999\":[0]}'",
    "'{\"1\":[12345678901]}'",
    "'PPP*QN'",
    "'MMMMMMz!z'",
    "'{\"1\":{\"a\":[3,{}]},\"x\":7,\"2\":\"y\"}'",
    "rowid"};

/* Return the name of a column of the table, or "run_id" if there is no such column. */
static void column_name(sqlite3 *db, const char *table, unsigned number, char *ret, size_t size)
{
    sqlite3_stmt *stmt = NULL;

    snprintf(ret, size, "run_id");
    if (sqlite3_prepare_v2(db,
                           "SELECT name FROM pragma_table_xinfo(?1) ORDER BY cid LIMIT 1 OFFSET"
                           " ?2 % (SELECT max(count(*), 1) FROM pragma_table_xinfo(?1))",
                           -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
        sqlite3_bind_int(stmt, 2, (int)number);
        if (sqlite3_step(stmt) == SQLITE_ROW)
            snprintf(ret, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
    }
    sqlite3_finalize(stmt);
}

static int give_up(void *unused)
{
    (void)unused;
    return 1;
}

static void execute(sqlite3 *db, char *sql)
{
    if (sql)
        sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
}

static void change_rows(sqlite3 *db, struct fuzz_bytes *bytes)
{
    const char *table = tables[fuzz_take(bytes, 1) % ARRAY_OF(tables)];
    const char *value = values[fuzz_take(bytes, 1) % ARRAY_OF(values)];
    unsigned way = (unsigned)fuzz_take(bytes, 1);
    char column[64];

    column_name(db, table, (unsigned)fuzz_take(bytes, 1), column, sizeof(column));
    if (way % 4 == 0)
        execute(db, sqlite3_mprintf("DELETE FROM %s WHERE (SELECT count(*) FROM %s AS o) %% %d"
                                    " OR \"%w\" > %s",
                                    table, table, way / 4 % 2 + 1, column, value));
    else if (way % 4 == 1)
        execute(db, sqlite3_mprintf("UPDATE OR IGNORE %s SET \"%w\" = %s", table, column, value));
    else
        execute(db, sqlite3_mprintf("UPDATE OR IGNORE %s SET \"%w\" = %s WHERE abs(random()) %% "
                                    "%u = 0 OR \"%w\" = (SELECT max(\"%w\") FROM %s)",
                                    table, column, value, way, column, column, table));
}

/* Add very many rows: thousands of events, sets, metrics, runs, marks. */
static void add_rows(sqlite3 *db, struct fuzz_bytes *bytes)
{
    static const char *const sql[] = {
        "INSERT OR IGNORE INTO event_set SELECT e.run_id, n.i + 10, %s FROM n, event_set AS e",
        "INSERT OR IGNORE INTO mark SELECT 1, i * 1000000, 0, 'mark ' || i FROM n",
        "INSERT OR IGNORE INTO gap SELECT 1, i * 1000000, 0, -1, i, 'gap ' || i FROM n",
        "INSERT OR IGNORE INTO outlier SELECT 1, 0, i FROM n",
        "INSERT OR IGNORE INTO metric SELECT run_id, name || n.i, metric_no + n.i, label || n.i,"
        " unit, family, panel || n.i, formula, explain, step_count FROM n, metric WHERE run_id = 1",
        "INSERT OR IGNORE INTO phase SELECT 1, 0, i % 3, i, i, i, char(65 + i % 26), i, i + 1, i, "
        "i,"
        " 1, 1 FROM n",
        "INSERT OR IGNORE INTO stack SELECT 1, i * 150, i * 150 - 1, i, char(33 + i / 45 % 45,"
        " 78 + i % 46, 78 + i % 2) FROM n",
        "INSERT OR IGNORE INTO location SELECT 1, i % 50, i / 50, 'f' || i, 'x', i, 'debug', nullif(i % 7, 3) FROM n",
        "INSERT OR IGNORE INTO code_count SELECT 1, i % 5, -1, i, i % 3, char(33 + i / 45 % 45) ||"
        " char(78 + i % 45), '', nullif(char(33 + i % 90), '!') FROM n",
        "INSERT OR IGNORE INTO detection SELECT 1, i, 'x', '{}', i % 3, 'r' || i FROM n",
        "INSERT OR IGNORE INTO event SELECT run_id, set_no + n.i, slot, name || n.i, spec, label,"
        " role, unit, family, modifiers, explain, type, config, config1, config2, state, reason,"
        " count FROM n, event WHERE run_id = 1",
    };
    unsigned which = (unsigned)fuzz_take(bytes, 1) % ARRAY_OF(sql);
    unsigned count = (unsigned)fuzz_take(bytes, 1) * 40;
    char *insert = sqlite3_mprintf(sql[which], "name || n.i, explain, periods, enabled_ns, "
                                               "running_ns");

    execute(db, sqlite3_mprintf("WITH n (i) AS (SELECT value FROM generate_series(1, %u)) %s",
                                count, insert));
    execute(db, sqlite3_mprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                                "WHERE i < %u) %s",
                                count, insert));
    execute(db, sqlite3_mprintf("UPDATE run SET set_count = %u WHERE run_id = 1", count));
    sqlite3_free(insert);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Changes that another program may have made to the schema. */
static const char *const schemas[] = {
    "DROP TABLE \"%w\"",
    "DROP TABLE \"%w\"; CREATE VIEW \"%w\" AS " SLOW "SELECT i AS run_id, * FROM n",
    "ALTER TABLE \"%w\" RENAME TO other; CREATE VIEW \"%w\" AS SELECT * FROM other, other AS o",
    "ALTER TABLE \"%w\" RENAME TO other; CREATE VIEW \"%w\" AS SELECT * FROM other;"
    " CREATE VIEW loop AS SELECT * FROM loop2; CREATE VIEW loop2 AS SELECT * FROM loop",
    "CREATE TRIGGER hurt AFTER INSERT ON \"%w\" BEGIN DELETE FROM run; " SLOW
    "INSERT INTO mark SELECT 1, i, 7, 'x' FROM n LIMIT 1000; END --%w",
    "CREATE TRIGGER hurt BEFORE UPDATE ON \"%w\" BEGIN SELECT load_extension('x'); END --%w",
    "ALTER TABLE \"%w\" ADD COLUMN more INTEGER GENERATED ALWAYS AS (length(zeroblob(100000)))",
    "ALTER TABLE \"%w\" RENAME COLUMN run_id TO nothing",
    "CREATE TABLE \"extra%w\" (a, b); INSERT INTO \"extra%w\" VALUES (1, printf('%%.*c', 3000000, "
    "'x'))",
    "CREATE INDEX hurt ON \"%w\" (run_id) --%w",
    "DROP VIEW sample; DROP VIEW rate; DROP VIEW run_summary --%w%w",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(sql,"
    " 'STRICT, ', ''), 'NOT NULL', '') WHERE name = '%q'; PRAGMA writable_schema = RESET",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'WITHOUT ROWID', '')"
    " WHERE name = '%q'; PRAGMA writable_schema = RESET",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 1 + abs(random()) %% 9"
    " WHERE name = '%q'; PRAGMA writable_schema = RESET",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE ' || name || ' (x'"
    " WHERE name = '%q'; PRAGMA writable_schema = RESET",
    "PRAGMA user_version = 0 --%w",
    "PRAGMA user_version = 1999 --%w",
    "PRAGMA user_version = -1 --%w",
    "PRAGMA application_id = 0 --%w",
    "PRAGMA journal_mode = DELETE; PRAGMA encoding = 'UTF-16' --%w",
};

static void change_schema(sqlite3 *db, struct fuzz_bytes *bytes)
{
    const char *sql = schemas[fuzz_take(bytes, 1) % ARRAY_OF(schemas)];
    const char *table = tables[fuzz_take(bytes, 1) % ARRAY_OF(tables)];

    execute(db, sqlite3_mprintf(sql, table, table));
}

static void change_content(const char *path, struct fuzz_bytes *bytes)
{
    unsigned changes = (unsigned)fuzz_take(bytes, 1) % CHANGES_MAX;
    sqlite3 *db = NULL;

    if (changes == 0)
        return;
    fuzz_expect(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK,
                "the good store cannot be opened");
    sqlite3_progress_handler(db, STEPS_MAX, give_up, NULL);
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 1, db); /* random() returns the same numbers
                                                               each time. */
    sqlite3_exec(db,
                 "PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF;"
                 "PRAGMA temp_store = MEMORY; PRAGMA max_page_count = 8192",
                 NULL, NULL, NULL);
    for (unsigned i = 0; i < changes && bytes->left > 0; i++) {
        unsigned kind = (unsigned)fuzz_take(bytes, 1) % 8;

        if (kind == 0)
            change_schema(db, bytes);
        else if (kind == 1)
            add_rows(db, bytes);
        else
            change_rows(db, bytes);
    }
    sqlite3_close(db);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static void change_bytes(int fd, off_t size, struct fuzz_bytes *bytes)
{
    unsigned char page[4096];

    while (bytes->left > 3 && size > 0) {
        unsigned kind = (unsigned)fuzz_take(bytes, 1) % 16;
        off_t at = (off_t)fuzz_take(bytes, 3) % size;
        ssize_t put = 0;

        if (kind == 0) { /* Copy one page over another. */
            off_t to = (off_t)fuzz_take(bytes, 2) * 4096 % size;

            if (pread(fd, page, sizeof(page), at / 4096 * 4096) == (ssize_t)sizeof(page))
                put = pwrite(fd, page, sizeof(page), to / 4096 * 4096);
        } else if (kind == 1) { /* Clear a page. */
            memset(page, (int)fuzz_take(bytes, 1), sizeof(page));
            put = pwrite(fd, page, sizeof(page), at / 4096 * 4096);
        } else if (kind == 2 && at > 512) {
            put = ftruncate(fd, at);
            size = at;
        } else { /* Change some bytes, part of them in page headers. */
            size_t length = kind % 8 + 1;

            length = length < bytes->left ? length : bytes->left;
            if (kind > 7)
                at = at / 4096 * 4096 + at % 110;
            put = pwrite(fd, bytes->at, length, at);
            bytes->at += length;
            bytes->left -= length;
        }
        fuzz_expect(put >= 0, "the store cannot be hurt");
    }
}

const char *hurt_store(const char *name, const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    const char *path;
    struct stat status;
    int fd;

    hurt_prepare();
    path = fuzz_file(name, good, good_size);
    change_content(path, &bytes);
    fd = open(path, O_RDWR | O_CLOEXEC);
    fuzz_expect(fd >= 0 && fstat(fd, &status) == 0, "the store is not there");
    change_bytes(fd, status.st_size, &bytes);
    close(fd);
    return path;
}
