/* Questions about the periods of a run. A question consists of a condition in SQL, and a sentence
 * that reports where the condition holds. Some questions concern one row. Other questions compare a
 * piece with the previous piece. A "piece" is a period, or the rows of a block that replaces
 * deleted periods. One statement evaluates all questions of a table, and returns rows for which any
 * condition holds. The statement begins with questions.sql, which includes the text of
 * questions_row.sql in two places. */
#include "findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "database.h"
#include "embed.h"
#include "rpistat/clock.h"

extern const struct rps_embedded rps_embedded_questions[];

/* Tolerance in ns for times that other tools have rounded, as in questions.sql. */
#define NEAR "1000"

/* Put questions.sql before a statement. Returns NULL if memory is short. */
static char *with_sources(const char *sql)
{
    const char *row = rps_embedded_questions[1].text;
    char *sources = sqlite3_mprintf(rps_embedded_questions[0].text, row, row);
    char *text = sources ? sqlite3_mprintf("%s%s", sources, sql) : NULL;

    sqlite3_free(sources);
    return text;
}

/* Prepare a statement that begins with questions.sql. ?1 is run_id, and ?2 is `number`. */
static int prepare_with_sources(sqlite3 *db, const char *sql, int64_t run_id, int64_t number,
                                sqlite3_stmt **ret)
{
    char *text = with_sources(sql);
    int code = text ? sqlite3_prepare_v2(db, text, -1, ret, NULL) : SQLITE_NOMEM;

    if (code == SQLITE_OK)
        sqlite3_bind_int64(*ret, 1, run_id);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(*ret) > 1)
        sqlite3_bind_int64(*ret, 2, number);
    sqlite3_free(text);
    return code;
}

/* --- the questions ---------------------------------------------------------------------------- */

enum more { NOTHING, WITH_TEXT, UP_TO, IN_ALL, OF_THE_ONE_BEFORE, MORE_COUNT };

struct question {
    enum rps_finding_kind kind;
    const char *one, *many;
    const char *is_so; /* SQL: condition of the question */
    enum more more;    /* kind of detail that the sentence shows in addition to the place */
    const char *value; /* SQL: value of the detail */
};

#define PERIODS(kind, rest) RPS_FINDING_##kind, "period " rest, "periods " rest

static const struct question row_questions[] = {
    {PERIODS(WRONG, "with a number that no recorder writes"), "number IS NOT NULL", WITH_TEXT,
     "number"},
    {PERIODS(WRONG, "with a count of an event that was not measured"),
     "number IS NULL AND counted & ~measured", NOTHING, "1"},
    /* Only for periods: in a block, the zeros of sleeping periods look like uncounted periods. */
    {PERIODS(WRONG, "with counts of an event set that was never on the counters in it"),
     "number IS NULL AND level = 0 AND running_ns = 0 AND enabled_ns > 0 AND counted & measured",
     NOTHING, "1"},
    {PERIODS(WARNING,
             "without a count of an event that was on the counters, as recorded: the recorder "
             "could not read it"),
     "number IS NULL AND measured & ~counted AND (running_ns > 0 OR enabled_ns = 0)"
     " AND NOT (SELECT imported FROM about_run)",
     NOTHING, "1"},
    /* Enabled and running time are read one after the other while threads start and end on other
     * CPUs, so that running may exceed enabled. A difference beyond this limit gets a warning. */
    {PERIODS(WARNING, "with more time on the counters than the workload ran"),
     "number IS NULL AND excess_ns > 1000000 + enabled_ns / 20"
     " AND NOT (SELECT imported FROM about_run)",
     UP_TO, "excess_ns"},
};

#define OUT_OF_ORDER                                                                               \
    "level >= 0 AND (first < expected OR (first > expected AND start_ns <= b_end_ns + " NEAR "))"
#define WRONG_ROTATION                                                                             \
    "level >= 0 AND first >= expected AND (rotation < b_rotation"                                  \
    " OR (rotation = b_rotation AND (level > 0 OR b_level > 0 OR set_no = b_set_no))"              \
    " OR (rotation > b_rotation + 1 AND first = expected AND start_ns <= b_end_ns + " NEAR "))"
#define OVERLAPS "level >= 0 AND first >= expected AND start_ns < b_end_ns - " NEAR
/* After lost time between two pieces, the cycle timestamp also includes the lost time's cycles. */
#define WRONG_CYCLE                                                                                \
    "level >= 0 AND first >= expected AND (cycle - b_cycle < cycles"                               \
    " OR (first = expected AND cycle - b_cycle <> cycles))"
#define LONG_SWITCH "(level = -1 OR first >= expected) AND excess_ns > 0"

static const struct question piece_questions[] = {
    {PERIODS(WRONG, "out of order: the numbers of periods do not go up one by one with the cycle "
                    "timestamp"),
     OUT_OF_ORDER, NOTHING, "1"},
    {PERIODS(WRONG, "with a lower rotation number than the period before, or with a set twice in "
                    "one rotation"),
     WRONG_ROTATION, NOTHING, "1"},
    {RPS_FINDING_WRONG, "time range is missing, and no row of gap says why",
     "time ranges are missing, and no row of gap says why", "hole_ns > 0", IN_ALL, "hole_ns"},
    {PERIODS(WRONG, "beginning before the previous period has ended"), OVERLAPS, NOTHING, "1"},
    {PERIODS(WRONG, "with a cycle timestamp that is not the sum of all cycles so far"), WRONG_CYCLE,
     NOTHING, "1"},
    {PERIODS(WRONG, "with a switch of event sets that ends after the next period"), LONG_SWITCH,
     OF_THE_ONE_BEFORE, "excess_ns"},
};

#define QUESTIONS_MAX 8

/* The result of one question for one CPU. */
struct answer {
    uint64_t count;
    int64_t period, start_ns; /* place of the first row with a finding */
    char text[64];            /* detail of the first row with a finding */
    int64_t most, sum;
};

static void add_finding(struct rps_findings *findings, int64_t run_id, int64_t cpu,
                        const struct question *question, const struct answer *answer)
{
    char track[64], more[96] = "";

    if (question->more == WITH_TEXT)
        snprintf(more, sizeof(more), ", with %s", answer->text);
    else if (question->more == IN_ALL)
        snprintf(more, sizeof(more), "; %.3f s in all", (double)answer->sum / RPS_NS_PER_S);
    else if (question->more != NOTHING)
        snprintf(more, sizeof(more), "; by up to %.3f ms", (double)answer->most / RPS_NS_PER_MS);
    rps_findings_add(findings, question->kind,
                     "%s: %" PRIu64 " %s (first: %s period %" PRId64 ", at %.3f s%s)",
                     rps_findings_track(track, sizeof(track), run_id, (int32_t)cpu), answer->count,
                     answer->count == 1 ? question->one : question->many,
                     question->more == IN_ALL ? "before" : "in", answer->period,
                     (double)answer->start_ns / RPS_NS_PER_S, more);
}

/* Prepare the statement with all questions. The statement's columns are cpu, then the place and
 * value for each question. They are NULL if the condition does not hold. */
static int prepare_questions(sqlite3 *db, int64_t run_id, const char *source,
                             const struct question *question, size_t count, sqlite3_stmt **ret)
{
    static const char *const place[MORE_COUNT] = {
        [IN_ALL] = "CASE level WHEN -1 THEN expected ELSE first END, b_end_ns",
        [OF_THE_ONE_BEFORE] = "b_first, b_start_ns",
    };
    sqlite3_str *sql = sqlite3_str_new(db);
    char *text;
    int code;

    sqlite3_str_appendall(sql, "SELECT cpu");
    for (size_t i = 0; i < count; i++)
        sqlite3_str_appendf(sql, ", %s, CASE WHEN %s THEN %s END",
                            place[question[i].more] ? place[question[i].more] : "first, start_ns",
                            question[i].is_so, question[i].value);
    sqlite3_str_appendf(sql, " FROM %s WHERE 0", source);
    for (size_t i = 0; i < count; i++)
        sqlite3_str_appendf(sql, " OR (%s)", question[i].is_so);
    sqlite3_str_appendall(sql, " ORDER BY cpu, cycle, first");
    text = sqlite3_str_finish(sql);
    code = text ? prepare_with_sources(db, text, run_id, 0, ret) : SQLITE_NOMEM;
    sqlite3_free(text);
    return code;
}

static void count_answer(struct answer *answer, sqlite3_stmt *stmt, int column)
{
    int64_t value = sqlite3_column_int64(stmt, column + 2);

    if (answer->count++ == 0) {
        const unsigned char *text = sqlite3_column_text(stmt, column + 2);

        answer->period = sqlite3_column_int64(stmt, column);
        answer->start_ns = sqlite3_column_int64(stmt, column + 1);
        snprintf(answer->text, sizeof(answer->text), "%s", text ? (const char *)text : "");
        answer->most = value;
    }
    answer->most = value > answer->most ? value : answer->most;
    answer->sum = (int64_t)((uint64_t)answer->sum + (uint64_t)value);
}

static int ask_each_cpu(sqlite3 *db, int64_t run_id, const char *source,
                        const struct question *question, size_t count,
                        struct rps_findings *findings)
{
    struct answer answer[QUESTIONS_MAX] = {0};
    sqlite3_stmt *stmt = NULL;
    int64_t cpu = 0;
    int code = prepare_questions(db, run_id, source, question, count, &stmt);

    while (code == SQLITE_OK) {
        int at = sqlite3_step(stmt);

        if (at != SQLITE_ROW || sqlite3_column_int64(stmt, 0) != cpu)
            for (size_t i = 0; i < count; i++) {
                if (answer[i].count > 0)
                    add_finding(findings, run_id, cpu, &question[i], &answer[i]);
                answer[i] = (struct answer){0};
            }
        if (at != SQLITE_ROW) {
            code = at;
            break;
        }
        cpu = sqlite3_column_int64(stmt, 0);
        for (int i = 0; i < (int)count; i++)
            if (sqlite3_column_type(stmt, 3 * i + 3) != SQLITE_NULL)
                count_answer(&answer[i], stmt, 3 * i + 1);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

#define ASK(db, run_id, source, questions, findings)                                               \
    ask_each_cpu(db, run_id, source, questions, sizeof(questions) / sizeof((questions)[0]),        \
                 findings)

int rps_questions_ask(sqlite3 *db, int64_t run_id, struct rps_findings *findings)
{
    int code = ASK(db, run_id, "finest_row", row_questions, findings);

    return code == SQLITE_OK ? ASK(db, run_id, "asked_piece", piece_questions, findings) : code;
}

/* --- of the run ------------------------------------------------------------------------------- */

static const struct rps_store_question run_questions[] = {
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM phase WHERE run_id = ?1"
     " AND (first_period < 0 OR first_period > last_period OR last_period > ?2)",
     "phases that are not inside the run", 1, 1},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM (SELECT detection FROM phase WHERE run_id = ?1"
     " UNION ALL SELECT detection FROM outlier WHERE run_id = ?1)"
     " WHERE detection NOT IN (SELECT detection FROM detection WHERE run_id = ?1)",
     "phases and outliers that belong to no detection", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM outlier WHERE run_id = ?1 AND (period < 0 OR period > ?2)",
     "outliers that are not inside the run", 1, 1},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM gap WHERE run_id = ?1 AND (start_ns < 0 OR length_ns < 0)",
     "gap rows with times that make no sense", 1, 0},
    {RPS_FINDING_WARNING,
     "SELECT count(*) FROM mark AS m JOIN run AS r ON r.run_id = m.run_id WHERE m.run_id = ?1"
     " AND (time_ns < 0 OR (r.state = 'complete' AND time_ns > r.elapsed_ns))",
     "marks outside the run", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM run WHERE run_id = ?1 AND state <> 'recording' AND ?3 >= 0"
     " AND (elapsed_ns IS NULL OR elapsed_ns < ?3 - 1000)",
     "it ended before its last period did", 0, 1},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM run AS r WHERE run_id = ?1 AND set_count <>"
     " (SELECT count(*) FROM event_set AS s WHERE s.run_id = r.run_id)",
     "its number of event sets is not that of its rows in event_set", 0, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM run WHERE run_id = ?1 AND state = 'complete' AND EXISTS"
     " (SELECT 1 FROM event_set AS s WHERE s.run_id = ?1 AND periods IS NULL)",
     "it is complete, but has no totals", 0, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM thinned AS t WHERE run_id = ?1 AND (level NOT BETWEEN 0 AND 3 OR"
     " before_period < 0 OR (level > 0 AND before_period > coalesce((SELECT before_period"
     " FROM thinned AS f WHERE f.run_id = ?1 AND f.cpu = t.cpu AND f.level = t.level - 1), 0)))",
     "rows of thinned that delete more than the rows of the finer levels do", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM thinned AS t JOIN rollup AS r ON r.run_id = t.run_id"
     " AND r.level = t.level AND r.cpu = t.cpu AND r.period < t.before_period WHERE t.run_id = ?1",
     "rows of rollup that exist, although thinned says that they were deleted", 1, 0},
    {RPS_FINDING_WRONG, "SELECT count(*) FROM rollup_block WHERE NOT whole",
     "blocks with rows that do not belong together", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM rollup AS r JOIN thinned AS t ON t.run_id = ?1 AND t.cpu = r.cpu"
     " AND t.level = r.level - 1 AND t.before_period BETWEEN r.period + 1 AND r.last_period"
     " WHERE r.run_id = ?1",
     "rows of blocks with the end of table thinned inside", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM (SELECT source, period, last_period FROM reading_rollup"
     " WHERE run_id = ?1 UNION ALL SELECT source, period, period FROM reading"
     " WHERE run_id = ?1) AS r WHERE period < 0 OR last_period < period OR last_period > ?2 OR NOT "
     "EXISTS"
     " (SELECT 1 FROM signal AS s WHERE s.run_id = ?1 AND s.source = r.source)",
     "readings that are outside the run, or of no system metrics", 1, 1},
    {RPS_FINDING_WARNING,
     "SELECT count(*) FROM heartbeat AS h JOIN run AS r ON r.run_id = h.run_id"
     " WHERE h.run_id = ?1 AND r.state = 'complete'", /* a killed recorder's heartbeat may remain */
     "it has ended, but still has a heartbeat", 0, 0},
};

/* Read the highest period number and the last end of the run. Returns an SQLite code. */
static int read_extent(sqlite3 *db, int64_t run_id, int64_t *ret_last, int64_t *ret_end_ns)
{
    int code = rps_database_ask(db, ret_last,
                                "SELECT max(coalesce((SELECT max(period) FROM period WHERE run_id ="
                                " ?1), 0), coalesce((SELECT max(last_period) FROM rollup WHERE"
                                " run_id = ?1), 0))",
                                "i", run_id);

    if (code != SQLITE_OK)
        return code;
    return rps_database_ask(db, ret_end_ns,
                            "SELECT max(coalesce((SELECT max(start_ns + length_ns) FROM period"
                            " WHERE run_id = ?1), -1), coalesce((SELECT max(end_ns) FROM rollup"
                            " WHERE run_id = ?1), -1))",
                            "i", run_id);
}

void rps_questions_ask_rest(sqlite3 *db, int64_t run_id, struct rps_findings *findings)
{
    const size_t own = RPS_COUNT(run_questions);
    const size_t all = own + (rps_store_hooks ? rps_store_hooks->question_count : 0);
    int64_t number[] = {run_id, 0, -1};
    int all_read = read_extent(db, run_id, &number[1], &number[2]) == SQLITE_OK;

    for (size_t i = 0; i < all; i++) {
        const struct rps_store_question *question =
            i < own ? &run_questions[i] : &rps_store_hooks->question[i - own];
        char what[160], count[32] = "";
        int64_t found[2] = {0};

        snprintf(what, sizeof(what), "run %" PRId64 ": %s", run_id, question->what);
        if (all_read || !question->whole)
            rps_findings_ask(findings, db,
                             /* this query needs questions.sql, which costs 0.4 ms */
                             strstr(question->sql, " rollup_block ")
                                 ? with_sources(question->sql)
                                 : sqlite3_mprintf("%s", question->sql),
                             number, what, found);
        if (found[0] == 0)
            continue;
        if (question->counted)
            snprintf(count, sizeof(count), ": %" PRId64, found[0]);
        rps_findings_add(findings, question->kind, "%s%s", what, count);
    }
}

/* --- fixing ----------------------------------------------------------------------------------- */

/* SQL: drop rows with impossible times. The time of switching event sets is impossible if it
 * exceeds the length of the piece plus 1 s. ?2 is the end of the run, or -1. */
static const char sql_drop_rows[] =
    "DELETE FROM period WHERE run_id = ?1 AND (cpu, cycle, period) IN"
    " (SELECT cpu, cycle, period FROM checked_period WHERE number IS NOT NULL"
    "  OR switch_ns > length_ns + 1000000000 OR (?2 >= 0 AND end_ns > ?2 + " NEAR ")"
    "  OR (running_ns = 0 AND enabled_ns > 0 AND counted))";
static const char sql_drop_blocks[] =
    "DELETE FROM rollup WHERE run_id = ?1 AND (level, cpu, rotation) IN"
    " (SELECT level, cpu, rotation FROM finest_block WHERE NOT whole"
    "  OR switch_ns > end_ns - start_ns + 1e9 OR (?2 >= 0 AND end_ns > ?2 + " NEAR "))";

/* SQL: drop periods that a block has replaced. The block is kept. */
static const char sql_drop_finer[] =
    "DELETE FROM period WHERE run_id = ?1 AND period < coalesce((SELECT before_period FROM thinned"
    " AS t WHERE t.run_id = ?1 AND t.cpu = period.cpu AND t.level = 0), 0) AND EXISTS (SELECT 1"
    " FROM block AS b WHERE b.cpu = period.cpu AND period.period BETWEEN b.first AND b.last)";

/* SQL: 1 if the next period in key order continues the piece exactly. */
#define LINKS_ON                                                                                   \
    "coalesce((SELECT n.period = beside.last + 1 AND n.cycle - n.cycles = beside.cycle"            \
    " AND n.start_ns BETWEEN beside.end_ns - " NEAR " AND beside.end_ns + " NEAR                   \
    " FROM period AS n WHERE n.run_id = ?1 AND n.cpu = beside.cpu"                                 \
    " AND (n.cycle, n.period) > (beside.cycle, beside.last) ORDER BY n.cycle, n.period LIMIT 1), " \
    "0)"

/* SQL: choose which of two contradicting neighbours to drop. Each of the two pieces has another
 * neighbour, which may confirm the piece. If only one of the two pieces is confirmed, the
 * unconfirmed piece is dropped. If both pieces or neither are confirmed, the period number and the
 * cycles decide. If the number and cycles of the later piece continue the earlier piece, the
 * earlier piece has wrong times and is dropped. Otherwise the later piece is dropped. */
static const char sql_doomed[] =
    ", pair AS (SELECT *, " LINKS_ON " AS links_on, first = expected AND cycle - b_cycle = cycles"
    "  AS follows FROM asked_piece AS beside WHERE"
    "  ((" OUT_OF_ORDER ") OR (" WRONG_ROTATION ") OR (" OVERLAPS ") OR (" WRONG_CYCLE ")"
    "  OR (" LONG_SWITCH "))),"
    " verdict AS (SELECT *, b_first IS NOT NULL AND (level = -1 OR (b_asked AND links_on)"
    "  OR (b_asked <> links_on AND follows)) AS b_goes FROM pair)"
    " INSERT INTO temp.doomed SELECT iif(b_goes, b_level, level), cpu, iif(b_goes, b_key, cycle),"
    " iif(b_goes, b_first, first), iif(b_goes, b_first_rotation, rotation) FROM verdict";

static const char *const sql_drop_doomed[] = {
    "DELETE FROM period WHERE run_id = ?1 AND (cpu, cycle, period) IN"
    " (SELECT cpu, cycle, first FROM temp.doomed WHERE level = 0)",
    "DELETE FROM rollup WHERE run_id = ?1 AND (level, cpu, rotation) IN"
    " (SELECT level, cpu, rotation FROM temp.doomed WHERE level > 0)"};

/* SQL, after many rounds of dropping single rows: drop all rows from the first doomed row on. */
static const char *const sql_drop_behind[] = {
    "DELETE FROM period WHERE run_id = ?1 AND cycle >= (SELECT min(cycle) FROM temp.doomed AS d"
    " WHERE d.cpu = period.cpu)",
    "DELETE FROM rollup WHERE run_id = ?1 AND cycle >= (SELECT min(cycle) FROM temp.doomed AS d"
    " WHERE d.cpu = rollup.cpu)"};

#define ROUNDS_MAX 20

/* Run a statement for the run, and add the number of changed rows to *ret. */
static int execute_for_run(sqlite3 *db, const char *sql, int64_t run_id, int64_t number,
                           uint64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = prepare_with_sources(db, sql, run_id, number, &stmt);

    if (code == SQLITE_OK)
        code = rps_database_run(stmt);
    if (code == SQLITE_OK)
        *ret += (uint64_t)sqlite3_changes64(db);
    sqlite3_finalize(stmt);
    return code;
}

int rps_questions_drop(sqlite3 *db, int64_t run_id, int64_t end_ns, uint64_t *ret)
{
    int code = execute_for_run(db, sql_drop_rows, run_id, end_ns, ret);
    uint64_t found = 1;

    if (code == SQLITE_OK)
        code = execute_for_run(db, sql_drop_blocks, run_id, end_ns, ret);
    if (code == SQLITE_OK)
        code = execute_for_run(db, sql_drop_finer, run_id, 0, ret);
    if (code == SQLITE_OK)
        code = rps_database_exec(db, "CREATE TEMP TABLE IF NOT EXISTS doomed (level, cpu, cycle,"
                                     " first, rotation)");
    for (int round = 0; found > 0 && code == SQLITE_OK; round++) {
        found = 0;
        code = rps_database_exec(db, "DELETE FROM temp.doomed");
        if (code == SQLITE_OK)
            code = execute_for_run(db, sql_doomed, run_id, 0, &found);
        for (int i = 0; i < 2 && code == SQLITE_OK && found > 0; i++)
            code = execute_for_run(db, (round < ROUNDS_MAX ? sql_drop_doomed : sql_drop_behind)[i],
                                   run_id, 0, ret);
    }
    return code;
}

static const char sql_gaps[] =
    "INSERT INTO gap (run_id, start_ns, gap_no, cpu, length_ns, reason)"
    " SELECT ?1, from_ns, (SELECT coalesce(max(gap_no), -1) FROM gap WHERE run_id = ?1"
    "  AND start_ns = from_ns) + row_number() OVER (PARTITION BY from_ns), cpu, to_ns - from_ns,"
    " 'lost when the store was damaged' || CASE WHEN first = 1 << 62 OR first = expected THEN ''"
    "  ELSE printf(': %d period%s', first - expected, iif(first = expected + 1, '', 's')) END"
    " FROM missing WHERE true RETURNING length_ns";

int rps_questions_write_gaps(sqlite3 *db, int64_t run_id, uint64_t *ret_count, int64_t *ret_ns)
{
    sqlite3_stmt *stmt = NULL;
    int code = prepare_with_sources(db, sql_gaps, run_id, 0, &stmt);

    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        ++*ret_count;
        *ret_ns += sqlite3_column_int64(stmt, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}
