/* Settings of `rpistat phases`, which phases_options.c fills in and cmd_phases.c uses. */
#pragma once

#include "cli.h"
#include "rpistat/csv_signals.h"
#include "rpistat/detect.h"
#include "rpistat/import.h"
#include "rpistat/phase_output.h"
#include "rpistat/phases.h"
#include "rpistat/run_phases.h"

struct rps_phases_settings {
    struct rps_run_phases_options of; /* options of the detection; without the metrics' names */
    const char *cpus;
    struct rps_names metric; /* metrics to use; no names: all metrics */
    enum rps_format format;
    const char *csv; /* file of a table to read; NULL: read a run */
    struct rps_import_options table;
    const char *zone; /* time zone of times in the table; NULL: local time */
    int components;
};

extern const struct rps_option rps_phases_options[];

/* Check all settings together. This function is the command's check(). */
int rps_phases_check(struct rps_cli *cli);

/* Parse --level into a struct rps_level_choice: "fine", or the number of phases of a level.
 * RPS_USAGE for any other text. */
int rps_phases_level(const char *option, const char *text, void *ret, struct rps_error *err);
