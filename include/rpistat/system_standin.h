#ifndef RPISTAT_SYSTEM_STANDIN_H
#define RPISTAT_SYSTEM_STANDIN_H
#include "rpistat/store.h"
#include "rpistat/system_signals.h"
struct rps_system_row {
    enum rps_system_source source;
    int level;
    uint64_t period, last_period;
    int64_t end_ns, length_us;
    uint64_t readings[RPS_SYSTEM_SLOT_MAX];
    int64_t sum[RPS_SYSTEM_SLOT_MAX];
    double lowest[RPS_SYSTEM_SLOT_MAX], highest[RPS_SYSTEM_SLOT_MAX];
};
struct rps_system_cursor;
int rps_system_cursor_open(struct rps_system_cursor **ret, struct rps_reader *reader, int64_t run_id,
                           enum rps_system_source source, int64_t from_ns, int64_t to_ns,
                           int resolution, struct rps_error *err);
int rps_system_cursor_next(struct rps_system_cursor *cursor, struct rps_system_row *ret,
                           struct rps_error *err);
void rps_system_cursor_close(struct rps_system_cursor *cursor);
#endif
