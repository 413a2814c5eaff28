/* Detections of phases, for check and repair. */
#ifndef RPISTAT_STORE_DETECTION_H
#define RPISTAT_STORE_DETECTION_H

#include <stdint.h>

#include "reader.h"

/* Receives detections that cannot be read, with the reason. */
struct rps_detection_sink {
    void *context;
    void (*wrong)(void *context, int64_t detection, const struct rps_error *why);
};

/* Read each detection of a run as rps_reader_detection does. RPS_FAILED if they cannot be listed,
 * or no memory. */
int rps_detection_check(struct rps_reader *reader, int64_t run_id,
                        const struct rps_detection_sink *sink, struct rps_error *err);

/* Delete the run's phases and outliers that belong to no detection. Returns an SQLite code. */
int rps_detection_delete_strays(sqlite3 *db, int64_t run_id);

#endif
