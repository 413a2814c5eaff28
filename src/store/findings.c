/* Collect the findings of a check or a repair, and report them to the caller. */
#include "findings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "database.h"
#include "rpistat/period.h"

#define LISTED_MAX 100

#define SENTENCE_SIZE 1024

void rps_findings_add(struct rps_findings *findings, enum rps_finding_kind kind, const char *format,
                      ...)
{
    char sentence[SENTENCE_SIZE];
    va_list arguments;

    if (!findings->sink || findings->no_memory || findings->count[kind]++ >= LISTED_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    findings->sink->finding(findings->sink->context, kind, sentence);
}

static int end_by_code(struct rps_findings *findings, int code)
{
    int no_memory = (code & 0xff) == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM;

    findings->no_memory = findings->no_memory || no_memory;
    return no_memory;
}

int rps_findings_end_by_error(struct rps_findings *findings, const struct rps_error *err)
{
    return end_by_code(findings, rps_error_is_memory(err) ? SQLITE_NOMEM : SQLITE_OK);
}

void rps_findings_unreadable(struct rps_findings *findings, sqlite3 *db, const char *what, int code)
{
    if (!end_by_code(findings, code))
        rps_findings_add(findings, RPS_FINDING_WRONG, "%s cannot be read (%s)", what,
                         rps_database_reason(db, code));
}

int rps_findings_ask(struct rps_findings *findings, sqlite3 *db, char *sql, const int64_t *number,
                     const char *what, int64_t ret[2])
{
    sqlite3_stmt *stmt = NULL;
    int code = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;

    if (code == SQLITE_OK) {
        for (int i = 0; i < sqlite3_bind_parameter_count(stmt); i++)
            sqlite3_bind_int64(stmt, i + 1, number[i]);
        code = sqlite3_step(stmt);
    }
    if (code == SQLITE_ROW) {
        ret[0] = sqlite3_column_int64(stmt, 0);
        ret[1] = sqlite3_column_int64(stmt, 1);
    } else {
        rps_findings_unreadable(findings, db, what, code);
    }
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return code == SQLITE_ROW;
}

void rps_findings_end(struct rps_findings *findings)
{
    char sentence[SENTENCE_SIZE];

    for (int kind = 0; kind <= RPS_FINDING_NOTE; kind++) {
        if (findings->count[kind] <= LISTED_MAX)
            continue;
        snprintf(sentence, sizeof(sentence), "%" PRIu64 " more like these are not listed",
                 findings->count[kind] - LISTED_MAX);
        findings->sink->finding(findings->sink->context, (enum rps_finding_kind)kind, sentence);
    }
}

char *rps_findings_track(char *ret, size_t size, int64_t run_id, int32_t cpu)
{
    int length = snprintf(ret, size, "run %" PRId64, run_id);

    if (cpu != RPS_CPU_ALL && length > 0 && (size_t)length < size)
        snprintf(ret + length, size - (size_t)length, ", CPU %" PRId32, cpu);
    return ret;
}
