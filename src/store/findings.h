/* Telling the caller of a check or a repair what was found. */
#ifndef RPISTAT_STORE_FINDINGS_H
#define RPISTAT_STORE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpistat/check.h"
#include "rpistat/error.h"

struct rps_findings {
    const struct rps_finding_sink *sink;
    uint64_t count[RPS_FINDING_NOTE + 1]; /* by kind; those not listed too */
    bool no_memory;                       /* nothing more can be found out */
};

/* 1 when an SQLite code or an error says that there was no memory, which is no finding: no more are
 * told, and whoever began the search says so. */
int rps_findings_end_by_code(struct rps_findings *findings, int code);
int rps_findings_end_by_error(struct rps_findings *findings, const struct rps_error *err);

/* One sentence (printf style). Of a kind only the first hundred are listed: a store from elsewhere
 * may have any number of runs and CPUs. */
void rps_findings_add(struct rps_findings *findings, enum rps_finding_kind kind, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* Say how many were not listed. */
void rps_findings_end(struct rps_findings *findings);

/* "run 3", or "run 3, CPU 2" for another cpu than RPS_CPU_ALL; returns ret. */
char *rps_findings_track(char *ret, size_t size, int64_t run_id, int32_t cpu);

#endif
